"""XML: the text is that of its elements, joined by blank lines.

An element inside a text, as `<em>` in `<p>one <em>two</em></p>`, goes on with its paragraph; any
other is a paragraph. The title is the first `<title>`, else the file name.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from clew.errors import UnreadableSource
from clew.readers import xml_tree
from clew.readers.titled import make_document
from clew.readers.walk import File
from clew.types import Document


def read(file: File) -> Iterator[Document]:
    """Yield the one document of an XML file."""
    try:
        root = xml_tree.parse_xml(file.path.read_bytes())
    except ValueError as error:
        raise UnreadableSource(file.source, str(error)) from None
    title = next((" ".join(found.itertext()) for found in root.iter("title")), "")
    yield make_document(file, list(_paragraphs(root)), title)


def _paragraphs(root: Element) -> Iterator[str]:
    stack = [root]
    while stack:
        element = stack.pop()
        if _has_words(element):
            yield " ".join("".join(element.itertext()).split())
        else:
            stack += reversed(element)


def _has_words(element: Element) -> bool:
    own = [element.text, *(child.tail for child in element)]
    return any(piece and piece.strip() for piece in own)
