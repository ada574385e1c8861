"""Addresses of documents."""

import json
import re
from urllib.parse import parse_qsl, quote, urlsplit

import httpx2
import pytest

import clew
from clew.extras.server.page import STATIC
from tests.extras.server.conftest import open_small


@pytest.mark.parametrize(
    ("proxies", "scheme"), [((), "http"), (("testclient",), "https"), (("10.0.0.1",), "http")]
)
def test_addresses_are_those_by_which_the_server_is_called(home, proxies, scheme):
    """The name is the client's own; that the outside is https, only a proxy of ours is believed."""
    key = home.key()
    headers = {**key, "host": "docs.example", "x-forwarded-proto": "https"}
    with home.client(proxies=proxies, hosts=("docs.example",)) as client:
        body = {"model": "clew/small", "input": "Who built the Comet?"}
        answer = client.post("/v1/responses", json=body, headers=headers).text
    assert f"{scheme}://docs.example/documents?index=small&doc=" in answer


ODD = (
    "log/day 1.md", "a#b?c&d=e%41+f;g.md", "\u00e4\u00df/\u65e5\u672c/\U0001f680.txt", "100%.md",
    "a//b/%2F/../c.md", "\"quoted' <i>.md", "index=small&doc=eriksen",
)  # fmt: skip
ASKED = "Which light stands on the cape?"


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """An index of documents whose ids have all that addresses write in another way."""
    folder = tmp_path_factory.mktemp("odd") / "odd.clew"
    with open_small(folder) as index:
        index.add(
            clew.Document(id=name, text=f"\U0001f600 Before it. Light {n} stands on the cape.")
            for n, name in enumerate(ODD)
        )
    return folder


def by_openai(client, path, form):
    """What the addresses of an answer are told for: of its annotations, or its list of sources."""
    question = {"input": ASKED} if path.endswith("responses") else {}
    messages = {"messages": [{"role": "user", "content": ASKED}]}
    sent = {"model": "clew/odd", **(question or messages), "clew": {"citations": form}}
    return client.post(path, json=sent).json()


def by_mcp(client, name, **arguments):
    call = {"name": name, "arguments": arguments}
    headers = {"accept": "application/json, text/event-stream"}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    text = client.post("/mcp", json=sent, headers=headers).text
    data = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
    return json.loads(data[-1] if data else text)["result"]["structuredContent"]


DOORS = {
    "chat": lambda c: by_openai(c, "/v1/chat/completions", "annotations"),
    "chat in markdown": lambda c: by_openai(c, "/v1/chat/completions", "markdown"),
    "responses": lambda c: by_openai(c, "/v1/responses", "annotations"),
    "rest ask": lambda c: c.post("/api/v1/indexes/odd/ask", json={"question": ASKED}),
    "rest ask by events": lambda c: [
        json.loads(line.removeprefix("data: "))
        for line in c.post(
            "/api/v1/indexes/odd/ask", json={"question": ASKED, "stream": True}
        ).text.splitlines()
        if line.startswith("data: ")
    ],
    "mcp search": lambda c: by_mcp(c, "search", query=ASKED),
    "mcp ask": lambda c: by_mcp(c, "ask", question=ASKED, index="odd"),
    "mcp thread": lambda c: by_mcp(c, "thread", question=ASKED, index="odd"),
    "mcp fetch": lambda c: [by_mcp(c, "fetch", id=f"odd/{name}:0-20") for name in ODD],
}


@pytest.mark.parametrize("root_path", ["", "/clew"])
def test_every_address_that_is_told_opens(home, odd, root_path):
    """It gives the page, without a key, and names the document and the characters that are meant.

    What the page shows of them is asked for by REST, in the way of its scripts.
    """
    key = home.key()
    with (
        home.serving(indexes={"odd": odd}, root_path=root_path) as server,
        httpx2.Client(base_url=server, headers=key) as client,
        httpx2.Client() as anybody,
    ):
        for door, ask in DOORS.items():
            told = ask(client)
            text = json.dumps(told if isinstance(told, dict | list) else told.json())
            found = re.findall(r"http://[^ \"<>\\]+", text)
            places = [dict(parse_qsl(urlsplit(address).query)) for address in found]
            assert {each["doc"] for each in places} & set(ODD), door
            for address, place in zip(found, places, strict=True):
                at = f"/api/v1/indexes/{place['index']}/documents/{quote(place['doc'], safe='')}"
                document = client.get(at).json()
                assert document["id"] == place["doc"], door
                meant = document["text"][int(place["start"]) : int(place["end"])]
                assert "Light" in meant or door == "mcp fetch", door
                assert address.startswith(f"{server}{root_path}/"), door
                page = anybody.get(address.replace(root_path, "", 1))  # as a proxy passes it on
                assert page.content == (STATIC / "index.html").read_bytes(), door
