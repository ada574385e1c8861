"""Tools of a model: in process, as a client starts them, and over HTTP."""

import json
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

import clew
from clew.extras.server import state as hubs
from clew.extras.server.callers import Caller
from clew.extras.server.endpoints import Access
from clew.extras.server.mcp import tools
from clew.extras.server.mcp.protocol import make_server
from clew.extras.server.mcp.tools import TOOLS, Place
from clew.testing import small_documents
from tests.extras.server.conftest import REPLY, on_answers, open_small, open_with

QUESTION = "Who built the Comet?"
TEXTS = {each.id: each.text for each in small_documents()}

pytestmark = pytest.mark.anyio  # of the tests that are awaited


@pytest.fixture
def anyio_backend():
    return "asyncio"


@asynccontextmanager
async def in_process(home, mode="auto", opener=open_small, index="", budget=None):
    async with hubs.open_state(home.settings, opener) as state:
        place = Place(Access(state, Caller(), budget=budget), index=index)
        async with Client(make_server(lambda _: place), mode=mode) as client:
            yield client


async def given(client, name, **arguments):
    """What a tool gives: one item of text, whose JSON is the structured content, too."""
    result = await client.call_tool(name, arguments)
    [item] = result.content
    assert not result.is_error, item.text
    assert json.loads(item.text) == result.structured_content
    return result.structured_content


