"""What goes wrong at a server tells nobody but an admin of its files, its index and other keys."""

import pytest

import clew
from clew import errors
from clew.extras.server import application
from clew.extras.server.mcp.tools import TOOLS
from clew.extras.server.rest import ENDPOINTS
from clew.extras.wire.names import GENERATION_HEADER, LAST_EVENT_HEADER, MOST_NUMBER, PREFIX
from clew.extras.wire.refusals import describe_briefly
from tests.extras.server.every import QUESTION, Asked, reads, writes

OWN = "/srv/vault/small.clew: SELECT text FROM document; generation 4711081542"
PLACES = ("/srv/vault", "small.clew", "index.sqlite")
WORDS = (*PLACES, "SELECT", "4711081542", "Traceback", 'File "')
NUMBERS = ("1", "99999", "9" * 40, "/etc/passwd")  # of the past, to come, too long, and none
KEYS = {"read": {}, "bound": {"where": "group = 'open'"}, "write": {"scope": "write"}}
TURN = [{"role": "user", "content": QUESTION}]


def asks_tool(name, arguments, index="small"):
    call = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = (("accept", "application/json, text/event-stream"),)
    return Asked("POST", "/mcp/{index}" if index else "/mcp", f"/mcp/{index}", body, headers)


TOOL_ARGUMENTS = {
    "search": {"query": QUESTION},
    "fetch": {"id": "small/comet"},
    "ask": {"question": QUESTION},
    "thread": {"question": QUESTION},
    "hop": {"start": "Comet"},
    "themes": {},
    "changes": {"since": "2000"},
    "plan": {},
    "list_indexes": {},
}


def outside_rest():
    """Return a request for each route of another interface, and of the page."""
    chat = {"model": "clew/small", "messages": TURN}
    found = [
        Asked("GET", path, path)
        for path in ("/healthz", "/readyz", "/metrics", "/sign-in", "/sign-in/callback", "/")
    ]
    found += [
        Asked("GET", path, path)
        for path in ("/ask", "/compare", "/documents", "/themes", "/graph", "/jobs", "/spend")
    ]
    return [
        *found,
        Asked("GET", "/keys", "/keys"),
        Asked("GET", "/page/{name}", "/page/page.js"),
        Asked("GET", "/v1/models", "/v1/models"),
        Asked("GET", "/v1/models/{model:path}", "/v1/models/clew/small"),
        Asked("POST", "/v1/chat/completions", "/v1/chat/completions", chat),
        Asked("POST", "/v1/chat/completions", "/v1/chat/completions", {**chat, "stream": True}),
        Asked(
            "POST", "/v1/embeddings", "/v1/embeddings", {"model": "clew/small", "input": QUESTION}
        ),
        Asked("POST", "/v1/responses", "/v1/responses", {"model": "clew/small", "input": QUESTION}),
        *(asks_tool(name, arguments) for name, arguments in TOOL_ARGUMENTS.items()),
        asks_tool("list_indexes", {}, index=""),
    ]


def send(asked, client, headers, prefix):
    return client.request(
        asked.method,
        f"{prefix}{asked.url}",
        json=asked.body,
        content=asked.content,
        headers={**dict(asked.headers), **headers},
        follow_redirects=False,
    )


def every_request():
    """Yield each request with what its path begins with."""
    yield from ((each, PREFIX) for each in [*reads("small"), *writes("small")])
    yield from ((each, "") for each in outside_rest())


def told(response):
    return f"{response.text} {dict(response.headers)}"


def test_every_route_is_asked(home):
    asked = {f"{prefix}{each.path}" for each, prefix in every_request()}
    assert {route.path for route in application(home.settings).routes} == asked
    assert {(each.method, each.path) for each in ENDPOINTS} <= {
        each.route for each, _ in every_request()
    }
    assert {each.name for each in TOOLS} == set(TOOL_ARGUMENTS)


@pytest.mark.parametrize("key", ["read", "bound", pytest.param("write", marks=pytest.mark.slow)])
def test_headers_bring_no_path_and_no_generation_to_light(home, key):
    """Whatever generation a request asks for: 412 names neither the newest one nor the folder."""
    own = home.key(**KEYS[key])
    folder = str(home.settings.home.parent)
    with home.client() as client:
        for asked, prefix in every_request():
            if asked.path == "/openapi.json" or asked.route in _CHANGING:
                continue
            plain = send(asked, client, own, prefix)
            for number in NUMBERS:
                headers = {GENERATION_HEADER: number, LAST_EVENT_HEADER: number}
                found = send(asked, client, {**own, **headers}, prefix)
                assert folder not in told(found), (asked, number)
                assert not [word for word in WORDS if word in found.text], (asked, number)
                if key == "bound":
                    assert GENERATION_HEADER.lower() not in found.headers
                    if (
                        number.isdecimal() and int(number) <= MOST_NUMBER
                    ):  # else it is none, for all
                        assert found.status_code == plain.status_code, (asked, number)


