"""Ids that a pattern names."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def match_ids(pattern: str, ids: Sequence[str]) -> list[str]:
    """Return the ids that a pattern names: one id, a folder, or a pattern with wildcards.

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
