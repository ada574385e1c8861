"""Which documents fulfil a filter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.derived import Derived
from clew.errors import InputError
from clew.filters.expressions import AllOf, AnyOf, Comparison, Filter, Not, named
from clew.snapshot import Snapshot
from clew.text.periods import Period, period
from clew.types import Document, Scalar, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

OWN = ("id", "source", "title")  # fields that every document has


def rows(snapshot: Snapshot, chosen: Filter) -> NDArray[np.int64]:
    """Return the rows of the documents that fulfil a filter, ascending.

    Raises InputError for a field that no document has.
    """
    return np.flatnonzero(_holds(chosen, snapshot.get(_FIELDS)))


def ids(snapshot: Snapshot, chosen: Filter) -> list[str]:
    """Return the ids of the documents that fulfil a filter, in order. Raises as `rows`."""
    documents = snapshot.get(_FIELDS).documents
    return [documents[row].id for row in rows(snapshot, chosen).tolist()]


def settled(snapshot: Snapshot, chosen: Filter) -> Filter:
    """Return a filter whose fields are called as the documents call them.

    Raises InputError for a field that no document has.
    """
    if isinstance(chosen, Comparison):
        return replace(chosen, field=snapshot.get(_FIELDS).known(chosen.field))
    if isinstance(chosen, Not):
        return Not(settled(snapshot, chosen.part))
    assert isinstance(chosen, AllOf | AnyOf)  # noqa: S101 -- there are no others
    return replace(chosen, parts=tuple(settled(snapshot, part) for part in chosen.parts))


def among_others(snapshot: Snapshot, chosen: Filter) -> Filter:
    """Return a filter that no field is unknown to: what no document has, each is without.

    So a part of an index says the same of its documents as the whole would.
    """
    if isinstance(chosen, Comparison):
        if _called(chosen.field, fields(snapshot)):
            return chosen
        every = Comparison("id", "like", "*")
        return every if _holds_for(None, chosen) ^ (chosen.operator == "!=") else Not(every)
    if isinstance(chosen, Not):
        return Not(among_others(snapshot, chosen.part))
    assert isinstance(chosen, AllOf | AnyOf)  # noqa: S101 -- there are no others
    return replace(chosen, parts=tuple(among_others(snapshot, part) for part in chosen.parts))


def fields(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of all fields that documents have."""
    return snapshot.get(_FIELDS).names


def check_fields(chosen: Filter, names: Sequence[str]) -> None:
    """Raise InputError for a field of a filter that is none of these."""
    for each in sorted(fields_of(chosen)):
        if not _called(each, names):
            raise _unknown(each, names)


def _called(name: str, names: Sequence[str]) -> str:
    """Return a field as it is called among others, "" where it is none of them."""
    alike = [name] if name in names else [n for n in names if n.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else ""


def _unknown(name: str, names: Sequence[str]) -> InputError:
    known = ", ".join(map(named, names))
    return InputError(f"no document has the field {name!r}: there are {known:.400}")


def fields_of(chosen: Filter) -> set[str]:
    """Return the names of the fields that a filter asks for."""
    if isinstance(chosen, Comparison):
        return {chosen.field}
    parts = (chosen.part,) if isinstance(chosen, Not) else getattr(chosen, "parts", ())
    return {name for part in parts for name in fields_of(part)}


def _holds(chosen: Filter, fields: _Fields) -> NDArray[np.bool_]:
    if isinstance(chosen, Comparison):
        return fields.compared(chosen)
    if isinstance(chosen, Not):
        return ~_holds(chosen.part, fields)
    assert isinstance(chosen, AllOf | AnyOf)  # noqa: S101 -- there are no others
    found = _holds(chosen.parts[0], fields)
    for part in chosen.parts[1:]:
        more = _holds(part, fields)
        found = found & more if isinstance(chosen, AllOf) else found | more
    return found


class _Fields:
    """What each document has in each field: a place in the field's distinct values."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        own = sorted({name for d in documents for name in d.metadata if name not in OWN})
        self.names = (*OWN, *own)
        self._column = cache(self._read)

    def compared(self, chosen: Comparison) -> NDArray[np.bool_]:
        places, values = self._column(self.known(chosen.field))
        holds = [_holds_for(value, chosen) for value in values]
        return np.asarray(holds, dtype=bool)[places] ^ (chosen.operator == "!=")

    def known(self, name: str) -> str:
        """Return a field as the documents call it. Raises InputError where none has it."""
        found = _called(name, self.names)
        if not found:
            raise _unknown(name, self.names)
        return found

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


def _fields(snapshot: Snapshot) -> _Fields:
    return _Fields(snapshot.document_layer.headers())


_FIELDS = Derived("the fields of documents", _fields)


def _holds_for(value: Value, chosen: Comparison) -> bool:
    """Say whether a comparison holds for what a document has; for a list, if it does for any."""
    each = value if isinstance(value, tuple) else (value,)
    if chosen.operator == "has" and isinstance(value, str):
        return str(chosen.value) in value
    return any(_OPERATORS[chosen.operator](one, chosen.value) for one in each)


def _equal(value: Scalar, wanted: Any) -> bool:  # noqa: ANN401 -- as are all operators
    if value is None or wanted is None:
        return value is wanted
    if isinstance(wanted, bool):
        return value is wanted or str(value).casefold() == str(wanted).casefold()
    return _order(value, wanted) == 0


def _order(value: Scalar, wanted: Scalar) -> int | None:
    """Say whether a value stands before another (-1), at it (0) or behind it (1), else None.

    A number stands beside a text that is one, and a moment at every period that it is in.
    """
    numbers = _number(value), _number(wanted)
    if numbers[0] is not None and numbers[1] is not None:
        return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
    periods = _period(value), _period(wanted)
    if periods[0] is not None and periods[1] is not None:
        start = periods[0].start
        return (start >= periods[1].end) - (start < periods[1].start)
    if isinstance(value, str) and isinstance(wanted, str):
        return (value > wanted) - (value < wanted)
    return None


def _number(value: Scalar) -> float | None:
    if isinstance(value, str):
        return float(value) if _LIKE_NUMBER.fullmatch(value) else None
    return None if isinstance(value, bool) else value


_LIKE_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)


def _period(value: Scalar) -> Period | None:
    return period(str(value)) if isinstance(value, str | int) else None


def _like(value: Scalar, wanted: Any) -> bool:  # noqa: ANN401
    return value is not None and _pattern(str(wanted)).match(str(value).casefold()) is not None


@lru_cache(maxsize=64)
def _pattern(like: str) -> re.Pattern[str]:
    return re.compile(translate(like.casefold()))


_OPERATORS: Mapping[str, Callable[[Scalar, Any], bool]] = {
    "=": _equal,
    "!=": _equal,  # and what it gives is turned round: it holds where none is equal
    "<": lambda value, wanted: _order(value, wanted) == -1,
    "<=": lambda value, wanted: _order(value, wanted) in {-1, 0},
    ">": lambda value, wanted: _order(value, wanted) == 1,
    ">=": lambda value, wanted: _order(value, wanted) in {0, 1},
    "has": _equal,
    "like": _like,
    "in": lambda value, wanted: any(_equal(value, each) for each in wanted),
}
