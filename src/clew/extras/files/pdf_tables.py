"""Detect columns and tables of a PDF page from aligned gaps in its lines.

A PDF knows no cells. Where three lines or more stand together whose gaps are wider than words are
set apart, and their parts stand in columns, bars take the place of the gaps. Where the parts are
prose, the page was drawn across its columns, and is read column by column. Nor does it know what is
raised: digits are that are smaller than what they follow, and shifted, so that 10³ is not 103.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ctypes import c_double
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from clew.extras.files.placed import PlacedText, set_in_columns
from clew.readers.grid import format_row
from clew.readers.superscripts import subscript, superscript

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_GAP = 0.8  # of the size of the letters, between two cells
_LEAST_LINES, _LEAST_WORDS = 5, 4  # of columns of prose; words of a line, on average
_FULL, _MOSTLY = 0.75, 0.65  # of the width of a column; of its lines
_MOST_LINES = 300  # of a column
_DIGITS = re.compile(r"[+\-−]?\d+")
_SMALLER = 0.9  # of the size of what they follow, at most
_RAISED, _LOWERED = 0.15, 0.05  # of that size, at least, and once that size at most

Line = tuple[str, list[PlacedText]]  # its text, and the pieces between wide gaps


def mark_cells(text: str, page: PdfTextPage) -> str:
    """Return the text of a page in reading order, with bars between table cells."""
    if page.get_text_range() != text or page.count_chars() != len(text):
        return text.replace("\r\n", "\n")
    text = _mark_shifted(text, page)
    lines: list[Line] = []
    start = 0
    for line in text.split("\r\n"):
        lines.append((line, list(_parts(page, text, start, start + len(line)))))
        start += len(line) + 2
    marked: list[str] = []
    for is_row, group in groupby(_read_columns(lines), lambda line: len(line[1]) > 1):
        block = list(group)
        rows = set_in_columns([parts for _, parts in block]) if is_row else []
        marked += map(format_row, rows) if rows else (line for line, _ in block)
    return "\n".join(marked)


def _read_columns(lines: list[Line]) -> Iterator[Line]:
    """Yield lines in reading order: columns of prose one after the other.

    A first line that fills no column is a heading, or what is printed at the head of each page, and
    a last one with a number, such as that of the page, what is printed at its foot.
    """
    i = 0
    while i < len(lines):
        columns, end = _find_columns(lines, i)
        rows = [pieces for _, pieces in lines[i:end]]
        if len(columns) < 2 or not any(map(_is_full, rows[0], columns)):
            yield lines[i]
            end = i + 1
        elif _are_prose(columns, rows):
            if re.search(r"\d", lines[end - 1][0]) and not any(map(_is_full, rows[-1], columns)):
                columns, end = _find_columns(lines[: end - 1], i)
            yield from ((each.text, [each]) for column in columns for each in column)
        else:
            yield from lines[i:end]
        i = end


def _are_prose(columns: list[list[PlacedText]], rows: list[list[PlacedText]]) -> bool:
    """Check whether columns of interleaved lines are prose rather than a table.

    Cells of a table that go over several lines begin in the same ones.
    """
    across = [row for row in rows if len(row) > 1]
    begun = [sum(map(_begins, row)) / len(row) for row in across[1:]]
    n_together, n_alone = begun.count(1), sum(0 < share < 1 for share in begun)
    is_table = n_together > n_alone + 1 or 2 * len(across) < len(rows)
    return not is_table and all(map(_is_prose, columns))


def _is_prose(column: list[PlacedText]) -> bool:
    """Check whether most lines of a column are full and continue on the next line."""
    n_words = sum(len(each.text.split()) for each in column)
    n_going_on = sum(not _begins(each) for each in column)
    n_full = sum(_is_full(each, column) for each in column)
    is_long = len(column) >= _LEAST_LINES and n_words >= _LEAST_WORDS * len(column)
    return is_long and n_going_on * 3 >= len(column) and n_full >= _MOSTLY * len(column)


def _begins(piece: PlacedText) -> bool:
    return piece.text[0].isupper() or not piece.text[0].isalpha()


def _is_full(piece: PlacedText, column: list[PlacedText]) -> bool:
    left, right = min(each.left for each in column), max(each.right for each in column)
    return piece.right - piece.left >= _FULL * (right - left)


def _find_columns(lines: list[Line], start: int) -> tuple[list[list[PlacedText]], int]:
    """Return the columns from a line on, and where a line crosses their gap."""
    columns = [[each] for each in lines[start][1]]
    if len(columns) < 2:
        return [], start
    extents = [(each.left, each.right) for each in lines[start][1]]
    last = min(len(lines), start + _MOST_LINES)
    for end in range(start + 1, last):
        wider = list(extents)
        places = []
        for piece in lines[end][1]:
            over = [k for k, (a, b) in enumerate(extents) if piece.left <= b and piece.right >= a]
            places.append(over[0] if len(over) == 1 else -1)
            left, right = wider[places[-1]]
            wider[places[-1]] = min(left, piece.left), max(right, piece.right)
        crosses = any(a[1] >= b[0] for a, b in pairwise(wider))
        if crosses or -1 in places or len(set(places)) < len(places):
            return columns, end
        extents = wider
        for place, piece in zip(places, lines[end][1], strict=True):
            columns[place].append(piece)
    return columns, last


def _parts(page: PdfTextPage, text: str, start: int, end: int) -> Iterator[PlacedText]:
    """Yield the pieces of a line, text[start:end], separated by wide gaps."""
    from pypdfium2.raw import FPDFText_GetFontSize

    begin, left = start, None
    for i in range(start + 1, end - 1):
        if text[i] != " " or text[i - 1].isspace() or text[i + 1].isspace():
            continue
        before, after = page.get_charbox(i - 1), page.get_charbox(i + 1)
        if after[0] - before[2] > _GAP * FPDFText_GetFontSize(page, i - 1):
            left = page.get_charbox(begin)[0] if left is None else left
            yield PlacedText(text[begin:i], left, before[2])
            begin, left = i + 1, after[0]
    if text[start:end].strip():
        left = page.get_charbox(begin)[0] if left is None else left
        yield PlacedText(text[begin:end], left, page.get_charbox(end - 1)[2])


def _mark_shifted(text: str, page: PdfTextPage) -> str:
    """Return the text of a page with superscript and subscript digits, of equal length."""
    from pypdfium2.raw import FPDFText_GetFontSize

    characters = list(text)
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        start -= start > 0 and (text[start - 1].isalnum() or text[start - 1] in ")]")
        size = FPDFText_GetFontSize(page, start) if end > start + 1 else 0
        if not size or FPDFText_GetFontSize(page, end - 1) >= _SMALLER * size:
            continue
        inside = range(start + 1, end)
        first = next(i for i in inside if FPDFText_GetFontSize(page, i) < _SMALLER * size)
        rise = (_find_baseline(page, first) - _find_baseline(page, start)) / size
        if _RAISED < rise < 1:
            characters[first:end] = superscript(text[first:end])
        elif _LOWERED < -rise < 1:
            characters[first:end] = subscript(text[first:end])
    return "".join(characters)


def _find_baseline(page: PdfTextPage, i: int) -> float:
    from pypdfium2.raw import FPDFText_GetCharOrigin

    x, y = c_double(), c_double()
    FPDFText_GetCharOrigin(page, i, x, y)
    return y.value
