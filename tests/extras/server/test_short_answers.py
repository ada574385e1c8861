"""The short answer at every door, as a reader gives it that always reads the same words."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

import clew
from clew.cli import main
from clew.models import ReadSpan
from clew.testing import models, small_documents
from tests.extras.server.test_mcp import given, in_process

QUESTION = "Who built the Comet?"
ANSWER = "Ola Eriksen"
TEXTS = {each.id: each.text for each in small_documents()}


class Reader:
    name = "reader"

    def read(self, _question, texts):
        for place, text in enumerate(texts):
            if (start := text.find(ANSWER)) >= 0:
                return ReadSpan(place, start, start + len(ANSWER), 0.9)
        return None


def open_read(folder, **_):
    return clew.open(folder, models=replace(models(), reader=Reader()))


def test_rest_and_openai_tell_it(home):
    """With offsets that cut it from its document, and above the quotes with its number."""
    with home.client(open_read) as client:
        answer = client.post("/api/v1/indexes/small/ask", json={"question": QUESTION}).json()
        body = {"model": "clew/small", "messages": [{"role": "user", "content": QUESTION}]}
        chat = client.post("/v1/chat/completions", json=body).json()
    short = answer["short"]
    [span] = short["spans"]
    assert (short["text"], short["kind"], short["probability"]) == (ANSWER, "span", 0.9)
    assert TEXTS[span["document_id"]][span["start"] : span["end"]] == ANSWER == span["text"]
    assert answer["citations"][span["citation"]]["document_id"] == span["document_id"]
    content = chat["choices"][0]["message"]["content"]
    assert content.startswith(f'{ANSWER} [{span["citation"] + 1}]\n\n"')
    assert chat["clew"]["short"] == short


@pytest.mark.anyio
async def test_mcp_tells_it(home):
    async with in_process(home, opener=open_read) as client:
        assert (await given(client, "ask", question=QUESTION, index="small"))["short"] == ANSWER


def test_the_command_line_tells_it(home):
    """In the first line, with its number and probability, and in JSON; nothing without one."""
    folder = str(home.settings.indexes["small"])

    def say(*more, opener=open_read):
        words = ["ask", QUESTION, "--index", folder, *more]
        return CliRunner().invoke(main, words, obj=opener).stdout

    line = say().splitlines()[0]
    assert line.startswith(f"{ANSWER} [")
    assert line.endswith("(probability 0.90)")
    assert f'"text": "{ANSWER}"' in say("--json")
    unread = say(opener=lambda folder, **_: clew.open(folder, models=models()))
    assert not unread.startswith(ANSWER)
