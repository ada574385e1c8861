"""Columns of int32 in fewer bytes are what they were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.coding import narrow, narrow_type, widen


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.integers(0, 31))
def test_there_and_back(numbers, shift):
    """Every column is what it was, of the same type."""
    column = np.array(numbers, dtype=np.int32) >> shift
    found = widen(narrow(column))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, column)


@pytest.mark.parametrize(
    ("low", "high", "kept"),
    [
        (0, 127, "int8"),
        (-1, 127, "int8"),
        (0, 128, "uint16"),
        (0, 65_535, "uint16"),
        (-1, 32_767, "int16"),
        (-1, 32_768, "int32"),
        (0, 65_536, "int32"),
    ],
)
def test_the_type_is_the_smallest_that_holds_all(low, high, kept):
    """One byte, else two, else as it is."""
    assert narrow_type(low, high) == kept
    assert narrow(np.array([low, high], dtype=np.int32)).dtype == kept


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int64", "float32", "bool"])
def test_other_columns_stay(dtype):
    """Only int32 is narrowed, and nothing else is taken for it."""
    column = np.array([0, 1], dtype=dtype)
    assert narrow(column) is column
    assert widen(column) is column


def test_segments_put_together_hold_all():
    """Columns that were narrowed apart are one of the type that holds all, or int32."""
    parts = [np.array([high], dtype=np.int32) for high in (1, 300, 70_000)]
    together = np.concatenate([narrow(part) for part in parts])
    assert widen(together).tolist() == [1, 300, 70_000]
