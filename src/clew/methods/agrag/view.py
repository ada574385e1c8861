"""AGRAG's graph of an index, and its edge costs for one query.

Facts between entities, entities and statistical entities in chunks, and synonyms
(arXiv:2511.05549, Algorithm 1 and Eqs. 4 to 6, 14).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.algo.links import Entries, entry_rows, expand_ranges
from clew.algo.pagerank import (
    WholeGraph,
    local_pagerank,
    personalized_pagerank,
    printed_influence,
    transition_matrix,
)
from clew.algo.topk import DECIMALS, min_max
from clew.index.layers.statistical import StatisticalEntities
from clew.index.snapshot import Snapshot
from clew.index.snapshot.layers import Layer

Edges = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]

Entities = Literal["statistical", "extracted"]
Costs = Literal["released", "paper"]
Influence = Literal["pagerank", "eq12"]

LOCAL_ABOVE = 500_000  # edges, where both take as long
_TOLERANCE = 1e-7  # of all influence, from one step to the next
_RESIDUAL = 3e-7  # of all influence, for each unit of a node's degree
_LEAST_COST = 1e-6  # an edge without cost has no ratio


@dataclass(frozen=True)
class AgragGraph:
    """Nodes are entities, then statistical entities that are no entity by name, then chunks.

    A fact edge weighs its number of triples, a synonym its cosine, and an edge between chunk and
    entity 1, unless it is built with another. A fact and a synonym of two nodes are two entries.
    """

    n_entities: int
    n_terms: int  # statistical entities
    n_chunks: int
    adjacency: csr_array  # (n, n), symmetric, columns ascending
    pairs: NDArray[np.int32]  # (nnz,) which two entities a fact edge joins, -1 for other edges
    begins: NDArray[np.int64]  # (n_pairs + 1,) where the triples of each pair begin
    triples: NDArray[np.int64]  # pair after pair, ascending for each
    stated: NDArray[np.bool_]  # (n_triples,) whether a triple is part of the graph

    @property
    def first_chunk(self) -> int:
        """The first chunk's node; lower nodes are entities of both kinds."""
        return self.n_entities + self.n_terms

    @property
    def n_edges(self) -> int:
        """The number of undirected edges."""
        return self.adjacency.nnz // 2

    @cached_property
    def degrees(self) -> NDArray[np.float64]:
        """The (n,) weighted degrees."""
        return np.asarray(self.adjacency.sum(axis=1), dtype=np.float64)

    @cached_property
    def whole(self) -> WholeGraph:
        """The graph in memory, for pushing along all edges at once."""
        return WholeGraph(Entries.from_matrix(self.adjacency))

    @cached_property
    def transition(self) -> csr_array:
        """The transition matrix."""
        return transition_matrix(self.adjacency)

    def row_entries(self, node: int) -> slice:
        return slice(int(self.adjacency.indptr[node]), int(self.adjacency.indptr[node + 1]))

    def get_triples(self, pair: int) -> NDArray[np.int64]:
        """Return the rows of the triples between two entities, ascending."""
        return self.triples[self.begins[pair] : self.begins[pair + 1]]


def build_graph(
    snapshot: Snapshot,
    counted: StatisticalEntities,
    entities: Entities,
    verbatim: bool,  # noqa: FBT001 -- a setting
    contains_weight: float = 1.0,
) -> AgragGraph:
    """Build the graph of all triples whose ends occur in their text.

    An "extracted" entity is contained in a chunk if the chunk's extraction has it. Without
    `verbatim` triples with ends outside their text count too. `contains_weight` is that of an edge
    between chunk and entity. O(edges log edges).
    """
    n_entities, n_chunks = len(snapshot.layer("entity")), len(snapshot.layer("chunk"))
    n_terms = len(counted.names)
    link = snapshot.link("triple", "chunk")
    placed = counted.grounded if verbatim else np.ones(link.nnz, dtype=bool)
    owners = entry_rows(link)[placed]
    stated = np.zeros(link.shape[0], dtype=bool)
    stated[owners] = True
    columns = snapshot.layer("triple").columns
    facts, begins, triples = _join_facts(columns["subject"], columns["object"], stated)
    ends = np.concatenate([columns["subject"][owners], columns["object"][owners]])
    inside = [(ends, np.tile(link.indices[placed], 2))]
    if entities == "statistical":
        terms, chunks = counted.terms.nonzero()
        inside += [counted.entities.nonzero(), (terms + n_entities, chunks)]
    else:
        inside.append(snapshot.link("entity", "chunk").nonzero())
    contained = _join_parts(inside, n_entities + n_terms, n_chunks, contains_weight)
    alike = _join_synonyms(counted, n_entities if entities == "extracted" else None)
    adjacency, pairs = _assemble([facts, contained, alike], n_entities + n_terms + n_chunks)
    return AgragGraph(n_entities, n_terms, n_chunks, adjacency, pairs, begins, triples, stated)


