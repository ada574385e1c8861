"""Quality against cost: which settings none outdoes, and how far costs may be apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.evaluate.figures.tradeoff import Point, front, tradeoff_figure
from tests.evaluate.reports import estimate

steps = st.integers(0, 4)


def point(label: str, cost: float, mean: float) -> Point:
    return Point(label, cost, estimate(mean))


def test_the_front_holds_what_no_other_outdoes() -> None:
    """Cheaper or better than all others; equals stand together."""
    points = [
        point("dear", 9, 0.9),
        point("dull", 2, 0.4),
        point("cheap", 1, 0.5),
        point("twin", 1, 0.5),
        point("worse", 1, 0.4),
        point("middle", 3, 0.7),
        point("late", 9, 0.8),
    ]
    assert [each.label for each in front(points)] == ["cheap", "twin", "middle", "dear"]


@given(st.lists(st.tuples(steps, steps), min_size=1, max_size=8))
def test_the_front_is_that_of_its_definition(pairs: list[tuple[int, int]]) -> None:
    """A point is on it unless another is as good and as cheap, and better in one of them."""
    points = [point(str(n), cost, mean / 4) for n, (cost, mean) in enumerate(pairs)]

    def outdone(one: Point) -> bool:
        mine = (one.cost, -one.quality.mean)
        others = [(other.cost, -other.quality.mean) for other in points]
        return any(o[0] <= mine[0] and o[1] <= mine[1] and o != mine for o in others)

    expected = {one.label for one in points if not outdone(one)}
    assert {one.label for one in front(points)} == expected


@pytest.mark.parametrize(
    ("costs", "scale"),
    [
        ((10, 20, 30), "linear"),
        ((0, 20, 30), "linear"),
        ((0.001, 0.01, 1), "log"),
        ((0, 5, 20_000), "symlog"),
        ((7,), "linear"),
    ],
)
def test_an_axis_fits_its_costs(costs: tuple[float, ...], scale: str) -> None:
    """Logarithmic where they are far apart; every point and its interval is within the panel."""
    points = [point(f"m{n}", cost, 0.5 + n / 10) for n, cost in enumerate(costs)]
    [panel] = tradeoff_figure(points, "recall@5", "tokens", "title").axes
    assert panel.get_xscale() == scale
    left, right = panel.get_xlim()
    low, high = panel.get_ylim()
    for each in points:
        assert left < each.cost < right
        assert low < each.quality.low < each.quality.high < high


def test_the_front_differs_by_more_than_colour() -> None:
    """Filled circles on a line, hollow squares beside it; every name is written once."""
    points = [point("good", 1, 0.9), point("bad", 2, 0.4), point("best", 3, 0.95)]
    [panel] = tradeoff_figure(points, "recall@5", "tokens", "title").axes
    step, *markers = panel.lines
    assert step.get_xdata().tolist() == [1, 3]
    assert [mark.get_marker() for mark in markers] == ["o", "s", "o"]
    assert markers[1].get_markerfacecolor() == "white"
    assert sorted(text.get_text() for text in panel.texts if text.get_text()) == [
        "bad",
        "best",
        "good",
    ]
