"""The description of the REST interface, as OpenAPI 3.1, from the values that routes come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import TypeAdapter

from clew import __version__
from clew.server.rest import ENDPOINTS, PREFIX

if TYPE_CHECKING:
    from clew.server.endpoints import RestEndpoint

    Schema = dict[str, Any]

_REF = "#/components/schemas/{model}"
_PART = re.compile(r"{(\w+)(:path)?}")
_LISTS = {"offset": "how many to leave out", "limit": "how many to give, at most 1,000"}
_WHOLE = frozenset({"offset", "limit", "wait"})
_REFUSED: Schema = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "stays the same"},
                "message": {"type": "string", "description": "one sentence, for people"},
            },
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}


@cache
def described() -> Schema:
    """Return the description of the routes that this server has."""
    return description(ENDPOINTS)


def description(endpoints: Sequence[RestEndpoint]) -> Schema:
    """Return the description of some routes."""
    schemas: Schema = {"Refused": _REFUSED}
    paths: dict[str, Schema] = {}
    for each in endpoints:
        path = _PART.sub(r"{\1}", f"{PREFIX}{each.path}")
        paths.setdefault(path, {})[each.method.lower()] = _operation(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Clew",
            "version": __version__,
            "summary": "Indexes of documents: search, answers with citations, graphs.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "clew_session"},
            },
        },
    }


def _operation(endpoint: RestEndpoint, schemas: Schema) -> Schema:
    name = endpoint.call.__name__
    told: Schema = {
        "operationId": f"{endpoint.group}_{name}",
        "summary": endpoint.summary,
        "tags": [endpoint.group],
        "parameters": list(_parameters(endpoint)),
        "responses": {
            str(status): _reply(endpoint, schemas, status) for status in _statuses(endpoint)
        }
        | {
            "default": {
                "description": "Why it was not done",
                "content": _json({"$ref": "#/components/schemas/Refused"}),
            },
        },
        # A server on this machine alone, without any key, asks for none.
        "security": [{"key": []}, {"session": []}, {}] if endpoint.scope else [{}],
    }
    if endpoint.scope:
        told["description"] = f"Needs a key of the scope '{endpoint.scope}', where keys are needed."
    if endpoint.body is not None:
        content = _json(_schema(endpoint.body, schemas, "validation"))
        if endpoint.upload:
            content["multipart/form-data"] = {
                "schema": {
                    "type": "object",
                    "properties": {
                        endpoint.upload: {"type": "array", "items": {"type": "string"}},
                        "options": {"type": "string", "description": "JSON"},
                    },
                    "required": [endpoint.upload],
                }
            }
        told["requestBody"] = {"required": True, "content": content}
    if endpoint.bytes_of:
        told["requestBody"] = {"required": True, "content": {endpoint.bytes_of: {}}}
    return told


def _parameters(endpoint: RestEndpoint) -> Iterator[Schema]:
    for name, _ in _PART.findall(endpoint.path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": endpoint.named.get(name, name),
            "schema": {"type": "string"},
        }
    for name, about in {**endpoint.parameters, **(_LISTS if endpoint.lists else {})}.items():
        yield {
            "name": name,
            "in": "query",
            "description": about,
            "schema": {"type": "integer", "minimum": 0} if name in _WHOLE else {"type": "string"},
        }


def _statuses(endpoint: RestEndpoint) -> tuple[int, ...]:
    """Return what a reply that is no refusal has: a job that was waited for has another status."""
    return (endpoint.status, *([int(HTTPStatus.OK)] if "wait" in endpoint.parameters else []))


def _reply(endpoint: RestEndpoint, schemas: Schema, status: int) -> Schema:
    phrase = HTTPStatus(status).phrase
    if status == HTTPStatus.NO_CONTENT:
        return {"description": phrase}
    if endpoint.downloads:
        kinds = ("application/octet-stream", "text/plain")
        return {"description": phrase, "content": {kind: {} for kind in kinds}}
    if endpoint.bytes_of:
        return {"description": phrase, "content": {endpoint.bytes_of: {}}}
    kind = dict[str, Any] if endpoint.reply is None else endpoint.reply
    content = _json(_schema(kind, schemas, "serialization"))
    if endpoint.streams:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    return {"description": phrase, "content": content}


def _json(schema: Schema) -> dict[str, Schema]:
    return {"application/json": {"schema": schema}}


def _schema(kind: Any, schemas: Schema, mode: Any) -> Schema:  # noqa: ANN401 -- any type, and pydantic's literal
    """Return the schema of a type; those of the types in it go to `schemas`."""
    found = TypeAdapter(kind).json_schema(mode=mode, ref_template=_REF)
    for name, one in found.pop("$defs", {}).items():
        _put(schemas, name, one)
    if "properties" not in found:
        return found
    name = "_".join(each.__name__ for each in (get_origin(kind) or kind, *get_args(kind)))
    _put(schemas, name, found)
    return {"$ref": _REF.format(model=name)}


def _put(schemas: Schema, name: str, schema: Mapping[str, Any]) -> None:
    """Keep a schema under its name, of which there is one: a test sees to that."""
    assert schemas.setdefault(name, schema) == schema, name  # noqa: S101 -- names are unique
