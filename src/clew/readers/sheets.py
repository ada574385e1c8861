"""Spreadsheets (.xlsx .xls .ods): a sheet is its name, and behind it a paragraph for each row.

Cells are shown as the spreadsheet shows them, as far as the file says how, and a merged cell says
its value in each of its places. The name of a sheet is a heading. A row without a
value ends a table where the next one has other columns, or has only texts. Needs the extra `files`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import is_zipfile

from clew.errors import UnreadableSource
from clew.readers.archive import ArchiveParts, parts_of, refuse_bomb
from clew.readers.grid import fill_spans, format_rows
from clew.readers.number_formats import BUILT_IN, format_cell
from clew.readers.office import read_rows
from clew.readers.properties import of_xml
from clew.readers.sheets_unread import describe_workbook
from clew.readers.titled import MarkedParagraph, make_document
from clew.readers.walk import File
from clew.readers.xml_page import parse_xml
from clew.runtime.lazy import needs
from clew.types import Document, Value

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

_CELL = re.compile(rb"<(?:\w+:)?c\s([^>]*)>")
_PLACE = re.compile(rb"\br=\"([A-Z]+)(\d+)\"")
_STYLE = re.compile(rb"\bs=\"(\d+)\"")
_PRECISE = (
    50_000_000  # bytes of an OpenDocument file, at most, whose cells are read as they are shown
)

Formats = Mapping[tuple[int, int], str]  # of a cell, by its row and column, its format code


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a spreadsheet."""
    with needs("python-calamine", "files", "reading a spreadsheet"):
        from python_calamine import CalamineError, CalamineWorkbook

    refuse_bomb(file, "spreadsheet")
    about, shown, formats = _read_parts(file)
    try:
        book = CalamineWorkbook.from_filelike(BytesIO(file.path.read_bytes()))
        sheets = shown or [
            (name, _rows(book.get_sheet_by_name(name), formats.get(name, {})))
            for name in book.sheet_names
        ]
    except (CalamineError, ValueError):
        reason = "is a broken or encrypted spreadsheet, or none"
        raise UnreadableSource(file.source, reason) from None
    paragraphs: list[MarkedParagraph] = []
    n_tables = 0
    for name, rows in sheets:
        tables = list(_tables(rows))
        paragraphs += [MarkedParagraph(name, level=1)] if tables else []
        for table in tables:
            n_tables += 1
            paragraphs += [MarkedParagraph(row, table=n_tables) for row in format_rows(table)]
    yield make_document(file, paragraphs, "", about)


def _rows(sheet: CalamineSheet, formats: Formats) -> list[list[str]]:
    """Return the cells of a sheet as texts; those that are merged have the value of the first."""
    rows = sheet.to_python()
    first_row, first_column = sheet.start or (0, 0)
    texts = [
        [format_cell(cell, formats.get((i, j), "")) for j, cell in enumerate(row, first_column)]
        for i, row in enumerate(rows, first_row)
    ]
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        for i in range(max(top - first_row, 0), min(bottom - first_row + 1, len(texts))):
            for j in range(
                max(left - first_column, 0), min(right - first_column + 1, len(texts[i]))
            ):
                texts[i][j] = texts[i][j] or texts[top - first_row][left - first_column]
    return texts


def _tables(rows: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Yield the tables of a sheet: rows up to empty ones behind which other columns begin."""
    table: list[Sequence[str]] = []
    used: set[int] = set()
    ended = False
    for row in rows:
        here = {i for i, text in enumerate(row) if text.strip()}
        if not here:
            ended = True
            continue
        names = not any(any(map(str.isdigit, row[i])) for i in here)
        if (
            table
            and ended
            and (not here <= used or (len(here) > 1 and names and _has_digits(table[-1])))
        ):
            yield table
            table, used = [], set()
        table.append(row)
        used |= here
        ended = False
    if table:
        yield table


def _has_digits(row: Sequence[str]) -> bool:
    return any(any(map(str.isdigit, text)) for text in row)


def _read_parts(
    file: File,
) -> tuple[dict[str, Value], list[tuple[str, list[list[str]]]], dict[str, Formats]]:
    """Return what a zip file says beside its values.

    Those are its properties, the sheets of an OpenDocument file with their rows as they are shown,
    and the formats of an Excel file by the names of its sheets.
    """
    if not is_zipfile(file.path):
        return {}, [], {}
    with parts_of(file, "spreadsheet") as parts:
        file.partly.extend(describe_workbook(parts))
        names = [name for name in ("docProps/core.xml", "meta.xml") if name in parts.names]
        about = of_xml(parts.xml(names[0])) if names else {}
        sheets = _shown_sheets(parts) if "content.xml" in parts.names else []
        formats = _sheet_formats(parts) if "xl/workbook.xml" in parts.names else {}
    return about, sheets, formats


def _shown_sheets(parts: ArchiveParts) -> list[tuple[str, list[list[str]]]]:
    content = parts.data("content.xml")
    tables = parse_xml(content).iter("table") if len(content) <= _PRECISE else ()
    return [(each.get("name", ""), fill_spans(read_rows(each))) for each in tables]


def _sheet_formats(parts: ArchiveParts) -> dict[str, Formats]:
    """Return where the cells of each sheet stand that have a format of numbers or dates."""
    styles = _style_codes(parts)
    related = parts.read_relations("xl/workbook.xml")
    formats: dict[str, Formats] = {}
    for sheet in parts.xml("xl/workbook.xml").iter("sheet"):
        name = related.get(sheet.get("id", ""), "")
        if styles and name in parts.names:
            formats[sheet.get("name", "")] = dict(_cell_formats(parts.data(name), styles))
    return formats


def _style_codes(parts: ArchiveParts) -> dict[bytes, str]:
    """Return the format code of each style that has one, by the style's number."""
    if "xl/styles.xml" not in parts.names:
        return {}
    root = parts.xml("xl/styles.xml")
    codes = {str(number): code for number, code in BUILT_IN.items()}
    codes |= {each.get("numFmtId", ""): each.get("formatCode", "") for each in root.iter("numFmt")}
    styles = (style for group in root.iter("cellXfs") for style in group)
    used = (codes.get(style.get("numFmtId", ""), "") for style in styles)
    return {str(i).encode(): code for i, code in enumerate(used) if code}


def _cell_formats(
    sheet: bytes, styles: Mapping[bytes, str]
) -> Iterator[tuple[tuple[int, int], str]]:
    for cell in _CELL.finditer(sheet):
        style, place = _STYLE.search(cell[1]), _PLACE.search(cell[1])
        code = styles.get(style[1], "") if style else ""
        if code and place:
            yield (int(place[2]) - 1, _column(place[1])), code


def _column(letters: bytes) -> int:
    """Return the number of a column, from 0, by its letters."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number - 1