async def refused(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return result.content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_search_and_fetch_are_as_connectors_demand(home, mode):
    """One argument each, and just the fields that ChatGPT reads; what is found can be fetched."""
    async with in_process(home, mode) as client:
        known = {each.name: each for each in (await client.list_tools()).tools}
        for name, argument in (("search", "query"), ("fetch", "id")):
            schema = known[name].input_schema
            assert list(schema["properties"]) == schema["required"] == [argument]
            assert schema["properties"][argument]["type"] == "string"
        assert all(each.annotations.read_only_hint for each in known.values())
        found = await given(client, "search", query=QUESTION)
        assert list(found) == ["results"]
        assert found["results"][0]["id"] == "small/eriksen"
        for each in found["results"]:
            assert list(each) == ["id", "title", "url"]
            whole = await given(client, "fetch", id=each["id"])
            assert list(whole) == ["id", "title", "text", "url", "metadata"]
            assert whole["id"] == each["id"]
            assert whole["text"] == TEXTS[whole["metadata"]["document_id"]]


async def test_ask_and_thread(home):
    """An answer with ranges that can be fetched, and the way to each passage."""
    async with in_process(home) as client:
        answer = await given(client, "ask", question=QUESTION, index="small")
        assert answer["kind"] == "quoted"
        for each in answer["citations"]:
            assert (await given(client, "fetch", id=each["id"]))["text"] == each["quote"]
        way = await given(client, "thread", question=QUESTION, method="walk")
        assert [step["layer"] for step in way["paths"][0]] == ["query", "entity", "unit", "chunk"]
        assert way["passages"][0]["text"] == TEXTS["eriksen"]
        nothing = await given(client, "ask", question="How is sourdough bread baked at home?")
        assert nothing["kind"] == "refused"
        assert nothing["answer"].startswith("Nothing in these documents seems to answer this")
        assert nothing["citations"]
        some = await given(client, "thread", question=QUESTION, where="group = 'open'")
        assert {each["title"] for each in some["passages"]} <= {
            name.capitalize() for n, name in enumerate(TEXTS) if n % 3
        }


async def test_an_agent_hops_from_what_it_was_given(home):
    async with in_process(home) as client:
        for start in ("Bakken", "small/bakken", "small/bakken:0-10", "bakken"):
            found = await given(client, "hop", start=start)
            titles = {each["title"] for each in found["passages"]}
            assert "Eriksen" in titles
            assert ("Bakken" in titles) == (start == "Bakken")  # itself is not another document
            assert [step["layer"] for step in found["paths"][0]][:2] == ["query", "entity"]
        onward = await given(client, "hop", start=found["passages"][0]["id"], query=QUESTION)
        assert onward["passages"]
        assert "no passage, document or entity" in await refused(client, "hop", start="x/y")


async def test_what_there_is_and_what_an_extraction_would_cost(home):

    async with in_process(home) as client:
        found = await given(client, "list_indexes")
        assert found == {"indexes": [{"name": "small", "documents": 12, "chunks": 12}]}
        plan = await given(client, "plan")
        assert plan["chunks"] == 12
        assert plan["estimates"][0]["prompt_tokens"] > 0


async def test_themes_have_sentences_that_can_be_fetched(home):

    async with in_process(home) as client:
        found = await given(client, "themes")
        assert sum(theme["documents"] for theme in found["themes"]) == 12
        assert found["total"] == len(found["themes"])
        sentence = found["themes"][0]["sentences"][0]
        assert (await given(client, "fetch", id=sentence["id"]))["text"] == sentence["quote"]


async def test_changes_have_totals_and_what_cannot_be_compared_is_a_sentence(home):

    async with in_process(home) as client:
        found = await given(client, "changes", since="0")
        assert found["totals"]["documents"] == len(found["documents"]) == 12
        assert {each["change"] for each in found["documents"]} == {"came"}
        assert "neither a generation nor a date" in await refused(client, "changes", since="/etc")


async def test_what_cannot_be_done_is_a_sentence(home):
    """The model reads it; a tool that is not there is an error of the protocol."""
    async with in_process(home, index="small") as client:
        assert await refused(client, "search") == "query: Field required"
        for tool, name in (("search", "query"), ("ask", "question"), ("thread", "question")):
            sentence = await refused(client, tool, **{name: " "})
            assert sentence == f"{name}: the question is empty: ask something"
        assert "extra" in (await refused(client, "search", query="x", top_k=3)).lower()
        assert await refused(client, "fetch", id="small/none") == "there is no document 'none' here"
        assert await refused(client, "fetch", id="x/y") == "there is no index 'x' here"
        assert "as returned by search, not 'x'" in await refused(client, "fetch", id="x")
        assert "is not a range" in await refused(client, "fetch", id="small/fjord:900-901")
        assert "no method 'magic'" in await refused(
            client, "ask", question=QUESTION, method="magic"
        )
        with pytest.raises(MCPError, match="there is no tool 'remove'"):
            await client.call_tool("remove", {})


async def test_several_indexes_are_searched_together(home, tmp_path):
    """The most relevant comes first, whatever index has it; a question names its index."""
    with open_small(tmp_path / "other.clew") as index:
        text = "The Dawn was a ship. Una Berg built the Dawn in Verle."
        index.add([clew.Document(id="dawn", text=text), clew.Document(id="a/b:1-2", text="Salt.")])
    indexes = {**home.settings.indexes, "other": tmp_path / "other.clew"}
    more = replace(home, settings=replace(home.settings, indexes=indexes))
    async with in_process(more) as client:
        found = (await given(client, "search", query="Who built the Dawn?"))["results"]
        assert found[0]["id"] == "other/dawn"
        assert {each["id"].partition("/")[0] for each in found} == {"other", "small"}
        said = await refused(client, "ask", question=QUESTION)
        assert said == "name an index: there are small, other"
        assert (await given(client, "fetch", id="other/a/b:1-2"))["text"] == "Salt."


async def test_a_long_document_is_fetched_in_parts(home, tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "LONG", 2_000)
    text = " ".join(f"Keeper number {n} of the light slept badly." for n in range(90))
    text += " Una Berg built the Dawn in Verle. " + text
    with open_small(tmp_path / "long.clew") as index:
        index.add([clew.Document(id="log", title="Log", text=text)])
    settings = replace(home.settings, indexes={"long": tmp_path / "long.clew"})
    async with hubs.open_state(settings, open_small) as state:
        place = Place(Access(state, Caller()))
        found = tools.search(place, query="Who built the Dawn?")["results"]
        assert len({each["id"] for each in found}) == len(found)
        parts = [tools.fetch(place, id=each["id"])["text"] for each in found]
        assert 0 < len(parts[0]) <= 2_000
        assert any("built the Dawn" in part for part in parts)
        texts, next_id = [], "long/log"
        while next_id:
            part = tools.fetch(place, id=next_id)
            texts.append(part["text"])
            next_id = part["metadata"].get("next")
        assert "".join(texts) == text


async def test_what_a_model_is_told_of_tools_is_the_same_everywhere(home, tmp_path):
    """No word of a document is in it: that could tell the model what to do."""
    other = replace(home, settings=clew.extras.server.ServerSettings(home=tmp_path))
    told = []
    for each in (home, other):
        async with in_process(each) as client:
            told.append(((await client.list_tools()).tools, client.instructions))
    assert told[0] == told[1]
    assert len({each.name for each in TOOLS}) == len(TOOLS)


async def test_a_budget_is_for_all_that_is_asked(home):
    """Where one was given to `clew mcp`: what the first answer used, the second one lacks."""
    chat, opener = open_with(on_answers(REPLY))

    async def use(tokens):
        budget = clew.Budget(tokens=tokens)
        async with in_process(home, opener=opener, budget=budget) as client:
            return [
                (await given(client, "ask", question=question, method="bm25"))["kind"]
                for question in (QUESTION, "Who built the Comet in Bakken?")
            ]

    for tokens in range(200, 3_000, 50):
        found = await use(tokens)
        if "generated" in found:
            break
    assert found == ["generated", "quoted"]
    assert len(chat.asked) == 1
    assert await use(100_000) == ["generated", "generated"]


# -- over HTTP ------------------------------------------------------------------------------------


@asynccontextmanager
async def over_http(address, headers, mode="auto"):
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http_with_a_key(home, mode):
    headers = home.key(indexes=("small",))
    with home.serving() as address:
        async with over_http(f"{address}/mcp", headers, mode) as client:
            [first, *_] = (await given(client, "search", query=QUESTION))["results"]
            assert first["url"] == f"{address}/documents?index=small&doc=eriksen&start=0&end=61"
        async with over_http(f"{address}/mcp/small", headers, mode) as client:
            assert (await given(client, "ask", question=QUESTION))["kind"] == "quoted"


CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "list_indexes", "arguments": {}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/mcp", {}, 200),
        ("/mcp/small", {}, 200),
        ("/mcp/other", {}, 404),
        ("/mcp", {"authorization": ""}, 401),
        ("/mcp", {"authorization": "Bearer clew_1_x"}, 401),
        ("/mcp", {"host": "evil.example"}, 403),
        ("/mcp", {"host": "localhost.evil.example:80"}, 403),
        ("/mcp", {"origin": "https://evil.example"}, 403),
        ("/mcp", {"origin": "null"}, 403),
        ("/mcp", {"content-type": "text/plain"}, 400),
    ],
)
def test_who_may_call_over_http(home, path, headers, status):
    key = home.key()
    with home.serving() as address, httpx2.Client(base_url=address) as client:
        sent = {**ACCEPT, **key, "content-type": "application/json"}
        sent = {name.lower(): value for name, value in sent.items()} | headers
        sent = {name: value for name, value in sent.items() if value}
        response = client.post(path, content=json.dumps(CALL), headers=sent)
        assert response.status_code == status
        assert client.get("/mcp", headers={**ACCEPT, **key}).status_code == 405
        if status == 401:
            assert response.headers["www-authenticate"].startswith("Bearer")


