"""Bars of settings and of ablations, and the differences that stand beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.container import BarContainer

from benchmarks.figures import ablation_figure
from clew.extras.evaluate.figures.tradeoff import Point, front, tradeoff_figure
from tests.extras.evaluate.reports import estimate

GROUPS = {
    "Clue-RAG": [("full", estimate(0.9)), ("w/o K-A", estimate(0.85))],
    "KET-RAG": [("full", estimate(0.8))],
    "nothing": [],
}


def bars_of(panel):
    return [each for each in panel.containers if isinstance(each, BarContainer)]


def test_a_group_is_a_panel_with_a_bar_for_each_setting():
    """As long as the means, from the top down, with the difference to the first one."""
    first, second = ablation_figure(GROUPS, "recall@5").axes
    assert [first.get_title("left"), second.get_title("left")] == ["Clue-RAG", "KET-RAG"]
    assert [[bar.get_width() for bar in each] for each in bars_of(first)] == [[0.9, 0.85]]
    assert [[bar.get_width() for bar in each] for each in bars_of(second)] == [[0.8]]
    assert [label.get_text() for label in first.get_yticklabels()] == ["full", "w/o K-A"]
    bottom, top = first.get_ylim()
    assert bottom > top
    assert [text.get_text() for text in first.texts] == ["0.900", "0.850 (-0.050)"]
    assert [text.get_text() for text in second.texts] == ["0.800"]


steps = st.integers(0, 4)


def point(label, cost, mean):
    return Point(label, cost, estimate(mean))


def test_the_front_holds_what_no_other_outdoes():
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
def test_the_front_is_that_of_its_definition(pairs):
    """A point is on it unless another is as good and as cheap, and better in one of them."""
    points = [point(str(n), cost, mean / 4) for n, (cost, mean) in enumerate(pairs)]

    def outdone(one):
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
def test_an_axis_fits_its_costs(costs, scale):
    points = [point(f"m{n}", cost, 0.5 + n / 10) for n, cost in enumerate(costs)]
    [panel] = tradeoff_figure(points, "recall@5", "tokens", "title").axes
    assert panel.get_xscale() == scale
    left, right = panel.get_xlim()
    low, high = panel.get_ylim()
    for each in points:
        assert left < each.cost < right
        assert low < each.quality.low < each.quality.high < high


def test_the_front_differs_by_more_than_colour():
    points = [point("good", 1, 0.9), point("bad", 2, 0.4), point("best", 3, 0.95)]
    figure = tradeoff_figure(points, "recall@5", "tokens", "title")
    [panel] = figure.axes
    step, *markers = panel.lines
    assert step.get_xdata().tolist() == [1, 3]
    assert [mark.get_marker() for mark in markers] == ["o", "s", "o"]
    assert markers[1].get_markerfacecolor() == "white"
    assert [text.get_text() for text in panel.texts] == ["1", "2", "3"]
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["1 good", "2 bad", "3 best"]
