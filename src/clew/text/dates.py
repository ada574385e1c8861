"""Dates as values: find them in a text however they are written, and compare them.

"5 March 2026", "March 5th, 2026", "2026-03-05", "05.03.26", "5 mars 2026" and "2026年3月5日" are
one date. What a text leaves out, such as the year, stays open. Months, quarters, seasons, years and
ranges are dates too, from their first day to their last.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from clew.base.runtime.lazy import compile_re

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clew.text.phrases import Span

# By month: English, German, French, Spanish, Italian, Portuguese and Dutch, and what is short.
_NAMES = """
january januar jänner janvier enero gennaio janeiro januari jan
february februar février fevrier febrero febbraio fevereiro februari feb
march märz mars marzo março maart mar
april avril abril aprile apr
may mai mayo maggio maio mei
june juni juin junio giugno junho jun
july juli juillet julio luglio julho jul
august août aout agosto augustus aug
september septembre septiembre settembre setembro sept sep
october oktober octobre octubre ottobre outubro oct okt
november novembre noviembre novembro nov
december dezember décembre decembre diciembre dicembre dezembro dec dez
"""
_MONTH_NAMES = [line.split() for line in _NAMES.split("\n") if line]
_MONTH_OF = {name: month for month, names in enumerate(_MONTH_NAMES, 1) for name in names}
MONTHS = tuple(names[0].capitalize() for names in _MONTH_NAMES)
_LOWER = frozenset("march may mar august".split())  # words in lower case, and no months
_SEASONS = {
    3: "spring frühling frühjahr printemps primavera",
    6: "summer sommer été verano",
    9: "autumn fall herbst automne otoño",
    12: "winter hiver invierno",
}
_SEASON_OF = {name: month for month, names in _SEASONS.items() for name in names.split()}
YEAR = r"(?:1\d{3}|20\d{2})"
_TH = r"(?:st|nd|rd|th|er|\.|º)?"
_OF = r"(?:\.,|,| of| de| del|\.)?"
_NAME = r"[^\W\d_]{3,10}"
_FROM = r"(?<![A-Za-z\d.,/:-])"  # a number begins here,
_TO = r"(?![\d/-]|\.\d|[A-SU-Za-z_])"  # and ends here; "T" is before a time
_DENSE = "[\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"  # with no space beside a number
# Before a month without a day and a year.
_DURING = compile_re(
    r"\b(?:in|between|to|since|until|till|by|before|after|during|of|from|through|last|next|this"
    r"|early|late|mid|every|im|seit|bis|ab|vor|nach|anfang|ende|mitte|en|de|du|depuis|dès|fin"
    r"|début|desde|hasta|dal) $",
    re.IGNORECASE,
)
_MONTH = "|".join(sorted({n for name in _MONTH_OF for n in (name, name.capitalize())}))
# How dates are written; the first that fits counts. Parts are y(ear), m(onth) and d(ay), d0 the
# first day and y2 the last year of a range; the order of `a` and `b` is found out.
_D0 = rf"{_FROM}(?:(?P<d0>[0-3]?\d){_TH}(?: ?[–-] ?| to | bis | au ))?"
_Y0 = rf"(?:{_OF}[ -](?P<y>{YEAR})\b)?"
_ALONE = r"(?![\w:%]|[.,/]\d)"  # not "March 5,000", "5:30"
_ON = "[Ii]n|[Oo]n|[Aa]t|[Bb]y|until|since|from|before|after|le|au|of|was"
_DAYS = (
    rf"{_FROM}(?P<y>{YEAR})(?P<mark>[-/.])(?P<m>[01]?\d)(?:(?P=mark)(?P<d>[0-3]?\d))?{_TO}",
    rf"{_FROM}(?P<a>\d\d?)(?P<mark>[./-])(?P<b>\d\d?)(?P=mark)(?P<y>{YEAR}|\d\d){_TO}",
    rf"{_D0}(?P<d>[0-3]?\d){_TH}(?:[ -]|(?<=\.))(?:of |de )?(?P<m>{_NAME}){_Y0}(?!\w)",
    rf"\b(?P<m>{_NAME})\.? (?P<d>[0-3]?\d)(?:st|nd|rd|th)?{_ALONE}(?:,? (?P<y>{YEAR})\b)?",
    rf"\b(?P<m>{_NAME}){_OF} (?P<y>{YEAR})\b",
    r"(?<!\d)(?P<y>\d{4}) ?[年년] ?(?P<m>\d\d?) ?[月월](?: ?(?P<d>\d\d?) ?[日일])?",
    r"(?<!\d)(?P<m>\d\d?) ?[月월](?: ?(?P<d>\d\d?) ?[日일])?",
    rf"\b(?:{_ON}) (?P<a>\d\d?)(?P<mark>/)(?P<b>\d\d?){_ALONE}",
    r"\b(?:[Aa]m|[Vv]om|[Bb]is|[Zz]um|[Dd]en|[Aa]b) (?P<d>\d\d?)\.(?P<m>\d\d?)\.(?!\d)",
    rf"\b(?P<m>{_MONTH})\b(?!\.?[ -]?\d)",
)
_TIMES = (
    rf"\bQ(?P<q>[1-4])[ /-]?(?P<y>{YEAR})\b",
    rf"\b(?P<y>{YEAR})[ /-]?Q(?P<q>[1-4])\b",
    rf"(?i:\b(?P<season>{'|'.join(_SEASON_OF)})(?: of| de)?) (?P<y>{YEAR})\b",
    rf"(?:\b|(?<={_DENSE}))(?P<y>{YEAR})(?:[–/-](?P<y2>\d{{2,4}}))?(?:(?P<ten>s)?\b|(?={_DENSE}))",
    r"\b(?P<era>\d{1,4}) (?:BCE?|AD|CE)\b",
    r"\b(?P<century>1\d|2[02-9]|[4-9])th century\b|\b(?P<century1>[12]1)st century\b",
)
_OF_DAYS = tuple(map(compile_re, _DAYS))
_OF_TIMES = tuple(map(compile_re, _TIMES))
_SLASHED = compile_re(r"(?<![\w./-])(\d\d?)/(\d\d?)(?![\d-])")
_VERSION = compile_re(r"(?:\bv|version|release|§) ?$", re.IGNORECASE)
_TO_RANGE = compile_re(r" ?[–—-] ?| (?:to|until|bis|à|au|al) |(?P<and> (?:and|und|et|y) )")
_BETWEEN = compile_re(r"\b(?:[Bb]etween|[Zz]wischen|[Ee]ntre)(?: the)? $")
_DIGIT = compile_re(r"\d")
_TIME = compile_re(r"(?:[T ]\d\d:\d\d\S*)?")  # behind a date in a cell
_OF_1900 = 70  # two digits from here on are of the twentieth century
_BEFORE = 9  # characters that are looked at: a word and a blank
_LONG = 4  # digits of a whole year, letters of a month's name
_MONTHS, _DAYS_AT_MOST = 12, 31
_SHORT = frozenset("may mai mei".split())  # of names of three letters, those that stand alone

_PERIOD = compile_re(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|([+-]\d\d):?(\d\d))?)?)?)?",
    re.ASCII,
)

Parts = tuple[int, int, int]  # year, month and day; 0 where the text leaves one open
DayFirst = bool | None  # whether the day of "5/3/2026" stands first; None: not known
Term = tuple[str, int, int]  # a word of a date, and where it is written


class Date(NamedTuple):
    """A time from its first day, month or year to its last, which most often are the same."""

    first: Parts
    last: Parts

    def __str__(self) -> str:
        """Its beginning as ISO 8601 writes it: "2026-03-05", "2026-03" or "2026"."""
        return "-".join(f"{part:02}" for part in self.first if part)

    def low(self, year: int = 0) -> Parts:
        """Return its first day, of that year where the text leaves it open."""
        y, m, d = self.first
        return y or year, m or 1, d or 1

    def high(self, year: int = 0) -> Parts:
        """Return its last day, the same."""
        y, m, d = self.last
        return y or year, m or _MONTHS, d or _DAYS_AT_MOST

    def has(self, other: Date) -> bool:
        """Say whether another date lies in this one, as far as both say a year.

        >>> read_date("March").has(read_date("05.03.26"))
        True
        """
        mine, others = _align(self, other)
        return bool(mine and others) and mine[0] <= others[0] and others[1] <= mine[1]

    def is_apart(self, other: Date) -> bool:
        """Say whether no day is of both dates: neither of "March" and "2026" says so."""
        mine, others = _align(self, other)
        return bool(mine and others) and (mine[1] < others[0] or others[1] < mine[0])


def _align(one: Date, other: Date) -> tuple[tuple[Parts, ...], tuple[Parts, ...]]:
    """Return the first and last days of two dates, () where they cannot be compared."""
    if one.first[0] and other.first[0]:
        return (one.low(), one.high()), (other.low(), other.high())
    if not (one.first[1] and other.first[1]):
        return (), ()
    return tuple(
        ((0, *each.low()[1:]), (0, *each.high()[1:]))  # type: ignore[return-value]
        for each in (one, other)
    )


class FoundDate(NamedTuple):
    """Where a text writes a date, its value, and the words of a day or month."""

    start: int
    end: int
    date: Date | None  # None of an era or a time that is no matter of years
    words: tuple[Term, ...]

    def spelling(self, text: str) -> str:
        """Return the date as the text writes it."""
        return text[self.start : self.end]


# -- in a text ------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 11)
def find_dates(text: str, *, day_first: DayFirst = None) -> tuple[FoundDate, ...]:
    """Return the dates in a text, in order.

    Whether the day of "5/3/2026" stands first is told by the other dates, if not given.
    """
    return tuple(_find(text, (*_OF_DAYS, *_OF_TIMES), day_first))


def find_days(text: str) -> list[FoundDate]:
    """Return the dates in a text that have a month: their words do not depend on the spelling.

    >>> [each.words[1][0] for each in find_days("On 05.03.26, and on 5. März 2026")]
    ['march', 'march']
    """
    return _find(text, _OF_DAYS, None)


def date_spans(text: str) -> Iterator[Span]:
    """Yield where a text writes dates, years, decades and centuries."""
    for found in find_dates(text):
        yield found.start, found.end


def read_date(text: str, *, day_first: DayFirst = None) -> Date | None:
    """Return the date that a text is, None if it is something else.

    >>> read_date("12 May 1998") == read_date("12.5.1998"), read_date("40 m")
    (True, None)
    """
    text = text.strip()
    if text.casefold() in _MONTH_OF:
        month = _MONTH_OF[text.casefold()]
        return Date((0, month, 0), (0, month, 0))
    found = find_dates(text, day_first=day_first)
    is_whole = found and found[0].start == 0 and _TIME.fullmatch(text, found[0].end)
    return found[0].date if is_whole else None


def find_day_first(texts: Iterable[str]) -> DayFirst:
    """Say whether texts write the day before the month in "15/9/2025", None if they do not tell."""
    for text in texts:
        for match in _SLASHED.finditer(text) if "/" in text else ():
            a, b = int(match[1]), int(match[2])
            if max(a, b) <= _DAYS_AT_MOST and min(a, b) <= _MONTHS < max(a, b):
                return a > b
    return None


def find_periods(text: str, *, day_first: DayFirst = None) -> list[FoundDate]:
    """Return the dates in a text, those of a range as one: "between 1932 and 1938"."""
    found: list[FoundDate] = []
    for each in find_dates(text, day_first=day_first):
        last = found[-1] if found else None
        gap = _TO_RANGE.fullmatch(text, last.end, each.start) if last else None
        if last and gap and last.date and each.date:
            is_range = not gap["and"] or _BETWEEN.search(text, 0, last.start)
            y = last.date.first[0] or each.date.first[0]
            first = (y, *last.date.first[1:])
            if is_range and first <= each.date.last:
                date = Date(first, each.date.last)
                found[-1] = FoundDate(last.start, each.end, date, last.words + each.words)
                continue
        found.append(each)
    return found


def _find(text: str, forms: Sequence[re.Pattern[str]], day_first: DayFirst) -> list[FoundDate]:
    """Return the dates that forms match, of two that overlap the one of the earlier form."""
    if not _DIGIT.search(text):
        forms = [_OF_DAYS[-1]]
    elif day_first is None:
        day_first = find_day_first([text])
    taken, found = bytearray(len(text)), []
    for form in forms:
        for match in form.finditer(text):
            each = _read_match(match, day_first)
            if each is not None and not any(taken[each.start : each.end]):
                taken[each.start : each.end] = b"\1" * (each.end - each.start)
                found.append(each)
    return sorted(found)


def _read_match(match: re.Match[str], day_first: DayFirst) -> FoundDate | None:
    """Return what a form has matched as a date, None where its numbers or words are none."""
    spans = {name: match.span(name) for name, text in match.groupdict().items() if text}
    mark = match.string[slice(*spans.pop("mark", (0, 0)))]
    start = min(a for a, _ in spans.values())
    if not {"m", "a"} & spans.keys():
        return FoundDate(match.start(), match.end(), _read_time(match, spans), ())
    before = match.string[max(0, start - _BEFORE) : start]
    if (mark and _VERSION.search(before)) or (spans.keys() == {"m"} and not _DURING.search(before)):
        return None
    orders = _order(spans, mark, day_first) if "a" in spans else [spans]
    for order in orders:
        date = _read_days(match.string, order, mark)
        if date is not None:
            sure = mark != "/" or day_first is not None
            words = {w for each in ([order] if sure else orders) for w in _read_words(match, each)}
            return FoundDate(start, match.end(), date, tuple(sorted(words, key=_by_place)))
    return None


def _by_place(word: Term) -> tuple[int, str]:
    return word[1], word[0]


def _order(spans: dict[str, Span], mark: str, day_first: DayFirst) -> list[dict[str, Span]]:
    """Return a date of numbers with day before month and after it, the likelier one first.

    Between slashes the month is first, as in America, unless the text tells that the day is.
    """
    rest = {name: span for name, span in spans.items() if name == "y"}
    orders = [{first: spans["a"], second: spans["b"], **rest} for first, second in ("dm", "md")]
    is_month_first = mark == "/" if day_first is None else not day_first and mark == "/"
    return orders[::-1] if is_month_first else orders


def _read_days(text: str, spans: dict[str, Span], mark: str) -> Date | None:
    """Return a day, days of one month, or a month."""
    parts = {name: text[a:b] for name, (a, b) in spans.items()}
    month = _read_month(parts["m"], alone=not {"d", "y"} & parts.keys(), dated="d" in parts)
    day, year = int(parts.get("d", 0)), _read_year(parts.get("y", "0"))
    if not 0 < month <= _MONTHS or ("d" in parts and not 0 < day <= _DAYS_AT_MOST):
        return None
    if (
        mark in {"-", "."}
        and len(parts["y"]) < _LONG
        and (mark == "-" or len(parts["d"] + parts["m"]) < _LONG)
    ):
        return None  # "3.10.12" is a version, and "12-10-11" a code
    is_month = mark == "-" and len(parts["m"]) > 1 and month != year % 100 + 1
    if mark and "d" not in parts and not is_month:  # "1911-12" is two years, and "2016/17"
        return None
    return Date((year, month, int(parts.get("d0", 0)) or day), (year, month, day))


def _read_month(text: str, *, alone: bool, dated: bool) -> int:
    """Return the number of a month, 0 of another word: "Mars" is a planet, but on a day."""
    if text.isdecimal():
        return int(text)
    name = text.casefold()
    is_short = alone and len(text) < _LONG and name not in _SHORT
    is_other = text in _LOWER or is_short or (text == "Mars" and not dated)
    return 0 if is_other else _MONTH_OF.get(name, 0)


def _read_year(text: str) -> int:
    """Return a year of four digits, or of two in this century or the one before."""
    year = int(text)
    if len(text) >= _LONG or not year:
        return year
    return year + (1900 if year >= _OF_1900 else 2000)


def _read_words(match: re.Match[str], groups: dict[str, Span]) -> Iterator[Term]:
    """Yield the parts of a date as English writes them, with where each stands."""
    for name, (start, end) in groups.items():
        text = match.string[start:end]
        if name in {"d", "d0"}:
            yield str(int(text)), start, end
        elif name == "y":
            yield str(_read_year(text)), start, end
        elif name == "m" and 0 < (month := _read_month(text, alone=False, dated=True)) <= _MONTHS:
            yield _MONTH_NAMES[month - 1][0], start, end


def _read_time(match: re.Match[str], groups: dict[str, Span]) -> Date | None:
    """Return a quarter, a season, a year, years or a century; None of an era."""
    if "era" in groups:
        return None
    if number := next((match[name] for name in ("century", "century1") if name in groups), None):
        return Date((int(number) * 100 - 99, 0, 0), (int(number) * 100, 0, 0))
    year = int(match["y"])
    if "q" in groups:
        quarter = int(match["q"])
        return Date((year, 3 * quarter - 2, 0), (year, 3 * quarter, 0))
    if "season" in groups:
        month = _SEASON_OF[match["season"].casefold()]
        last = (year, month + 2, 0) if month < _MONTHS else (year + 1, 2, 0)
        return Date((year, month, 0), last)
    until = year + 9 if "ten" in groups and year % 10 == 0 else year
    if "y2" in groups:
        until = int(match["y"][: -len(match["y2"])] + match["y2"])
    return Date((year, 0, 0), (max(year, until), 0, 0))


# -- of metadata and filters ----------------------------------------------------------------------


class Period(NamedTuple):
    """From `start` up to `end`, in UTC; a moment is a period of one microsecond."""

    start: datetime
    end: datetime


def parse_period(text: str) -> Period | None:
    """Return the period of a date, or None if the text is no date.

    A time without a zone is one of UTC, and fractions of a second are left out.

    >>> parse_period("2024-02").end.isoformat()
    '2024-03-01T00:00:00+00:00'
    """
    match = _PERIOD.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(n) if n else None for n in match.groups()[:6])
    east = timedelta(
        hours=int(match[7] or 0), minutes=int((match[7] or "+")[0] + (match[8] or "0"))
    )
    assert year is not None  # noqa: S101 -- the pattern has it
    try:
        start = datetime(
            year, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC
        )
        if month is None:
            return Period(start, datetime(year + 1, 1, 1, tzinfo=UTC))
        if day is None:
            return Period(start, (start + timedelta(days=31)).replace(day=1))
        if hour is None:
            return Period(start, start + timedelta(days=1))
        return Period(start - east, start - east + timedelta(microseconds=1))
    except (ValueError, OverflowError):
        return None
