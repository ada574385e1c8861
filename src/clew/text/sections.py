"""Where a place of a document stands: the headings above it, and its pages.

    Debian Reference > Package management > Basic operations, pp. 12-13
    title              section                                pages

Headings are given by where they begin, in the order of their places.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from clew.text.normalize import collapse

SEPARATOR = " > "
_LONGEST = 100  # characters of a heading; what is longer is cut


class Headed(Protocol):
    """A heading, as `clew.types.Heading` is."""

    @property
    def start(self) -> int: ...
    @property
    def level(self) -> int: ...
    @property
    def title(self) -> str: ...


def section_at(headings: Sequence[Headed], place: int, title: str = "") -> str:
    """Return the section that a character is in, the widest heading first, "" for none.

    Each heading is of a lower level than the one behind it. One that repeats the document's title
    is left out.
    """
    path: list[Headed] = []
    for i in range(bisect_right(headings, place, key=_start) - 1, -1, -1):
        if not path or headings[i].level < path[-1].level:
            path.append(headings[i])
            if headings[i].level <= 1:
                break
    names = (collapse(heading.title) for heading in reversed(path))
    return SEPARATOR.join(_shortened(n) for n in names if n and n != collapse(title))


def page_at(pages: Sequence[int], place: int) -> int | None:
    """Return the page that a character is on, from 1; None where there are no pages."""
    return max(bisect_right(pages, place), 1) if pages else None


def titled(title: str, section: str) -> str:
    """Return title and section as one line."""
    return SEPARATOR.join(filter(None, (collapse(title), section)))


def page_range(first: int | None, last: int | None) -> str:
    """Return pages as they are cited: "p. 12", "pp. 12-13", or "" where there are none."""
    if first is None:
        return ""
    return f"p. {first}" if last in (None, first) else f"pp. {first}-{last}"


def head(title: str, section: str, first: int | None, last: int | None) -> str:
    """Return what stands above a passage: title, section and pages, those that there are."""
    return ", ".join(filter(None, (titled(title, section), page_range(first, last))))


def _start(heading: Headed) -> int:
    return heading.start


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1].rstrip()}…"
