"""What requests are held to: bounds that are described, bodies, media types and methods."""

import json
import re
from dataclasses import replace

import pytest
from starlette.routing import Route

import clew.client
from clew import errors
from clew.extras.server import application
from clew.extras.server.bodies import NOT_BLANK, Part
from clew.extras.server.rest import ENDPOINTS, describe_routes
from clew.extras.wire.names import PREFIX
from tests.extras.server.every import QUESTION, reads, writes

AT = f"{PREFIX}/indexes/small"
EMPTY = "the question is empty: ask something"
FORM = {"content-type": "application/x-www-form-urlencoded"}


def taken(schema, place=""):
    """Yield each number of a schema with its place, but the parameters of methods, any number."""
    if isinstance(schema, list):
        for each in schema:
            yield from taken(each, place)
    elif isinstance(schema, dict):
        if schema.get("type") in ("integer", "number"):
            yield place, schema
        for name, each in schema.items():
            if name != "parameters" or isinstance(each, list):
                yield from taken(each, f"{place}/{name}")


def test_every_number_that_is_taken_has_bounds():
    """A least and a most, of parameters, headers and bodies, those of jobs among them."""
    found = describe_routes("")
    schemas = {
        name: schema
        for name, schema in found["components"]["schemas"].items()
        if re.search("(?:Body|Options|Job|Turn|Document)$", name)
    }
    asked = [told.get("parameters") for path in found["paths"].values() for told in path.values()]
    numbers = [*taken(schemas), *taken(asked)]
    assert len(numbers) > 60
    for place, each in numbers:
        assert {"minimum", "maximum"} <= set(each) or "exclusiveMaximum" in each, place


@pytest.mark.parametrize(
    "route", [e for e in ENDPOINTS if issubclass(e.query, Part)], ids=lambda each: each.path
)
def test_a_list_is_of_as_many_as_its_description_says(client, route):
    described = describe_routes("")["paths"][f"{PREFIX}{route.path}".replace(":path", "")]["get"]
    [schema] = [each["schema"] for each in described["parameters"] if each["name"] == "limit"]
    at = f"{PREFIX}{route.path}".replace("{index}", "small").replace("{name:path}", "comet")
    assert schema["maximum"] == 1_000
    assert client.get(f"{at}?limit={schema['maximum']}").status_code == 200
    for wrong in (schema["maximum"] + 1, "", "1.0", "-1", "+1", "\u0663"):
        assert client.get(at, params={"limit": wrong}).status_code == 400, wrong


def test_what_stands_behind_the_question_mark_is_known(client):
    """A name that no route has, or that is given twice, is named, and nothing is done."""
    for url, sentence in (
        (f"{AT}/documents?offste=5", "offste: "),
        (f"{AT}/documents?limit=5&limit=6", "limit: given more than once"),
        (f"{AT}?limit=5", "limit: "),
        (f"{PREFIX}/jobs?state=odd", "state: choose one of queued, running"),
        (f"{PREFIX}/jobs?kind=odd", "kind: choose one of index, extract"),
    ):
        found = client.get(url)
        assert found.status_code == 400, url
        assert found.json()["error"]["message"].startswith(sentence)
    for header in ("", "x", "-1", str(10**15)):
        found = client.get(f"{AT}/documents", headers={"X-Clew-Generation": header})
        assert found.status_code == 400


# -- questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\x1c", "\x85", "\xa0", "\u2003", "\ufeff"])
def test_an_empty_question_is_refused_as_it_is_described(client, blank):
    """By every door, in one sentence; what the pattern of the description allows is searched."""
    assert re.search(NOT_BLANK, blank) is None
    for url, body in (
        (f"{AT}/search", {"query": blank}),
        (f"{AT}/graph", {"query": blank}),
        (f"{AT}/ask", {"question": blank}),
    ):
        found = client.post(url, json=body)
        assert found.status_code == 400
        assert EMPTY in found.text
    schema = describe_routes("")["components"]["schemas"]["SearchBody"]["properties"]["query"]
    assert schema["minLength"] == 1
    assert schema["pattern"] == NOT_BLANK


