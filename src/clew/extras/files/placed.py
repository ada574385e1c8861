"""Find the cells of a table by the places of its texts on a page."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_WORD = re.compile(r"\S+")
_LEAST_ROWS = 3  # of a table that nothing but its places shows, and columns


class PlacedText(NamedTuple):
    """A piece of text in a table row with its horizontal range, which may span several cells."""

    text: str
    left: float
    right: float
    is_divisible: bool = False


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
