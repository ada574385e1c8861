"""Locate a character of a document: the headings above it, and its page.

    Debian Reference > Package management > Basic operations, pp. 12-13
    title              section                                pages

Headings are given by where they begin, in the order of their places.
"""

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol

from clew.text.normalize import collapse

SEPARATOR = " > "
_MAX_HEADING = 100  # characters of a heading; what is longer is cut
_MAX_READ = 1_000  # characters of a heading that are looked at
_DEEPEST = 12  # headings of a section


class Headed(Protocol):
    """A heading, such as `clew.base.types.Heading`."""

    @property
    def start(self) -> int: ...
    @property
    def level(self) -> int: ...
    @property
    def title(self) -> str: ...


def section_at(headings: Sequence[Headed], place: int, title: str = "") -> str:
    """Return the section of a character, outermost heading first, or "".

    Each heading is of a lower level than the one behind it. One that repeats the document's title
    is left out, and so are those beyond the twelve that stand nearest above the place.
    """
    return sections_at(headings, [place], title)[0]


def sections_at(headings: Sequence[Headed], places: Sequence[int], title: str = "") -> list[str]:
    """Return the section of each of some characters, in time linear in the headings."""
    if not headings:
        return [""] * len(places)
    above = _parent_headings(headings)
    own = collapse(title[:_MAX_READ])
    return [_section(headings, above, place, own) for place in places]


def _parent_headings(headings: Sequence[Headed]) -> list[int]:
    """Return the nearest earlier heading of a lower level for each, or -1."""
    parents: list[int] = []
    path: list[int] = []
    for i, heading in enumerate(headings):
        while path and headings[path[-1]].level >= heading.level:
            path.pop()
        parents.append(path[-1] if path else -1)
        path.append(i)
    return parents


def _section(headings: Sequence[Headed], above: Sequence[int], place: int, title: str) -> str:
    names: list[str] = []
    i = bisect_right(headings, place, key=attrgetter("start")) - 1
    for _ in range(_DEEPEST):
        if i < 0:
            break
        names.insert(0, collapse(headings[i].title[:_MAX_READ]))
        i = above[i]
    return SEPARATOR.join(
        name if len(name) <= _MAX_HEADING else f"{name[: _MAX_HEADING - 1].rstrip()}…"
        for name in names
        if name and name != title
    )


def page_at(pages: Sequence[int], place: int) -> int | None:
    """Return the page of a character, from 1, or None if there are no pages."""
    return max(bisect_right(pages, place), 1) if pages else None


def join_title(title: str, section: str) -> str:
    """Join title and section in one line."""
    return SEPARATOR.join(filter(None, (collapse(title), section)))


def page_range(first: int | None, last: int | None) -> str:
    """Format pages for a citation: "p. 12", "pp. 12-13", or ""."""
    if first is None:
        return ""
    return f"p. {first}" if last in (None, first) else f"pp. {first}-{last}"


def format_head(title: str, section: str, first: int | None, last: int | None) -> str:
    """Return the line above a passage: title, section and pages."""
    return ", ".join(filter(None, (join_title(title, section), page_range(first, last))))
