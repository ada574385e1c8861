"""Find dates in text in any notation, and compare them.

"5 March 2026", "March 5th, 2026", "2026-03-05", "05.03.26", "5 mars 2026" and "2026年3月5日" are
one date. What a text leaves out, such as the year, stays open. Months, quarters, seasons, years and
ranges are dates too, from their first day to their last.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
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
_WEEKDAYS = """
monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
"""
# Words that are times when they stand alone, and not names as "Jan" and "Mars" are.
CALENDAR = frozenset({*_WEEKDAYS.split(), *_MONTH_OF}).difference(
    "jan mar may mai mei mars mayo augustus".split()
)
_OTHER_WORDS = frozenset("march may mar august Mars".split())  # spelled so, these are no months
_SHORT_ALONE = frozenset("may mai mei".split())  # of the short names, those that stand alone
_QUARTERS = {
    1: "q1",
    3: "spring frühling frühjahr printemps primavera",
    4: "q2",
    6: "summer sommer été verano",
    7: "q3",
    9: "autumn fall herbst automne otoño",
    10: "q4",
    12: "winter hiver invierno",
}
_QUARTER_OF = {name: month for month, names in _QUARTERS.items() for name in names.split()}
YEAR = r"(?:1\d{3}|20\d{2})"
_SPELT = sorted({n for name in _MONTH_OF for n in (name, name.title(), name.upper())})
_MONTH = "|".join(  # by first letters, which takes a third of the time to search
    f"{first}(?:{'|'.join(name[1:] for name in names)})"
    for first, names in groupby(_SPELT, itemgetter(0))
)
_FROM = r"(?<![A-Za-z\d.,/:-])"  # a number begins here,
_TO = r"(?![\d/-]|\.\d|[A-SU-Za-z_])"  # and ends here; "T" is before a time
_ALONE = r"(?![\w:%]|[.,/]\d)"  # not "March 5,000", "5:30"
_TH = r"(?:st|nd|rd|th|er|\.|º)?"
_D0 = rf"(?:(?P<d0>[0-3]?\d){_TH}(?: ?[–-] ?| to | bis | au ))?"
_OF = r"(?:\.,|,| of| de| del|\.)?"
_D_M = rf"{_FROM}{_D0}(?P<d>[0-3]?\d){_TH}(?:[ -]|(?<=\.))(?:of |de )?(?P<m>{_MONTH})"
_M_D = rf"\b(?P<m>{_MONTH})\b(?:\.? (?P<d>[0-3]?\d)(?:st|nd|rd|th)?{_ALONE})?"
_Y = rf"(?P<y>{YEAR}|(?:(?<=\d\d\.\d\d\.)|(?<=/))\d\d)"  # "3.10.12" is a version
_ON = "[Ii]n|[Oo]n|[Aa]t|[Bb]y|until|since|from|before|after|le|au|of|was"
# How days and months are written; the first that fits counts. Parts are y(ear), m(onth) and d(ay),
# and d0 the first day of several; the order of `a` and `b` is found out.
_DAYS = (
    # "1910-12" is two years and more.
    (
        rf"{_FROM}(?=\d{{4}}[-/.][01]?\d[-/.]|19[7-9]|2)(?P<y>{YEAR})(?P<mark>[-/.])(?P<m>[01]?\d)"
        rf"(?:(?P=mark)(?P<d>[0-3]?\d))?{_TO}"
    ),
    rf"{_FROM}(?P<a>\d\d?)(?P<mark>[./-])(?P<b>\d\d?)(?P=mark){_Y}{_TO}",
    rf"{_D_M}(?:{_OF}[ -](?P<y>{YEAR})\b)?(?!\w)",
    rf"{_M_D}(?:{_OF} (?P<y>{YEAR})\b)?",
    r"(?:(?<!\d)(?P<y>\d{4}) ?[年년] ?)?(?<!\d)(?P<m>\d\d?) ?[月월](?: ?(?P<d>\d\d?) ?[日일])?",
    rf"\b(?:{_ON}) (?P<a>\d\d?)(?P<mark>/)(?P<b>\d\d?){_ALONE}",
    r"\b(?:[Aa]m|[Vv]om|[Bb]is|[Zz]um|[Dd]en|[Aa]b) (?P<d>\d\d?)\.(?P<m>\d\d?)\.(?!\d)",
)
# ... and longer times, of which y2 is the last year.
_TIMES = (
    rf"(?i:\b(?P<quarter>{'|'.join(_QUARTER_OF)})(?: of| de)?[ /-]?)(?P<y>{YEAR})\b",
    rf"\b(?P<y>{YEAR})[ /-]?(?P<quarter>Q[1-4])\b",
    r"\b(?P<century>\d\d?)(?:st|nd|rd|th) century\b(?! BC)",
    r"\b(?P<era>\d{1,4}) (?:(?P<before>BCE?)|AD|CE)\b",
    rf"(?<![A-Za-z\d_])(?P<y>{YEAR})(?:[–/-](?P<y2>\d{{2,4}}))?(?P<ten>s)?(?![A-Za-z\d_])",
)
_OF_DAYS = tuple(map(compile_re, _DAYS))
_OF_TIMES = tuple(map(compile_re, _TIMES))
# A text without any of these characters has none of a form; a form without some is looked for.
_MARKS = dict(zip(_OF_DAYS, ("-/.", "-/.", "", "", "月월", "/", "."), strict=True))
# Before a month alone.
_DURING = compile_re(
    r"\b(?:in|between|to|since|until|till|by|before|after|during|of|from|through|last|next|this"
    r"|early|late|mid|every|im|seit|bis|ab|vor|nach|anfang|ende|mitte|en|de|du|depuis|dès|fin"
    r"|début|desde|hasta|dal) $",
    re.IGNORECASE,
)
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

_PERIOD = compile_re(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"([T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?(?:\d\d)?)?)?)?)?",
    re.ASCII,
)

Parts = tuple[int, int, int]  # year, month and day; 0 where the text leaves one open
DayFirst = bool | None  # whether the day of "5/3/2026" stands first; None: not known
Term = tuple[str, int, int]  # a word of a date, and where it is written


class Date(NamedTuple):
    """A date as the range from its first to its last day, month or year."""

    first: Parts
    last: Parts

    def __str__(self) -> str:
        """Return the beginning in ISO 8601: "2026-03-05", "2026-03" or "2026"."""
        return "-".join(f"{part:02}" for part in self.first if part)

    def low(self, year: int = 0) -> Parts:
        """Return the first day, in the given year if the date has none."""
        y, m, d = self.first
        return y or year, m or 1, d or 1

    def high(self, year: int = 0) -> Parts:
        """Return the last day, in the given year if the date has none."""
        y, m, d = self.last
        return y or year, m or _MONTHS, d or _DAYS_AT_MOST

    def has(self, other: Date) -> bool:
        """Check whether another date lies within this one, as far as both have a year.

        >>> read_date("March").has(read_date("05.03.26"))
        True
        """
        mine, others = _align(self, other)
        return bool(mine and others) and mine[0] <= others[0] and others[1] <= mine[1]

    def is_apart(self, other: Date) -> bool:
        """Check whether two dates certainly share no day; "March" and "2026" may."""
        mine, others = _align(self, other)
        return bool(mine and others) and (mine[1] < others[0] or others[1] < mine[0])


def _align(one: Date, other: Date) -> tuple[tuple[Parts, ...], tuple[Parts, ...]]:
    """Return the first and last days of two dates, () if they are not comparable."""
    if one.first[0] and other.first[0]:
        return (one.low(), one.high()), (other.low(), other.high())
    if not (one.first[1] and other.first[1]):
        return (), ()
    return tuple(
        ((0, *each.low()[1:]), (0, *each.high()[1:]))  # type: ignore[return-value]
        for each in (one, other)
    )


class FoundDate(NamedTuple):
    """A date in a text: its position, its value, and its month or day words."""

    start: int
    end: int
    date: Date
    words: tuple[Term, ...]


# -- in a text ------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 11)
def find_dates(text: str, *, day_first: DayFirst = None) -> tuple[FoundDate, ...]:
    """Return the dates in a text, in order.

    Whether the day of "5/3/2026" stands first is told by the other dates, if not given.
    """
    return tuple(_find(text, (*_OF_DAYS, *_OF_TIMES), day_first))


def find_days(text: str) -> list[FoundDate]:
    """Return the dates with a month in a text.

    >>> [each.words[1][0] for each in find_days("On 05.03.26, and on 5. März 2026")]
    ['march', 'march']
    """
    return _find(text, _OF_DAYS, None)


def date_spans(text: str) -> Iterator[Span]:
    """Yield the positions of dates, years, decades and centuries in a text."""
    for found in find_dates(text):
        yield found.start, found.end


def read_date(text: str, *, day_first: DayFirst = None) -> Date | None:
    """Return the date that a whole text denotes, or None.

    >>> read_date("12 May 1998") == read_date("12.5.1998"), read_date("40 m")
    (True, None)
    """
    text = text.strip()
    if month := _MONTH_OF.get(text.casefold()):
        return Date((0, month, 0), (0, month, 0))
    found = find_dates(text, day_first=day_first)
    is_whole = found and found[0].start == 0 and _TIME.fullmatch(text, found[0].end)
    return found[0].date if is_whole else None


def find_day_first(texts: Iterable[str]) -> DayFirst:
    """Check whether texts write the day before the month in "15/9/2025", None if unclear."""
    for text in texts:
        for match in _SLASHED.finditer(text) if "/" in text else ():
            a, b = int(match[1]), int(match[2])
            if max(a, b) <= _DAYS_AT_MOST and min(a, b) <= _MONTHS < max(a, b):
                return a > b
    return None


def find_periods(text: str, *, day_first: DayFirst = None) -> list[FoundDate]:
    """Return the dates in a text, with ranges as one: "between 1932 and 1938"."""
    found: list[FoundDate] = []
    for each in find_dates(text, day_first=day_first):
        last = found[-1] if found else None
        gap = _TO_RANGE.fullmatch(text, last.end, each.start) if last else None
        if last and gap and (not gap["and"] or _BETWEEN.search(text, 0, last.start)):
            first = (last.date.first[0] or each.date.first[0], *last.date.first[1:])
            if first <= each.date.last:
                date = Date(first, each.date.last)
                found[-1] = FoundDate(last.start, each.end, date, last.words + each.words)
                continue
        found.append(each)
    return found


def _find(text: str, forms: Sequence[re.Pattern[str]], day_first: DayFirst) -> list[FoundDate]:
    """Return the dates matched by some forms; earlier forms win over overlapping ones."""
    if not _DIGIT.search(text):
        forms = [_OF_DAYS[3]] if " " in text else ()  # a month alone stands behind a word
    elif day_first is None:
        day_first = find_day_first([text])
    taken, found = bytearray(len(text)), []
    for form in forms:
        marks = _MARKS.get(form)
        for match in form.finditer(text) if not marks or any(map(text.count, marks)) else ():
            each = _read_match(match, day_first)
            if each is not None and not any(taken[each.start : each.end]):
                taken[each.start : each.end] = b"\1" * (each.end - each.start)
                found.append(each)
    return sorted(found)


def _read_match(match: re.Match[str], day_first: DayFirst) -> FoundDate | None:
    """Return the date of a match, None if its numbers or words are invalid."""
    spans = {name: match.span(name) for name, text in match.groupdict().items() if text}
    if not {"m", "a"} & spans.keys():
        return FoundDate(*match.span(), _read_time(match), ())
    mark = match.string[slice(*spans.pop("mark", (0, 0)))]
    start = min(a for a, _ in spans.values())
    before = match.string[max(0, start - _BEFORE) : start]
    is_name = spans.keys() == {"m"} and not match["m"].isdecimal()
    if (mark and _VERSION.search(before)) or (is_name and not _DURING.search(before)):
        return None
    orders = _order(spans, mark, day_first) if "a" in spans else [spans]
    read = [(date, each) for each in orders if (date := _read_days(match.string, each, mark))]
    if not read:
        return None
    is_sure = mark != "/" or day_first is not None
    words = {word for date, each in read[: 1 if is_sure else 2] for word in _spell(date, each)}
    return FoundDate(start, match.end(), read[0][0], tuple(sorted(words, key=itemgetter(1, 0))))


def _order(spans: dict[str, Span], mark: str, day_first: DayFirst) -> list[dict[str, Span]]:
    """Return the readings of a numeric date, day first and month first, the likelier first.

    Between slashes the month is first, as in America, unless the text tells that the day is.
    """
    rest = {name: span for name, span in spans.items() if name == "y"}
    orders = [{first: spans["a"], second: spans["b"], **rest} for first, second in ("dm", "md")]
    return orders[::-1] if mark == "/" and not day_first else orders


def _read_days(text: str, spans: dict[str, Span], mark: str) -> Date | None:
    """Return a day, a range of days within one month, or a month."""
    parts = {name: text[a:b] for name, (a, b) in spans.items()}
    month = _read_month(parts["m"], alone=not {"d", "y"} & parts.keys())
    day, year = int(parts.get("d", 0)), _read_year(parts.get("y", "0"))
    if not 0 < month <= _MONTHS or ("d" in parts and not 0 < day <= _DAYS_AT_MOST):
        return None
    is_month = mark == "-" and len(parts["m"]) > 1 and month != year % 100 + 1
    if mark and "d" not in parts and not is_month:  # "1911-12" is two years, and "2016/17"
        return None
    return Date((year, month, int(parts.get("d0", day))), (year, month, day))


def _read_month(text: str, *, alone: bool) -> int:
    """Return the number of a month, 0 for another word: "Mars" is a planet."""
    if text.isdecimal():
        return int(text)
    name = text.casefold()
    is_short = alone and (text.isupper() or (len(text) < _LONG and name not in _SHORT_ALONE))
    return 0 if is_short or text in _OTHER_WORDS else _MONTH_OF[name]


def _read_year(text: str) -> int:
    """Return a year of four digits, or of two in this or the last century."""
    year = int(text)
    if len(text) >= _LONG or not year:
        return year
    return year + (1900 if year >= _OF_1900 else 2000)


def _spell(date: Date, spans: dict[str, Span]) -> Iterator[Term]:
    """Yield the parts of a date as written in English, with their positions."""
    year, month, day = date.last
    words = {"d0": date.first[2], "d": day, "m": _MONTH_NAMES[month - 1][0], "y": year}
    for name, span in spans.items():
        yield str(words[name]), *span


def _read_time(match: re.Match[str]) -> Date:
    """Return a quarter, a season, a year, a range of years or a century."""
    groups = match.groupdict()
    if "century" in groups:
        last = int(match["century"]) * 100
        return Date((last - 99, 0, 0), (last, 0, 0))
    if "era" in groups:
        year = -int(match["era"]) if match["before"] else int(match["era"])
        return Date((year, 0, 0), (year, 0, 0))
    year = int(match["y"])
    if "quarter" in groups:
        month = _QUARTER_OF[match["quarter"].casefold()]
        last_month = (year, month + 2, 0) if month < _MONTHS else (year + 1, 2, 0)
        return Date((year, month, 0), last_month)
    until = year + 9 if match["ten"] and year % 10 == 0 else year
    if match["y2"]:
        until = int(match["y"][: -len(match["y2"])] + match["y2"])
    return Date((year, 0, 0), (max(year, until), 0, 0))


def read_day(text: str, *, last: bool = False) -> int:
    """Return the first (or `last`) day that a whole text denotes as a number, 0 for none.

    What the text leaves open is 0.

    >>> read_day("May 2024"), read_day("2019-2023", last=True), read_day("recently")
    (20240500, 20230000, 0)
    """
    if parse_period(text):
        return int(text[:10].replace("-", "").ljust(8, "0"))
    date = read_date(text)
    year, month, day = (date.last if last else date.first) if date else (0, 0, 0)
    return year * 10_000 + month * 100 + day if year > 0 else 0


def format_day(number: int) -> str:
    """Return a number of `read_day` in ISO 8601, as far as it says: "2024-05"."""
    year, rest = divmod(number, 10_000)
    return "-".join([f"{year:04}", *(f"{part:02}" for part in divmod(rest, 100) if part)])


# -- of metadata and filters ----------------------------------------------------------------------


class Period(NamedTuple):
    """The time from `start` to before `end`, in UTC; a moment lasts one microsecond."""

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
    year, month, day = (int(part) if part else 0 for part in match.groups()[:3])
    try:
        if match[4]:
            moment = datetime.fromisoformat(text).replace(microsecond=0)
            start = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
            return Period(start, start + timedelta(microseconds=1))
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
        end = start + timedelta(days=1 if day else 31 if month else 366)
        return Period(start, end if day else end.replace(day=1))
    except (ValueError, OverflowError):
        return None
