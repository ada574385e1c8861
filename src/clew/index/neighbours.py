"""The k-nearest-neighbour graph of chunks, and keywords."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo import keywords
from clew.algo.knn import (
    ChosenNeighbours,
    choose_neighbours,
    find_overlaps,
    page_ranks,
    update_neighbours,
)
from clew.algo.links import Link, Matrix, StoredLink
from clew.algo.nearest import Choices
from clew.base.derived import Arrays, CachedArrays, Derived, EarlierArrays
from clew.index.snapshot import TRANSPOSED_LINKS, Snapshot

_K = 2  # neighbours of a chunk, as the methods that use the graph take by default


# -- the graph of chunks --------------------------------------------------------------------------


def chunk_graph(snapshot: Snapshot, k: int = _K) -> Matrix:
    """Return the (n_chunks, n_chunks) k-nearest-neighbour graph of chunks.

    Those of an imported graph have no neighbours: their triples say what they are near to.
    """
    return snapshot.get(_CHUNK_GRAPH, k)


def chunk_ranks(snapshot: Snapshot, k: int = _K) -> NDArray[np.float64]:
    """Return the (n_chunks,) PageRank scores of chunks in that graph, 1 in the mean."""
    return snapshot.get(_CHUNK_RANKS, k)


def _build_chunk_graph(snapshot: Snapshot, k: int) -> Matrix:
    near = _read_choices(snapshot.get(NEIGHBOURS)) if k == _K else _choose_neighbours(snapshot, k)
    return near.to_graph()


def _rank_chunks(snapshot: Snapshot, k: int) -> NDArray[np.float64]:
    return page_ranks(chunk_graph(snapshot, k))


def _compute_neighbours(snapshot: Snapshot) -> Arrays:
    return _build_arrays(snapshot, _choose_neighbours(snapshot, _K))


def _update_neighbours(snapshot: Snapshot, earlier: EarlierArrays) -> Arrays:
    """Update the choices: terms and vectors of kept chunks are unchanged, only others are new."""
    able, then, rows = snapshot.are_texts(), earlier.arrays, earlier.rows["chunk"]
    is_same = rows >= 0
    is_same[is_same] = then["is_text"][rows[is_same]] == able[is_same]
    if "chunk" in earlier.unchanged and is_same.all():
        return then
    layer = snapshot.layer("chunk")
    choices = update_neighbours(
        _read_choices(then),
        np.where(is_same, rows, -1),
        snapshot.linked("chunk", "term"),
        _term_chunks(snapshot),
        layer.vectors,
        able=able,
        excluded=find_overlaps(*(layer.columns[name] for name in ("document", "start", "end"))),
    )
    return _compute_neighbours(snapshot) if choices is None else _build_arrays(snapshot, choices)


def _term_chunks(snapshot: Snapshot) -> Link:
    """Return the chunks of each term, computed in memory if the link is not stored."""
    if snapshot.base_arrays(TRANSPOSED_LINKS["term", "chunk"]) is not None:
        return snapshot.linked("term", "chunk")
    return StoredLink.from_matrix(csr_array(snapshot.link("chunk", "term").T))


def _choose_neighbours(snapshot: Snapshot, k: int) -> ChosenNeighbours:
    """Return the neighbours that each chunk chooses; chunks of imported graphs choose none."""
    layer, terms = snapshot.layer("chunk"), snapshot.link("chunk", "term")
    n, rows = len(layer), np.flatnonzero(snapshot.are_texts())
    is_all = len(rows) == n
    choices = choose_neighbours(
        terms if is_all else terms[rows],
        layer.vectors if is_all else layer.vectors[rows],
        k,
        excluded=find_overlaps(
            *(layer.columns[name][rows] for name in ("document", "start", "end"))
        ),
    )
    return choices if is_all else choices.renumber(rows, n)


def _build_arrays(snapshot: Snapshot, choices: ChosenNeighbours) -> Arrays:
    return {
        "lexical": choices.lexical.rows,
        "shared": choices.lexical.scores,
        "semantic": choices.semantic.rows,
        "cosines": choices.semantic.scores,
        "exact": np.array([choices.exact]),
        "is_text": snapshot.are_texts(),
    }


def _read_choices(arrays: Arrays) -> ChosenNeighbours:
    return ChosenNeighbours(
        Choices(arrays["lexical"], arrays["shared"]),
        Choices(arrays["semantic"], arrays["cosines"]),
        bool(arrays["exact"][0]),
    )


_CHUNK_GRAPH = Derived("the k-nearest-neighbour graph of chunks", _build_chunk_graph)
_CHUNK_RANKS = Derived("ranks in the k-nearest-neighbour graph of chunks", _rank_chunks)
NEIGHBOURS = CachedArrays(
    "chunk-neighbours", _compute_neighbours, inputs=("chunk",), update=_update_neighbours
)


# -- keywords -------------------------------------------------------------------------------------


def keyword_lengths(snapshot: Snapshot) -> NDArray[np.float32]:
    """Return the norm of the sum of the sentence vectors of each term."""
    return snapshot.get(_KEYWORD_LENGTHS)


def _read_keyword_lengths(snapshot: Snapshot) -> NDArray[np.float32]:
    arrays = snapshot.base_arrays(KEYWORDS)
    if arrays is None or snapshot.base is None:
        return np.asarray(snapshot.get(KEYWORDS)["lengths"])
    edits = {name: snapshot.base.rows(name) for name in ("sentence", "term")}
    then = {name: each.to_former(np.arange(each.size)) for name, each in edits.items()}
    return _compute_lengths(snapshot, arrays, then)


def _compute_keywords(snapshot: Snapshot) -> Arrays:
    link, vectors = snapshot.link("sentence", "term"), snapshot.layer("sentence").vectors
    return {**_count_link(link), "lengths": keywords.keyword_lengths(link, vectors)}


def _update_keywords(snapshot: Snapshot, earlier: EarlierArrays) -> Arrays:
    if {"sentence", "term"} <= earlier.unchanged:
        return earlier.arrays
    lengths = _compute_lengths(snapshot, earlier.arrays, earlier.rows)
    return {**_count_link(snapshot.link("sentence", "term")), "lengths": lengths}


def _compute_lengths(
    snapshot: Snapshot, then: Arrays, rows: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.float32]:
    """Return the lengths, updated from `then`; `rows` maps rows to former ones."""
    return keywords.update_lengths(
        then["lengths"],
        then["n_sentences"],
        rows["sentence"],
        rows["term"],
        snapshot.link("sentence", "term"),
        snapshot.layer("sentence").vectors,
    )


def _count_link(link: csr_array) -> Arrays:
    return {"n_sentences": np.bincount(link.indices, minlength=link.shape[1])}


KEYWORDS = CachedArrays(
    "keywords", _compute_keywords, inputs=("sentence", "term"), update=_update_keywords, edited=True
)
_KEYWORD_LENGTHS = Derived("lengths of keywords", _read_keyword_lengths)
