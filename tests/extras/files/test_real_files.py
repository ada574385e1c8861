"""What real files have and small examples have not: notes, text boxes, odd encodings, waste."""

import docx
import pytest
from docx.oxml import parse_xml

from clew.base.types import Skipped
from clew.readers import read
from clew.readers.selection import BY_DEFAULT
from clew.readers.titled import stated_title
from tests.readers.writers import OFFICE, OOXML, packed, saved

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def word(*blocks, footnotes=""):
    """Write a Word file of the given XML, with the footnotes that its marks stand for."""
    file = docx.Document()
    body = file.element.body
    for block in blocks:
        head, _, rest = block.partition(">")
        body.insert(len(body) - 1, parse_xml(f"{head} xmlns:w='{WORD}'>{rest}"))
    if footnotes:
        from docx.opc.packuri import PackURI
        from docx.opc.part import Part

        content = f"<w:footnotes xmlns:w='{WORD}'>{footnotes}</w:footnotes>".encode()
        kind = f"{OOXML}/officeDocument/2006/relationships/footnotes"
        part = Part(PackURI("/word/footnotes.xml"), "application/xml", content, file.part.package)
        file.part.relate_to(part, kind)
    return saved(file.save)


def run(text):
    return f"<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>"


def paragraph(text):
    return f"<w:p>{run(text)}</w:p>"


CELLS = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("yes", "yes", "no"))
INNER = f"<w:tbl><w:tr><w:tc>{paragraph('in')}</w:tc></w:tr></w:tbl>"
PROMPT = "<w:sdtPr><w:showingPlcHdr/></w:sdtPr>"
BOX = f"<w:r><w:txbxContent>{paragraph('boxed')}</w:txbxContent></w:r>"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (f"<w:sdt><w:sdtContent>{paragraph('one')}</w:sdtContent></w:sdt>", "one"),
        (f"<w:p><w:sdt><w:sdtContent>{run('one')}</w:sdtContent></w:sdt></w:p>", "one"),
        (f"<w:sdt>{PROMPT}<w:sdtContent>{paragraph('Click')}</w:sdtContent></w:sdt>", ""),
        (f"<w:p>{run('a ')}<w:ins>{run('new')}</w:ins><w:moveFrom>{run('x')}</w:moveFrom></w:p>",
         "a new"),
        (f"<w:p>{run('a')}{BOX}</w:p>", "a\n\nboxed"),
        (f"<w:tbl><w:tr>{CELLS}</w:tr></w:tbl>", "yes | yes | no"),
        (f"<w:tbl><w:tr><w:tc>{paragraph('out')}{INNER}</w:tc></w:tr></w:tbl>", "out\nin"),
    ],
)  # fmt: skip
def test_word_is_read_wherever_it_stands(document, block, text):
    """Content controls, insertions, boxes and tables in tables are text; prompts are none."""
    found = document("a.docx", word(paragraph("first"), block, paragraph("last")))
    assert found.text == "\n\n".join(filter(None, ("first", text, "last")))


def test_notes_stand_behind_their_paragraphs(document):
    """A note is no part of a sentence, is not lost, and is not glued to a word."""
    marked = f"<w:p>{run('one')}<w:r><w:footnoteReference w:id='2'/></w:r>{run(' two')}</w:p>"
    note = f"<w:footnote w:id='2'>{paragraph(' See there.')}</w:footnote>"
    found = document("a.docx", word(marked, paragraph("last"), footnotes=note))
    assert found.text == "one two\n\nSee there.\n\nlast"
    names = f"xmlns:o='{OFFICE}:office:1.0' xmlns:t='{OFFICE}:text:1.0' xmlns:d='{OFFICE}:d'"
    note = (
        "<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>See there.</t:p>"
        "</t:note-body></t:note>"
    )
    box = "<d:frame><d:text-box><t:p>boxed</t:p></d:text-box></d:frame>"
    body = f"<o:body><t:p>one{note} two{box}</t:p><t:p>last</t:p></o:body>"
    content = f"<o:document-content {names}>{body}</o:document-content>"
    found = document("a.odt", packed({"content.xml": content}))
    assert found.text == "one two\n\nSee there.\n\nboxed\n\nlast"


def _slide(text, place=""):
    return f"<p:sp><p:nvSpPr><p:nvPr>{place}</p:nvPr></p:nvSpPr><a:p><a:t>{text}</a:t></a:p></p:sp>"


def _relations(**targets):
    each = "".join(f"<Relationship Id='{name}' Target='{to}'/>" for name, to in targets.items())
    return f"<Relationships>{each}</Relationships>"


