"""Slides, OpenDocument, RTF, spreadsheets, EPUB: what of a file is text, and what is refused."""

import pytest

from clew.limits import ReadingLimits
from clew.readers import read
from tests.readers.writers import OFFICE, OOXML, RELATIONS, packed, relation

NAMES = f"xmlns:o='{OFFICE}:office:1.0' xmlns:t='{OFFICE}:text:1.0' xmlns:b='{OFFICE}:table:1.0'"


def slide(*lines):
    paragraphs = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return f"<p:sld xmlns:p='p' xmlns:a='a'>{paragraphs}</p:sld>"


TITLED = "<c:m xmlns:c='c' xmlns:d='d'><d:title>Clews</d:title></c:m>"
SLIDES = {f"ppt/slides/slide{n}.xml": slide(f"Slide {n}", "of <a:br/>") for n in (10, 2)}
CONTENT = (
    f"<o:document-content {NAMES}><o:body><t:h>Threads</t:h>"
    "<t:p>One<t:s/>red<t:line-break/>two</t:p>"
    "<b:table><b:table-row><b:table-cell><t:p>a</t:p></b:table-cell>"
    "<b:table-cell><t:p>b</t:p></b:table-cell></b:table-row></b:table></o:body></o:document-content>"
)
BOOK = {
    "META-INF/container.xml": "<c xmlns='u'><rootfile full-path='in/book.opf'/></c>",
    "in/book.opf": "<p xmlns:dc='d'><dc:title>Clews</dc:title><manifest>"
    "<item id='n' href='nav.xhtml' media-type='application/xhtml+xml' properties='nav'/>"
    "<item id='b' href='b%20b.xhtml' media-type='application/xhtml+xml'/>"
    "<item id='a' href='a.xhtml' media-type='application/xhtml+xml'/></manifest>"
    "<spine><itemref idref='n'/><itemref idref='b'/><itemref idref='a'/></spine></p>",
    "in/a.xhtml": "<html><body><p>last</p></body></html>",
    "in/b b.xhtml": "<html><head><title>x</title></head><body><p>first</p></body></html>",
    "in/nav.xhtml": "<html><body><p>contents</p></body></html>",
}


SHEET = {
    "[Content_Types].xml": f"<Types xmlns='{OOXML}/package/2006/content-types'/>",
    "_rels/.rels": relation("officeDocument", "xl/workbook.xml"),
    "xl/workbook.xml": f"<workbook xmlns='{OOXML}/spreadsheetml/2006/main' xmlns:r='{RELATIONS}'>"
    "<sheets><sheet name='Ships' sheetId='1' r:id='r1'/></sheets></workbook>",
    "xl/_rels/workbook.xml.rels": relation("worksheet", "worksheets/sheet1.xml"),
    "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{OOXML}/spreadsheetml/2006/main'><sheetData>"
    "<row r='1'><c r='A1' t='inlineStr'><is><t>Fram</t></is></c><c r='B1'><v>1892</v></c></row>"
    "<row r='3'><c r='A3'><v>1.5</v></c></row></sheetData></worksheet>",
}
RTF = r"{\rtf1\ansi{\fonttbl{\f0 Arial;}}{\b Red} thread\par caf\'e9 \u8212? x\par}"


@pytest.mark.parametrize(
    ("name", "content", "title", "text"),
    [
        ("my-a.pptx", packed(SLIDES), "Slide 2", "Slide 2\n\nof\n\nSlide 10\n\nof"),
        (
            "my-a.pptx",
            packed({**SLIDES, "docProps/core.xml": TITLED}),
            "Clews",
            "Slide 2\n\nof\n\nSlide 10\n\nof",
        ),
        (
            "my-a.odt",
            packed({"content.xml": CONTENT}),
            "Threads",
            "Threads\n\nOne red\ntwo\n\na | b",
        ),
        (
            "my-a.odp",
            packed({"content.xml": CONTENT, "meta.xml": TITLED}),
            "Clews",
            "Threads\n\nOne red\ntwo\n\na | b",
        ),
        ("my-a.rtf", RTF, "my a", "Red thread\n\ncafé — x"),
        ("my-a.epub", packed(BOOK), "Clews", "first\n\nlast"),
        ("my-a.xlsx", packed(SHEET), "my a", "Ships\n\nFram | 1892\n\n1.5 |"),
    ],
)
def test_the_text_of_a_file(document, name, content, title, text):
    """Paragraphs are joined by blank lines, a row of a table is one; slides come by number."""
    found = document(name, content)
    assert (found.title, found.text) == (title, text)


KINDS = {
    "pptx": "PowerPoint file",
    "odt": "OpenDocument file",
    "odp": "OpenDocument file",
    "epub": "EPUB file",
    "xlsx": "spreadsheet",
    "xls": "spreadsheet",
    "ods": "spreadsheet",
    "docx": "Word file",
}


@pytest.mark.parametrize(("suffix", "kind"), KINDS.items())
@pytest.mark.parametrize("content", [b"words", packed(BOOK)[:-200]], ids=["none", "cut"])
def test_a_broken_file_is_skipped(skipped, suffix, kind, content):
    """One sentence says of which kind it should be."""
    reason = f"is a broken or encrypted {kind}, or not one"
    assert skipped(f"a.{suffix}", content) == [f"a.{suffix}: {reason}"]


@pytest.mark.parametrize("suffix", ["pptx", "odt", "epub", "xlsx"])
def test_another_zip_file_is_skipped(skipped, suffix):
    """A part that must be there is missing."""
    (said,) = skipped(f"a.{suffix}", packed({"x": "y"}))
    assert said == f"a.{suffix}: is a broken or encrypted {KINDS[suffix]}, or not one"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.rtf", "words", "is not an RTF file"),
        ("a.rtf", r"{\rtf1}", "holds no text"),
        ("a.pptx", packed({"ppt/slides/slide1.xml": slide()}), "holds no text"),
    ],
)
def test_what_holds_no_text_is_skipped(skipped, name, content, reason):
    """Empty and foreign files are told apart."""
    assert skipped(name, content) == [f"{name}: {reason}"]


@pytest.mark.parametrize("suffix", sorted(KINDS.keys() - {"xls"}))
def test_a_zip_bomb_is_not_unpacked(write, suffix):
    """What a file says of its size is enough to refuse it."""
    path = write(f"a.{suffix}", packed({"content.xml": bytes(5 << 20)}))
    [found] = read([path], limits=ReadingLimits(unpacked_bytes=2 << 20))
    assert found.reason == (
        "unpacks to more than 2,097,152 bytes: --limit unpacked_bytes=8388608 reads it"
    )


def test_entities_are_not_expanded(skipped):
    """A part that declares some is refused."""
    content = "<!DOCTYPE a [<!ENTITY b 'c'>]>" + CONTENT
    (said,) = skipped("a.odt", packed({"content.xml": content}))
    assert said == "a.odt: is a broken or encrypted OpenDocument file, or not one"
