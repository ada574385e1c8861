"""Rows that went and came."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.row_edits import RowEdits


@st.composite
def edits(draw):
    n = draw(st.integers(0, 12))
    gone = sorted(draw(st.sets(st.integers(0, n - 1)))) if n else []
    n_came = draw(st.integers(0, 6))
    size = n - len(gone) + n_came
    at = sorted(draw(st.permutations(range(size)))[:n_came])
    moved = draw(st.permutations([*gone, *[-1] * n_came]))[:n_came]
    return RowEdits(n, *(np.array(rows, dtype=np.int64) for rows in (gone, at, moved)))


@given(edits())
def test_one_row_has_the_number_that_it_has_among_others(found):
    """In both directions, whether it went, came, moved or stayed."""
    former = np.arange(-1, found.n)
    present = np.arange(found.size)
    assert [found.present_row(row) for row in former.tolist()] == found.to_present(former).tolist()
    for followed in (False, True):
        rows = [found.former_row(row, followed=followed) for row in present.tolist()]
        assert rows == found.to_former(present, followed=followed).tolist()