def _join_facts(
    subjects: NDArray[np.int32], objects: NDArray[np.int32], stated: NDArray[np.bool_]
) -> tuple[Edges, NDArray[np.int64], NDArray[np.int64]]:
    """Return an edge for each pair of entities that triples join, and its triples."""
    triples = np.flatnonzero(stated)
    low, high = (least(subjects, objects)[triples] for least in (np.minimum, np.maximum))
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(low) != 0) | (np.diff(high) != 0)
    first = np.flatnonzero(is_new)
    begins = np.append(first, len(order)).astype(np.int64)
    numbers = np.arange(len(first), dtype=np.int32)
    edges = low[first], high[first], np.diff(begins).astype(np.float64), numbers
    return edges, begins, triples[order]


def _join_parts(
    inside: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]],
    first: int,
    n_chunks: int,
    weight: float,
) -> Edges:
    """Return an edge for each entity and chunk that any of the parts links."""
    nodes, chunks = (np.concatenate(ends) for ends in zip(*inside, strict=True))
    ones = np.ones(len(nodes), dtype=np.int32)
    nodes, chunks = csr_array((ones, (nodes, chunks)), shape=(first, n_chunks)).nonzero()
    none = np.full(len(nodes), -1, dtype=np.int32)
    weights = np.full(len(nodes), weight)
    return nodes.astype(np.int32), chunks.astype(np.int32) + first, weights, none


def _join_synonyms(counted: StatisticalEntities, below: int | None) -> Edges:
    """Return the edges between synonyms, limited to nodes `below` a number if given."""
    a, b = counted.synonyms.nonzero()
    is_pair = a < b if below is None else (a < b) & (b < below)
    weights = counted.synonyms.data[is_pair].astype(np.float64)
    none = np.full(int(is_pair.sum()), -1, dtype=np.int32)
    return a[is_pair].astype(np.int32), b[is_pair].astype(np.int32), weights, none


def _assemble(parts: Sequence[Edges], n_nodes: int) -> tuple[csr_array, NDArray[np.int32]]:
    """Return the symmetric matrix of all edges, and the pair of nodes of each entry.

    Edges are sorted as a matrix of twice as many columns, where a synonym stands beside a fact.
    """
    low, high, weights, pairs = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    rows, columns, pairs = np.append(low, high), np.append(high, low), np.tile(pairs, 2)
    places = np.arange(len(rows)), (rows, 2 * columns + (pairs < 0))
    cells = csr_array(places, shape=(n_nodes, 2 * n_nodes))
    entries = np.tile(weights, 2)[cells.data], cells.indices // 2, cells.indptr
    return csr_array(entries, shape=(n_nodes, n_nodes)), pairs[cells.data]


def compute_influence(
    graph: AgragGraph, terminals: Sequence[int], damping: float, influence: Influence = "pagerank"
) -> NDArray[np.float64]:
    """Return the (n,) influences of nodes: PageRank personalized to the terminals, sum 1.

    As printed Eqs. 7 to 13 are no PageRank; docs/methods/agrag.md says why this is what they mean.
    By "eq12" they are taken at their word.

    In a graph of more than `LOCAL_ABOVE` edges nodes far from the terminals have none, and all
    together have 1 less the error of `local_pagerank`.
    """
    n = graph.adjacency.shape[0]
    if influence == "eq12":
        return printed_influence(graph.adjacency, terminals, damping)
    if graph.n_edges <= LOCAL_ABOVE:
        restart = np.zeros(n)
        restart[list(terminals)] = 1.0
        return personalized_pagerank(
            graph.transition, restart, damping=damping, tolerance=_TOLERANCE
        )
    starts = dict.fromkeys(terminals, 1.0)
    near = local_pagerank(graph.whole, graph.degrees, starts, damping=damping, residual=_RESIDUAL)
    scores = np.zeros(n)
    scores[near.nodes] = near.scores
    return scores


