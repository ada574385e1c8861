"""Format tables as paragraphs: one per row, with bars between cells.

Empty cells stay, and a cell that goes over several columns or rows says its value in each of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from clew.text.sentences import MAX_CHARACTERS
from clew.text.tables import BAR, LONE_BAR

_REPEATED = 100  # characters, at most, of a value that is said again
_WORD = re.compile(r"\S+")
_LEAST_ROWS = 3  # of a table that nothing but its places shows, and columns
_LEAST, _TIMES = 1_000, 100  # cells that are filled: so many for each cell that there is


class Cell(NamedTuple):
    """A cell with its row and column span."""

    text: str
    rows: int = 1
    columns: int = 1


class PlacedText(NamedTuple):
    """A piece of a line with its horizontal range, possibly spanning several cells."""

    text: str
    left: float
    right: float
    is_divisible: bool = False


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


def set_in_columns(rows: Sequence[Sequence[PlacedText]]) -> list[list[str]]:
    """Return the cells of aligned rows, none if they are not a table.

    The columns are those of the rows with most pieces. A piece over several is in each of them, or
    divided among them.
    """
    width = max(map(len, rows))
    full = [row for row in rows if len(row) == width]
    if min(len(rows), width) < _LEAST_ROWS or len(full) < min(_LEAST_ROWS, len(rows) / 2):
        return []
    columns = [
        (min(piece.left for piece in column), max(piece.right for piece in column))
        for column in zip(*full, strict=True)
    ]
    if any(right >= left for (_, right), (left, _) in pairwise(columns)):
        return []
    cells: list[list[list[str]]] = [[[] for _ in columns] for _ in rows]
    for texts, row in zip(cells, rows, strict=True):
        for piece in row:
            placed = list(_place(piece, columns))
            if not placed:
                return []
            for i, text in placed:
                texts[i].append(text)
    return [[" ".join(cell) for cell in row] for row in cells]


def _place(piece: PlacedText, columns: Sequence[tuple[float, float]]) -> Iterator[tuple[int, str]]:
    """Yield the columns of a piece with their texts, split at words if it spans several."""
    over = [
        i for i, (left, right) in enumerate(columns) if left <= piece.right and right >= piece.left
    ]
    words = list(_WORD.finditer(piece.text))
    if not piece.is_divisible or len(words) < len(over):
        yield from ((i, piece.text) for i in over)
        return
    step, first = (piece.right - piece.left) / len(piece.text), 0
    for n, i in enumerate(over, 1):
        last = len(words) - len(over) + n  # each further column has a word at least
        end = len(words)
        if n < len(over):
            starts = [piece.left + step * word.start() for word in words[: last + 1]]
            beyond = columns[over[n]][0]
            end = min(range(first + 1, last + 1), key=lambda k: abs(starts[k] - beyond))
        yield i, piece.text[words[first].start() : words[end - 1].end()]
        first = end


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
