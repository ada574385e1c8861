"""Two pictures, and two pages that show them."""

import pytest

from tests.readers.writers import picture

LID, SWITCH = picture(1), picture(2)
CAPTION = "Figure 1: The lid and the spout of the kettle."


@pytest.fixture
def kettle(write):
    """Write a folder with two pages that have one picture in common."""
    write("docs/lid.png", LID)
    write("docs/switch.png", SWITCH)
    write(
        "docs/kettle.html",
        "<h1>Kettle</h1><p>The kettle boils water within three minutes.</p>"
        f"<p><img src='lid.png'></p><p>{CAPTION}</p>"
        "<p>The spout is drawn in Figure 1 with its filter.</p>",
    )
    write(
        "docs/pot.html",
        "<h1>Pot</h1><p>The pot is black and heavy.</p><p><img src='lid.png'></p>"
        "<p>Figure 1: The lid of the pot.</p><p>The knob is red.</p>"
        "<p><img src='switch.png' alt='The red knob'></p>",
    )
    return "docs"
