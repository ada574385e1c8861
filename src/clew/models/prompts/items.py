"""Parse lists of items in a reply, tolerating other names and shapes."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

_JOINTS = re.compile(r"[\W_]+")  # "Source Entity", "source_entity"


class ItemList(NamedTuple):
    """The names of a list in a reply, and the fields of its items with alternative names."""

    names: Sequence[str]
    fields: Mapping[str, Sequence[str]]
    needed: int = 1  # the first fields without which an item is of no use


def read_lists(part: Any, lists: Mapping[str, ItemList]) -> tuple[Any, int]:  # noqa: ANN401 -- parsed JSON
    """Return a part of a reply as lists by name, and the number of unusable items.

    An item is an object, an array of the fields' values in order, or the first field's value alone.
    A list may be an object from the first field's values to the rest, and the part may be a list of
    all items. None stands for a part that has no list, or no item that can be used.
    """
    if isinstance(part, Mapping):
        given = {name: find_field(part, name, each.names) for name, each in lists.items()}
    else:
        given = _sort_items(part, lists) if isinstance(part, list) else {}
    items = {name: _read_items(given.get(name), each) for name, each in lists.items()}
    kept = {
        name: [item for item in found if all(str(v).strip() for v in [*item.values()][:needed])]
        for (name, found), (_, _, needed) in zip(items.items(), lists.values(), strict=True)
    }
    n_bad = sum(map(len, items.values())) - sum(map(len, kept.values()))
    is_useless = all(each is None for each in given.values()) or (n_bad and not any(kept.values()))
    return (None if is_useless else kept), n_bad


def find_field(value: Mapping[Any, Any], name: str, others: Sequence[str]) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return the value of an object's field under its name or an alternative one, or None."""
    given = {_fold_key(str(key)): each for key, each in value.items()}
    return next((given[each] for each in (name, *others) if given.get(each) is not None), None)


@lru_cache(maxsize=1 << 10)  # replies have the same few keys thousands of times
def _fold_key(key: str) -> str:
    return _JOINTS.sub("", key).casefold()


def _sort_items(items: list[Any], lists: Mapping[str, ItemList]) -> dict[str, list[Any] | None]:
    """Group items by list; arrays belong to the list with the most required fields."""
    in_order = sorted(lists, key=lambda name: -lists[name].needed)
    sorted_items: dict[str, list[Any]] = {name: [] for name in lists}
    for item in items:
        for name in in_order:
            field, others = next(iter(lists[name].fields.items()))
            is_of_it = isinstance(item, Mapping) and find_field(item, field, others) is not None
            if is_of_it or (name == in_order[0] and (isinstance(item, list) or len(lists) == 1)):
                sorted_items[name].append(item)
                break
    return {**sorted_items} if not items or any(sorted_items.values()) else {}


def _read_items(value: Any, shape: ItemList) -> list[dict[str, Any]]:  # noqa: ANN401 -- parsed JSON
    first, others = next(iter(shape.fields.items()))
    items = value if isinstance(value, list) else [] if value is None else [value]
    if isinstance(value, Mapping) and find_field(value, first, others) is None:
        items = [
            {first: key, **each} if isinstance(each, Mapping) else [key, each]
            for key, each in value.items()
        ]
    return [_read_item(item, shape.fields) for item in items]


def _read_item(item: Any, fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:  # noqa: ANN401 -- parsed JSON
    if isinstance(item, Mapping):
        values = [find_field(item, *field) for field in fields.items()]
    else:
        values = item if isinstance(item, list) else [item]
    given = [value if _is_plain(value) else "" for value in values]
    return dict(zip(fields, given + [""] * len(fields), strict=False))


def _is_plain(value: object) -> bool:
    """Check whether a value is a text or a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return math.isfinite(value)
    return isinstance(value, str)
