"""Plot quality against cost, a point for each setting, with the Pareto front."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.extras.evaluate.figures import canvas
from clew.extras.evaluate.figures.name_places import Box, leader, place_names
from clew.extras.evaluate.summary import Estimate

_WIDTH, _HEIGHT = 7.5, 4.6  # inches
_ABOVE, _BELOW = 0.6, 0.55  # of them, for the titles and for the axis
_HEIGHT_PER_SETTING = 0.09  # inches for each setting beyond the first twelve
_LETTERS = 8.0  # points, as the next two
_LINE = 10.0  # height of a name
_MARKER_RADIUS = 5.0  # half of one, with some air
_LOG_RATIO = 20.0  # times from the least to the most, from which on an axis is logarithmic


@dataclass(frozen=True, slots=True)
class Point:
    """The cost and the quality of a setting."""

    label: str
    cost: float
    quality: Estimate


def front(points: Sequence[Point]) -> list[Point]:
    """Return the Pareto front: the points that no other point dominates."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, -p.quality.mean)):
        better = point.quality.mean - best[-1].quality.mean if best else 1.0
        if better > 0 or (better == 0 and point.cost == best[-1].cost):
            best.append(point)
    return best


def tradeoff_figure(points: Sequence[Point], metric: str, cost: str, title: str) -> Figure:
    """Return a figure of `metric` over `cost`, with a step line along the front."""
    with canvas.style():
        figure = canvas.figure(layout=None)
        height = _HEIGHT + _HEIGHT_PER_SETTING * max(0, len(points) - 12)
        figure.set_size_inches(_WIDTH, height)
        panel = figure.subplots()
        figure.subplots_adjust(0.1, _BELOW / height, 0.98, 1 - _ABOVE / height)
        best = front(points)
        _draw_points(panel, points, best)
        _scale(panel, [point.cost for point in points])
        panel.set(xlabel=cost, ylabel=metric)
        n_left_out = _write_names(panel, points, best)
        panel.set_title(
            "on the line: no other is both better and cheaper; bars are 95 % intervals"
            + (f"; {n_left_out} names left out" if n_left_out else ""),
            fontsize="small",
        )
        figure.suptitle(title)
    return figure


def _draw_points(panel: Axes, points: Sequence[Point], best: Sequence[Point]) -> None:
    """Draw the front as filled circles on a line, other points as hollow squares."""
    colour = canvas.colour(1, 4)
    panel.step(
        [p.cost for p in best],
        [p.quality.mean for p in best],
        where="post",
        color=colour,
        linewidth=1,
        zorder=2,
    )
    for point in points:
        leads = point in best
        shade = colour if leads else "dimgray"
        panel.vlines(
            point.cost,
            point.quality.low,
            point.quality.high,
            color=shade,
            alpha=0.35,
            linewidth=1.2,
        )
        panel.plot(
            [point.cost],
            [point.quality.mean],
            marker="o" if leads else "s",
            markersize=6 if leads else 5,
            markerfacecolor=shade if leads else "white",
            markeredgecolor=shade,
            linestyle="none",
            zorder=3,
        )


def _scale(panel: Axes, costs: Sequence[float]) -> None:
    """Use a logarithmic axis if costs differ widely, else begin at zero."""
    paid = [cost for cost in costs if cost > 0]
    far_apart = max(paid) > _LOG_RATIO * min(paid)
    free = len(paid) < len(costs)
    if far_apart and free:
        least = 10.0 ** floor(log10(min(paid)))
        panel.set_xscale("symlog", linthresh=least)
        panel.set_xlim(left=-least / 3)
    elif far_apart:
        panel.set_xscale("log")
    else:
        panel.set_xlim(left=-0.03 * max(paid) if free else 0)
    panel.xaxis.set_major_formatter("{x:g}")
    panel.margins(y=0.08)
    panel.set_xlim(panel.get_xlim())
    panel.set_ylim(panel.get_ylim())


def _write_names(panel: Axes, points: Sequence[Point], best: Sequence[Point]) -> int:
    """Label each point without overlaps; return the number of points without a label."""
    names = [canvas.shown_name(point.label) for point in points]
    at = [_on_paper(panel, p.cost, p.quality.mean) for p in points]
    widths = [canvas.width(name, _LETTERS) + 2 for name in names]
    extent = panel.get_window_extent()
    inside = (extent.x0, extent.y0, extent.x1, extent.y1)
    lines = list(_steps(panel, best))
    for point, (x, _) in zip(points, at, strict=True):
        _, low = _on_paper(panel, point.cost, point.quality.low)
        _, high = _on_paper(panel, point.cost, point.quality.high)
        lines.append((x - 1, low, x + 1, high))
    boxes = place_names(at, widths, _LINE, inside, _MARKER_RADIUS, lines)
    for name, place, box in zip(names, at, boxes, strict=True):
        if box is not None:
            _write_name(panel, name, place, box)
    return boxes.count(None)


def _on_paper(panel: Axes, cost: float, quality: float) -> tuple[float, float]:
    x, y = panel.transData.transform((cost, quality))
    return float(x), float(y)


def _steps(panel: Axes, best: Sequence[Point]) -> Iterator[Box]:
    """Yield the corners of the front's step line: to the right, then up."""
    for one, other in pairwise(best):
        x, y = _on_paper(panel, one.cost, one.quality.mean)
        right, top = _on_paper(panel, other.cost, other.quality.mean)
        yield (x - 1, y - 1, right + 1, y + 1)
        yield (right - 1, y - 1, right + 1, top + 1)


def _write_name(panel: Axes, name: str, point: tuple[float, float], box: Box) -> None:
    """Write a label into its box, with a leader line unless it is adjacent."""
    left, bottom, _, top = box
    panel.annotate(
        name,
        point,
        (left, (bottom + top) / 2),
        xycoords="figure points",
        textcoords="figure points",
        ha="left",
        va="center",
        fontsize=_LETTERS,
        zorder=4,
    )
    start = leader(point, box)
    if start is not None:
        panel.annotate(
            "",
            point,
            start,
            xycoords="figure points",
            textcoords="figure points",
            arrowprops={"arrowstyle": "-", "color": "gray", "linewidth": 0.5},
        )
