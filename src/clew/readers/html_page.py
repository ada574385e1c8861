"""Read HTML: the visible text, with paragraphs joined by blank lines.

Block elements give paragraphs, `<br>` a line break, table cells are set apart by ` | `, and `<pre>`
keeps its white space. Items of numbered lists begin with their numbers, as a browser shows them;
superscripts, subscripts and formulas (MathML) are as in `clew.readers.superscripts`, a reading
(ruby) is in parentheses, and the alternative text of a picture in brackets where it has more than
one word. Scripts, styles and what stands around the text (`clew.readers.furniture`) are dropped.
What an attribute hides (`hidden`, `display: none`) and what is struck out is dropped with a note.
Headings are `<h1>` to `<h6>`. Contents, indexes and bibliographies are what a role, a type of EPUB
or a class calls so, and runs of links.
The title is `<title>`, else the first `<h1>`, else the file name.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from textwrap import indent
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from clew import plugins
from clew.base.types import Document, Value
from clew.limits import LimitMet, ReadingLimits
from clew.readers.decode import text_of
from clew.readers.furniture import BLOCKS, HEADINGS, UNREAD, find_clutter, is_manual
from clew.readers.grid import Cell, fill_spans, format_rows
from clew.readers.number_forms import LETTERED, format_number
from clew.readers.properties import properties
from clew.readers.superscripts import enclose, subscript, superscript, write_formula
from clew.readers.titled import MarkedParagraph, make_document, stated_title
from clew.readers.unread import describe_picture, describe_unread
from clew.readers.walk import File
from clew.text.sentences import MAX_CHARACTERS

STATED = re.compile(rb"<meta[^<>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
FIGURE = "data-figure"  # the attribute with the mark of a picture
_TEXT_ITSELF = "main, article, [role=main], h1"  # no list of links holds one of these
_MARGIN = "    "  # of a definition below its term
_HEADING_LEVELS = {**HEADINGS, "summary": 6}  # which stands above the text of `details`
_NEVER_FRAMES = frozenset("article body h1 html main pre".split())
_HIDDEN = re.compile(r"\b(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_STRUCK = "s, del, strike, [style*=line-through]"
_LEAST_HIDDEN = 100  # characters of which a note is made
_MAX_STEPS = 300  # characters of a line of steps to other pages
_STEP_LINE = re.compile(r"(?:Next|Prev(?:ious)?|Up): .*\b(?:Next|Prev(?:ious)?|Up): ", re.DOTALL)
_ABOUT = {  # by the name of a <meta>, without what says whose name it is
    **{name: name for name in "author created date description keywords modified subject".split()},
    "creator": "author",
    "last-modified": "modified",
    "modified_time": "modified",
    "published_time": "date",
    "tag": "keywords",
}
_VOCABULARIES = re.compile(r"(?:article|og):|dc(?:terms)?\.")
_APPARATUS = {
    **dict.fromkeys("toc doc-toc table-of-contents tableofcontents".split(), "contents"),
    **dict.fromkeys("index doc-index indextable genindextable printindex".split(), "index"),
    **dict.fromkeys("bibliography doc-bibliography references reflist".split(), "bibliography"),
}  # roles, types of EPUB, and classes
_LINKED = 0.7  # of a paragraph's characters, in a list of links
_LEAST_LINKS = 6  # paragraphs of links that make a list
_SHORT = 3  # characters of what may stand between links, such as the letters of an index
_TABLE_LEVELS = 8  # tbody, tr and td around what is in a table, and blocks around that
_INSERTED = {"br": "\n", "td": " | ", "th": " | "}
_SPACES = re.compile(r"[ \t\n\r\f]+")
_LIST_STYLE = re.compile(
    r"list-style(?:-type)?\s*:[^;]*?\b([a-z]+-(?:alpha|latin|roman)|none)", re.IGNORECASE
)
_LIST_STYLES = {
    f"{case}-{name}": f"{case}{kind}"
    for case in ("lower", "upper")
    for name, kind in (("alpha", "Letter"), ("latin", "Letter"), ("roman", "Roman"))
}
_LIST_CLASSES = {name.replace("-", ""): form for name, form in _LIST_STYLES.items()}  # of Sphinx
_WHOLE = re.compile(r"\s*-?\d{1,9}\s*")
_SHIFTED = {"sup": superscript, "sub": subscript}
_FORMULAS = {
    **dict.fromkeys(("msup", "mover"), "^"),
    **dict.fromkeys(("msub", "munder"), "_"),
    **dict.fromkeys(("msubsup", "munderover"), "_^"),
    "mfrac": "/",
}
_JOINED = {"mtable": "; ", "mtr": ", "}
_NOTATIONS = frozenset(("annotation", "annotation-xml", "apply"))
_UNSEEN = {0x2061: " ", 0x2062: " ", 0x2063: "", 0x2064: ""}  # operators
_RELATION = re.compile(r"^([=<>≠≈≡≤≥∈→⇒])$")
_DEEPEST = 30  # elements of a formula, or superscripts, inside each other
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^<>]*")
_FEW_TAGS = 1_000  # of which none can take long
_OF_TEXT = frozenset("b big code em font i s small strike strong tt u".split())
_EQUAL = 3  # elements with equal tags that are opened anew
_TIMES_AGAIN = 100  # times as many as may stand inside each other are opened anew
_LONG_TAG = re.compile(r"<[a-zA-Z](?:[^<>\"']|\"[^\"]*\"|'[^']*'){8192,}")
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'")
_SHAPES = frozenset("circle ellipse image line path polygon polyline rect stop use".split())
_UNCLOSED = frozenset(
    "area base body br col colgroup dd dt embed head hr html img input li link meta option p param "
    "rp rt source tbody td tfoot th thead tr track wbr".split()
)  # elements that end without being closed


def read(file: File) -> Iterator[Document]:
    """Yield an HTML page as one document."""
    tree = _parse_page(text_of(file, STATED), file.limits)
    _drop_unread(tree, file)
    if tree.css_first("img") and (figures := plugins.find_usable("readers", "figures")):
        figures.mark_pictures(tree, file, figures.open_beside(file))
    headings = (tree.css_first("head title"), tree.css_first("h1"))
    stated = (stated_title(heading.text()) for heading in headings if heading)
    title = next(filter(None, stated), "")
    found = list(_paragraphs(tree, as_manual=is_manual(tree)))
    yield make_document(file, _extract_article(tree, found), title, _about(tree))


def _extract_article(tree: LexborHTMLParser, found: list[MarkedParagraph]) -> list[MarkedParagraph]:
    """Return the paragraphs that trafilatura extracts, if it is installed.

    Those that were `found` stay for a manual, and where it finds less than half as much.
    """
    if find_spec("trafilatura") is None or is_manual(tree):
        return found
    from trafilatura import extract

    page = extract(
        tree.html or "", output_format="html", include_comments=False, include_formatting=True
    )
    article = list(_paragraphs(LexborHTMLParser(page or ""), as_manual=True))
    n_found, n_article = (sum(len(each.text) for each in them) for them in (found, article))
    return article if 2 * n_article >= n_found else found


def _about(tree: LexborHTMLParser) -> dict[str, Value]:
    """Return the metadata in the head of a page."""
    pairs = []
    for element in tree.css("meta[content]"):
        attributes = element.attributes
        given = (attributes.get("name") or attributes.get("property") or "").casefold()
        name = given[prefix.end() :] if (prefix := _VOCABULARIES.match(given)) else given
        if name in _ABOUT:
            pairs.append((_ABOUT[name], attributes["content"]))
    if tree.root is not None:
        pairs.append(("language", tree.root.attributes.get("lang")))
    return properties(pairs)


def paragraphs(
    page: str, file: File, mark: Callable[[LexborHTMLParser, File], None] = lambda *_: None
) -> list[MarkedParagraph]:
    """Return the visible paragraphs of a page that is part of a file; `mark` marks its pictures."""
    tree = _parse_page(page, file.limits)
    _drop_unread(tree, file)
    mark(tree, file)
    return list(_paragraphs(tree, as_manual=True))


def _drop_unread(tree: LexborHTMLParser, file: File) -> None:
    """Remove hidden and struck-out elements from a page, adding notes to its file."""
    n_hidden = n_struck = 0
    for element in reversed(tree.css("[hidden], [style]")):  # what is inside before the outside
        attributes = element.attributes
        is_hidden = "hidden" in attributes or _HIDDEN.search(attributes.get("style") or "")
        if is_hidden and element.tag not in _NEVER_FRAMES:
            n_hidden += len(element.text(strip=True))
            element.decompose()
    for element in reversed(tree.css(_STRUCK)):
        if element.tag not in _NEVER_FRAMES:
            n_struck += bool(element.text(strip=True))
            element.decompose()
    if n_hidden >= _LEAST_HIDDEN:
        file.partly.append(f"{n_hidden:,} characters of hidden text not read")
    file.partly.extend(describe_unread({"struck-out passage": n_struck}))


def _parse_page(page: str, limits: ReadingLimits) -> LexborHTMLParser:
    """Return the tree of a page.

    Raises LimitMet where elements stand deeper inside each other, or have more attributes, than any
    page needs: to parse them takes the square of their number.
    """
    if page.count("<") > min(limits.nesting, _FEW_TAGS):
        _check_depth(page, limits)
    for match in _LONG_TAG.finditer(page):
        if len(_VALUE.sub("", match[0]).split()) > limits.attributes:
            raise LimitMet(f"has an element of {limits.more_than('attributes')}")
    return LexborHTMLParser(page)


def _check_depth(page: str, limits: ReadingLimits) -> None:
    """Raise LimitMet for too deeply nested elements.

    Those are counted that must be closed. What is made of text, such as `<b>`, is opened anew in
    every block behind it until it is closed, three times at most for tags that are equal.
    """
    depth = again = shapes = 0
    open_: dict[str, list[str]] = defaultdict(list)  # tags of elements for text, by their names
    counts: Counter[str] = Counter()
    n_open = 0  # of those, as many as are opened anew
    for match in _TAG.finditer(page):
        name = match[2].lower()
        if name in _SHAPES and match[0].endswith("/"):  # closed, if it is in a drawing
            shapes += 1
            if shapes > _TIMES_AGAIN * limits.nesting:
                raise LimitMet(f"has {limits.more_than('nesting', 'hundred shapes')}")
        elif name not in _UNCLOSED:
            depth = max(depth - 1, 0) if match[1] else depth + 1
            if depth > limits.nesting:
                raise LimitMet(f"has {limits.more_than('nesting', 'elements inside each other')}")
        if name not in _OF_TEXT:
            again += n_open
            if again > _TIMES_AGAIN * limits.nesting:
                times = limits.more_than("nesting", "hundred times")
                raise LimitMet(f"repeats elements that are not closed {times}")
        elif not match[1]:
            open_[name].append(match[0])
            counts[match[0]] += 1
            n_open += counts[match[0]] <= _EQUAL
        elif open_[name]:
            tag = open_[name].pop()
            n_open -= counts[tag] <= _EQUAL
            counts[tag] -= 1


class _Inside(NamedTuple):
    """The context of a piece of a page."""

    kept: bool = False  # its white space is
    level: int = 0  # of a heading
    link: bool = False
    apparatus: str = ""
    table: int = 0  # its number
    depth: int = 0  # of superscripts in each other
    margin: str = ""  # before each line of a definition, as deep as these are in each other


class _Marked(NamedTuple):
    """The classification of a page's elements by id, made before reading."""

    furniture: set[int]  # what stands around the text
    tables: dict[int, int]  # the numbers of those that lay out no page
    items: dict[int, str]  # what stands before the items of numbered lists, such as "3. "


