"""Cells that a spreadsheet takes for text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.extras.connect.cells import guard, unguard

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "＝1", "＠x", "-", "'=1", "''-x"]
PLAIN = ["-1.5", "+3", "-1,000.25", "+1e-9", "-5%", "Fram", "'t Hooft", "a=b", "", "'", "1=1"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_are_guarded(cell):
    """An apostrophe goes before them, before one that is there already as well."""
    assert guard(cell) == f"'{cell}"
    assert unguard(guard(cell)) == cell


@pytest.mark.parametrize("cell", PLAIN)
def test_the_rest_is_left(cell):
    """Numbers are numbers, and apostrophes of names their own."""
    assert guard(cell) == unguard(cell) == cell


@given(st.text(st.sampled_from("'=+-@＝1.,e% a")))
def test_every_cell_comes_back(cell):
    """Whatever it begins with."""
    assert unguard(guard(cell)) == cell
