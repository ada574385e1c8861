"""Values to text that a terminal shows and does not obey, and to JSON."""

import codecs
import io
import json
import shutil
import sys
from collections.abc import Iterator, Sequence

import click

from clew.base.display.columns import fit, shorten, width_of, wrap
from clew.base.display.shown import plain
from clew.base.display.visible import visible

MAX_COLUMNS = 100
_WITHOUT = str.maketrans("┌├└│─…–—‘’“”", "+++|-.--''\"\"")  # where an encoding has no such sign


def let_print() -> None:
    """Let a console that cannot show every character have plainer signs, or escapes, for some."""
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
    """Return `text` without line breaks, and with escapes for what a terminal obeys or hides."""
    return visible(" ".join(text.split()))


def terminal_width() -> int:
    """Return how wide the output may be."""
    return min(shutil.get_terminal_size((MAX_COLUMNS, 24)).columns, MAX_COLUMNS)


def wrap_text(text: str, *, first: str = "", rest: str = "", max_lines: int | None = None) -> str:
    """Return `text`, safe to print, in lines behind `first` and `rest`, cut at `max_lines`."""
    width = max(terminal_width() - max(width_of(first), width_of(rest)), 20)
    lines = wrap(one_line(text), width)
    if max_lines is not None and len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], shorten(lines[max_lines - 1], width, " …")]
    marks = [first, *[rest] * (len(lines) - 1)]
    return "\n".join(mark + line for mark, line in zip(marks, lines, strict=True))


def count_more(n: int, *, indent: str = "  ") -> Iterator[str]:
    """Yield a line that says how many more there are, if any."""
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
    """Return `text` in bold type, where the terminal has such."""
    return click.style(text, bold=True)


def dim(text: str) -> str:
    """Return `text` in faint type: what is good to know and not the point."""
    return click.style(text, dim=True)


def echo_json(value: object) -> None:
    """Print one JSON document; everything outside ASCII is escaped, so nothing can obey it."""
    click.echo(to_json(value, indent=2))


def to_json(value: object, *, indent: int | None = None) -> str:
    """Return one JSON document, in a line without an indent, escaped alike."""
    return json.dumps(plain(value), indent=indent).replace("\x7f", "\\u007f")
