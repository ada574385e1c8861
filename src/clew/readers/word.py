"""Word (.docx): the text is its paragraphs joined by blank lines; a table row is one paragraph.

The cells of a row are set apart by ` | `. Footnotes, comments, text boxes, charts and diagrams
stand behind their paragraph, and the numbers of lists and headings before it. Headers and footers
stand at the end, each once. Content controls and insertions are text, deletions are not, and
pictures are by their alternative text. Pictures, embedded files, hidden and struck-out text are not
read, which a note on the file says. The title is the one in
the document's properties, else the first paragraph in the style Title or Heading 1, else the file
name. Needs the extra `files`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import takewhile
from operator import is_not
from typing import TYPE_CHECKING, BinaryIO, cast
from zipfile import BadZipFile

from clew.base.runtime.lazy import needs
from clew.base.types import Document, Value
from clew.errors import UnreadableSource
from clew.readers.archive import refuse_bomb
from clew.readers.drawings import describe_picture, describe_unread, read_chart, read_diagram
from clew.readers.grid import Cell, fill_spans, format_rows
from clew.readers.list_numbers import ListNumbers
from clew.readers.properties import properties
from clew.readers.superscripts import enclose, join_shifted, write_formula
from clew.readers.titled import MarkedParagraph, PageEdge, make_document, read_edges, stated_title
from clew.readers.walk import File
from clew.readers.xml_page import parse_xml

_HEADING = re.compile(r"Heading ([1-9])")  # the styles of headings, in any language of Word

_MARKS = ("{*}footnoteReference", "{*}endnoteReference", "{*}commentReference")
_INSERTED = {"br": "\n", "cr": "\n", "tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}
_NOT_TEXT = frozenset(
    ("pPr", "rPr", "sdtPr", "tblPr", "del", "moveFrom", "Fallback", "txbxContent", "")
)

_SCRIPTS = {"sSup": "^", "sSub": "_", "sSubSup": "_^", "f": "/"}  # of formulas
_SCRIPTED = frozenset(("e", "sub", "sup", "num", "den"))
_UNREAD = {
    "picture": ("{*}pic", "{*}imagedata"),
    "embedded object": ("{*}OLEObject",),
    "embedded document": ("{*}altChunk",),
}
_DROPPED = {"hidden passage": ("{*}vanish",), "struck-out passage": ("{*}strike", "{*}dstrike")}
_KINDS = (  # with macros, and templates
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.oxml.xmlchemy import BaseOxmlElement
    from docx.package import Package


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a Word file."""
    with needs("python-docx", "files", "reading a Word file"):
        import docx.package
        from docx.opc.exceptions import OpcError
        from docx.oxml.exceptions import XmlchemyError

    data = file.path.read_bytes()
    refuse_bomb(file, "Word file")
    try:
        word = _open_word(docx.package.Package, BytesIO(data))
        style_of = _styles(word)
        title, about = _title(word, style_of), _about(word)
        body = word.element.body
        file.partly.extend(describe_unread(_drop_unread(body)))
        _number_paragraphs(word)
        paragraphs = [each for each in _paragraphs(word, style_of) if each.text.strip()]
        paragraphs += read_edges(_edges(word))
    except (OpcError, BadZipFile, SyntaxError, zlib.error, EOFError):  # lxml's are SyntaxErrors
        reason = "is a broken or encrypted Word file, or not one"
        raise UnreadableSource(file.source, reason) from None
    except (XmlchemyError, KeyError, ValueError, RuntimeError, AttributeError, TypeError):
        # python-docx looks up parts (KeyError), their kinds (ValueError, AttributeError), where
        # they lead (TypeError) and attributes (its own); zipfile does not decrypt (RuntimeError)
        raise UnreadableSource(file.source, "is not a complete Word file") from None
    yield make_document(file, paragraphs, title, about)


def _open_word(package: type[Package], stream: BinaryIO) -> WordDocument:
    """Return the document of a file of Word, also of one with macros, or of a template."""
    from docx.opc.constants import CONTENT_TYPE
    from docx.opc.part import PartFactory
    from docx.parts.document import DocumentPart

    for kind in _KINDS:
        PartFactory.part_type_for.setdefault(kind, DocumentPart)
    part = package.open(stream).main_document_part
    if part.content_type not in (CONTENT_TYPE.WML_DOCUMENT_MAIN, *_KINDS):
        raise ValueError("is no Word file")
    return cast("WordDocument", part.document)


def _drop_unread(body: BaseOxmlElement) -> dict[str, int]:
    """Take hidden and struck-out runs out of a document, and count what is not read in it."""
    n_dropped = {what: _drop_runs(body, tags) for what, tags in _DROPPED.items()}
    counts = {what: sum(map(_is_shown, body.iter(*tags))) for what, tags in _UNREAD.items()}
    return {**counts, **n_dropped}


def _drop_runs(body: BaseOxmlElement, marks: tuple[str, ...]) -> int:
    """Take the runs with a mark out of a document, and return how many have words."""
    marked = [
        mark.getparent().getparent()
        for mark in body.iter(*marks)
        if _attribute(mark, "val") not in ("0", "false") and _is_shown(mark)
    ]
    runs = [run for run in marked if _tag(run) == "r"]
    n_words = sum(bool(_text(run).strip()) for run in runs)
    for run in runs:
        if run.getparent() is not None:
            run.getparent().remove(run)
    return n_words


