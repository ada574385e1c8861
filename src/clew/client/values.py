"""Values from what JSON has of them: the inverse of `clew.display.shown.plain`.

JSON has lists for tuples and objects for dataclasses and mappings; the types of the fields say
which it was. What a newer server adds is passed over, and what has a default may be missing.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

Reader = Callable[[Any, str], Any]  # a value of JSON, and where it stands, to the value

_SCALARS = (str, bool, int, float, types.NoneType)
_SAID = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def from_plain(kind: type[T], value: object) -> T:
    """Return the value of a type, such as `Evidence`, of which `value` is what `plain` gives.

    Raises ValueError where it is none, with the place of what does not fit.
    """
    wanted: Any = kind
    found: T = _reader(wanted)(value, getattr(kind, "__name__", str(kind)))
    return found


@cache
def _reader(kind: Any) -> Reader:  # noqa: ANN401, PLR0911 -- one return for each shape of type
    if kind is Any or kind is object or isinstance(kind, TypeVar):
        return _as_it_is
    origin, of = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return partial(_of_union, tuple((_shape(each), _reader(each)) for each in of))
    if origin is Literal:
        return partial(_one_of, of)
    if is_dataclass(origin or kind):
        return _OfDataclass(kind)
    if kind in _SCALARS:
        return partial(_scalar, kind)
    if origin is tuple and of[-1:] != (...,):
        return partial(_fixed, tuple(map(_reader, of)))
    if origin in {tuple, list, Sequence}:
        return partial(_several, tuple if origin is tuple else list, _reader(of[0]))
    if origin in {dict, Mapping}:
        return partial(_mapping, _reader(of[1]))
    raise TypeError(f"no value of the type {kind} is read from JSON")


def _as_it_is(value: object, _place: str) -> object:
    return value


def _scalar(kind: type, value: object, place: str) -> object:
    if _fits(kind, value):
        return value
    raise _unfit(place, _SAID.get(kind, "null"), value)


def _fits(kind: type, value: object) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _several(made: Callable[[list[Any]], Any], read: Reader, value: object, place: str) -> object:
    if not isinstance(value, list):
        raise _unfit(place, "a list", value)
    return made([read(each, f"{place}[{i}]") for i, each in enumerate(value)])


def _fixed(read: tuple[Reader, ...], value: object, place: str) -> object:
    if not isinstance(value, list) or len(value) != len(read):
        raise _unfit(place, f"a list of {len(read)}", value)
    found = zip(read, value, strict=True)
    return tuple(one(each, f"{place}[{i}]") for i, (one, each) in enumerate(found))


def _mapping(read: Reader, value: object, place: str) -> object:
    if not isinstance(value, dict):
        raise _unfit(place, "an object", value)
    return {name: read(each, f"{place}.{name}") for name, each in value.items()}


def _one_of(choices: tuple[object, ...], value: object, place: str) -> object:
    if value in choices:
        return value
    raise _unfit(place, f"one of {choices}", value)


def _of_union(kinds: tuple[tuple[Shape, Reader], ...], value: object, place: str) -> object:
    for has_shape, read in kinds:
        if has_shape(value):
            return read(value, place)
    raise _unfit(place, "of another type", value)


Shape = Callable[[object], bool]  # says whether a value of JSON may be of a type at all


def _shape(kind: Any) -> Shape:  # noqa: ANN401 -- a type, or what stands for one
    origin = get_origin(kind)
    if kind in _SCALARS:
        return partial(_fits, kind)
    if origin in {Union, types.UnionType}:
        shapes = tuple(map(_shape, get_args(kind)))
        return lambda value: any(each(value) for each in shapes)
    if is_dataclass(origin or kind) or origin in {dict, Mapping}:
        return lambda value: isinstance(value, dict)
    if origin in {tuple, list, Sequence}:
        return lambda value: isinstance(value, list)
    return lambda _value: True


class _OfDataclass:
    """Reads a dataclass; its fields are looked at when the first one is read."""

    def __init__(self, kind: Any) -> None:  # noqa: ANN401 -- a class, or a generic one of a type
        self._kind = get_origin(kind) or kind
        given = getattr(self._kind, "__parameters__", ())
        self._of = dict(zip(given, get_args(kind), strict=False))  # what stands for type variables
        self._fields: list[tuple[str, Reader, bool]] | None = None

    def __call__(self, value: object, place: str) -> object:
        if not isinstance(value, dict):
            raise _unfit(place, "an object", value)
        if self._fields is None:
            self._fields = self._looked_at()
        given = {}
        for name, read, is_needed in self._fields:
            if name in value:
                given[name] = read(value[name], f"{place}.{name}")
            elif is_needed:
                raise ValueError(f"{place} has no {name!r}")
        return self._kind(**given)

    def _looked_at(self) -> list[tuple[str, Reader, bool]]:
        hints = get_type_hints(self._kind)
        return [
            (
                each.name,
                _reader(self._filled(hints[each.name])),
                each.default is MISSING and each.default_factory is MISSING,
            )
            for each in fields(self._kind)
            if each.init
        ]

    def _filled(self, hint: Any) -> Any:  # noqa: ANN401 -- a type, or what stands for one
        if isinstance(hint, TypeVar):
            return self._of.get(hint, Any)
        of = getattr(hint, "__parameters__", ())
        return hint[tuple(self._of.get(each, Any) for each in of)] if of else hint


def _unfit(place: str, said: str, value: object) -> ValueError:
    return ValueError(f"{place} is {said}, not {value!r:.60}")
