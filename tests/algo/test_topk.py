"""The order of rows, the same on every machine."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.topk import DECIMALS, positive_top_k, top_k, top_k_of_groups

# Few values, so that ties are common; some differ only behind the sixth decimal.
SCORE = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 0.5 + 1e-9, 0.5 - 1e-9, 0.75, 1e9]) | st.floats(
    -2, 2
)
SCORES = st.lists(SCORE, max_size=30).map(np.array)


def by_sorting(scores, k):
    """Order rows the slow way: by rounded score, then by row."""
    rounded = np.round(scores, DECIMALS)
    return sorted(range(len(scores)), key=lambda i: (-rounded[i], i))[: max(k, 0)]


@given(SCORES, st.integers(-2, 35))
def test_top_k_is_the_head_of_the_sorted_rows(scores, k):
    """Selecting before sorting changes nothing."""
    assert top_k(scores, k).tolist() == by_sorting(scores, k)


@given(SCORES, st.integers(-2, 35))
def test_positive_top_k_leaves_out_what_is_not_above_zero(scores, k):
    """A score of zero says that nothing was found."""
    expected = [i for i in by_sorting(scores, k) if scores[i] > 0]
    assert positive_top_k(scores, k).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_scores_keep_row_order(dtype):
    """Rows whose scores differ by less than the last kept decimal are equal."""
    scores = np.array([0.3, 0.5, 0.5000001, 0.5], dtype=dtype)
    assert top_k(scores, 2).tolist() == [1, 2]
    assert top_k(scores, 9).tolist() == [1, 2, 3, 0]


@given(st.lists(SCORES.filter(len), max_size=5), st.integers(-2, 9), st.randoms())
def test_groups_are_ordered_one_by_one(groups, k, rng):
    """Each has the rows that it has by itself, without those of -inf."""
    for scores in groups:
        scores[[i for i in range(len(scores)) if rng.random() < 0.2]] = -np.inf
    owners = np.repeat(np.arange(len(groups)), [len(scores) for scores in groups])
    starts = np.searchsorted(owners, np.arange(len(groups)))
    expected = [
        start + row
        for start, scores in zip(starts.tolist(), groups, strict=True)
        for row in by_sorting(scores, k)
        if scores[row] > -np.inf
    ]
    together = np.concatenate([*groups, np.zeros(0)])
    assert top_k_of_groups(together, owners, k).tolist() == expected
