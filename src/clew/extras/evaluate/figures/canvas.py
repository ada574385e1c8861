"""Matplotlib figures with one style, reproducible bytes, and accessible SVG."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from clew.base.display.visible import visible
from clew.base.runtime.lazy import needs
from clew.errors import InputError
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.summary import Estimate

with needs("matplotlib", "plots", "a plot"):
    import matplotlib as mpl
    from matplotlib.figure import Figure

Colour = tuple[float, float, float, float]  # red, green, blue and opacity

SUFFIXES = (".png", ".svg")
MARKERS = "os^Dv"  # so that colour is not all that tells lines apart
_STYLE: Any = {  # matplotlib types each name
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "clew",  # names in the file are the same every time
    "text.parse_math": False,
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_LONGEST_NAME = 44  # letters in a figure
_LIGHTEST = 0.85  # of viridis: what is lighter is lost on white


@contextmanager
def style() -> Iterator[None]:
    """Apply one style, independent of the user's matplotlib settings."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        # A script that the font of the measuring lacks is still text in an SVG.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches; draw within `style`."""
    return Figure(figsize=(width, height), layout="constrained")


def colour(number: int, n: int) -> Colour:
    """Return one of n colours that also differ in lightness."""
    return mpl.colormaps["viridis"](_LIGHTEST * number / max(n - 1, 1))


def errors(estimates: Sequence[Estimate]) -> list[list[float]]:
    """Return how far intervals reach below and above their means, as `errorbar` takes it."""
    below = [max(0.0, each.mean - each.low) for each in estimates]
    return [below, [max(0.0, each.high - each.mean) for each in estimates]]


def shown_name(text: str) -> str:
    """Return a name for display: printable, not empty, and not too long."""
    name = visible(text).strip() or "?"
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def make_title(report: Report) -> str:
    """Return the title of the figures of a report."""
    return f"{shown_name(report.dataset.name)}: {report.dataset.n_questions} questions"


def svg_text(figure: Figure, title: str, about: str) -> str:
    """Return a figure as SVG with a title and a description for screen readers."""
    written = StringIO()
    with style():
        figure.savefig(written, format="svg", metadata=_NO_METADATA)
    head = "".join(
        f" <{tag}>{escape(visible(text))}</{tag}>\n"
        for tag, text in (("title", title), ("desc", about))
    )
    before, _, rest = _COMMENT.sub("", written.getvalue()).partition("<svg ")
    attributes, _, drawn = rest.partition(">\n")
    return f'{before}<svg role="img" {attributes}>\n{head}{drawn}'


def save(figure: Figure, file: str | Path, title: str, about: str) -> None:
    """Write a figure as .svg or .png. Raises InputError if the file cannot be written."""
    path = Path(file)
    try:
        if path.suffix == ".svg":
            path.write_text(svg_text(figure, title, about), encoding="utf-8", newline="\n")
        else:
            with style():
                figure.savefig(path, metadata={"Software": None})
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
