"""Bar charts of settings with intervals, and their difference to the full method."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.extras.evaluate.figures import canvas
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.summary import Estimate

Bars = Sequence[tuple[str, Mapping[str, Estimate]]]  # settings, and their means by dataset

_HATCHES = ("", "////", "....", "xxxx")  # so that colour is not all that tells datasets apart
_WIDTH = 7.5  # inches, as the next two
_BAR = 0.22
_HEAD = 0.75  # of a panel, without its bars


def bar_figure(groups: Mapping[str, Bars], metric: str, title: str) -> Figure:
    """Return a panel of horizontal bars for each group, such as the settings of one method.

    The first of a group is the full method: the others' differences to it stand beside them. Each
    dataset has a colour and a hatch.
    """
    drawn = {name: bars for name, bars in groups.items() if bars}
    datasets = list(dict.fromkeys(name for bars in drawn.values() for _, m in bars for name in m))
    heights = [_HEAD + _BAR * (len(datasets) + 0.5) * len(bars) for bars in drawn.values()]
    with canvas.style():
        figure = canvas.figure(_WIDTH, sum(heights) + _HEAD)
        rows = figure.subplots(len(drawn), squeeze=False, sharex=True, height_ratios=heights)
        for [panel], (name, bars) in zip(rows, drawn.items(), strict=True):
            _draw_panel(panel, bars, datasets)
            panel.set_title(canvas.shown_name(name), loc="left", fontsize="medium")
        panel.set_xlim(left=0)
        panel.set_xlabel(f"{metric} with 95 % intervals; differences are to the first of a panel")
        figure.suptitle(title)
        if len(datasets) > 1:
            handles, names = rows[0][0].get_legend_handles_labels()
            figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure


def families(report: Report, metric: str) -> dict[str, Bars]:
    """Group the settings by family: single methods, then methods with several settings.

    A family begins with the full method, the one without parameters, where it was measured.
    """
    bars = [
        (setting, summary.label, {report.dataset.name: summary.estimates[metric]})
        for setting, summary in zip(report.settings, report.summaries, strict=True)
        if metric in summary.estimates
    ]
    of: dict[str, list[tuple[str, Mapping[str, Estimate]]]] = {}
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


def _draw_panel(panel: Axes, bars: Bars, datasets: Sequence[str]) -> None:
    """Draw the bars from the top down, grouped by setting, with their values."""
    height = 0.85 / len(datasets)
    for number, dataset in enumerate(datasets):
        full = bars[0][1].get(dataset)
        found = [(row, of[dataset]) for row, (_, of) in enumerate(bars) if dataset in of]
        shift = height * (number - (len(datasets) - 1) / 2)
        drawn = panel.barh(
            [row + shift for row, _ in found],
            [each.mean for _, each in found],
            height=0.9 * height,
            xerr=canvas.errors([each for _, each in found]),
            color=canvas.colour(2 * number + 1, 2 * len(datasets) + 1),
            edgecolor="white",
            hatch=_HATCHES[number % len(_HATCHES)],
            label=canvas.shown_name(dataset),
        )
        labels = [
            f"{each.mean:.3f}" + (f" ({each.mean - full.mean:+.3f})" if full and row else "")
            for row, each in found
        ]
        panel.bar_label(drawn, labels, padding=3, fontsize="small")
    panel.set_yticks(range(len(bars)), [canvas.shown_name(label) for label, _ in bars])
    panel.invert_yaxis()
    panel.grid(visible=False, axis="y")
    panel.set_axisbelow(True)
    panel.tick_params(labelbottom=True)
