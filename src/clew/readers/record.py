"""A record to a document: which columns are its id, its title and its text.

The first of the names below that a record has is taken, in upper or lower case. Every other column
becomes metadata (see `clew.metadata`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from textwrap import shorten

from clew import metadata
from clew.readers.decode import SURROGATE
from clew.readers.walk import File
from clew.types import Document, Skipped, Value

IDS = ("id", "_id")
TEXTS = ("text", "content", "body", "contents", "passage")
GUESSED = (
    "abstract article chunk comment description document message note notes paragraph review "
    "sentence summary transcript"
).split()  # taken for the text where just one of them is there, and none of TEXTS
TITLES = ("title", "name", "heading")
_ENDS = (("subject", "object"), ("head", "tail"), ("source", "target"))  # columns of triples
_TOO_DEEP = "is nested too deeply"


def document(file: File, record: Mapping[str, object], line: int) -> Document | Skipped:
    """Return the document of a record, or why it gives none."""
    id_, title = (_column(record, names) for names in (IDS, TITLES))
    text = _text_column(record)
    if text is None:
        return Skipped(source=file.source, reason=lacks_text(record), line=line)
    body = record[text]
    if body is not None and not isinstance(body, str):
        reason = f"its {text!r} is of type {type(body).__name__}, not a string"
        return Skipped(source=file.source, reason=reason, line=line)
    if not body or not body.strip():
        return Skipped(source=file.source, reason=f"its {text!r} is empty", line=line)
    used = {id_, title, text}
    try:
        rest = {_clean(k): _value(v) for k, v in record.items() if k not in used}
    except RecursionError:
        return Skipped(source=file.source, reason=_TOO_DEEP, line=line)
    return Document(
        id=_words(record, id_) or f"{file.id}:{line}",
        text=_clean(body),
        title=_words(record, title),
        source=f"{file.source}:{line}",
        metadata=rest,
    )


def has_text(columns: Iterable[str]) -> bool:
    """Return whether records of these columns have a text."""
    return _text_column(columns) is not None


def lacks_text(columns: Iterable[str]) -> str:
    """Return the reason why records of these columns have no text."""
    columns = list(columns)
    have = shorten(", ".join(map(_clean, columns)), 200, placeholder=" ...")
    reason = f"has no column {', '.join(TEXTS[:-1])} or {TEXTS[-1]}, only: {have or 'none at all'}"
    if any(_column(columns, (a,)) and _column(columns, (b,)) for a, b in _ENDS):
        reason += "; 'clew import-kg' reads triples"
    return reason


def parse(text: str) -> object:
    """Return the value of a JSON text. Raises ValueError with the reason as its message."""
    try:
        value: object = json.loads(text, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}"
        raise ValueError(f"is not valid JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError:
        raise ValueError("holds a number of too many digits") from None
    return value


def _text_column(columns: Iterable[str]) -> str | None:
    columns = list(columns)
    guessed = [column for column in columns if column.strip().casefold() in GUESSED]
    return _column(columns, TEXTS) or (guessed[0] if len(guessed) == 1 else None)


def _column(columns: Iterable[str], names: tuple[str, ...]) -> str | None:
    have = {column.strip().casefold(): column for column in columns}
    return next((have[name] for name in names if name in have), None)


def _words(record: Mapping[str, object], column: str | None) -> str:
    value = None if column is None else _value(record[column])
    return "" if value is None else str(value)


def _value(given: object) -> Value:
    found = metadata.value(given)
    if isinstance(found, tuple):
        return tuple(_clean(each) if isinstance(each, str) else each for each in found)
    return _clean(found) if isinstance(found, str) else found


def _clean(text: str) -> str:
    """Return text that any encoding can write: JSON can hold halves of surrogate pairs."""
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
