"""A browser and real servers for tests of the page; `make test-page` runs them."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.models.server import EVENTS, Answer, serving, streamed
from tests.readers.writers import pdf

CHROMIUM = (
    os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
EXAMPLES = Path(__file__).parents[2] / "examples"
EVIL = '<img src=x onerror="window.pwned=1">'
DOCUMENTS = {
    "smileys.md": "# Smileys\n\n\U0001f600\U0001f680"
    " Two signs above the plane are here. \U0001f600"
    " The zeppelin Quork"
    " was sewn by Ada Lund in Bakken. Behind it comes a second sentence of no importance.\n",
    "hebrew.txt": "\u05d4\u05e4\u05e8\u05d0\u05dd \u05d4\u05d9\u05d9\u05ea\u05d4"
    " \u05e1\u05e4\u05d9\u05e0\u05d4. \u05e7\u05d5\u05dc\u05d9\u05df \u05d0\u05e8\u05e6'\u05e8"
    " \u05d1\u05e0\u05d4 \u05d0\u05d5\u05ea\u05d4 \u05d1\u05dc\u05e8\u05d5\u05d5\u05d9\u05e7.\n",
    "evil.md": f"# \\{EVIL}\n\n<script>window.pwned = 2</script> The good ship"
    f" \u202eWretched\u202c was scuttled by Captain Grubb at {'x' * 3_000}."
    " <a href='javascript:window.pwned=3'>Here</a>"
    " </main></body> it ends.\n",
}  # fmt: skip
PAGES = (
    "The first page tells of nothing.",
    "The observatory Vetle was founded by Ingrid Moen in 1904.",
    "The third page tells of nothing else.",
    ") Tj ET 0 0 99 99 re f BT /F1 12 Tf (",  # a drawing, behind the end of the text
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Documents of the example corpus, hostile ones, others scripts, and pages."""
    found = tmp_path_factory.mktemp("content") / "corpus"
    shutil.copytree(EXAMPLES / "polar", found)
    for name, text in DOCUMENTS.items():
        (found / name).write_text(text, encoding="utf-8")
    (found / "pages.pdf").write_bytes(pdf(*PAGES))
    return found


@pytest.fixture(scope="session")
def corpus(folder):
    """An index of them, which servers only read."""
    into = folder.parent / "polar.clew"
    command = [sys.executable, "-m", "clew", "index", folder, "--into", into]
    subprocess.run(command, check=True, capture_output=True)
    return into


@contextmanager
def served(home, *arguments):
    """Run `clew serve`; give its address."""
    command = [sys.executable, "-m", "clew", "serve", *map(str, arguments), "--home", home]
    # Nobody reads what would be logged, and a full pipe stops a server.
    command += ["--port", "0", "--log-format", "none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if found := re.search(r"http://\S+", line):
                    yield found[0]
                    break
            else:
                pytest.fail("the server did not start")
        finally:
            process.terminate()
            process.wait(30)
            process.stderr.close()


@pytest.fixture(scope="session")
def reading(corpus, tmp_path_factory):
    """A server without keys, of an index that nothing changes."""
    with served(tmp_path_factory.mktemp("reading"), f"polar={corpus}") as address:
        yield address


@pytest.fixture
def writing(corpus, tmp_path):
    """A server without keys, of an index that may be changed."""
    own = shutil.copytree(corpus, tmp_path / "polar.clew")
    with served(tmp_path / "home", f"polar={own}") as address:
        yield address


@pytest.fixture
def locked(corpus, tmp_path):
    """A server with a key; its address, the key and the way to make others."""
    home = tmp_path / "home"

    def key(name, *options):
        command = [sys.executable, "-m", "clew", "keys", "add", name, "--home", home, *options]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    admin = key("boss", "--scope", "admin")
    with served(home, f"polar={corpus}") as address:
        yield address, admin, key


def reply_with(text):
    message = {"message": {"content": text}, "finish_reason": "stop"}
    return {"choices": [message], "usage": {"prompt_tokens": 900, "completion_tokens": 14}}


def replies(whole, streamed_as=None):
    """Answer requests by one reply, or those for a stream by another one."""
    return lambda request: (
        Answer(streamed(streamed_as or whole), headers=EVENTS)
        if (request.json or {}).get("stream")
        else Answer(whole)
    )


REPLY = reply_with("Colin Archer was born in Larvik in 1832. [1]")


@pytest.fixture
def talking(corpus, tmp_path):
    """A server with an LLM: its address, and the endpoint that plays it."""
    own = shutil.copytree(corpus, tmp_path / "polar.clew")
    with serving() as endpoint:
        endpoint.respond = replies(REPLY)
        llm = ("--llm", f"openai:told@{endpoint.url}", "--price", "told=1,2")
        with served(tmp_path / "home", f"polar={own}", *llm) as address:
            yield address, endpoint


# -- the browser ------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def chromium():
    if not CHROMIUM:
        pytest.exit(
            "there is no Chromium: install it (Debian: apt-get install chromium), or set CHROMIUM",
            1,
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """What a page told, and asked of others, while a test ran."""

    complaints: list[str] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)  # statuses of replies that a test wants


@pytest.fixture
def opened(chromium):
    """Return a function that opens a page.

    At the end no page has complained, or asked anybody but the server for anything.
    """
    pages = []

    def open_page(
        address, path="/", *, width=1280, height=860, theme="light", expected=(), **given
    ):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, **given
        )
        page = context.new_page()
        watched = Watched(expected=set(expected))

        def told(message):
            if message.type in {"error", "warning"} and not any(
                f"status of {each}" in message.text for each in watched.expected
            ):
                watched.complaints.append(message.text)

        page.on("console", told)
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                request.url.startswith((address, "blob:"))
                or watched.complaints.append(f"asked for {request.url}")
            ),
        )
        pages.append((page, watched))
        page.goto(f"{address}{path}")
        page.locator("main").get_by_role("heading").first.wait_for()
        return page

    yield open_page
    for page, watched in pages:
        assert page.evaluate("window.pwned") is None
        assert not watched.complaints
        page.context.close()


def ask(page, question):
    """Ask as a person does; return the turn when its answer has come."""
    page.get_by_label("Question", exact=True).fill(question)
    page.keyboard.press("Enter")
    turn = page.locator(".turn").last
    turn.get_by_role("button", name="Copy link").wait_for()
    return turn


def job_ends(page, state="done"):
    """Wait until the newest job on the page has ended so."""
    page.locator(f".job .badge[data-state={state}]").first.wait_for(timeout=90_000)


def sign_in(page, key):
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Sign in").click()


def until(what, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return
        time.sleep(0.05)
    pytest.fail("it did not come to hold")


def shown_json(value):
    return {"status": 200, "content_type": "application/json", "body": json.dumps(value)}
