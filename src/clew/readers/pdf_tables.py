"""Tables of a PDF: lines with wide gaps one above the other, in three columns or more.

A PDF knows no cells. Where three lines or more stand together whose gaps are wider than words are
set apart, and their parts stand in columns, bars take the place of the gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from clew.readers.grid import PlacedText, format_row, set_in_columns

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_GAP = 0.8  # of the size of the letters, between two cells


def mark_cells(text: str, page: PdfTextPage) -> str:
    """Return the text of a page with bars between the cells of its tables, and plain newlines."""
    if page.get_text_range() != text or page.count_chars() != len(text):
        return text.replace("\r\n", "\n")
    lines: list[tuple[str, list[PlacedText]]] = []
    start = 0
    for line in text.split("\r\n"):
        lines.append((line, list(_parts(page, text, start, start + len(line)))))
        start += len(line) + 2
    marked: list[str] = []
    for is_row, group in groupby(lines, lambda line: len(line[1]) > 1):
        block = list(group)
        rows = set_in_columns([parts for _, parts in block]) if is_row else []
        marked += map(format_row, rows) if rows else (line for line, _ in block)
    return "\n".join(marked)


def _parts(page: PdfTextPage, text: str, start: int, end: int) -> Iterator[PlacedText]:
    """Yield the pieces of a line, text[start:end]; it has one where no gap is wide."""
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
    if left is not None:
        yield PlacedText(text[begin:end], left, page.get_charbox(end - 1)[2])