def test_the_client_refuses_an_empty_question_and_a_taken_name(home):
    with home.serving() as address, clew.Client(address) as client:
        for ask in (client.index("small").search, client.index("small").ask):
            with pytest.raises(errors.InputError, match=f"^{EMPTY}$"):
                ask(" ")
    with home.serving() as address, clew.Client(address) as client:
        with pytest.raises(errors.AlreadyExists, match="the index 'small' already exists: choose"):
            client.make("small")
        served = client.index("small")
        with pytest.raises(errors.AlreadyExists, match="are already the same entity"):
            served.merge("Comet", "comet")
        with pytest.raises(clew.client.Refusal, match="there is no entity 'Nobody'"):
            served.merge("Nobody", "Comet")
        with pytest.raises(clew.client.Refusal, match="is not merged into another entity"):
            served.unmerge("Comet")
        with pytest.raises(clew.client.Refusal, match="configured at start and cannot be deleted"):
            client.drop("small")
    assert issubclass(errors.AlreadyExists, errors.InputError)


# -- bodies ---------------------------------------------------------------------------------------


def with_bodies():
    kinds = {(each.method, each.path): each for each in ENDPOINTS}
    return [each for each in [*reads("small"), *writes("small")] if kinds[each.route].body]


@pytest.mark.parametrize("asked", with_bodies(), ids=lambda asked: asked.url)
def test_a_body_is_there_and_is_json(client, asked):
    """None is refused, and one of another media type before it is read, as curl -d says it."""
    told = describe_routes("")["paths"][f"{PREFIX}{asked.path}".replace(":path", "")]["post"]
    assert told["requestBody"]["required"] is True
    none = client.post(f"{PREFIX}{asked.url}")
    assert none.status_code == 400
    assert none.json()["error"]["message"] == "the body is empty: send a JSON object"
    text = json.dumps(asked.body)
    for kind in ("application/x-www-form-urlencoded", "text/plain", "application/xml"):
        found = client.post(f"{PREFIX}{asked.url}", content=text, headers={"content-type": kind})
        assert found.status_code == 415
        assert found.json()["error"]["code"] == "unsupported_media_type"
    assert "415" in told["responses"]


def test_numbers_of_json_and_other_media_types(client):
    """What is a whole number to JSON is one; what is no number is none, and numbers differ."""
    body = {"query": QUESTION, "context_tokens": 500.0}
    assert client.post(f"{AT}/search", json=body).status_code == 200
    for wrong in ("500.5", "NaN", "1e400", '"500"', "true"):
        content = json.dumps({"query": QUESTION})[:-1] + f', "context_tokens": {wrong}}}'
        headers = {"content-type": "application/json"}
        assert client.post(f"{AT}/search", content=content, headers=headers).status_code == 400
    body = {"model": "clew/small", "messages": [{"role": "user", "content": QUESTION}]}
    found = client.post("/v1/chat/completions", content=json.dumps(body), headers=FORM)
    assert found.status_code == 415
    assert found.json()["error"]["type"] == "invalid_request_error"
    assert client.post(f"{AT}/shard", content=b"{}", headers=FORM).status_code == 415


# -- methods and what is there --------------------------------------------------------------------


def test_a_method_that_a_path_lacks_is_told_which_there_are(home):
    paths = {}
    for route in application(home.settings).routes:
        if isinstance(route, Route):
            paths.setdefault(route.path, set()).update(route.methods)
    with home.client() as client:
        for path, methods in paths.items():
            at = re.sub(r"{\w+(:path)?}", "x", path)
            for method in {"PUT", "OPTIONS", "TRACE", "GET", "POST", "DELETE"} - methods:
                found = client.request(method, at)
                assert found.status_code == 405, (method, at)
                assert set(found.headers["allow"].split(", ")) == methods, at
    assert {"GET", "HEAD", "POST"} in paths.values()


def test_the_head_of_a_stream_waits_for_nothing(home):
    with home.client(jobs=0) as client:
        job = client.post(f"{AT}/jobs", json={"kind": "compact"}).json()
        found = client.head(f"{PREFIX}/jobs/{job['id']}/events")
        assert found.headers["content-type"].startswith("text/event-stream")


def test_the_description_says_where_the_server_is(home):
    """At the address by which it was asked, behind a proxy with the path that this takes off."""
    with home.client() as client:
        served = client.get(f"{PREFIX}/openapi.json").json()
        assert served["servers"] == [{"url": "http://localhost:8765"}]
    with replace(home, settings=replace(home.settings, root_path="/clew")).client() as client:
        served = client.get(f"{PREFIX}/openapi.json").json()
        assert served["servers"] == [{"url": "http://localhost:8765/clew"}]
