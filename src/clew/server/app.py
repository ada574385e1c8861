"""The application: routes, what stands before them, and what becomes of errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from clew.errors import ClewError
from clew.server import dify, health, mcp, open_webui, openai, page
from clew.server import hub as hubs
from clew.server.endpoints import RestEndpoint, call_of, refused, reply_of
from clew.server.guard import Guard, get_path, protect
from clew.server.rest import ENDPOINTS
from clew.server.watch import Watch
from clew.shards import open_any
from clew.wire.names import ID_HEADER, PREFIX
from clew.wire.refusals import Refusal, refusal_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from clew.server.indexes import Opener
    from clew.server.settings import ServerSettings


_ROUTING = {
    404: ("not_found", f"there is no such route: see {PREFIX}/openapi.json"),
    405: ("method_not_allowed", f"this route has no such method: see {PREFIX}/openapi.json"),
}


def application(settings: ServerSettings, opener: Opener = open_any) -> Starlette:
    """Return the ASGI application of a server; its lifespan opens and closes what it needs.

    `opener` opens indexes, as `clew.open` does.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with hubs.opened(settings, opener) as hub:
            app.state.hub = hub
            yield

    return Starlette(
        routes=_routes(),
        lifespan=lifespan,
        middleware=[Middleware(Watch), Middleware(Guard, settings=settings)],
        exception_handlers={
            ClewError: _clew_error,
            HTTPException: _http_error,
            Exception: _unexpected,
        },
    )


def _routes() -> Sequence[BaseRoute]:
    doors = (*openai.ROUTES, *dify.ROUTES, *open_webui.ROUTES, *mcp.ROUTES)
    # One route for each path: what it refuses a method with lists all that the path has.
    paths: dict[str, dict[str, RestEndpoint]] = {}
    for each in ENDPOINTS:
        paths.setdefault(each.path, {})[each.method] = each
    rest = [
        Route(f"{PREFIX}{path}", _handled(by_method), methods=list(by_method))
        for path, by_method in paths.items()
    ]
    return [*rest, *doors, *health.ROUTES, *page.ROUTES]


def _handled(endpoints: Mapping[str, RestEndpoint]) -> ASGIApp:
    async def handle(request: Request) -> Response:
        endpoint = endpoints["GET" if request.method == "HEAD" else request.method]
        call = call_of(request, endpoint.scope)
        try:
            call.query(endpoint.query)  # what nobody reads is checked, too
            call.check_generation()
            return reply_of(await endpoint.call(call), endpoint.status)
        except ClewError as error:
            return refused(call.refusal(error))

    return handle  # type: ignore[return-value]  # Starlette takes functions of a request


async def _clew_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ClewError)  # noqa: S101 -- as it is registered
    return refused(refusal_of(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 -- as it is registered
    code, sentence = _ROUTING.get(error.status_code, ("error", error.detail))
    refusal = Refusal(error.status_code, code, sentence, dict(error.headers or {}))
    is_openai = get_path(request.scope).startswith(openai.PREFIX)
    return openai.refused(refusal) if is_openai else refused(refusal)


async def _unexpected(request: Request, _error: Exception) -> Response:
    """Tell of a mistake of the server, which is in its log with the same id."""
    sentence = "the server failed at this: its log says more, under the id in X-Request-Id"
    response = refused(Refusal(500, "internal_error", sentence))
    response.headers[ID_HEADER] = request.scope["clew.noted"].id
    protect(response.headers)
    return response
