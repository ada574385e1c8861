"""Read what parentheses behind a name say: when someone was born and died, what it is short for."""

import re
from collections.abc import Iterator, Mapping

from clew.models.extractors.ends import End, Statement
from clew.text.dates import date_spans

PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_ABBREVIATION = re.compile(r"(?:[A-Z]\.?&?){2,10}s?")
_BORN = re.compile(r"\b(?:born|b\.) (.*)")
_DIED = re.compile(r"\b(?:died|d\.) (.*)")
_RANGE = re.compile(r"\s*[–—]\s*|\s+-+\s*|(?<=\d{4})-(?=\d{4})")
_PLACE = re.compile(r"\bin ((?:[A-Z][\w'’]*[ -]?)+)")


def in_parentheses(sentence: str, ends: Mapping[str, End]) -> Iterator[Statement]:
    """Yield the life dates and abbreviations given in parentheses.

    `ends` are the sentence's names. "Fridtjof Nansen (10 October 1861 – 13 May 1930)" says when
    he was born and died; "the war (1914–1918)" only from when and to when.
    """
    for match in PARENTHESIS.finditer(sentence):
        before = sentence[: match.start()].rstrip(' ,"”')
        names = [end for name, end in ends.items() if before.endswith(name)]
        name = max(names, key=lambda end: len(end.name), default=None)
        if name is None or not name.name:
            continue
        inside = match[1]
        if _ABBREVIATION.fullmatch(inside) and inside[0] == name.name[0] and " " in name.name:
            yield name, "abbreviated as", End(inside, name.label)
        parts = _RANGE.split(inside)
        if len(parts) == 2:
            yield from _range(name, *parts)
        else:
            yield from _event(name, "born", _BORN.search(inside))
            yield from _event(name, "died", _DIED.search(inside))


def _range(name: End, first: str, last: str) -> Iterator[Statement]:
    dates_of = (
        [first[a:b] for a, b in date_spans(first)][-1:],
        [last[a:b] for a, b in date_spans(last)],
    )
    begin, end = ("".join(dates[:1]) for dates in dates_of)
    if name.label == "PERSON" or (_choose_preposition(begin) == _choose_preposition(end) == "on"):
        yield name, f"born {_choose_preposition(begin)}", End(begin, "DATE")
        yield name, f"died {_choose_preposition(end)}", End(end, "DATE")
    else:
        yield name, "from", End(begin, "DATE")
        yield name, "to", End(end, "DATE")


def _event(name: End, relation: str, match: re.Match[str] | None) -> Iterator[Statement]:
    """Yield date and place from the text after "born" or "died" in parentheses."""
    if match is None:
        return
    for a, b in [*date_spans(match[1])][:1]:
        date = match[1][a:b]
        yield name, f"{relation} {_choose_preposition(date)}", End(date, "DATE")
    if place := _PLACE.search(match[1]):
        yield name, f"{relation} in", End(place[1], "GPE")


def _choose_preposition(date: str) -> str:
    return "on" if re.search(r"\d+\D+\d+", date) else "in"
