"""Figures stand beside the quotes that they belong to, and in their documents."""

import subprocess
import sys

import pytest

from tests.page.conftest import ask, served
from tests.readers.writers import picture


@pytest.fixture(scope="module")
def kettle(tmp_path_factory):
    """A server of an index with a page that has two pictures."""
    folder = tmp_path_factory.mktemp("figures")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "spout.png").write_bytes(picture(1, 320, 200))
    (docs / "base.png").write_bytes(picture(2, 180, 120))
    steps = "".join(f"<p>Step {i} of the cleaning takes {i * i} seconds.</p>" for i in range(100))
    (docs / "kettle.html").write_text(
        "<h1>Kettle</h1><p>The kettle boils water within three minutes.</p><p>The spout has a "
        "filter of steel, as Figure 1 shows.</p><figure><img src='spout.png'><figcaption>Figure 1: "
        f"The spout of the kettle.</figcaption></figure>{steps}"
        "<p>The base turns freely.</p><p><img src='base.png' alt='The base from below'></p>"
    )
    into = folder / "kettle.clew"
    command = [sys.executable, "-m", "clew", "index", docs, "--into", into]
    subprocess.run(command, check=True, capture_output=True)
    with served(folder / "home", f"kettle={into}") as address:
        yield address


def loaded(shown):
    """Wait until a picture is drawn; return its own width."""
    shown.scroll_into_view_if_needed()
    shown.evaluate("node => node.decode()")
    return shown.evaluate("node => node.naturalWidth")


def test_a_figure_stands_beside_its_quote(kettle, opened):
    page = opened(kettle)
    turn = ask(page, "What does the spout have?")
    figure = turn.locator(".statement.main figure")
    assert figure.count() == 1
    assert figure.locator("figcaption").inner_text() == "Figure 1: The spout of the kettle."
    shown = figure.locator("img")
    assert shown.get_attribute("alt") == "Figure 1: The spout of the kettle."
    assert loaded(shown) == 320
    assert figure.locator("a").get_attribute("rel") == "noopener"


def test_a_document_shows_its_figures_at_their_places(kettle, opened):
    page = opened(kettle)
    turn = ask(page, "What does the spout have?")
    turn.locator(".statement .source").first.click()
    text = page.locator("#reader .text")
    text.locator("figure img").first.wait_for()
    assert text.locator("figure").count() == 2
    above = text.locator("figure").first.evaluate("node => node.previousElementSibling.textContent")
    assert above == "Figure 1: The spout of the kettle."
    assert [loaded(each) for each in text.locator("figure img").all()] == [320, 180]


def test_a_figure_whose_picture_is_gone_leaves_no_hole(kettle, opened):
    page = opened(kettle, expected=[404])
    page.route("**/figures/**", lambda route: route.fulfill(status=404))
    turn = ask(page, "What does the spout have?")
    turn.locator("figure").wait_for(state="detached")
    assert "filter" in turn.locator(".statement.main q").inner_text()
