"""Quality against cost: a numbered point for each setting, and the Pareto front."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.extras.evaluate.figures import canvas
from clew.extras.evaluate.summary import Estimate

_WIDTH, _HEIGHT = 8.5, 4.6  # inches
_HEIGHT_PER_SETTING = 0.2  # of the legend
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
    """Return a figure of `metric` over `cost`, with a step line along the front.

    Points are numbered, since names beside them would overlap; the legend has the names.
    """
    with canvas.style():
        figure = canvas.figure(_WIDTH, max(_HEIGHT, 1 + _HEIGHT_PER_SETTING * len(points)))
        panel = figure.subplots()
        best = front(points)
        colour = canvas.colour(1, 4)
        means = [each.quality.mean for each in best]
        panel.step([each.cost for each in best], means, where="post", color=colour, linewidth=1)
        for number, point in enumerate(points, 1):
            leads = point in best
            panel.errorbar(
                [point.cost],
                [point.quality.mean],
                canvas.errors([point.quality]),
                color=colour if leads else "dimgray",
                elinewidth=0.7,
                marker="o" if leads else "s",
                markerfacecolor=colour if leads else "white",
                linestyle="none",
                label=f"{number} {canvas.shown_name(point.label)}",
            )
            place = (point.cost, point.quality.mean)
            panel.annotate(str(number), place, (5, 4), textcoords="offset points", fontsize=8)
        _scale(panel, [point.cost for point in points])
        panel.set(xlabel=cost, ylabel=metric)
        about = "on the line: no other is both better and cheaper; bars are 95 % intervals"
        panel.set_title(about, fontsize="small")
        figure.legend(loc="outside right upper", fontsize="small")
        figure.suptitle(title)
    return figure


def _scale(panel: Axes, costs: Sequence[float]) -> None:
    """Use a logarithmic axis if costs differ widely, else begin at zero."""
    paid = [cost for cost in costs if cost > 0]
    if max(paid) <= _LOG_RATIO * min(paid):
        panel.set_xlim(left=-0.03 * max(paid))
    elif len(paid) < len(costs):
        panel.set_xscale("symlog", linthresh=min(paid))
    else:
        panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:g}")
