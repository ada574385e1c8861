"""Find pairs of vectors with a cosine above a threshold, such as names that mean the same.

AGRAG (Wang et al. 2025, arXiv:2511.05549) joins entities whose names have a cosine above φ.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.links import entry_rows
from clew.algo.nearest import (
    MILLION,
    Visits,
    cosine_matrix,
    indexed_pair_cosines,
    iterate_cells,
    rounding_margin,
)
from clew.algo.row_edits import drop_disordered

Rows = NDArray[np.integer]
# Rows, columns and their cosines, (m,) each.
Found = tuple[Rows, Rows, NDArray[np.float32]]

# From here on the other way is the faster one, on two cores.
EXACT_UP_TO = 20_000
_BLOCK = 2_048  # rows and columns that are compared at once
_BATCH_SIZE = 2**22  # pairs that are held before those behind the nearest are dropped
MOST = 100  # others that a row chooses
_MAX_COMPARED = 4_096  # vectors with all others: nearby cells of each have no fewer


def find_near_pairs(
    vectors: NDArray[np.float32], threshold: float, *, most: int = MOST, exact: bool | None = None
) -> csr_array:
    """Return the (n, n) cosines above `threshold` [φ] of the (n, d) unit `vectors`, symmetric.

    A row chooses its `most` nearest others, of equal ones the first, and a pair stays where either
    chose the other. Cosines are to six decimals. `exact` compares all pairs, O(n² d), by default up
    to `EXACT_UP_TO` vectors; else each is compared with those in nearby cells only, and some pairs
    are missed: `iterate_cells`.
    """
    if exact is None:
        exact = len(vectors) <= EXACT_UP_TO
    if exact:
        every = np.arange(len(vectors))
        blocks = _iterate_blocks(every, every)
        later = ((rows, columns) for rows, columns in blocks if columns[-1] >= rows[0])
        ways = _turn_around(_find_pairs(vectors, later, threshold, most))
    else:
        ways = _find_pairs(vectors, iterate_cells(vectors), threshold, most)
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
    if n > EXACT_UP_TO and np.count_nonzero(is_new) > _MAX_COMPARED:
        return None
    if n <= EXACT_UP_TO < then.shape[0]:  # of which some may have been missed
        return None
    stays = (row >= 0) & (column >= 0)
    stays[stays] = ~is_new[row[stays]]
    old = row[stays], column[stays], cosine[stays]
    visits = chain(
        _iterate_blocks(np.flatnonzero(is_new), np.arange(n)),
        _iterate_blocks(np.flatnonzero(~is_new), np.flatnonzero(earlier < 0)),
    )
    ways = _find_pairs(vectors, visits, threshold, most)
    return _symmetrize(_nearest_columns(chain([old], ways), most), n)


def _nearest_columns(ways: Iterable[Found], most: int) -> Found:
    """Return the `most` nearest columns of each row among distinct pairs.

    Pairs wait until they are as many as those that were kept, so that sorting takes O(n log n).
    """
    nearest, waiting, n_waiting = _nearest_per_row([], most), list[Found](), 0
    for pairs in ways:
        waiting.append(pairs)
        n_waiting += len(pairs[0])
        if n_waiting > max(_BATCH_SIZE, len(nearest[0])):
            nearest, waiting, n_waiting = _nearest_per_row([nearest, *waiting], most), [], 0
    return _nearest_per_row([nearest, *waiting], most)


def _symmetrize(pairs: Found, n: int) -> csr_array:
    """Return (n, n) pairs that either end chose."""
    row, column, cosine = pairs
    choices = csr_array((cosine, (row, column)), shape=(n, n))
    return csr_array(choices.maximum(choices.T))


def _iterate_blocks(rows: Rows, columns: Rows) -> Visits:
    """Yield blocks of rows and columns that together cover all pairs."""
    for i in range(0, len(rows), _BLOCK):
        for j in range(0, len(columns), _BLOCK):
            yield rows[i : i + _BLOCK], columns[j : j + _BLOCK]


def _find_pairs(
    vectors: NDArray[np.float32], visits: Visits, threshold: float, most: int
) -> Iterator[Found]:
    """Yield the pairs of rows with other columns whose cosine is above a threshold.

    Of those visited together, not many more than the `most` nearest of a row or a column.
    """
    least = threshold - rounding_margin(vectors.shape[1])
    for rows, columns in visits:
        near = vectors[rows] @ vectors[columns].T > least
        if np.count_nonzero(near) > 2 * (most + 1) * max(near.shape):  # many alike
            exact = cosine_matrix(vectors[rows], vectors[columns])
            near &= _mark_highest(exact, most + 1) | _mark_highest(exact.T, most + 1).T
        places, behind = np.divmod(np.flatnonzero(near), len(columns))
        others = rows[places] != columns[behind]
        places, column = places[others], columns[behind[others]]
        cosine = indexed_pair_cosines(vectors, rows, places, column) / MILLION
        rounded = cosine.astype(np.float32)
        is_above = rounded > threshold
        yield rows[places[is_above]], column[is_above], rounded[is_above]


def _mark_highest(scores: NDArray[np.integer], k: int) -> NDArray[np.bool_]:
    """Mark the `k` highest of each row, ties by column."""
    n = scores.shape[1]
    order = np.arange(n) - scores.astype(np.int64) * n
    return np.asarray(order <= np.partition(order, min(k, n) - 1, axis=1)[:, min(k, n) - 1, None])


def _turn_around(ways: Iterable[Found]) -> Iterator[Found]:
    """Yield pairs whose column is behind their row, in both directions; drop all others."""
    for row, column, cosine in ways:
        later = row < column
        yield row[later], column[later], cosine[later]
        yield column[later], row[later], cosine[later]


def _nearest_per_row(parts: list[Found], most: int) -> Found:
    """Return the `most` nearest columns of each row; only rows that have more are sorted."""
    none: Found = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32)
    row, column, cosine = map(np.concatenate, zip(none, *parts, strict=True))
    has_more = (np.bincount(row) > most)[row]
    some = np.flatnonzero(has_more)
    order = some[np.lexsort((column[some], -cosine[some], row[some]))]
    place = np.arange(len(order)) - np.searchsorted(row[order], row[order])  # in its row
    nearest = np.concatenate([np.flatnonzero(~has_more), order[place < most]])
    return row[nearest], column[nearest], cosine[nearest]
