"""Read Word (.docx): paragraphs joined by blank lines; a table row is one paragraph.

The cells of a row are set apart by ` | `. Footnotes, comments, text boxes, charts and diagrams
stand behind their paragraph, and the numbers of lists and headings before it. Headers and footers
stand at the end, each once. Content controls and insertions are text, deletions are not, and
pictures are by their alternative text, and kept as figures. They, embedded files, hidden and
struck-out text are not read, which a note on the file says. The title is the one in the document's
properties, else the first paragraph in the style Title or Heading 1, else the file name.
"""

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from clew.base.types import Document
from clew.extras.files.drawings import read_chart, read_diagram
from clew.extras.files.edges import PageEdge, read_edges
from clew.extras.files.figures import MARK, mark_shapes
from clew.extras.files.list_numbers import LIST_NUMBER, ListNumbers
from clew.extras.files.office import find_outermost, read_about
from clew.readers.archive import ArchiveParts, parts_of
from clew.readers.grid import Cell, fill_spans, format_rows
from clew.readers.superscripts import enclose, join_shifted, write_formula
from clew.readers.titled import MarkedParagraph, make_document
from clew.readers.unread import describe_picture, describe_unread
from clew.readers.walk import File

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)  # a style, in any language of Word
_TITLES = frozenset(("title", "heading 1"))
_MARKS = frozenset(("footnoteReference", "endnoteReference", "commentReference"))
_NOTES = ("footnotes", "endnotes", "comments")
_DRAWINGS = {"chart": ("id", read_chart), "relIds": ("dm", read_diagram)}
_INSERTED = {"br": "\n", "cr": "\n", "tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}
_DELETED = frozenset(("del", "moveFrom", "Fallback"))  # the last is for old programs
_NOT_TEXT = frozenset(("pPr", "rPr", "sdtPr", "tblPr", "txbxContent"))
_SCRIPTS = {"sSup": "^", "sSub": "_", "sSubSup": "_^", "f": "/"}  # of formulas
_SCRIPTED = frozenset(("e", "sub", "sup", "num", "den"))
_UNREAD = {
    "picture": ("pic", "imagedata"),
    "embedded object": ("OLEObject",),
    "embedded document": ("altChunk",),
}
_DROPPED = {"hidden passage": ("vanish",), "struck-out passage": ("strike", "dstrike")}


def read(file: File) -> Iterator[Document]:
    """Yield a Word file as one document."""
    with parts_of(file, "Word file") as parts:
        main = next(iter(parts.find_related("", "officeDocument")), "")
        root = _read_part(parts, main)
        body = root.find("body")
        if root.tag != "document" or body is None:
            raise ValueError("is no Word file")
        file.partly.extend(describe_unread(_drop_unread(body)))
        mark_shapes(file, parts, body, parts.read_relations(main))
        styles = next(map(parts.xml, parts.find_related(main, "styles")), Element("styles"))
        names = {each.get("styleId", ""): _value(each, "name").lower() for each in styles}
        title, about = read_about(parts, "docProps/core.xml")
        title = title or next(_titles(body, names), "")
        for lists in map(parts.xml, parts.find_related(main, "numbering")):
            _number_paragraphs(body, ListNumbers(lists, styles))
        paragraphs = [each for each in _paragraphs(parts, main, body, names) if each.text.strip()]
        paragraphs += read_edges(_edges(parts, main))
    yield make_document(file, paragraphs, title, about)


def _read_part(parts: ArchiveParts, name: str) -> Element:
    """Return the root of a part, without deletions and prompts such as "Enter text"."""
    root = parts.xml(name)
    for element in list(root.iter()):
        kept = [each for each in element if each.tag not in _DELETED and not _is_prompt(each)]
        if len(kept) < len(element):
            element[:] = kept
    return root


def _is_prompt(element: Element) -> bool:
    """Check for a content control that still has its prompt, "Click here to enter text"."""
    return element.tag == "sdt" and element.find("sdtPr/showingPlcHdr") is not None


def _drop_unread(body: Element) -> dict[str, int]:
    """Remove hidden and struck-out runs from a document, and count the unread parts."""
    n_dropped = {what: _drop_runs(body, marks) for what, marks in _DROPPED.items()}
    counts = {
        what: sum(1 for tag in tags for _ in body.iter(tag)) for what, tags in _UNREAD.items()
    }
    return {**counts, **n_dropped}


def _drop_runs(body: Element, marks: tuple[str, ...]) -> int:
    """Empty the runs with one of the marks; return the number of those with text."""
    runs = [
        run
        for run in body.iter("r")
        if any(_value(run, f"rPr/{mark}", "1") not in ("", "0", "false") for mark in marks)
    ]
    n_words = sum(bool(_text(run).strip()) for run in runs)
    for run in runs:
        run.clear()
    return n_words


def _value(element: Element, path: str, default: str = "") -> str:
    """Return the value of a descendant element, or ""."""
    found = element.find(path)
    return "" if found is None else found.get("val", default)


def _number_paragraphs(body: Element, numbers: ListNumbers) -> None:
    """Insert list numbers into the paragraphs."""
    for paragraph in body.iter("p"):
        own = {each.tag: each.get("val", "") for each in paragraph.iterfind("pPr/numPr/*")}
        number = numbers.number(own, _value(paragraph, "pPr/pStyle"))
        if number and _text(paragraph).strip():
            paragraph.set(LIST_NUMBER, f"{number} ")


def _titles(body: Element, names: Mapping[str, str]) -> Iterator[str]:
    for block in _blocks(body):
        if names.get(_value(block, "pPr/pStyle")) in _TITLES:
            yield _text(block)


def _paragraphs(
    parts: ArchiveParts, main: str, body: Element, names: Mapping[str, str]
) -> Iterator[MarkedParagraph]:
    related = parts.read_relations(main)
    notes = {
        (note.tag, note.get("id", "")): list(_blocks(note))
        for kind in _NOTES
        for part in parts.find_related(main, kind)
        for note in _read_part(parts, part)
    }
    for number, block in enumerate(_blocks(body), 1):
        if block.tag == "tbl":
            yield from (MarkedParagraph(row, table=number) for row in _rows(block))
        else:
            style = names.get(_value(block, "pPr/pStyle"), "")
            level = _HEADING.fullmatch(style)
            kind = "contents" if style.startswith("toc ") else ""
            yield MarkedParagraph(_text(block), int(level[1]) if level else 0, kind)
        for mark in block.iter():
            if mark.tag in _MARKS:
                name = mark.tag.removesuffix("Reference"), mark.get("id", "")
                words = "\n".join(map(_text, notes.pop(name, ()))).strip()
                is_comment = name[0] == "comment" and words
                yield MarkedParagraph(f"Comment: {words}" if is_comment else words)
            elif mark.tag in _DRAWINGS:
                attribute, read_drawing = _DRAWINGS[mark.tag]
                part = related.get(mark.get(attribute, ""), "")
                if part in parts.names:
                    yield from map(MarkedParagraph, read_drawing(parts.xml(part)))


def _edges(parts: ArchiveParts, main: str) -> Iterator[PageEdge]:
    """Yield the paragraphs and rows of headers and footers."""
    for part in parts.find_related(main, "header", "footer"):
        root = _read_part(parts, part)
        _drop_unread(root)
        kind = "Header" if root.tag == "hdr" else "Footer"
        for block in _blocks(root):
            texts = _rows(block) if block.tag == "tbl" else (_text(block),)
            fields = "".join(each.text or "" for each in block.iter("instrText"))
            fields += "".join(each.get("instr", "") for each in block.iter("fldSimple"))
            yield from (PageEdge(kind, text, "PAGE" in fields) for text in texts)


def _blocks(root: Element) -> Iterator[Element]:
    """Yield paragraphs and tables, including content controls; a text box follows its paragraph."""
    for block in find_outermost(root, ("p", "tbl")):
        yield block
        if block.tag == "p":
            for box in find_outermost(block, ("txbxContent",)):
                yield from _blocks(box)


def _rows(table: Element) -> Iterator[str]:
    rows: list[list[Cell]] = []
    above: dict[int, str] = {}  # of each column, what merged cells in it go on with
    for row in find_outermost(table, ("tr",)):
        place = _number(row, "trPr/gridBefore")
        rows.append([Cell("", columns=place)] if place else [])
        for cell in find_outermost(row, ("tc",)):
            goes_on = _value(cell, "tcPr/vMerge", "continue") not in ("", "restart")
            above[place] = text = above.get(place, "") if goes_on else _cell(cell)
            rows[-1].append(Cell(text, columns=_number(cell, "tcPr/gridSpan") or 1))
            place += rows[-1][-1].columns
    yield from format_rows(fill_spans(rows))


def _number(element: Element, path: str) -> int:
    """Return an integer property of a row or cell, 0 if missing."""
    value = _value(element, path)
    return int(value) if value.isdecimal() else 0


def _cell(cell: Element) -> str:
    lines: list[str] = []
    for block in _blocks(cell):
        lines += _rows(block) if block.tag == "tbl" else [_text(block)]
    return "\n".join(line for line in lines if line.strip()).strip()


def _text(block: Element) -> str:
    """Return the text of a paragraph after its number."""
    return block.get(LIST_NUMBER, "") + join_shifted(_pieces(block))


def _pieces(element: Element, script: str = "") -> Iterator[tuple[str, str]]:
    """Yield texts, and whether each is a superscript ("super") or subscript ("sub")."""
    for child in element:
        tag = child.tag
        if tag == "t":
            yield child.text or "", script
        elif tag == "docPr":
            yield child.get(MARK, "") + describe_picture(child.get("descr", "")), ""
        elif tag in _SCRIPTS:
            parts = [_text(part) for part in child if part.tag in _SCRIPTED]
            yield write_formula(_SCRIPTS[tag], parts), ""
        elif tag == "rad":
            yield f"√{enclose(''.join(map(_text, child.findall('e'))))}", ""
        elif tag in _INSERTED:
            is_page = tag == "br" and child.get("type") in ("page", "column")
            yield "" if is_page else _INSERTED[tag], script
        elif tag not in _NOT_TEXT:
            raised = _value(child, "rPr/vertAlign") if tag == "r" else ""
            yield from _pieces(child, raised.removesuffix("script") or script)
