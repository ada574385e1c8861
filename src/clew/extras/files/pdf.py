"""Read PDF: text as PDFium extracts it, lines as laid out, pages joined by blank lines.

A PDF does not know its paragraphs, so lines stay lines. Words that are hyphenated at the end of a
line are joined, and running heads and page numbers are dropped (see `page_lines`). Tables have bars
between their cells where these stand in columns (see `pdf_tables`); raised and lowered digits are
as in `clew.readers.superscripts`.
Form fields that are filled in and notes stand behind their page. Pages that hold nothing but
pictures are read by OCR where the file says so, and a note counts them, as one does attached files.
The document has its pages and figures (see `pdf_figures`), and bookmarks are its headings. The
title is the one in the PDF, else the file name. Needs the extra `pdf`.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Any

from clew.base.runtime.arguments import SURROGATE
from clew.base.runtime.lazy import needs
from clew.base.types import OCR, Document, Heading
from clew.errors import UnreadableSource
from clew.extras.files import ocr
from clew.extras.files.page_lines import (
    join_divided_words,
    mark_divided_words,
    without_running_heads,
)
from clew.extras.files.pdf_figures import find_figures, place_figures
from clew.extras.files.pdf_tables import mark_cells
from clew.readers.decode import replace_surrogates
from clew.readers.pictures import HINT
from clew.readers.properties import properties
from clew.readers.titled import make_document, stated_title
from clew.readers.walk import File
from clew.text.normalize import collapse

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_ABOUT = {
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "CreationDate": "created",
    "ModDate": "modified",
}
_ONE_AT_A_TIME = Lock()  # PDFium must not be called by two threads at once
_LEAST_SEARCHED, _TIMES_SEARCHED = 1_000_000, 20  # characters in which bookmarks are looked for
_SCAN_DPI, _POINTS = 300, 72  # the most dots an inch, of as many points, at which a page is drawn
_MOST_BYTES = 1 << 20  # of the value of a form field
_OFF = frozenset(("", "Off"))  # values of a box that is not checked
_HIDDEN = 2  # the flag of an annotation that is not shown


def read(file: File) -> Iterator[Document]:
    """Yield a PDF as one document."""
    with needs("pypdfium2", "pdf", "reading a PDF file"):
        import pypdfium2
        from pypdfium2.raw import FPDF_ERR_PASSWORD

    data = file.path.read_bytes()
    if document := ocr.keep_unchanged(file, data):
        yield document
        return
    scans = dict[int, ocr.RecognizedPage]()  # by number of page, from 1
    try:
        with _ONE_AT_A_TIME, closing(pypdfium2.PdfDocument(data)) as pdf:
            pdf.init_forms()
            texts, fields, bare, drawn = [], [], [], []
            for number in range(len(pdf)):
                with closing(pdf[number]) as page, closing(page.get_textpage()) as text_page:
                    text = mark_cells(text_page.get_text_bounded(errors="replace"), text_page)
                    fields.append(read_fields(pdf, page))
                    drawn.append(list(find_figures(page, text_page)))
                    if not text.strip() and next(page.get_objects(max_depth=1), None):
                        bare.append(number + 1)
                        if file.ocr:
                            scans[number + 1] = page_scan = _read_scan(page)
                            text = mark_divided_words(page_scan.text)
                texts.append(replace_surrogates(text))
            file.partly.extend(describe_form(pdf))
            title = stated_title(SURROGATE.sub("", pdf.get_metadata_value("Title")))
            about = properties((own, pdf.get_metadata_value(name)) for name, own in _ABOUT.items())
            outline = list(_outline(pdf))
    except pypdfium2.PdfiumError as error:
        is_encrypted = error.err_code == FPDF_ERR_PASSWORD
        reason = "is an encrypted PDF; save it without a password"
        raise UnreadableSource(
            file.source, reason if is_encrypted else "is a broken PDF file"
        ) from None
    words = without_running_heads(join_divided_words(texts))
    pages = ["\n\n".join(filter(None, (p, *f))) for p, f in zip(words, fields, strict=True)]
    if not any(pages):
        scanned = "that OCR reads" if file.ocr else f"scanned? {HINT}"
        raise UnreadableSource(file.source, f"holds no text{' ' if file.ocr else ': '}{scanned}")
    if scans:
        file.partly.extend(ocr.describe_pages(scans, len(pages)))
        about[OCR] = ocr.hash_file(data)
    elif bare:
        file.partly.append(ocr.describe_bare(bare, len(pages)))
    starts = list(accumulate((len(page) + 2 for page in pages[:-1]), initial=0))
    headings = list(_headings(outline, pages, starts))
    document = make_document(file, pages, title, about, pages=starts, headings=headings)
    yield replace(document, **place_figures(drawn, pages, starts))


def _read_scan(page: PdfPage) -> ocr.RecognizedPage:
    """Return the text that OCR recognises on a page."""
    scale = min(ocr.SIDE / max(page.get_size()), _SCAN_DPI / _POINTS)
    with closing(page.render(scale=scale)) as bitmap:
        return ocr.recognize(bitmap.to_numpy())


def _outline(pdf: PdfDocument) -> Iterator[tuple[int, int, str]]:
    """Yield the page, level and title of each bookmark that leads to a page."""
    for mark in pdf.get_toc():
        target = mark.get_dest()
        page = None if target is None else target.get_index()
        title = collapse(SURROGATE.sub("", mark.get_title()))
        if page is not None and title:
            yield page, mark.level + 1, title


def _headings(
    outline: Sequence[tuple[int, int, str]], pages: Sequence[str], starts: Sequence[int]
) -> Iterator[Heading]:
    """Yield bookmarks as headings, at the line with their title, else at the start of their page.

    One that leads to a page before that of the one before it is left out. Many times as many
    bookmarks as pages have are not all looked for: the last of them are at the beginning.
    """
    least = 0
    budget = _LEAST_SEARCHED + _TIMES_SEARCHED * sum(map(len, pages))
    for page, level, title in outline:
        words = r"\s+".join(map(re.escape, title.split()))
        line = re.compile(
            rf"^[ \t]*(?:\w+[ \t]+)?(?:[\dA-Z.]+[ \t]+)?{words}", re.MULTILINE | re.IGNORECASE
        )
        first = max(least - starts[page], 0)
        match = line.search(pages[page], first) if budget > 0 else None
        budget -= max((match.start() if match else len(pages[page])) - first, 0)
        start = starts[page] + (match.start() if match else 0)
        if start >= least:
            yield Heading(start, level, title)
            least = start


def describe_form(pdf: PdfDocument) -> Iterator[str]:
    """Yield notes on unread parts of a PDF: Acrobat-only form fields, and attachments."""
    from pypdfium2 import raw

    if pdf.get_formtype() == raw.FORMTYPE_XFA_FULL:
        yield "its form is an XFA form, which is not read"
    if n := pdf.count_attachments():
        yield f"{n:,} attached {'file' if n == 1 else 'files'} not read"


def read_fields(pdf: PdfDocument, page: PdfPage) -> list[str]:
    """Return the filled-in form fields and the notes of a page, one line each.

    The forms of the document are initialized. A field is its label and its value.
    """
    from pypdfium2 import raw

    lines: dict[str, None] = {}
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        if annotation:
            if not raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
                lines[_describe_annotation(pdf, annotation)] = None
            raw.FPDFPage_CloseAnnot(annotation)
    return [line for line in lines if line]


def _describe_annotation(pdf: PdfDocument, annotation: Any) -> str:  # noqa: ANN401 -- a C pointer
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if kind == raw.FPDF_ANNOT_WIDGET:
        return _describe_field(pdf, annotation) if pdf.formenv else ""
    if kind in (raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_LINK):  # of another one, and of no words
        return ""
    words = _read_text(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
    return f"Note: {words}" if words else ""


def _describe_field(pdf: PdfDocument, widget: Any) -> str:  # noqa: ANN401 -- a C pointer
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(pdf.formenv, widget)
    if kind in (raw.FPDF_FORMFIELD_PUSHBUTTON, raw.FPDF_FORMFIELD_SIGNATURE):
        return ""
    label = _read_text(raw.FPDFAnnot_GetFormFieldAlternateName, pdf.formenv, widget)
    label = label or _read_text(raw.FPDFAnnot_GetFormFieldName, pdf.formenv, widget)
    value = _read_text(raw.FPDFAnnot_GetFormFieldValue, pdf.formenv, widget)
    is_box = kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
    if not value or (is_box and value in _OFF):
        return ""
    return f"{label}: {value}" if label else value


def _read_text(get: Callable[..., int], *arguments: object) -> str:
    """Return the UTF-16 text that a PDFium function writes into a buffer."""
    size = get(*arguments, None, 0)
    if not 2 < size <= _MOST_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(size)
    from pypdfium2.raw import FPDF_WCHAR

    get(*arguments, ctypes.cast(buffer, ctypes.POINTER(FPDF_WCHAR)), size)
    words = buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")
    return replace_surrogates("\n".join(" ".join(line.split()) for line in words.splitlines()))
