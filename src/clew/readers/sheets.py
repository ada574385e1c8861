"""Spreadsheets (.xlsx .xls .ods): a sheet is its name, and behind it a paragraph for each row.

The cells of a row are set apart by ` | `. Needs the extra `files`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from zipfile import is_zipfile

from clew.errors import UnreadableSource
from clew.readers.archive import parts_of, refuse_bomb
from clew.readers.properties import of_xml
from clew.readers.sheets_unread import describe_workbook
from clew.readers.titled import make_document
from clew.readers.walk import File
from clew.runtime.lazy import needs
from clew.types import Document, Value


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a spreadsheet."""
    with needs("python-calamine", "files", "reading a spreadsheet"):
        from python_calamine import CalamineError, CalamineWorkbook

    refuse_bomb(file, "spreadsheet")
    try:
        book = CalamineWorkbook.from_filelike(BytesIO(file.path.read_bytes()))
        sheets = [(name, book.get_sheet_by_name(name).to_python()) for name in book.sheet_names]
    except (CalamineError, ValueError):
        reason = "is a broken or encrypted spreadsheet, or none"
        raise UnreadableSource(file.source, reason) from None
    paragraphs: list[str] = []
    for name, rows in sheets:
        texts = [text for row in rows if (text := " | ".join(_cells(row)))]
        paragraphs += [name, *texts] if texts else []
    yield make_document(file, paragraphs, "", _about(file))


def _about(file: File) -> dict[str, Value]:
    """Return the properties of a spreadsheet that is a zip file."""
    if not is_zipfile(file.path):
        return {}
    with parts_of(file, "spreadsheet") as parts:
        file.partly.extend(describe_workbook(parts))
        names = [name for name in ("docProps/core.xml", "meta.xml") if name in parts.names]
        return of_xml(parts.xml(names[0])) if names else {}


def _cells(row: Sequence[object]) -> Iterator[str]:
    for cell in row:
        is_whole = isinstance(cell, float) and cell.is_integer()
        text = " ".join(f"{cell:.0f}".split() if is_whole else str(cell).split())
        if text:
            yield text
