"""Filters restrict a question to documents, by their metadata.

A filter is written as a text, `date >= 2024 and tags has 'fram'`, or made of `field`; both are the
same objects. docs/guides/filters.md has the grammar.
"""

from typing import TYPE_CHECKING

from clew.base.runtime.lazy import lazy
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.filters.expressions import Filter, field
    from clew.filters.grammar import parse

__all__ = ["Filter", "field", "parse", "to_filter"]
__getattr__ = lazy("clew.filters", {"expressions": ["Filter", "field"], "grammar": ["parse"]})


def to_filter(where: "str | Filter | None") -> "Filter | None":
    """Return a filter from a filter, a text or None; an empty text is None."""
    if where is None:
        return None
    from clew.filters import expressions, grammar  # which most questions do without

    if isinstance(where, str):
        return grammar.parse(where) if where.strip() else None
    if isinstance(where, expressions.Filter):
        return where
    raise InputError(f"a filter must be a text or built with clew.field, not {where!r:.80}")
