"""Word (.docx): the text is its paragraphs joined by blank lines; a table row is one paragraph.

The cells of a row are set apart by ` | `. The title is the one in the document's properties, else
the first paragraph in the style Title or Heading 1, else the file name. Needs the extra `files`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from clew.errors import UnreadableSource
from clew.readers.archive import refuse_bomb
from clew.readers.extras import needs
from clew.readers.properties import properties
from clew.readers.titled import MarkedParagraph, extracted
from clew.readers.walk import File
from clew.types import Document, Value

_HEADING = re.compile(r"Heading ([1-9])")  # the styles of headings, in any language of Word

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.table import Table


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a Word file."""
    with needs("python-docx", "files", "reading a Word file"):
        import docx
        from docx.opc.exceptions import OpcError
        from docx.oxml.exceptions import XmlchemyError

    data = file.path.read_bytes()
    refuse_bomb(file, "Word file")
    try:
        word = docx.Document(BytesIO(data))
        paragraphs = [each for each in _paragraphs(word) if each.text.strip()]
        title, about = _title(word), _about(word)
    except (OpcError, BadZipFile, SyntaxError, zlib.error, EOFError):  # lxml's are SyntaxErrors
        reason = "is a broken or encrypted Word file, or none"
        raise UnreadableSource(file.source, reason) from None
    except (XmlchemyError, KeyError, ValueError, RuntimeError, AttributeError, TypeError):
        # python-docx looks up parts (KeyError), their kinds (ValueError, AttributeError), where
        # they lead (TypeError) and attributes (its own); zipfile does not decrypt (RuntimeError)
        raise UnreadableSource(file.source, "is not a complete Word file") from None
    yield extracted(file, paragraphs, title, about)


def _paragraphs(word: WordDocument) -> Iterator[MarkedParagraph]:
    from docx.text.paragraph import Paragraph

    for block in word.iter_inner_content():
        if isinstance(block, Paragraph):
            style = block.style.name if block.style is not None else None
            level = _HEADING.fullmatch(style or "")
            kind = "contents" if (style or "").casefold().startswith("toc ") else ""
            yield MarkedParagraph(block.text, int(level[1]) if level else 0, kind)
        else:
            yield from map(MarkedParagraph, _rows(block))


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells = dict.fromkeys(cell.text.strip() for cell in row.cells)  # a merged cell comes twice
        yield " | ".join(cell for cell in cells if cell)


def _about(word: WordDocument) -> dict[str, Value]:
    core = word.core_properties
    names = ("author", "category", "created", "keywords", "language", "modified", "subject")
    described = ("description", core.comments)
    return properties([*((name, getattr(core, name)) for name in names), described])


def _title(word: WordDocument) -> str:
    headings = (
        paragraph.text
        for paragraph in word.paragraphs
        if paragraph.style is not None and paragraph.style.name in ("Title", "Heading 1")
    )
    return word.core_properties.title or next(headings, "")
