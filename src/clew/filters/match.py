"""Find the documents that fulfil a filter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import translate
from functools import cache, lru_cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.derived import Derived
from clew.errors import InputError
from clew.filters.expressions import AllOf, AnyOf, Comparison, Filter, Not, quote_name
from clew.snapshot import Snapshot
from clew.text.periods import Period, parse_period
from clew.types import Document, Scalar, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

OWN = ("id", "source", "title")  # fields that every document has


def find_rows(snapshot: Snapshot, chosen: Filter) -> NDArray[np.int64]:
    """Return the rows of the documents that fulfil a filter, ascending.

    Raises InputError for a field that no document has.
    """
    return np.flatnonzero(_holds(chosen, snapshot.get(_FIELDS)))


def find_ids(snapshot: Snapshot, chosen: Filter) -> list[str]:
    """Return the ids of the documents that fulfil a filter, in order. Raises as `find_rows`."""
    documents = snapshot.get(_FIELDS).documents
    return [documents[row].id for row in find_rows(snapshot, chosen).tolist()]


def resolve_fields(snapshot: Snapshot, chosen: Filter) -> Filter:
    """Return a filter whose fields are spelled as the documents spell them.

    Raises InputError for a field that no document has.
    """
    fields = snapshot.get(_FIELDS)
    return _replace_comparisons(chosen, lambda one: replace(one, field=fields.resolve(one.field)))


def resolve_known_fields(snapshot: Snapshot, chosen: Filter) -> Filter:
    """Return a filter in which a field that is unknown here is one that no document has.

    So a part of an index says the same of its documents as the whole would.
    """
    names = field_names(snapshot)

    def resolve(one: Comparison) -> Filter:
        if _match_name(one.field, names):
            return one
        every = Comparison("id", "like", "*")
        return every if _fulfils(None, one) ^ (one.operator == "!=") else Not(every)

    return _replace_comparisons(chosen, resolve)


def _replace_comparisons(chosen: Filter, change: Callable[[Comparison], Filter]) -> Filter:
    if isinstance(chosen, Comparison):
        return change(chosen)
    if isinstance(chosen, Not):
        return Not(_replace_comparisons(chosen.part, change))
    assert isinstance(chosen, AllOf | AnyOf)  # noqa: S101 -- there are no others
    return replace(chosen, parts=tuple(_replace_comparisons(p, change) for p in chosen.parts))


def field_names(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of all fields that documents have."""
    return snapshot.get(_FIELDS).names


def check_fields(chosen: Filter, names: Sequence[str]) -> None:
    """Raise InputError for a field of a filter that is none of these."""
    for each in sorted(collect_fields(chosen)):
        if not _match_name(each, names):
            raise _unknown_field(each, names)


