"""Personalised PageRank over chunks and entities, started at what the query names and resembles.

The class of HippoRAG 2 (Gutiérrez et al. 2025, arXiv:2502.14802) and LinearRAG (Zhuang et al. 2025,
arXiv:2510.10114), without an LLM. What is ours and what each choice is worth:
docs/methods/pagerank.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array

from clew import steps
from clew.algo.links import neighbours
from clew.algo.pagerank import personalized_pagerank, transition
from clew.algo.topk import positive_top_k, top_k
from clew.types import Evidence, Path, Snapshot, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from clew.models import Models

_TOLERANCE = 1e-5  # of all weight: moves no chunk that matters
_MAX_STOPS = 3  # entities on a path


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRank:
    """Spread from seeds; chunks that many short threads reach come first."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity", "term"})

    chunks: int = 10  # chunks returned
    damping: float = 0.6  # chance to go on from a node
    title_weight: float = 5.0  # of a chunk's link to its title's entity; a mention's is 1
    anchored_units: int = 3  # units nearest to the query, whose entities are seeds
    seed_chunks: int = 30  # best hybrid chunks, which are light seeds
    chunk_weight: float = 0.2  # of a seed chunk beside a seed entity
    unit_nodes: bool = False  # units as nodes between chunks and entities

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        asked = steps.read_query(models, query)
        graph = self._graph(snapshot)
        seeds, notes = self._seed_entities(query, snapshot, models, asked)
        restart = np.zeros(graph.transition.shape[0])
        for entity, (weight, _) in seeds.items():
            restart[graph.first_entity + entity] += weight
        hybrid = steps.hybrid_scores(snapshot, asked)
        for chunk in positive_top_k(hybrid, self.seed_chunks):
            restart[chunk] += self.chunk_weight * hybrid[chunk]
        if not restart.any():
            notes += ("nothing to start from: the chunks nearest to the query instead",)
            scores = steps.dense_scores(snapshot, "chunk", asked)
            return steps.ranked(snapshot, query, "pagerank", scores, self.chunks, notes=notes)
        influence = personalized_pagerank(
            graph.transition, restart, damping=self.damping, tolerance=_TOLERANCE
        )
        n_chunks = len(snapshot.layer("chunk"))
        rows = top_k(influence[:n_chunks], self.chunks)
        return Evidence(
            query=query,
            method="pagerank",
            hits=steps.hits(snapshot, rows, influence[rows]),
            paths=tuple(_path(snapshot, query, graph, influence, seeds, int(r)) for r in rows),
            seeds=tuple(
                steps.entity_step(snapshot, row, reason, weight)
                for row, (weight, reason) in sorted(seeds.items())
            ),
            notes=notes,
        )

    def _seed_entities(
        self, query: str, snapshot: Snapshot, models: Models, asked: steps.Query
    ) -> tuple[dict[int, tuple[float, str]], tuple[str, ...]]:
        """Return each seed entity's weight and why it is one, and notes."""
        names, notes = steps.query_names(models, query) if models.llm is not None else ([], ())
        linked = [*steps.named_entities(snapshot, query), *steps.same_names(snapshot, names)]
        seeds = {link.row: (link.score, link.reason) for link in linked}
        scores = steps.dense_scores(snapshot, "unit", asked)
        units = snapshot.link("unit", "entity")
        for unit in positive_top_k(scores, self.anchored_units):
            for entity in neighbours(units, int(unit)).tolist():
                weight, reason = seeds.get(entity, (0.0, "in a sentence near the question"))
                seeds[entity] = (weight + float(scores[unit]), reason)
        return seeds, notes

    def _graph(self, snapshot: Snapshot) -> _Graph:
        key = f"pagerank {self.title_weight} {self.unit_nodes}"
        return snapshot.derived(
            key, lambda: _build_graph(snapshot, self.title_weight, unit_nodes=self.unit_nodes)
        )


@dataclass(frozen=True, slots=True)
class _Graph:
    transition: csr_array  # (n, n) over chunks, then units if they are nodes, then entities
    chunk_entities: csr_array  # (n_chunks, n_entities)
    entity_chunks: csr_array
    first_entity: int


def _build_graph(snapshot: Snapshot, title_weight: float, *, unit_nodes: bool) -> _Graph:
    """Return the graph; a link to an entity weighs ln(1 + N / df), N chunks, df of them its."""
    chunk_units, unit_entities = snapshot.link("chunk", "unit"), snapshot.link("unit", "entity")
    titles = steps.chunk_titles(snapshot) * title_weight
    mentions = csr_array(chunk_units @ unit_entities)
    mentions.data[:] = 1.0
    links = csr_array(mentions + titles)
    df = np.bincount(links.indices, minlength=links.shape[1])
    rarity = diags_array(np.log1p(links.shape[0] / np.maximum(df, 1)))
    links = csr_array(links @ rarity)
    blocks: list[list[Any]]
    if unit_nodes:
        units, named = csr_array(unit_entities @ rarity), csr_array(titles @ rarity)
        blocks = [
            [None, chunk_units, named],
            [chunk_units.T, None, units],
            [named.T, units.T, None],
        ]
    else:
        blocks = [[None, links], [links.T, None]]
    adjacency = csr_array(block_array(blocks))
    first_entity = adjacency.shape[0] - links.shape[1]
    return _Graph(transition(adjacency), links, links.T.tocsr(), first_entity)


def _path(
    snapshot: Snapshot,
    query: str,
    graph: _Graph,
    influence: NDArray[np.float64],
    seeds: dict[int, tuple[float, str]],
    chunk: int,
) -> Path:
    """Return the thread along which most of the chunk's influence can have come from a seed."""
    backwards = [steps.chunk_step(snapshot, chunk, "holds it")]
    entities = influence[graph.first_entity :]
    seen: set[int] = set()
    here = chunk
    while here >= 0 and len(seen) < _MAX_STOPS:
        entity = _strongest(graph.chunk_entities, here, entities, seen)
        if entity < 0:
            break
        seen.add(entity)
        backwards += _mentions(snapshot, here, entity)
        reason = seeds[entity][1] if entity in seeds else "leads on"
        backwards.append(steps.entity_step(snapshot, entity, reason))
        if entity in seeds:
            break
        here = _strongest(graph.entity_chunks, entity, influence, {here})
    path = (Step(layer="query", id="", text=query), *reversed(backwards))
    return Path(path, float(influence[chunk]))


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


def _mentions(snapshot: Snapshot, chunk: int, entity: int) -> Iterator[Step]:
    """Yield the first unit of the chunk that mentions the entity; none where its title does."""
    chunk_units, entity_units = snapshot.link("chunk", "unit"), snapshot.link("entity", "unit")
    both = np.intersect1d(neighbours(chunk_units, chunk), neighbours(entity_units, entity))
    if len(both):
        yield steps.unit_step(snapshot, int(both[0]), "mentions it")


METHOD = PageRank
GROUP = "baseline"
