"""An in-memory graph of chunks and entities, for the PageRank of published methods.

`entity_graph` has that of Clew's own methods, whose edges are read where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.algo.links import Entries, entry_rows, neighbours
from clew.algo.pagerank import LocalScores, WholeGraph, local_pagerank
from clew.algo.topk import find_highest, min_max
from clew.base.derived import Derived
from clew.base.types import Step
from clew.index.snapshot import Snapshot
from clew.steps.entity_graph import choose_residual

# The nodes that each edge joins, and its weight, (m,) each.
Edges = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.floating]]


@dataclass(frozen=True, slots=True)
class PassageGraph:
    """Chunks, then entities, as nodes."""

    n_chunks: int
    graph: WholeGraph  # (n, n) weights, symmetric
    degrees: NDArray[np.float64]  # (n,) their sums

    @classmethod
    def from_edges(cls, n_chunks: int, n_entities: int, parts: Sequence[Edges]) -> PassageGraph:
        """Build the graph from undirected edges; parallel edges are summed.

        An edge from a node to itself is left out.
        """
        a, b, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        n, pairs = n_chunks + n_entities, a != b
        half = csr_array((weights[pairs].astype(np.float64), (a[pairs], b[pairs])), shape=(n, n))
        both = csr_array(half + half.T)
        both.sort_indices()
        return cls(n_chunks, WholeGraph(Entries.from_matrix(both)), np.asarray(both.sum(axis=1)))

    def spread(self, restart: Mapping[int, float], damping: float) -> LocalScores:
        """Return the PageRank scores of nodes near the restart nodes."""
        residual = choose_residual(len(self.degrees))
        return local_pagerank(self.graph, self.degrees, restart, damping=damping, residual=residual)


def mention_counts(snapshot: Snapshot) -> csr_array:
    """Return (n_entities, n_chunks): how many sentences and titles mention an entity."""
    return snapshot.get(_COUNTS)


def _count_mentions(snapshot: Snapshot) -> csr_array:
    mentioned = snapshot.link("chunk", "unit") @ snapshot.link("unit", "entity")
    counts = csr_array((mentioned + steps.chunk_titles(snapshot).to_matrix()).T)
    counts.sort_indices()
    return counts


_COUNTS = Derived("how often chunks mention entities", _count_mentions)


def trace_triple(
    snapshot: Snapshot, seeds: Mapping[int, Step], phrases: NDArray[np.float64], chunk: int
) -> Iterator[Step]:
    """Yield the steps to a chunk: a seed entity, the chunk's highest-scored triple, the chunk.

    `seeds` are by entity, `phrases` the (n_entities,) scores.
    """
    columns = snapshot.layer("triple").columns
    own = neighbours(snapshot.link("chunk", "triple"), chunk)
    if len(own):
        ends = np.stack([columns[end][own] for end in ("subject", "object")])
        best = find_highest(phrases[ends].sum(axis=0))
        before = [seeds[end] for end in ends[:, best].tolist() if end in seeds][:1]
        triple = steps.read_step(snapshot, "triple", int(own[best]), "of the highest scores there")
        yield from before
        yield from [triple] if triple.id not in {step.id for step in before} else []
    reason = "holds it" if len(own) else "near the question"
    yield steps.read_step(snapshot, "chunk", chunk, reason)


def passage_weights(dense: steps.Ranking) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return chunks with their cosines to the query scaled to 0..1: all, or the likeliest."""
    rows = np.arange(len(dense.scores)) if dense.rows is None else dense.rows
    return rows, min_max(dense.scores)


def phrases_of_chunks(snapshot: Snapshot) -> csr_array:
    """Return (n_chunks, n_entities): how many ends of a chunk's triples an entity is."""
    return snapshot.get(_PHRASES)


def _link_phrases(snapshot: Snapshot) -> csr_array:
    link, columns = snapshot.link("chunk", "triple"), snapshot.layer("triple").columns
    ends = np.concatenate([columns[end][link.indices] for end in ("subject", "object")])
    shape = link.shape[0], len(snapshot.layer("entity"))
    within = csr_array((np.ones(len(ends)), (np.tile(entry_rows(link), 2), ends)), shape=shape)
    within.sum_duplicates()
    return within


_PHRASES = Derived("phrases of chunks", _link_phrases)
