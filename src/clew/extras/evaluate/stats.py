"""Bootstrap confidence intervals, and the paired randomization test.

Both draw counts per distinct value in place of one draw per question: the distribution is the
same, the order of the questions cannot matter, and scores such as recall have few values.
Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapters 13 and 15.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError

_LEVEL = 0.95  # of intervals
_BLOCK = 4_000_000  # draws held at once


class PairedTest(NamedTuple):
    """The difference of two means on the same questions, with interval and p-value."""

    difference: float
    low: float
    high: float
    p_value: float


def quantiles(values: Sequence[float], levels: Sequence[float]) -> list[float]:
    """Return the interpolated quantile at each level. Raises InputError without values."""
    return [float(q) for q in np.quantile(_finite(values), levels)]


def bootstrap_interval(
    values: Sequence[float], seed: int = 0, resamples: int = 10_000
) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean of `values`, resampled with replacement.

    Raises InputError without values or without resamples.
    """
    unique, counts = np.unique(_finite(values), return_counts=True)
    n, rng = counts.sum(), np.random.default_rng(seed)
    blocks = [
        rng.multinomial(n, counts / n, size=size) @ unique / n
        for size in _blocks(resamples, unique.size)
    ]
    means = np.concatenate(blocks).clip(unique[0], unique[-1])  # rounding may step outside
    low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


def paired_test(
    a: Sequence[float], b: Sequence[float], seed: int = 0, resamples: int = 10_000
) -> PairedTest:
    """Return mean(a) - mean(b) with its 95 % bootstrap interval and a two-sided p-value.

    a[i] and b[i] are the scores of one question. Under the null hypothesis their labels could be
    swapped, so the p-value is the share of random sign flips with as large a difference, the
    observed one counted in: it is at least 1 / (resamples + 1), and 1 for identical scores.
    Raises InputError for lists that are empty or differ in length.
    """
    if len(a) != len(b):
        raise InputError(f"a paired test needs the same questions, but got {len(a)} and {len(b)}")
    differences = _finite(a) - _finite(b)
    sizes, counts = np.unique(np.abs(differences), return_counts=True)
    observed = abs(differences.sum())
    tolerance = 1e-12 * (sizes @ counts)  # equal sums may differ by rounding
    rng = np.random.default_rng(seed)
    as_large = 0
    for n_rows in _blocks(resamples, sizes.size):
        n_same = rng.binomial(counts, 0.5, size=(n_rows, sizes.size))
        flipped = np.abs((2 * n_same - counts) @ sizes)
        as_large += int(np.count_nonzero(flipped >= observed - tolerance))
    low, high = bootstrap_interval(differences.tolist(), seed, resamples)
    p_value = (as_large + 1) / (resamples + 1)
    return PairedTest(float(differences.mean()), low, high, p_value)


def _finite(values: Sequence[float]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise InputError("statistics need a list of at least one value")
    if not np.isfinite(array).all():
        raise InputError("statistics need finite values, but one is infinite or not a number")
    return array


def _blocks(resamples: int, width: int) -> list[int]:
    """Split `resamples` rows of `width` draws into blocks of bounded size."""
    if resamples < 1:
        raise InputError(f"the number of resamples must be at least 1, but is {resamples}")
    step = max(1, _BLOCK // width)
    return [min(step, resamples - done) for done in range(0, resamples, step)]
