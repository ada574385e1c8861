"""Rankings put together, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.topk import mean_of_min_max, min_max, reciprocal_rank_fusion

SCORES = st.lists(st.floats(-100, 100), min_size=1, max_size=12).map(np.array)


def test_min_max_by_hand():
    """The lowest becomes 0, the highest 1, the others keep their distances."""
    np.testing.assert_allclose(min_max(np.array([2.0, 4.0, 3.0])), [0, 1, 0.5])
    np.testing.assert_allclose(min_max(np.array([-1, 1], dtype=np.float32)), [0, 1])


@pytest.mark.parametrize("scores", [[], [3.0], [2.0, 2.0, 2.0]])
def test_min_max_of_equal_scores_is_zero(scores):
    """A flat ranking says nothing; there is no division by zero."""
    np.testing.assert_array_equal(min_max(np.array(scores)), np.zeros(len(scores)))


@given(SCORES)
def test_min_max_keeps_the_order_inside_zero_and_one(scores):
    """Scaling moves no row before another."""
    scaled = min_max(scores)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    assert (np.diff(scaled[np.argsort(scores, kind="stable")]) >= 0).all()


def test_mean_of_min_max_by_hand():
    """AGRAG's Eq. 20; where BM25 finds nothing the dense scores stand alone, and are not halved."""
    dense, lexical = np.array([0.2, 0.6, 0.4]), np.array([0.0, 5.0, 10.0])
    np.testing.assert_allclose(mean_of_min_max(dense, lexical), [0, 0.75, 0.75])
    dense, nothing = np.array([0.2, 0.6, 0.4]), np.zeros(3)
    np.testing.assert_allclose(mean_of_min_max(dense, nothing), [0, 1, 0.5])
    np.testing.assert_allclose(mean_of_min_max(nothing, nothing), [0, 0, 0])
    assert mean_of_min_max().tolist() == []
    assert mean_of_min_max(np.zeros(0), np.zeros(0)).tolist() == []


def test_reciprocal_ranks_by_hand():
    """A score of zero or less, or a place below `depth`, adds nothing."""
    rankings = [np.array([0.9, 0.5, 0.0]), np.array([0.0, 7.0, 3.0])]
    fused = reciprocal_rank_fusion(rankings)
    np.testing.assert_allclose(fused, [1 / 61, 1 / 62 + 1 / 61, 1 / 62])
    scores = np.array([3.0, 2.0, 1.0, 0.0, -1.0])
    fused = reciprocal_rank_fusion([scores], constant=0, depth=2)
    np.testing.assert_allclose(fused, [1, 1 / 2, 0, 0, 0])
    fused = reciprocal_rank_fusion([scores], constant=0)
    np.testing.assert_allclose(fused, [1, 1 / 2, 1 / 3, 0, 0])
    assert reciprocal_rank_fusion([np.zeros(2)]).tolist() == [0, 0]
    assert reciprocal_rank_fusion([]).tolist() == []
