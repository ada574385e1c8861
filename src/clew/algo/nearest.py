"""Find the nearest neighbours of each vector, among all rows or in the cells around it.

The cells are an inverted file (Jégou et al. 2011, "Product Quantization for Nearest Neighbor
Search"): vectors by the nearest of k means, of which each vector visits a few.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.coding import Vectors
from clew.algo.topk import DECIMALS

Rows = NDArray[np.integer]
Pairs = tuple[Rows, Rows, Rows]  # rows, columns and scores, (m,) each
Visits = Iterator[tuple[Rows, Rows]]  # rows, and the columns to compare them with

_VISITED = 32  # cells, at most
_COMPARED = 4_096  # vectors of these cells: where cells have more than 128, fewer are visited
_ROUNDS = 6  # of Lloyd's algorithm; more move few vectors
_SAMPLE = 32  # vectors for each cell to learn from
_MAX_CELL = 1_024  # a cell with more is cut, so that equal vectors are not all compared
_BATCH_SIZE = 8_192  # vectors that are compared with the means, or with a cell
_BLOCK = 2**23  # cosines that are held at once where all pairs are compared
_FEW_QUERIES = 16  # vectors that are compared with all as these are stored; for more, all are read


@dataclass(frozen=True, slots=True)
class Choices:
    """The neighbours that each of n rows chose, best first, ties by row."""

    rows: NDArray[np.int32]  # (n, h), -1 where there is none
    scores: NDArray[np.int32]  # (n, h), 0 where there is none

    @classmethod
    def empty(cls, n: int, h: int) -> "Choices":
        return cls(np.full((n, h), -1, dtype=np.int32), np.zeros((n, h), dtype=np.int32))

    def renumber(self, earlier: Rows) -> "tuple[Choices, NDArray[np.bool_]]":
        """Renumber the choices to the present rows; also mark the rows that lost one.

        (n_now,) `earlier` is the earlier row of each row, -1 for a new one. Lost choices are
        dropped, and the others move up.
        """
        n, h = len(earlier), self.rows.shape[1]
        now = np.full(len(self.rows) + 1, -1, dtype=np.int32)
        rows = np.flatnonzero(earlier >= 0)
        now[earlier[rows]] = rows
        choices = Choices.empty(n, h)
        before = self.rows[earlier[rows]]
        choices.rows[rows] = now[before]
        choices.scores[rows] = np.where(choices.rows[rows] >= 0, self.scores[earlier[rows]], 0)
        lost = np.zeros(n, dtype=bool)
        lost[rows] = ((before >= 0) & (choices.rows[rows] < 0)).any(axis=1)
        return choices, lost

    def lowest_scores(self) -> NDArray[np.int32]:
        """Return the (n,) scores of the last choices, very low for a row with fewer choices."""
        last = np.where(self.rows[:, -1] >= 0, self.scores[:, -1], np.iinfo(np.int32).min)
        return np.asarray(last)

    def add_pairs(self, rows: Rows, columns: Rows, scores: Rows) -> "Choices":
        """Merge (m,) new pairs into the choices."""
        h = self.rows.shape[1]
        some, place = np.unique(rows, return_inverse=True)
        own, at = np.nonzero(self.rows[some] >= 0)
        row = np.concatenate([own, place])
        column = np.concatenate([self.rows[some][own, at], columns])
        score = np.concatenate([self.scores[some][own, at], scores])
        order = np.lexsort((column, -score.astype(np.int64), row))
        rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
        order, rank = order[rank < h], rank[rank < h]
        new = Choices.empty(len(some), h)
        new.rows[row[order], rank] = column[order]
        new.scores[row[order], rank] = score[order]
        choices = Choices(self.rows.copy(), self.scores.copy())
        choices.rows[some], choices.scores[some] = new.rows, new.scores
        return choices


@dataclass(frozen=True, slots=True)
class ChoosingRows:
    """The rows that must choose again, and the pairs that may not be chosen."""

    rows: Rows  # that choose anew, ascending
    new: NDArray[np.bool_]  # (n,), those of these which all other rows may choose as well
    able: NDArray[np.bool_]  # (n,), rows that choose and may be chosen
    taken: csr_array  # (n, n), of each row the columns that it may not choose

    @classmethod
    def every_row(cls, taken: csr_array) -> "ChoosingRows":
        every = np.ones(taken.shape[0], dtype=bool)
        return cls(np.arange(len(every)), every, every, taken)

    def mark_others(self) -> NDArray[np.bool_]:
        """Mark the rows that keep their choices unless a new row is better."""
        is_other = self.able.copy()
        is_other[self.rows] = False
        return is_other

    def blocks(self) -> Iterator[Rows]:
        """Yield the rows that must choose again, in blocks."""
        size = max(1, _BLOCK // max(1, len(self.able)))
        for start in range(0, len(self.rows), size):
            yield self.rows[start : start + size]


def find_nearest(vectors: Vectors, h: int, taken: csr_array, *, exact: bool) -> Choices:
    """Return the `h` nearest by cosine of each of the (n, d) unit `vectors`.

    Pairs in the (n, n) `taken` are excluded. Scores are cosines in millionths. `exact` compares all
    pairs, O(n² d); otherwise each row is compared within nearby cells only, and some neighbours are
    missed: `iterate_cells`.
    """
    none = Choices.empty(len(vectors), h)
    if exact:
        return update_nearest(none, ChoosingRows.every_row(taken), vectors)
    neighbours = none.rows.astype(np.intp)
    cosine = np.full((len(vectors), h), -np.inf, dtype=vectors.dtype)
    for rows, columns in iterate_cells(vectors):
        scores = np.round(vectors[rows] @ vectors[columns].T, DECIMALS)
        taken_rows, taken_columns = taken[rows].nonzero()
        places = np.searchsorted(columns, taken_columns)
        here = columns[np.minimum(places, len(columns) - 1)] == taken_columns
        scores[taken_rows[here], places[here]] = -np.inf
        best, highest = highest_columns(scores, h)
        candidates = np.concatenate([cosine[rows], highest], axis=1)
        numbers = np.concatenate([neighbours[rows], columns[best]], axis=1)
        order = np.lexsort((numbers, -candidates), axis=1)[:, :h]
        cosine[rows] = np.take_along_axis(candidates, order, axis=1)
        neighbours[rows] = np.take_along_axis(numbers, order, axis=1)
    row, place = np.nonzero(cosine > -np.inf)
    column = neighbours[row, place]
    return none.add_pairs(row, column, pair_cosines(vectors, row, column))


def update_nearest(earlier: Choices, choosing: ChoosingRows, vectors: Vectors) -> Choices:
    """Update the choices: some rows compare with all others, the rest with new rows only.

    These others keep their `earlier` choices unless a new row is nearer. O(rows n d).
    """
    h, others = earlier.rows.shape[1], np.flatnonzero(choosing.mark_others())
    choices, none = Choices(earlier.rows.copy(), earlier.scores.copy()), np.zeros(0, dtype=np.intp)
    pairs: list[Pairs] = [(none, none, none)]
    choices.rows[choosing.rows], choices.scores[choosing.rows] = -1, 0
    compared = vectors if len(choosing.rows) <= _FEW_QUERIES else np.asarray(vectors)
    error = rounding_margin(vectors.shape[1])
    least = choices.lowest_scores()[others] / MILLION - error
    for rows in choosing.blocks():
        scores = np.ascontiguousarray((compared @ vectors[rows].T).T)
        scores[:, ~choosing.able] = -np.inf
        new = np.flatnonzero(choosing.new[rows])
        j, i = np.nonzero(scores[np.ix_(new, others)] >= least)
        pairs.append(_score_free_pairs(vectors, choosing.taken, others[i], rows[new[j]]))
        scores[choosing.taken[rows].nonzero()] = -np.inf
        places, columns, cosines = _candidates(compared, rows, scores, h, error)
        made = Choices.empty(len(rows), h).add_pairs(places, columns, cosines)
        choices.rows[rows], choices.scores[rows] = made.rows, made.scores
    return choices.add_pairs(*map(np.concatenate, zip(*pairs, strict=True)))


def _candidates(
    vectors: Vectors, rows: Rows, scores: NDArray[np.floating], h: int, error: float
) -> Pairs:
    """Return row and column positions that may be among the `h` nearest, with cosines."""
    highest = highest_columns(scores.copy(), h)[1][:, -1:]
    places, columns = np.nonzero((scores >= highest - error) & (scores > -np.inf))
    return places, columns, indexed_pair_cosines(vectors, rows, places, columns)


def _score_free_pairs(vectors: Vectors, taken: csr_array, rows: Rows, columns: Rows) -> Pairs:
    """Return the allowed pairs with their cosines."""
    free = np.ravel(taken[rows, columns] == 0) if len(rows) else np.zeros(0, dtype=bool)
    rows, columns = rows[free], columns[free]
    return rows, columns, pair_cosines(vectors, rows, columns)


def highest_columns(
    scores: NDArray[np.floating], h: int
) -> tuple[NDArray[np.intp], NDArray[np.floating]]:
    """Return the (n, h) columns and scores of each row's `h` highest, ties by column.

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


