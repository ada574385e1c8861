"""Bars of settings and of ablations, and the differences that stand beside them."""

from __future__ import annotations

import pytest

from clew.evaluate import Setting, grid
from clew.evaluate.figures.bars import bar_figure, families
from tests.evaluate.reports import estimate, report, rows

GROUPS = {
    "Clue-RAG": [
        ("full", {"hotpot": estimate(0.9), "musique": estimate(0.7)}),
        ("w/o K-A", {"hotpot": estimate(0.85), "musique": estimate(0.75)}),
    ],
    "KET-RAG": [("full", {"hotpot": estimate(0.8)}), ("Text-RAG", {"musique": estimate(0.6)})],
    "nothing": [],
}


def test_a_group_is_a_panel_with_bars_for_each_dataset() -> None:
    """As long as the means, from the top down; a dataset that was not measured has no bar."""
    first, second = bar_figure(GROUPS, "recall@5", "title").axes
    assert [first.get_title("left"), second.get_title("left")] == ["Clue-RAG", "KET-RAG"]
    bars = [[patch.get_width() for patch in container] for container in first.containers]
    assert bars == [[0.9, 0.85], [0.7, 0.75]]
    bars = [[patch.get_width() for patch in container] for container in second.containers]
    assert bars == [[0.8], [0.6]]
    assert [label.get_text() for label in first.get_yticklabels()] == ["full", "w/o K-A"]
    bottom, top = first.get_ylim()
    assert bottom > top
    hatches = [container[0].get_hatch() for container in first.containers]
    assert len(set(hatches)) == 2


def test_differences_are_to_the_first_of_a_group() -> None:
    """Of the same dataset; the first has none, nor what the first was not measured on."""
    first, second = bar_figure(GROUPS, "recall@5", "title").axes
    written = [text.get_text() for text in first.texts]
    assert [text for text in written if text[0] in "+-"] == ["-0.050", "+0.050"]
    assert {"0.900", "0.850", "0.700", "0.750"} <= set(written)
    assert [text.get_text() for text in second.texts if text.get_text()[0] in "+-"] == []


def test_low_scores_have_an_axis_of_their_own() -> None:
    """All begin at nought."""
    [panel] = bar_figure({"a": [("x", {"d": estimate(0.15)})]}, "F1", "title").axes
    assert panel.get_xlim() == pytest.approx((0, 0.24))
    assert bar_figure(GROUPS, "F1", "title").axes[0].get_xlim() == (0, 1)


def test_families_begin_with_the_full_method() -> None:
    """Methods as they are, then those with several settings, such as the values of a grid."""
    labels = [Setting("dense"), *grid("clue", {"depth": [1, 2]}), Setting("clue"), Setting("x")]
    measured = [rows(each.label, [{"recall@5": 0.5}] * 3) for each in labels]
    made = report(labels, measured)
    found = families(made, "recall@5")
    assert {name: [label for label, _ in bars] for name, bars in found.items()} == {
        "methods": ["dense", "clue", "x"],
        "clue": ["clue", "clue depth=1", "clue depth=2"],
    }
    assert families(made, "F1 plain") == {"methods": []}


def test_a_method_of_two_indexes_is_two_methods() -> None:
    """Rows that only their names tell apart are no family."""
    labels = [Setting("clue", name=f"clue ({folder})") for folder in "ab"]
    made = report(labels, [rows(each.label, [{"recall@5": 0.5}] * 3) for each in labels])
    assert list(families(made, "recall@5")) == ["methods"]
