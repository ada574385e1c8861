"""Errors as HTTP statuses, with a stable code and one sentence."""

import logging
import re
from collections.abc import Callable, Mapping
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

# What others than admins are told of errors of the server. A subclass stands before its parent.
_OWN: tuple[tuple[type[ClewError], str], ...] = (
    (errors.NotAnIndex, "this index is not where it was: tell the server's operator"),
    (errors.IndexLocked, "another process is writing to this index: try again later"),
    (errors.StoreUnavailable, "the storage of the server does not answer now: try again later"),
    (errors.RecipeMismatch, "this index was built with other models or settings than the server's"),
    (errors.DamagedIndex, "a file of this index is damaged: tell the server's operator"),
    (errors.StoreError, "the server cannot access its storage: see its log"),
)

_PLACE = r"[^\s\"'()<>,;:]"
_PATH = re.compile(rf"(?<![\w./\\:-])(?:/{_PLACE}+/{_PLACE}*|[A-Za-z]:\\{_PLACE}*)")

_log = logging.getLogger(__name__)


class Refusal(ClewError):
    """A refused request; the message is for its sender."""

    def __init__(
        self, status: int, code: str, sentence: str, headers: dict[str, str] | None = None
    ) -> None:
        self.status = int(status)
        self.code = code
        self.headers = headers or {}
        super().__init__(sentence)


def make_refusal(error: ClewError, describe: Callable[[ClewError], str] | None = None) -> Refusal:
    """Return the refusal for an error, described by `describe` or else `describe_briefly`.

    The log has the error itself, where it is the server's or told in other words.
    """
    if isinstance(error, Refusal):
        return error
    status, code = next(
        ((status, code) for kind, status, code in _STATUS if isinstance(error, kind)),
        (HTTPStatus.INTERNAL_SERVER_ERROR, "error"),
    )
    sentence = (describe or describe_briefly)(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or sentence != str(error):
        _log.warning("%s", error)
    return Refusal(status, code, sentence)


def describe_briefly(error: ClewError, hide: Callable[[str], str] = str) -> str:
    """Describe an error without internal details of the server, such as paths and addresses.

    `hide` replaces paths that are known by what they may be called.

    >>> describe_briefly(errors.InputError("/srv/data/a.txt: the file is empty"))
    'a file of the server: the file is empty'
    """
    if isinstance(error, ModelError):
        return f"a model of this server failed: {error.brief or 'it failed'}"
    for kind, sentence in _OWN:
        if isinstance(error, kind):
            return sentence
    return _PATH.sub("a file of the server", hide(str(error)))


# Refusals that take their sentence.
no_such_resource = partial(Refusal, HTTPStatus.NOT_FOUND, "not_found")  # or not for the caller
forbidden = partial(Refusal, HTTPStatus.FORBIDDEN, "forbidden")
too_large = partial(Refusal, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
_BEARER = {"WWW-Authenticate": 'Bearer realm="clew"'}
no_key = partial(Refusal, HTTPStatus.UNAUTHORIZED, "unauthorized", headers=_BEARER)


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
