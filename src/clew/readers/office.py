"""Slides, OpenDocument texts and RTF: the text is the paragraphs, joined by blank lines.

The cells of a table's row are set apart by ` | `. The title is the one in the file's properties,
else the first heading or the first slide's first line, else the file name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from xml.etree.ElementTree import Element

from clew.errors import UnreadableSource
from clew.readers.archive import ArchiveParts, parts_of
from clew.readers.decode import SURROGATE
from clew.readers.extras import needs
from clew.readers.properties import of_xml
from clew.readers.titled import MarkedParagraph, extracted
from clew.readers.walk import File
from clew.types import Document, Value

_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
_WHITE = {"tab": " ", "s": " ", "line-break": "\n", "br": "\n"}
_NOT_TEXT = frozenset(("annotation", "tracked-changes", "sequence-decls", "forms"))


def read_slides(file: File) -> Iterator[Document]:
    """Yield the one document of a PowerPoint file (.pptx)."""
    with parts_of(file, "PowerPoint file") as parts:
        numbers = sorted(int(found[1]) for name in parts.names if (found := _SLIDE.fullmatch(name)))
        if not numbers:
            raise ValueError("has no slides")
        slides = [list(_texts(parts.xml(f"ppt/slides/slide{number}.xml"))) for number in numbers]
        paragraphs = [paragraph for slide in slides for paragraph in slide]
        title, about = _about(parts, "docProps/core.xml")
    title = title or (paragraphs or [MarkedParagraph("")])[0].text
    yield extracted(file, paragraphs, title, about, pages=_page_starts(slides))


def read_open_document(file: File) -> Iterator[Document]:
    """Yield the one document of a text or of slides (.odt, .odp)."""
    with parts_of(file, "OpenDocument file") as parts:
        content = parts.xml("content.xml")
        heading = next((_words(found) for found in content.iter("h")), "")
        title, about = _about(parts, "meta.xml")
        slides = [list(_texts(page)) for page in content.iter("page")]
        paragraphs = [each for slide in slides for each in slide] or list(_texts(content))
    yield extracted(file, paragraphs, title or heading, about, pages=_page_starts(slides))


def read_rtf(file: File) -> Iterator[Document]:
    """Yield the one document of a file in Rich Text Format."""
    with needs("striprtf", "files", "reading an RTF file"):
        from striprtf.striprtf import rtf_to_text

    source = file.path.read_bytes()
    if not source.lstrip().startswith(b"{\\rtf"):
        raise UnreadableSource(file.source, "is not an RTF file")
    try:
        text = rtf_to_text(source.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UnreadableSource(file.source, "is a broken RTF file") from None
    lines = (line.strip() for line in SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).split("\n"))
    yield extracted(file, [line for line in lines if line.strip(" |")], "")


def _about(parts: ArchiveParts, name: str) -> tuple[str, dict[str, Value]]:
    """Return the title and the other properties that a part has."""
    if name not in parts.names:
        return "", {}
    root = parts.xml(name)
    return next((" ".join(found.itertext()) for found in root.iter("title")), ""), of_xml(root)


def _page_starts(slides: Sequence[Sequence[MarkedParagraph]]) -> list[int]:
    """Return the character at which each slide begins; one without words, where the next does."""
    lengths = (sum(len(each.text) + 2 for each in slide) for slide in slides[:-1])
    return list(accumulate(lengths, initial=0)) if slides else []


def _texts(root: Element) -> Iterator[MarkedParagraph]:
    """Yield paragraphs, headings and the rows of tables."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag in ("table-row", "tr"):
            cells = (" ".join(_texts_below(cell)) for cell in element)
            text = " | ".join(cell for cell in cells if cell)
        elif element.tag in ("p", "h"):
            text = _words(element)
        else:
            stack += [child for child in reversed(element) if child.tag not in _NOT_TEXT]
            continue
        if text:
            yield MarkedParagraph(text, _level(element))


def _level(element: Element) -> int:
    """Return the level of a heading of OpenDocument, 0 for what is none."""
    level = element.get("outline-level", "1")
    return int(level) if element.tag == "h" and level.isdecimal() else 0


def _texts_below(cell: Element) -> Iterator[str]:
    return (text for found in cell.iter() if found.tag in ("p", "h") and (text := _words(found)))


def _words(paragraph: Element) -> str:
    for element in paragraph.iter():
        if element.tag in _WHITE:
            element.text = _WHITE[element.tag]
    lines = "".join(paragraph.itertext()).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines).strip()
