"""Build the retrieval method of a question from its name and parameters."""

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from clew import methods
from clew.base.types import Scalar
from clew.errors import InputError, suggest
from clew.index.snapshot import Snapshot
from clew.methods import Method

CONTEXT_TOKENS = 4_000
MAX_ANSWER_TOKENS = 1_024
_FILLING = frozenset("auto bm25 dense hybrid pagerank paths themes walk".split())
_AROUND = 15  # tokens of a passage beside its text: number, title, section
_MOST_CHUNKS = 100  # of a context, however short they are
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def build_method(
    name: str | Method, parameters: Mapping[str, Scalar], context_tokens: int | None = None
) -> Method:
    """Return the method. Raises UnknownMethod, or InputError for an invalid parameter.

    A method that is given as such has its parameters already. One that fills a context by itself
    fills one of `context_tokens`, unless its own parameter says another number.
    """
    if not isinstance(name, str):
        if parameters:
            raise InputError(f"{next(iter(parameters))} is a parameter: pass it to the method")
        if callable(getattr(name, "retrieve", None)) and hasattr(name, "layers"):
            return name
        raise InputError(
            f"a method must be a name, or have `layers` and `retrieve`, not {name!r:.60}: see"
            f" clew.methods"
        )
    kind = methods.load(name)
    options = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    bounding = methods.get_limits(kind).tokens
    if context_tokens is not None and bounding:
        parameters = {bounding: context_tokens, **parameters}
    for parameter, value in parameters.items():
        if parameter not in options:
            raise InputError(
                f"the method {name!r} has no parameter {parameter!r}{suggest(parameter, options)}:"
                f" choose one of {', '.join(options)}"
            )
        _check_type(name, parameter, value, options[parameter].default)
    method = kind(**parameters)  # which knows its own limits
    for parameter, value in parameters.items():
        if isinstance(value, int | float) and not 0 <= value < math.inf:
            limit = "at least 0" if value < 0 else "a finite number"
            raise InputError(f"{parameter} of the method {name!r} is {limit}, not {value}")
    return method


def choose_context_tokens(method: str | Method, parameters: Mapping[str, Scalar]) -> int:
    """Return the context size in tokens: the method's own if it fills a context."""
    if isinstance(method, str):
        own = parameters.get(methods.get_limits(methods.load(method)).tokens)
    else:
        own = getattr(method, methods.get_limits(type(method)).tokens, None)
    return own if isinstance(own, int) else CONTEXT_TOKENS


def widen(
    name: str | Method,
    parameters: Mapping[str, Scalar],
    method: Any,  # noqa: ANN401 -- a frozen dataclass, as those of `_FILLING` are
    snapshot: Snapshot,
    context_tokens: int,
) -> tuple[Method, int | None]:
    """Return a method with as many chunks of mean length as fill a context, and its own number.

    One that is told how many, and a paper's, which has the paper's rule, stay as they are.
    """
    n_tokens = np.asarray(snapshot.layer("chunk").columns["n_tokens"])
    limiting = methods.get_limits(type(method)).chunks
    if str(name) not in _FILLING or limiting in parameters or not len(n_tokens):
        return method, None
    wanted = math.ceil(context_tokens / (float(n_tokens.mean()) + _AROUND))
    usual: int = getattr(method, limiting)
    return replace(method, **{limiting: max(usual, min(wanted, _MOST_CHUNKS))}), usual


def _check_type(method: str, parameter: str, value: Scalar, default: object) -> None:
    number = isinstance(default, float) and type(value) is int
    if type(value) is not type(default) and not number:
        raise InputError(
            f"{parameter} of the method {method!r} is {_TYPES[type(default)]}, not {value!r}"
        )
