"""Word (.docx): the text is its paragraphs joined by blank lines; a table row is one paragraph.

The cells of a row are set apart by ` | `. Footnotes and text boxes stand behind their paragraph.
Content controls and insertions are text; deletions, comments, headers and footers are not. The
title is the one in the document's properties, else the first paragraph in the style Title or
Heading 1, else the file name. Needs the extra `files`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import takewhile
from operator import is_not
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from clew.errors import UnreadableSource
from clew.readers.archive import refuse_bomb
from clew.readers.grid import Cell, fill_spans, format_rows
from clew.readers.properties import properties
from clew.readers.titled import MarkedParagraph, make_document, stated_title
from clew.readers.walk import File
from clew.runtime.lazy import needs
from clew.types import Document, Value

_HEADING = re.compile(r"Heading ([1-9])")  # the styles of headings, in any language of Word

_MARKS = ("{*}footnoteReference", "{*}endnoteReference")
_INSERTED = {"br": "\n", "cr": "\n", "tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}
_NOT_TEXT = frozenset(
    ("pPr", "rPr", "sdtPr", "tblPr", "del", "moveFrom", "Fallback", "txbxContent", "")
)

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.oxml.xmlchemy import BaseOxmlElement


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a Word file."""
    with needs("python-docx", "files", "reading a Word file"):
        import docx
        from docx.opc.exceptions import OpcError
        from docx.oxml.exceptions import XmlchemyError

    data = file.path.read_bytes()
    refuse_bomb(file, "Word file")
    try:
        word = docx.Document(BytesIO(data))
        style_of = _styles(word)
        paragraphs = [each for each in _paragraphs(word, style_of) if each.text.strip()]
        title, about = _title(word, style_of), _about(word)
    except (OpcError, BadZipFile, SyntaxError, zlib.error, EOFError):  # lxml's are SyntaxErrors
        reason = "is a broken or encrypted Word file, or none"
        raise UnreadableSource(file.source, reason) from None
    except (XmlchemyError, KeyError, ValueError, RuntimeError, AttributeError, TypeError):
        # python-docx looks up parts (KeyError), their kinds (ValueError, AttributeError), where
        # they lead (TypeError) and attributes (its own); zipfile does not decrypt (RuntimeError)
        raise UnreadableSource(file.source, "is not a complete Word file") from None
    yield make_document(file, paragraphs, title, about)


def _styles(word: WordDocument) -> Callable[[BaseOxmlElement], str]:
    """Return what tells the name of a paragraph's style; python-docx goes through all for each."""
    from docx.enum.style import WD_STYLE_TYPE

    kind = WD_STYLE_TYPE.PARAGRAPH
    default = word.styles.default(kind)
    unknown = (default.name if default is not None else None) or ""
    names: dict[str, str | None] = {}
    for style in word.styles:
        names.setdefault(style.style_id, style.name if style.type == kind else unknown)

    def style_of(paragraph: BaseOxmlElement) -> str:
        style = paragraph.find("{*}pPr/{*}pStyle")
        return names.get("" if style is None else _attribute(style, "val"), unknown) or ""

    return style_of


def _paragraphs(
    word: WordDocument, style_of: Callable[[BaseOxmlElement], str]
) -> Iterator[MarkedParagraph]:
    notes = _notes(word)
    for number, block in enumerate(_blocks(word.element.body), 1):
        if _tag(block) == "tbl":
            yield from (MarkedParagraph(row, table=number) for row in _rows(block))
        else:
            style = style_of(block)
            level = _HEADING.fullmatch(style)
            kind = "contents" if style.casefold().startswith("toc ") else ""
            yield MarkedParagraph(_text(block), int(level[1]) if level else 0, kind)
        for mark in block.iter(*_MARKS):
            name = (_tag(mark).removesuffix("Reference"), _attribute(mark, "id"))
            yield MarkedParagraph("\n".join(map(_text, notes.pop(name, ()))).strip())


def _notes(word: WordDocument) -> dict[tuple[str, str], list[BaseOxmlElement]]:
    """Return the paragraphs of each footnote and endnote, by its kind and number."""
    from docx.oxml.parser import parse_xml

    notes: dict[tuple[str, str], list[BaseOxmlElement]] = {}
    for relation in word.part.rels.values():
        if relation.reltype.endswith(("/footnotes", "/endnotes")):
            for note in parse_xml(relation.target_part.blob):
                notes[_tag(note), _attribute(note, "id")] = list(_blocks(note))
    return notes


