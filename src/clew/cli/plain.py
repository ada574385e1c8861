"""Print output safely: escaped text, JSON, and the --quiet and --verbose levels.

`--quiet` and `--verbose` stand before the command's name or behind it. The library
tells what it does to the logger `clew`: no key, no question and no text of a document, which a log
must not hold.
"""

import codecs
import io
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import click

from clew.base.display.columns import fit, shorten, width_of, wrap
from clew.base.display.shown import plain
from clew.base.display.visible import visible

MAX_COLUMNS = 100
_WITHOUT = str.maketrans("┌├└│─…–—‘’“”", "+++|-.--''\"\"")  # where an encoding has no such sign
_QUIET, _VERBOSE = "clew.quiet", "clew.verbose"
_LOGGER = logging.getLogger("clew")


def make_printable() -> None:
    """Let a console replace characters that its encoding lacks.

    Warnings that no handler takes are printed in a line on stderr, as errors are.
    """
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_OneLine("clew: %(message)s"))
    codecs.register_error("clew.plain", _write_plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="clew.plain")


def _write_plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    plainer = error.object[error.start : error.end].translate(_WITHOUT)
    return plainer.encode("ascii", "backslashreplace").decode("ascii"), error.end


def one_line(text: str) -> str:
    """Return `text` on one line, with control and invisible characters escaped."""
    return visible(" ".join(text.split()))


def terminal_width() -> int:
    """Return the width of the terminal, or the widest where output goes elsewhere."""
    if "COLUMNS" not in os.environ and not (sys.__stdout__ and sys.__stdout__.isatty()):
        return MAX_COLUMNS
    import shutil

    return min(shutil.get_terminal_size((MAX_COLUMNS, 24)).columns, MAX_COLUMNS)


def wrap_text(text: str, *, first: str = "", rest: str = "", max_lines: int | None = None) -> str:
    """Wrap `text`, escaped, with the prefixes `first` and `rest`, to at most `max_lines`."""
    width = max(terminal_width() - max(width_of(first), width_of(rest)), 20)
    lines = wrap(one_line(text), width)
    if max_lines is not None and len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], shorten(lines[max_lines - 1], width, " …")]
    marks = [first, *[rest] * (len(lines) - 1)]
    return "\n".join(mark + line for mark, line in zip(marks, lines, strict=True))


def count_more(n: int, *, indent: str = "  ") -> Iterator[str]:
    """Yield a line "n more", if any."""
    if n > 0:
        yield dim(f"{indent}… and {n:,} more")


def align(rows: Sequence[tuple[str, ...]], *, indent: str = "  ") -> str:
    """Return rows of equal length as columns; the last one wraps below itself."""
    shown = [(*map(one_line, cells), last) for *cells, last in rows]
    widths = [max(map(width_of, column)) for column in zip(*shown, strict=True)][:-1]
    lines = []
    for *cells, last in shown:
        padded = map(fit, cells, widths)
        head = indent + "".join(f"{cell}  " for cell in padded)
        lines.append(wrap_text(last, first=head, rest=" " * width_of(head)).rstrip())
    return "\n".join(lines)


def bold(text: str) -> str:
    """Return `text` in bold, if the terminal supports it."""
    return click.style(text, bold=True)


def dim(text: str) -> str:
    """Return `text` dimmed, if the terminal supports it."""
    return click.style(text, dim=True)


def echo_json(value: object) -> None:
    """Print a JSON document with non-ASCII characters escaped."""
    click.echo(to_json(value, indent=2))


def to_json(value: object, *, indent: int | None = None) -> str:
    """Return a JSON document in ASCII, on one line unless indented."""
    return json.dumps(plain(value), indent=indent).replace("\x7f", "\\u007f")


# -- how much is said --------------------------------------------------------------------------


def build_options() -> list[click.Option]:
    """Return the options that every command has."""
    option = partial(click.Option, expose_value=False)
    return [
        option(
            ["-q", "--quiet"], is_flag=True, callback=_set_quiet, help="Only errors and results."
        ),
        option(
            ["-v", "--verbose"],
            count=True,
            callback=_set_verbose,
            help="Report each step on stderr, and name each skipped file; -vv: more.",
        ),
    ]


def is_quiet() -> bool:
    """Check whether --quiet was given."""
    return bool(_context_meta().get(_QUIET))


def is_verbose() -> bool:
    """Check whether --verbose was given."""
    return bool(_context_meta().get(_VERBOSE))


def say(text: str, *, err: bool = False) -> None:
    """Print a status message, unless --quiet was given."""
    if not is_quiet():
        click.echo(text, err=err)


def print_result(
    value: object, words: Iterable[str], *, as_json: bool, is_news: bool = False
) -> None:
    """Print a value as JSON or as lines; --quiet suppresses it if `is_news`."""
    if as_json:
        echo_json(value)
    elif not (is_news and is_quiet()):
        for line in words:
            click.echo(line)


def _context_meta() -> dict[str, Any]:
    context = click.get_current_context(silent=True)
    return {} if context is None else context.meta


def _set_quiet(context: click.Context, _option: click.Parameter, value: int) -> None:
    if value:
        context.meta[_QUIET] = True


def _set_verbose(context: click.Context, _option: click.Parameter, value: int) -> None:
    if not value:
        return
    context.meta[_VERBOSE] = value
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.INFO if value == 1 else logging.DEBUG)
    handler.setFormatter(_OneLine("clew: %(message)s"))
    _LOGGER.setLevel(logging.DEBUG)
    _LOGGER.addHandler(handler)
    context.find_root().call_on_close(partial(_LOGGER.removeHandler, handler))


class _OneLine(logging.Formatter):
    """A log formatter that escapes line breaks and control characters in file names."""

    def format(self, record: logging.LogRecord) -> str:
        return one_line(super().format(record))
