"""Bar charts of settings with intervals, and their difference to the full method."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.extras.evaluate.figures import canvas
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.summary import Estimate

Bars = Sequence[tuple[str, Estimate]]  # settings and their means

_WIDTH = 7.5  # inches, as the next two
_BAR = 0.22
_HEAD = 0.75  # of a panel, without its bars


def bar_figure(groups: Mapping[str, Bars], metric: str, title: str) -> Figure:
    """Return a panel of horizontal bars for each group, such as the settings of one method.

    The first of a group is the full method: the others' differences to it stand beside them.
    """
    drawn = {name: bars for name, bars in groups.items() if bars}
    heights = [_HEAD + 1.5 * _BAR * len(bars) for bars in drawn.values()]
    with canvas.style():
        figure = canvas.figure(_WIDTH, sum(heights) + _HEAD)
        rows = figure.subplots(len(drawn), squeeze=False, sharex=True, height_ratios=heights)
        for [panel], (name, bars) in zip(rows, drawn.items(), strict=True):
            _draw_panel(panel, bars)
            panel.set_title(canvas.shown_name(name), loc="left", fontsize="medium")
        panel.set_xlim(left=0)
        panel.set_xlabel(f"{metric} with 95 % intervals; differences are to the first of a panel")
        figure.suptitle(title)
    return figure


def families(report: Report, metric: str) -> dict[str, Bars]:
    """Group the settings by family: single methods, then methods with several settings.

    A family begins with the full method, the one without parameters, where it was measured.
    """
    bars = [
        (setting, summary.label, summary.estimates[metric])
        for setting, summary in zip(report.settings, report.summaries, strict=True)
        if metric in summary.estimates
    ]
    of: dict[str, list[tuple[str, Estimate]]] = {}
    for setting, label, measured in sorted(bars, key=lambda bar: bool(bar[0].parameters)):
        of.setdefault(setting.method, []).append((label, measured))
    varied = {setting.method for setting, _, _ in bars if setting.parameters}
    several = {method: of[method] for method in of if method in varied and len(of[method]) > 1}
    whole = [
        (label, measured)
        for setting, label, measured in bars
        if not setting.parameters or setting.method not in several
    ]
    return {"methods": whole, **several}


def _draw_panel(panel: Axes, bars: Bars) -> None:
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
    panel.tick_params(labelbottom=True)
