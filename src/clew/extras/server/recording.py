"""Outermost middleware: give each request an id, and count, log and audit it."""

import time
from asyncio import CancelledError

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.extras.server import health, logs, request_records, tracing
from clew.extras.server.settings import is_name
from clew.extras.server.state import ServerState
from clew.extras.wire.names import GENERATION_HEADER, ID_HEADER

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_UNKNOWN = "unknown"  # a route or method: their number is bounded, whatever is sent
_FAILED = 500
GONE = 499  # the client went before there was an answer


class Recorder:
    """Record how each request ends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        server: ServerState = scope["app"].state.server
        headers = Headers(scope=scope)
        record = scope["clew.request"] = request_records.begin_record(
            headers.get(ID_HEADER, ""), headers.get(GENERATION_HEADER, "")
        )
        began, status, size = time.perf_counter(), 0, 0

        async def send_and_count(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                reply = MutableHeaders(scope=message)
                reply[ID_HEADER] = record.id
                if record.read is not None and record.read.is_open:
                    reply[GENERATION_HEADER] = str(record.read.generation)
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else _UNKNOWN
        server.measures.under_way.inc()
        failed = _FAILED
        try:
            with tracing.open_span(method, {"clew.request": record.id}, headers=headers) as span:
                try:
                    await self._app(scope, receive, send_and_count)
                    failed = GONE
                except CancelledError:
                    failed = GONE
                    raise
                finally:
                    route = getattr(scope.get("route"), "path", _UNKNOWN)
                    span.update_name(f"{method} {route}")
                    span.set_attributes(
                        {
                            "http.request.method": method,
                            "http.route": route,
                            "http.response.status_code": status or failed,
                        }
                    )
        finally:
            server.measures.under_way.dec()
            seconds = time.perf_counter() - began
            _record_end(scope, method, route, status or failed, seconds, size)


def _record_end(
    scope: Scope, method: str, route: str, status: int, seconds: float, size: int
) -> None:
    server: ServerState = scope["app"].state.server
    record: request_records.RequestRecord = scope["clew.request"]
    server.measures.requests.labels(method, route, str(status)).inc()
    server.measures.request_seconds.labels(method, route).observe(seconds)
    for *labels, asked_seconds in record.questions:
        server.measures.question_seconds.labels(*labels).observe(asked_seconds)
    if route in health.PATHS:
        return
    caller = record.caller
    index = record.index or str(scope.get("path_params", {}).get("index", ""))
    details = {
        "request": record.id,
        "caller": caller.name if caller else "",
        "key": caller.key.id if caller and caller.key else "",
        "user": caller.user if caller else record.user,
        "method": method,
        "route": route,
        "index": index if is_name(index) else "",
        **({"tool": record.tool} if record.tool else {}),
        "status": status,
        "tokens": record.tokens,
    }
    peer = scope["client"][0] if scope.get("client") else ""
    server.audit.add({**details, "peer": peer})
    logs.log_request({**details, "ms": round(seconds * 1000, 1), "bytes": size})
