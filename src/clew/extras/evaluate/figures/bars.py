"""Bar charts of settings with intervals, and their difference to the full method."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.extras.evaluate.figures import canvas
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.summary import Estimate

Bars = Sequence[tuple[str, Mapping[str, "Estimate"]]]  # what is measured, and on which datasets

_HATCHES = ("", "////", "....", "xxxx")  # so that colour is not all that tells datasets apart
_WIDTH = 7.5  # inches, as the next four
_ROW = 0.19  # of a bar
_GROUP_GAP = 0.11  # between the bars of one thing and the next
_HEAD = 0.75  # of a panel, without its bars
_FOOT = 0.9  # of a figure, without its panels
_LOW_SCORE = 0.5  # up to which scores have an axis of their own
_MEAN_AT, _DIFFERENCE_AT = 40.0, 90.0  # points from a panel to where the columns of numbers end


def bar_figure(groups: Mapping[str, Bars], metric: str, title: str) -> Figure:
    """Return a panel of horizontal bars for each group, such as the settings of one method.

    The first of a group is the full method: the others' differences to it stand beside them. Each
    dataset has a colour and a hatch.
    """
    datasets = list(dict.fromkeys(name for bars in groups.values() for _, m in bars for name in m))
    drawn = {name: bars for name, bars in groups.items() if bars}
    heights = [_HEAD + len(bars) * (_ROW * len(datasets) + _GROUP_GAP) for bars in drawn.values()]
    with canvas.style():
        figure = canvas.figure()
        figure.set_size_inches(_WIDTH, sum(heights) + _FOOT)
        rows = figure.subplots(len(drawn), squeeze=False, sharex=True, height_ratios=heights)
        panels = [row[0] for row in rows]
        for panel, (name, bars) in zip(panels, drawn.items(), strict=True):
            _draw_panel(panel, bars, datasets)
            panel.set_title(canvas.shown_name(name), loc="left", fontsize="medium")
            panel.tick_params(labelbottom=True)
        highest = max(e.high for bars in drawn.values() for _, of in bars for e in of.values())
        panels[-1].set_xlim(0, 1.0 if highest > _LOW_SCORE else 1.2 * highest or 1.0)
        panels[-1].set_xlabel(
            f"{metric} with 95 % intervals; differences are to the first of a panel"
        )
        figure.suptitle(title)
        if len(datasets) > 1:
            handles, _ = panels[0].get_legend_handles_labels()
            names = [canvas.shown_name(name) for name in datasets]
            figure.legend(
                handles, names, loc="outside lower center", ncols=len(names), frameon=False
            )
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
    step = _ROW * len(datasets) + _GROUP_GAP
    for number, dataset in enumerate(datasets):
        places = [place * step + _ROW * number for place, (_, m) in enumerate(bars) if dataset in m]
        estimates = [measured[dataset] for _, measured in bars if dataset in measured]
        _draw_bars(panel, places, estimates, number, len(datasets))
        full = bars[0][1].get(dataset)
        for place, estimate in zip(places, estimates, strict=True):
            _write(panel, f"{estimate.mean:.3f}", _MEAN_AT, place, "data")
            if full is not None and estimate is not full:
                _write(panel, f"{estimate.mean - full.mean:+.3f}", _DIFFERENCE_AT, place, "data")
    middle = _ROW * (len(datasets) - 1) / 2
    panel.set_yticks(
        [place * step + middle for place in range(len(bars))],
        [canvas.shown_name(label) for label, _ in bars],
    )
    panel.set(ylim=(len(bars) * step - _ROW / 2, -_ROW / 2 - _GROUP_GAP))
    panel.grid(visible=False, axis="y")
    for text, at in (("mean", _MEAN_AT), ("difference", _DIFFERENCE_AT)):
        _write(panel, text, at, 1.03, "axes fraction")


def _draw_bars(
    panel: Axes, places: Sequence[float], means: Sequence[Estimate], number: int, n: int
) -> None:
    panel.barh(
        places,
        [e.mean for e in means],
        height=_ROW * 0.9,
        color=canvas.colour(2 * number + 1, 2 * n + 1),
        edgecolor="white",
        hatch=_HATCHES[number % len(_HATCHES)],
        label=str(number),
        zorder=2,
    )
    panel.hlines(places, [e.low for e in means], [e.high for e in means], color="black", zorder=3)


def _write(panel: Axes, text: str, at: float, y: float, along: str) -> None:
    """Write a text that ends `at` points to the right of a panel, at height y."""
    panel.annotate(
        text,
        (1, y),
        (at, 0),
        xycoords=("axes fraction", along),
        textcoords="offset points",
        ha="right",
        va="bottom" if along == "axes fraction" else "center",
        fontsize="small",
        annotation_clip=False,
    )