_CHANGING = {each.route for each in writes("small")}


def test_a_generation_to_come_is_refused_without_the_newest_one(home):
    with home.client() as client:
        body, headers = {"query": QUESTION}, {GENERATION_HEADER: "99999"}
        found = client.post(f"{PREFIX}/indexes/small/search", json=body, headers=headers)
    assert found.status_code == 412
    message = "this index has not come to that generation: try again later"
    assert found.json()["error"] == {"code": "generation_missing", "message": message}


FAULTS = {
    **{
        each.__name__: each(OWN)
        for each in (
            errors.NotAnIndex,
            errors.IndexLocked,
            errors.StoreUnavailable,
            errors.RecipeMismatch,
            errors.DamagedIndex,
            errors.StoreError,
            errors.EndpointError,
            errors.ModelError,
        )
    },
    "InputError": errors.InputError("/srv/vault/small.clew/index.sqlite cannot be read"),
    "UnreadableSource": errors.UnreadableSource("/srv/vault/a.txt", "empty"),
    "MissingLayer": errors.MissingLayer(r"C:\vault\index.sqlite and (/srv/vault/x) have no units"),
    "OSError": OSError(2, "No such file", "/srv/vault/small.clew/index.sqlite"),
    "RuntimeError": RuntimeError(OWN),
    "ValueError": ValueError(OWN),
}


def keys_with_faults():
    """Yield all pairs: one key meets each fault, the others one that Clew knows, and one not."""
    for key in (*KEYS, "admin"):
        for fault in FAULTS:
            is_usual = key == "read" or fault in {"MissingLayer", "OSError"}
            yield pytest.param(key, fault, marks=[] if is_usual else [pytest.mark.slow])


@pytest.mark.parametrize(("key", "fault"), list(keys_with_faults()))
def test_no_error_tells_of_the_server(home, monkeypatch, key, fault):
    """By every route; an admin reads what is wrong, if Clew knows it."""
    own = home.key(**KEYS.get(key, {"scope": "admin"}))

    def fail(*_given, **_options):
        raise FAULTS[fault]

    for name in ("snapshot", "show", "ask", "search", "hop", "changes", "aliases", "vocabulary"):
        monkeypatch.setattr(clew.Index, name, fail)
    has_failed, messages = 0, []
    with home.client() as client:
        for asked, prefix in every_request():
            if asked.path in {"/openapi.json", "/keys/{id}"}:
                continue
            found = send(asked, client, own, prefix)
            has_failed += found.status_code >= 400
            messages.append(found.text)
            is_own = key == "admin" and isinstance(FAULTS[fault], errors.ClewError)
            if not is_own:
                words = [word for word in WORDS if word in told(found)]
                assert not words, (asked, words, told(found)[:500])
    assert has_failed > 20
    if key == "admin" and isinstance(FAULTS[fault], errors.ClewError):
        assert any("vault" in each for each in messages)


def test_a_failure_within_a_stream_tells_nothing(home, monkeypatch):
    """What fails behind the first event is an event of its own."""
    monkeypatch.setattr(
        "clew.answers.answer.write_answer",
        lambda *_given, **_options: (_ for _ in ()).throw(errors.DamagedIndex(OWN)),
    )
    with home.client() as client:
        own = home.key()
        stream = {**own, "accept": "text/event-stream"}
        body = {"question": QUESTION}
        found = client.post(f"{PREFIX}/indexes/small/ask", json=body, headers=stream)
        assert "event: error" in found.text
        chat = {"model": "clew/small", "messages": TURN, "stream": True}
        also = client.post("/v1/chat/completions", json=chat, headers=own)
        for each in (found, also):
            assert "damaged" in each.text
            assert not [word for word in WORDS if word in each.text]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv/a b/c.txt: empty", "a file of the server b/c.txt: empty"),
        ("'/srv/a.txt' is empty", "'a file of the server' is empty"),
        (r"C:\data\a.txt is empty", "a file of the server is empty"),
        ("no document 'notes/a.md' of 3/4 fits and/or is read", None),
        ("Q1 / Q2 is no filter", None),
    ],
)
def test_paths_of_the_server_alone_are_hidden(text, shown):
    assert describe_briefly(errors.InputError(text)) == (shown or text)
