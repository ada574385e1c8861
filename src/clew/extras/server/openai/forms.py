"""Request bodies and errors of OpenAI's APIs, and `/v1/models`."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clew import methods
from clew.answers.question import Question
from clew.errors import InputError
from clew.extras.server.across import split_method
from clew.extras.server.bodies import AskedBody, Loose, with_options
from clew.extras.server.endpoints import Call, make_handler, respond
from clew.extras.server.keys import CITATIONS
from clew.extras.wire.refusals import Refusal

_TYPES = {
    **dict.fromkeys((400, 405, 409, 413, 415), "invalid_request_error"),
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}

_TEXTS = frozenset({"text", "input_text", "output_text", "refusal"})
ALL = "clew"  # the model that asks all indexes
PREFIX = f"{ALL}/"


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
    """The requested format of an answer."""

    type: str = "text"


@with_options(Question, "answer")
class ClewOptions(AskedBody):
    """Question options beyond OpenAI's API: the field `clew`."""

    citations: str | None = None


def choose_citations(call: Call, options: ClewOptions) -> str:
    """Return the citation format of the request, its header or its key."""
    key = call.caller.key
    usual = CITATIONS[0] if key is None else key.options.citations
    form = options.citations or call.request.headers.get("x-clew-citations") or usual
    if form not in CITATIONS:
        raise InputError(f"citations are one of {', '.join(CITATIONS)}, not {form!r:.40}")
    return form


def read_text(message: ChatMessage, *, strict: bool = True) -> str:
    """Return the text of a message.

    Raises InputError for a part of another type, such as an image; of an earlier message, which is
    not `strict`, such parts are left out.
    """
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    texts = [part for part in message.content if part.type in _TEXTS]
    if strict and len(texts) < len(message.content):
        other = next(part.type for part in message.content if part.type not in _TEXTS)
        raise InputError(f"unsupported message part {other!r:.40}: send text only")
    return "\n".join(part.text or "" for part in texts)


def check_tool_choice(choice: object) -> None:
    """Raise InputError for a request that demands the call of a tool: an index answers by text."""
    if choice not in (None, "auto", "none"):
        raise InputError("an index answers by text and calls no tools: leave out tool_choice")


# -- what is sent ---------------------------------------------------------------------------------


def make_error(refusal: Refusal) -> dict[str, Any]:
    """Return an error in OpenAI's format."""
    kind = _TYPES.get(refusal.status, "api_error")
    return {"error": {"message": str(refusal), "type": kind, "param": None, "code": refusal.code}}


def make_route(path: str, handle: Callable[[Call], Awaitable[Response]], method: str) -> Route:
    """Return a route whose errors have OpenAI's format."""
    return Route(path, make_handler(handle, respond_to_refusal), methods=[method])


def respond_to_refusal(refusal: Refusal, _request: Request | None = None) -> Response:
    """Return a refusal as a response in OpenAI's format."""
    return respond(make_error(refusal), refusal.status, refusal.headers)


# -- models ---------------------------------------------------------------------------------------


def parse_model(call: Call, model: str) -> tuple[str, str | None]:
    """Return the index, and the method if any, of a model name.

    The index is "" where all that the caller sees are meant. Raises a refusal, 404, for a model
    that the caller does not see, and UnknownMethod.
    """
    index, method = split_method(model.removeprefix(PREFIX))
    names = call.list_names()
    if index == ALL and ALL not in names and names:
        index = names[0] if len(names) == 1 else ""
    elif index not in names:
        models = ", ".join(f"{PREFIX}{name}" for name in names) or "none"
        raise Refusal(
            404, "model_not_found", f"there is no model {model!r:.80} here: take of {models:.400}"
        )
    if method is not None:
        methods.load(method)
    return index, method


async def list_models(call: Call) -> Response:
    """Return a model for each index, the default one first, and a model for all indexes."""
    names = call.list_names()
    models = [f"{PREFIX}{name}" for name in names] + ([ALL] if len(names) > 1 else [])
    data = list(map(_describe_model, models))
    return respond({"object": "list", "data": data})


async def show_model(call: Call) -> Response:
    """Return one model."""
    name = call.read_path("model")
    parse_model(call, name)
    return respond(_describe_model(name))


def _describe_model(name: str) -> dict[str, Any]:
    # When an index was made is not everybody's to know, and clients want a number.
    return {"id": name, "object": "model", "created": 0, "owned_by": "clew"}


ROUTES = (
    make_route("/v1/models", list_models, "GET"),
    make_route("/v1/models/{model:path}", show_model, "GET"),
)
