"""Plots of grids. An SVG keeps its text as text, so a test can read it."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from clew.errors import InputError
from clew.evaluate import Setting, evaluate, grid
from clew.extras.evaluate.figures.sensitivity import check_figure, draw
from tests.extras.evaluate.reports import report, rows

WORDS, FIXED = Setting("words"), Setting("fixed")
ONE = [WORDS, *grid("fixed", {"n": [1, 2, 3]})]
TWO = [WORDS, *grid("fixed", {"n": [1, 3], "mode": ["near", "far"]})]
BOTH = [*ONE, *grid("words", {"m": [1, 2]})]
MANY = grid("fixed", {"a": [1], "b": [2], "c": [3]})
_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def measured(dataset, search):
    return lambda settings: evaluate(dataset, search, settings)


def elements(file, tag):
    return list(ET.parse(file).iter(f"{_SVG}{tag}"))  # noqa: S314 -- written by the test


def words(file):
    return ["".join(text.itertext()) for text in elements(file, "text")]


def dashed(file):
    return sum("stroke-dasharray" in path.get("style", "") for path in elements(file, "path"))


def test_one_parameter_has_one_line(measured, tmp_path):
    file = tmp_path / "plot.svg"
    draw(measured(ONE), file)
    found = words(file)
    assert found.count("n of fixed") == 2
    assert {"recall@5", "coverage", "fixed by n", "words"} <= set(found)
    assert {"capitals: 6 questions", "bars are 95 % intervals"} <= set(found)
    assert {"1", "2", "3"} <= set(found)
    assert "1.5" not in found
    assert dashed(file) == 3  # in two panels and the legend
    report = measured(ONE)
    report = replace(report, dataset=replace(report.dataset, name="a$_b^$"))
    draw(report, tmp_path / "plot.svg")
    assert any(text.startswith("a$_b^$: 6 questions") for text in words(tmp_path / "plot.svg"))


def test_the_line_goes_through_the_means(measured, tmp_path):
    report = measured(ONE)
    draw(report, tmp_path / "plot.svg", ["recall@5"])
    means = [summary.estimates["recall@5"].mean for summary in report.summaries]
    places = [
        [float(place.get("y", "nan")) for place in group.iter(f"{_SVG}use")]
        for group in elements(tmp_path / "plot.svg", "g")
        if group.get("id", "").startswith("line2d")
    ]
    [points] = [ys for ys in places if len(ys) == 3]
    assert means[1:] == sorted(means[1:])
    assert len(set(means[1:])) == len(set(points)) > 1
    assert points == sorted(points, reverse=True)  # y grows downwards


def test_two_parameters_have_a_line_for_each_value_of_the_second(measured, tmp_path):
    file = tmp_path / "plot.svg"
    draw(measured(TWO), file, ["MRR@10", "all@2", "nDCG@10"])
    found = words(file)
    assert {"fixed by n, mode=near", "fixed by n, mode=far", "words"} <= set(found)
    assert {"MRR@10", "all@2", "nDCG@10"} <= set(found)
    assert not {"recall@5", "coverage"} & set(found)
    assert found.count("n of fixed") == 3


def test_values_that_are_no_numbers_stand_side_by_side(measured, tmp_path):
    draw(measured(grid("fixed", {"mode": ["near", "far"]})), tmp_path / "names.svg")
    assert {"near", "far", "mode of fixed"} <= set(words(tmp_path / "names.svg"))
    draw(measured(grid("fixed", {"fill": [False, True]})), tmp_path / "switches.svg")
    assert {"False", "True"} <= set(words(tmp_path / "switches.svg"))
    draw(measured(grid("fixed", {"share": [0.25, 0.75]})), tmp_path / "shares.svg")
    assert "0.5" in {text.rstrip("0") for text in words(tmp_path / "shares.svg")}


@pytest.fixture
def panels(monkeypatch):
    """The panels of the figures that are drawn, as matplotlib has them."""
    drawn = []
    save = Figure.savefig

    def spied(figure, *arguments, **options):
        drawn.extend(figure.axes)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", spied)
    return drawn


def test_names_have_points_with_bars(measured, panels, tmp_path):
    """Between two names there is nothing, so nothing joins them; each bar is the interval."""
    report = measured([WORDS, *grid("fixed", {"mode": ["near", "far", "all"]})])
    draw(report, tmp_path / "plot.svg", ["recall@5"])
    assert "bars are 95 % intervals" in words(tmp_path / "plot.svg")
    [panel] = panels
    points, dashes = panel.lines
    assert (points.get_linestyle(), points.get_marker()) == ("None", "o")
    assert dashes.get_label() == "words"
    [bars] = panel.collections
    estimates = [s.estimates["recall@5"] for s in report.summaries[1:]]
    assert points.get_xydata().tolist() == [[i, e.mean] for i, e in enumerate(estimates)]
    ends = [pytest.approx(segment.ravel()) for segment in bars.get_segments()]
    assert ends == [[i, e.low, i, e.high] for i, e in enumerate(estimates)]
    assert panel.get_xlim() == (-0.5, 2.5)


def test_numbers_have_a_line(measured, panels, tmp_path):
    draw(measured(grid("fixed", {"n": [3, 1, 2]})), tmp_path / "plot.svg", ["recall@5"])
    [panel] = panels
    [line] = panel.lines
    assert (line.get_linestyle(), line.get_marker()) == ("-", "o")
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert len(panel.collections) == 1


@pytest.mark.parametrize(("n_series", "apart"), [(2, 0.12), (12, 0.05)])
def test_series_stand_beside_each_other_at_a_name(measured, panels, tmp_path, n_series, apart):
    values = {"mode": ["near", "far"], "x": list(range(n_series))}
    draw(measured(grid("fixed", values)), tmp_path / "plot.svg", ["recall@5"])
    [panel] = panels
    assert len(panel.lines) == n_series
    for value in (0, 1):
        places = [line.get_xdata()[value] for line in panel.lines]
        assert np.diff(places) == pytest.approx(apart)
        assert np.mean(places) == pytest.approx(value)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_equal_reports_give_equal_bytes(measured, tmp_path, suffix):
    """No date, no random names, and nothing of the user's own settings of matplotlib."""
    draw(measured(ONE), tmp_path / f"one.{suffix}")
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 30, "svg.hashsalt": "x"}):
        draw(measured(ONE), tmp_path / f"other.{suffix}")
        assert mpl.rcParams["font.size"] == 30
    one, other = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("one", "other"))
    assert one == other
    assert one.startswith({"svg": b"<?xml", "png": b"\x89PNG\r\n"}[suffix])


