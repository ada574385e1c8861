"""Keep pictures of documents as figures: which of them, at which place, and with which caption.

A figure is a PNG, JPEG, GIF or WebP picture that is large enough to show something. Bullets, lines
and icons are none, nor is what a document repeats. Others, such as SVG, which may hold scripts, are
not kept. Until a text is a document, a mark stands in it for each picture. The place of a figure is
its caption, else the text in which or before which it stands.
"""

import base64
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate
from math import prod
from posixpath import dirname, join, normpath
from struct import unpack_from
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from selectolax.lexbor import LexborHTMLParser

from clew.base.types import Document, Figure
from clew.readers.archive import ArchiveParts
from clew.readers.html_page import FIGURE
from clew.readers.walk import File
from clew.text.normalize import collapse
from clew.text.numbered import find_figure_numbers
from clew.text.sections import page_at

MARK = "figure"  # the attribute of an XML element with the mark of a picture
TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_BEGINS = re.compile(rb"(\x89PNG\r\n)|(\xff\xd8\xff)|(GIF8[79]a)|(RIFF.{4}WEBP)", re.DOTALL)
_SIDES = {"image/png": ">16xII", "image/gif": "<6xHH"}  # where these formats have width and height
_LEAST_BYTES, _MOST_BYTES = 2_000, 1 << 22  # of a figure; the least of those that are not measured
_LEAST_SIDE, _LEAST_AREA = 48, 12_000  # pixels
_MOST_TOTAL = 1 << 26  # bytes of all figures of a document
_REPEATED = 3  # times that a document has a picture which decorates it
_LONGEST = 300  # characters of a caption
_CAPTION = re.compile(r"[\W_]*\w+\W?\s*(?:[A-Za-z][.-])?\d")  # and the number of a figure
_ALTERNATIVE = re.compile(r"\[Picture: (.*)\]", re.DOTALL)
_SHAPES = {
    **dict.fromkeys(("inline", "anchor"), ("docPr", "blip")),
    "pic": ("cNvPr", "blip"),
    "frame": ("image", "image"),
}  # the tags of what has the alternative text, and of what refers to the picture
_ALONE = "[Picture]"  # the text of a slide that has nothing else
_MARKS = r"\ufffc\d+\ufffc(?:\s?\ufffc\d+\ufffc)*"
_RUN = re.compile(rf"(?:\A|(?<=\n\n)){_MARKS}\n\n|\n\n{_MARKS}\Z|{_MARKS}(?: \|)? ?")

Edit = tuple[int, int, str]  # a range of a text, and what takes its place


def media_type(data: bytes) -> str:
    """Return the media type of a picture, "" for other bytes."""
    begin = _BEGINS.match(data)
    return TYPES[(begin.lastindex or 1) - 1] if begin else ""


def is_figure(data: bytes) -> bool:
    """Check whether bytes are a picture that is worth keeping."""
    kind = media_type(data) if len(data) <= _MOST_BYTES else ""
    if kind not in _SIDES or len(data) < len(b"\x89PNG") + 20:
        return bool(kind) and len(data) >= _LEAST_BYTES
    sides: tuple[int, int] = unpack_from(_SIDES[kind], data)
    return min(sides) >= _LEAST_SIDE and prod(sides) >= _LEAST_AREA


class _KeptPictures(list[tuple[bytes, str]]):
    """The pictures that have marks, in the order of these, with what their file says of each."""

    def __call__(self, document: Document) -> Document:
        return _place_pictures(document, self)


def _keep_picture(file: File, data: bytes, stated: str) -> str:
    """Return the mark of a picture in the next document of a file, "" for what is no figure."""
    if not is_figure(data):
        return ""
    if not file.after:
        file.after.append(_KeptPictures())
    [kept] = file.after
    assert isinstance(kept, _KeptPictures)  # noqa: S101 -- nothing else is there
    kept.append((data, stated))
    return f"\ufffc{len(kept) - 1}\ufffc"


def mark_shapes(
    file: File, parts: ArchiveParts, root: Element, related: Mapping[str, str] | None = None
) -> None:
    """Put marks beside the alternative texts of the figures in an Office part.

    Of OpenDocument, which refers to pictures by their names, nothing is `related`.
    """
    shapes = ((each, _SHAPES[each.tag]) for each in root.iter() if each.tag in _SHAPES)
    for shape, tags in shapes:
        about, picture = (next(shape.iter(tag), None) for tag in tags)
        if about is not None and picture is not None:
            name = picture.get("href") or (related or {}).get(picture.get("embed", ""), "")
            data = parts.data(name) if name in parts.names else b""
            about.set(MARK, _keep_picture(file, data, about.get("descr", "")))


def mark_pictures(tree: LexborHTMLParser, file: File, load: Callable[[str], bytes]) -> None:
    """Put marks into the figures of a page, whose pictures are loaded by their addresses."""
    captions: dict[int, str] = {}
    for each in tree.css("figure"):
        caption = each.css_first("figcaption")
        captions |= {img.mem_id: caption.text() for img in each.css("img") if caption is not None}
    for img in tree.css("img"):
        stated = captions.get(img.mem_id) or img.attributes.get("alt") or ""
        data = load(img.attributes.get("src") or "")
        img.attrs[FIGURE] = _keep_picture(file, data, stated)


def load_part(parts: ArchiveParts, page: str, address: str) -> bytes:
    """Return what a page of a book refers to, empty if it is not in the book."""
    name = normpath(join(dirname(page), unquote(address.partition("#")[0])))
    return parts.data(name) if name in parts.names else b""


