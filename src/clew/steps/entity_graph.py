"""The graph of chunks and the entities in them, and a question's seeds in it.

`pagerank` and `walk` spread weight over it. What each choice is worth: docs/results/walk.md. No
transition matrix is cached: each write would make it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.edited_links import TransposedEdits
from clew.algo.links import Entries, Link, count_ends, neighbours, open_column
from clew.algo.pagerank import MANY_EDGES, Degrees, LocalScores, WholeGraph, local_pagerank
from clew.algo.topk import top_k
from clew.base.derived import Arrays, CachedArrays, Derived
from clew.base.types import Step
from clew.index.snapshot import Snapshot, refer_to
from clew.index.snapshot.layers import Totals
from clew.models import Models

Rows = NDArray[np.integer]
ReadSums = Callable[[Rows], NDArray[Any]]  # of some rows
Sums = Mapping[str, ReadSums]

# Weight below this share of a node's degree stays there: it moves no chunk that matters. In small
# graphs it goes on until nothing is left of it, in those that `walk` spreads in until no hit moves.
_RESIDUAL, _SMALL, _NOTHING, _LITTLE = 1e-6, 20_000, 1e-10, 1e-8
_MOST_BYTES, _EDGE_BYTES = 1 << 28, 12  # of a graph whose edges are all made once; of each
_FIRST = 4  # questions for which the edges of a large graph are not all made


@dataclass(frozen=True, slots=True)
class Rarity:
    """(n_entities,) rarity ln(1 + N / df), computed on access."""

    n_chunks: int  # of the index
    chunks: Link  # (n_entities, n_chunks)
    totals: Totals | None  # where the link has a part of the index's chunks

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Rarity:
        return cls(steps.n_chunks(snapshot), steps.entity_chunks(snapshot), snapshot.totals)

    def __len__(self) -> int:
        return self.chunks.shape[0]

    def __getitem__(self, entities: NDArray[np.integer]) -> NDArray[np.float64]:
        totals = self.totals
        df = self.chunks.counts_of(entities) if totals is None else totals.either[entities]
        return np.asarray(np.log1p(self.n_chunks / np.maximum(df, 1)))


@dataclass(frozen=True, slots=True)
class _Degrees:
    """(n,) sums of the nodes' link weights, computed on access."""

    title_weight: float
    n_chunks: int  # of the graph
    sums: Sums
    rarity: Rarity

    def __len__(self) -> int:
        return self.n_chunks + len(self.rarity)

    def __getitem__(self, nodes: NDArray[np.integer]) -> NDArray[np.float64]:
        is_chunk = nodes < self.n_chunks
        degrees, entities = np.empty(len(nodes)), nodes[~is_chunk] - self.n_chunks
        degrees[is_chunk] = self._sum_weights("chunk", nodes[is_chunk])
        degrees[~is_chunk] = self._sum_weights("entity", entities) * self.rarity[entities]
        return degrees

    def _sum_weights(self, layer: str, rows: NDArray[np.integer]) -> NDArray[np.float64]:
        titled, mentioned = (self.sums[f"{layer}.{way}"](rows) for way in ("titled", "mentioned"))
        return np.asarray(self.title_weight * titled + mentioned)


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Chunks and entities as nodes, in this order.

    A link to an entity weighs ln(1 + N / df), for N chunks, df of them with the entity. The edges
    of a small graph are built once, those of a large one only for the nodes in use.
    """

    title_weight: float  # of a chunk's link to its title's entity; a mention's is 1
    chunk_entities: Link  # (n_chunks, n_entities); the data say whether in text, title, or both
    entity_chunks: Link
    rarity: Rarity | NDArray[np.float64]
    degrees: Degrees  # sums of the links' weights
    n_edges: int  # each counted from both ends
    edges: WholeGraph | None = None  # all of them, where they were made
    beyond: NDArray[np.float64] | None = None  # weights of edges to chunks that are not here

    @property
    def n_chunks(self) -> int:
        return self.chunk_entities.shape[0]  # the first entity's node, too

    @property
    def kinds(self) -> NDArray[np.float64]:
        """The weight of each kind of link: none, mention, title, both."""
        return np.array([0.0, 1.0, self.title_weight, self.title_weight + 1.0])

    def get_edges(self, nodes: NDArray[np.integer]) -> Entries:
        """Return the (m, n) rows of m nodes, ascending, of the matrix of weights."""
        n, of_chunks = len(self.degrees), int(np.searchsorted(nodes, self.n_chunks))
        entities = nodes[of_chunks:] - self.n_chunks
        mentions = _read_entries(self.chunk_entities, nodes[:of_chunks])
        chunks = _read_entries(self.entity_chunks, entities)
        rarity = self.rarity[mentions.indices], self.rarity[entities][chunks.owners]
        indptr = count_ends(np.concatenate([mentions.counts, chunks.counts]))
        columns = np.concatenate([mentions.indices + np.int32(self.n_chunks), chunks.indices])
        weights = self.kinds[np.concatenate([mentions.data, chunks.data])] * np.concatenate(rarity)
        some = weights > 0
        if not some.all():
            indptr = np.concatenate([[0], np.cumsum(some)])[indptr]
            columns, weights = columns[some], weights[some]
        return Entries((len(nodes), n), indptr, columns, weights)

    def spread_near(self, restart: Mapping[int, float], damping: float) -> LocalScores:
        """Return the PageRank scores of nodes near the restart nodes."""
        edges = self.get_edges if self.edges is None else self.edges
        return local_pagerank(
            edges,
            self.degrees,
            restart,
            damping=damping,
            residual=choose_residual(len(self.degrees), small=_LITTLE),
            beyond=self.beyond,
        )


def choose_residual(n_nodes: int, *, small: float = _NOTHING) -> float:
    """Return the share of a node's degree below which its residual is not pushed, for n nodes."""
    return _RESIDUAL if n_nodes > _SMALL else small


