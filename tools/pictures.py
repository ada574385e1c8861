"""Take the pictures of README and guides anew, as `make pictures` does: the page, and a terminal.

The page is Chromium's, of a server on the example corpus; the terminal is an SVG drawing by Rich of
what the command printed. Both go to docs/images.
"""

from __future__ import annotations

import base64
import re
import tempfile
from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner
from playwright.sync_api import Page, sync_playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from clew.cli import main
from tests.page.conftest import CHROMIUM, FLAGS, ask, served

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
QUESTION = "In which town was the man born who built Nansen's ship Fram?"
SIZE = {"width": 1240, "height": 760}
_FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)  # which it would fetch from elsewhere
_SECONDS = re.compile(r"; open [\d.]+ s.*")  # which are others at each run


def take_pictures(folder: Path) -> None:
    """Index the example corpus in `folder`, and write all pictures."""
    with chdir(ROOT):
        into = str(folder / "polar.clew")
        runner = CliRunner()
        runner.invoke(main, ["index", "examples/polar", "--into", into], catch_exceptions=False)
        words = ["ask", "--index", into, QUESTION]
        shown = runner.invoke(main, words, color=True, catch_exceptions=False).stdout
    draw_terminal(f'$ clew ask "{QUESTION}"\n{_SECONDS.sub("", shown)}', IMAGES / "terminal.svg")
    with served(folder / "home", f"polar={into}") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.goto(address)
        turn = ask(page, QUESTION)
        turn.locator("button.cite").first.click()
        page.locator("#reader mark").wait_for()
        photograph(page, IMAGES / "page-ask.webp")
        page.goto(f"{address}/graph?entity=fram")
        page.locator(".texts").first.wait_for()
        page.wait_for_timeout(1_500)  # until the drawing stands
        photograph(page, IMAGES / "page-graph.webp")
        browser.close()


def draw_terminal(shown: str, path: Path) -> None:
    """Draw what a terminal shows, with its colours, as SVG."""
    with tempfile.TemporaryFile("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=104, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(shown.rstrip()))
        svg = console.export_svg(
            title="clew",
            theme=MONOKAI,
            code_format=_FONTS.sub("", CONSOLE_SVG_FORMAT),
            unique_id="terminal",
        )
    path.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


def photograph(page: Page, path: Path) -> None:
    """Write what a page shows as WebP, a tenth of the size of PNG."""
    chrome = page.context.new_cdp_session(page)
    taken = chrome.send("Page.captureScreenshot", {"format": "webp", "quality": 80})
    path.write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        take_pictures(Path(place))