def iterate_cells(vectors: Vectors) -> Visits:
    """Yield the rows of each cell, with the ascending columns to compare them with.

    Each row comes with each of its cells once: the nearest of 2 √n, up to 32 of them and no more
    than have some 4,096 vectors. So beyond 65,536 vectors only the search for them, O(n^1.5 d),
    grows faster than n: at a million it is a third of all comparisons.
    """
    if not len(vectors):
        return
    centres, cell = _cluster(vectors, 2 * math.isqrt(len(vectors)))
    order = np.argsort(cell, kind="stable")
    begins = np.searchsorted(cell[order], np.arange(len(centres) + 1)).tolist()
    starts = [i for a, b in pairwise(begins) for i in range(a, b, _MAX_CELL)]
    cells = np.split(order, starts[1:])
    n_visited = min(_VISITED, -(-_COMPARED * len(centres) // len(vectors)))
    visited = _nearest_centres(vectors, centres[cell[order[starts]]], n_visited)
    by_cell = np.argsort(visited, axis=None, kind="stable") // visited.shape[1]
    ends = np.cumsum(np.bincount(visited.ravel(), minlength=len(cells)))
    for visitors, columns in zip(np.split(by_cell, ends[:-1]), cells, strict=True):
        for start in range(0, len(visitors), _BATCH_SIZE):
            yield visitors[start : start + _BATCH_SIZE], columns


def _cluster(vectors: Vectors, n_cells: int) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
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
    """Return (n, size): the nearest centres of each vector, unordered, ties by centre."""
    size = min(size, len(centres))
    parts = []
    for start in range(0, len(vectors), _BATCH_SIZE):
        cosines = vectors[start : start + _BATCH_SIZE] @ centres.T
        steps = np.rint(cosines * -(10.0**DECIMALS)).astype(np.int64)
        keys = steps * len(centres) + np.arange(len(centres))  # no two are equal
        parts.append(np.partition(keys, size - 1, axis=1)[:, :size] % len(centres))
    return np.concatenate(parts)


# BLAS adds up the products of two vectors in an order that depends on how many others it
# multiplies, so that the last bits of a cosine differ and, now and then, its six decimals. Numbers
# here are rounded to multiples of 2^-25. Their products are multiples of 2^-50, and sums of these
# below 8 are exact in the 53 bits of a float64, in any order. Cosines are whole millionths.
MILLION = 10**DECIMALS
_STEP = 2.0**-25
_PAIRS_AT_ONCE = 4_096  # pairs of vectors that are read at once
_DENSE_PAIRS = 64  # pairs of a row


def quantize(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Round vectors of norm below 2 to a grid on which dot products are exact."""
    return np.asarray(np.rint(vectors.astype(np.float64) / _STEP) * _STEP)


def pair_cosines(vectors: Vectors, a: Rows, b: Rows) -> NDArray[np.int32]:
    """Return the (m,) cosines of rows `a` with rows `b`, in millionths. O(m d)."""
    cosines = np.empty(len(a), dtype=np.int32)
    for start in range(0, len(a), _PAIRS_AT_ONCE):
        pairs = slice(start, start + _PAIRS_AT_ONCE)
        both = quantize(vectors[a[pairs]]), quantize(vectors[b[pairs]])
        cosines[pairs] = _to_millionths(np.einsum("ij,ij->i", *both))
    return cosines


def indexed_pair_cosines(
    vectors: Vectors, rows: Rows, places: Rows, columns: Rows
) -> NDArray[np.int32]:
    """Return `pair_cosines` of rows[places] with `columns`, by one product if there are many."""
    if len(places) <= _DENSE_PAIRS * len(rows):
        return pair_cosines(vectors, rows[places], columns)
    some, place = np.unique(columns, return_inverse=True)
    return cosine_matrix(vectors[rows], vectors[some])[places, place]


def cosine_matrix(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.int32]:
    """Return the cosines of (n, d) with (m, d) vectors, in millionths."""
    return _to_millionths(quantize(a) @ quantize(b).T)


def rounding_margin(dimension: int) -> float:
    """Return the maximum rounding error of a float32 product below its rounded value."""
    return float(dimension * 2.0**-22 + 2.0 / MILLION)


def _to_millionths(cosines: NDArray[np.float64]) -> NDArray[np.int32]:
    return np.asarray(np.rint(cosines * MILLION), dtype=np.int32)
