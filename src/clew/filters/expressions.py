"""Build filters in Python: `(field("date") >= 2024) & field("tags").has("fram")`.

`str` of one gives the text that `clew.filters.grammar` reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import partialmethod
from typing import NoReturn

from clew.base.runtime.lazy import compile_re
from clew.base.types import Scalar
from clew.errors import InputError

KEYWORDS = frozenset({"and", "or", "not", "has", "in", "like", "true", "false", "null"})
_BARE = compile_re(r"[^\W\d][\w.:-]*")


class Filter:
    """A condition on a document. Combine conditions with `&`, `|` and `~`."""

    __slots__ = ()

    def __and__(self, other: Filter) -> Filter:
        return _combine(AllOf, self, _check_operand(other))

    def __or__(self, other: Filter) -> Filter:
        return _combine(AnyOf, self, _check_operand(other))

    def __invert__(self) -> Filter:
        return self.part if isinstance(self, Not) else Not(self)

    def __bool__(self) -> NoReturn:
        raise InputError("filters are combined with &, | and ~, not with and, or and not")


@dataclass(frozen=True, slots=True)
class Comparison(Filter):
    """The comparison of a field with one value, or with several for `in`."""

    field: str
    operator: str  # =, !=, <, <=, >, >=, has, like or in
    value: Scalar | tuple[Scalar, ...]

    def __str__(self) -> str:
        if isinstance(self.value, tuple):
            return f"{quote_name(self.field)} in ({', '.join(map(_format_value, self.value))})"
        return f"{quote_name(self.field)} {self.operator} {_format_value(self.value)}"


@dataclass(frozen=True, slots=True)
class ValidOn(Filter):
    """The document is valid at some time of a day, month or year: see `clew.filters.validity`."""

    date: str  # of ISO 8601

    def __str__(self) -> str:
        return f"valid on {self.date}"


@dataclass(frozen=True, slots=True)
class AllOf(Filter):
    """Every part matches."""

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return " and ".join(f"({p})" if isinstance(p, AnyOf) else str(p) for p in self.parts)


@dataclass(frozen=True, slots=True)
class AnyOf(Filter):
    """At least one part matches."""

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Not(Filter):
    """The part does not match."""

    part: Filter

    def __str__(self) -> str:
        single = isinstance(self.part, Comparison | ValidOn)
        return f"not {self.part}" if single else f"not ({self.part})"


def _combine(kind: type[AllOf | AnyOf], one: Filter, other: Filter) -> Filter:
    parts = [p.parts if isinstance(p, kind) else (p,) for p in (one, other)]
    return kind((*parts[0], *parts[1]))


def _check_operand(other: object) -> Filter:
    if isinstance(other, Filter):
        return other
    raise InputError(f"a filter can only be combined with another filter, not with {other!r:.80}")


class field:  # noqa: N801 -- read as a function: field("date") >= 2024
    """A field to compare: of the metadata, or `id`, `source` or `title`."""

    __slots__ = ("_name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"a field has a name, not {name!r:.80}")
        self._name = name

    def __repr__(self) -> str:
        return f"field({self._name!r})"

    def _compare(self, operator: str, value: object) -> Comparison:
        return Comparison(self._name, operator, to_literal(value))

    __eq__ = partialmethod(_compare, "=")  # type: ignore[assignment]
    __ne__ = partialmethod(_compare, "!=")  # type: ignore[assignment]
    __lt__ = partialmethod(_compare, "<")
    __le__ = partialmethod(_compare, "<=")
    __gt__ = partialmethod(_compare, ">")
    __ge__ = partialmethod(_compare, ">=")

    def has(self, value: object) -> Comparison:
        """Match a list that has the value, or a text that contains it."""
        return self._compare("has", value)

    def like(self, pattern: str) -> Comparison:
        """Match a text against a pattern, ignoring case: `*` is any characters, `?` one."""
        return self._compare("like", pattern)

    def one_of(self, values: Iterable[object]) -> Comparison:
        """Match any of the values."""
        return Comparison(self._name, "in", tuple(map(to_literal, values)))


def to_literal(value: object) -> Scalar:
    """Convert a value to compare with. Raises InputError for unsupported types."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"a field can only be compared with a finite number, not {value}")
    if value is None or isinstance(value, str | int | float):
        return value
    item = getattr(value, "item", None)  # a scalar of NumPy
    if item is not None:
        return to_literal(item())
    raise InputError(
        f"a field can only be compared with a text, number, date or None, not {value!r:.80}"
    )


def quote_name(name: str) -> str:
    """Return a field's name for a filter, in backticks if it is not a single word."""
    bare = _BARE.fullmatch(name) and name.lower() not in KEYWORDS
    return name if bare else "`" + name.replace("`", "``") + "`"


def _format_value(value: Scalar) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
