"""Compare what quotes say of two things that a question names: which is first, and yes or no."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.runtime.lazy import compile_re
from clew.text.analyze import term_spans, terms
from clew.text.keys import has_key, name_key
from clew.text.names import date_spans, strip_title
from clew.text.phrases import overlap
from clew.text.questions import comparison_kind, is_yes_no

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.asking.quotes import Quote
    from clew.text.phrases import Span
    from clew.types import Mention

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
MONTH = compile_re(rf"\b({'|'.join(_MONTHS)})[a-z]*\b", re.IGNORECASE)
_YEAR = compile_re(r"\b(?:1\d{3}|20\d{2})\b")
_DAY = compile_re(r"\b([1-3]?\d)(?:st|nd|rd|th)?\b(?!\d)")
_BIRTH = compile_re(r"\b(?:born|birth|older|oldest|elder|eldest|younger|youngest)\b", re.IGNORECASE)
_DEATH = compile_re(r"\b(?:died|dies|death)\b", re.IGNORECASE)
_DEAD = compile_re(r"\b(?:died|death|killed)\b", re.IGNORECASE)
_LAST = compile_re(
    r"\b(?:later|latest|last|younger|youngest|newer|newest|recent|recently)\b", re.IGNORECASE
)
_BOTH, _SAME = compile_re(r"\bboth\b", re.IGNORECASE), compile_re(r"\bsame (\w+)", re.IGNORECASE)
_WIDE = frozenset("country nation nationality continent".split())
# What the question asks of something else than the two: "the director of film A".
_INDIRECT = compile_re(r"\b(?:of|by)(?: the)?(?: \w+)? ?[\"“]?$", re.IGNORECASE)
_OF_ANOTHER = compile_re(
    r"\b(?:has|have|whose)\b.*\b(?:who|that|was|were|is|are|born|died)\b", re.IGNORECASE
)
_WIDEST = compile_re(r", (?:the )?$")  # before the last name of "Alexandria, Louisiana, the USA"
_STEM = 4  # characters that two forms of a word share at least
_IN = compile_re(r"\bin (?:the )?$")  # before a place

Date = tuple[int, ...]  # year, month and day, as far as they are known


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that a question compares, and the first quote of its own document."""

    quote: int  # its place, from 0
    name: Span | None  # in the text of the quote's passage; None: it spells it in another way
    at: int  # in the question


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison gives, and by which rule."""

    rule: str  # "date", "both yes", "both no" or "same yes"
    text: str  # "yes", "no", or "" for the name of the first of the sides
    sides: tuple[Side, Side]


def compare_sides(
    question: str, quotes: Sequence[Quote], mentions: Sequence[Sequence[Mention]]
) -> Compared | None:
    """Return what the quotes say about the two things that a question compares.

    Where it asks it of what they name, such as the directors of two films, by the quotes about
    those. None where it compares none, where a quote is missing or has no date, and where two dates
    are equal.
    """
    sides = find_sides(question, quotes)
    if len(sides) != 2:
        return None
    one, other = sides
    texts = [quotes[one.quote].text, quotes[other.quote].text]
    is_behind = asks_of_another(question)
    if is_yes_no(question):
        own = [mentions[one.quote], mentions[other.quote]]
        rule = None if is_behind else _ask_both(question, quotes, sides, texts, own)
        return Compared(rule, rule.split()[-1], (one, other)) if rule else None
    if comparison_kind(question) != "date":
        return None
    if is_behind:
        texts = [_find_behind(text, quotes, sides) for text in texts]
    dates = [_find_date(question, text) for text in texts]
    if dates[0] is None or dates[1] is None:
        return None
    n = min(map(len, (dates[0], dates[1])))
    first, second = dates[0][:n], dates[1][:n]
    if first == second:
        return None
    is_first = (first > second) == bool(_LAST.search(question))
    sides = [one, other] if is_first else [other, one]
    return Compared("date", "", (sides[0], sides[1])) if sides[0].name else None


def asks_of_another(question: str) -> bool:
    """Say whether a question compares what two things name: the directors of two films."""
    return bool(_OF_ANOTHER.search(question))


def _find_behind(text: str, quotes: Sequence[Quote], sides: Sequence[Side]) -> str:
    """Return the first quote about something else that a text names by its title, "" without."""
    own = {side.quote for side in sides}
    rest = [quote for i, quote in enumerate(quotes) if i not in own]
    names = [strip_title(quote.passage.title) for quote in rest]
    texts = (q.text for q, name in zip(rest, names, strict=True) if name and name in text)
    return next(texts, "")


def find_sides(question: str, quotes: Sequence[Quote]) -> list[Side]:
    """Return the quoted things that a question names by their titles, in its order.

    A name within a longer one that it also has is none.
    """
    text = question.casefold()
    sides: dict[str, Side] = {}
    for i, quote in enumerate(quotes):
        name = strip_title(quote.passage.title)
        at, place = text.find(name.casefold()), quote.passage.text.find(name)
        if name and name_key(name) not in sides and at >= 0:
            span = (place, place + len(name)) if place >= 0 else None
            sides[name_key(name)] = Side(i, span, at)
    outer = [s for k, s in sides.items() if not any(k != o and has_key(f" {o} ", k) for o in sides)]
    if any(_INDIRECT.search(question[: side.at]) for side in outer):
        return []
    return sorted(outer, key=lambda side: side.at)


def _ask_both(
    question: str,
    quotes: Sequence[Quote],
    sides: Sequence[Side],
    texts: Sequence[str],
    mentions: Sequence[Sequence[Mention]],
) -> str | None:
    """Return the rule by which the two have something in common, or have not."""
    names = [name_key(strip_title(quotes[side.quote].passage.title)) for side in sides]
    if match := _SAME.search(question):
        is_wide = match[1].casefold() in _WIDE
        keys = [
            {
                name_key(text[m.start : m.end])
                for m in own
                if m.label != "DATE" and (is_wide or _is_inner(text, m))
            }
            for text, own in zip(texts, mentions, strict=True)
        ]
        return "same yes" if keys[0] & keys[1] - set(names) else None  # it may be unsaid
    if not _BOTH.search(question):
        return None
    words = set(terms(question)) - {word for name in names for word in terms(name)}
    if not words:
        return None
    term_sets = [
        set(terms(text)) | set(terms(quotes[s.quote].passage.title))
        for text, s in zip(texts, sides, strict=True)
    ]
    missing = {
        word for has in term_sets for word in words if not any(_is_form(word, each) for each in has)
    }
    places = {word for word, start, _ in term_spans(question) if _IN.search(question[:start])}
    if missing & places:  # Sydney is in Australia, which its quote need not say
        return None
    return "both no" if missing else "both yes"


def _is_inner(text: str, mention: Mention) -> bool:
    """Say whether a name is no abbreviation, and not the widest of a place: "Ohio, the USA"."""
    name = text[mention.start : mention.end]
    ends = _WIDEST.search(text[: mention.start]) and text[mention.end : mention.end + 2] != ", "
    return not (name.isupper() or ends)


def _is_form(one: str, other: str) -> bool:
    """Say whether two words differ in a short ending at most."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= _STEM and long.startswith(short[:-1]) and len(long) - len(short) <= 2


