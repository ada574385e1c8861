"""Pictures and inserted drawings of PDF are kept as the page shows them."""

import io

from PIL import Image

from tests.extras.files.kettle import CAPTION
from tests.extras.files.test_figures import captions, held
from tests.readers.writers import pdf


def portable(box, *texts, cover=False):
    """Write a PDF of one page with a picture at (left, bottom, width, height) below its text."""
    left, bottom, width, height = (0, 0, 612, 792) if cover else box
    drawing = f") Tj ET q {width} 0 0 {height} {left} {bottom} cm BI /W 2 /H 2 /CS /RGB /BPC 8 "
    drawing += "/F /AHx ID ff000000ff000000ffffff00> EI Q BT /F1 12 Tf 72 300 Td ("
    return pdf("\n".join(texts[:1]) + drawing + "\n".join(texts[1:]))


def test_pdf_draws_pictures_at_their_captions(document):
    found = document(
        "a.pdf", portable((100, 400, 200, 150), "The kettle boils water.", CAPTION, "It ends.")
    )
    [(caption, page, text)] = captions(found)
    assert (caption, page, text) == (CAPTION, 1, CAPTION)
    [data] = held(found)
    shown = Image.open(io.BytesIO(data)).convert("RGB")
    assert abs(shown.width - 2 * 208) < 4
    assert abs(shown.height - 2 * 158) < 4
    assert shown.getpixel((60, 60)) == (255, 0, 0)  # the upper left quarter


def test_a_scan_and_a_bullet_of_a_pdf_are_no_figures(document):
    for box, cover in (((100, 400, 20, 20), False), ((0, 0, 0, 0), True)):
        found = document("a.pdf", portable(box, "The kettle boils water.", "It ends.", cover=cover))
        assert found.figures == ()
