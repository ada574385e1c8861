"""Pictures of documents are kept with their captions and places, and shown with what is quoted."""

import base64
import io
import json
from contextlib import closing
from hashlib import sha256

import docx
import numpy as np
import pytest
from click.testing import CliRunner
from docx.shared import Inches

import clew
from clew.base.types import Figure
from clew.cli import main
from clew.errors import DamagedIndex
from clew.extras.files.figures import is_figure, media_type
from clew.index.adding import hash_content
from clew.readers import read
from clew.testing import models
from tests.extras.files.kettle import CAPTION, LID, SWITCH
from tests.readers.writers import OFFICE, RELATIONS, html, packed, picture, relation, saved


def captions(document):
    """Return what each figure says: its caption, its page, and the text at its place."""
    return [(f.caption, f.page, document.text[f.start : f.end]) for f in document.figures]


def held(document):
    return [document.pictures[each.address] for each in document.figures]


# -- formats ---------------------------------------------------------------------------------------


def test_pictures_are_known_by_their_bytes_and_size():
    from PIL import Image

    def drawn(form, side=120):
        sink = io.BytesIO()
        noise = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
        Image.fromarray(noise).save(sink, form)
        return sink.getvalue()

    for form in ("PNG", "JPEG", "GIF", "WEBP"):
        assert media_type(drawn(form)) == f"image/{form.lower()}"
        assert is_figure(drawn(form))
        assert not is_figure(drawn(form)[:20])
    assert not is_figure(picture(1, 30, 400))  # a line
    assert not is_figure(picture(1, 100, 60))  # an icon
    assert not is_figure(b"<svg xmlns='u'><script>alert(1)</script></svg>" * 100)
    assert not is_figure(drawn("BMP"))
    assert not is_figure(LID + b"\0" * (1 << 22))
    assert Image.open(io.BytesIO(LID)).size == (160, 120)


def test_html_has_its_pictures_beside_it_and_in_itself(write):
    write("docs/img/lid.png", LID)
    write("docs/img/dot.png", picture(3, 16, 16))
    inside = f"data:image/png;base64,{base64.b64encode(SWITCH).decode()}"
    write(
        "docs/a/kettle.html",
        "<h1>Kettle</h1><p>The kettle boils water. <img src='../img/dot.png'></p>"
        f"<figure><img src='../img/lid.png?v=2'><figcaption>{CAPTION}</figcaption></figure>"
        f"<p>It is switched off here.</p><p><img alt='The red switch' src='{inside}'></p>",
    )
    (document,) = (each for each in read(["docs"]) if isinstance(each, clew.Document))
    assert captions(document) == [
        (CAPTION, None, CAPTION),
        ("The red switch", None, "[Picture: The red switch]"),
    ]
    assert held(document) == [LID, SWITCH]


def test_an_alternative_text_that_its_caption_repeats_is_left_out(write):
    write("lid.png", LID)
    write("switch.png", SWITCH)
    write(
        "a.html",
        "<h1>Kettle</h1><p>Figure 1. The Lid Of The Kettle</p>"
        "<p><img src='lid.png' alt='The lid of the kettle'></p><p>It is switched off.</p>"
        "<p>Figure 2. A switch.</p><p><img src='switch.png' alt='The red knob'></p><p>End.</p>",
    )
    (document,) = read(["a.html"])
    assert document.text.split("\n\n")[1:] == [
        "Figure 1. The Lid Of The Kettle",
        "It is switched off.",
        "Figure 2. A switch.",
        "[Picture: The red knob]",
        "End.",
    ]
    assert [text for *_, text in captions(document)] == [
        "Figure 1. The Lid Of The Kettle",
        "Figure 2. A switch.",
    ]


