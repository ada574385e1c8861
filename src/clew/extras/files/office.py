"""Read slides, OpenDocument texts and EPUB: paragraphs joined by blank lines.

The cells of a table's row are set apart by ` | `, and numbers of lists and headings stand before
their paragraphs. Footnotes, comments and text boxes stand behind their paragraph; charts, diagrams,
notes and comments of a slide behind it, headers and footers at the end, each once. Pictures are by
their alternative text, and kept as figures; they, embedded objects and struck-out text are not
read, which a note on the file says. The title is the one in the file's properties, else the first
heading or the first slide's first line, else the file name. The text of a book is that of its pages
in reading order.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, repeat
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from clew.base.types import Document, Value
from clew.extras.files.drawings import read_chart, read_diagram
from clew.extras.files.edges import PageEdge, read_edges
from clew.extras.files.figures import MARK, load_part, mark_pictures, mark_shapes
from clew.extras.files.list_numbers import LIST_NUMBER, number_open_document, number_slide
from clew.readers import xml_page
from clew.readers.archive import ArchiveParts, parts_of
from clew.readers.decode import decode_part, find_stated
from clew.readers.grid import Cell, fill_spans, format_rows
from clew.readers.properties import of_xml
from clew.readers.superscripts import join_shifted
from clew.readers.titled import MarkedParagraph, make_document, stated_title
from clew.readers.unread import describe_picture, describe_unread
from clew.readers.walk import File
from clew.text.quantities import format_count

_PLAIN = Element("none")  # a style that says nothing
_REPEATED = 100  # times that a row or cell of OpenDocument is repeated, at most
_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
_ON_EVERY_SLIDE = frozenset(("dt", "ftr", "hdr", "sldNum"))
_WHITE = {"tab": " ", "s": " ", "line-break": "\n", "br": "\n"}
_ALTERNATIVES = frozenset(("cNvPr", "desc", "title", "image"))  # of pictures
_NOT_TEXT = frozenset(("Fallback", "tracked-changes", "sequence-decls", "forms"))
_APART = _NOT_TEXT | {"note", "frame", "annotation"}  # what is no part of its paragraph


def read_slides(file: File) -> Iterator[Document]:
    """Yield a PowerPoint file (.pptx) as one document."""
    with parts_of(file, "PowerPoint file") as parts:
        slides, roots, n_struck = [], [], 0
        for name in _slide_names(parts):
            roots.append(parts.xml(name))
            n_struck += _drop_struck(roots[-1])
            number_slide(roots[-1])
            mark_shapes(file, parts, roots[-1], parts.read_relations(name))
            slides.append([*_texts(roots[-1]), *_read_beside(parts, name)])
        if slides:
            slides[-1] += read_edges(edge for root in roots for edge in _feet(root))
        counts = {
            what: sum(1 for root in roots for _ in root.iter(tag)) for what, tag in _UNREAD.items()
        }
        file.partly.extend(describe_unread({**counts, "struck-out passage": n_struck}))
        if n := sum(root.get("show") in ("0", "false") for root in roots):
            file.partly.append(f"{format_count(n, 'hidden slide')} read with the others")
        paragraphs = [paragraph for slide in slides for paragraph in slide]
        title, about = read_about(parts, "docProps/core.xml")
    title = title or (paragraphs or [MarkedParagraph("")])[0].text
    yield make_document(file, paragraphs, title, about, pages=_page_starts(slides))


_UNREAD = {"picture": "pic", "embedded object": "oleObj"}


def _read_beside(parts: ArchiveParts, slide: str) -> Iterator[MarkedParagraph]:
    """Yield the texts of a slide's separate parts: diagrams, charts, notes and comments."""
    related = [part for part in parts.read_relations(slide).values() if part in parts.names]
    for form, read in _BESIDE.items():
        for part in related:
            if form.fullmatch(part):
                yield from map(MarkedParagraph, read(parts.xml(part)))


def _feet(slide: Element) -> Iterator[PageEdge]:
    for shape in slide.iter("sp"):
        place = shape.find("nvSpPr/nvPr/ph")
        if place is not None and place.get("type") in ("ftr", "hdr"):
            yield from (PageEdge("Footer", _words(each)) for each in shape.iter("p"))


def _read_notes(root: Element) -> list[str]:
    return [each.text for each in _texts(root)]


def _read_comments(root: Element) -> list[str]:
    words = [" ".join("".join(each.itertext()).split()) for each in root.iter("text")]
    return [f"Comment: {each}" for each in words or _read_notes(root) if each]


_BESIDE: Mapping[re.Pattern[str], Callable[[Element], list[str]]] = {
    re.compile(r"ppt/diagrams/data[^/]*\.xml"): read_diagram,
    re.compile(r"ppt/charts/chart[^/]*\.xml"): read_chart,
    re.compile(r"ppt/notesSlides/[^/]+\.xml"): _read_notes,
    re.compile(r"ppt/comments/[^/]+\.xml"): _read_comments,
}