def _blocks(root: BaseOxmlElement) -> Iterator[BaseOxmlElement]:
    """Yield paragraphs and tables, those of content controls too; a text box behind its own."""
    for block in _find_below(root, "p", "tbl"):
        yield block
        if _tag(block) == "p":
            for box in block.iter("{*}txbxContent"):
                within = takewhile(partial(is_not, block), box.iterancestors())
                # One in another comes with that, and a fallback is there for old Word.
                if not any(_tag(each) in ("Fallback", "txbxContent") for each in within):
                    yield from _blocks(box)


def _find_below(root: BaseOxmlElement, *tags: str) -> Iterator[BaseOxmlElement]:
    """Yield the elements with one of the tags, but for those inside of them and of what is none."""
    for child in root:
        if _tag(child) in tags:
            yield child
        elif _tag(child) not in _NOT_TEXT and not _is_prompt(child):
            yield from _find_below(child, *tags)


def _is_prompt(element: BaseOxmlElement) -> bool:
    """Return whether it is a content control that still says "Click here to enter text"."""
    return _tag(element) == "sdt" and element.find("{*}sdtPr/{*}showingPlcHdr") is not None


def _rows(table: BaseOxmlElement) -> Iterator[str]:
    rows: list[list[Cell]] = []
    above: dict[int, str] = {}  # of each column, what merged cells in it go on with
    for row in _find_below(table, "tr"):
        place = _number(row, "trPr", "gridBefore")
        rows.append([Cell("", columns=place)] if place else [])
        for cell in _find_below(row, "tc"):
            merge = cell.find("{*}tcPr/{*}vMerge")
            goes_on = merge is not None and _attribute(merge, "val") != "restart"
            above[place] = text = above.get(place, "") if goes_on else _cell(cell)
            rows[-1].append(Cell(text, columns=_number(cell, "tcPr", "gridSpan") or 1))
            place += rows[-1][-1].columns
    yield from format_rows(fill_spans(rows))


def _number(element: BaseOxmlElement, properties: str, name: str) -> int:
    """Return a whole number among the properties of a row or cell, 0 for none."""
    found = element.find(f"{{*}}{properties}/{{*}}{name}")
    value = "" if found is None else _attribute(found, "val")
    return int(value) if value.isdecimal() else 0


def _cell(cell: BaseOxmlElement) -> str:
    lines: list[str] = []
    for block in _blocks(cell):
        lines += _rows(block) if _tag(block) == "tbl" else [_text(block)]
    return "\n".join(line for line in lines if line.strip()).strip()


def _text(block: BaseOxmlElement) -> str:
    """Return the text of a paragraph: what was inserted is in it, what was deleted is not."""
    return "".join(_pieces(block))


def _pieces(element: BaseOxmlElement) -> Iterator[str]:
    for child in element:
        tag = _tag(child)
        if tag == "t":
            yield child.text or ""
        elif tag in _INSERTED:
            is_page = tag == "br" and _attribute(child, "type") in ("page", "column")
            yield "" if is_page else _INSERTED[tag]
        elif tag not in _NOT_TEXT and not _is_prompt(child):
            yield from _pieces(child)


def _tag(element: BaseOxmlElement) -> str:
    """Return the name of an element without its namespace, nothing for a comment."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def _attribute(element: BaseOxmlElement, name: str) -> str:
    found = (value for key, value in element.attrib.items() if key.rpartition("}")[2] == name)
    return next(found, "")


def _about(word: WordDocument) -> dict[str, Value]:
    core = word.core_properties
    names = ("author", "category", "created", "keywords", "language", "modified", "subject")
    described = ("description", core.comments)
    return properties([*((name, getattr(core, name)) for name in names), described])


def _title(word: WordDocument, style_of: Callable[[BaseOxmlElement], str]) -> str:
    headings = (
        _text(block)
        for block in _blocks(word.element.body)
        if _tag(block) == "p" and style_of(block) in ("Title", "Heading 1")
    )
    return stated_title(word.core_properties.title) or next(headings, "")