def best_chunks(
    scores: LocalScores, n_chunks: int, k: int, then: steps.Ranking | None = None
) -> list[int]:
    """Return the `k` chunks with the highest scores, best first, filled up by those of `then`.

    The first `n_chunks` nodes are the chunks.
    """
    n = int(np.searchsorted(scores.nodes, n_chunks))
    rows: list[int] = scores.nodes[top_k(scores.scores[:n], k)].tolist()
    if then is not None and len(rows) < k:
        rows = list(dict.fromkeys([*rows, *then.best(k).tolist()]))[:k]
    return rows


def _read_entries(link: Link, rows: NDArray[np.integer]) -> Entries:
    """Return the entries of some ascending rows of a link."""
    return link.entries_of(rows) if len(rows) < link.shape[0] else link.all_entries


def entity_graph(snapshot: Snapshot, title_weight: float) -> EntityGraph:
    """Return the graph of a snapshot, where a chunk's link to its title's entity has a weight.

    Its edges are built once, unless they would take more than 256 MB. The first questions of a
    large graph read only the edges in use, which is no slower.
    """
    graph = snapshot.get(_GRAPH, title_weight)
    if graph.edges is not None or graph.n_edges * _EDGE_BYTES > _MOST_BYTES:
        return graph
    questions: Iterator[int] = snapshot.get(_QUESTIONS, title_weight)
    return graph if next(questions) < _FIRST else snapshot.get(_WHOLE, title_weight)


def count_titles(snapshot: Snapshot) -> int:
    """Return the number of entities that are a document's title."""
    if snapshot.totals is not None:
        return snapshot.totals.n_titles
    every = np.arange(len(snapshot.layer("entity")))
    return int(np.count_nonzero(snapshot.get(_SUMS)["entity.titled"](every)))


def _build_graph(snapshot: Snapshot, title_weight: float) -> EntityGraph:
    forth, back = steps.chunk_entities(snapshot), steps.entity_chunks(snapshot)
    rarity = Rarity.from_snapshot(snapshot)
    sums, totals = snapshot.get(_SUMS), snapshot.totals
    in_all = sums
    if totals is not None:
        in_all = {
            **sums,
            "entity.titled": totals.titled.__getitem__,
            "entity.mentioned": totals.mentioned.__getitem__,
        }
    degrees = _Degrees(title_weight, forth.shape[0], in_all, rarity)
    n_edges = sum(int(link.counts.sum()) for link in (forth, back))
    graph = EntityGraph(title_weight, forth, back, rarity, degrees, n_edges)
    if totals is not None:
        outside = _outside_weights(title_weight, totals, rarity, sums, len(degrees))
        graph = replace(graph, beyond=outside)
    return _make_edges(graph) if n_edges <= MANY_EDGES else graph


def _make_whole(snapshot: Snapshot, title_weight: float) -> EntityGraph:
    """Return the graph with all edges in memory, for this and later questions.

    A server makes it before the first question, which need not read single edges then.
    """
    questions: Iterator[int] = snapshot.get(_QUESTIONS, title_weight)
    while next(questions) < _FIRST:
        pass
    return _make_edges(snapshot.get(_GRAPH, title_weight))


def _make_edges(graph: EntityGraph) -> EntityGraph:
    every = np.arange(len(graph.degrees))
    entities = every[: len(graph.rarity)]
    graph = replace(graph, degrees=graph.degrees[every], rarity=graph.rarity[entities])
    return replace(graph, edges=WholeGraph(graph.get_edges(every)))


def _outside_weights(
    title_weight: float, totals: Totals, rarity: Rarity, sums: Sums, n_nodes: int
) -> NDArray[np.float64]:
    """Return the (n_nodes,) weights of links to chunks of the index outside this snapshot."""
    every = np.arange(len(rarity))
    missing = title_weight * (totals.titled - sums["entity.titled"](every))
    missing += totals.mentioned - sums["entity.mentioned"](every)
    weights = np.zeros(n_nodes)
    weights[n_nodes - len(rarity) :] = np.maximum(missing, 0) * rarity[every]
    return weights


