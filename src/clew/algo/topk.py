"""Order rows by score, with ties by row.

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
    rows = np.arange(len(scores))
    if k < len(scores):
        least = np.partition(scores, -k)[-k]  # rounding can lift no row over it by more than that
        rows = np.flatnonzero(scores >= least - 2 * 10.0**-DECIMALS)
    keys = -np.round(scores[rows], DECIMALS)
    return rows[np.argsort(keys, kind="stable")][:k]


def find_highest(scores: NDArray[np.floating]) -> int:
    """Return the first row that `top_k` returns."""
    return int(np.argmax(np.round(scores, DECIMALS)))


def positive_top_k(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Return `top_k` without rows whose score is zero or less."""
    positive = np.flatnonzero(scores > 0)
    if len(positive) < k and (scores[positive] > 10.0**-DECIMALS).all():
        return positive[top_k(scores[positive], k)]  # of few: the others need not be sorted
    rows = top_k(scores, k)
    return rows[scores[rows] > 0]
