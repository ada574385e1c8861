"""The description of the routes is valid, is of all routes, and replies are as it says."""

import inspect
import json
import re
from dataclasses import fields, replace
from functools import cache

import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route

from clew import methods
from clew.api import Index
from clew.extras.server import application
from clew.extras.server.database import ServerDatabase
from clew.extras.server.jobs.queue import JobQueue
from clew.extras.server.rest import ENDPOINTS, describe_routes
from clew.extras.wire.names import PREFIX
from tests.docs.pages import ROOT
from tests.extras.server.every import JOB, Asked, reads, replies, writes

SEARCH = "/indexes/{index}/search"
_PART = re.compile(r"{(\w+)(?::path)?}")


described = cache(describe_routes)  # nothing here changes what it gives


@cache
def operations():
    return {
        (method.upper(), path): told
        for path, methods in described("")["paths"].items()
        for method, told in methods.items()
    }


def test_the_description_is_valid_and_of_every_route(client, home):
    """It is what is served without a key, and OpenAPI's own schema and rules hold."""
    import openapi_spec_validator

    served = client.get(f"{PREFIX}/openapi.json").json()
    openapi_spec_validator.validate(served)
    assert served == describe_routes(str(client.base_url))
    names = [told["operationId"] for told in operations().values()]
    assert len(names) == len(set(names))
    routes = [each for each in application(home.settings).routes if isinstance(each, Route)]
    served = {
        (method, _PART.sub(r"{\1}", route.path))
        for route in routes
        if route.path.startswith(PREFIX)
        for method in route.methods - {"HEAD"}
    }
    assert served == set(operations())


def test_every_route_has_a_request_here_and_stands_in_the_guide():
    """So that what follows, and the sweep of bound keys, leave none out."""
    asked = {each.route for each in [*reads("small"), *writes("small")]}
    assert asked == {(each.method, each.path) for each in ENDPOINTS}
    text = (ROOT / "docs" / "guides" / "server.md").read_text(encoding="utf-8")
    routes = [(each.method, _PART.sub(r"{\1}", each.path) or "/") for each in ENDPOINTS]
    assert not [route for route in routes if f"`{' '.join(route)}`" not in text]


def closed(schema):
    """Return a schema in which no object has properties that are not described."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in schema.items()}
    if "properties" in schema:
        found.setdefault("additionalProperties", False)
    return found


def check(asked, response):
    """Check a reply, or an error, against what its route says."""
    told = operations()[asked.method, PREFIX + _PART.sub(r"{\1}", asked.path)]
    found = told["responses"].get(str(response.status_code), told["responses"]["default"])
    if "$ref" in found:
        found = described("")["components"]["responses"][str(response.status_code)]
    if response.status_code == 204:
        assert not response.content
        return
    kind = response.headers["content-type"].partition(";")[0]
    assert kind in found["content"], asked
    if kind == "application/json":
        validate(found["content"][kind]["schema"], response.json())
    elif kind == "text/event-stream":
        for event in events(response.text):
            validate(found["content"][kind]["schema"], event)
            [told] = [
                each["properties"]["data"]["contentSchema"]
                for each in found["content"][kind]["schema"]["oneOf"]
                if each["properties"]["event"]["const"] == event["event"]
            ]
            validate(told, json.loads(event["data"]))
    else:
        assert response.content


@cache
def components():
    return closed(described("")["components"])


def validate(schema, value):
    """Hold a value against a schema of the description, with nothing in it that is not there."""
    Draft202012Validator({**closed(schema), "components": components()}).validate(value)


def events(text):
    """Return the events of a stream by the names of their lines; there is one at least."""
    found = [
        dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        for block in text.split("\n\n")
    ]
    assert any(found)
    return list(filter(None, found))


@pytest.fixture
def resting(home):
    """A home with a job that has ended, whose further jobs wait."""
    database, folder = ServerDatabase(home.folder), home.settings.indexes["small"]
    queue = JobQueue(database)
    queue.add(JOB, name="small", folder=folder, kind="compact", key="", options={}, run={})
    queue.cancel(JOB)
    database.close()
    return replace(home, settings=replace(home.settings, jobs=0))


def test_replies_are_as_they_are_described(resting):
    headers, text = {}, ""
    with resting.client() as client:
        for asked in [*reads("small"), *writes("small")]:
            sent = replace(asked, body={"key": text}) if asked.path == "/session" else asked
            response = sent.send(client, headers)
            assert response.status_code < 300, (asked, response.text)
            check(asked, response)
            if asked.route == ("POST", "/keys"):
                text = response.json()["text"]
                headers = {"Authorization": f"Bearer {text}"}


def test_what_is_refused_is_as_it_is_described(resting):
    headers = resting.key("reader", scope="read", indexes=("small",))
    scopes = {(each.method, each.path): each.scope for each in ENDPOINTS}
    with resting.client() as client:
        for asked in [*reads("small"), *writes("small")]:
            response = asked.send(client, headers)
            check(asked, response)
            allowed = scopes[asked.route] in {"read", ""} and asked.route != ("POST", "/session")
            assert (response.status_code < 300) == allowed, (asked, response.text)


@pytest.mark.parametrize(
    "asked",
    [
        Asked("POST", SEARCH, "/indexes/small/search", {"question": "x"}),
        Asked("POST", SEARCH, "/indexes/none/search", {"query": "x"}),
        Asked("POST", SEARCH, "/indexes/small/search", {"query": ""}),
        Asked("POST", SEARCH, "/indexes/small/search", {"query": "x", "parameters": {"where": 1}}),
        Asked("GET", "/indexes/{index}/documents", "/indexes/small/documents?limit=1001"),
        Asked("GET", "/indexes/{index}/documents", f"/indexes/small/documents?limit={'0' * 5000}1"),
        Asked("GET", "/indexes/{index}/documents", "/indexes/small/documents?sort=nothing"),
        Asked("GET", "/indexes/{index}/documents", "/indexes/small/documents?where=("),
        Asked("DELETE", "/indexes/{index}", "/indexes/small"),
        Asked("DELETE", "/indexes/{index}/aliases", "/indexes/small/aliases"),
        Asked("POST", "/indexes", "/indexes", {"name": "../x"}),
        Asked("POST", "/indexes", "/indexes", {"name": "small"}),
        Asked("POST", "/keys", "/keys", {"name": "k", "scope": "root"}),
        Asked("DELETE", "/keys/{id}", "/keys/none"),
    ],
    ids=lambda asked: f"{asked.method} {asked.url} {asked.body}"[:60],
)
def test_what_cannot_be_done_is_told_as_described(client, asked):
    response = asked.send(client)
    assert 400 <= response.status_code < 500
    check(asked, response)
    assert [list(each) for each in replies(response)] == [["error"]]


def test_no_method_has_a_parameter_that_is_an_argument():
    """So that what a request may give as a parameter reaches every method."""
    arguments = {
        name for each in (Index.search, Index.ask) for name in inspect.signature(each).parameters
    }
    for name in methods.names():
        assert not {each.name for each in fields(methods.load(name))} & arguments