def _match_name(name: str, names: Sequence[str]) -> str:
    """Return the spelling of a field among `names`, or ""."""
    alike = [name] if name in names else [n for n in names if n.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else ""


def _unknown_field(name: str, names: Sequence[str]) -> InputError:
    known = ", ".join(map(quote_name, names))
    return InputError(f"no document has the field {name!r}: there are {known:.400}")


def collect_fields(chosen: Filter) -> set[str]:
    """Return the names of the fields in a filter."""
    if isinstance(chosen, Comparison):
        return {chosen.field}
    parts = (chosen.part,) if isinstance(chosen, Not) else getattr(chosen, "parts", ())
    return {name for part in parts for name in collect_fields(part)}


def _holds(chosen: Filter, fields: _Fields) -> NDArray[np.bool_]:
    if isinstance(chosen, Comparison):
        return fields.compare(chosen)
    if isinstance(chosen, Not):
        return ~_holds(chosen.part, fields)
    assert isinstance(chosen, AllOf | AnyOf)  # noqa: S101 -- there are no others
    join = np.logical_and if isinstance(chosen, AllOf) else np.logical_or
    return reduce(join, (_holds(part, fields) for part in chosen.parts))


class _Fields:
    """The value of each document in each field, as a place in the field's distinct values."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        own = sorted({name for d in documents for name in d.metadata if name not in OWN})
        self.names = (*OWN, *own)
        self._column = cache(self._read)

    def compare(self, chosen: Comparison) -> NDArray[np.bool_]:
        places, values = self._column(self.resolve(chosen.field))
        holds = [_fulfils(value, chosen) for value in values]
        return np.asarray(holds, dtype=bool)[places] ^ (chosen.operator == "!=")

    def resolve(self, name: str) -> str:
        """Return a field as the documents call it. Raises InputError where none has it."""
        resolved = _match_name(name, self.names)
        if not resolved:
            raise _unknown_field(name, self.names)
        return resolved

    def _read(self, name: str) -> tuple[NDArray[np.int32], list[Value]]:
        places: dict[str, int] = {}
        values: list[Value] = []
        column = np.empty(len(self.documents), dtype=np.int32)
        for row, document in enumerate(self.documents):
            value = getattr(document, name) if name in OWN else document.metadata.get(name)
            place = places.setdefault(repr(value), len(values))
            if place == len(values):
                values.append(value)
            column[row] = place
        return column, values


_FIELDS = Derived(
    "the fields of documents", lambda snapshot: _Fields(snapshot.document_layer.headers())
)


def _fulfils(value: Value, chosen: Comparison) -> bool:
    """Say whether a value fulfils a comparison; a list does if any of its values does."""
    each = value if isinstance(value, tuple) else (value,)
    if chosen.operator == "has" and isinstance(value, str):
        return str(chosen.value) in value
    return any(_OPERATORS[chosen.operator](one, chosen.value) for one in each)


def _are_equal(value: Scalar, other: Any) -> bool:  # noqa: ANN401 -- as are all operators
    if value is None or other is None:
        return value is other
    if isinstance(other, bool):
        return value is other or str(value).casefold() == str(other).casefold()
    return _compare_values(value, other) == 0


def _compare_values(value: Scalar, other: Scalar) -> int | None:
    """Return -1, 0 or 1 as a value is less, equal or greater than another, else None.

    A number stands beside a text that is one, and a moment at every period that it is in.
    """
    numbers = _number(value), _number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
    periods = _period(value), _period(other)
    if periods[0] is not None and periods[1] is not None:
        start = periods[0].start
        return (start >= periods[1].end) - (start < periods[1].start)
    if isinstance(value, str) and isinstance(other, str):
        return (value > other) - (value < other)
    return None


def _number(value: Scalar) -> float | None:
    if isinstance(value, str):
        return float(value) if _LIKE_NUMBER.fullmatch(value) else None
    return None if isinstance(value, bool) else value


_LIKE_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)


def _period(value: Scalar) -> Period | None:
    return parse_period(str(value)) if isinstance(value, str | int) else None


def _is_like(value: Scalar, pattern: Any) -> bool:  # noqa: ANN401
    return value is not None and _pattern(str(pattern)).match(str(value).casefold()) is not None


@lru_cache(maxsize=64)
def _pattern(like: str) -> re.Pattern[str]:
    return re.compile(translate(like.casefold()))


_OPERATORS: Mapping[str, Callable[[Scalar, Any], bool]] = {
    "=": _are_equal,
    "!=": _are_equal,  # and what it gives is turned round: it holds where none is equal
    "<": lambda value, wanted: _compare_values(value, wanted) == -1,
    "<=": lambda value, wanted: _compare_values(value, wanted) in {-1, 0},
    ">": lambda value, wanted: _compare_values(value, wanted) == 1,
    ">=": lambda value, wanted: _compare_values(value, wanted) in {0, 1},
    "has": _are_equal,
    "like": _is_like,
    "in": lambda value, wanted: any(_are_equal(value, each) for each in wanted),
}