def test_a_page_reads_no_file_outside_the_folder_that_was_named(write, tmp_path):
    write("secret.png", LID)
    write("docs/own.png", SWITCH)
    (tmp_path / "docs/link.png").symlink_to(tmp_path / "secret.png")
    places = [
        "../secret.png", str(tmp_path / "secret.png"), f"file://{tmp_path}/secret.png",
        "link.png", "%2e%2e/secret.png", "http://localhost/docs/own.png", "own.png\0", ".", "",
        "//own.png",
    ]  # fmt: skip
    pictures = "".join(f"<p>Words <img src='{each}'></p>" for each in places)
    write("docs/a.html", html("Kettle", [pictures]))
    (document,) = (each for each in read(["docs"]) if isinstance(each, clew.Document))
    assert document.figures == ()


@pytest.mark.parametrize(
    ("paragraphs", "expected"),
    [
        ("<p>Figure 1. The lid.</p><p>{0}</p><p>Figure 2. A switch.</p><p>{1}</p>", [0, 2]),
        ("<p>{0}</p><p>Figure 1. The lid.</p><p>{1}</p><p>Fig. 2: A switch.</p>", [1, 3]),
        ("<p>The lid:</p><p>{0}</p><p>Text.</p><p>{1}</p>", [1, 3]),
        ("<table><tr><td>{0}</td><td>Lid</td></tr><tr><td>{1}</td><td>Knob</td></tr></table>", []),
    ],
    ids=["above", "below", "none", "table"],
)
def test_captions_stand_above_or_below(write, paragraphs, expected):
    write("lid.png", LID)
    write("switch.png", SWITCH)
    shown = [f"<img src='{name}.png' alt='The {name} here'>" for name in ("lid", "switch")]
    write("a.html", f"<h1>Kettle</h1>{paragraphs.format(*shown)}<p>It ends.</p>")
    (document,) = read(["a.html"])
    assert held(document) == [LID, SWITCH]
    blocks = document.text.split("\n\n")[1:]
    for (caption, _, text), place in zip(captions(document), expected, strict=False):
        assert text == blocks[place]
        assert caption == text.removeprefix("[Picture: ").removesuffix("]")


def test_what_a_document_repeats_decorates_it(document, write):
    write("logo.png", LID)
    write("switch.png", SWITCH)
    pages = "".join(f"<p>Text {i} <img src='logo.png'></p>" for i in range(3))
    found = document("a.html", f"<h1>Kettle</h1>{pages}<p>End <img src='switch.png'></p>")
    assert held(found) == [SWITCH]
    assert found.pictures.keys() == {found.figures[0].address}


def test_word_keeps_pictures_of_paragraphs_tables_and_boxes(document):
    file = docx.Document()
    file.add_paragraph("The kettle boils water within three minutes.")
    file.add_picture(io.BytesIO(LID), Inches(2))
    file.add_paragraph(CAPTION, style="Caption")
    file.add_paragraph("It is switched off here.")
    cell = file.add_table(1, 2).rows[0].cells
    cell[0].paragraphs[0].add_run().add_picture(io.BytesIO(SWITCH), Inches(1))
    cell[1].text = "The red switch"
    file.add_paragraph("It ends.")
    found = document("a.docx", saved(file.save))
    assert captions(found) == [(CAPTION, None, CAPTION), ("", None, "The red switch")]
    assert held(found) == [LID, SWITCH]


def test_alternative_texts_of_word_are_captions(document):
    file = docx.Document()
    file.add_paragraph("The kettle boils water.")
    shape = file.add_picture(io.BytesIO(LID), Inches(2))
    shape._inline.docPr.set("descr", "The lid of the kettle")  # noqa: SLF001
    found = document("a.docx", saved(file.save))
    text = "[Picture: The lid of the kettle]"
    assert captions(found) == [("The lid of the kettle", None, text)]