def _paragraphs(tree: LexborHTMLParser, *, as_manual: bool) -> Iterator[MarkedParagraph]:
    """Yield the paragraphs; runs of links are marked as a table of contents."""
    run: list[MarkedParagraph] = []
    n_links = 0
    for paragraph, is_link in _with_links(tree, find_clutter(tree, as_manual=as_manual)):
        between = not is_link and len(paragraph.text) <= _SHORT
        if not (is_link or between) or (is_link and paragraph.level):
            yield from _mark_lists(run, n_links)
            run, n_links = [], 0
            yield paragraph
        else:
            run.append(paragraph)
            n_links += is_link
    yield from _mark_lists(run, n_links)


def _mark_lists(run: list[MarkedParagraph], n_links: int) -> Iterator[MarkedParagraph]:
    for each in run:
        is_list = n_links >= _LEAST_LINKS and not each.apparatus
        yield each._replace(apparatus="contents") if is_list else each


def _with_links(
    tree: LexborHTMLParser, furniture: set[int]
) -> Iterator[tuple[MarkedParagraph, bool]]:
    """Yield paragraphs, and whether each consists mostly of links.

    The number of an item stands before its first paragraph.
    """
    pieces: list[str] = []
    number, n_linked = "", 0
    level, apparatus, table, margin = 0, "", 0, ""
    if tree.body is None:
        return
    marked = _Marked(furniture, _number_tables(tree), _number_items(tree))
    for piece, inside in _pieces(tree.body, _Inside(), marked):
        if isinstance(piece, _ItemNumber):
            number = number + piece if piece else ""
            continue
        if piece is not None:
            pieces.append(piece if inside.kept else _SPACES.sub(" ", piece))
            if piece.strip():
                level, apparatus, table = inside.level, inside.apparatus, inside.table
                margin = "" if level or table else inside.margin
                n_linked += len(piece.strip()) if inside.link else 0
            continue
        words = "".join(pieces)
        paragraph = words.strip("\n") if inside.kept else _tidy(words)
        is_steps = len(paragraph) <= _MAX_STEPS and _STEP_LINE.match(paragraph)
        if paragraph.strip(" |\n") and not is_steps:
            is_link = n_linked >= _LINKED * len(paragraph)
            text = indent(number + paragraph, margin)
            yield MarkedParagraph(text, level, apparatus, table), is_link
            number = ""
        pieces.clear()
        n_linked = 0