def _sum_weights(snapshot: Snapshot, name: str, rows: Rows | None = None) -> NDArray[np.float64]:
    """Return the sums of the link weights of some rows, or of all, by kind: "entity.titled".

    For chunks these are rarities of their entities, for entities numbers of chunks.
    """
    layer, _, way = name.partition(".")
    link = (steps.chunk_entities if layer == "chunk" else steps.entity_chunks)(snapshot)
    links = link.all_entries if rows is None else link.entries_of(rows)
    weights = np.ones(len(links.indices))
    if layer != "entity":
        weights = Rarity.from_snapshot(snapshot)[links.indices]
    weights = np.where(links.data & _WAYS[way] > 0, weights, 0.0)
    return np.bincount(links.owners, weights, minlength=links.shape[0]).astype(float, copy=False)


_WAYS = {"mentioned": steps.MENTIONED, "titled": steps.TITLED}
_BY_WAY = tuple(f"{layer}.{way}" for layer in ("chunk", "entity") for way in _WAYS)


def _sum_degrees(snapshot: Snapshot) -> Arrays:
    """Return the sums of the weights of all rows' links."""
    degrees = {name: _sum_weights(snapshot, name) for name in _BY_WAY}
    kinds = {name: np.int32 for name in degrees if name.startswith("entity")}
    return {name: sums.astype(kinds.get(name, float)) for name, sums in degrees.items()}


def _open_sums(snapshot: Snapshot) -> Sums:
    """Open the sums of `WEIGHTS`, which every new document changes through the entities' rarity.

    So those of chunks are summed up for the rows that are asked for, after edits.
    """
    former, back = snapshot.base_arrays(WEIGHTS), steps.entity_chunks(snapshot)
    if former is None or not isinstance(back, TransposedEdits):
        arrays = snapshot.get(WEIGHTS)
        return {name: open_column(arrays, name).__getitem__ for name in arrays}
    own = refer_to(snapshot)  # which keeps these functions

    def sum_rows(name: str, rows: Rows) -> NDArray[np.float64]:
        return _sum_weights(own(), name, rows)

    sums: dict[str, ReadSums] = {name: partial(sum_rows, name) for name in _BY_WAY}
    for way, mark in _WAYS.items():
        counts = back.follow_counts(former[f"entity.{way}"], mark)
        sums[f"entity.{way}"] = counts.__getitem__
    return sums


WEIGHTS = CachedArrays(
    "link-weights",
    _sum_degrees,
    update=lambda snapshot, _earlier: _sum_degrees(snapshot),
    edited=True,
)
_SUMS = Derived("sums of the weights of links", _open_sums)


_GRAPH = Derived("the graph of chunks and entities", _build_graph)
_WHOLE = Derived("all edges of that graph", _make_whole)
_QUESTIONS: Derived[Iterator[int]] = Derived("numbers of the questions", lambda *_: count())


# -- where a question enters ----------------------------------------------------------------------


class Seed(NamedTuple):
    """The weight of a seed entity, and the reason for it."""

    weight: float
    reason: str
    unit: int = -1  # the row of the sentence near the question that has it, else -1


Seeds = dict[int, Seed]  # by the entity's row


def seed_entities(
    snapshot: Snapshot, models: Models, query: steps.Query, n_units: int, dense: steps.Ranking
) -> tuple[Seeds, frozenset[int], tuple[str, ...]]:
    """Return the seed entities, the ones among them named in the question, and notes.

    Entities named by the question, or by the LLM, weigh 1; each of the `n_units` nearest units adds
    its cosine to its entities. `dense` is the dense ranking of chunks.
    """
    names, notes = steps.query_names(models, query.text) if models.llm is not None else ([], ())
    linked = [*steps.named_entities(snapshot, query.text), *steps.same_names(snapshot, names)]
    seeds: Seeds = {link.row: Seed(link.score, link.reason) for link in linked}
    named = frozenset(seeds)
    units = snapshot.linked("unit", "entity")
    near = steps.units_near(snapshot, query, dense, n_units)
    rows, cosines = steps.nearest_units(snapshot, query, n_units, near)
    for unit, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
        for entity in neighbours(units, unit).tolist() if cosine > 0 else ():
            seed = seeds.get(entity) or Seed(0.0, "in a sentence near the question", unit)
            seeds[entity] = seed._replace(weight=seed.weight + cosine)
    return seeds, named, notes


def build_restart(
    graph: EntityGraph, seeds: Seeds, hybrid: steps.Ranking, n_chunks: int, weight: float
) -> dict[int, float]:
    """Return the restart weights of seed entities and of a ranking's `n_chunks` best chunks.

    A chunk weighs `weight` of its score.
    """
    restart = {graph.n_chunks + entity: seed.weight for entity, seed in seeds.items()}
    best = hybrid.best(n_chunks, positive=True)
    scores = (weight * hybrid.of(best)).tolist()
    return restart | dict(zip(best.tolist(), scores, strict=True))


def seed_steps(snapshot: Snapshot, seeds: Seeds) -> tuple[Step, ...]:
    """Return the seeds as steps, in row order."""
    stops = [
        steps.UnreadStep("entity", row, seeds[row].reason, seeds[row].weight)
        for row in sorted(seeds)
    ]
    return tuple(steps.read_steps(snapshot, stops))
