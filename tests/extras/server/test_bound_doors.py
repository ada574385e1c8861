"""A key that is bound to a filter finds what its documents hold by every door, and nothing else."""

import json

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from clew.extras.server import state as hubs
from clew.extras.server.callers import Caller
from clew.extras.server.endpoints import Access
from clew.extras.server.keys import KeyOptions, Keys
from clew.extras.server.mcp.protocol import make_server
from clew.extras.server.mcp.tools import TOOLS, Place
from clew.testing import QUESTIONS, small_documents
from tests.extras.server.conftest import open_small

HIDDEN = {each.id: each for i, each in enumerate(small_documents()) if i % 3 == 0}
WHERE = "group = 'open'"
ASKED = [*QUESTIONS[:3], *(each.text for each in HIDDEN.values())]


def shown(text, question):
    """The ids and sentences of hidden documents that a reply has, but for those that were asked."""
    said = [s for each in HIDDEN.values() for s in each.text.split(". ") if s not in question]
    names = [f"documents/{name}" for name in HIDDEN] + [f"small/{name}" for name in HIDDEN]
    names += [f'"{name}"' for name in HIDDEN] + [f"{name}:0-" for name in HIDDEN]
    return [each for each in (*said, *names) if each in text]


@pytest.fixture
def bound(home):
    """What sends a key that sees two documents of three."""
    return home.key(where=WHERE)


@pytest.mark.parametrize("question", ASKED)
def test_no_door_over_http_shows_what_is_hidden(home, bound, question):
    turn = [{"role": "user", "content": question}]
    chat = {"model": "clew/small", "messages": turn, "clew": {"min_support": 0}}
    responses = {"model": "clew/small", "input": question, "clew": {"min_support": 0}}
    asked = [
        ("/v1/chat/completions", chat),
        ("/v1/chat/completions", {**chat, "stream": True}),
        ("/v1/chat/completions", {**chat, "clew": {"citations": "open-webui"}, "stream": True}),
        ("/v1/chat/completions", {**chat, "clew": {"citations": "markdown"}}),
        ("/v1/responses", responses),
        ("/v1/responses", {**responses, "stream": True}),
    ]
    with home.client() as client:
        for path, body in asked:
            found = client.post(path, json=body, headers=bound)
            assert found.status_code == 200
            assert shown(found.text, question) == [], path
        search = {"query": question, "parameters": {"chunks": 20}}
        known = client.post("/api/v1/indexes/small/search", json=search, headers=home.key("all"))
    assert shown(known.text, "")  # so the test can fail


def test_filters_tell_nothing_of_what_is_hidden(home, bound):
    """A filter that only hidden documents fulfil is refused as one that none fulfils."""
    with home.client() as client:
        for name in (*HIDDEN, "nowhere"):
            body = {"query": "?", "where": f"id = '{name}'"}
            found = client.post("/api/v1/indexes/small/search", json=body, headers=bound)
            assert found.status_code == 400
            assert found.json()["error"]["message"].replace(name, "") == (
                "no document matches the filter \"id = ''\""
            )


def test_no_tool_shows_what_is_hidden(home):

    async def use():
        async with hubs.open_state(home.settings, open_small) as state:
            key, _ = Keys(state.database).add("bound", KeyOptions(where=WHERE))
            place = Place(Access(state, Caller(key)))
            async with Client(make_server(lambda _: place)) as client:
                for question in ASKED:
                    arguments = {
                        "search": {"query": question},
                        "ask": {"question": question},
                        "thread": {"question": question},
                        "hop": {"start": "Bakken", "query": question},
                        "themes": {},
                        "changes": {"since": "2000-01-01"},
                        "list_indexes": {},
                        "plan": {},
                        "fetch": {"id": f"small/{next(iter(HIDDEN))}"},
                    }
                    assert set(arguments) == {each.name for each in TOOLS}
                    for name, given in arguments.items():
                        result = await client.call_tool(name, given)
                        text = json.dumps(result.model_dump(mode="json"), ensure_ascii=False)
                        known = f"{question} {given.get('id', '')}"
                        assert shown(text, known) == [] or (name == "fetch" and result.is_error)
                for name in HIDDEN:
                    for given in (f"small/{name}", f"small/{name}:0-10"):
                        result = await client.call_tool("fetch", {"id": given})
                        told = result.content[0].text
                        assert result.is_error
                        assert told == f"there is no document {given[6:].partition(':')[0]!r} here"
                listed = await client.call_tool("list_indexes", {})
                seen = len(small_documents()) - len(HIDDEN)
                assert listed.structured_content["indexes"][0]["documents"] == seen
                plan = await client.call_tool("plan", {})
                assert plan.is_error
                with pytest.raises(MCPError):
                    await client.call_tool("export", {})

    anyio.run(use)


def test_a_key_that_sees_nothing_of_an_index(home):
    none = home.key(where="group = 'nobody'")
    with home.client() as client:
        chat = {"model": "clew/small", "messages": [{"role": "user", "content": "Who?"}]}
        found = [
            client.post("/v1/chat/completions", json=chat, headers=none),
            client.post("/api/v1/indexes/small/search", json={"query": "Who?"}, headers=none),
        ]
    assert [each.status_code for each in found] == [404, 404]
    assert not [each.text for each in found if "nobody" in each.text]
