"""Find pairs of vectors with a cosine above a threshold, such as names that mean the same.

AGRAG (Wang et al. 2025, arXiv:2511.05549) joins entities whose names have a cosine above φ.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.links import entry_rows
from clew.algo.nearest import MILLION, indexed_pair_cosines, iterate_cells, rounding_margin
from clew.algo.row_edits import drop_disordered

Rows = NDArray[np.integer]
# Rows, columns and their cosines, (m,) each.
Found = tuple[Rows, Rows, NDArray[np.float32]]

# From here on the other way is the faster one, on two cores.
EXACT_UP_TO = 20_000
_BLOCK = 2**23  # cosines that are held at once where all pairs are compared
_BATCH_SIZE = 2**22  # pairs that are held before those behind the nearest are dropped
MOST = 100  # others that a row chooses
# √n vectors that are compared with all: 32 of 2 √n cells for each are no fewer comparisons.
_MAX_CANDIDATES = 16


def find_near_pairs(
    vectors: NDArray[np.float32], threshold: float, *, most: int = MOST, exact: bool | None = None
) -> csr_array:
    """Return the (n, n) cosines above `threshold` [φ] of the (n, d) unit `vectors`, symmetric.

    A row chooses its `most` nearest others, of equal ones the first, and a pair stays where either
    chose the other. Cosines are to six decimals. `exact` compares all pairs, O(n² d), by default up
    to `EXACT_UP_TO` vectors; else each is compared with those in 32 of 2 √n cells, O(n^1.5 d), and
    some pairs are missed.
    """
    if exact is None:
        exact = len(vectors) <= EXACT_UP_TO
    ways = (_compare_all if exact else _compare_in_cells)(vectors, threshold)
    return _symmetrize(_nearest_columns(ways, most), len(vectors))


def update_pairs(
    then: csr_array,
    earlier: NDArray[np.integer],
    vectors: NDArray[np.float32],
    threshold: float,
    *,
    most: int = MOST,
) -> csr_array | None:
    """Update the pairs `then` to the present `vectors`, or return None to compare all.

    (n,) `earlier` is which row each was then, with the same vector, -1 for a new one; those whose
    order changed are taken for new. Only new ones, and those of more than `most` neighbours that
    lost one, are compared with all. So where all pairs were compared, the result is what
    `find_near_pairs` has; beyond, no pair of a new one is missed.
    """
    n = len(earlier)
    earlier = drop_disordered(earlier)
    now = np.full(then.shape[0] + 1, -1, dtype=np.int64)
    rows = np.flatnonzero(earlier >= 0)
    now[earlier[rows]] = rows
    found = entry_rows(then), then.indices.astype(np.intp), then.data
    row, column, cosine = _nearest_columns([found], most)
    is_full = np.diff(then.indptr) >= most
    row, column, is_full = now[row], now[column], is_full[row]
    is_new = earlier < 0
    is_new[row[(row >= 0) & (column < 0) & is_full]] = True
    if n > EXACT_UP_TO and np.count_nonzero(is_new) > _MAX_CANDIDATES * math.isqrt(n):
        return None
    if n <= EXACT_UP_TO < then.shape[0]:  # of which some may have been missed
        return None
    stays = (row >= 0) & (column >= 0)
    stays[stays] = ~is_new[row[stays]]
    old = row[stays], column[stays], cosine[stays]
    ways = _compare_with_all(vectors, threshold, is_new, np.flatnonzero(earlier < 0))
    return _symmetrize(_nearest_columns([old, *ways], most), n)


def _nearest_columns(ways: Iterable[Found], most: int) -> Found:
    """Return the `most` nearest columns of each row among distinct pairs."""
    nearest: list[Found] = []
    for pairs in ways:
        nearest.append(pairs)
        if sum(len(part[0]) for part in nearest) > _BATCH_SIZE:
            nearest = [_nearest_per_row(nearest, most)]
    return _nearest_per_row(nearest, most)


def _symmetrize(pairs: Found, n: int) -> csr_array:
    """Return (n, n) pairs that either end chose."""
    row, column, cosine = pairs
    choices = csr_array((cosine, (row, column)), shape=(n, n))
    return csr_array(choices.maximum(choices.T))


def _compare_with_all(
    vectors: NDArray[np.float32], threshold: float, is_compared: NDArray[np.bool_], new: Rows
) -> Iterator[Found]:
    """Yield pairs of the chosen rows with all rows, and of all others with new rows."""
    n, is_new = len(vectors), np.zeros(len(vectors), dtype=bool)
    is_new[new] = True
    rows, columns = np.flatnonzero(is_compared), np.arange(n)
    size = max(1, _BLOCK // max(1, n))
    for start in range(0, len(rows), size):
        row, column, cosine = _filter_pairs(vectors, rows[start : start + size], columns, threshold)
        others = row != column
        row, column, cosine = row[others], column[others], cosine[others]
        yield row, column, cosine
        turned = is_new[row] & ~is_compared[column]
        yield column[turned], row[turned], cosine[turned]


def _compare_all(vectors: NDArray[np.float32], threshold: float) -> Iterator[Found]:
    """Yield all pairs above a cosine in both directions, each compared once."""
    n = len(vectors)
    size = max(1, _BLOCK // max(1, n))
    for start in range(0, n, size):
        behind = np.arange(start, n)
        row, column, cosine = _filter_pairs(vectors, behind[:size], behind, threshold)
        later = row < column
        row, column, cosine = row[later], column[later], cosine[later]
        yield row, column, cosine
        yield column, row, cosine


def _compare_in_cells(vectors: NDArray[np.float32], threshold: float) -> Iterator[Found]:
    """Yield pairs above a cosine, comparing each row within nearby cells only."""
    for rows, columns in iterate_cells(vectors):
        row, column, cosine = _filter_pairs(vectors, rows, columns, threshold)
        others = row != column
        yield row[others], column[others], cosine[others]


def _filter_pairs(
    vectors: NDArray[np.float32], rows: Rows, columns: Rows, threshold: float
) -> Found:
    """Return the pairs of some rows with others whose cosine is above a threshold."""
    least = threshold - rounding_margin(vectors.shape[1])
    near = (vectors[rows] @ vectors[columns].T).ravel() > least
    places, behind = np.divmod(np.flatnonzero(near), max(1, len(columns)))
    cosine = indexed_pair_cosines(vectors, rows, places, columns[behind]) / MILLION
    rounded = cosine.astype(np.float32)
    is_above = rounded > threshold
    return rows[places[is_above]], columns[behind[is_above]], rounded[is_above]


def _nearest_per_row(parts: list[Found], most: int) -> Found:
    """Return the `most` nearest columns of each row, in row order."""
    none: Found = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32)
    row, column, cosine = map(np.concatenate, zip(none, *parts, strict=True))
    order = np.lexsort((column, -cosine, row))
    place = np.arange(len(order)) - np.searchsorted(row[order], row[order])  # in its row
    nearest = order[place < most]
    return row[nearest], column[nearest], cosine[nearest]
