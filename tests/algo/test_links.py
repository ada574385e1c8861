"""Rows of sparse links."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from clew.algo.links import link_from_arrays, link_to_arrays, neighbours


def test_neighbours_are_the_columns_of_a_row():
    """A row without entries has none."""
    link = csr_array((np.ones(3), np.array([0, 2, 1]), np.array([0, 2, 2, 3])), shape=(3, 3))
    assert [neighbours(link, row).tolist() for row in range(3)] == [[0, 2], [], [1]]


@pytest.mark.parametrize(
    ("weights", "dtype", "kept"),
    [
        ([1, 255, 0], np.float32, "counts"),
        ([1, 256, 3], np.float32, "data"),
        ([1, 0.5, 3], np.float32, "data"),
        ([1, -1, 3], np.float32, "data"),
        ([1, np.inf, 3], np.float32, "data"),
        ([1, 2, 3], np.uint8, "data"),
        ([1, 2, 3], np.float64, "data"),
    ],
)
@pytest.mark.parametrize("narrow", [False, True])
def test_a_link_comes_back_as_it_was(weights, dtype, kept, narrow):
    """Whatever bytes its arrays are kept in, rows, entries and the whole have their types."""
    columns = np.array([0, 299, 1], dtype=np.int32), np.array([0, 2, 2, 3], dtype=np.int32)
    link = csr_array((np.array(weights, dtype=dtype), *columns), shape=(3, 300))
    arrays = {f"a.{name}": array for name, array in link_to_arrays(link).items()}
    assert f"a.{kept}" in arrays
    assert arrays["a.indices"].dtype == np.uint16
    if not narrow:  # as an earlier version cached it
        arrays |= {"a.indptr": link.indptr, "a.indices": link.indices}
    found = link_from_arrays(arrays, "a.")
    for part in (found.whole, found.entries_of(np.arange(3)).to_matrix()):
        assert part.data.dtype == dtype
        assert part.indices.dtype == np.int32
        np.testing.assert_array_equal(part.toarray(), link.toarray())
    assert found.row(0).dtype == np.int32
    assert found.row(0).tolist() == [0, 299]
    near, own = found.entries(0)
    assert near.tolist() == [0, 299]
    assert own.tolist() == np.array(weights[:2], dtype=dtype).tolist()
    assert found.counts.tolist() == [2, 0, 1]
