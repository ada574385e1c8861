"""The OpenAPI 3.1 description of routes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter

from clew import __version__
from clew.extras.server.endpoints import FORM, JSON, RestEndpoint
from clew.extras.wire.names import COOKIE, GENERATION_HEADER, MOST_NUMBER, PREFIX

Schema = dict[str, Any]

_REF = "#/components/schemas/{model}"
_PART = re.compile(r"{(\w+)(:path)?}")
_REFUSALS: Mapping[int, str] = {
    400: "The request does not match this description, or cannot be met: `invalid_input`",
    401: "No key was sent, or an unknown one: `unauthorized`",
    402: "The budget has no room for it: `budget_spent`",
    403: "The key does not allow it: `forbidden`",
    404: "What the path or the body names does not exist, or not for this key: `not_found`",
    409: "A conflict with what exists: `already_exists`, `index_locked`, `index_changed` or others",
    412: f"The index has not reached the generation of {GENERATION_HEADER}: `generation_missing`",
    413: "It is larger than the server accepts: `too_large`",
    415: "The body is of another media type: `unsupported_media_type`",
    429: "The key sends too many requests: `too_many_requests`",
    502: "A model failed: `model_error`",
    503: "Too many requests are under way, or a service that is needed does not answer: `busy`",
}
_WAITS = frozenset({429, 503})
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


def describe_endpoints(endpoints: Sequence[RestEndpoint]) -> Schema:
    """Describe some routes as OpenAPI, without an address."""
    schemas: Schema = {"Refused": _REFUSED}
    paths: dict[str, Schema] = {}
    for each in endpoints:
        path = _PART.sub(r"{\1}", f"{PREFIX}{each.path}")
        paths.setdefault(path, {})[each.method.lower()] = _describe_operation(each, schemas)
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
            "responses": {
                str(status): _describe_refusal(why, waits=status in _WAITS)
                for status, why in _REFUSALS.items()
            },
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
    }


def _describe_operation(endpoint: RestEndpoint, schemas: Schema) -> Schema:
    # A job that was waited for has another status.
    statuses = (endpoint.status, *((200,) if "wait" in endpoint.query.model_fields else ()))
    item: Schema = {
        "operationId": f"{endpoint.group}_{endpoint.call.__name__}",
        "summary": endpoint.summary,
        "tags": [endpoint.group],
        "parameters": list(_list_parameters(endpoint)),
        "responses": {
            str(status): _describe_reply(endpoint, schemas, status) for status in statuses
        }
        | {
            str(status): {"$ref": f"#/components/responses/{status}"}
            for status in sorted(_list_refusals(endpoint))
        }
        | {"default": _describe_refusal("Why the request failed")},
        # A server on this machine alone, without any key, asks for none.
        "security": [{"key": []}, {"session": []}, {}] if endpoint.scope else [{}],
    }
    if endpoint.scope:
        item["description"] = f"Needs a key of the scope '{endpoint.scope}', where keys are needed."
    if endpoint.body is not None:
        content = _wrap_json(_make_schema(endpoint.body, schemas, "validation"))
        if endpoint.form is not None:
            content[FORM] = _describe_form(endpoint, schemas)
        item["requestBody"] = {"required": True, "content": content}
    if endpoint.bytes_of:
        item["requestBody"] = {"required": True, "content": {endpoint.bytes_of: {}}}
    return item


def _describe_form(endpoint: RestEndpoint, schemas: Schema) -> Schema:
    """Return the description of a form: files, and options as JSON."""
    files = {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}
    return {
        "schema": {
            "type": "object",
            "properties": {
                "files": {"type": "array", "items": files, "minItems": 1},
                "options": _make_schema(endpoint.form, schemas, "validation"),
            },
            "required": ["files"],
            "additionalProperties": False,
        },
        "encoding": {"options": {"contentType": JSON}},
    }


def _list_refusals(endpoint: RestEndpoint) -> Iterator[int]:
    yield from (400, 503)
    if endpoint.scope:
        yield from (401, 403, 429)
    if "{" in endpoint.path:
        yield from (404, 409)
    if "{index}" in endpoint.path:
        yield 412
    if endpoint.body is not None or endpoint.bytes_of:
        yield from (413, 415)
    if endpoint.paid:
        yield from (402, 502)


def _describe_refusal(why: str, *, waits: bool = False) -> Schema:
    response: Schema = {
        "description": why,
        "content": _wrap_json({"$ref": _REF.format(model="Refused")}),
    }
    if waits:
        about = "seconds until another attempt"
        response["headers"] = {"Retry-After": {"description": about, "schema": {"type": "integer"}}}
    return response


def _list_parameters(endpoint: RestEndpoint) -> Iterator[Schema]:
    for name, _ in _PART.findall(endpoint.path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": {"index": "the name of an index", **endpoint.named}[name],
            "schema": {"type": "string"},
        }
    query = TypeAdapter(endpoint.query).json_schema()
    for name, schema in query.get("properties", {}).items():
        about = schema.pop("description")
        fields = {key: value for key, value in schema.items() if key != "title"}
        if fields.get("default") == "":
            del fields["default"]  # nothing is asked for
        yield {
            "name": name,
            "in": "query",
            "required": name in query.get("required", ()),
            "description": about,
            "schema": fields,
        }
    headers = dict(endpoint.headers)
    if "{index}" in endpoint.path:
        headers[GENERATION_HEADER] = "the generation that is to be read, or a later one"
    for name, about in headers.items():
        number = {"type": "integer", "minimum": 0, "maximum": MOST_NUMBER}
        yield {"name": name, "in": "header", "description": about, "schema": number}


def _describe_reply(endpoint: RestEndpoint, schemas: Schema, status: int) -> Schema:
    phrase = HTTPStatus(status).phrase
    if status == HTTPStatus.NO_CONTENT:
        return {"description": phrase}
    if endpoint.downloads:
        return {"description": phrase, "content": {kind: {} for kind in endpoint.downloads}}
    if endpoint.bytes_of:
        return {"description": phrase, "content": {endpoint.bytes_of: {}}}
    content: Schema = {}
    if endpoint.reply is not None or not endpoint.events:
        kind = dict[str, Any] if endpoint.reply is None else endpoint.reply
        content = _wrap_json(_make_schema(kind, schemas, "serialization"))
    if endpoint.events:
        content["text/event-stream"] = {"schema": _describe_events(endpoint, schemas)}
    return {"description": phrase, "content": content}


def _describe_events(endpoint: RestEndpoint, schemas: Schema) -> Schema:
    """Return the schema of each event of a stream: its name and JSON data."""
    return {
        "description": "each event of the stream, of which `data` is JSON",
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "its number, where events have one"},
                    "event": {"const": name},
                    "data": {
                        "type": "string",
                        "contentMediaType": JSON,
                        "contentSchema": _make_schema(kind, schemas, "serialization"),
                    },
                },
                "required": ["event", "data"],
            }
            for name, kind in endpoint.events.items()
        ],
    }


def _wrap_json(schema: Schema) -> dict[str, Schema]:
    return {JSON: {"schema": schema}}


def _make_schema(kind: Any, schemas: Schema, mode: Any) -> Schema:  # noqa: ANN401 -- any type, and pydantic's literal
    """Return the schema of a type; nested types are added to `schemas`."""
    schema = TypeAdapter(kind).json_schema(mode=mode, ref_template=_REF)
    for name, one in schema.pop("$defs", {}).items():
        _keep_schema(schemas, name, one)
    if not {"properties", "oneOf"} & set(schema):
        return schema
    name = "_".join(each.__name__ for each in (get_origin(kind) or kind, *get_args(kind)))
    _keep_schema(schemas, name, schema)
    return {"$ref": _REF.format(model=name)}


def _keep_schema(schemas: Schema, name: str, schema: Mapping[str, Any]) -> None:
    """Add a schema by name; names are unique."""
    assert schemas.setdefault(name, schema) == schema, name  # noqa: S101 -- names are unique
