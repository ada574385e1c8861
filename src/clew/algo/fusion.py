"""Fuse rankings of the same rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import positive_top_k


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
