"""Open WebUI asks a server, in a browser: `OPEN_WEBUI=.../bin/open-webui make test-page`.

It is not among the requirements, since it brings gigabytes: `pip install open-webui` in an
environment of its own.
"""

import os
import socket
import subprocess
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException

import pytest

OPEN_WEBUI = os.environ.get("OPEN_WEBUI")
QUESTION = "Where was the builder of the Fram born?"

pytestmark = pytest.mark.skipif(not OPEN_WEBUI, reason="OPEN_WEBUI names no executable")


@pytest.fixture
def connected(locked, tmp_path):
    """The addresses of Open WebUI and of the server that it knows."""
    clew, _, key = locked
    secret = key("open-webui", "--citations", "open-webui")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = tmp_path / "open-webui"
    data.mkdir()
    settings = {
        "DATA_DIR": str(data),
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "for a test",
        "ENABLE_OLLAMA_API": "False",
        "OPENAI_API_BASE_URL": f"{clew}/v1",
        "OPENAI_API_KEY": secret,
        # Nothing is fetched, and no model is loaded.
        "OFFLINE_MODE": "True",
        "HF_HUB_OFFLINE": "1",
        "RAG_EMBEDDING_ENGINE": "openai",
        "ANONYMIZED_TELEMETRY": "False",
    }
    command = [OPEN_WEBUI, "serve", "--host", "127.0.0.1", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(
            command, env={**os.environ, **settings}, cwd=data, stdout=log, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            _wait(port, process)
            yield address, clew
        finally:
            process.terminate()
            process.wait(60)


def _wait(port, process, seconds=180):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
        except (OSError, HTTPException):
            time.sleep(0.5)
    pytest.fail("Open WebUI did not start")


def _ask(page, question):
    page.locator("#chat-input").click()
    page.keyboard.type(question)
    page.keyboard.press("Enter")


def test_a_person_asks_in_open_webui(connected, chromium):
    """The quotes have their sources, which nobody else is told of, and the chat has a title."""
    address, clew = connected
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/?models=clew/polar")
    # What is new in it may be told before anything else.
    news = page.get_by_role("button", name="Okay, Let's Go!")
    page.add_locator_handler(news, lambda found: found.click())
    page.locator("#chat-input").wait_for(timeout=60_000)
    _ask(page, QUESTION)

    answer = page.locator(".chat-assistant").first
    answer.get_by_text("born in Larvik in 1832").wait_for(timeout=60_000)
    page.get_by_text("Found passages of 10 documents").first.wait_for()
    sources = page.get_by_role("button", name="Toggle 3 sources").first
    sources.click()
    source = page.locator("[id^=source-]").first
    assert source.inner_text().split() == ["1", "Colin", "Archer"]
    source.click()
    place = page.get_by_role("dialog").get_by_role("link", name="Colin Archer")
    at = "/documents?index=polar&doc=corpus/colin-archer.md&start=16&end=75"
    assert place.get_attribute("href") == clew + at
    page.keyboard.press("Escape")
    page.get_by_text("Where was the builder of the…").first.wait_for()

    _ask(page, "And when did he die?")
    page.get_by_text("And when did he die?").wait_for()
    chip = page.locator(".chat-assistant").last.get_by_role("button", name="Colin Archer")
    chip.first.wait_for(timeout=60_000)
    assert page.locator(".chat-assistant").count() == 2
    own = (address, address.replace("http", "ws"), "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []
    context.close()
