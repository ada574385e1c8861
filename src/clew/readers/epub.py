"""EPUB: the text is that of its pages in reading order, paragraphs joined by blank lines."""

from collections.abc import Iterator
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from clew.readers import html_page, xml_page
from clew.readers.archive import ArchiveParts, parts_of
from clew.readers.decode import decode_part, find_stated
from clew.readers.properties import of_xml
from clew.readers.titled import make_document
from clew.readers.walk import File
from clew.types import Document


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a book."""
    with parts_of(file, "EPUB file") as parts:
        package, pages = _package(parts)
        title = next((" ".join(element.itertext()) for element in package.iter("title")), "")
        contents = map(parts.data, pages)
        texts = (decode_part(data, file, find_stated(data, xml_page.STATED)) for data in contents)
        read = (html_page.paragraphs(text, file.limits) for text in texts)
        paragraphs = [paragraph for page in read for paragraph in page]
    yield make_document(file, paragraphs, title, of_xml(package))


def _package(parts: ArchiveParts) -> tuple[Element, list[str]]:
    """Return what a book says of itself, and the names of its pages, each once.

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
