"""What people wrote onto a page of a PDF: form fields with their values, and notes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from clew.readers.decode import replace_surrogates

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_MOST_BYTES = 1 << 20  # of a value
_OFF = frozenset(("", "Off"))  # values of a box that is not checked
_HIDDEN = 2  # the flag of what is not shown


def describe_form(pdf: PdfDocument) -> Iterator[str]:
    """Yield notes on what of a document is not read: fields that only Acrobat fills, and files."""
    from pypdfium2 import raw

    if pdf.get_formtype() == raw.FORMTYPE_XFA_FULL:
        yield "its form is an XFA form, which is not read"
    if n := pdf.count_attachments():
        yield f"{n:,} attached {'file' if n == 1 else 'files'} not read"


def read_fields(pdf: PdfDocument, page: PdfPage) -> list[str]:
    """Return a line for each form field of a page that is filled in, and for each note.

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
    """Return what a function of PDFium writes in UTF-16 into a buffer."""
    size = get(*arguments, None, 0)
    if not 2 < size <= _MOST_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(size)
    from pypdfium2.raw import FPDF_WCHAR

    get(*arguments, ctypes.cast(buffer, ctypes.POINTER(FPDF_WCHAR)), size)
    words = buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")
    return replace_surrogates("\n".join(" ".join(line.split()) for line in words.splitlines()))
