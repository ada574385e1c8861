"""Find the rows that share most terms with each row, exactly or by its rarest terms.

The number of shared terms of all pairs is a sparse product, which takes the sum of the squares of
the terms' frequencies; most of that is for frequent terms.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.links import Link, StoredLink, entry_rows, expand_ranges, replace_data
from clew.algo.nearest import Choices, ChoosingRows, Pairs, highest_columns

Counted = Iterator[tuple[slice, Pairs]]

_POSTINGS = 8_000  # rows that a row's rarest terms may stand in together
_CANDIDATES = 64  # of these rows, for which all terms are counted
_BATCH_SIZE = 256  # rows


def find_sharing(terms: csr_array, h: int, taken: csr_array, *, exact: bool) -> Choices:
    """Return each row's `h` rows of (n, n_terms) `terms` with most shared terms, and counts.

    A term counts once per row. Pairs in the (n, n) `taken`, and pairs without shared terms, are
    excluded. `exact` counts all pairs; otherwise a row is compared with the 64 rows that share most
    of its rarest terms, as many as occur in 8,000 rows together, in O(n).
    """
    none = Choices.empty(terms.shape[0], h)
    if exact:
        links = StoredLink.from_matrix(terms), StoredLink.from_matrix(csr_array(terms.T))
        return update_sharing(none, ChoosingRows.every_row(taken), *links)
    binary = _binarize(csr_array(terms > 0))
    binary.sort_indices()
    for block, pairs in _iterate_candidates(binary, taken):
        made = Choices.empty(block.stop - block.start, h).add_pairs(*pairs)
        none.rows[block], none.scores[block] = made.rows, made.scores
    return none


def update_sharing(earlier: Choices, choosing: ChoosingRows, terms: Link, by_term: Link) -> Choices:
    """Return the updated choices by shared terms, as `update_nearest` does by cosine.

    Rows outside `rows` keep their choices in `earlier` unless a new row shares more. `by_term` is
    the transpose of `terms`. O(rows times n), and the rows that share terms with them.
    """
    h, others = earlier.rows.shape[1], np.flatnonzero(choosing.mark_others())
    choices, pairs = Choices(earlier.rows.copy(), earlier.scores.copy()), []
    choices.rows[choosing.rows], choices.scores[choosing.rows] = -1, 0
    least = np.maximum(choices.lowest_scores()[others], 1)
    for rows in choosing.blocks():
        shared = _count_shared(terms, by_term, rows)
        shared[:, ~choosing.able] = 0
        shared[choosing.taken[rows].nonzero()] = 0
        new = np.flatnonzero(choosing.new[rows])
        counts = shared[np.ix_(new, others)]
        j, i = np.nonzero(counts >= least)
        pairs.append((others[i], rows[new[j]], counts[j, i].astype(np.int32)))
        best, most = highest_columns(shared, h)
        choices.rows[rows] = np.where(most > 0, best, -1)
        choices.scores[rows] = np.maximum(most, 0)
    if not pairs:
        return choices
    return choices.add_pairs(*map(np.concatenate, zip(*pairs, strict=True)))


def _count_shared(terms: Link, by_term: Link, rows: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return (len(rows), n): the number of terms that some rows share with each row."""
    own = _binarize(terms.entries_of(rows).to_matrix())
    some, places = np.unique(own.indices, return_inverse=True)
    own = csr_array((own.data, places, own.indptr), shape=(len(rows), len(some)))
    return np.asarray((own @ _binarize(by_term.entries_of(some).to_matrix())).toarray())


def _binarize(matrix: csr_array) -> csr_array:
    return replace_data(matrix, (matrix.data > 0).astype(np.float32))


def _iterate_candidates(binary: csr_array, taken: csr_array) -> Counted:
    """Yield each block of rows with its pairs: up to 64 candidates for every row.

    A score is the number of shared terms.
    """
    n = binary.shape[0]
    rarest, by_term = _keep_rarest(binary), csr_array(binary.T)
    for start in range(0, n, _BATCH_SIZE):
        block = slice(start, min(start + _BATCH_SIZE, n))
        rows, columns = _find_sharing_most(csr_array(rarest[block]), by_term)
        shared = binary[start + rows].multiply(binary[columns]).sum(axis=1)
        taken_rows, taken_columns = taken[block].nonzero()
        shared[np.isin(rows * n + columns, taken_rows.astype(np.int64) * n + taken_columns)] = 0
        some = np.flatnonzero(shared)
        yield block, (rows[some], columns[some], shared[some].astype(np.int32))


def _keep_rarest(binary: csr_array) -> csr_array:
    """Keep each row's rarest terms, up to `_POSTINGS` postings together."""
    n, n_terms = binary.shape
    rows = entry_rows(binary)
    df = np.bincount(binary.indices, minlength=n_terms)[binary.indices]
    order = np.argsort(rows * (n + 1) + df, kind="stable")
    n_read = np.cumsum(df[order])
    n_before = np.concatenate([[0], n_read])[binary.indptr[rows]]
    rare = order[n_read - n_before <= _POSTINGS]
    return csr_array((binary.data[rare], (rows[rare], binary.indices[rare])), shape=binary.shape)


def _find_sharing_most(
    rarest: csr_array, by_term: csr_array
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sorted rows and columns: of each row those that share most terms, ties by column.

    A sparse product counts in a table of all rows, which no cache holds: 1.6 times as long at a
    million.
    """
    terms, n = rarest.indices, by_term.shape[1]
    own, places = expand_ranges(by_term.indptr[terms], by_term.indptr[terms + 1])
    keys = entry_rows(rarest)[own] * n + by_term.indices[places]
    keys.sort(kind="stable")  # merges the runs, a term's rows each
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    keys, counts = keys[first], np.diff(first, append=len(keys))
    rows, width = keys // n, counts.max(initial=1)
    order = (rows + 1) * width - counts
    order = np.argsort(order.astype(np.min_scalar_type(rarest.shape[0] * width)), kind="stable")
    n_found = np.bincount(rows, minlength=rarest.shape[0])
    rank = np.arange(len(order)) - np.repeat(np.cumsum(n_found) - n_found, n_found)
    best = np.sort(order[rank < _CANDIDATES])
    return rows[best], keys[best] % n
