"""Match ids against patterns, and parse the ids of ranges."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from clew.base.runtime.lazy import compile_re

_RANGE = compile_re(r"(.+):(\d{1,12})-(\d{1,12})", re.DOTALL)


def parse_range(name: str) -> tuple[str, int, int] | None:
    """Parse the id of a range as document and characters; None for another id.

    >>> parse_range("notes/a.md:8-720")
    ('notes/a.md', 8, 720)
    """
    ranged = _RANGE.fullmatch(name)
    return None if ranged is None else (ranged[1], int(ranged[2]), int(ranged[3]))


def format_range(document: str, start: int, end: int) -> str:
    """Return the id of a range of a document's characters.

    >>> format_range("notes/a.md", 8, 720)
    'notes/a.md:8-720'
    """
    return f"{document}:{start}-{end}"


def match_ids(pattern: str, ids: Sequence[str]) -> list[str]:
    """Return the ids that match: one id, a folder, or a pattern with wildcards.

    In a pattern `*` stands for any characters, `?` for one and `[ab]` for one of these; `/` is a
    character like any other.

    >>> match_ids("notes", ["notes/a.md", "notes.md"])
    ['notes/a.md']
    >>> match_ids("*.md", ["notes/a.md", "notes.md", "a.txt"])
    ['notes/a.md', 'notes.md']
    """
    if pattern in ids:
        return [pattern]
    below = f"{pattern.rstrip('/')}/"
    matches = [each for each in ids if each.startswith(below)]
    return matches or [each for each in ids if fnmatchcase(each, pattern)]
