"""Choose rows as a set, greedily by what each adds to the rows already chosen."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import find_highest


class Candidates(NamedTuple):
    """The rows to choose from, and how they overlap with others."""

    prior: NDArray[np.float64]  # (n,) 0 to 1, what each is worth by itself
    matches: NDArray[np.floating]  # (n, m) >= 0, how well each row meets each token of the query
    naming: NDArray[np.floating]  # (n, n) 0 to 1, how well row j names row i
    named: NDArray[np.floating]  # (n,) 0 to 1, how well the query names row i
    repeats: NDArray[np.bool_]  # (n, n), whether row i says what row j says


class QueryTokens(NamedTuple):
    """The query's m token vectors, and a vector of each row in the same space."""

    weights: NDArray[np.float64]  # (m,) >= 0
    tokens: NDArray[np.float32]  # (m, d) of length one; (m, 0) where there are none
    vectors: NDArray[np.float32]  # (n, d) of length one; (n, 0) where there are none


class ChoiceWeights(NamedTuple):
    """The weights of the criteria beside a row's prior, whose weight is 1."""

    gain: float = 2.5  # of the query's tokens that no chosen row met so well
    residual: float = 0.3  # nearness to what the chosen rows leave of the query
    named: float = 0.3  # whether the query or a chosen row names it


def choose_rows(
    rows: Candidates, query: QueryTokens, shares: ChoiceWeights, most: int | None = None
) -> list[int]:
    """Return all n rows in the order in which they are chosen; repetitions come last.

    Only the first `most`, if given and if no row repeats another. The gain of a row is the increase
    of the weighted mean, over tokens, of the best match among the chosen rows. The residual of the
    query is the sum of its tokens, weighted by weight and by the square of 1 minus the best match.
    Gains and nearness are divided by their ranges in the first step, since later, when all is
    covered, noise would decide. Ties go to the lower row. O(n² (m + d)).
    """
    n = len(rows.prior)
    weights = query.weights / max(float(query.weights.sum()), 1e-12)
    met = np.zeros(rows.matches.shape[1])
    naming = np.asarray(rows.named, dtype=np.float64)
    free, behind = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    order: list[int] = []
    ranges: tuple[float, float] | None = None
    last = n if most is None or rows.repeats.any() else min(most, n)
    while len(order) < last:
        gains = np.maximum(rows.matches - met, 0) @ weights
        near = _token_cosines(query, weights * np.maximum(1 - met, 0) ** 2)
        ranges = ranges or (_value_range(gains), _value_range(near))
        scores = rows.prior + shares.named * naming
        scores = scores + shares.gain * gains / ranges[0] + shares.residual * near / ranges[1]
        first = free & ~behind
        best = find_highest(np.where(first if first.any() else free, scores, -np.inf))
        order.append(best)
        free[best] = False
        met = np.maximum(met, rows.matches[best])
        naming = np.maximum(naming, rows.naming[:, best])
        behind |= rows.repeats[:, best]
    return order


def _token_cosines(tokens: QueryTokens, left: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (n,) cosines of rows to tokens, weighted by what is still uncovered (`left`)."""
    query = left @ tokens.tokens
    length = math.sqrt(query @ query)  # several times as fast as NumPy's norm
    if not length > 0:
        return np.zeros(len(tokens.vectors))
    return np.asarray(tokens.vectors @ (query / length), dtype=np.float64)


def _value_range(values: NDArray[np.float64]) -> float:
    """Return the range of some values, or 1 if they are all equal, for a division."""
    spread = float(np.ptp(values)) if len(values) else 0.0
    return spread if spread > 1e-9 else 1.0
