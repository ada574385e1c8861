"""The validity periods of documents, by their metadata."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from clew.base.types import Document, Value
from clew.text.dates import Period, parse_period

# Fields by which a document holds since a date; the first that it has counts.
_SINCE = ("valid_from", "effective", "date", "published", "created")
_UNTIL = ("valid_until", "valid_to", "expires")
_REPLACES = ("replaces", "supersedes")  # ids of documents that end where this one begins


def mark_valid(documents: Sequence[Document], date: str) -> NDArray[np.bool_]:
    """Return (n,) whether each document is valid at some time of an ISO date.

    A document without a date holds since ever, one that no other replaces and that does not end,
    for ever.
    """
    wanted = parse_period(date)
    assert wanted is not None  # noqa: S101 -- the filter was parsed
    holds = np.ones(len(documents), dtype=bool)
    rows = {each.id: row for row, each in enumerate(documents)}
    replaced: list[int] = []
    for row, document in enumerate(documents):
        fields = _name_alike(document.metadata)
        since, until = _find_period(fields, _SINCE), _find_period(fields, _UNTIL)
        has_begun = since is None or since.start < wanted.end
        holds[row] = has_begun and (until is None or until.end > wanted.start)
        if since is None or since.start <= wanted.start:
            replaced += [rows[name] for name in _list_replaced(fields) if name in rows]
    holds[replaced] = False
    return holds


def find_date(metadata: Mapping[str, Value]) -> str:
    """Return a document's start of validity, else its modification date, else ""."""
    fields = _name_alike(metadata)
    dates = (str(fields[name]) for name in (*_SINCE, "modified") if name in fields)
    return next((each for each in dates if parse_period(each)), "")


def _name_alike(metadata: Mapping[str, Value]) -> dict[str, Value]:
    """Normalize names of metadata: lower case, "valid-from" as "valid_from"."""
    return {name.casefold().replace("-", "_"): value for name, value in metadata.items()}


def _find_period(fields: Mapping[str, Value], names: Sequence[str]) -> Period | None:
    periods = (parse_period(str(fields[name])) for name in names if name in fields)
    return next(filter(None, periods), None)


def _list_replaced(fields: Mapping[str, Value]) -> Iterator[str]:
    for name in _REPLACES:
        value = fields.get(name)
        yield from map(str, value if isinstance(value, tuple) else (value,))