# -- as a query sees it ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgragView:
    """The graph with the edge costs of a query (Eq. 14).

    An edge costs 1 minus a similarity to the query: for facts the best of the triples', for
    synonyms the better of the names', for chunk edges the chunk's hybrid score scaled to 0..1
    ("released") or its cosine ("paper"). "paper" halves all costs. The minimum is 1e-6.
    """

    snapshot: Snapshot
    query: steps.Query
    graph: AgragGraph
    counted: StatisticalEntities
    costs: Costs
    chunk_similarity: NDArray[np.float64]  # (n_chunks,)
    _edges: dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]] = field(default_factory=dict)

    def get_neighbours(self, node: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the neighbours of a node, ascending, and the costs of the edges."""
        if node not in self._edges:
            entries = self.graph.row_entries(node)
            others = self.graph.adjacency.indices[entries].astype(np.intp)
            self._edges[node] = others, self._compute_costs(node, others, self.graph.pairs[entries])
        return self._edges[node]

    def _compute_costs(
        self, node: int, others: NDArray[np.intp], pairs: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        first = self.graph.first_chunk
        if node >= first:
            similarity = np.full(len(others), self.chunk_similarity[node - first])
        else:
            similarity = np.empty(len(others))
            chunks, facts = others >= first, pairs >= 0
            similarity[chunks] = self.chunk_similarity[others[chunks] - first]
            similarity[facts] = self._pair_cosines(pairs[facts])
            alike = ~chunks & ~facts
            if alike.any():
                both = self._name_cosines(np.append(others[alike], node))
                similarity[alike] = np.maximum(both[:-1], both[-1])
        scale = 2.0 if self.costs == "paper" else 1.0
        return np.maximum(np.round((1.0 - similarity) / scale, DECIMALS), _LEAST_COST)

    def _pair_cosines(self, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the best cosine among the triples of each pair, reading only their vectors."""
        if not len(pairs):
            return np.empty(0)
        graph = self.graph
        groups, places = expand_ranges(graph.begins[pairs], graph.begins[pairs + 1])
        cosines = self._row_cosines(self.snapshot.layer("triple"), graph.triples[places])
        return np.maximum.reduceat(cosines, np.searchsorted(groups, np.arange(len(pairs))))

    def _name_cosines(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the cosines of the names of entities of both kinds."""
        n = self.graph.n_entities
        cosines = np.empty(len(nodes))
        is_own = nodes < n
        cosines[is_own] = self._row_cosines(self.snapshot.layer("entity"), nodes[is_own])
        cosines[~is_own] = self._row_cosines(self.counted, nodes[~is_own] - n)
        return cosines

    def _row_cosines(
        self, layer: Layer | StatisticalEntities, rows: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return the cosines of rows in double precision, independent of the other rows."""
        if not len(rows):
            return np.empty(0)
        return np.asarray(layer.vectors[rows] @ self.query.vector.astype(np.float64))

    def find_pair(self, a: int, b: int) -> int:
        """Return the index of two entities joined by facts, or -1."""
        entries = self.graph.row_entries(a)
        others = self.graph.adjacency.indices[entries]
        place = int(np.searchsorted(others, others.dtype.type(b)))  # a fact before a synonym
        is_edge = place < len(others) and others[place] == b
        return int(self.graph.pairs[entries.start + place]) if is_edge else -1

    def read_texts(self, nodes: Sequence[int]) -> list[str]:
        """Return the names of entities of both kinds."""
        n = self.graph.n_entities
        names = iter(self.snapshot.layer("entity").texts([node for node in nodes if node < n]))
        return [next(names) if node < n else self.counted.names[node - n] for node in nodes]


def open_view(
    snapshot: Snapshot,
    query: steps.Query,
    graph: AgragGraph,
    counted: StatisticalEntities,
    costs: Costs,
    hybrid: NDArray[np.float64],
) -> AgragView:
    """Return the graph as weighted by `query`; `hybrid` are the (n_chunks,) chunk scores."""
    is_released = costs == "released"
    similarity = min_max(hybrid) if is_released else steps.dense_scores(snapshot, "chunk", query)
    return AgragView(snapshot, query, graph, counted, costs, similarity)
