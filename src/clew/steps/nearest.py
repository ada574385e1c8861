"""The graph of near chunks, the lengths of keywords, and the nearest rows of a layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.algo import keywords, sketches
from clew.algo.knn import knn_graph, overlapping, page_ranks
from clew.types import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray


# -- the graph of chunks, and keywords ------------------------------------------------------------


def chunk_graph(snapshot: Snapshot, k: int = 2) -> csr_array[Any, tuple[int, int]]:
    """Return the (n_chunks, n_chunks) graph of near chunks, as the index keeps it or computed.

    Those of an imported graph have no neighbours: their triples say what they are near to.
    """
    n = len(snapshot.layer("chunk"))
    kept = snapshot.kept(f"neighbours-{k}")
    if kept is not None:
        ones = np.ones(len(kept["indices"]))
        return csr_array((ones, kept["indices"], kept["indptr"]), shape=(n, n))
    return snapshot.derived(f"chunk graph {k}", lambda: _chunk_graph(snapshot, k))


def _chunk_graph(snapshot: Snapshot, k: int) -> csr_array[Any, tuple[int, int]]:
    layer, terms = snapshot.layer("chunk"), snapshot.link("chunk", "term")
    n, rows = len(layer), np.flatnonzero(snapshot.are_texts())
    is_all = len(rows) == n
    graph = knn_graph(
        terms if is_all else terms[rows],
        layer.vectors if is_all else layer.vectors[rows],
        k,
        excluded=overlapping(*(layer.columns[name][rows] for name in ("document", "start", "end"))),
    )
    if is_all:
        return graph
    a, b = graph.nonzero()
    return csr_array((graph.data, (rows[a], rows[b])), shape=(n, n))


def chunk_ranks(snapshot: Snapshot, k: int = 2) -> NDArray[np.float64]:
    """Return the (n_chunks,) PageRank scores in the graph of near chunks, 1 in the mean."""
    return snapshot.derived(f"chunk ranks {k}", lambda: page_ranks(chunk_graph(snapshot, k)))


def keyword_lengths(snapshot: Snapshot) -> NDArray[np.float32]:
    """Return for each term the length of the sum of the vectors of the sentences with it."""
    kept = snapshot.kept("keywords")
    if kept is not None:
        return np.asarray(kept["lengths"])
    link, vectors = snapshot.link("sentence", "term"), snapshot.layer("sentence").vectors
    return snapshot.derived("keyword lengths", lambda: keywords.keyword_lengths(link, vectors))


# -- nearest rows ---------------------------------------------------------------------------------


def near_rows(
    snapshot: Snapshot,
    layer: str,
    vectors: NDArray[np.float32],
    k: int,
    *,
    only: NDArray[np.bool_] | None = None,
) -> list[list[tuple[int, float]]]:
    """Return the `k` rows of a layer nearest to each of the (m, d) `vectors`, with their cosines.

    Best first, ties by row, cosines to six decimals; where `only`, (n,), is given, none of the
    other rows. Few of the nearest are missed where the index keeps sketches of the layer, and none
    elsewhere.
    """
    rows = snapshot.layer(layer).vectors
    known = snapshot.derived(f"sketches {layer}", lambda: _sketches(snapshot, layer))
    if known is None:
        found = sketches.search_all(rows, vectors, k, only=only)
    else:
        found = sketches.search(known, rows, vectors, k, only=only)
    return [list(zip(near.tolist(), cosines.tolist(), strict=True)) for near, cosines in found]


def _sketches(snapshot: Snapshot, layer: str) -> sketches.Sketches | None:
    kept = snapshot.kept(f"sketches-{layer}")
    return None if kept is None else sketches.Sketches(kept["axes"], kept["codes"])
