"""Request bodies and errors of OpenAI's interfaces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict
from starlette.routing import Route

from clew.asking.question import list_plain_options
from clew.errors import InputError
from clew.server.bodies import AskedBody, with_options
from clew.server.endpoints import Call, make_handler, respond
from clew.server.keys import CITATIONS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from clew.wire.refusals import Refusal

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    429: "rate_limit_error",
}


class Loose(BaseModel):
    """A part of a request of which clients send more than is known here: that is passed over."""

    model_config = ConfigDict(extra="ignore")


class MessagePart(Loose):
    """A part of a message."""

    type: str = "text"
    text: str | None = None


class ChatMessage(Loose):
    """One message of a conversation, or another item between them."""

    type: str = "message"
    role: str = ""
    content: str | list[MessagePart] | None = None


class TextFormat(Loose):
    """In what form an answer is wanted."""

    type: str = "text"


@with_options(*list_plain_options("answer"))
class ClewOptions(AskedBody):
    """How the question is asked, beyond what the interface of OpenAI has: the field `clew`."""

    citations: str | None = None


def choose_citations(call: Call, options: ClewOptions) -> str:
    """Return the form of citations, from the request, its header or its key."""
    key = call.caller.key
    usual = CITATIONS[0] if key is None else key.options.citations
    chosen = options.citations or call.request.headers.get("x-clew-citations") or usual
    if chosen not in CITATIONS:
        raise InputError(f"citations are one of {', '.join(CITATIONS)}, not {chosen!r:.40}")
    return chosen


def read_text(message: ChatMessage) -> str:
    """Return the text of a message. Raises InputError for a part that is none."""
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    for part in message.content:
        if part.type not in {"text", "input_text", "output_text", "refusal"}:
            raise InputError(
                f"messages are texts here, and one has a part of the type {part.type!r:.40}:"
                f" leave it out"
            )
    return "\n".join(part.text or "" for part in message.content)


# -- what is sent ---------------------------------------------------------------------------------


def make_error(refusal: Refusal) -> dict[str, Any]:
    """Return an error in OpenAI's form."""
    kind = _TYPES.get(refusal.status, "api_error")
    return {"error": {"message": str(refusal), "type": kind, "param": None, "code": refusal.code}}


def make_route(path: str, handle: Callable[[Call], Awaitable[Response]], method: str) -> Route:
    """Return a route whose errors have OpenAI's form."""
    return Route(path, make_handler(handle, respond_to_refusal), methods=[method])


def respond_to_refusal(refusal: Refusal, _request: Request | None = None) -> Response:
    """Return a response with a refusal in OpenAI's form."""
    return respond(make_error(refusal), refusal.status, refusal.headers)
