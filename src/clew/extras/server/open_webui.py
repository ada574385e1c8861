"""`/openwebui/search`: indexes as what Open WebUI calls web search."""

from functools import partial

from pydantic import Field
from starlette.responses import Response
from starlette.routing import Route

from clew.extras.server import across
from clew.extras.server.addresses import build_document_address, find_base
from clew.extras.server.bodies import Asking, Loose
from clew.extras.server.endpoints import Call, make_handler, respond

_MOST = 100


class WebSearchBody(Loose):
    """What Open WebUI sends."""

    query: Asking
    count: int = Field(default=5, ge=1)  # of more than are given those are given


async def handle_search(call: Call) -> Response:
    """Return passages of the index that the path names, or of all that the caller sees."""
    body = await call.read_body(WebSearchBody)
    index = call.request.path_params.get("index") or call.request.query_params.get("index", "")
    most = min(body.count, _MOST)
    hits = await call.run(partial(across.search_indexes, call, body.query, most=most, index=index))
    base = find_base(call.request, call.server.settings)
    return respond(
        [
            {
                "link": build_document_address(base, name, hit.document_id, hit.start, hit.end),
                "title": hit.head or hit.document_id,
                "snippet": hit.text,
            }
            for name, hit in ((each.index, each.hit) for each in hits)
        ]
    )


ROUTES = tuple(
    Route(path, make_handler(handle_search), methods=["POST"])
    for path in ("/openwebui/search", "/openwebui/search/{index}")
)
