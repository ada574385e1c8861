"""Metrics on the labels of texts."""

import pytest

from clew.errors import InputError
from clew.evaluate import metrics

RIGHT = ["ice", "ice", "ice", "Sled dogs", "ship"]
GIVEN = ["Ice", "ice.", "ship", "sled-dogs", "ice"]


def test_labels_by_hand():
    """Three of five are right: two of three, one of one and none of one."""
    assert metrics.accuracy(RIGHT, GIVEN) == 3 / 5
    assert metrics.macro_recall(RIGHT, GIVEN) == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_spellings_of_one_right_label_are_one():
    """A label counts once in the mean, however its lines spell it."""
    assert metrics.macro_recall(["ice", "ICE", "ship"], ["ice", "no", "ship"]) == 0.75


@pytest.mark.parametrize("metric", [metrics.accuracy, metrics.macro_recall])
def test_nothing_to_compare_is_an_error(metric):
    """A mean of nothing is no number."""
    with pytest.raises(InputError, match="no text with a right label"):
        metric([], [])
    with pytest.raises(ValueError, match="zip"):
        metric(["ice"], [])
