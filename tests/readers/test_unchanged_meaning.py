"""What a file shows keeps its meaning as plain text: raised digits, struck-out text."""

from io import BytesIO

import docx
import pytest

from clew.limits import ReadingLimits
from clew.readers import read


def test_raised_and_lowered_text_of_word(document):
    """Also where Word splits a number into several runs."""
    made = docx.Document()
    paragraph = made.add_paragraph("Over 10")
    for raised in ("-", "6"):
        paragraph.add_run(raised).font.superscript = True
    paragraph.add_run(" m of CO")
    paragraph.add_run("2").font.subscript = True
    paragraph.add_run("0").font.strike = True
    sink = BytesIO()
    made.save(sink)
    found = document("a.docx", sink.getvalue())
    assert found.text == "Over 10⁻⁶ m of CO₂"
    assert found.partly == ("1 struck-out passage not read",)


def test_a_sheet_that_reaches_too_far_is_refused_before_it_is_read(write):
    """Two cells at its corners would take gigabytes."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", "b"
    sink = BytesIO()
    book.save(sink)
    (skipped,) = read([write("a.xlsx", sink.getvalue())], limits=ReadingLimits())
    assert "has a sheet over more than 20,000,000 cells" in skipped.reason


def test_pictures_of_word_say_their_alternative_text(document, tmp_path):
    """The note that they are not read stays."""
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("RGB", (4, 4)).save(tmp_path / "a.png")
    made = docx.Document()
    run = made.add_paragraph("Sales: ").add_run()
    shape = run.add_picture(str(tmp_path / "a.png"))
    shape._inline.docPr.set("descr", "They rose by 4 %")  # noqa: SLF001 -- python-docx has no name
    sink = BytesIO()
    made.save(sink)
    found = document("a.docx", sink.getvalue())
    assert found.text == "Sales: [Picture: They rose by 4 %]"
    assert found.partly == ("1 picture not read",)