_Piece = tuple[str | None, _Inside]


def _pieces(root: LexborNode, around: _Inside, marked: _Marked) -> Iterator[_Piece]:
    """Yield texts in order with their context, None at block boundaries."""
    stack: list[tuple[LexborNode | str | None, _Inside]] = [(root, around)]
    while stack:
        node, around = stack.pop()
        if node is None or isinstance(node, str):
            yield node, around
        elif node.is_text_node:
            yield node.text_content, around
        elif node.tag not in UNREAD and node.mem_id not in marked.furniture:
            if node.mem_id in marked.tables:
                yield from _row_pieces(node, around, marked)
            elif node.tag == "math":
                yield _write_formula(node) or node.attributes.get("alttext") or "", around
            elif node.tag in _SHIFTED and around.depth < _DEEPEST:
                deeper = around._replace(depth=around.depth + 1)
                children = node.iter(include_text=True)
                inner = [piece for each in children for piece, _ in _pieces(each, deeper, marked)]
                yield _SHIFTED[node.tag]("".join(piece or " " for piece in inner)), around
            else:
                stack += reversed(_open_element(node, around, marked))


def _open_element(
    node: LexborNode, around: _Inside, marked: _Marked
) -> Sequence[tuple[LexborNode | str | None, _Inside]]:
    """Return the content of an element, in order."""
    inside = _Inside(
        kept=around.kept or node.tag == "pre",
        level=around.level or _HEADING_LEVELS.get(node.tag or "", 0),
        link=around.link or (node.tag == "a" and "href" in node.attributes),
        apparatus=around.apparatus or _kind(node),
        depth=around.depth,
        margin=around.margin + _MARGIN * (node.tag == "dd"),
    )
    parts = [(child, inside) for child in node.iter(include_text=True)]
    if node.mem_id in marked.items:
        number = _ItemNumber(marked.items[node.mem_id])
        return [(None, around), (number, inside), *parts, (None, inside), (_ItemNumber(), inside)]
    if node.tag in BLOCKS:
        return [(None, around), *parts, (None, inside)]
    if node.tag in _INSERTED:
        return [*parts, (_INSERTED[node.tag], inside._replace(kept=True))]
    if node.tag == "img":
        mark, alternative = (node.attributes.get(name) or "" for name in (FIGURE, "alt"))
        return [(mark + describe_picture(alternative), inside)]
    return [("(", inside), *parts, (")", inside)] if node.tag == "rt" else parts


