"""Rows of sparse links."""

import numpy as np
from scipy.sparse import csr_array

from clew.algo.links import neighbours


def test_neighbours_are_the_columns_of_a_row():
    """A row without entries has none."""
    link = csr_array((np.ones(3), np.array([0, 2, 1]), np.array([0, 2, 2, 3])), shape=(3, 3))
    assert [neighbours(link, row).tolist() for row in range(3)] == [[0, 2], [], [1]]