def test_slides_show_their_pictures_below_their_titles(document):
    def slide(*texts, picture="r1"):
        lines = "".join(f"<a:p><a:r><a:t>{each}</a:t></a:r></a:p>" for each in texts)
        about = "<p:nvPicPr><p:cNvPr id='2' name='Picture 1'/></p:nvPicPr>"
        blip = f"<p:pic>{about}<p:blipFill><a:blip r:embed='{picture}'/></p:blipFill></p:pic>"
        names = f"xmlns:p='p' xmlns:a='a' xmlns:r='{RELATIONS}'"
        return f"<p:sld {names}>{lines}{blip * bool(picture)}</p:sld>"

    found = document(
        "a.pptx",
        packed(
            {
                "ppt/slides/slide1.xml": slide("Kettles", "They boil water.", picture=""),
                "ppt/slides/slide2.xml": slide("The lid", "It closes."),
                "ppt/slides/slide3.xml": slide(),
                "ppt/slides/slide4.xml": slide("The end", picture=""),
                "ppt/slides/_rels/slide2.xml.rels": relation("image", "../media/a.png"),
                "ppt/slides/_rels/slide3.xml.rels": relation("image", "../media/b.png"),
                "ppt/media/a.png": LID,
                "ppt/media/b.png": SWITCH,
            }
        ),
    )
    assert captions(found) == [("The lid", 2, "It closes."), ("", 3, "[Picture]")]
    assert held(found) == [LID, SWITCH]
    starts = [found.text.index(each) for each in ("Kettles", "The lid", "[Picture]", "The end")]
    assert list(found.pages) == starts


def test_open_documents_and_books_keep_pictures(document):
    link = "xmlns:x='http://www.w3.org/1999/xlink'"
    names = f"xmlns:o='{OFFICE}:office:1.0' xmlns:t='{OFFICE}:text:1.0' {link}"
    frame = f"<d:frame xmlns:d='{OFFICE}:drawing:1.0'><d:image x:href='Pictures/a.png'/></d:frame>"
    body = f"<t:p>The kettle.</t:p><t:p>{frame}</t:p><t:p>{CAPTION}</t:p>"
    content = f"<o:document-content {names}><o:body><o:text>{body}</o:text></o:body>"
    content += "</o:document-content>"
    open_text = packed({"content.xml": content, "Pictures/a.png": LID})
    page = f"<h1>Kettle</h1><p><img src='../i/a%20b.png'/></p><p>{CAPTION}</p>"
    book = packed(
        {
            "META-INF/container.xml": "<c xmlns='u'><rootfile full-path='o/a.opf'/></c>",
            "o/a.opf": "<p><manifest><item id='a' href='t/a.xhtml' media-type="
            "'application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></p>",
            "o/t/a.xhtml": f"<html><body>{page}</body></html>",
            "o/i/a b.png": LID,
        }
    )
    for name, data in (("a.odt", open_text), ("a.epub", book)):
        found = document(name, data)
        assert captions(found) == [(CAPTION, None, CAPTION)]
        assert held(found) == [LID]


# -- what an index keeps ---------------------------------------------------------------------------


def kept(folder):
    """Return the sizes of the pictures in an index, by address."""
    import apsw

    with closing(apsw.Connection(str(folder / "index.sqlite"))) as database:
        return dict(database.execute("SELECT address, length(data) FROM picture").fetchall())


def test_equal_pictures_are_kept_once_and_erased_with_their_documents(kettle, tmp_path):
    folder = tmp_path / "index"
    with clew.open(folder, models=models()) as index:
        index.add(kettle)
        assert sorted(kept(folder).values()) == sorted([len(LID), len(SWITCH)])
        [row] = index.snapshot().document_layer.rows(["docs/kettle.html"])
        [document] = index.snapshot().documents([row])
        assert held(document) == [LID]
        assert len(index.add(kettle).report.changed) == 0
        index.remove("docs/pot.html")
        index.compact()
        assert list(kept(folder).values()) == [len(LID)]
        index.remove("docs/kettle.html")
        index.compact()
        assert kept(folder) == {}