def _write_formula(node: LexborNode, depth: int = 0) -> str:
    """Return a MathML formula as a line, without machine-readable annotations."""
    if depth > _DEEPEST or node.tag in _NOTATIONS:
        return ""
    tags = [each.tag for each in node.iter()]
    parts = [_write_formula(each, depth + 1) for each in node.iter()]
    if node.tag in _FORMULAS:
        return write_formula(_FORMULAS[node.tag], parts)
    if node.tag in _JOINED:
        return _JOINED[node.tag].join(parts)
    words = " ".join(node.text().split()) if not parts else ""
    for i, part in enumerate(parts):
        has_digits = words[-1:].isdigit() and part[:1].isdigit()
        is_apart = has_digits or (i and tags[i - 1] == "mfrac" and part[:1].isalnum())
        words += f" {part}" if is_apart else part
    if node.tag in ("msqrt", "mroot"):
        return f"√{enclose(words)}"
    return _RELATION.sub(r" \1 ", words.translate(_UNSEEN)) if node.tag == "mo" else words


def _row_pieces(table: LexborNode, around: _Inside, marked: _Marked) -> Iterator[_Piece]:
    """Yield a table's caption and rows, separated by None."""
    inside = around._replace(apparatus=around.apparatus or _kind(table))
    for caption in table.css("caption"):
        yield from _pieces(caption, inside, marked)
    rows: list[list[Cell]] = []
    linked: list[int] = []  # characters of each row that are in links
    for row in table.css("tr"):
        rows.append([])
        linked.append(0)
        for cell in row.iter():
            inner = cell.iter(include_text=True)
            pieces = [piece for each in inner for piece in _pieces(each, inside, marked)]
            text = " ".join("".join(piece or " " for piece, _ in pieces).split())
            linked[-1] += sum(len(piece) for piece, at in pieces if piece and at.link)
            spans = [cell.attributes.get(name) or "" for name in ("rowspan", "colspan")]
            rows[-1].append(Cell(text, *(int(n) if n.isdecimal() else 1 for n in spans)))
    inside = inside._replace(kept=True, table=marked.tables[table.mem_id])
    for text, n_linked in zip(format_rows(fill_spans(rows)), linked, strict=True):
        yield None, inside
        yield text, inside._replace(link=n_linked >= _LINKED * len(text))
    yield None, inside


