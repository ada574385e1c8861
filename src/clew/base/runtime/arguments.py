"""Check the arguments of public functions.

A wrong argument is an InputError in one sentence, before anything is read, asked or written. What
only the function itself can tell, such as whether a document of that id exists, is left to it.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from numbers import Integral, Real
from os import PathLike
from typing import NamedTuple, ParamSpec, TypeVar

from clew.base.runtime.lazy import compile_re
from clew.errors import InputError, suggest

P = ParamSpec("P")
T = TypeVar("T")


class Kind(NamedTuple):
    """An accepted kind of argument: a check, and its description."""

    holds: Callable[[object], bool]
    words: str


SURROGATE = compile_re("[\ud800-\udfff]")  # alone: what a byte that is no UTF-8 is decoded to


def is_text(value: object) -> bool:
    """Check whether a value is a string that can be encoded."""
    return isinstance(value, str) and (value.isascii() or not SURROGATE.search(value))


def is_path(value: object) -> bool:
    """Check whether a value can be a path."""
    return isinstance(value, str | PathLike) and str(value) != "" and "\0" not in str(value)


def _are_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, bytes) and all(map(is_text, value))


def are_several(value: object) -> bool:
    """Check whether a value is a collection other than a string."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_numbers(least: int, most: float = math.inf) -> Kind:
    """Return the kind of integers between two bounds."""
    within = number(least, most)
    return Kind(
        lambda value: _is_whole(value) and within.holds(value),
        within.words.replace("a number", "a whole number"),
    )


def number(least: float, most: float = math.inf, *, is_below: bool = False) -> Kind:
    """Return the kind of numbers between two bounds; `is_below` excludes `most`."""

    def holds(value: object) -> bool:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        return is_number and least <= value <= most and not (is_below and value == most)  # type: ignore[operator]

    to = "to below" if is_below else "to"
    bounds = f"at least {least:g}" if most == math.inf else f"from {least:g} {to} {most:,.15g}"
    return Kind(holds, f"a number, {bounds}")


def instance(words: str, *kinds: type) -> Kind:
    """Return the kind of instances of the given classes."""
    return Kind(lambda value: isinstance(value, kinds), words)


def instance_of(place: str, words: str) -> Kind:
    """Return the kind of instances of the class at MODULE:NAME, without importing the module."""
    module, _, name = place.partition(":")
    return Kind(lambda value: isinstance(value, getattr(import_module(module), name)), words)


WHOLE = Kind(_is_whole, "a whole number")
TEXT = Kind(is_text, "a text in valid Unicode")
TEXTS = Kind(
    lambda value: not isinstance(value, str) and _are_texts(value),
    "a list of texts in valid Unicode",
)
TEXT_OR_TEXTS = Kind(_are_texts, "a text or a list of texts, in valid Unicode")
PATH = Kind(is_path, "a path")
TRUTH = instance("true or false", bool)
FUNCTION = Kind(callable, "a function")
MAPPING = instance("a mapping", Mapping)


def check_values(kinds: Mapping[str, Kind]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that checks the arguments of a function by name.

    An argument that is its own default is right, and so is one that `kinds` does not name.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @wraps(function)
        def checking(*given: P.args, **kwargs: P.kwargs) -> T:
            try:
                bound = signature.bind(*given, **kwargs)
            except TypeError:
                return function(*given, **kwargs)  # where Python says what is wrong, by its name
            for name, value in bound.arguments.items():
                parameter = signature.parameters[name]
                several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
                for each in value if several else (value,):
                    if each is not parameter.default and name in kinds:
                        _check(name, each, kinds[name])
            return function(*given, **kwargs)

        return checking

    return decorate


def check_arguments(given: Mapping[str, object], kinds: Mapping[str, Kind]) -> None:
    """Raise InputError for the first argument that is invalid or unknown."""
    for name, value in given.items():
        if name not in kinds:
            near = suggest(name, kinds)
            raise InputError(
                f"there is no argument {name!r}{near}: choose one of {', '.join(kinds)}"
            )
        _check(name, value, kinds[name])


def _check(name: str, value: object, kind: Kind) -> None:
    if not kind.holds(value):
        raise InputError(f"the argument {name!r} is {kind.words}, not {value!r:.60}")