def test_another_picture_is_taken_without_new_rows(kettle, tmp_path, write):
    with clew.open(tmp_path / "index", models=models()) as index:
        index.add(kettle)
        write("docs/lid.png", picture(9))
        report = index.add(kettle).report
        assert (report.changed, sorted(report.restated)) == (
            [],
            ["docs/kettle.html", "docs/pot.html"],
        )
        [document] = index.snapshot().documents([0])
        assert held(document) == [picture(9)]
        index.compact()
        assert len(kept(tmp_path / "index")) == 2


def test_documents_without_figures_have_the_hash_and_row_that_they_had():
    document = clew.Document(id="a", text="The kettle boils water.", pages=(0,))
    rest = json.dumps([{}, (0,), []], sort_keys=True).encode()
    assert hash_content(document).partition("-")[2] == sha256(rest).hexdigest()[:16]


def test_backups_and_splits_carry_pictures(kettle, tmp_path):
    folder = tmp_path / "index"
    with clew.open(folder, models=models()) as index:
        index.add(kettle)
        index.backup(tmp_path / "b.tar")
    clew.restore(tmp_path / "b.tar", tmp_path / "again")
    with clew.open(tmp_path / "again", models=models()) as index:
        assert held(index.snapshot().documents([0])[0]) == [LID]
    from clew.shards import open_shards, split

    split(folder, tmp_path / "shards", 2)
    with open_shards(tmp_path / "shards", models=models()) as shards:
        for name in ("docs/kettle.html", "docs/pot.html"):
            snapshot = shards.holding(name)
            [document] = snapshot.documents(snapshot.document_layer.rows([name]))
            assert held(document)[0] == LID


def test_a_picture_that_is_lost_is_an_error_of_the_index(kettle, tmp_path):
    import apsw

    folder = tmp_path / "index"
    with clew.open(folder, models=models()) as index:
        index.add(kettle)
    with closing(apsw.Connection(str(folder / "index.sqlite"))) as database:
        database.execute("DELETE FROM picture")
    with clew.open(folder, models=models()) as index:
        [document] = index.snapshot().documents([0])
        with pytest.raises(DamagedIndex, match="lacks the picture"):
            held(document)


def test_workers_make_the_same_index(kettle, tmp_path):
    with clew.open(tmp_path / "index", specs=clew.Specs()) as index:
        index.add(kettle, workers=2)
        assert held(index.snapshot().documents([0])[0]) == [LID]


# -- what is shown with a quote --------------------------------------------------------------------


def test_a_quote_has_the_figures_that_it_names_or_overlaps_else_those_of_its_chunk():
    one = Figure(50, 70, "Figure 1: A lid.", "a")
    two = Figure(90, 120, "Figure 2: A spout.", "b")
    far = Figure(500, 520, "Fig. 3. A base.", "c")
    text = "The spout is long, see Fig. 3.".ljust(600, ".")
    document = clew.Document(id="k", text=text, figures=(one, two, far))
    assert document.figures_at(0, 30, (0, 200)) == (far,)
    assert document.figures_at(0, 18, (0, 200)) == (one, two)
    assert document.figures_at(100, 118, (0, 200)) == (two,)
    assert document.figures_at(0, 18, (0, 40)) == ()


def test_answers_show_figures_at_every_door(kettle, tmp_path):
    folder = tmp_path / "index"
    with clew.open(folder) as index:
        index.add(kettle)
        answer = index.ask("What does the spout have?")
        [figure] = answer.citations[0].figures
        assert figure.caption == CAPTION
        document = index.snapshot().documents([0])[0]
        assert document.pictures[figure.address] == LID
        assert answer.to_dict()["citations"][0]["figures"][0]["address"] == figure.address
    result = CliRunner().invoke(main, ["ask", "What does the spout have?", "--index", str(folder)])
    assert f"figure: {CAPTION} (docs/kettle.html)" in result.output
