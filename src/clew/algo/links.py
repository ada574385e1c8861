"""Read sparse links."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def neighbours(link: "csr_array[Any, tuple[int, int]]", row: int) -> NDArray[np.integer]:
    """Return the columns of the stored entries of a row; they ascend in a sorted link."""
    return link.indices[link.indptr[row] : link.indptr[row + 1]]
