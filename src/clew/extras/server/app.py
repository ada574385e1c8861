"""The ASGI application: routes, middleware and error handlers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from clew.errors import ClewError
from clew.extras.cluster.shards.index import open_any
from clew.extras.server import health, mcp, openai, page, sign_in, state
from clew.extras.server.endpoints import RestEndpoint, begin_call, respond_to_refusal
from clew.extras.server.guard import Guard, get_path, protect
from clew.extras.server.indexes import Opener
from clew.extras.server.recording import GONE, Recorder
from clew.extras.server.rest import ENDPOINTS
from clew.extras.server.settings import ServerSettings
from clew.extras.wire.names import ID_HEADER, PREFIX
from clew.extras.wire.refusals import Refusal, make_refusal

_ROUTING = {
    404: ("not_found", f"unknown route: see {PREFIX}/openapi.json"),
    405: ("method_not_allowed", f"method not allowed on this route: see {PREFIX}/openapi.json"),
}


def application(settings: ServerSettings, opener: Opener = open_any) -> Starlette:
    """Return the ASGI application of a server; its lifespan manages its resources.

    `opener` opens indexes, as `clew.open` does.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with state.open_state(settings, opener) as server:
            app.state.server = server
            yield

    return Starlette(
        routes=_list_routes(),
        lifespan=lifespan,
        middleware=[Middleware(Recorder), Middleware(Guard, settings=settings)],
        exception_handlers={
            ClewError: _reply_to_clew_error,
            HTTPException: _reply_to_http_error,
            ClientDisconnect: _record_disconnect,
            Exception: _reply_to_unexpected,
        },
    )


def _list_routes() -> Sequence[BaseRoute]:
    # One route for each path: what it refuses a method with lists all that the path has.
    paths: dict[str, dict[str, RestEndpoint]] = {}
    for each in ENDPOINTS:
        paths.setdefault(each.path, {})[each.method] = each
    rest = [
        Route(f"{PREFIX}{path}", _handle_by_method(by_method), methods=list(by_method))
        for path, by_method in paths.items()
    ]
    return [*rest, *openai.ROUTES, *mcp.ROUTES, *health.ROUTES, *sign_in.ROUTES, *page.ROUTES]


def _handle_by_method(endpoints: Mapping[str, RestEndpoint]) -> ASGIApp:
    async def handle(request: Request) -> Response:
        endpoint = endpoints["GET" if request.method == "HEAD" else request.method]
        call = begin_call(request, endpoint.scope)
        try:
            return await endpoint.answer(call)
        except ClewError as error:
            return respond_to_refusal(call.make_refusal(error))

    return handle  # type: ignore[return-value]  # Starlette takes functions of a request


async def _reply_to_clew_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ClewError)  # noqa: S101 -- as it is registered
    return respond_to_refusal(make_refusal(error))


async def _reply_to_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 -- as it is registered
    code, sentence = _ROUTING.get(error.status_code, ("error", error.detail))
    refusal = Refusal(error.status_code, code, sentence, dict(error.headers or {}))
    is_openai = get_path(request.scope).startswith(openai.PREFIX)
    return openai.respond_to_refusal(refusal) if is_openai else respond_to_refusal(refusal)


async def _record_disconnect(_request: Request, _error: Exception) -> Response:
    """Record a request whose client disconnected before it was complete."""
    return Response(status_code=GONE)


async def _reply_to_unexpected(request: Request, _error: Exception) -> Response:
    """Return status 500; the traceback is logged under the request id."""
    sentence = "the server failed: see its log for the id in X-Request-Id"
    response = respond_to_refusal(Refusal(500, "internal_error", sentence))
    response.headers[ID_HEADER] = request.scope["clew.request"].id
    protect(response.headers)
    return response