def _is_shown(element: BaseOxmlElement) -> bool:
    """Say whether an element is no fallback for old programs, and was not deleted."""
    return not any(
        _tag(each) in ("Fallback", "del", "moveFrom") for each in element.iterancestors()
    )


def _number_paragraphs(word: WordDocument) -> None:
    """Write the numbers of lists before the texts of their paragraphs."""
    from docx.oxml.parser import OxmlElement

    parts = {each.reltype.rpartition("/")[2]: each for each in word.part.rels.values()}
    if "numbering" not in parts or "styles" not in parts:
        return
    numbering, styles = (parse_xml(parts[n].target_part.blob) for n in ("numbering", "styles"))
    numbers = ListNumbers(numbering, styles)
    for paragraph in list(word.element.body.iter("{*}p")):
        properties, style = paragraph.find("{*}pPr/{*}numPr"), paragraph.find("{*}pPr/{*}pStyle")
        own = {} if properties is None else {_tag(e): _attribute(e, "val") for e in properties}
        if not _is_shown(paragraph) or _tag(paragraph.getparent()) == "txBody":
            continue
        number = numbers.number(own, "" if style is None else _attribute(style, "val"))
        if number and _text(paragraph).strip():
            run, text = OxmlElement("w:r"), OxmlElement("w:t")
            text.text = f"{number} "
            run.append(text)
            place = paragraph.find("{*}pPr")
            paragraph.insert(0 if place is None else paragraph.index(place) + 1, run)


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
            words = "\n".join(map(_text, notes.pop(name, ()))).strip()
            yield MarkedParagraph(f"Comment: {words}" if name[0] == "comment" and words else words)
        for mark in filter(_is_shown, block.iter("{*}chart", "{*}relIds")):
            yield from map(MarkedParagraph, _read_drawing(word, mark))


def _read_drawing(word: WordDocument, mark: BaseOxmlElement) -> list[str]:
    """Return the lines of a chart or a diagram, which stand in a part of their own."""
    is_chart = _tag(mark) == "chart"
    part = word.part.related_parts.get(_attribute(mark, "id" if is_chart else "dm"))
    if part is None:
        return []
    return (read_chart if is_chart else read_diagram)(parse_xml(part.blob))


def _notes(word: WordDocument) -> dict[tuple[str, str], list[BaseOxmlElement]]:
    """Return the paragraphs of each footnote, endnote and comment, by its kind and number."""
    from docx.oxml.parser import parse_xml as parse_word

    notes: dict[tuple[str, str], list[BaseOxmlElement]] = {}
    for relation in word.part.rels.values():
        if relation.reltype.endswith(("/footnotes", "/endnotes", "/comments")):
            for note in parse_word(relation.target_part.blob):
                notes[_tag(note), _attribute(note, "id")] = list(_blocks(note))
    return notes


def _edges(word: WordDocument) -> Iterator[PageEdge]:
    """Yield the paragraphs and rows of headers and footers."""
    from docx.oxml.parser import parse_xml as parse_word

    for relation in word.part.rels.values():
        kind = relation.reltype.rpartition("/")[2].title()
        if kind not in ("Header", "Footer"):
            continue
        root = parse_word(relation.target_part.blob)
        _drop_unread(root)
        for block in _blocks(root):
            texts = _rows(block) if _tag(block) == "tbl" else (_text(block),)
            fields = "".join(str(e.text) for e in block.iter("{*}instrText"))
            fields += "".join(_attribute(e, "instr") for e in block.iter("{*}fldSimple"))
            yield from (PageEdge(kind, text, "PAGE" in fields) for text in texts)


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
    child = element.find(f"{{*}}{properties}/{{*}}{name}")
    value = "" if child is None else _attribute(child, "val")
    return int(value) if value.isdecimal() else 0


def _cell(cell: BaseOxmlElement) -> str:
    lines: list[str] = []
    for block in _blocks(cell):
        lines += _rows(block) if _tag(block) == "tbl" else [_text(block)]
    return "\n".join(line for line in lines if line.strip()).strip()


def _text(block: BaseOxmlElement) -> str:
    """Return the text of a paragraph: what was inserted is in it, what was deleted is not."""
    return join_shifted(_pieces(block))


def _pieces(element: BaseOxmlElement, script: str = "") -> Iterator[tuple[str, str]]:
    """Yield texts, and whether each is a superscript ("super") or a subscript ("sub")."""
    for child in element:
        tag = _tag(child)
        if tag == "t":
            yield child.text or "", script
        elif tag == "docPr":
            yield describe_picture(_attribute(child, "descr")), ""
        elif tag in _SCRIPTS:
            parts = [_text(part) for part in child if _tag(part) in _SCRIPTED]
            yield write_formula(_SCRIPTS[tag], parts), ""
        elif tag == "rad":
            yield f"√{enclose(''.join(_text(part) for part in child if _tag(part) == 'e'))}", ""
        elif tag in _INSERTED:
            is_page = tag == "br" and _attribute(child, "type") in ("page", "column")
            yield "" if is_page else _INSERTED[tag], script
        elif tag not in _NOT_TEXT and not _is_prompt(child):
            place = child.find("{*}rPr/{*}vertAlign") if tag == "r" else None
            raised = "" if place is None else _attribute(place, "val").removesuffix("script")
            yield from _pieces(child, raised or script)


def _tag(element: BaseOxmlElement) -> str:
    """Return the name of an element without its namespace, nothing for a comment."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def _attribute(element: BaseOxmlElement, name: str) -> str:
    values = (value for key, value in element.attrib.items() if key.rpartition("}")[2] == name)
    return next(values, "")


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
