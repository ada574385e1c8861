"""Read the headers and footers of pages."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.readers.titled import MarkedParagraph
from clew.text.normalize import collapse

_PAGE = re.compile(  # "Page 3 of 7", "- 3 -", "3/7"
    r"[-–—\s]*(?:[^\W\d]+\.?\s+)?\d*(?:\s*(?:[^\W\d]+|/|\|)\s*\d*)?[-–—\s]*"
)


class PageEdge(NamedTuple):
    """The header or footer of a page, and whether it contains the page number."""

    kind: str  # "Header" or "Footer"
    text: str
    is_numbered: bool = False


def read_edges(edges: Iterable[PageEdge]) -> Iterator[MarkedParagraph]:
    """Yield the distinct headers and footers, without plain page numbers."""
    texts = dict.fromkeys(
        f"{each.kind}: {text}"
        for each in edges
        if (text := collapse(each.text)) and not (each.is_numbered and _PAGE.fullmatch(text))
    )
    yield from map(MarkedParagraph, texts)
