"""An index in shards, served as one: asked through every door, and refused for the rest."""

import json
import shutil
from functools import partial

import pytest

import clew
from clew import testing
from clew.extras.server import ServerSettings
from clew.shards import open_any, open_shards
from tests.extras.cluster.shards.small import whole_and_parts
from tests.extras.server.conftest import Home
from tests.extras.server.every import QUESTION, reads, replies, writes
from tests.index.build import MODELS

opener = partial(open_any, models=MODELS)
AT = "/api/v1/indexes/small"
# What is told of shards as one; all other routes about an index tell of one shard alone.
DONE = {
    ("GET", "/indexes/{index}"),
    ("GET", "/indexes/{index}/documents/{id:path}"),
    ("POST", "/indexes/{index}/search"),
    ("POST", "/indexes/{index}/ask"),
    ("POST", "/indexes/{index}/graph"),
}


@pytest.fixture(scope="module")
def place():
    with whole_and_parts(parts=3) as found:
        yield found


@pytest.fixture
def home(place, tmp_path):
    return Home(ServerSettings(home=tmp_path / "home", indexes={"small": place / "parts"}, jobs=0))


@pytest.fixture
def client(home):
    with home.client(opener) as found:
        yield found


def test_it_is_asked_as_one(place, client):
    with open_shards(place / "parts", models=MODELS) as shards:
        found = shards.search(QUESTION)
        answer = shards.ask(QUESTION)
    told = client.post(f"{AT}/search", json={"query": QUESTION, "method": "walk"}).json()
    assert [each["chunk_id"] for each in told["hits"]] == [h.chunk_id for h in found.hits]
    assert client.post(f"{AT}/ask", json={"question": QUESTION}).json()["text"] == answer.text
    stream = client.post(f"{AT}/ask", json={"question": QUESTION, "stream": True})
    assert [each["text"] for each in replies(stream) if "citations" in each] == [answer.text]


def test_a_shard_that_is_gone_is_missing_at_every_door(place, tmp_path):
    """Its name is told and its place is not, to people, programs and agents."""
    parts = shutil.copytree(place / "parts", tmp_path / "parts")
    shutil.rmtree(parts / "shard-0001")
    home = Home(ServerSettings(home=tmp_path / "home", indexes={"small": parts}, jobs=0))
    with home.client(opener) as client:
        told = client.post(f"{AT}/search", json={"query": QUESTION}).json()
        answer = client.post(f"{AT}/ask", json={"question": QUESTION}).json()
        chat = {"model": "small", "messages": [{"role": "user", "content": QUESTION}]}
        reply = client.post("/v1/chat/completions", json=chat).text
    for evidence in (told, answer["evidence"]):
        assert (evidence["partial"], evidence["missing"]) == (True, ["shard-0001"])
        assert evidence["notes"][-1] == "partial: 1 shard of 3 did not reply (shard-0001)"
    assert "1 shard of 3 did not reply" in reply
    assert str(parts) not in reply


def test_it_is_listed_and_its_documents_are_shown(client):
    [line] = client.get("/api/v1/indexes").json()["items"]
    assert (line["n_documents"], line["problem"]) == (12, "")
    assert line["n_chunks"] == client.get(AT).json()["n_chunks"] > 0
    for each in testing.small_documents():
        assert client.get(f"{AT}/documents/{each.id}").json()["text"] == each.text
    assert client.get(f"{AT}/documents/nothing").status_code == 404
    asked = partial(client.post, f"{AT}/search")
    found = asked(json={"query": QUESTION, "where": "title = 'Lund'"}).json()
    assert {each["document_id"] for each in found["hits"]} == {"lund"}
    for where in ("title = 'nothing'", "author = 'x'", "title ="):
        assert asked(json={"query": QUESTION, "where": where}).status_code == 400


def test_other_programs_ask_it(client):
    """OpenAI's clients and agents, by a filter or without one."""
    chat = {"model": "small", "messages": [{"role": "user", "content": QUESTION}]}
    assert "Ola Eriksen" in client.post("/v1/chat/completions", json=chat).text
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    for name, given in (
        ("search", {"query": QUESTION}),
        ("ask", {"question": QUESTION, "where": "title != 'Lund'"}),
        ("fetch", {"id": "small/comet"}),
        ("list_indexes", {}),
    ):
        said = client.post(
            "/mcp",
            json={**call, "params": {"name": name, "arguments": given}},
            headers={"accept": "application/json, text/event-stream"},
        )
        assert '"isError":true' not in said.text.replace(" ", ""), said.text
        assert "omet" in said.text or name == "list_indexes"


def test_what_is_done_on_one_shard_is_refused(client):
    """Every route either answers or says that the index is in shards; none fails in another way."""
    for asked in [*reads("small"), *writes("small")]:
        if not asked.url.startswith("/indexes/small"):
            continue
        reply = asked.send(client)
        if asked.route in DONE and reply.status_code != 404:
            assert reply.status_code == 200, (asked, reply.text)
        elif reply.status_code not in {200, 404}:
            assert reply.status_code in {400, 501}, (asked, reply.text)
            assert reply.json()["error"]["code"] in {"in_shards", "invalid_input"}, asked
    drop = client.delete(AT)
    assert drop.status_code == 403


def test_keys_mean_what_they_mean(home):
    """A key with a filter cannot ask shards, and who is no admin is told no paths."""
    bound, reader = home.key("bound", where="title = 'Comet'"), home.key("reader")
    admin = home.key("admin", scope="admin")
    with home.client(opener) as client:
        for asked in reads("small"):
            reply = asked.send(client, bound)
            assert "Bakken" not in reply.text.replace(QUESTION, ""), asked
        ask = {"json": {"query": QUESTION}}
        assert client.post(f"{AT}/search", **ask, headers=bound).status_code == 501
        folder = str(home.settings.indexes["small"])
        told = json.dumps([each.send(client, reader).text for each in reads("small")])
        assert folder not in told
        assert folder in client.get(AT, headers=admin).text
        assert client.post(f"{AT}/search", json={"query": QUESTION}, headers=reader).is_success
        where = {"query": QUESTION, "where": "source like '*'"}
        assert client.post(f"{AT}/search", json=where, headers=reader).status_code == 400


def test_what_is_written_to_a_shard_is_served(place, client, home):
    before = client.get("/metrics").text
    assert client.get("/readyz").status_code == 200
    with open_shards(place / "parts", models=MODELS) as shards:
        shards.add(clew.Document(id="tovar", title="Tovar", text="Tovar Quill painted the Comet."))
    found = client.post(f"{AT}/search", json={"query": "Who painted the Comet?"}).json()
    assert found["hits"][0]["document_id"] == "tovar"
    assert client.get("/metrics").text != before
    assert client.get(AT).json()["n_documents"] == 13
    with open_shards(place / "parts", models=MODELS) as shards:
        assert shards.remove(["tovar"]) == ["tovar"]  # as other tests have it
