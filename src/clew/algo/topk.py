"""Order rows by score, with ties by row, and fuse rankings.

Scores are rounded to six decimals before they are compared, and equal ones keep row order, so a
result depends neither on the linear-algebra library nor on the order of a set.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DECIMALS = 6
_FEW = 64  # of which all are sorted sooner than the highest are found


def top_k(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Return the rows of the `k` highest of the (n,) `scores`, best first; all when n <= k.

    O(n + k log k). NaN is not allowed.
    """
    if k <= 0 or not len(scores):
        return np.empty(0, dtype=np.intp)
    if len(scores) <= max(k, _FEW):
        return np.argsort(-np.round(scores, DECIMALS), kind="stable")[:k]
    least = np.partition(scores, -k)[-k]  # rounding can lift no row over it by more than that
    rows = np.flatnonzero(scores >= least - 2 * 10.0**-DECIMALS)
    keys = -np.round(scores[rows], DECIMALS)
    return rows[np.argsort(keys, kind="stable")][:k]


def top_k_of_groups(
    scores: NDArray[np.floating], owners: NDArray[np.integer], k: int
) -> NDArray[np.intp]:
    """Return the rows of the `k` highest `scores` of each group, group by group, best first.

    `owners`, ascending, are the groups of the (n,) scores; a score of -inf is left out. O(n k).
    """
    left, found = np.round(scores, DECIMALS), [np.empty(0, dtype=np.intp)]
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    sizes = np.diff(starts, append=len(owners))
    for _ in range(k if len(owners) else 0):
        most = np.repeat(np.maximum.reduceat(left, starts), sizes)
        highest = np.flatnonzero((left == most) & (most > -np.inf))
        first = highest[np.diff(owners[highest], prepend=-1) > 0]
        left[first] = -np.inf
        found.append(first)
    rows = np.concatenate(found)
    return rows[np.argsort(owners[rows], kind="stable")]


def find_highest(scores: NDArray[np.floating]) -> int:
    """Return the first row that `top_k` returns."""
    return int(scores.round(DECIMALS).argmax())


def positive_top_k(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Return `top_k` without rows whose score is zero or less."""
    positive = np.flatnonzero(scores > 0)
    if len(positive) < k and (scores[positive] > 10.0**-DECIMALS).all():
        return positive[top_k(scores[positive], k)]  # of few: the others need not be sorted
    rows = top_k(scores, k)
    return rows[scores[rows] > 0]


def min_max(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale the (n,) `scores` to [0, 1]; all zeros if they are all equal."""
    scores = np.asarray(scores, dtype=np.float64)
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    if not high > low:
        return np.zeros_like(scores)
    scaled = scores - low
    scaled /= high - low  # in place: an array more would take as long again
    return scaled


def mean_of_min_max(*rankings: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the (n,) mean of the scaled rankings; constant ones are ignored.

    AGRAG's hybrid score (Eq. 20) with both parts scaled over all rows; if BM25 finds nothing, only
    the dense scores count.
    """
    scaled = [min_max(r) for r in rankings if len(r) and np.ptp(r) > 0]
    if not scaled:
        return np.zeros(len(rankings[0]) if rankings else 0)
    mean = scaled[0]
    for more in scaled[1:]:
        mean += more
    mean /= len(scaled)
    return mean


def reciprocal_rank_fusion(
    rankings: Sequence[NDArray[np.floating]], *, constant: int = 60, depth: int = 1000
) -> NDArray[np.float64]:
    """Return the (n,) sum of 1 / (constant + rank) over rankings, rank from 1.

    Only positive scores among the first `depth` rows of a ranking count. Cormack, Clarke and
    Büttcher (2009), "Reciprocal rank fusion outperforms Condorcet", SIGIR.
    """
    fused = np.zeros(len(rankings[0]) if rankings else 0)
    for scores in rankings:
        rows = positive_top_k(scores, depth)
        fused[rows] += 1.0 / (constant + np.arange(1, len(rows) + 1))
    return fused