def _slide_names(parts: ArchiveParts) -> list[str]:
    """Return the slides' parts in presentation order, else by number."""
    numbers = {int(match[1]): match[0] for name in parts.names if (match := _SLIDE.fullmatch(name))}
    by_number = [numbers[number] for number in sorted(numbers)]
    if "ppt/presentation.xml" not in parts.names:
        if not by_number:
            raise ValueError("has no slides")
        return by_number
    related = parts.read_relations("ppt/presentation.xml")
    slides = parts.xml("ppt/presentation.xml").iter("sldId")
    names = dict.fromkeys(related.get(slide.get("id", ""), "") for slide in slides)
    return list(names) if set(names) <= set(by_number) else by_number


def read_open_document(file: File) -> Iterator[Document]:
    """Yield an OpenDocument text or presentation (.odt, .odp) as one document."""
    with parts_of(file, "OpenDocument file") as parts:
        content = parts.xml("content.xml")
        styles = parts.xml("styles.xml") if "styles.xml" in parts.names else Element("none")
        n_struck = _mark_positions(content)
        heading = next((_words(element) for element in content.iter("h")), "")
        title, about = read_about(parts, "meta.xml")
        held = [{part.tag for part in frame} for frame in content.iter("frame")]
        counts = {
            "picture": sum("image" in tags and "object" not in tags for tags in held),
            "embedded object": sum("object" in tags for tags in held),
            "struck-out passage": n_struck,
        }
        file.partly.extend(describe_unread(counts))
        number_open_document(content, styles)
        mark_shapes(file, parts, content)
        slides = [list(_texts(page)) for page in find_outermost(content, ("page",))]
        paragraphs = [each for slide in slides for each in slide] or list(_texts(content))
        paragraphs += read_edges(_edges(styles))
    first = paragraphs[0].text if slides and paragraphs else ""
    yield make_document(
        file, paragraphs, title or heading or first, about, pages=_page_starts(slides)
    )


def _edges(styles: Element) -> Iterator[PageEdge]:
    """Yield the paragraphs of the headers and footers of an OpenDocument text."""
    for page in styles.iter("master-page"):
        for edge in page:
            if (kind := edge.tag.partition("-")[0]) in ("header", "footer"):
                is_numbered = next(edge.iter("page-number"), None) is not None
                for each in _texts(edge):
                    yield PageEdge(kind.title(), each.text, is_numbered)


def read_about(parts: ArchiveParts, name: str) -> tuple[str, dict[str, Value]]:
    """Return the title and other properties in a part."""
    if name not in parts.names:
        return "", {}
    root = parts.xml(name)
    title = next((" ".join(element.itertext()) for element in root.iter("title")), "")
    return stated_title(title), of_xml(root)


def _page_starts(slides: Sequence[Sequence[MarkedParagraph]]) -> list[int]:
    """Return the first character of each slide; an empty slide begins where the next does."""
    lengths = (sum(len(each.text) + 2 for each in slide) for slide in slides[:-1])
    return list(accumulate(lengths, initial=0)) if slides else []


def _texts(root: Element) -> Iterator[MarkedParagraph]:
    """Yield paragraphs, headings and the rows of tables."""
    stack, n_tables = [root], 0
    while stack:
        element = stack.pop()
        if element.tag in ("table", "tbl"):
            n_tables += 1
            texts = format_rows(fill_spans(read_rows(element)))
            yield from (MarkedParagraph(text, table=n_tables) for text in texts if text)
            continue
        apart: list[Element] = []
        if element.tag == "annotation":
            text = f"Comment: {' '.join(_texts_below(element))}"
        elif element.tag in ("p", "h", *_ALTERNATIVES):
            text = _words(element)
            apart = [each for each in find_outermost(element, _APART) if each.tag not in _NOT_TEXT]
        else:
            stack += [child for child in reversed(element) if _is_text(child)]
            continue
        if text:
            level = element.get("outline-level", "1") if element.tag == "h" else ""
            yield MarkedParagraph(text, int(level) if level.isdecimal() else 0)
        stack += reversed(apart)


def read_rows(table: Element) -> Iterator[list[Cell]]:
    """Yield the cells of each row of a table, without those that another one covers."""
    for row in find_outermost(table, ("table-row", "tr")):
        cells = []
        for cell in row:
            if cell.tag not in ("table-cell", "tc") or "1" in (
                cell.get("hMerge"),
                cell.get("vMerge"),
            ):
                continue
            text = " ".join(_texts_below(cell))
            n_rows, n_columns = (
                max(_number(cell, name) for name in names)
                for names in (
                    ("number-rows-spanned", "rowSpan"),
                    ("number-columns-spanned", "gridSpan"),
                )
            )
            times = _number(cell, "number-columns-repeated")
            cells += [Cell(text, n_rows, n_columns)] * min(times, _REPEATED)
        again = min(
            _number(row, "number-rows-repeated"), _REPEATED if any(c.text for c in cells) else 1
        )
        yield from [cells] * again


def _number(element: Element, name: str) -> int:
    """Return an integer attribute, at least 1."""
    value = element.get(name, "")
    return max(int(value), 1) if value.isdecimal() else 1


