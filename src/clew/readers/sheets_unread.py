"""What a spreadsheet holds beside the values of its cells, for notes on what is not read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.readers.archive import ArchiveParts
from clew.readers.drawings import describe_unread
from clew.text.quantities import format_count

_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_DRAWING = re.compile(r"xl/drawings/[^/]+\.xml")
_HIDDEN = {
    what: re.compile(rb"<(?:\w+:)?%s\s[^<>]*?\bhidden=\"(?:1|true)\"" % tag)
    for what, tag in (("row", b"row"), ("column", b"col"))
}  # a range of columns is counted as one
# A formula whose value no program has computed: behind it stands none.
_NO_VALUE = re.compile(
    rb"<(?:\w+:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)


def describe_workbook(parts: ArchiveParts) -> Iterator[str]:
    """Yield notes on an Excel file: what is hidden, which is read, and what is not.

    Raises ValueError where a part is no XML.
    """
    book = "xl/workbook.xml"
    sheets = parts.xml(book).iter("sheet") if book in parts.names else ()
    if n := sum(sheet.get("state", "") in ("hidden", "veryHidden") for sheet in sheets):
        yield f"{format_count(n, 'hidden sheet')} read with the others"
    for what in ("row", "column"):
        names = filter(_SHEET.fullmatch, parts.names)
        if n := sum(len(_HIDDEN[what].findall(parts.data(name))) for name in names):
            yield f"{format_count(n, f'hidden {what}')} read with the others"
    names = filter(_SHEET.fullmatch, parts.names)
    if n := sum(len(_NO_VALUE.findall(parts.data(name))) for name in names):
        cells = format_count(n, "formula cell")
        yield f"{cells} without a stored value: open and save the file in a spreadsheet program"
    drawings = (parts.xml(name) for name in parts.names if _DRAWING.fullmatch(name))
    yield from describe_unread({"picture": sum(1 for d in drawings for _ in d.iter("pic"))})
