"""Bar charts of settings with intervals, and their difference to the first."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.extras.evaluate.figures import canvas
from clew.extras.evaluate.summary import Estimate

Bars = Sequence[tuple[str, Estimate]]  # settings and their means

_WIDTH, _BAR, _HEAD = 7.5, 0.33, 0.75  # inches of the figure, of a bar, and without bars


def bar_figure(bars: Bars, metric: str, title: str) -> Figure:
    """Return a figure of horizontal bars, with the others' differences to the first beside them."""
    with canvas.style():
        figure = canvas.figure(_WIDTH, 2 * _HEAD + _BAR * len(bars))
        panel = figure.subplots()
        draw_bars(panel, bars)
        panel.set(xlabel=f"{metric} with 95 % intervals; differences are to the first")
        figure.suptitle(title)
    return figure


def draw_bars(panel: Axes, bars: Bars) -> None:
    """Draw the bars from the top down, with their values."""
    labels, estimates = zip(*bars, strict=True)
    full = estimates[0].mean
    drawn = panel.barh(
        range(len(bars)),
        [each.mean for each in estimates],
        height=0.765,
        xerr=canvas.errors(estimates),
        color=canvas.colour(1, 3),
        edgecolor="white",
    )
    differences = ["", *(f" ({each.mean - full:+.3f})" for each in estimates[1:])]
    values = (f"{each.mean:.3f}" for each in estimates)
    shown = [f"{value}{other}" for value, other in zip(values, differences, strict=True)]
    panel.bar_label(drawn, shown, padding=3, fontsize="small")
    panel.set_yticks(range(len(bars)), [canvas.shown_name(label) for label in labels])
    panel.invert_yaxis()
    panel.grid(visible=False, axis="y")
    panel.set_axisbelow(True)
    panel.set_xlim(left=0)
