"""Find the pairs of vectors that are nearer than a threshold: names that may mean the same.

AGRAG (Wang et al. 2025, arXiv:2511.05549) joins entities whose names have a cosine above φ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from clew.algo.nearest import visits
from clew.algo.topk import DECIMALS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    # Rows, columns and their cosines, (m,) each.
    Found = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]

# From here on the other way is the faster one, on two cores (benchmarks/statistical.py).
EXACT_UP_TO = 20_000
_BLOCK = 2**23  # cosines that are held at once where all pairs are compared
_AT_ONCE = 2**22  # pairs that are held before those behind the nearest are dropped


def near_pairs(
    vectors: NDArray[np.float32],
    threshold: float,
    *,
    most: int = 100,
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
    found: list[Found] = []
    for pairs in (_among_all if exact else _in_cells)(vectors, threshold):
        found.append(pairs)
        if sum(len(part[0]) for part in found) > _AT_ONCE:
            found = [_nearest(found, most)]
    row, column, cosine = _nearest(found, most)
    chosen = csr_array((cosine, (row, column)), shape=(len(vectors), len(vectors)))
    return csr_array(chosen.maximum(chosen.T))


def _among_all(vectors: NDArray[np.float32], threshold: float) -> Iterator[Found]:
    """Yield all pairs above a cosine, both ways round; each two are compared once."""
    n = len(vectors)
    size = max(1, _BLOCK // max(1, n))
    for start in range(0, n, size):
        cosines = vectors[start : start + size] @ vectors[start:].T
        behind = np.arange(start, n)
        row, column, cosine = _above(cosines, behind, behind, threshold)
        later = row < column
        row, column, cosine = row[later], column[later], cosine[later]
        yield row, column, cosine
        yield column, row, cosine


def _in_cells(vectors: NDArray[np.float32], threshold: float) -> Iterator[Found]:
    """Yield pairs above a cosine, each row with those that are in cells around it."""
    for rows, columns in visits(vectors):
        row, column, cosine = _above(vectors[rows] @ vectors[columns].T, rows, columns, threshold)
        others = row != column
        yield row[others], column[others], cosine[others]


def _above(
    cosines: NDArray[np.float32],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    threshold: float,
) -> Found:
    """Return the places of a matrix of cosines that are above a threshold to six decimals."""
    least = threshold - 10.0**-DECIMALS  # rounding can lift no cosine over more than that
    places = np.flatnonzero(cosines.ravel() > least)
    rounded = np.round(cosines.ravel()[places], DECIMALS)
    kept = rounded > threshold
    places = places[kept]
    return rows[places // len(columns)], columns[places % len(columns)], rounded[kept]


def _nearest(found: list[Found], most: int) -> Found:
    """Return the `most` nearest columns of each row, row after row."""
    none: Found = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32)
    row, column, cosine = map(np.concatenate, zip(none, *found, strict=True))
    order = np.lexsort((column, -cosine, row))
    place = np.arange(len(order)) - np.searchsorted(row[order], row[order])  # in its row
    kept = order[place < most]
    return row[kept], column[kept], cosine[kept]
