"""Pictures and scanned pages are read by OCR where that is asked for."""

import io
from dataclasses import replace
from importlib.util import find_spec

import pytest

from clew.base.types import Skipped
from clew.errors import MissingExtra
from clew.extras.files import ocr
from clew.limits import LIMITS
from clew.readers import read
from clew.readers.apart import Apart
from tests.extras.files.engine import engine  # noqa: F401 -- a fixture
from tests.readers.writers import pdf

Image = pytest.importorskip("PIL.Image")

FAINT = ") Tj ET 0 0 99 99 re f BT /F1 12 Tf ("  # ends the text of a page, and begins another
DARK = ") Tj ET 0 0 600 600 re f BT /F1 12 Tf ("
WHITE = ") Tj ET 1 g 0 0 99 99 re f BT /F1 12 Tf ("
WORDS = "The Halcyon ran aground near Cape Morrow in 1922."
HINT = "--ocr reads pictures (pip install 'clew[ocr]')"


def picture(kind="PNG", *, dark=0.05, mode="RGB", size=(400, 200), **more):
    """Write a picture of which the upper part is black."""
    drawn = Image.new("L", size, 255)
    drawn.paste(0, (0, 0, size[0], int(size[1] * dark)))
    sink = io.BytesIO()
    drawn.convert(mode).save(sink, kind, **more)
    return sink.getvalue()


def box(left, top, right, bottom, lean=0.0):
    corners = ((left, top), (right, top), (right, bottom), (left, bottom))
    return [(x, y + lean * x) for x, y in corners]


def arrange(*placed, lean=0.0):
    boxes = [box(*place, lean=lean) for place, _ in placed]
    return ocr.arrange_lines(boxes, [text for _, text in placed], [0.9] * len(placed))


@pytest.fixture
def recognized(write):
    """Write a file, read it by OCR and return what came of it."""

    def read_file(name, content, limits=LIMITS):
        (item,) = read([write(name, content)], ocr=True, limits=limits)
        return item

    return read_file


# -- the order of lines ---------------------------------------------------------------------------


@pytest.mark.parametrize("lean", [0.0, 0.02, -0.02])
def test_what_stands_beside_each_other_is_a_line(lean):
    """Also where the page was laid askew; a wide space parts paragraphs."""
    cells = [
        ((600, 0, 700, 20), "1902"),
        ((0, 0, 100, 20), "Alder Quay"),
        ((0, 30, 100, 50), "Corn Market"),
        ((600, 30, 700, 50), "1899"),
        ((0, 90, 700, 110), "All of the tramway's stations."),
    ]
    text = "Alder Quay 1902\nCorn Market 1899\n\nAll of the tramway's stations."
    assert arrange(*cells, lean=lean) == text


def test_columns_of_prose_are_read_one_by_one():
    """Below a headline, which stands over both."""
    left = [((0, y, 300, y + 20), f"left {y}") for y in (40, 70, 100)]
    right = [((340, y, 640, y + 20), f"right {y}") for y in (41, 71, 101)]
    text = arrange(((0, 0, 640, 20), "Headline"), *right, *left)
    assert text.split() == "Headline left 40 left 70 left 100 right 41 right 71 right 101".split()


@pytest.mark.parametrize("lean", [0.0, 0.02])
def test_rows_of_a_table_have_bars(lean):
    """Also where a cell is empty, two were taken for one, or boxes touch."""
    lines = [
        ("Harbour", "Cargo", "Tons", "Fee"), ("Moss", "mail", "4,090", "1.50"),
        ("Narvik", "", "224", "7.25"), ("Larvik", "machine parts 5,884", None, "41.00"),
        ("Bodo", "salted herring", "2,624", "9.75"),
    ]  # fmt: skip
    lefts, rights = (0, 200, 402, 520), {"Fee": 560, "Tons": 470}
    placed = [((0, 0, 640, 20), "Paid in March to the harbour office, as was usual:")]
    for n, row in enumerate(lines, 2):
        for left, text in zip(lefts, row, strict=True):
            right = 470 if text and text.startswith("machine") else rights.get(text)
            right = right or left + (204 if text == "salted herring" else 70)
            if text:
                placed.append(((left, 30 * n, right, 30 * n + 20), text))
    assert arrange(*placed, lean=lean).split("\n\n")[1].split("\n") == [
        "Harbour | Cargo | Tons | Fee", "Moss | mail | 4,090 | 1.50", "Narvik | | 224 | 7.25",
        "Larvik | machine parts | 5,884 | 41.00", "Bodo | salted herring | 2,624 | 9.75",
    ]  # fmt: skip


def test_nothing_gives_no_text():
    """Nor does a line of blanks."""
    assert arrange() == arrange(((0, 0, 9, 9), " ")) == ""


# -- what a note says -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pages", "n", "notes"),
    [
        ({2: (WORDS, 0.934)}, 2, ["1 of 2 pages was read by OCR, confidence .93"]),
        ({1: (WORDS, 1.0)}, 1, ["read by OCR, confidence 1.00"]),
        ({1: (WORDS, 0.4)}, 1, ["read by OCR, confidence .40, low"]),
        (
            {1: ("four", 0.95), 3: ("four", 0.45), 4: ("", 0.0), 5: ("", 0.0)},
            9,
            [
                "2 of 9 pages were read by OCR, confidence .70, low on page 3",
                "2 of 9 pages hold no text that OCR reads (4-5)",
            ],
        ),
    ],
)
def test_a_note_names_pages_and_confidence(pages, n, notes):
    """The mean is one of characters."""
    found = {number: ocr.RecognizedPage(*page) for number, page in pages.items()}
    assert list(ocr.describe_pages(found, n)) == notes


