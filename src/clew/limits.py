"""Limits on reading a document: bytes, characters, nesting, time and memory.

Real documents stay far below. What meets a limit is skipped, with a sentence that names the limit,
and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

from clew.errors import InputError, suggest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Limits on one document, or on its file. Each may be raised."""

    file_bytes: int = 1 << 30  # of a file that is read whole
    received_bytes: int = 1 << 26  # of a web page, or of standard input
    pages: int = 1_000  # of a site
    site_bytes: int = 1 << 30  # all pages of a site that are fetched in one run
    unpacked_bytes: int = 1 << 28  # all parts of an Office file or a book together
    unpacked_ratio: int = 200  # of a gzip file: its size unpacked to its own
    records: int = 1_000_000  # documents of one table or mailbox
    text_characters: int = 20_000_000  # of one document; a thick book has a million
    line_characters: int = 50_000_000  # of a line of records or of triples
    title_characters: int = 1_000  # a longer one is no title: the file's name is
    nesting: int = 10_000  # elements of HTML, one in the other
    attributes: int = 1_000  # of one element of HTML
    pixels: int = 200_000_000  # of a picture
    seconds: float = 120.0  # for one document, or a page that OCR reads
    memory_bytes: int = 1 << 32  # of the process that reads books, pages and Office files

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InputError(f"the limit {each.name} must be above 0, not {value!r:.60}")

    def more_than(self, name: str, unit: str = "") -> str:
        """Return the end of a sentence: which limit was exceeded, and how to raise it."""
        value = getattr(self, name)
        words = unit or name.replace("_", " ")
        return f"more than {value:,} {words}: --limit {name}={4 * value:.15g} reads it"


LIMITS = ReadingLimits()


class LimitMet(Exception):
    """A limit was exceeded; the message ends a sentence about the file."""


def parse_limits(limits: Iterable[str]) -> ReadingLimits:
    """Return the limits given as NAME=NUMBER; others keep their defaults.

    >>> parse_limits(["seconds=10"]).seconds
    10.0
    """
    kinds: dict[str, type[int | float]]
    kinds = {each.name: float if each.name == "seconds" else int for each in fields(ReadingLimits)}
    values: dict[str, Any] = {}
    for text in limits:
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if name not in kinds or not isfinite(value):
            near, names = suggest(name, kinds), ", ".join(kinds)
            raise InputError(f"{text!r} is not a limit{near}: write NAME=NUMBER, of {names}")
        values[name] = kinds[name](value)
    return ReadingLimits(**values)
