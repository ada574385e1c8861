"""Read a user's vocabulary: names, aliases, types, and pairs never to merge."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from clew.base.types import KNOWN_TYPES, VocabularyEntry
from clew.errors import InputError
from clew.text.keys import name_key

_COLUMNS = ("name", "aliases", "type", "apart")
_LONGEST = 100_000  # characters of a line; the module's own bound is one for the whole process
_LONGEST_TYPE = 40  # characters
_TRUE, _FALSE = frozenset({"yes", "true", "1", "x"}), frozenset({"", "no", "false", "0"})


def read_vocabulary(path: Path) -> dict[str, VocabularyEntry]:
    """Return the vocabulary in a CSV file, by entity key.

    Raises InputError where it cannot be read, lacks the column "name" or has a line that says
    nothing, or two things of one name.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{path} cannot be read: {why}") from error
    lines = text.splitlines()
    long = next((n for n, line in enumerate(lines, 1) if len(line) > _LONGEST), None)
    if long is not None:
        raise InputError(f"{path}, line {long}: the line is longer than {_LONGEST:,} characters")
    rows = csv.DictReader(lines)
    try:
        columns = set(rows.fieldnames or ())
    except csv.Error:
        columns = set()
    if "name" not in columns or columns - set(_COLUMNS):
        wanted = ", ".join(_COLUMNS)
        raise InputError(f"{path} is not a vocabulary: its first line names the columns {wanted}")
    entries: dict[str, VocabularyEntry] = {}
    for row in _read_rows(path, rows):
        line = f"{path}, line {rows.line_num}"
        name, apart = (row["name"] or "").strip(), (row.get("apart") or "").strip().casefold()
        key = name_key(name)
        if not any(map(str.isalnum, key)) or None in row or apart not in _TRUE | _FALSE:
            raise InputError(f"{line}: this is not a name with {', '.join(_COLUMNS[1:])}")
        type_ = row.get("type") or ""
        try:
            type_ = check_type(type_) if type_.strip() else ""
        except InputError as error:
            raise InputError(f"{line}: {error}") from error
        keys = (name_key(each) for each in (row.get("aliases") or "").split(";"))
        others = [each for each in keys if each not in {"", key}]
        said = {key: VocabularyEntry("", name, type_, apart in _TRUE, listed=True)}
        said |= {each: VocabularyEntry(target=key, listed=True) for each in others}
        twice = next((each for each in said if each in entries), None)
        if twice is not None:
            raise InputError(f"{line}: {twice!r:.200} is repeated from an earlier line: remove one")
        entries |= said
    return entries


def _read_rows(path: Path, rows: csv.DictReader[str]) -> Iterator[dict[str, str]]:
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num + 1}: {error}") from error


def check_type(name: str) -> str:
    """Return the normalized name of a type. Raises InputError for an invalid one."""
    text = " ".join(name.casefold().split())
    if len(text) > _LONGEST_TYPE or not text.replace(" ", "").replace("-", "").isalnum():
        usual = ", ".join(KNOWN_TYPES[1:])
        raise InputError(
            f"{name!r:.80} is not a type: choose one of {usual}, or a word of your own"
        )
    return "organization" if text == "organisation" else text