def find_outermost(root: Element, tags: Collection[str]) -> Iterator[Element]:
    """Yield the outermost elements with one of the tags."""
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if element.tag in tags:
            yield element
        else:
            stack += reversed(element)


def _is_text(element: Element) -> bool:
    """Check whether an element may contain text; slide numbers and footers do not."""
    if element.tag == "sp":
        place = element.find("nvSpPr/nvPr/ph")
        return place is None or place.get("type") not in _ON_EVERY_SLIDE
    return element.tag not in _NOT_TEXT


def _texts_below(cell: Element) -> Iterator[str]:
    """Yield the distinct paragraphs of a cell, then nested boxes, then comments.

    A comment is in parentheses.
    """
    stack, comments = [cell], []
    while stack:
        element = stack.pop()
        if element.tag == "annotation" and element is not cell:
            comments.append(f"(Comment: {' '.join(_texts_below(element))})")
        elif element.tag not in ("p", "h", *_ALTERNATIVES):
            stack += reversed(element)
        else:
            if text := _words(element):
                yield text
            stack += reversed(list(find_outermost(element, _APART)))
    yield from comments


def _words(paragraph: Element) -> str:
    """Return a paragraph's text after its number, or a picture's alternative text."""
    if paragraph.tag in _ALTERNATIVES:
        words = describe_picture(paragraph.get("descr", paragraph.text or ""))
        return paragraph.get(MARK, "") + words
    words = f"{paragraph.get(LIST_NUMBER, '')} {join_shifted(_pieces(paragraph))}"
    return "\n".join(" ".join(line.split()) for line in words.split("\n")).strip()


def _pieces(element: Element, shifted: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts of a paragraph, and whether each is superscript or subscript.

    Notes, which are paragraphs, and annotations are left out.
    """
    yield _WHITE.get(element.tag, element.text or ""), shifted
    for child in element:
        if child.tag not in _APART:
            place = child.find("rPr") if child.tag == "r" else None
            own = child.get("shifted", "") if place is None else place.get("baseline", "")
            yield from _pieces(child, _read_shift(own) or shifted)
        yield child.tail or "", shifted


def _read_shift(position: str) -> str:
    """Return "super" or "sub" for a position such as "30000", "-25%" or "super 58%"."""
    first = position.split(" ", 1)[0].rstrip("%")
    if first in ("super", "sub") or first.strip("0") in ("", "-"):
        return first if first in ("super", "sub") else ""
    return "sub" if first.startswith("-") else "super"


def _mark_positions(content: Element) -> int:
    """Copy superscript and subscript positions from the styles to the text elements.

    Take struck-out text out, and return how many passages that is.
    """
    kinds = {
        style.get("name", ""): each
        for style in content.iter("style")
        for each in style.iter("text-properties")
    }
    struck = []
    for tag in ("span", "p", "h"):
        for each in content.iter(tag):
            kind = kinds.get(each.get("style-name", ""), _PLAIN)
            each.set("shifted", kind.get("text-position", ""))
            if kind.get("text-line-through-style", "none") != "none":
                struck.append(each)
    return sum(map(_empty, struck))


def _drop_struck(slide: Element) -> int:
    """Remove struck-out text from a slide; return the number of removed passages."""
    runs = list(slide.iter("r"))
    return sum(
        _empty(run)
        for run in runs
        for own in run.findall("rPr[@strike]")
        if own.get("strike") != "noStrike"
    )


def _empty(element: Element) -> bool:
    """Empty an element; return whether it had any text."""
    has_words, tail = bool("".join(element.itertext()).strip()), element.tail
    element.clear()
    element.tail = tail
    return has_words


def read_book(file: File) -> Iterator[Document]:
    """Yield a book as one document."""
    from clew.readers import html_page  # which slides do not need

    with parts_of(file, "EPUB file") as parts:
        package, pages = _package(parts)
        title = next((" ".join(element.itertext()) for element in package.iter("title")), "")
        contents = map(parts.data, pages)
        texts = (decode_part(data, file, find_stated(data, xml_page.STATED)) for data in contents)
        marks = (partial(mark_pictures, load=partial(load_part, parts, page)) for page in pages)
        read = map(html_page.paragraphs, texts, repeat(file), marks)
        paragraphs = [paragraph for page in read for paragraph in page]
    yield make_document(file, paragraphs, title, of_xml(package))


def _package(parts: ArchiveParts) -> tuple[Element, list[str]]:
    """Return the metadata of a book, and the distinct names of its pages.

    Raises ValueError.
    """
    container = parts.xml("META-INF/container.xml")
    name = next((element.get("full-path", "") for element in container.iter("rootfile")), "")
    package = parts.xml(name)
    hrefs = {
        item.get("id"): item.get("href", "")
        for item in package.iter("item")
        if "html" in item.get("media-type", "") and "nav" not in item.get("properties", "").split()
    }
    order = (hrefs.get(item.get("idref")) for item in package.iter("itemref"))
    pages = (normpath(join(dirname(name), unquote(href))) for href in order if href)
    return package, list(dict.fromkeys(pages))
