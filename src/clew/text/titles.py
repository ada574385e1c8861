"""Split the title line from a chunk's text, as models read both: see `normalize.title_head`."""

import re

from clew.text.names import name_spans, title_span
from clew.text.normalize import collapse
from clew.text.sections import SEPARATOR

_LONGEST = 150  # characters: a longer first line is a paragraph
_BEFORE = re.compile(r"\W*(?:The |A |An )?\W*")
_BEHIND = re.compile(r"\W{0,3}(?:[(,]|(?:is|was|are|were) )")
_STOPS = tuple(".!?;:,…。！？")


def split_title(text: str) -> tuple[str, int]:
    """Return the name in the title of `text`, and where the text behind the title begins.

    A first line that is long, that ends like a sentence, or that goes on in lower case on the
    next line is no title: the text then begins at 0. It may begin with what it is about, which
    is why it needed no title line: "Fram (1892) was a ship" is about Fram. Else the name is "".
    """
    line, newline, rest = text.partition("\n")
    title = collapse(line.lstrip("#").partition(SEPARATOR)[0])  # what is behind it is a section
    below = rest.lstrip()
    is_title = title and len(title) <= _LONGEST and not title.endswith(_STOPS)
    if not is_title or not below or below[0].islower():
        return _lead_name(text), 0
    start, end = title_span(title)  # "Endurance" of "The Endurance (1912 ship)"
    return title[start:end], len(line) + len(newline)


def _lead_name(text: str) -> str:
    """Return the name that begins `text`, if a definition follows it."""
    lead = text[:_LONGEST]
    for start, end in name_spans(lead):
        if _BEFORE.fullmatch(lead[:start]) and _BEHIND.match(lead, end):
            return lead[start:end]
    return ""
