"""The k-nearest-neighbour graph of chunks, and keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.algo import keywords
from clew.algo.knn import knn_graph, overlapping, page_ranks
from clew.derived import CachedArrays, Derived
from clew.types import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.derived import Arrays, Earlier

_K = 2  # neighbours of a chunk, as the methods that use the graph take by default


# -- the graph of chunks --------------------------------------------------------------------------


def chunk_graph(snapshot: Snapshot, k: int = _K) -> csr_array[Any, tuple[int, int]]:
    """Return the (n_chunks, n_chunks) k-nearest-neighbour graph of chunks.

    Those of an imported graph have no neighbours: their triples say what they are near to.
    """
    return snapshot.get(_CHUNK_GRAPH, k)


def chunk_ranks(snapshot: Snapshot, k: int = _K) -> NDArray[np.float64]:
    """Return the (n_chunks,) PageRank scores of chunks in that graph, 1 in the mean."""
    return snapshot.get(_CHUNK_RANKS, k)


def _chunk_graph(snapshot: Snapshot, k: int) -> csr_array[Any, tuple[int, int]]:
    if k != _K:
        return _computed_graph(snapshot, k)
    found, n = snapshot.get(NEIGHBOURS), len(snapshot.layer("chunk"))
    ones = np.ones(len(found["indices"]))
    return csr_array((ones, found["indices"], found["indptr"]), shape=(n, n))


def _chunk_ranks(snapshot: Snapshot, k: int) -> NDArray[np.float64]:
    return page_ranks(chunk_graph(snapshot, k))


def _neighbours(snapshot: Snapshot) -> Arrays:
    """Terms and vectors of a chunk stay what they are, so equal chunks have an equal graph."""
    graph = _computed_graph(snapshot, _K)
    return {"indptr": graph.indptr, "indices": graph.indices}


def _computed_graph(snapshot: Snapshot, k: int) -> csr_array[Any, tuple[int, int]]:
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


_CHUNK_GRAPH = Derived("the k-nearest-neighbour graph of chunks", _chunk_graph)
_CHUNK_RANKS = Derived("ranks in the k-nearest-neighbour graph of chunks", _chunk_ranks)
NEIGHBOURS = CachedArrays(f"neighbours-{_K}", _neighbours, inputs=("chunk",))


# -- keywords -------------------------------------------------------------------------------------


def keyword_lengths(snapshot: Snapshot) -> NDArray[np.float32]:
    """Return for each term the length of the sum of the vectors of the sentences with it."""
    return np.asarray(snapshot.get(KEYWORDS)["lengths"])


def _keywords(snapshot: Snapshot) -> Arrays:
    link, vectors = snapshot.link("sentence", "term"), snapshot.layer("sentence").vectors
    return {**_counts(link), "lengths": keywords.keyword_lengths(link, vectors)}


def _updated_keywords(snapshot: Snapshot, earlier: Earlier) -> Arrays:
    if {"sentence", "term"} <= earlier.unchanged:
        return earlier.arrays
    link = snapshot.link("sentence", "term")
    lengths = keywords.updated_lengths(
        earlier.arrays["lengths"],
        earlier.arrays["n_sentences"],
        earlier.rows["sentence"],
        earlier.rows["term"],
        link,
        snapshot.layer("sentence").vectors,
    )
    return {**_counts(link), "lengths": lengths}


def _counts(link: csr_array) -> Arrays:
    return {"n_sentences": np.bincount(link.indices, minlength=link.shape[1])}


KEYWORDS = CachedArrays(
    "keywords", _keywords, inputs=("sentence", "term"), update=_updated_keywords
)
