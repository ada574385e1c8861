"""Read spreadsheets (.xlsx .xls .ods): each sheet as its name and a paragraph per row.

Cells are shown as the spreadsheet shows them, as far as the file says how, with their comments, and
a merged cell says its value in each of its places. Text boxes of Excel stand behind the rows. The
name of a sheet is a heading, and so is a lone cell above the names of columns. An empty row ends a
table where other columns, names of columns or a caption follow; an empty column where each side has
such names. Needs the extra `files`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element
from zipfile import is_zipfile

from clew.base.runtime.lazy import needs
from clew.base.types import Document, Value
from clew.errors import UnreadableSource
from clew.extras.files.drawings import read_diagram
from clew.extras.files.number_formats import BUILT_IN, format_cell
from clew.extras.files.office import read_rows
from clew.limits import LimitMet, ReadingLimits
from clew.readers.archive import ArchiveParts, check_zip_bomb, parts_of
from clew.readers.grid import fill_spans, format_rows
from clew.readers.properties import of_xml
from clew.readers.titled import MarkedParagraph, make_document
from clew.readers.unread import describe_unread
from clew.readers.walk import File
from clew.readers.xml_page import parse_xml
from clew.text.normalize import collapse
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

_CELL = re.compile(rb"<(?:\w+:)?c\s([^>]*)>")
_PLACE = re.compile(rb"\br=\"([A-Z]+)(\d+)\"")
_ROW = re.compile(rb"<(?:\w+:)?row\s[^<>]*?\br=\"(\d{1,7})\"")
_LETTERS = re.compile(rb"\br=\"([A-Z]{1,3})\d")
_REFERENCE = re.compile(r"([A-Z]+)(\d+)")
_STYLE = re.compile(rb"\bs=\"(\d+)\"")
_PRECISE = (
    50_000_000  # bytes of an OpenDocument file, at most, whose cells are read as they are shown
)

_LEGACY = "[Threaded comment]"  # how one begins that stands among the threaded ones as well

_DRAWING = re.compile(r"xl/drawings/[^/]+\.xml")
_READ = "read with the others"
_SHEET_PART = re.compile(r"xl/worksheets/[^/]+\.xml|content\.xml")
_IS_HIDDEN = rb"hidden=\"(?:1|true)|visibility=\"(?:collapse|filter)"
_HIDDEN = {
    what: re.compile(rb"<(?:\w+:)?(?:table-)?%s\s[^<>]*?\b(?:%s)\"" % (tag, _IS_HIDDEN))
    for what, tag in (("hidden row", b"row"), ("hidden column", b"col(?:umn)?"))
}  # a range of columns is counted as one, and so are rows of OpenDocument that are repeated
# A formula whose value no program has computed: behind it stands none.
_NO_VALUE = re.compile(
    rb"<(?:\w+:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)

Sheet = tuple[str, list[list[str]], Sequence[str]]  # its name, rows, and what stands behind them
ByCell = Mapping[tuple[int, int], str]  # by the row and column of a cell


class SheetParts(NamedTuple):
    """The parts of an Excel sheet other than its values."""

    formats: ByCell
    comments: ByCell
    shapes: Sequence[str]  # the texts of text boxes


_NONE = SheetParts({}, {}, ())


def read(file: File) -> Iterator[Document]:
    """Yield a spreadsheet as one document."""
    with needs("python-calamine", "files", "reading a spreadsheet"):
        from python_calamine import CalamineError

    check_zip_bomb(file, "spreadsheet")
    about, shown, beside = _read_parts(file)
    try:
        sheets = shown or _read_sheets(file, beside)
    except (CalamineError, ValueError):
        reason = "is a broken or encrypted spreadsheet, or not one"
        raise UnreadableSource(file.source, reason) from None
    paragraphs: list[MarkedParagraph] = []
    n_tables = 0
    for name, rows, behind in sheets:
        tables = list(_tables(rows))
        paragraphs += [MarkedParagraph(name, level=1)] if tables or behind else []
        for table in tables:
            n_tables += 1
            caption = _find_caption(table)
            paragraphs += [MarkedParagraph(caption, level=2)] if caption else []
            below = format_rows(table[1:] if caption else table)
            paragraphs += [MarkedParagraph(row, table=n_tables) for row in below]
        paragraphs += map(MarkedParagraph, behind)
    yield make_document(file, paragraphs, "", about)


def _read_sheets(file: File, beside: Mapping[str, SheetParts]) -> list[Sheet]:
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    book = CalamineWorkbook.from_filelike(BytesIO(file.path.read_bytes()))
    n_hidden = sum(each.visible != SheetVisibleEnum.Visible for each in book.sheets_metadata)
    file.partly.extend(describe_unread({"hidden sheet": n_hidden}, _READ))
    return [
        (name, *_rows(book.get_sheet_by_name(name), beside.get(name, _NONE), file.limits))
        for name in book.sheet_names
    ]


def _rows(
    sheet: CalamineSheet, beside: SheetParts, limits: ReadingLimits
) -> tuple[list[list[str]], list[str]]:
    """Return the cells of a sheet as texts, its text boxes, and comments outside its cells.

    Those that are merged have the value of the first; a comment stands behind its cell. Raises
    LimitMet where there is too much text.
    """
    formats, comments = beside.formats, dict(beside.comments)
    first_row, first_column = sheet.start or (0, 0)
    texts: list[list[str]] = []
    n_characters = 0
    for number, cells in enumerate(sheet.iter_rows(), first_row):
        placed = enumerate(cells, first_column)
        texts.append([format_cell(cell, formats.get((number, j), "")) for j, cell in placed])
        n_characters += sum(map(len, texts[-1]))
        if n_characters > limits.text_characters:
            raise LimitMet(f"holds {limits.more_than('text_characters', 'characters of text')}")
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        for i in range(max(top - first_row, 0), min(bottom - first_row + 1, len(texts))):
            for j in range(
                max(left - first_column, 0), min(right - first_column + 1, len(texts[i]))
            ):
                texts[i][j] = texts[i][j] or texts[top - first_row][left - first_column]
    for i, j in beside.comments:
        row, column = i - first_row, j - first_column
        if 0 <= row < len(texts) and 0 <= column < len(texts[row]):
            texts[row][column] = f"{texts[row][column]} (Comment: {comments.pop((i, j))})".strip()
    return texts, [*(f"Comment: {each}" for each in comments.values()), *beside.shapes]


def _tables(rows: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Yield the tables of a sheet, separated by empty rows or columns."""
    table: list[Sequence[str]] = []
    used: set[int] = set()
    for i, row in enumerate(rows):
        here = _find_filled(row)
        if not here:
            continue
        ended = i and not _find_filled(rows[i - 1])
        begins = not here <= used or _is_head(table[-1:], rows[i : i + 2])
        if table and ended and begins:
            yield from _split_beside(table)
            table, used = [], set()
        table.append(row)
        used |= here
    if table:
        yield from _split_beside(table)