def test_lines_differ_by_more_than_colour(measured, panels, tmp_path):
    draw(measured(TWO), tmp_path / "plot.svg", ["recall@5"])
    [panel] = panels
    assert [line.get_marker() for line in panel.lines] == ["o", "s", "None"]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_dashed_lines_on_one_another_are_all_seen(tmp_path, n):
    """Where their means are equal, the dashes of each fall into the gaps of the others."""
    points = grid("clue", {"depth": [1, 2]})
    others = [Setting(f"method_{number}") for number in range(n)]
    labels = [*points, *others]
    made = report(labels, [rows(each.label, [{"recall@5": 0.5}] * 3) for each in labels])
    draw(made, tmp_path / "plot.svg", ["recall@5"])
    styles = [path.get("style", "") for path in elements(tmp_path / "plot.svg", "path")]
    dashes = [
        (tuple(map(float, found[1].split(","))), float(found[2]))
        for style in styles
        if (found := re.search(r"stroke-dasharray: ([\d.,]+); stroke-dashoffset: ([\d.]+)", style))
    ][:n]  # those of the panel, before those of the legend
    for place in np.linspace(0.05, 60, 200):
        drawn = [(place + offset) % (on + off) < on for (on, off), offset in dashes]
        assert sum(drawn) == 1
    assert len(dashes) == n


def test_rows_of_two_indexes_have_lines_of_their_own(measured, panels, tmp_path):
    values = grid("fixed", {"n": [1, 2]})
    named = [replace(s, name=f"{s.label} (b)") for s in values]
    draw(measured([*values, *named]), tmp_path / "plot.svg", ["recall@5"])
    [panel] = panels
    assert panel.get_legend_handles_labels()[1] == ["fixed by n", "fixed by n (b)"]


@pytest.mark.parametrize(
    ("file", "settings", "metrics", "message"),
    [
        ("plot.pdf", ONE, ["MRR@10"], r"a plot is a file \.png or \.svg, not 'plot\.pdf'"),
        ("no/plot.svg", ONE, ["MRR@10"], "no folder 'no'"),
        ("plot.svg", [WORDS, FIXED], ["MRR@10"], "and nothing varies: add --grid"),
        ("plot.svg", BOTH, ["MRR@10"], "what varies is fixed: n and words: m"),
        ("plot.svg", MANY, ["MRR@10"], "not over 3 of fixed: a, b, c"),
        ("plot.svg", ONE, ["F1"], "cannot show 'F1': metrics that apply are MRR@10"),
        ("plot.svg", ONE, [], "cannot show nothing"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, monkeypatch, file, settings, metrics, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        check_figure(file, settings, metrics, {"MRR@10"})


def test_what_cannot_be_written_is_named(measured, tmp_path):
    with pytest.raises(InputError, match="cannot show 'F1'"):
        draw(measured(ONE), tmp_path / "plot.svg", ["F1"])
    assert not list(tmp_path.glob("*.svg"))
    (tmp_path / "plot.svg").mkdir()
    with pytest.raises(InputError, match=r"plot\.svg: Is a directory"):
        draw(measured(ONE), tmp_path / "plot.svg")
