"""`/v1/models`: the indexes that a caller sees, as models; and all of them as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew import methods
from clew.server.across import split_method
from clew.server.endpoints import respond
from clew.server.openai.forms import make_route
from clew.wire.refusals import Refusal

if TYPE_CHECKING:
    from starlette.responses import Response

    from clew.server.endpoints import Call

ALL = "clew"  # the model that asks all indexes
PREFIX = f"{ALL}/"


def parse_model(call: Call, model: str) -> tuple[str, str | None]:
    """Return the index and the method, if any, that a model names.

    The index is "" where all that the caller sees are meant. Raises a refusal, 404, for a model
    that the caller does not see, and UnknownMethod.
    """
    index, method = split_method(model.removeprefix(PREFIX))
    names = call.list_names()
    if index == ALL and ALL not in names and names:
        index = names[0] if len(names) == 1 else ""
    elif index not in names:
        told = ", ".join(f"{PREFIX}{name}" for name in names) or "none"
        raise Refusal(
            404, "model_not_found", f"there is no model {model!r:.80} here: take of {told:.400}"
        )
    if method is not None:
        methods.load(method)
    return index, method


async def list_models(call: Call) -> Response:
    """Return a model for each index, the one that was named first as the first, and one for all."""
    names = call.list_names()
    told = [f"{PREFIX}{name}" for name in names] + ([ALL] if len(names) > 1 else [])
    data = list(map(_describe_model, told))
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
