"""Normalize metadata values from files and callers."""

import json
import math
from collections.abc import Mapping
from datetime import date, time

from clew.base.types import Scalar, Value

_PLAIN = (str, int, float, date, time)


def values(given: Mapping[str, object]) -> dict[str, Value]:
    """Return metadata as strings, numbers, booleans, and lists of these.

    A date or a time is its ISO 8601 text. What has parts is its JSON, bytes and numbers that are
    none are None. Raises RecursionError for what is nested too deeply.
    """
    return {str(name): value(each) for name, each in given.items()}


def value(given: object) -> Value:
    """Return one normalized metadata value."""
    if isinstance(given, list | tuple | set | frozenset):
        ordered = sorted(given, key=str) if isinstance(given, set | frozenset) else given
        if all(each is None or isinstance(each, _PLAIN) for each in ordered):
            return tuple(map(_scalar, ordered))
    return _scalar(given)


def _scalar(given: object) -> Scalar:
    if given is None or isinstance(given, str | bool | int):
        return given
    if isinstance(given, float):
        return float(given) if math.isfinite(given) else None
    if isinstance(given, date | time):
        return given.isoformat()
    if isinstance(given, list | tuple | dict | set | frozenset):
        return json.dumps(_jsonable(given), ensure_ascii=False)
    if isinstance(given, bytes):
        return None
    item = getattr(given, "item", None)  # a scalar of NumPy
    return _scalar(item()) if item is not None else str(given)


def _jsonable(given: object) -> object:
    if isinstance(given, dict):
        return {str(name): _jsonable(each) for name, each in given.items()}
    if isinstance(given, list | tuple):
        return [_jsonable(each) for each in given]
    if isinstance(given, set | frozenset):
        return [_jsonable(each) for each in sorted(given, key=str)]
    return _scalar(given)
