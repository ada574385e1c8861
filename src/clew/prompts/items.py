"""The items of a list in a reply, under whatever names and in whatever form a model gives them."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_JOINTS = re.compile(r"[\W_]+")  # "Source Entity", "source_entity"

Fields = Mapping[str, Sequence[str]]  # the name of each field, and what else it may be called


def read_items(value: Any, fields: Fields, needed: int = 1) -> tuple[list[dict[str, Any]], int]:  # noqa: ANN401 -- parsed JSON
    """Return the items of a list with these fields, "" where one lacks a field.

    An item is an object, an array of the fields' values in order, or the first field's value alone;
    a list may be an object from the first field's values to the rest, or a lone item. Items without
    the first `needed` fields are left out; how many these are comes second.
    """
    items = [_read_item(item, fields) for item in _list_items(value, fields)]
    whole = [item for item in items if all(str(each).strip() for each in [*item.values()][:needed])]
    return whole, len(items) - len(whole)


def find_field(value: Mapping[str, Any], name: str, others: Sequence[str]) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return what an object has under a name, or under one of others; None for nothing."""
    given = {_JOINTS.sub("", key).casefold(): each for key, each in value.items()}
    return next((given[each] for each in (name, *others) if given.get(each) is not None), None)


def _list_items(value: Any, fields: Fields) -> list[Any]:  # noqa: ANN401 -- parsed JSON
    first = next(iter(fields))
    if not isinstance(value, Mapping):
        return value if isinstance(value, list) else [] if value is None else [value]
    if find_field(value, first, fields[first]) is not None:
        return [value]
    return [
        {first: key, **each} if isinstance(each, Mapping) else [key, each]
        for key, each in value.items()
    ]


def _read_item(item: Any, fields: Fields) -> dict[str, Any]:  # noqa: ANN401 -- parsed JSON
    if isinstance(item, Mapping):
        values = [find_field(item, *field) for field in fields.items()]
    else:
        values = item if isinstance(item, list) else [item]
    given = [value if _is_plain(value) else "" for value in values]
    return dict(zip(fields, given + [""] * len(fields), strict=False))


def _is_plain(value: object) -> bool:
    """Say whether a value is a text, or a number that can stand for one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str) or (is_number and math.isfinite(value))
