"""PDF: the text is what pypdf extracts, lines as laid out, pages joined by blank lines.

A PDF does not know its paragraphs, so lines stay lines. `metadata["pages"]` is a JSON list with the
character at which each page begins. The title is the one in the PDF, else the file name. Needs the
extra `docs`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING

from clew.errors import UnreadableSource
from clew.readers.decode import SURROGATE
from clew.readers.extras import needs
from clew.readers.titled import extracted
from clew.readers.walk import File
from clew.types import Document

if TYPE_CHECKING:
    from pypdf import PdfReader

# What pypdf lets through where a PDF is broken; its documentation says that it may be anything.
_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    zlib.error,
)


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a PDF."""
    with needs("pypdf", "docs", "reading a PDF file"):
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    data = file.path.read_bytes()
    try:
        pdf = PdfReader(BytesIO(data))
        pages = [_page_text(page.extract_text()) for page in pdf.pages]
        title = _title(pdf)
    except (FileNotDecryptedError, DependencyError):
        reason = "is an encrypted PDF; save it without a password"
        raise UnreadableSource(file.source, reason) from None
    except (PyPdfError, *_DAMAGE):
        raise UnreadableSource(file.source, "is a broken PDF file") from None
    if not any(pages):
        raise UnreadableSource(file.source, "holds no text; scanned pages need OCR first")
    starts = accumulate((len(page) + 2 for page in pages[:-1]), initial=0)
    yield extracted(file, pages, title, {"pages": json.dumps(list(starts))})


def _page_text(text: str) -> str:
    lines = (line.rstrip() for line in text.split("\n"))
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines)).strip("\n")


def _title(pdf: PdfReader) -> str:
    title = pdf.metadata.title if pdf.metadata else None
    return SURROGATE.sub("", str(title or ""))
