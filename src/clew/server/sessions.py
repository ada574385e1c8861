"""Cookies that only the server reads."""

from starlette.requests import Request
from starlette.responses import Response

from clew.server.addresses import find_base
from clew.server.settings import ServerSettings
from clew.wire.names import COOKIE


def set_session(
    reply: Response, text: str, seconds: float, request: Request, settings: ServerSettings
) -> None:
    """Let the browser keep a session; no script, and no page of another site, can use it."""
    reply.set_cookie(
        COOKIE,
        text,
        max_age=int(seconds),
        httponly=True,
        samesite="strict",
        secure=find_base(request, settings).startswith("https:"),
    )
