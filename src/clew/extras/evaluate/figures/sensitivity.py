"""Sensitivity figures: metrics over the parameters that a grid varies."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clew.base.types import Scalar
from clew.errors import InputError
from clew.extras.evaluate.figures import canvas
from clew.extras.evaluate.files import check_file
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.settings import Setting, main_metrics
from clew.extras.evaluate.summary import Estimate

_DASHED = ("tab:orange", "tab:red", "tab:gray", "tab:brown", "tab:pink")  # none is of viridis
_DASH = 3  # so short that a sample in the legend has one whatever its number
_PANEL = (5.0, 3.4)  # inches
_LEGEND_ROW = 0.25
_SERIES_OFFSET = 0.12  # between series at one value that is no number, where 1 is to the next value
_MAX_OFFSET = 0.6  # of all of them, at most

Measured = tuple[Setting, Mapping[str, Estimate]]  # by metric


@dataclass(frozen=True, slots=True)
class Grid:
    """One or two varied parameters of a method; the first is the x axis."""

    method: str
    names: tuple[str, ...]

    def holds(self, setting: Setting) -> bool:
        """Check whether a setting is a point of this grid."""
        return (setting.method, tuple(setting.parameters)) == (self.method, self.names)


def draw(report: Report, file: str | Path, metrics: Sequence[str] = ()) -> None:
    """Draw a figure with a panel for each metric over a grid's parameters, and save it.

    A second parameter has a line for each value; settings without parameters are dashed lines.
    Values of the first that are no numbers are not joined. Bars are 95 % bootstrap intervals.
    Without `metrics` it shows those of `main_metrics`. Equal reports give equal bytes. Raises
    InputError as `check_figure` does, and where the file cannot be written.
    """
    have = report.summaries[0].estimates.keys()
    shown = metrics or main_metrics(have, report.scoring.ks)
    check_figure(file, report.settings, shown, have)
    grid = _grid(report.settings)
    estimates = [summary.estimates for summary in report.summaries]
    title, pairs = canvas.make_title(report), list(zip(report.settings, estimates, strict=True))
    about = f"{', '.join(shown)} over {' and '.join(grid.names)} of {grid.method}"
    canvas.save(_curves(title, grid, pairs, shown), file, title, about)


def check_figure(
    file: str | Path, settings: Sequence[Setting], metrics: Sequence[str], have: Collection[str]
) -> None:
    """Raise InputError before measuring for what `draw` could not draw."""
    check_file(file, canvas.SUFFIXES, "a plot")
    _grid(settings)
    unknown = [metric for metric in metrics if metric not in have]
    if unknown or not metrics:
        what = repr(unknown[0]) if unknown else "nothing"
        names = ", ".join(sorted(have)) or "none"
        raise InputError(f"a plot cannot show {what}: metrics that apply are {names}")


def _curves(title: str, grid: Grid, shown: Sequence[Measured], metrics: Sequence[str]) -> Figure:
    """Return a figure with a panel for each metric over the first parameter of `grid`.

    Settings of `shown` that are not of the grid are dashed lines.
    """
    x, n = grid.names[0], len(metrics)
    places, joined = _places(s.parameters[x] for s, _ in shown if grid.holds(s))
    n_columns, n_rows = min(n, 2), -(-n // 2)
    height = _PANEL[1] * n_rows + _LEGEND_ROW * (len(shown) // n_columns + 2)
    with canvas.style():
        figure = canvas.figure(_PANEL[0] * n_columns, height)
        panels = list(chain(*figure.subplots(n_rows, n_columns, squeeze=False)))
        for empty in panels[n:]:
            empty.remove()
        for metric, panel in zip(metrics, panels, strict=False):
            if not joined:
                panel.set_xticks(list(places.values()), [str(value) for value in places])
                panel.set_xlim(-0.5, len(places) - 0.5)
            elif all(isinstance(value, int) for value in places):  # no fractions between these
                panel.locator_params(axis="x", integer=True)
            pairs = [(s, estimates[metric]) for s, estimates in shown if metric in estimates]
            _draw_panel(panel, grid, pairs, places, joined=joined)
            panel.set(xlabel=f"{x} of {grid.method}", ylabel=metric)
        handles, labels = panels[0].get_legend_handles_labels()
        about = "bars are 95 % intervals"
        figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, title=about)
        figure.suptitle(title)
    return figure


def _grid(settings: Sequence[Setting]) -> Grid:
    """Return the only grid of the settings."""
    grids = {(s.method, tuple(s.parameters)) for s in settings if s.parameters}
    if len(grids) != 1:
        varied = " and ".join(sorted(f"{method}: {', '.join(names)}" for method, names in grids))
        why = f"but what varies is {varied}" if grids else "and nothing varies: add --grid"
        raise InputError(f"a plot needs the --grid of a single method, {why}")
    [(method, names)] = grids
    if len(names) > 2:
        raise InputError(
            f"a plot is over one or two parameters, not over {len(names)} of {method}: "
            f"{', '.join(names)}"
        )
    return Grid(method, names)


def _places(values: Iterable[Scalar]) -> tuple[dict[Scalar, float], bool]:
    """Return the x position of each value, and whether the values are numbers.

    Numbers stand at themselves, others side by side.
    """
    distinct = dict.fromkeys(values)
    numbers: dict[Scalar, float] = {
        value: float(value)
        for value in distinct
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if len(numbers) == len(distinct):
        return numbers, True
    return {value: float(place) for place, value in enumerate(distinct)}, False


def _draw_panel(
    panel: Axes,
    grid: Grid,
    pairs: Sequence[tuple[Setting, Estimate]],
    places: Mapping[Scalar, float],
    *,
    joined: bool,
) -> None:
    """Draw one metric of all settings, with the first parameter's values at `places`."""
    x = grid.names[0]
    series: dict[str, dict[float, Estimate]] = {}
    others: dict[str, float] = {}
    for setting, estimate in pairs:
        if grid.holds(setting):
            points = series.setdefault(_series_label(setting, x), {})
            points[places[setting.parameters[x]]] = estimate
        else:
            others[canvas.shown_name(setting.label)] = estimate.mean
    apart = 0.0 if joined else min(_SERIES_OFFSET, _MAX_OFFSET / len(series))
    for number, (label, points) in enumerate(series.items()):
        shift = apart * (number - (len(series) - 1) / 2)
        estimates = [points[place] for place in sorted(points)]
        panel.errorbar(
            [place + shift for place in sorted(points)],
            [each.mean for each in estimates],
            canvas.errors(estimates),
            color=canvas.colour(number, len(series)),
            elinewidth=0.7,
            linestyle="-" if joined else "none",
            marker=canvas.MARKERS[number % len(canvas.MARKERS)],
            markersize=4,
            label=label,
        )
    # Of dashed lines on one another each fills the others' gaps.
    gap = _DASH * max(1, min(len(others), len(_DASHED)) - 1)
    for number, (label, mean) in enumerate(others.items()):
        dashes = (_DASH * number, (_DASH, gap))
        cycled = _DASHED[number % len(_DASHED)]
        panel.axhline(mean, color=cycled, linestyle=dashes, linewidth=1.3, label=label)


def _series_label(setting: Setting, x: str) -> str:
    """Return a label such as "clue by depth", with the values that distinguish the series."""
    second = {name: value for name, value in setting.parameters.items() if name != x}
    apart = setting.label.removeprefix(replace(setting, name="").label)
    label = ", ".join([f"{setting.method} by {x}", *(f"{n}={v}" for n, v in second.items())])
    return canvas.shown_name(f"{label}{apart}")
