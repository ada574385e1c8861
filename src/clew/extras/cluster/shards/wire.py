"""Encode the requests and replies of shards as bytes.

A value is JSON, and behind it the bytes of its arrays. Dataclasses are named, and none are made but
those that shards exchange: to read what was sent runs nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any

import numpy as np

from clew.base.types import Apparatus, Document, Figure, Heading
from clew.errors import InputError
from clew.extras.cluster.shards import exchange

_OF_DOCUMENTS = Document, Heading, Apparatus, Figure
_KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (*vars(exchange).values(), *_OF_DOCUMENTS)
    if isinstance(kind, type) and is_dataclass(kind)
}
# An object of JSON has one of these alone, and what it stands for.
_KIND, _ARRAY, _TUPLE, _MAPPING = "kind", "array", "tuple", "mapping"
_MALFORMED = ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError
_HEAD = 8  # bytes that say how long the JSON is
_ALIGNED = 8  # arrays begin at multiples of so many bytes
_NUMBERS = frozenset("biuf")  # kinds of types that an array may have
_SHOWN = 200  # characters of a reason


def pack(value: object) -> bytes:
    """Encode a value that shards exchange."""
    arrays = bytearray()
    head = json.dumps(_to_plain(value, arrays), separators=(",", ":")).encode()
    head += b" " * (-len(head) % _ALIGNED)
    return b"".join([len(head).to_bytes(_HEAD, "little"), head, arrays])


def _to_plain(value: Any, arrays: bytearray) -> Any:  # noqa: ANN401 -- whatever a field has
    """Return a value as JSON, and append the bytes of its arrays to `arrays`."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        entry = {_ARRAY: [value.dtype.str, list(value.shape), len(arrays)]}
        arrays += value.tobytes()
        arrays += b"\0" * (-len(arrays) % _ALIGNED)
        return entry
    if isinstance(value, Mapping):
        return {_MAPPING: {key: _to_plain(each, arrays) for key, each in value.items()}}
    if isinstance(value, tuple | list):
        several = [_to_plain(each, arrays) for each in value]
        return {_TUPLE: several} if isinstance(value, tuple) else several
    own = {each.name: _to_plain(getattr(value, each.name), arrays) for each in fields(value)}
    return {_KIND: [type(value).__name__, own]}


def unpack(sent: bytes) -> Any:  # noqa: ANN401 -- one of the values of `exchange`
    """Decode a value. Raises InputError for invalid bytes."""
    try:
        end = _HEAD + int.from_bytes(sent[:_HEAD], "little")
        return _from_plain(json.loads(sent[_HEAD:end]), memoryview(sent)[end:])
    except _MALFORMED as error:
        raise InputError(
            f"what was sent is not what shards of this version of Clew send ({error!r:.{_SHOWN}}):"
            f" check that both sides have one version"
        ) from error


def _from_plain(plain: Any, arrays: memoryview) -> Any:  # noqa: ANN401
    """Return the value that JSON describes."""
    if isinstance(plain, list):
        return [_from_plain(each, arrays) for each in plain]
    if not isinstance(plain, dict):
        return plain
    [(stands_for, inner)] = plain.items()
    if stands_for == _KIND:
        kind, own = inner
        return _KINDS[kind](**{name: _from_plain(each, arrays) for name, each in own.items()})
    if stands_for == _TUPLE:
        return tuple(_from_plain(each, arrays) for each in inner)
    if stands_for == _MAPPING:
        return {name: _from_plain(each, arrays) for name, each in inner.items()}
    if stands_for != _ARRAY:
        raise ValueError(f"an object {stands_for!r}")
    written, shape, place = inner
    numbers = np.dtype(written)
    if numbers.kind not in _NUMBERS or min(shape, default=0) < 0:
        raise ValueError(f"an array of {written!r} and the shape {shape!r}")
    return np.frombuffer(arrays, numbers, prod(shape), place).reshape(shape)
