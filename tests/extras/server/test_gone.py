"""An LLM or an embedder that is gone: what readers get, and what they do not see."""

import json
import logging
import socket
from contextlib import ExitStack

import pytest

import clew
from clew.extras.models.http import _timeout_record
from clew.models import OpenAIChat, OpenAIEmbeddings
from clew.testing import models
from tests.extras.server.test_addresses import by_mcp
from tests.models.server import Answer, serving

QUESTION = "Who built the Comet?"
AT = "/api/v1/indexes/small"
TOLD = "cannot be reached"
CHAT = {"model": "clew/small@walk", "messages": [{"role": "user", "content": QUESTION}]}
SAID = {
    "choices": [{"message": {"content": "ANSWER: Ola Eriksen. [1]"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 9},
}
MORE = {"history": [{"question": QUESTION, "answer": "Ola"}]}


def post(path, **body):
    return lambda client: client.post(path, json=body).text


def call(name):
    return lambda client: json.dumps(by_mcp(client, name, question=QUESTION))


ASKED = {
    "search": post(f"{AT}/search", query=QUESTION, method="walk"),
    "ask": post(f"{AT}/ask", question=QUESTION),
    "ask by events": post(f"{AT}/ask", question=QUESTION, stream=True),
    "ask a follow-up": post(f"{AT}/ask", question="And who sank it?", **MORE),
    "chat": post("/v1/chat/completions", **CHAT),
    "chat by events": post("/v1/chat/completions", **CHAT, stream=True),
    "responses": post("/v1/responses", model="clew/small", input=QUESTION),
    "mcp ask": call("ask"),
    "mcp thread": call("thread"),
}


@pytest.fixture
def nobody():
    """An address of this machine at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


@pytest.fixture
def silent():
    """An address that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    _timeout_record.cache_clear()  # another server may have the port then


def opener_of(llm=None, **given):
    return lambda folder, **_: clew.open(folder, models=models(llm=llm, **given))


@pytest.mark.parametrize("door", ASKED)
def test_a_question_goes_on_without_an_llm_that_is_gone(home, door, caplog):
    """By every door: a note says so, and only the log says where it was looked for.

    It was there before, and so a run would wait for it to come back; a question waits for nothing.
    """
    waits = []
    with ExitStack() as serves:
        with serving() as endpoint:
            endpoint.respond = lambda _: Answer(SAID, headers={"Connection": "close"})
            llm = OpenAIChat(base_url=endpoint.url, model="m", sleep=waits.append)
            client = serves.enter_context(home.client(opener_of(llm)))
            client.headers.update(home.key())
            reached = client.post(f"{AT}/ask", json={"question": "Who sank the Comet?"}).json()
        assert reached["kind"] == "generated"
        with caplog.at_level(logging.WARNING):
            text = ASKED[door](client)
    port = endpoint.url.rpartition(":")[2].partition("/")[0]
    assert TOLD in text
    assert f":{port}" not in text  # the digits alone may stand in a score
    assert "127.0.0.1" not in text
    assert '"error":{' not in text.replace(" ", "")
    assert "event: error" not in text
    assert waits == []
    [line] = [each.getMessage() for each in caplog.records if TOLD in each.getMessage()]
    assert port in line


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer({"error": {"message": "no key, says 127.0.0.1"}}, 401), "it answered HTTP 401"),
        (Answer(b"<html>"), "no usable answer: a reply that is not JSON"),
        (Answer({"error": {"message": "see http://10.0.0.9:1/x"}}, 422), "(see ...)"),
    ],
)
def test_an_llm_that_refuses_or_is_none_is_done_without(home, answer, told):
    with serving() as endpoint:
        endpoint.respond = lambda _: answer
        llm = OpenAIChat(base_url=endpoint.url, model="m", attempts=1)
        with home.client(opener_of(llm)) as client:
            found = client.post(f"{AT}/ask", json={"question": QUESTION}).json()
    assert found["kind"] == "quoted"
    assert told in " ".join(found["evidence"]["notes"])
    assert "127.0.0.1" not in json.dumps(found)
    assert "10.0.0.9" not in json.dumps(found)


@pytest.mark.parametrize("door", ASKED)
def test_an_llm_that_says_nothing_is_waited_for_once(home, silent, door):
    llm = OpenAIChat(base_url=silent, model="m", step_s=0.3, timeout_s=0.3)
    with home.client(opener_of(llm)) as client:
        text = ASKED[door](client)
        assert "no usable answer: no reply within 0.3 s" in text
        assert "127.0.0.1" not in text
        spent = client.get("/api/v1/spend").json()
        again = client.post(f"{AT}/ask", json={"question": "Who sank the Comet?"}).json()
        assert client.get("/api/v1/spend").json() == spent
    assert again["kind"] == "quoted"
    assert "no reply within 0.3 s" in " ".join(again["evidence"]["notes"])


@pytest.mark.parametrize("scope", ["read", "admin"])
def test_an_embedder_that_is_gone_is_an_error_without_its_address(home, nobody, scope, caplog):
    """Nothing can stand in for it. An admin is told where it was looked for, as the log is."""
    own = models().embedder
    lost = OpenAIEmbeddings(base_url=nobody, model=own.name, expected_dimension=own.dimension)
    own = home.key(scope=scope)
    given = {"query": QUESTION, "method": "dense"}
    with home.client(opener_of(embedder=lost)) as client:
        reply = client.post(f"{AT}/search", json=given, headers=own)
    assert reply.status_code == 502
    assert reply.json()["error"]["code"] == "model_error"
    message = reply.json()["error"]["message"]
    assert TOLD in message
    assert (nobody in message) is (scope == "admin")
    assert nobody in caplog.text


def test_recipes_and_reports_name_no_address_to_readers(home):
    """It says which models an index was built with, and to an admin where."""
    folder = home.folder.parent / "far.clew"
    spec = "openai:m@http://10.0.0.9:8000/v1"
    with clew.open(folder, models=models()) as index:
        index.add(clew.Document(id="a", text="A light stands on the cape."))
    keys = {scope: home.key(scope, scope=scope) for scope in ("read", "admin")}

    def opener(folder, **_):
        opened = clew.open(folder, models=models())
        opened.snapshot().recipe["embedder_spec"] = spec
        return opened

    with home.client(opener, indexes={"far": folder}) as client:
        told = {
            scope: client.get("/api/v1/indexes/far", headers=key).json()["recipe"]["embedder_spec"]
            for scope, key in keys.items()
        }
    assert told == {"read": "openai:m", "admin": spec}
