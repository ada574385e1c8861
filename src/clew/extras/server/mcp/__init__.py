"""The Model Context Protocol: indexes as tools for a model, at `/mcp` and `/mcp/INDEX`.

`tools` are what a model may call, as values; `protocol` speaks, and is imported late, since the
package `mcp` takes about a second to import.
"""

from importlib import import_module
from typing import Any

import anyio
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from clew.extras.server.addresses import find_base
from clew.extras.server.endpoints import begin_call
from clew.extras.server.mcp.tools import Place
from clew.extras.server.state import ServerState

_PROTOCOL = "clew.extras.server.mcp.protocol"


class McpManager:
    """Starts the MCP session manager at the first request."""

    def __init__(self, server: ServerState) -> None:
        self._server = server
        self._lock = anyio.Lock()
        self._manager: Any = None

    async def manager(self) -> Any:  # noqa: ANN401 -- of a package that is imported late
        """Return the session manager, started."""
        async with self._lock:
            if self._manager is None:
                protocol = await run_sync(import_module, _PROTOCOL)
                manager = protocol.serve_http(self._server.settings)
                await self._server.background.start(protocol.run_manager, manager)
                self._manager = manager
        return self._manager


class _Mcp:
    """The ASGI application behind the routes; authenticates before reading the body."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        call = begin_call(request)
        state = request.app.state
        if not hasattr(state, "mcp"):
            state.mcp = McpManager(call.server)
        manager = await state.mcp.manager()
        index = request.path_params.get("index", "")
        if index:
            call.open_any(index)
        base = find_base(request, call.server.settings)
        await manager.handle_request(
            {**scope, "clew.place": Place(call, base, index)}, receive, send
        )


ROUTES = tuple(Route(path, _Mcp(), methods=["POST"]) for path in ("/mcp", "/mcp/{index}"))