def open_beside(file: File) -> Callable[[str], bytes]:
    """Return a function that reads the pictures to which an HTML file refers.

    They are in the page itself, or in files of the folder that was named: nothing else on this
    machine is read because a page says so, and nothing is fetched.
    """
    root = (file.folder or file.path.parent).resolve()

    def load(address: str) -> bytes:
        try:
            if address.startswith("data:image/"):
                return base64.b64decode(unquote(address.partition(",")[2]))
            path = (file.path.parent / unquote(urlsplit(address).path)).resolve()
            is_beside = path.is_relative_to(root) and path.is_file() and not file.place
            is_small = is_beside and path.stat().st_size <= _MOST_BYTES
            return path.read_bytes() if is_small else b""
        except (OSError, ValueError, RuntimeError):  # the last of links in a circle
            return b""

    return load


def edit_text(document: Document, edits: Sequence[Edit]) -> Document:
    """Return a document with some ranges of its text replaced, and all places moved."""
    parts, last = [], 0
    for start, end, new in edits:
        parts += [document.text[last:start], new]
        last = end

    def move(each: Any) -> Any:  # noqa: ANN401 -- a place, or what has some
        if not isinstance(each, int):
            names = [name for name in ("start", "end") if hasattr(each, name)]
            return replace(each, **{name: move(getattr(each, name)) for name in names})
        before = (edit for edit in edits if edit[1] <= each and edit[0] < each)
        return each + sum(len(new) - (end - start) for start, end, new in before)

    places = ("headings", "pages", "apparatus", "figures")
    moved: dict[str, Any] = {name: tuple(map(move, getattr(document, name))) for name in places}
    text = "".join([*parts, document.text[last:]])
    return replace(document, text=text, body_start=move(document.body_start), **moved)


def _place_pictures(document: Document, pictures: Sequence[tuple[bytes, str]]) -> Document:
    """Return a document with figures in place of the marks of pictures."""
    edits: list[Edit] = []
    marked: list[Figure] = []  # in the text with marks, of which edits make the final one
    for run in _RUN.finditer(document.text):
        start, end = run.span()
        is_page = start in document.pages and (end in document.pages or end == len(document.text))
        edits.append((start, end, f"{_ALONE}\n\n" if is_page else ""))
        page = page_at(document.pages, start)
        numbers = map(int, re.findall(r"\d+", run[0]))
        marked += [Figure(start, start, "", str(n), page) for n in numbers if n < len(pictures)]
    document = edit_text(replace(document, figures=tuple(marked)), edits)
    texts = document.text.split("\n\n")
    starts = list(accumulate((len(each) + 2 for each in texts), initial=0))
    found: list[tuple[Figure, bytes]] = []
    taken: set[int] = set()  # captions
    repeated: dict[int, Edit] = {}  # alternative texts that the caption beside them says, too
    for figure in document.figures:
        data, stated = pictures[int(figure.address)]
        i = bisect_right(starts, figure.start, hi=len(texts)) - 1
        i -= page_at(document.pages, starts[i]) != figure.page  # it is behind the end of its page
        if figure.page and not stated:
            stated = document.text[document.pages[figure.page - 1] :].partition("\n")[0]
        around = (i, *(at for at in (i - 1, i + 1) if 0 <= at < len(texts) and at not in taken))
        at = next((at for at in around if is_caption(texts[at])), i)
        taken.add(at)
        if at != i < len(texts) - 1 and _repeats(texts[i], texts[at]):
            repeated[i] = starts[i], starts[i + 1], ""
        place = starts[at], starts[at] + len(texts[at]), _write_caption(texts[at], stated)
        found.append((Figure(*place, hash_picture(data), figure.page), data))
    titles = (replace(each, title=_clean(each.title)) for each in document.headings)
    document = replace(
        document, title=_clean(document.title), headings=tuple(titles), **hold_figures(found)
    )
    return edit_text(document, [repeated[i] for i in sorted(repeated)])


def _repeats(text: str, caption: str) -> bool:
    """Check whether a text is only the alternative of a picture, in the words of its caption."""
    alternative = _ALTERNATIVE.fullmatch(text)
    return alternative is not None and alternative[1].casefold() in caption.casefold()


def _clean(title: str) -> str:
    return collapse(re.sub(_MARKS, " ", title))


def is_caption(text: str) -> bool:
    """Check whether a text begins with the number of a figure, as in "Figure 3: ..."."""
    begin = _CAPTION.match(text[:20])
    return begin is not None and bool(find_figure_numbers(begin[0]))


def _write_caption(text: str, stated: str) -> str:
    """Return the caption of a picture that stands at a text, else what its file states."""
    alternative = _ALTERNATIVE.match(text)
    own = text if is_caption(text) else stated or (alternative[1] if alternative else "")
    return collapse(own)[:_LONGEST] if " " in own.strip() else ""


def hash_picture(data: bytes) -> str:
    """Return the address of a picture."""
    return blake2b(data, digest_size=16).hexdigest()


def hold_figures(found: Iterable[tuple[Figure, bytes]]) -> dict[str, Any]:
    """Return the fields of a document with its figures, without what it repeats."""
    distinct = dict(sorted(found, key=lambda each: each[0].start))
    times = Counter(figure.address for figure in distinct)
    kept = [each for each in distinct.items() if times[each[0].address] < _REPEATED]
    sizes = accumulate(len(data) for _, data in kept)
    kept = kept[: sum(size <= _MOST_TOTAL for size in sizes)]
    pictures = {figure.address: data for figure, data in kept}
    return {"figures": tuple(figure for figure, _ in kept), "pictures": pictures}