def test_a_body_that_is_too_large_and_an_import(home):
    with home.serving(body_bytes=1_000) as address, httpx2.Client(base_url=address) as client:
        large = json.dumps({**CALL, "x": "a" * 2_000})
        headers = {**ACCEPT, "content-type": "application/json"}
        assert client.post("/mcp", content=large, headers=headers).status_code == 413
        assert client.post("/mcp", json=CALL, headers=ACCEPT).status_code == 200
    script = (
        "import sys, clew.extras.server.app; print([m for m in sys.modules if m.startswith('mcp')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


# -- by stdio -------------------------------------------------------------------------------------


async def test_as_a_client_starts_it(home):
    """`clew mcp` speaks the protocol alone on its output, and ends with its input."""
    folder = home.settings.indexes["small"]
    script = (
        "import sys; from functools import partial; import clew, clew.testing;"
        " from clew.extras.server.mcp import protocol; from clew.cli import main;"
        " opener = lambda folder, **_: clew.open(folder, models=clew.testing.models());"
        " protocol.serve_stdio.__kwdefaults__['opener'] = opener; main(sys.argv[1:])"
    )
    server = StdioServerParameters(
        command=sys.executable,
        args=["-W", "error", "-c", script, "mcp", f"mine={folder}"],
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    async with Client(server) as client:
        found = await given(client, "search", query=QUESTION)
        assert found["results"][0]["id"] == "mine/eriksen"
        assert found["results"][0]["url"] == "clew://mine/eriksen?start=0&end=61"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda each: each.name)
async def test_null_is_as_left_out(home, tool):
    """For every optional argument, as clients send those that a model leaves out."""
    needed = {"query": QUESTION, "question": QUESTION, "id": "small/comet", "start": "Comet"}
    fields = tool.given.model_fields
    given_ = {name: needed[name] for name in fields if fields[name].is_required()}
    nulls = {name: None for name in fields if not fields[name].is_required()}
    async with in_process(home) as client:
        with_nulls = await client.call_tool(tool.name, {**given_, **nulls})
        without = await client.call_tool(tool.name, given_)
        assert with_nulls.is_error == without.is_error
        assert len(with_nulls.content[0].text) > 0
        if not without.is_error:
            assert set(with_nulls.structured_content) == set(without.structured_content)
        if given_:
            broken = await client.call_tool(tool.name, dict.fromkeys(given_))
            assert broken.is_error
