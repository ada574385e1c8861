"""What people wrote onto a PDF is read: form fields and notes. Scanned pages are counted."""

import io

import pypdf
import pytest
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    TextStringObject,
)

from tests.readers.writers import pdf, saved

DRAWING = ") Tj ET 0 0 99 99 re f BT /F1 12 Tf ("  # ends the text of a page, and begins another
HINT = "scanned? --ocr reads pictures (pip install 'clew[ocr]')"
BOX = ArrayObject([FloatObject(each) for each in (72, 600, 300, 620)])


def value(given):
    if isinstance(given, str):
        return NameObject(given) if given.startswith("/") else TextStringObject(given)
    return NumberObject(given) if isinstance(given, int) else given


def entry(**given):
    return DictionaryObject({NameObject(f"/{name}"): value(each) for name, each in given.items()})


def annotated(*annotations, attached=(), form="AcroForm"):
    """Write a PDF of two pages, the first with annotations, of which widgets are fields."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Application", "Second page.")))
    made = [
        writer._add_object(entry(Type="/Annot", Rect=BOX, **each))  # noqa: SLF001
        for each in annotations
    ]
    writer.pages[0][NameObject("/Annots")] = ArrayObject(made)
    fields = [ref for ref, each in zip(made, annotations, strict=True) if "FT" in each]
    writer.root_object[NameObject(f"/{form}")] = entry(Fields=ArrayObject(fields), DA="/H 0 Tf")
    for name in attached:
        writer.add_attachment(name, b"a,b\n")
    return saved(writer.write)


def field(kind, name, given, **more):
    return {"Subtype": "/Widget", "FT": kind, "T": name, "V": given, **more}


@pytest.mark.parametrize(
    ("annotation", "line"),
    [
        (field("/Tx", "surname", "Tegetthoff"), "surname: Tegetthoff"),
        (field("/Tx", "f1", "Tegetthoff", TU="Surname"), "Surname: Tegetthoff"),
        (field("/Tx", "remarks", "First.\r\nSecond."), "remarks: First.\nSecond."),
        (field("/Ch", "city", "Zürich", Ff=1 << 17), "city: Zürich"),
        (field("/Btn", "agree", "/Yes", AS="/Yes"), "agree: Yes"),
        (field("/Btn", "agree", "/Off", AS="/Off"), ""),
        (field("/Tx", "empty", ""), ""),
        (field("/Tx", "hidden", "x", F=2), ""),
        (field("/Btn", "button", "/Go", Ff=1 << 16), ""),
        ({"Subtype": "/Text", "Contents": "Due on 9 April."}, "Note: Due on 9 April."),
        ({"Subtype": "/FreeText", "Contents": "Größe 7"}, "Note: Größe 7"),
        ({"Subtype": "/Highlight", "Contents": "Ask Oslo."}, "Note: Ask Oslo."),
        ({"Subtype": "/Popup", "Contents": "Due"}, ""),
        ({"Subtype": "/Link", "Contents": "a.example"}, ""),
    ],
)
def test_fields_and_notes_stand_behind_their_page(document, annotation, line):
    """Those that are filled in and seen, with their labels."""
    found = document("a.pdf", annotated(annotation))
    assert found.text.split("\n\n") == [*filter(None, ["Application", line]), "Second page."]
    assert found.text[found.pages[1] :] == "Second page."


def test_pages_without_text_are_counted(document):
    """Those that show something; an empty page lacks nothing."""
    found = document("a.pdf", pdf("Cover", DRAWING, "", DRAWING, DRAWING))
    assert found.partly == (f"3 of 5 pages hold no text (2, 4-5): {HINT}",)
    assert document("b.pdf", pdf("Cover", DRAWING)).partly == (
        f"1 of 2 pages holds no text (2): {HINT}",
    )


def test_a_form_that_is_filled_in_on_a_scan_is_read(document):
    """Its fields are its text."""
    content = annotated(field("/Tx", "surname", "Tegetthoff")).replace(b"(Application)", b"()")
    assert document("a.pdf", content).text.startswith("surname: Tegetthoff")


def test_attached_files_are_counted(document):
    """They are no pages."""
    assert document("a.pdf", annotated(attached=("a.csv", "b.csv"))).partly == (
        "2 attached files not read",
    )
