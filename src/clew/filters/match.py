"""Find the documents that match a filter."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.base.derived import Derived
from clew.base.runtime.lazy import compile_re
from clew.base.types import Document, Scalar, Value
from clew.errors import InputError
from clew.filters.expressions import AllOf, AnyOf, Comparison, Filter, Not, ValidOn, quote_name
from clew.filters.validity import mark_valid
from clew.index.snapshot import Snapshot
from clew.text.dates import Period, parse_period, read_day

OWN = ("id", "source", "title")  # fields that every document has


def find_rows(snapshot: Snapshot, where: Filter) -> NDArray[np.int64]:
    """Return the rows of the documents that match a filter, ascending.

    Raises InputError for a field that no document has.
    """
    return np.flatnonzero(snapshot.get(_FIELDS).mark(where))


def select_documents(snapshot: Snapshot, where: Filter) -> Snapshot:
    """Return the snapshot restricted to documents that match a filter.

    Where it asks for a date (`valid on`), without triples that are known not to hold then.
    """
    rows, during = find_rows(snapshot, where), find_time(where)
    if not len(rows):
        raise InputError(f"no document matches the filter {str(where)!r:.200}: see 'clew list'")
    is_whole = len(rows) == len(snapshot.document_layer)
    if snapshot.among is None or (is_whole and not (during and snapshot.triples.validity)):
        return snapshot
    return snapshot.among(rows, during)


def find_time(where: Filter) -> int:
    """Return the date at which a filter asks for what is valid, as a number; 0 for none."""
    parts = where.parts if isinstance(where, AllOf) else (where,)
    return next((read_day(each.date) for each in parts if isinstance(each, ValidOn)), 0)


def find_ids(snapshot: Snapshot, where: Filter) -> list[str]:
    """Return the ids of the documents that match a filter, in order. Raises as `find_rows`."""
    documents = snapshot.get(_FIELDS).documents
    return [documents[row].id for row in find_rows(snapshot, where).tolist()]


def resolve_fields(snapshot: Snapshot, where: Filter) -> Filter:
    """Return a filter with its fields spelled as in the documents.

    Raises InputError for a field that no document has.
    """
    resolve = snapshot.get(_FIELDS).resolve
    return _map_comparisons(where, lambda each: replace(each, field=resolve(each.field)))


def resolve_known_fields(snapshot: Snapshot, where: Filter) -> Filter:
    """Return a filter in which unknown fields match as missing ones.

    So a part of an index says the same of its documents as the whole would.
    """

    def resolve(one: Comparison) -> Filter:
        if _match_name(one.field, field_names(snapshot)):
            return one
        every = Comparison("id", "like", "*")
        return every if _fulfils(None, one) ^ (one.operator == "!=") else Not(every)

    return _map_comparisons(where, resolve)


def _map_comparisons(where: Filter, change: Callable[[Comparison], Filter]) -> Filter:
    """Return a filter with its comparisons mapped by a function."""
    if isinstance(where, Comparison):
        return change(where)
    if isinstance(where, ValidOn):
        return where
    if isinstance(where, Not):
        return Not(_map_comparisons(where.part, change))
    assert isinstance(where, AllOf | AnyOf)  # noqa: S101 -- there are no others
    return replace(where, parts=tuple(_map_comparisons(part, change) for part in where.parts))


def field_names(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of all fields of the documents."""
    return snapshot.get(_FIELDS).names


def check_fields(where: Filter, names: Sequence[str]) -> None:
    """Raise InputError for a field of a filter outside the given ones."""
    for each in sorted(collect_fields(where)):
        if not _match_name(each, names):
            raise _unknown_field(each, names)


def _match_name(name: str, names: Sequence[str]) -> str:
    """Return the spelling of a field among `names`, or ""."""
    alike = [name] if name in names else [n for n in names if n.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else ""


def _unknown_field(name: str, names: Sequence[str]) -> InputError:
    choices = ", ".join(map(quote_name, names))
    return InputError(f"no document has the field {name!r}: there are {choices:.400}")


def collect_fields(where: Filter) -> set[str]:
    """Return the names of the fields in a filter."""
    if isinstance(where, Comparison):
        return {where.field}
    parts = (where.part,) if isinstance(where, Not) else getattr(where, "parts", ())
    return {name for part in parts for name in collect_fields(part)}


class _Fields:
    """The value of each document in each field, as an index into the field's distinct values."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        own = sorted({name for d in documents for name in d.metadata if name not in OWN})
        self.names = (*OWN, *own)
        self._column = cache(self._read)

    def mark(self, where: Filter) -> NDArray[np.bool_]:
        """Return (n,) whether each document matches a filter."""
        if isinstance(where, Comparison):
            places, values = self._column(self.resolve(where.field))
            holds = [_fulfils(value, where) for value in values]
            return np.asarray(holds, dtype=bool)[places] ^ (where.operator == "!=")
        if isinstance(where, ValidOn):
            return mark_valid(self.documents, where.date)
        if isinstance(where, Not):
            return ~self.mark(where.part)
        assert isinstance(where, AllOf | AnyOf)  # noqa: S101 -- there are no others
        join = np.logical_and if isinstance(where, AllOf) else np.logical_or
        return np.asarray(join.reduce([self.mark(part) for part in where.parts]))

    def resolve(self, name: str) -> str:
        """Return a field as spelled in the documents. Raises InputError if none has it."""
        resolved = _match_name(name, self.names)
        if not resolved:
            raise _unknown_field(name, self.names)
        return resolved

    def _read(self, name: str) -> tuple[NDArray[np.int32], list[Value]]:
        places: dict[str, tuple[int, Value]] = {}
        column = np.empty(len(self.documents), dtype=np.int32)
        for row, document in enumerate(self.documents):
            value = getattr(document, name) if name in OWN else document.metadata.get(name)
            column[row], _ = places.setdefault(repr(value), (len(places), value))
        return column, [value for _, value in places.values()]


_FIELDS = Derived(
    "the fields of documents", lambda snapshot: _Fields(snapshot.document_layer.headers())
)


def _fulfils(value: Value, where: Comparison) -> bool:
    """Check whether a value matches a comparison; a list does if any of its values does."""
    each = value if isinstance(value, tuple) else (value,)
    if where.operator == "has" and isinstance(value, str):
        return str(where.value) in value
    return any(_OPERATORS[where.operator](one, where.value) for one in each)


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


_LIKE_NUMBER = compile_re(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)


def _period(value: Scalar) -> Period | None:
    return parse_period(str(value)) if isinstance(value, str | int) else None


def _is_like(value: Scalar, pattern: Any) -> bool:  # noqa: ANN401
    return value is not None and fnmatchcase(str(value).casefold(), str(pattern).casefold())


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
