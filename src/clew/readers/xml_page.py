"""Read XML: the text of its elements, joined by blank lines.

An element inside a text, as `<em>` in `<p>one <em>two</em></p>`, goes on with its paragraph; any
other is a paragraph. The title is the first `<title>`, else the file name.
"""

import re
from collections.abc import Iterator
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from clew.base.types import Document
from clew.errors import UnreadableSource
from clew.readers.decode import decode_part, find_stated
from clew.readers.titled import make_document
from clew.readers.walk import File

STATED = re.compile(rb"<\?xml[^<>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)")


def read(file: File) -> Iterator[Document]:
    """Yield an XML file as one document."""
    data = file.path.read_bytes()
    try:
        root = _parse_decoded(data, file)
    except ValueError as error:
        raise UnreadableSource(file.source, str(error)) from None
    title = next((" ".join(element.itertext()) for element in root.iter("title")), "")
    yield make_document(file, list(_paragraphs(root)), title)


def _parse_decoded(data: bytes, file: File) -> Element:
    """Return the root, even with invalid bytes or an encoding unknown to expat.

    Raises ValueError as `parse_xml` does.
    """
    try:
        return parse_xml(data)
    except ValueError:
        text = decode_part(data, file, find_stated(data, STATED)).encode()
        if text == data:
            raise
    return parse_xml(text, "utf-8")


def _paragraphs(root: Element) -> Iterator[str]:
    stack = [root]
    while stack:
        element = stack.pop()
        own = [element.text, *(child.tail for child in element)]
        if any(piece and piece.strip() for piece in own):
            yield " ".join("".join(element.itertext()).split())
        else:
            stack += reversed(element)


def parse_xml(data: bytes, encoding: str | None = None) -> Element:
    """Return the root, parsed by expat without expanding entities or fetching anything.

    Names are without their namespace. An `encoding` counts instead of the one that is stated.
    Raises ValueError with the reason where the data is not XML or declares entities.
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: builder.start(
        _local(name), {_local(key): value for key, value in attributes.items()}
    )
    parser.EndElementHandler = lambda name: builder.end(_local(name))
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"is not valid XML: {error}") from None
    except LookupError:
        raise ValueError("is in an encoding that is not known; save it as UTF-8") from None
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse(*_: object) -> NoReturn:
    raise ValueError("declares entities, which are not expanded; save it without them")
