"""Errors as HTTP statuses, with a stable code and one sentence."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus

from clew import errors
from clew.errors import ClewError, ModelError

# A subclass stands before its parent.
_STATUS: tuple[tuple[type[ClewError], int, str], ...] = (
    (errors.UnknownMethod, HTTPStatus.BAD_REQUEST, "unknown_method"),
    (errors.AlreadyExists, HTTPStatus.CONFLICT, "already_exists"),
    (errors.UnreadableSource, HTTPStatus.UNPROCESSABLE_ENTITY, "unreadable_source"),
    (errors.InputError, HTTPStatus.BAD_REQUEST, "invalid_input"),
    (errors.MissingExtra, HTTPStatus.NOT_IMPLEMENTED, "missing_extra"),
    (errors.MissingLayer, HTTPStatus.CONFLICT, "missing_layer"),
    (errors.NotAnIndex, HTTPStatus.NOT_FOUND, "not_an_index"),
    (errors.IndexLocked, HTTPStatus.CONFLICT, "index_locked"),
    (errors.StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "store_unavailable"),
    (errors.RecipeMismatch, HTTPStatus.CONFLICT, "recipe_mismatch"),
    (errors.DamagedIndex, HTTPStatus.INTERNAL_SERVER_ERROR, "damaged_index"),
    (errors.StoreError, HTTPStatus.INTERNAL_SERVER_ERROR, "store_error"),
    (errors.BudgetSpent, HTTPStatus.PAYMENT_REQUIRED, "budget_spent"),
    (errors.ModelError, HTTPStatus.BAD_GATEWAY, "model_error"),
)
# What a code is to a client. An error that makes its sentence of other values is its parent there.
KINDS: Mapping[str, type[ClewError]] = {
    code: kind.__base__ if "__init__" in vars(kind) else kind  # type: ignore[misc]  # a ClewError
    for kind, _, code in _STATUS
}

_ADDRESS = re.compile(r"https?://[^\s\"'()<>]+")


class Refusal(ClewError):
    """A refused request; the message is for its sender."""

    def __init__(
        self, status: int, code: str, sentence: str, headers: dict[str, str] | None = None
    ) -> None:
        self.status = int(status)
        self.code = code
        self.headers = headers or {}
        super().__init__(sentence)


def make_refusal(error: ClewError) -> Refusal:
    """Return the refusal for an error."""
    if isinstance(error, Refusal):
        return error
    for kind, status, code in _STATUS:
        if isinstance(error, kind):
            return Refusal(status, code, str(error))
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "error", str(error))


def describe_briefly(error: ModelError) -> str:
    """Describe the failure of a model without its address, which is in the log."""
    return f"a model of this server did not do its work: {error.brief or 'it failed'}"


def hide_addresses(text: str) -> str:
    """Replace the addresses of models in a text.

    >>> hide_addresses("EndpointError: http://10.0.0.7:8000/v1 cannot be reached (refused)")
    'EndpointError: a model cannot be reached (refused)'
    """
    return _ADDRESS.sub("a model", text)


# Refusals that take their sentence.
no_such_resource = partial(Refusal, HTTPStatus.NOT_FOUND, "not_found")  # or not for the caller
forbidden = partial(Refusal, HTTPStatus.FORBIDDEN, "forbidden")
too_large = partial(Refusal, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
_BEARER = {"WWW-Authenticate": 'Bearer realm="clew"'}
no_key = partial(Refusal, HTTPStatus.UNAUTHORIZED, "unauthorized", headers=_BEARER)


def no_such_kind(kind: str, kinds: Sequence[str]) -> Refusal:
    """Return the refusal for a body of an unsupported media type."""
    sentence = f"a body is {' or '.join(kinds)} here, not {kind:.80}: say so in Content-Type"
    return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", sentence)


def no_space(error: OSError) -> Refusal:
    """Return the refusal for a full or unwritable disk."""
    why = error.strerror or str(error)
    sentence = f"the server cannot write what was sent ({why}): tell whoever runs it"
    return Refusal(HTTPStatus.INSUFFICIENT_STORAGE, "no_space", sentence)


def too_many(why: str, wait_s: int) -> Refusal:
    """Return the refusal for a key over its rate."""
    return Refusal(
        HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", why, {"Retry-After": str(wait_s)}
    )
