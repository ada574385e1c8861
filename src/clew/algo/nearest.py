"""Find the nearest vectors of each vector, among all or in the cells around it.

The cells are an inverted file (Jégou et al. 2011, "Product Quantization for Nearest Neighbor
Search"): vectors by the nearest of k means, of which each vector visits a few.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from clew.algo.topk import DECIMALS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from clew.algo.coding import Vectors

    Pairs = Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]

_VISITED = 32  # cells
_ROUNDS = 6  # of Lloyd's algorithm; more move few vectors
_SAMPLE = 32  # vectors for each cell to learn from
_LARGEST = 1_024  # a cell with more is cut, so that equal vectors are not all compared
_AT_ONCE = 8_192  # vectors that are compared with the means, or with a cell
_BLOCK = 2**23  # cosines that are held at once where all pairs are compared


def nearest(vectors: Vectors, h: int, taken: csr_array, *, exact: bool) -> NDArray[np.intp]:
    """Return (n, h): the `h` nearest by cosine of each of the (n, d) unit `vectors`, best first.

    A row gets none of the columns that the (n, n) `taken` has in it, and -1 where no more are
    left. Of equal ones the first comes first. `exact` compares all pairs, O(n² d); else each is
    compared with those in 32 of 2 √n cells, O(n^1.5 d), and some are missed.
    """
    whole = np.asarray(vectors) if exact else None
    compared = _all_pairs(len(vectors)) if exact else visits(vectors)
    chosen = np.full((len(vectors), h), -1, dtype=np.intp)
    cosine = np.full((len(vectors), h), -np.inf, dtype=vectors.dtype)
    for rows, columns in compared:
        others = vectors[columns] if whole is None else whole
        scores = np.round(vectors[rows] @ others.T, DECIMALS)
        taken_rows, taken_columns = taken[rows].nonzero()
        places = np.searchsorted(columns, taken_columns)
        here = columns[np.minimum(places, len(columns) - 1)] == taken_columns
        scores[taken_rows[here], places[here]] = -np.inf
        best, highest = highest_columns(scores, h)
        found = np.concatenate([cosine[rows], highest], axis=1)
        named = np.concatenate([chosen[rows], columns[best]], axis=1)
        order = np.lexsort((named, -found), axis=1)[:, :h]
        cosine[rows] = np.take_along_axis(found, order, axis=1)
        chosen[rows] = np.take_along_axis(named, order, axis=1)
    return np.where(cosine > -np.inf, chosen, -1)


def highest_columns(
    scores: NDArray[np.floating], h: int
) -> tuple[NDArray[np.intp], NDArray[np.floating]]:
    """Return (n, h) columns and scores: the `h` highest of each row, the first of equal ones.

    Spoils `scores`, (n, m) with m > 0. Where a row has fewer, the score is -inf.
    """
    rows = np.arange(len(scores))
    columns = np.empty((len(scores), h), dtype=np.intp)
    highest = np.empty((len(scores), h), dtype=scores.dtype)
    for place in range(h):
        best = scores.argmax(axis=1)
        columns[:, place], highest[:, place] = best, scores[rows, best]
        scores[rows, best] = -np.inf
    return columns, highest


def _all_pairs(n: int) -> Pairs:
    """Yield rows and the columns to compare them with: all."""
    size = max(1, _BLOCK // max(1, n))
    for start in range(0, n, size):
        yield np.arange(start, min(start + size, n)), np.arange(n)


def visits(vectors: Vectors) -> Pairs:
    """Yield rows and the columns to compare them with, ascending: those of a cell near them all.

    Each row comes with each of its cells once.
    """
    if not len(vectors):
        return
    centres, cell = _clustered(vectors, 2 * math.isqrt(len(vectors)))
    order = np.argsort(cell, kind="stable")
    begins = np.searchsorted(cell[order], np.arange(len(centres) + 1)).tolist()
    starts = [i for a, b in pairwise(begins) for i in range(a, b, _LARGEST)]
    cells = np.split(order, starts[1:])
    visited = _nearest_centres(vectors, centres[cell[order[starts]]], _VISITED)
    by_cell = np.argsort(visited, axis=None, kind="stable") // visited.shape[1]
    ends = np.cumsum(np.bincount(visited.ravel(), minlength=len(cells)))
    for visitors, columns in zip(np.split(by_cell, ends[:-1]), cells, strict=True):
        for start in range(0, len(visitors), _AT_ONCE):
            yield visitors[start : start + _AT_ONCE], columns


def _clustered(vectors: Vectors, n_cells: int) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Return the (n_cells, d) unit centres of cells, and the (n,) cell of each vector."""
    shuffled = np.random.default_rng(0).permutation(len(vectors))
    sample = vectors[shuffled[: _SAMPLE * n_cells]]
    centres = sample[:n_cells].copy()
    for _ in range(_ROUNDS):
        cell = _nearest_centres(sample, centres, 1)[:, 0]
        member = csr_array(
            (np.ones(len(cell), dtype=sample.dtype), (cell, np.arange(len(cell)))),
            shape=(len(centres), len(cell)),
        )
        sums = member @ sample
        lengths = np.linalg.norm(sums, axis=1)
        filled = lengths > 0
        centres[filled] = sums[filled] / lengths[filled, None]
    return centres, _nearest_centres(vectors, centres, 1)[:, 0]


def _nearest_centres(
    vectors: Vectors, centres: NDArray[np.floating], size: int
) -> NDArray[np.int64]:
    """Return (n, size): the centres nearest to each vector, unordered; of equal ones the first."""
    size = min(size, len(centres))
    parts = []
    for start in range(0, len(vectors), _AT_ONCE):
        cosines = vectors[start : start + _AT_ONCE] @ centres.T
        steps = np.rint(cosines * -(10.0**DECIMALS)).astype(np.int64)
        keys = steps * len(centres) + np.arange(len(centres))  # no two are equal
        parts.append(np.partition(keys, size - 1, axis=1)[:, :size] % len(centres))
    return np.concatenate(parts)
