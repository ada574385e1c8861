"""The REST interface: what each group of routes offers, as values, and its description."""

from __future__ import annotations

from functools import cache
from typing import Any

from clew.server.addresses import find_base
from clew.server.endpoints import Call, RestEndpoint
from clew.server.openapi import describe_endpoints
from clew.server.rest import (
    about,
    access,
    asking,
    documents,
    graphs,
    indexes,
    jobs,
    shards,
    uploads,
)


async def description(call: Call) -> dict[str, Any]:
    """Return the description of all routes, as OpenAPI 3.1 has it."""
    return describe_routes(find_base(call.request, call.server.settings))


def describe_routes(base: str) -> dict[str, Any]:
    """Return the description of the routes that a server has at an address."""
    return {**_describe_once(), "servers": [{"url": base}]}


@cache
def _describe_once() -> dict[str, Any]:
    return describe_endpoints(ENDPOINTS)


ENDPOINTS: tuple[RestEndpoint, ...] = (
    *about.ENDPOINTS,
    RestEndpoint(
        method="GET",
        path="/openapi.json",
        call=description,
        scope="",
        group="server",
        summary="This description",
    ),
    *indexes.ENDPOINTS,
    *documents.ENDPOINTS,
    *uploads.ENDPOINTS,
    *asking.ENDPOINTS,
    *graphs.ENDPOINTS,
    *jobs.ENDPOINTS,
    *shards.ENDPOINTS,
    *access.ENDPOINTS,
)
