"""Find the pairs of vectors that are nearer than a threshold: names that may mean the same.

AGRAG (Wang et al. 2025, arXiv:2511.05549) joins entities whose names have a cosine above φ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from clew.algo.cosines import MILLION, cosines_among, margin
from clew.algo.nearest import visits
from clew.algo.row_edits import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Rows = NDArray[np.integer]
    # Rows, columns and their cosines, (m,) each.
    Found = tuple[Rows, Rows, NDArray[np.float32]]

# From here on the other way is the faster one, on two cores.
EXACT_UP_TO = 20_000
_BLOCK = 2**23  # cosines that are held at once where all pairs are compared
_AT_ONCE = 2**22  # pairs that are held before those behind the nearest are dropped
MOST = 100  # others that a row chooses
# √n vectors that are compared with all: 32 of 2 √n cells for each are no fewer comparisons.
_MOST_ASKED = 16


def near_pairs(
    vectors: NDArray[np.float32],
    threshold: float,
    *,
    most: int = MOST,
    exact: bool | None = None,
) -> csr_array:
    """Return the (n, n) cosines above `threshold` [φ] of the (n, d) unit `vectors`, symmetric.

    A row chooses its `most` nearest others, of equal ones the first, and a pair stays where either
    chose the other. Cosines are to six decimals. `exact` compares all pairs, O(n² d), by default up
    to `EXACT_UP_TO` vectors; else each is compared with those in 32 of 2 √n cells, O(n^1.5 d), and
    some pairs are missed.
    """
    if exact is None:
        exact = len(vectors) <= EXACT_UP_TO
    ways = (_among_all if exact else _in_cells)(vectors, threshold)
    return _together(_chosen(ways, most), len(vectors))


def renewed_pairs(
    then: csr_array,
    earlier: NDArray[np.integer],
    vectors: NDArray[np.float32],
    threshold: float,
    *,
    most: int = MOST,
) -> csr_array | None:
    """Return the pairs of `vectors` from those that there were `then`; None for `near_pairs`.

    (n,) `earlier` is which row each was then, with the same vector, -1 for a new one; those whose
    order changed are taken for new. Only new ones, and those of more than `most` neighbours that
    lost one, are compared with all. So where all pairs were compared, the result is what
    `near_pairs` has; beyond, no pair of a new one is missed.
    """
    n = len(earlier)
    earlier = in_order(earlier)
    now = np.full(then.shape[0] + 1, -1, dtype=np.int64)
    kept = np.flatnonzero(earlier >= 0)
    now[earlier[kept]] = kept
    row, column, cosine = _chosen([_entries(then)], most)
    is_full = np.diff(then.indptr) >= most
    row, column, is_full = now[row], now[column], is_full[row]
    asked = earlier < 0
    asked[row[(row >= 0) & (column < 0) & is_full]] = True
    if n > EXACT_UP_TO and np.count_nonzero(asked) > _MOST_ASKED * math.isqrt(n):
        return None
    if n <= EXACT_UP_TO < then.shape[0]:  # of which some may have been missed
        return None
    stays = (row >= 0) & (column >= 0)
    stays[stays] = ~asked[row[stays]]
    old = row[stays], column[stays], cosine[stays]
    ways = _with_all(vectors, threshold, asked, np.flatnonzero(earlier < 0))
    return _together(_chosen([old, *ways], most), n)


def _entries(matrix: csr_array) -> Found:
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return row, matrix.indices.astype(np.intp), matrix.data


def _chosen(ways: Iterable[Found], most: int) -> Found:
    """Return the `most` nearest columns of each row among pairs, each of which comes once."""
    found: list[Found] = []
    for pairs in ways:
        found.append(pairs)
        if sum(len(part[0]) for part in found) > _AT_ONCE:
            found = [_nearest(found, most)]
    return _nearest(found, most)


def _together(found: Found, n: int) -> csr_array:
    """Return (n, n): a pair stays where either chose the other."""
    row, column, cosine = found
    chosen = csr_array((cosine, (row, column)), shape=(n, n))
    return csr_array(chosen.maximum(chosen.T))


def _with_all(
    vectors: NDArray[np.float32], threshold: float, asked: NDArray[np.bool_], new: Rows
) -> Iterator[Found]:
    """Yield the pairs of rows that are asked with all, and of all others with the new ones."""
    n, is_new = len(vectors), np.zeros(len(vectors), dtype=bool)
    is_new[new] = True
    rows, columns = np.flatnonzero(asked), np.arange(n)
    size = max(1, _BLOCK // max(1, n))
    for start in range(0, len(rows), size):
        row, column, cosine = _above(vectors, rows[start : start + size], columns, threshold)
        others = row != column
        row, column, cosine = row[others], column[others], cosine[others]
        yield row, column, cosine
        turned = is_new[row] & ~asked[column]
        yield column[turned], row[turned], cosine[turned]


def _among_all(vectors: NDArray[np.float32], threshold: float) -> Iterator[Found]:
    """Yield all pairs above a cosine, both ways round; each two are compared once."""
    n = len(vectors)
    size = max(1, _BLOCK // max(1, n))
    for start in range(0, n, size):
        behind = np.arange(start, n)
        row, column, cosine = _above(vectors, behind[:size], behind, threshold)
        later = row < column
        row, column, cosine = row[later], column[later], cosine[later]
        yield row, column, cosine
        yield column, row, cosine


def _in_cells(vectors: NDArray[np.float32], threshold: float) -> Iterator[Found]:
    """Yield pairs above a cosine, each row with those that are in cells around it."""
    for rows, columns in visits(vectors):
        row, column, cosine = _above(vectors, rows, columns, threshold)
        others = row != column
        yield row[others], column[others], cosine[others]


def _above(vectors: NDArray[np.float32], rows: Rows, columns: Rows, threshold: float) -> Found:
    """Return the pairs of some rows with others whose cosine is above a threshold."""
    near = (vectors[rows] @ vectors[columns].T).ravel() > threshold - margin(vectors.shape[1])
    places, behind = np.divmod(np.flatnonzero(near), max(1, len(columns)))
    cosine = cosines_among(vectors, rows, places, columns[behind]) / MILLION
    rounded = cosine.astype(np.float32)
    kept = rounded > threshold
    return rows[places[kept]], columns[behind[kept]], rounded[kept]


def _nearest(found: list[Found], most: int) -> Found:
    """Return the `most` nearest columns of each row, row after row."""
    none: Found = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32)
    row, column, cosine = map(np.concatenate, zip(none, *found, strict=True))
    order = np.lexsort((column, -cosine, row))
    place = np.arange(len(order)) - np.searchsorted(row[order], row[order])  # in its row
    kept = order[place < most]
    return row[kept], column[kept], cosine[kept]
