"""Convert records to documents: choose the columns for id, title and text.

They are those that were said, else the first of the names below that a record has, in upper or
lower case. Every other column becomes metadata (see `clew.readers.metadata`). A record without a
column of texts says all its cells, those of objects inside it by their paths, as "specs.height".
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import shorten

from clew.base.types import Document, Skipped, Value
from clew.readers import metadata
from clew.readers.decode import replace_surrogates
from clew.readers.titled import stem_title
from clew.readers.walk import Columns, File
from clew.text.normalize import collapse

IDS = ("id", "_id")
TEXTS = ("text", "content", "body", "contents", "passage")
GUESSED = (
    "abstract article chunk comment description document message note notes paragraph review "
    "sentence summary transcript"
).split()  # taken for the text where just one of them is there, and none of TEXTS
_REMARKS = frozenset("article comment description note notes".split())  # beside other columns
TITLES = ("title", "name", "heading")
_ENDS = (("subject", "object"), ("head", "tail"), ("source", "target"))  # columns of triples
_TOO_DEEP = "is nested too deeply"


def document(file: File, record: Mapping[str, object], line: int) -> Document | Skipped:
    """Return the document of a record, or the reason why there is none."""
    columns = file.columns
    missing = lacking(record, columns)
    try:
        if missing:
            return Skipped(source=file.source, reason=missing, line=line)
        if is_in_rows(record, columns):
            cells = list(_flatten(record))
            if not any(_write(value) for _, value in cells):
                return Skipped(source=file.source, reason="is empty", line=line)
            return row_document(file, cells, line)
        return _text_document(file, record, line)
    except RecursionError:
        return Skipped(source=file.source, reason=_TOO_DEEP, line=line)


def _flatten(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each value nested in JSON with its path; a list of scalars is one value."""
    inside: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        inside = value.items()
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        inside = enumerate(value, 1)
    else:
        yield replace_surrogates(path), value
    for name, each in inside:
        yield from _flatten(each, f"{path}.{name}" if path else str(name))


def _write(value: object) -> str:
    """Return a scalar, or a list of scalars, as text."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_write, value)))
    if value is None or isinstance(value, str):
        return replace_surrogates(value or "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text_document(file: File, record: Mapping[str, object], line: int) -> Document | Skipped:
    columns = file.columns
    id_, title = _column(record, columns.id, IDS), _column(record, columns.title, TITLES)
    text = _text_column(record, columns)
    body = record[text]
    if columns.text and isinstance(body, int | float):
        body = str(body)
    if body is not None and not isinstance(body, str):
        reason = f"its {text!r} is of type {type(body).__name__}, not a string"
        return Skipped(source=file.source, reason=reason, line=line)
    if not body or not body.strip():
        return Skipped(source=file.source, reason=f"its {text!r} is empty", line=line)
    used = {column for column in (id_, title, text) if column}
    rest = {replace_surrogates(k): _value(v) for k, v in record.items() if k not in used}
    return Document(
        id=_words(record, id_) or f"{file.id}:{line}",
        text=replace_surrogates(body),
        title=_words(record, title),
        source=f"{file.source}:{line}",
        metadata=rest,
    )


def is_in_rows(columns: Iterable[str], wanted: Columns) -> bool:
    """Check whether rows are indexed by all cells, since no column is the text.

    A column of remarks on what other columns say is none. It is not so where the text was said to
    be in a column, where two may have it, and where the columns are those of triples.
    """
    columns = list(columns)
    names = {column.strip().casefold() for column in columns}
    texts = names & {*TEXTS, *GUESSED} - _REMARKS
    only_remarks = not names - {*IDS, *TITLES} - _REMARKS
    if wanted.text or texts or _are_triples(columns) or (only_remarks and names & _REMARKS):
        return False
    return all(_column(columns, name, ()) for name in (wanted.title, wanted.id) if name)


def row_document(file: File, cells: Sequence[tuple[str, object]], line: int) -> Document:
    """Return the document of a row: its cells with their column names.

    Its title is in a column of titles, else the file's.
    """
    row = {name: value for name, value in cells if name}
    id_, title = (_column(row, name, ()) for name in (file.columns.id, file.columns.title))
    title = title or _column(row, "", TITLES)
    pairs = ((collapse(name), collapse(_write(value))) for name, value in cells)
    text = "; ".join(f"{name}: {value}" if name else value for name, value in pairs if value)
    return Document(
        id=_words(row, id_) or f"{file.id}:{line}",
        text=text,
        title=_words(row, title) or stem_title(file),
        source=f"{file.source}:{line}",
        metadata={name: _value(value) for name, value in row.items() if name not in (id_, title)},
    )


def has_text(columns: Iterable[str], wanted: Columns) -> bool:
    """Check whether records with these columns have a text."""
    return bool(_text_column(columns, wanted))


def lacking(columns: Iterable[str], wanted: Columns) -> str:
    """Return why records with these columns cannot be read, or ""."""
    columns = list(columns)
    listed = replace_surrogates(", ".join(columns))
    have = shorten(listed, 200, placeholder=" ...") or "none at all"
    for name in (wanted.text, wanted.title, wanted.id):
        if name and not _column(columns, name, ()):
            return f"has no column {name!r}, only: {have}"
    if has_text(columns, wanted) or (columns and is_in_rows(columns, wanted)):
        return ""
    reason = f"has no column {', '.join(TEXTS[:-1])} or {TEXTS[-1]}, only: {have}"
    if _are_triples(columns):
        return f"{reason}; 'clew import' reads triples"
    return f"{reason} (see --text-column)" if columns else reason


def parse_json(text: str) -> object:
    """Return the value of a JSON text. Raises ValueError with a short message."""
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


def _are_triples(columns: Sequence[str]) -> bool:
    return any(_column(columns, a, ()) and _column(columns, b, ()) for a, b in _ENDS)


def _text_column(columns: Iterable[str], wanted: Columns) -> str:
    columns = list(columns)
    guessed = [column for column in columns if column.strip().casefold() in GUESSED]
    column = _column(columns, wanted.text, TEXTS)
    return column or (guessed[0] if len(guessed) == 1 and not wanted.text else "")


def _column(columns: Iterable[str], name: str, names: tuple[str, ...]) -> str:
    """Return the column with this name, else the first with a usual name."""
    columns = list(columns)
    if name and name in columns:
        return name
    have = {column.strip().casefold(): column for column in columns}
    wanted = (name.strip().casefold(),) if name else names
    return next((have[name] for name in wanted if name in have), "")


def _words(record: Mapping[str, object], column: str) -> str:
    value = _value(record[column]) if column else None
    return "" if value is None else str(value)


def _value(given: object) -> Value:
    value = metadata.value(given)
    if isinstance(value, tuple):
        return tuple(replace_surrogates(each) if isinstance(each, str) else each for each in value)
    return replace_surrogates(value) if isinstance(value, str) else value
