"""The k-nearest-neighbour graph of chunks, keywords, and the nearest rows of a layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.algo import keywords, sketches
from clew.algo.knn import knn_graph, overlapping, page_ranks
from clew.derived import CachedArrays, Derived
from clew.types import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    return snapshot.get(_KEYWORD_LENGTHS)


def _keyword_lengths(snapshot: Snapshot) -> NDArray[np.float32]:
    found = snapshot.former_arrays(KEYWORDS)
    if found is None or snapshot.former is None:
        return np.asarray(snapshot.get(KEYWORDS)["lengths"])
    edits = {name: snapshot.former.rows(name) for name in ("sentence", "term")}
    then = {name: each.then(np.arange(each.size)) for name, each in edits.items()}
    return _lengths(snapshot, found, then)


def _keywords(snapshot: Snapshot) -> Arrays:
    link, vectors = snapshot.link("sentence", "term"), snapshot.layer("sentence").vectors
    return {**_counts(link), "lengths": keywords.keyword_lengths(link, vectors)}


def _updated_keywords(snapshot: Snapshot, earlier: Earlier) -> Arrays:
    if {"sentence", "term"} <= earlier.unchanged:
        return earlier.arrays
    lengths = _lengths(snapshot, earlier.arrays, earlier.rows)
    return {**_counts(snapshot.link("sentence", "term")), "lengths": lengths}


def _lengths(
    snapshot: Snapshot, then: Arrays, rows: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.float32]:
    """Return the lengths, by those of `then`; `rows` are which row each row was then."""
    return keywords.updated_lengths(
        then["lengths"],
        then["n_sentences"],
        rows["sentence"],
        rows["term"],
        snapshot.link("sentence", "term"),
        snapshot.layer("sentence").vectors,
    )


def _counts(link: csr_array) -> Arrays:
    return {"n_sentences": np.bincount(link.indices, minlength=link.shape[1])}


KEYWORDS = CachedArrays(
    "keywords", _keywords, inputs=("sentence", "term"), update=_updated_keywords, edited=True
)
_KEYWORD_LENGTHS = Derived("lengths of keywords", _keyword_lengths)


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
    other rows. In a layer of more than 100,000 rows a few of the nearest may be missed, unless the
    snapshot is exact.
    """
    rows = snapshot.layer(layer).vectors
    if len(rows) > sketches.EXACT_UP_TO and not snapshot.exact:
        known = snapshot.get(SKETCHES[layer])
        made = sketches.Sketches(known["axes"], known["codes"])
        found = sketches.search(made, rows, vectors, k, only=only)
    else:
        found = sketches.search_all(rows, vectors, k, only=only)
    return [list(zip(near.tolist(), cosines.tolist(), strict=True)) for near, cosines in found]


def _sketches_of(layer: str) -> CachedArrays:
    """Return the declaration of the sketches of a layer's vectors."""

    def compute(snapshot: Snapshot) -> Arrays:
        vectors = snapshot.layer(layer).vectors
        made = sketches.sketched(vectors)
        return {"digest": sketches.digest(vectors), "axes": made.axes, "codes": made.codes}

    def update(snapshot: Snapshot, earlier: Earlier) -> Arrays:
        now = sketches.digest(snapshot.layer(layer).vectors)
        same = np.array_equal(earlier.arrays["digest"], now)
        return earlier.arrays if same else compute(snapshot)

    def worth(snapshot: Snapshot) -> bool:
        return len(snapshot.layer(layer)) > sketches.EXACT_UP_TO

    return CachedArrays(f"sketches-{layer}", compute, update=update, worth=worth)


SKETCHES = {layer: _sketches_of(layer) for layer in ("entity", "triple")}