# -- scanned pages --------------------------------------------------------------------------------


def test_scanned_pages_of_a_pdf_keep_their_place(recognized, engine):  # noqa: F811
    """Other pages are not looked at, and divided words are joined."""
    calls = engine()
    found = recognized("a.pdf", pdf("Cover", FAINT, "Notes", DARK, WHITE, ""))
    pages = ["Cover", WORDS, "Notes", "Tha Patlence saved all.", "", ""]
    assert found.text == "\n\n".join(pages)
    assert [found.text[place:].partition("\n")[0] for place in found.pages[:4]] == pages[:4]
    assert found.partly == (
        "2 of 6 pages were read by OCR, confidence .82, low on page 4",
        "1 of 6 pages holds no text that OCR reads (5)",
    )
    assert calls() == 3


def test_a_pdf_of_which_nothing_can_be_read_is_skipped(recognized, engine):  # noqa: F811
    """With OCR or without."""
    engine()
    skipped = recognized("a.pdf", pdf(WHITE))
    assert skipped.reason == "holds no text that OCR reads"
    (without,) = read(["a.pdf"])
    assert without.reason == f"holds no text: scanned? {HINT}"


def test_a_thick_scan_has_the_time_of_a_page_for_each(write, engine, monkeypatch):  # noqa: F811
    """A page that takes longer ends it."""
    waits, wait_for = [], Apart._next  # noqa: SLF001 -- how long it waits for a page

    def wait_and_note(self, file, seconds):
        waits.append(seconds)
        return wait_for(self, file, seconds)

    monkeypatch.setattr(Apart, "_next", wait_and_note)
    engine()
    named = [write(name, pdf(*[FAINT] * 5)) for name in ("warm.pdf", "slow.pdf")]
    scans = list(read(named, ocr=True, limits=replace(LIMITS, seconds=60)))
    assert [each.text.count(WORDS) for each in scans] == [5, 5]
    assert len(waits) > 2 * 5
    assert set(waits[1:]) == {600}
    engine(seconds=2.5)
    found = list(read(named, ocr=True, limits=replace(LIMITS, seconds=0.2)))
    assert "takes more than 0.2 seconds" in found[1].reason


@pytest.mark.skipif(find_spec("rapidocr") is not None, reason="it is installed")
def test_without_the_engine_its_extra_is_named(write):
    """At once, whatever there is to read."""
    with pytest.raises(MissingExtra, match=r"clew\[ocr\]"):
        read([write("a.md", "Ice.")], ocr=True)


# -- pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", picture()),
        ("a.jpg", picture("JPEG")),
        ("a.jpeg", picture("JPEG", mode="L")),
        ("a.tif", picture("TIFF", mode="1")),
        ("a.tiff", picture("TIFF", mode="I;16")),
        ("a.webp", picture("WEBP")),
        ("a.bmp", picture("BMP", mode="P")),
        ("a.PNG", picture(mode="LA")),
        ("large.png", picture(size=(9000, 3000))),
    ],
)
def test_a_picture_is_a_document(recognized, engine, name, content):  # noqa: F811
    """Of any format, depth and size."""
    engine()
    found = recognized(name, content)
    assert found.text == WORDS
    assert (found.title, found.pages) == (name.partition(".")[0], ())
    assert found.partly == ("read by OCR, confidence .97",)


def test_a_tiff_has_pages(recognized, engine):  # noqa: F811
    """Each is read, and of a picture that moves the first frame."""
    engine()
    more = [Image.open(io.BytesIO(picture(dark=dark))) for dark in (0, 0.5)]
    found = recognized("a.tif", picture("TIFF", save_all=True, append_images=more))
    assert [found.text[place : place + 3] for place in found.pages] == ["The", "\n\nT", "Tha"]
    assert found.partly[0] == "2 of 3 pages were read by OCR, confidence .82, low on page 3"
    moving = recognized("a.webp", picture("WEBP", save_all=True, append_images=more))
    assert moving.partly == ("1 of 3 frames was read", "read by OCR, confidence .97")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (picture(dark=0), "is a picture without text that OCR reads"),
        (picture()[:60], "is a broken picture, or not one"),
        (picture("GIF"), "is a broken picture, or not one"),
        (b"hello", "is a broken picture, or not one"),
        (picture(size=(400, 251)), "has more than 100,000 pixels: --limit pixels=400000 reads it"),
    ],
)
def test_pictures_that_are_skipped(recognized, engine, content, reason):  # noqa: F811
    """Each with its reason, and nothing is lost beside them."""
    engine()
    skipped = recognized("a.png", content, replace(LIMITS, pixels=100_000))
    assert (type(skipped), skipped.reason) == (Skipped, reason)


def test_without_ocr_pictures_of_a_folder_are_no_failure(write):
    """One that is named itself is, and says how it is read."""
    named = write("docs/a.png", picture())
    (below,) = read(["docs"])
    assert below.unread == ".png"
    (skipped,) = read([named])
    assert (skipped.unread, skipped.reason) == ("", f"no reader for .png files without OCR: {HINT}")


def test_the_engine_itself_reads_a_page(recognized):
    """Text and pages come from its own models."""
    pytest.importorskip("rapidocr")
    from PIL import ImageDraw, ImageFont

    drawn = Image.new("L", (900, 200), 255)
    font = ImageFont.load_default(32)
    ImageDraw.Draw(drawn).text((40, 60), "The Halcyon ran aground in 1922.", font=font, fill=0)
    sink = io.BytesIO()
    drawn.save(sink, "PDF", resolution=150)
    found = recognized("scan.pdf", sink.getvalue())
    assert found.text == "The Halcyon ran aground in 1922."
    assert found.partly[0].startswith("read by OCR, confidence .9")
