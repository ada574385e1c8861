"""The graph of chunks and the entities in them: where a question enters it, and its threads.

`pagerank` and `walk` spread weight over it. What each choice is worth: docs/methods/pagerank.md.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array

from clew import steps
from clew.algo.links import neighbours
from clew.algo.pagerank import transition
from clew.algo.topk import positive_top_k, top_k
from clew.derived import Derived
from clew.types import Path, Snapshot, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.models import Models

_MAX_STOPS = 3  # entities on a path
_MOST_LONGER = 5  # names that a shorter one may begin or end; one in more is a common word
_NAME_SHARE = 0.3  # of the smaller degree of two entities: the weight of a link between their names


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Chunks, perhaps units, and entities as nodes, in this order."""

    transition: csr_array  # (n, n)
    chunk_entities: csr_array  # (n_chunks, n_entities)
    entity_chunks: csr_array
    entity_entities: csr_array  # (n_entities, n_entities), links between names
    rarity: NDArray[np.float64]  # (n_entities,), ln(1 + N / df)
    first_entity: int

    @property
    def n_chunks(self) -> int:
        return int(self.chunk_entities.shape[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Which links a graph has."""

    title_weight: float  # of a chunk's link to its title's entity; a mention's is 1
    unit_nodes: bool = False  # units as nodes between chunks and entities
    names: bool = False  # links between entities whose names begin or end each other


def entity_graph(snapshot: Snapshot, links: Links) -> EntityGraph:
    """Return the graph of a snapshot with such links, built once."""
    return snapshot.get(_GRAPH, links)


def _build(snapshot: Snapshot, wanted: Links) -> EntityGraph:
    """Return the graph; a link to an entity weighs ln(1 + N / df), N chunks, df of them its."""
    chunk_units, unit_entities = snapshot.link("chunk", "unit"), snapshot.link("unit", "entity")
    titles = steps.chunk_titles(snapshot) * wanted.title_weight
    mentions = csr_array(chunk_units @ unit_entities)
    mentions.data[:] = 1.0
    links = csr_array(mentions + titles)
    df = np.bincount(links.indices, minlength=links.shape[1])
    rarity = np.log1p(links.shape[0] / np.maximum(df, 1))
    weighted = diags_array(rarity)
    links = csr_array(links @ weighted)
    between = _name_links(snapshot, links) if wanted.names else _nothing(links.shape[1])
    blocks: list[list[Any]]
    if wanted.unit_nodes:
        units, named = csr_array(unit_entities @ weighted), csr_array(titles @ weighted)
        blocks = [
            [None, chunk_units, named],
            [chunk_units.T, None, units],
            [named.T, units.T, between],
        ]
    else:
        blocks = [[None, links], [links.T, between]]
    adjacency = csr_array(block_array(blocks))
    first_entity = adjacency.shape[0] - links.shape[1]
    return EntityGraph(transition(adjacency), links, links.T.tocsr(), between, rarity, first_entity)


_GRAPH = Derived("the graph of chunks and entities", _build)


def _nothing(n: int) -> csr_array[Any, tuple[int, int]]:
    return csr_array((n, n))


def _name_links(snapshot: Snapshot, links: csr_array) -> csr_array[Any, tuple[int, int]]:
    """Return the (n, n) symmetric links of entities whose words begin or end another one's name.

    A name that does so for more than `_MOST_LONGER` others has no such link. A link weighs the
    share of the longer name's words, divided by how many such names there are, times `_NAME_SHARE`
    of the smaller of the two degrees.
    """
    layer = snapshot.layer("entity")
    rows = np.flatnonzero(layer.columns["linkable"]).tolist()
    keys = dict(zip(layer.ids(rows), rows, strict=True))
    longer: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for key, row in keys.items():
        for shorter, share in _ends(key):
            if shorter in keys:
                longer[keys[shorter]].append((row, share))
    few = {row: found for row, found in longer.items() if len(found) <= _MOST_LONGER}
    a = np.array([row for row, found in few.items() for _ in found], dtype=np.intp)
    b = np.array([row for found in few.values() for row, _ in found], dtype=np.intp)
    shares = np.array([share / len(found) for found in few.values() for _, share in found])
    degrees = np.asarray(links.sum(axis=0)).ravel()
    weights = _NAME_SHARE * shares * np.minimum(degrees[a], degrees[b])
    n = links.shape[1]
    one_way = csr_array((weights, (a, b)), shape=(n, n))
    return csr_array(one_way + one_way.T)


def _ends(key: str) -> Iterator[tuple[str, float]]:
    """Yield the distinct beginnings and ends of a key in whole words, with their share of it."""
    words = key.split()
    ends = {
        " ".join(part): len(part) / len(words)
        for i in range(1, len(words))
        for part in (words[:i], words[i:])
    }
    yield from ends.items()


# -- where a question enters ----------------------------------------------------------------------

Seeds = dict[int, tuple[float, str]]  # of an entity's row: its weight, and why it is one


def seed_entities(
    snapshot: Snapshot, models: Models, asked: steps.Query, n_units: int
) -> tuple[Seeds, frozenset[int], tuple[str, ...]]:
    """Return the seed entities, which of them the question names, and notes.

    Those that the question names weigh 1, by the LLM too if there is one; each of the `n_units`
    nearest units adds its cosine to its entities.
    """
    names, notes = steps.query_names(models, asked.text) if models.llm is not None else ([], ())
    linked = [
        *steps.named_entities(snapshot, asked.text),
        *steps.same_names(snapshot, names),
    ]
    seeds: Seeds = {link.row: (link.score, link.reason) for link in linked}
    named = frozenset(seeds)
    units = snapshot.link("unit", "entity")
    rows, cosines = steps.nearest(snapshot, "unit", asked, n_units)
    for unit, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
        for entity in neighbours(units, unit).tolist() if cosine > 0 else ():
            weight, reason = seeds.get(entity, (0.0, "in a sentence near the question"))
            seeds[entity] = (weight + cosine, reason)
    return seeds, named, notes


def restart_of(
    graph: EntityGraph, seeds: Seeds, hybrid: NDArray[np.float64], n_chunks: int, weight: float
) -> NDArray[np.float64]:
    """Return the (n,) weights of seed entities, and of the `n_chunks` best by (n_chunks,) scores.

    A chunk weighs `weight` of its score.
    """
    restart = np.zeros(graph.transition.shape[0])
    for entity, (each, _) in seeds.items():
        restart[graph.first_entity + entity] += each
    for chunk in positive_top_k(hybrid, n_chunks):
        restart[chunk] += weight * hybrid[chunk]
    return restart


def seed_steps(snapshot: Snapshot, seeds: Seeds) -> tuple[Step, ...]:
    """Return the seeds as stops, in the order of their rows."""
    return tuple(
        steps.entity_step(snapshot, row, reason, weight)
        for row, (weight, reason) in sorted(seeds.items())
    )


# -- threads --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How weight came to the nodes of a graph, for those who ask for a thread."""

    influence: NDArray[np.float64]  # (n,)
    reasons: Mapping[int, str]  # why an entity is a seed, by its row
    # The chunk from which a walk went on to an entity, and the influence before it did.
    origins: Mapping[int, int] = field(default_factory=dict)
    before: NDArray[np.float64] | None = None


def strongest_path(
    snapshot: Snapshot, query: str, graph: EntityGraph, spread: Spread, chunk: int
) -> Path:
    """Return the thread along which most of a chunk's influence can have come from a seed."""
    backwards = [steps.chunk_step(snapshot, chunk, "holds it")]
    influence = spread.influence
    seen: set[int] = set()
    here = chunk
    while here >= 0 and len(seen) < _MAX_STOPS:
        entities = influence[graph.first_entity :]
        entity = _strongest(graph.chunk_entities, here, entities, seen)
        if entity < 0:
            break
        seen.add(entity)
        backwards += _mentions(snapshot, here, entity)
        origin = spread.origins.get(entity, here)
        backwards.append(steps.entity_step(snapshot, entity, _why(snapshot, spread, entity, here)))
        if entity in spread.reasons:
            break
        if origin != here and spread.before is not None:
            backwards += _mentions(snapshot, origin, entity)
            here, influence = origin, spread.before
        else:
            here = _strongest(graph.entity_chunks, entity, influence, {here})
    path = (Step(layer="query", id="", text=query), *_each_unit_once(reversed(backwards)))
    return Path(path, float(spread.influence[chunk]))


def _each_unit_once(steps_: Iterable[Step]) -> Iterator[Step]:
    """Leave out a unit that a thread stopped at before."""
    seen: set[str] = set()
    for step in steps_:
        if step.layer != "unit" or step.id not in seen:
            yield step
        if step.layer == "unit":
            seen.add(step.id)


def _why(snapshot: Snapshot, spread: Spread, entity: int, here: int) -> str:
    """Return why a thread that stops at an entity of the chunk `here` came by it."""
    if entity in spread.reasons:
        return spread.reasons[entity]
    origin = spread.origins.get(entity, here)
    if origin == here:
        return "leads on"
    [title] = [d.title or d.id for d in snapshot.documents([_document(snapshot, origin)])]
    return f"walked on from {title}"


def _document(snapshot: Snapshot, chunk: int) -> int:
    return int(snapshot.layer("chunk").columns["document"][chunk])


def _strongest(
    links: csr_array, row: int, influence: NDArray[np.float64], leave_out: set[int]
) -> int:
    """Return the neighbour that gives most, link weight times influence; -1 for none."""
    place = slice(links.indptr[row], links.indptr[row + 1])
    neighbours = links.indices[place]
    kept = ~np.isin(neighbours, list(leave_out))
    if not kept.any():
        return -1
    given = links.data[place][kept] * influence[neighbours[kept]]
    if not given.max() > 0:
        return -1
    return int(neighbours[kept][top_k(given / given.max(), 1)[0]])


def _mentions(snapshot: Snapshot, chunk: int, entity: int) -> Sequence[Step]:
    """Return the first unit of the chunk that mentions the entity; none where its title does."""
    chunk_units, entity_units = snapshot.link("chunk", "unit"), snapshot.link("entity", "unit")
    both = np.intersect1d(neighbours(chunk_units, chunk), neighbours(entity_units, entity))
    return [steps.unit_step(snapshot, int(unit), "mentions it") for unit in both[:1]]
