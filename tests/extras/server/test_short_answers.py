"""The short answer at every door, as a reader gives it that always reads the same words."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

import clew
from clew.base.types import UNSURE
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


SUMMED, THANKS = "Summarise the document comet", "Thanks a lot!"


def test_an_unsure_answer_says_so_at_the_doors_of_the_server(home):
    asked = {"question": "How do I bake sourdough bread?", "min_support": 0}
    with home.client(lambda folder, **_: clew.open(folder, models=models())) as client:
        answer = client.post("/api/v1/indexes/small/ask", json=asked).json()
        body = {
            "model": "clew/small",
            "messages": [{"role": "user", "content": asked["question"]}],
            "clew": {"min_support": 0},
        }
        chat = client.post("/v1/chat/completions", json=body).json()
    assert answer["is_unsure"]
    assert chat["choices"][0]["message"]["content"].startswith(UNSURE)


@pytest.mark.parametrize("question", [SUMMED, THANKS])
def test_summaries_and_remarks_are_the_same_at_all_doors(home, question):
    """The composition is one: the page's events and the OpenAI door say what Python says."""
    with clew.open(home.settings.indexes["small"], models=models()) as index:
        expected = index.ask(question)
    with home.client(lambda folder, **_: clew.open(folder, models=models())) as client:
        answer = client.post("/api/v1/indexes/small/ask", json={"question": question}).json()
        asked = {"question": question, "stream": True}
        streamed = client.post("/api/v1/indexes/small/ask", json=asked)
        body = {"model": "clew/small", "messages": [{"role": "user", "content": question}]}
        chat = client.post("/v1/chat/completions", json=body).json()
    assert (answer["kind"], answer["text"]) == (expected.kind, expected.text)
    assert expected.kind == ("quoted" if question == SUMMED else "none")
    assert len(expected.citations) == len(answer["citations"])
    content = chat["choices"][0]["message"]["content"]
    said = [f'"{each.quote}"' for each in expected.citations] or ["this asks nothing"]
    assert all(quote in content for quote in said)
    events = [line for line in streamed.text.splitlines() if line.startswith("event: ")]
    assert "event: evidence" in events
    assert "event: error" not in events