class _ItemNumber(str):
    """The number before a list item, "" at its end."""

    __slots__ = ()


def _number_items(tree: LexborHTMLParser) -> dict[int, str]:
    """Return the numbers of `<ol>` items, following their attributes."""
    numbers: dict[int, str] = {}
    for each in tree.css("ol"):
        attributes = each.attributes
        items = [item for item in each.iter() if item.tag == "li"]
        step = -1 if "reversed" in attributes else 1
        number = _read_whole(attributes.get("start"), 1 if step > 0 else len(items))
        form = _list_form(attributes)
        for item in items if form else ():
            number = _read_whole(item.attributes.get("value"), number)
            numbers[item.mem_id] = f"{format_number(number, form)}. "
            number += step
    return numbers


def _list_form(attributes: Mapping[str, str | None]) -> str:
    """Return the numbering style of a list, by type, style or class, or ""."""
    kind = attributes.get("type") or ""
    style = _LIST_STYLE.search(attributes.get("style") or "")
    names = (attributes.get("class") or "").casefold().split()
    named = next((_LIST_CLASSES[name] for name in names if name in _LIST_CLASSES), "decimal")
    written = style[1].casefold() if style else ""
    return _LIST_STYLES.get(written) or LETTERED.get(kind, named) if written != "none" else ""


def _read_whole(written: str | None, default: int) -> int:
    return int(written) if written and _WHOLE.fullmatch(written) else default


def _number_tables(tree: LexborHTMLParser) -> dict[int, int]:
    """Number the tables without nested tables, headings or long rows.

    The others lay out a page.
    """
    layout: set[int] = set()
    for inside in tree.css("table table, table h1, table h2, table h3, table h4"):
        layout.add(_table_around(inside))
    for row in tree.css("tr"):
        if len(row.text()) > MAX_CHARACTERS:
            layout.add(_table_around(row))
    tables = [each.mem_id for each in tree.css("table")]
    return {table: i for i, table in enumerate(tables, 1) if table not in layout}


def _table_around(node: LexborNode) -> int:
    """Return the table a few levels above an element, or 0."""
    above = node.parent
    for _ in range(_TABLE_LEVELS):
        if above is None or above.tag == "table":
            break
        above = above.parent
    return above.mem_id if above is not None and above.tag == "table" else 0


def _kind(node: LexborNode) -> str:
    """Return the kind of boilerplate of an element, or ""."""
    attributes = node.attributes
    names = " ".join(attributes.get(name) or "" for name in ("role", "epub:type", "class"))
    kind = next((_APPARATUS[n] for n in names.casefold().split() if n in _APPARATUS), "")
    return "" if kind and node.css_first(_TEXT_ITSELF) is not None else kind


def _tidy(words: str) -> str:
    lines = (re.sub(" {2,}", " ", line).strip() for line in words.replace("\xa0", " ").split("\n"))
    return "\n".join(lines).strip().removeprefix("| ").removesuffix(" |")