def test_slides_come_as_they_are_shown_with_their_notes(document):
    """Their order is that of the presentation; dates, feet and numbers of slides are dropped."""
    foot = _slide("Page 7", "<p:ph type='sldNum'/>")
    parts = {
        "ppt/presentation.xml": "<p:p xmlns:r='r'><p:sldId id='256' r:id='b'/>"
        "<p:sldId id='257' r:id='a'/></p:p>",
        "ppt/_rels/presentation.xml.rels": _relations(a="slides/slide1.xml", b="slides/slide2.xml"),
        "ppt/slides/slide1.xml": f"<p:sld>{_slide('second')}{foot}</p:sld>",
        "ppt/slides/slide2.xml": f"<p:sld>{_slide('first')}</p:sld>",
        "ppt/slides/_rels/slide2.xml.rels": _relations(n="../notesSlides/notesSlide1.xml"),
        "ppt/notesSlides/notesSlide1.xml": f"<p:notes>{_slide('said')}{foot}</p:notes>",
    }
    found = document("a.pptx", packed(parts))
    assert (found.title, found.text) == ("first", "first\n\nsaid\n\nsecond")
    assert found.pages == (0, len("first\n\nsaid\n\n"))


def test_rich_text_has_a_title_notes_and_the_alphabet_of_its_time(document):
    """Notes stand at the end; bytes are read as the file says."""
    head = r"{\rtf1\mac{\fonttbl{\f0 Geneva;}}{\info{\title The Fram}{\author Nansen}}"
    found = document("a.rtf", head + r"lanc\'8e{\footnote See {\i there}.} les\par filets}")
    assert found.text == "lancé les\n\nfilets\n\nSee there."
    assert (found.title, found.metadata) == ("The Fram", {"author": "Nansen"})


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("The Fram", "The Fram"),
        ("Microsoft Word - The Fram.docx", "The Fram"),
        ("Untitled Document", ""),
        ("PowerPoint Presentation", ""),
        ("Folie 1", ""),
        ("main.dvi", ""),
        ("Presentation of the Fram", "Presentation of the Fram"),
    ],
)
def test_what_a_program_wrote_is_no_title(given, title):
    """Titles that people never wrote say nothing of a document."""
    assert stated_title(given) == title


@pytest.mark.parametrize(
    ("name", "content", "title"),
    [
        ("a.rst", "====\n Up \n====\n\nText.\n\nDown\n----\n\nMore.\n", "Up"),
        ("a.tex", "% \\title{No}\n\\title[Short]{The \\emph{Fram}\\\\ and {her} men}\nx",
         "The Fram and her men"),
    ],
)  # fmt: skip
def test_titles_of_markup_have_no_markup(document, name, content, title):
    """The first heading is the title, with commands, comments and braces gone."""
    assert document(name, content).title == title


def test_what_real_texts_have(document):
    """Preambles, pictures in addresses, bars between columns, entities in subtitles."""
    found = document("a.tex", "\\documentclass{a}\n\\begin{document}\nThe Fram.\n\\end{document}\n")
    assert found.text[found.body_start :].strip().startswith("The Fram.")
    found = document("a.md", f"One.\n\n![map](data:image/png;base64,{'aB3' * 400})\n\nTwo.\n")
    assert found.text == "One.\n\n![map](data:image/png;base64,)\n\nTwo.\n"
    assert document("a.csv", "id|text\n1|Built by Archer, at Larvik\n").text.endswith("at Larvik")
    assert document("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<i>2 &lt; 3</i>\n").text == "2 < 3"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-16-le", "Colin Archer built the Fram. Größe.\n"),
        ("utf-16-be", "Colin Archer built the Fram.\n"),
    ],
)
def test_text_without_a_mark_is_decoded(document, encoding, text):
    """UTF-16 is seen by its zeros."""
    assert document("a.txt", (text * 3).encode(encoding)).text == text * 3


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.eml", "Subject: a\nContent-Type: multipart/encrypted; boundary=b\n\n--b\n\n--b--\n",
         "is encrypted"),
        ("a.js", "function a(b){return b+1};" * 1_000, "is minified code"),
        ("a.log", "2024 ERROR refused\n" * 500, "repeats the same few lines"),
        ("a.txt", "00000010  31 c2 f5 49 ff 24 3c de 33 70 e1 42 bc e1 00 1a\n" * 50, "a dump of"),
    ],
)  # fmt: skip
def test_waste_is_skipped_with_a_reason(skipped, name, content, reason):
    """Nobody asks about it, and it costs time."""
    (said,) = skipped(name, content)
    assert reason in said


def test_what_tools_write_into_folders_is_left_out(write):
    """Lock files and minified code are read only where they are named."""
    write("in/package-lock.json", '{"text": "a"}')
    write("in/a.min.js", "let a = 1;")
    write("in/a.txt", "Text.")
    assert [item.id for item in read(["in"])] == ["in/a.txt"]
    assert {"package-lock.json", "*.min.js"} <= set(BY_DEFAULT)
    (item,) = read(["in/a.min.js"])
    assert not isinstance(item, Skipped)
