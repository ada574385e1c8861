"""Find the rows that share most terms with each row, among all or by its rarest terms.

The number of shared terms of all pairs is a sparse product, which takes the sum of the squares of
the terms' frequencies; most of that is for frequent terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from clew.algo.nearest import highest_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Counted = Iterator[tuple[NDArray[np.intp], NDArray[np.floating]]]

_POSTINGS = 8_000  # rows that a row's rarest terms may stand in together
_CANDIDATES = 64  # of these rows, for which all terms are counted
_AT_ONCE = 256  # rows
_BLOCK = 2**23  # numbers of shared terms that are held at once where all pairs are compared


def sharing_most(terms: csr_array, h: int, taken: csr_array, *, exact: bool) -> NDArray[np.intp]:
    """Return (n, h): the `h` rows of (n, n_terms) `terms` that share most with each, best first.

    A term counts once in a row. A row gets none of the columns that the (n, n) `taken` has in it,
    and -1 where no more share a term. Of equal ones the first comes first. `exact` counts for all
    pairs; else a row looks up its rarest terms, as many as stand in 8,000 rows together, and
    compares itself with the 64 rows that have most of these, so that it takes O(n).
    """
    binary = csr_array((terms > 0).astype(np.float32))
    binary.sort_indices()
    counted = _with_all(binary, taken) if exact else _with_candidates(binary, taken)
    parts = [np.empty((0, h), dtype=np.intp)]
    for columns, shared in counted:
        best, most = highest_columns(shared, h)
        parts.append(np.where(most > 0, np.take_along_axis(columns, best, axis=1), -1))
    return np.concatenate(parts)


def _with_all(binary: csr_array, taken: csr_array) -> Counted:
    """Yield, some rows at a time, all columns and the terms that each row shares with them."""
    n = binary.shape[0]
    by_term = csr_array(binary.T)
    size = max(1, _BLOCK // max(1, n))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        shared = (binary[rows] @ by_term).toarray()
        shared[taken[rows].nonzero()] = 0
        yield np.broadcast_to(np.arange(n), shared.shape), shared


def _with_candidates(binary: csr_array, taken: csr_array) -> Counted:
    """Yield, some rows at a time, (m, 64) columns and the terms that each row shares with them.

    Columns ascend; behind them stand zeros that share nothing.
    """
    n = binary.shape[0]
    rarest, by_term = _rarest(binary), csr_array(binary.T)
    for start in range(0, n, _AT_ONCE):
        block = slice(start, min(start + _AT_ONCE, n))
        rows, columns = _highest(csr_array(rarest[block] @ by_term), _CANDIDATES)
        shared = binary[start + rows].multiply(binary[columns]).sum(axis=1)
        taken_rows, taken_columns = taken[block].nonzero()
        shared[np.isin(rows * n + columns, taken_rows.astype(np.int64) * n + taken_columns)] = 0
        n_rows = block.stop - start
        places = np.arange(len(rows)) - np.searchsorted(rows, np.arange(n_rows))[rows]
        table = np.zeros((2, n_rows, _CANDIDATES))
        table[:, rows, places] = columns, shared
        yield table[0].astype(np.intp), table[1]


def _rarest(binary: csr_array) -> csr_array:
    """Return of each row its rarest terms, as many as stand in `_POSTINGS` rows together."""
    n, n_terms = binary.shape
    rows = np.repeat(np.arange(n), np.diff(binary.indptr))
    df = np.bincount(binary.indices, minlength=n_terms)[binary.indices]
    order = np.argsort(rows * (n + 1) + df, kind="stable")
    n_read = np.cumsum(df[order])
    n_before = np.concatenate([[0], n_read])[binary.indptr[rows]]
    kept = order[n_read - n_before <= _POSTINGS]
    return csr_array((binary.data[kept], (rows[kept], binary.indices[kept])), shape=binary.shape)


def _highest(counts: csr_array, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns, sorted: the `size` highest of each row, of equal ones the first.

    `counts` are small whole numbers, and a row's columns are in no order: to sort them all would
    take longer than the product did.
    """
    n_rows, n = counts.shape
    rows = np.repeat(np.arange(n_rows), np.diff(counts.indptr))
    values = counts.data.astype(np.int64)
    width = int(values.max(initial=0)) + 1
    n_equal = np.bincount(rows * width + values, minlength=n_rows * width).reshape(n_rows, width)
    n_higher = n_equal[:, ::-1].cumsum(axis=1)[:, ::-1] - n_equal
    able = n_higher[rows, values] < size
    keys = (rows[able] * width + width - 1 - values[able]) * n + counts.indices[able]
    keys.sort()
    rows = keys // (width * n)
    first = np.arange(len(keys)) - np.searchsorted(rows, rows) < size
    pairs = np.sort(rows[first] * n + keys[first] % n)
    return pairs // n, pairs % n
