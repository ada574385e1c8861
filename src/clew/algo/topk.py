"""Order rows by score, the same way everywhere.

Scores are rounded to six decimals before they are compared, and equal ones keep row order, so a
result depends neither on the linear-algebra library nor on the order of a set.
"""

import numpy as np
from numpy.typing import NDArray

DECIMALS = 6


def top_k(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Return the rows of the `k` highest of the (n,) `scores`, best first; all when n <= k.

    O(n + k log k). NaN is not allowed.
    """
    if k <= 0 or not len(scores):
        return np.empty(0, dtype=np.intp)
    keys = -np.round(scores, DECIMALS)
    if k < len(keys):
        limit = np.partition(keys, k - 1)[k - 1]
        rows = np.flatnonzero(keys <= limit)  # in row order; longer than k only through ties
    else:
        rows = np.arange(len(keys))
    return rows[np.argsort(keys[rows], kind="stable")][:k]


def positive_top_k(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Return `top_k`, without rows whose score is not above zero."""
    rows = top_k(scores, k)
    return rows[scores[rows] > 0]
