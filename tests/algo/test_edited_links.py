"""A link after edits is merged once that is worth it, and its rows are the same before."""

import numpy as np
import pytest

from clew.algo.edited_links import EditedLink, FreshRows, TransposedEdits
from clew.algo.links import Entries, StoredLink
from clew.algo.row_edits import RowEdits

N, COLUMNS = 64, 8
NONE = np.zeros(0, dtype=np.int64)


def stored(shape, columns, n):
    """Return a link with an entry in each of `n` columns or rows."""
    data = np.arange(1, n + 1, dtype=np.float32)
    ends = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=shape[0]))])
    return StoredLink.from_matrix(Entries(shape, ends, np.arange(n) % shape[1], data))


@pytest.fixture(params=["forth", "back"])
def link(request):
    """A link of 64 rows to 8 columns, and its transpose, of which row 5 is another one now."""
    rows = np.arange(N)
    forth = stored((N, COLUMNS), rows, N)
    fresh = FreshRows(
        np.array([5]), Entries((1, COLUMNS), np.array([0, 1]), np.array([2]), np.float32([9]))
    )
    same = RowEdits(COLUMNS, NONE, NONE, NONE)
    edited = EditedLink(forth, RowEdits(N, NONE, NONE, NONE), same, fresh)
    if request.param == "forth":
        return edited
    whole = forth.whole.transpose().tocsr()
    return TransposedEdits(StoredLink.from_matrix(Entries.from_matrix(whole)), edited)


def is_merged(link):
    return "all_entries" in vars(link)


def test_a_few_rows_are_read_alone_and_many_reads_merge(link):
    """A process that asks once has no use for the whole."""
    alone = [link.entries(row) for row in range(4)]
    assert not is_merged(link)
    for _ in range(40):
        link.entries(0)
    assert is_merged(link)
    for row, (columns, weights) in enumerate(alone):
        np.testing.assert_array_equal(link.entries(row)[0], columns)
        np.testing.assert_array_equal(link.entries(row)[1], weights)


def test_many_rows_at_once_merge(link):
    rows = np.arange(link.shape[0])
    apart = [link.entries(row) for row in rows[:8]]
    assert not is_merged(link)
    together = link.entries_of(rows)
    assert is_merged(link)
    for row, (columns, weights) in enumerate(apart):
        own = slice(*together.indptr[row : row + 2])
        np.testing.assert_array_equal(together.indices[own], columns)
        np.testing.assert_array_equal(together.data[own], weights)
