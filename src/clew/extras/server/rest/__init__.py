"""The REST API: groups of routes, and their OpenAPI description."""

from functools import cache, partial
from typing import Any

from clew.extras.server.addresses import find_base
from clew.extras.server.endpoints import Call, EndpointGroup, RestEndpoint
from clew.extras.server.openapi import describe_endpoints
from clew.extras.server.rest import access, asking, documents, graphs, indexes, jobs

_DESCRIPTION = EndpointGroup("server")


@_DESCRIPTION.endpoint("GET", "/openapi.json", scope="")
async def description(call: Call) -> dict[str, Any]:
    """This description."""
    return describe_routes(find_base(call.request, call.server.settings))


def describe_routes(base: str) -> dict[str, Any]:
    """Return the description of the routes that a server has at an address."""
    return {**_describe_once(), "servers": [{"url": base}]}


_GROUPS = (
    access.SERVER,
    _DESCRIPTION,
    indexes.INDEXES,
    documents.DOCUMENTS,
    asking.ASKING,
    graphs.GRAPH,
    jobs.JOBS,
    indexes.SHARDS,
    access.KEYS,
)
ENDPOINTS: tuple[RestEndpoint, ...] = tuple(each for group in _GROUPS for each in group.endpoints)
_describe_once = cache(partial(describe_endpoints, ENDPOINTS))
