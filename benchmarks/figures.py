"""The figures of `docs/results`: bars, curves and quality against time, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.algo.knn import page_ranks
from clew.algo.links import Matrix
from clew.base.types import Scalar
from clew.evaluate import Report
from clew.extras.evaluate.figures import canvas
from clew.extras.evaluate.figures.bars import Bars, draw_bars
from clew.extras.evaluate.figures.tradeoff import Point, tradeoff_figure
from clew.extras.evaluate.summary import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_PANEL = (5.0, 3.6)  # inches
_WIDTH, _HEAD, _BAR = 7.5, 0.75, 0.33  # inches of a panel of bars, of it without them, and of a bar


def draw_ablations(groups: Mapping[str, Bars], metric: str, file: Path) -> None:
    """Write a panel of bars for each paper; the first of its settings is the full method."""
    about = f"Bars of {metric} with 95 % intervals: {', '.join(groups)}."
    canvas.save(ablation_figure(groups, metric), file, f"Ablations, {metric}", about)


def ablation_figure(groups: Mapping[str, Bars], metric: str) -> Figure:
    """Return a panel of bars for each group that has any."""
    drawn = {name: bars for name, bars in groups.items() if bars}
    heights = [_HEAD + _BAR * len(bars) for bars in drawn.values()]
    with canvas.style():
        figure = canvas.figure(_WIDTH, sum(heights) + _HEAD)
        rows = figure.subplots(len(drawn), squeeze=False, sharex=True, height_ratios=heights)
        for [panel], (name, bars) in zip(rows, drawn.items(), strict=True):
            draw_bars(panel, bars)
            panel.tick_params(labelbottom=True)
            panel.set_title(canvas.shown_name(name), loc="left", fontsize="medium")
        panel.set_xlabel(f"{metric} with 95 % intervals; differences are to the first of a panel")
        figure.suptitle(metric)
    return figure


def draw_sensitivity(
    groups: Mapping[str, Mapping[str, Sequence[tuple[Scalar, Estimate]]]], metric: str, file: Path
) -> None:
    """Write a panel for each parameter: `metric` over its values, with a line for each dataset."""
    with canvas.style():
        n_rows = -(-len(groups) // 2)
        figure = canvas.figure(2 * _PANEL[0], n_rows * _PANEL[1])
        panels = figure.subplots(n_rows, 2, squeeze=False).ravel().tolist()
        for panel, (name, lines) in zip(panels, groups.items(), strict=False):
            for number, (dataset, points) in enumerate(lines.items()):
                found = [estimate for _, estimate in points]
                means = [each.mean for each in found]
                panel.errorbar(
                    [value for value, _ in points], means, canvas.errors(found),
                    marker=canvas.MARKERS[number % 5],
                    color=canvas.colour(number, len(lines)), label=canvas.shown_name(dataset),
                )  # fmt: skip
            panel.set(xlabel=canvas.shown_name(name), ylabel=metric)
        for panel in panels[len(groups) :]:
            panel.remove()
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figure.suptitle(f"{metric} over parameters; bars are 95 % intervals")
    about = f"Curves of {metric} with 95 % intervals: {', '.join(groups)}."
    canvas.save(figure, file, f"Sensitivity, {metric}", about)


def draw_degrees(graphs: Mapping[str, Matrix], file: Path) -> None:
    """Write how skewed graphs of chunks are (KET-RAG's Figure 2), a line for each.

    At the left the share of the chunks that have at least so many neighbours, at the right the
    share of all PageRank that the first chunks by it have.
    """
    with canvas.style():
        figure = canvas.figure(2 * _PANEL[0], _PANEL[1])
        left, right = figure.subplots(1, 2)
        for number, (name, graph) in enumerate(graphs.items()):
            drawn = {"color": canvas.colour(number, len(graphs)), "label": canvas.shown_name(name)}
            degrees, shares = tail_shares(graph)
            left.loglog(degrees, shares, canvas.MARKERS[number % 5], markersize=3, **drawn)
            ranks = np.sort(page_ranks(graph))[::-1]
            firsts = np.arange(1, len(ranks) + 1) / max(len(ranks), 1)
            right.plot(firsts, np.cumsum(ranks) / ranks.sum(), **drawn)
        left.set(xlabel="neighbours of a chunk, at least", ylabel="share of the chunks")
        for axis in (left.xaxis, left.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")
        right.set(xlabel="share of the chunks, by PageRank", ylabel="share of PageRank")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    about = f"Degrees and PageRank of chunks: {', '.join(graphs)}."
    canvas.save(figure, file, "Graphs of chunks", about)


def tail_shares(graph: Matrix) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each degree that a node of an (n, n) graph has, and the share of nodes with as many.

    Nodes with more neighbours count, too, so the shares fall from 1.
    """
    degrees, counts = np.unique(np.diff(graph.indptr), return_counts=True)
    return degrees, np.cumsum(counts[::-1])[::-1] / max(counts.sum(), 1)


def draw_ranking(report: Report, labels: Sequence[str], file: Path) -> None:
    """Write recall@5 over the median seconds of a question, a point for each setting."""
    points = [
        Point(s.label, s.search.p50_s, s.estimates["recall@5"])
        for s in report.summaries
        if s.label in labels and s.search is not None
    ]
    title = f"recall@5 against seconds, {report.dataset.name}"
    figure = tradeoff_figure(points, "recall@5", "median seconds of a question", title)
    canvas.save(figure, file, title, f"Points of {', '.join(point.label for point in points)}.")