def _find_filled(row: Sequence[str]) -> set[int]:
    return {i for i, text in enumerate(row) if text.strip()}


def _is_head(last: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]) -> bool:
    """Check whether rows begin with column names or a caption."""
    first, *others = [_find_filled(row) for row in rows]
    if len(first) == 1 and others and len(others[0]) > 1:
        return _is_names(rows[0]) and _is_names(rows[1])
    return len(first) > 1 and _is_names(rows[0]) and not all(map(_is_names, last))


def _is_names(row: Sequence[str]) -> bool:
    return not any(map(str.isdigit, "".join(row)))


def _split_beside(table: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Yield the tables separated by empty columns, if their headers repeat or lengths differ."""
    used = sorted(set().union(*map(_find_filled, table)))
    starts = [i for i, last in zip(used, [-2, *used], strict=False) if i - last > 1]
    parts = [
        [row[a:b] for row in table]
        for a, b in zip(starts, [*starts[1:], used[-1] + 1], strict=True)
    ]
    widths = [max(len(_find_filled(row)) for row in part) for part in parts]
    if min(widths) < 2 or not _are_separate_tables(parts):
        parts = [list(table)]
    for part in parts:
        yield [row for row in part if _find_filled(row)]


def _are_separate_tables(parts: Sequence[Sequence[Sequence[str]]]) -> bool:
    """Check whether adjacent columns are separate tables rather than one with a gap."""
    heads = [{c for c in next(r for r in p if len(_find_filled(r)) > 1) if c} for p in parts]
    lengths = {sum(map(bool, map(_find_filled, part))) for part in parts}
    return len(set().union(*heads)) < sum(map(len, heads)) or len(lengths) > 1


def _find_caption(table: Sequence[Sequence[str]]) -> str:
    """Return the single cell above the column names as a caption, or ""."""
    first = _find_filled(table[0])
    is_one = len(first) == 1 and len(table) > 2 and len(_find_filled(table[1])) > 1
    return table[0][min(first)] if is_one else ""


def _read_parts(file: File) -> tuple[dict[str, Value], list[Sheet], dict[str, SheetParts]]:
    """Return the parts of a zip file other than the values.

    Those are its properties, the sheets of an OpenDocument file with their rows as they are shown,
    and the parts of an Excel file by the names of its sheets.
    """
    if not is_zipfile(file.path):
        return {}, [], {}
    with parts_of(file, "spreadsheet") as parts:
        file.partly.extend(describe_workbook(parts))
        names = [name for name in ("docProps/core.xml", "meta.xml") if name in parts.names]
        about = of_xml(parts.xml(names[0])) if names else {}
        sheets = _shown_sheets(parts) if "content.xml" in parts.names else []
        beside = _sheet_parts(parts, file.limits) if "xl/workbook.xml" in parts.names else {}
    return about, sheets, beside


def _shown_sheets(parts: ArchiveParts) -> list[Sheet]:
    content = parts.data("content.xml")
    tables = parse_xml(content).iter("table") if len(content) <= _PRECISE else ()
    return [(each.get("name", ""), fill_spans(read_rows(each)), ()) for each in tables]


def _check_extent(sheet: bytes, limits: ReadingLimits) -> None:
    """Raise LimitMet for a sheet of too many cells; calamine allocates even empty ones."""
    rows = [int(number) for number in _ROW.findall(sheet)]
    columns = [_column(letters) for letters in set(_LETTERS.findall(sheet))]
    if rows and columns:
        n_cells = (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1)
        if n_cells > limits.text_characters:
            far = limits.more_than("text_characters", "cells, most of them empty,")
            raise LimitMet(f"has a sheet over {far}")


def _sheet_parts(parts: ArchiveParts, limits: ReadingLimits) -> dict[str, SheetParts]:
    """Return the formats of numbers and dates, the comments and the text boxes of each sheet."""
    styles = _style_codes(parts)
    related = parts.read_relations("xl/workbook.xml")
    by_name: dict[str, SheetParts] = {}
    for sheet in parts.xml("xl/workbook.xml").iter("sheet"):
        name = related.get(sheet.get("id", ""), "")
        if name not in parts.names:
            continue
        _check_extent(parts.data(name), limits)
        formats = dict(_cell_formats(parts.data(name), styles)) if styles else {}
        own = [each for each in parts.read_relations(name).values() if each in parts.names]
        roots = [parts.xml(each) for each in own if each.startswith(("xl/comments", "xl/threaded"))]
        boxes = [parts.xml(each) for each in own if each.startswith("xl/drawings/d")]
        shapes = [line for root in boxes for line in read_diagram(root)]
        by_name[sheet.get("name", "")] = SheetParts(formats, _comments(roots), shapes)
    return by_name


def _comments(roots: Sequence[Element]) -> ByCell:
    """Return the comments on each cell; a thread is one comment."""
    comments: dict[tuple[int, int], str] = {}
    for root in roots:
        for comment in chain(root.iter("comment"), root.iter("threadedComment")):
            place = _REFERENCE.fullmatch(comment.get("ref", ""))
            words = collapse(" ".join("".join(each.itertext()) for each in comment.iter("text")))
            if place and words and not words.startswith(_LEGACY):
                cell = int(place[2]) - 1, _column(place[1].encode())
                comments[cell] = "; ".join(filter(None, (comments.get(cell), words)))
    return comments


def _style_codes(parts: ArchiveParts) -> dict[bytes, str]:
    """Return the format codes by style number."""
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
    """Return the column number, from 0, of its letters."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number - 1


def describe_workbook(parts: ArchiveParts) -> Iterator[str]:
    """Yield notes on hidden parts of a spreadsheet, which are read, and on unread parts.

    Raises ValueError where a part is no XML.
    """
    counts = Counter[str]()
    for sheet in map(parts.data, filter(_SHEET_PART.fullmatch, parts.names)):
        counts.update({what: len(pattern.findall(sheet)) for what, pattern in _HIDDEN.items()})
        counts["formula cell"] += len(_NO_VALUE.findall(sheet))
    yield from describe_unread({what: counts[what] for what in _HIDDEN}, _READ)
    if counts["formula cell"]:
        cells = format_count(counts["formula cell"], "formula cell")
        yield f"{cells} without a stored value: open and save the file in a spreadsheet program"
    drawings = (parts.xml(name) for name in parts.names if _DRAWING.fullmatch(name))
    yield from describe_unread({"picture": sum(1 for d in drawings for _ in d.iter("pic"))})
