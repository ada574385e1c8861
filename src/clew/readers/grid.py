"""Format tables as paragraphs: one per row, with bars between cells.

Empty cells stay, and a cell that goes over several columns or rows says its value in each of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from clew.text.sentences import MAX_CHARACTERS
from clew.text.tables import BAR, LONE_BAR

_REPEATED = 100  # characters, at most, of a value that is said again
_LEAST, _TIMES = 1_000, 100  # cells that are filled: so many for each cell that there is


class Cell(NamedTuple):
    """A cell with its row and column span."""

    text: str
    rows: int = 1
    columns: int = 1


def fill_spans(rows: Iterable[Sequence[Cell]]) -> list[list[str]]:
    """Return rows of cells with each value repeated over its span."""
    filled: list[list[str]] = []
    above: dict[int, tuple[int, str]] = {}  # what goes on in a column, and in how many rows more
    budget = _LEAST
    for row in rows:
        texts: list[str] = []
        below: dict[int, tuple[int, str]] = {}
        cells = list(reversed(row))
        budget += _TIMES * len(cells)
        while cells or len(texts) in above:
            if (place := len(texts)) in above:
                more, text = above[place]
                spans, columns = more if budget > 0 else 1, [text]
                budget -= 1
            else:
                cell = cells.pop()
                again = cell.text if len(cell.text) <= _REPEATED else ""
                n_more = max(min(cell.columns - 1, budget), 0)
                budget -= n_more
                spans, columns = cell.rows, [cell.text, *[again] * n_more]
            if spans > 1:
                carried = (text if len(text) <= _REPEATED else "" for text in columns)
                below |= {place + i: (spans - 1, text) for i, text in enumerate(carried)}
            texts += columns
        filled.append(texts)
        above = below
    return filled


def format_rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the paragraph of each row, without all-empty columns."""
    used = sorted({i for row in rows for i, text in enumerate(row) if text.strip()})
    for row in rows:
        yield format_row([row[i] if i < len(row) else "" for i in used])


def format_row(cells: Sequence[str]) -> str:
    """Return cells joined by bars, "" if all are empty.

    White space in a cell is one space, but in a row that is longer than a sentence may be.
    """
    if not any(map(str.strip, cells)):
        return ""
    cells = [LONE_BAR.sub("/", cell.strip()) for cell in cells]
    line = " ".join(BAR.join(cells).split())
    return line if len(cells) > 1 and len(line) <= MAX_CHARACTERS else BAR.join(cells)