def _find_date(question: str, text: str) -> Date | None:
    """Return the date of a text by which it is compared: of birth, of death, or its first one."""
    dates = [each for span in date_spans(text) for each in _read_dates(text[slice(*span)])]
    spans = [span for span in date_spans(text) for _ in _read_dates(text[slice(*span)])]
    if not dates:
        return None
    if _DEATH.search(question):
        if match := _DEAD.search(text):
            return next((d for d, s in zip(dates, spans, strict=True) if s[0] > match.end()), None)
        lived = [d for d, s in zip(dates, spans, strict=True) if _is_life(text, s)]
        return lived[1] if len(lived) > 1 else None
    if _BIRTH.search(question) and (match := re.search(r"\bborn\b", text)):
        behind = [d for d, s in zip(dates, spans, strict=True) if s[0] > match.end()]
        return behind[0] if behind else None
    return dates[0]


def _is_life(text: str, span: Span) -> bool:
    """Say whether a date stands in the first brackets of a text."""
    opened, closed = text.find("("), text.find(")")
    return overlap(span, (opened, closed))


def _read_dates(text: str) -> list[Date]:
    """Return the one date that a text writes, or the two of a range of years.

    >>> _read_dates("26 October 1892"), _read_dates("1861–1930")
    ([(1892, 10, 26)], [(1861,), (1930,)])
    """
    years = [int(each) for each in _YEAR.findall(text)]
    if len(years) != 1:
        return [(year,) for year in years]
    month = MONTH.search(text)
    if month is None:
        return [(years[0],)]
    day = _DAY.search(_YEAR.sub("", text))
    number = _MONTHS.index(month[1].casefold()) + 1
    return [(years[0], number, int(day[1])) if day else (years[0], number)]
