"""Middleware that checks hosts and origins, sets security headers, and limits connections."""

from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.extras.server.endpoints import respond_to_refusal
from clew.extras.server.health import OPEN_PATHS
from clew.extras.server.settings import ServerSettings
from clew.extras.wire.refusals import Refusal, forbidden

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_BYTES_A_SECOND = 10_000  # of a body that is longer under way
_NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


class Guard:
    """Refuses cross-site requests, unknown hosts, and requests above the concurrency limit.

    A page of another site may neither reach a server on this machine under a name of its own (the
    Host header), nor use what is open to this machine or to a session (Origin, Sec-Fetch-Site).
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                protect(MutableHeaders(scope=message))
            await send(message)

        refusal = self._find_refusal(scope)
        if refusal is not None:
            await respond_to_refusal(refusal)(scope, receive, with_headers)
            return
        self._under_way += 1
        try:
            await self._app(scope, self._refuse_slow(receive), with_headers)
        finally:
            self._under_way -= 1

    def _refuse_slow(self, receive: Receive) -> Receive:
        until, is_whole = anyio.current_time() + self._settings.body_s, False

        async def receive_in_time() -> Message:
            nonlocal until, is_whole
            if is_whole:  # what comes now is the end of the connection
                return await receive()
            message: Message | None = None
            with anyio.CancelScope(deadline=until):
                message = await receive()
            if message is None:
                raise Refusal(408, "too_slow", "the body came too slowly", {"Connection": "close"})
            is_whole = not message.get("more_body", False)
            until += len(message.get("body", b"")) / _BYTES_A_SECOND
            return message

        return receive_in_time

    def _find_refusal(self, scope: Scope) -> Refusal | None:
        headers = Headers(scope=scope)
        is_open = get_path(scope) in OPEN_PATHS  # what looks after containers knows no names
        host = _read_host(f"//{headers.get('host', '')}")
        if not is_open and host not in self._settings.allowed_hosts:
            return forbidden("this server does not answer to that host name: see --allow-host")
        if "transfer-encoding" in headers and "content-length" in headers:
            sentence = "a request has one length: send Content-Length or Transfer-Encoding"
            return Refusal(400, "invalid_input", sentence, {"Connection": "close"})
        if _is_cross_site(scope["method"], headers):
            return forbidden("pages of other sites may not use this server")
        if self._under_way >= self._settings.connections:
            return Refusal(503, "busy", "too many requests at once", {"Retry-After": "1"})
        return None


def get_path(scope: Scope) -> str:
    """Return the path of a request as used by routes."""
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


def protect(headers: MutableHeaders) -> None:
    """Set the security headers that every response has."""
    for name, value in _HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Content-Security-Policy", _NOTHING)
    headers.setdefault("Cache-Control", "no-store")


def _is_cross_site(method: str, headers: Headers) -> bool:
    """Check whether a browser sent the request from another origin's page.

    A link may lead here: it shows a page, and changes nothing.
    """
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        return True
    if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    return method != "GET" or headers.get("sec-fetch-mode") != "navigate"


def _read_host(address: str) -> str:
    """Return the host of an address in the form of `allowed_hosts`, or ""."""
    try:
        name = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    return f"[{name}]" if ":" in name else name
