"""Choose statements by their dates, where a question asks for a time, the latest or the first.

A statement is of the date that it begins with or that stands in its row, else of the heading or
line with a date above it, else of one in its text, else of its document's.
"""

from __future__ import annotations

import os
import re
import time
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.base.runtime.lazy import compile_re
from clew.filters.validity import find_date
from clew.text.analyze import term_set
from clew.text.dates import Date, find_dates, find_day_first, find_periods, read_date
from clew.text.forms import find_base
from clew.text.languages import find_language
from clew.text.questions import question_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.answers.quotes import Quote
    from clew.answers.sentences import Sentence
    from clew.base.types import Passage, Value
    from clew.text.dates import DayFirst, Parts

_Relation = Literal["at", "before", "after", "since", "until"]
_Order = Literal["", "first", "last", "latest", "next"]
_RELATIONS: Mapping[_Relation, str] = {
    "before": "before|prior to|earlier than|vor|avant|antes del?|prima del?|voor",
    "until": "until|till|by|up to|bis|jusqu'(?:en|à|au)|hasta",
    "after": "after|later than|nach|après|después del?|dopo",
    "since": "since|from|starting|as of|seit|ab|depuis|dès|à partir de|desde|a partir de|dal",
}
_BEFORE_DATE = [
    (relation, compile_re(rf"\b(?:{words})(?: the| the year| dem| der| le| el)? $", re.IGNORECASE))
    for relation, words in _RELATIONS.items()
]
_LAST_PART = compile_re(r"\b(?:end|late|ende|fin)(?: of| de| du)? $", re.IGNORECASE)
_FIRST_PART = compile_re(
    r"\b(?:beginning|start|early|anfang|début)(?: of| de| du)? $", re.IGNORECASE
)
_MIDDLE = compile_re(r"\b(?:middle|mid|mitte|mi)(?: of| de| du)?[ -]$", re.IGNORECASE)
_ORDER_WORDS: Mapping[_Order, str] = {
    "next": "next upcoming nächste[rnms]? prochaine? próxim[oa]",
    "latest": "latest newest recent recently now current currently today neueste[rnms]?"
    " aktuelle?[rnms]? derzeit actuel(?:le)? actual",
    "last": "last final finally letzte[rnms]? dernière? últim[oa]",
    "first": "first earliest oldest original originally erste[rnms]? première? primer[oa]?",
}
_ORDERS = [
    (order, compile_re(rf"\b(?:{words.replace(' ', '|')})\b", re.IGNORECASE))
    for order, words in _ORDER_WORDS.items()
]
_CJK_ORDERS: tuple[tuple[_Order, re.Pattern[str]], ...] = (
    ("next", compile_re("次の|次回|下次|下一")),
    ("latest", compile_re("最新|最近|現在|现在|目前")),
    ("last", compile_re("最後|最后")),
    ("first", compile_re("最初|初めて|第一次|首次")),
)
# Factors of the odds of statements: by the day, month or year that is asked for, and of another ...
_FITTING = {"day": 25.0, "month": 6.0, "year": 3.0}
_IN_PROSE = {"day": 4.0, "month": 2.0, "year": 1.0}
_APART = {"day": 0.1, "month": 0.3, "year": 0.5}
_HEAD = 0.3  # of a line that only dates what stands below it
_OUTSIDE = 0.5  # of a factor's logarithm: behind the time that is asked for "since" then, not in it
_CHOSEN, _PASSED = 8.0, 0.6  # ... and of the latest of several, and of the others
_LEAST_LIKELY = 0.02  # of the likeliest: a statement below is not about the same
_CENTURY = 99  # years from the first of it to the last
_HEAD_WORDS = 3  # beside the date in a line that dates those below it
_HEAD_LENGTH = 90
_NEAR = 300  # characters from a line with a date to what it dates
_LINE = compile_re(r":\d+$")  # behind a file's name, of a record
_ISO = 10  # characters of a day
_HOLDS = compile_re(  # before a date
    r"(?:valid|since|effective|as of|from|gültig|seit|ab|depuis|dès|à partir|desde)"
    r"(?: since| from| on| dem| du| le| de)?[: ]+$",
    re.IGNORECASE,
)
_ROW = compile_re(r"\||; [^\W\d][\w ]*: ")
_WORD = compile_re(r"[^\W\d_]{2,}")
_MAY_HEAD = compile_re(r"(?![>|*+•]|-\s)")  # no quoted line, row or item of a list
_CLOCK = compile_re(r"[,\s]*(?:T|um|at|à)?[,\s]*\d{1,2}:\d\d.*")
_LEAD = 12  # characters before the date that a statement begins with: "v3.0 - ", "- "


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question says of when: a time, how that is meant, and which of several."""

    relation: _Relation
    time: Date | None
    order: _Order

    def weigh(self, dated: _Dated) -> float:
        """Return the factor of the odds of a statement.

        The date in a sentence of prose may only tell what it is about: "the singer born in 1952".
        """
        if self.time is None:
            return 1.0
        precision = "day" if self.time.first[2] else "month" if self.time.first[1] else "year"
        is_prose = self.relation == "at" and not (dated.leads or dated.is_below)
        if precision == "year" and self.relation != "at":
            precision = "month"
        fitting = [date for date in dated.all if self.fits(date)]
        if not fitting:
            is_apart = any(map(self.is_apart, dated.all)) and not self._still_holds(dated)
            is_sure = is_apart and not (is_prose and precision == "year")
            return _APART[precision] if is_sure else 1.0
        if any(map(self.time.has, fitting)) or self.relation in {"before", "after"}:
            return (_IN_PROSE if is_prose else _FITTING)[precision]
        return float(_FITTING[precision] ** (1.0 if self.relation == "at" else _OUTSIDE))

    def _still_holds(self, dated: _Dated) -> bool:
        """Say whether a statement says since when it holds, and that is before the time."""
        low = self.time.low() if self.time else (0, 0, 0)
        return dated.holds and any(date.first[0] and date.low() <= low for date in dated.all)

    def fits(self, date: Date) -> bool:
        """Say whether a statement of a date is of the time."""
        if self.time is None or self.relation == "at":
            return self.time is None or self.time.has(date) or _is_during(self.time, date)
        if not (self.time.first[0] and date.first[0]):
            return False
        low, high = self.time.low(), self.time.high()
        return {
            "before": date.high() < low,
            "until": date.high() <= high,
            "after": date.low() > high,
            "since": date.low() >= low,
        }[self.relation]

    def is_apart(self, date: Date) -> bool:
        """Say whether a statement of a date is surely of another time."""
        if self.time is None or self.relation == "at":
            return self.time is not None and self.time.is_apart(date)
        return bool(self.time.first[0] and date.first[0]) and not self.fits(date)


@dataclass(frozen=True, slots=True)
class _Dated:
    """The dates of a statement: those in it, and the one above it or of its document."""

    own: tuple[Date, ...]
    above: Date | None
    leads: bool  # its own date says when it is of: it begins with it, or is a row
    is_head: bool  # it is only a line that dates what stands below
    is_below: bool  # such a line dates it
    holds: bool  # it says since when something holds

    @property
    def all(self) -> tuple[Date, ...]:
        return self.own if self.above is None else (*self.own, self.above)

    def find_time(self, order: _Order) -> Parts | None:
        """Return the day by which statements are put in order, of "next" that of an event."""
        is_own = self.own and (self.leads or order == "next" or self.above is None)
        date = self.own[0] if is_own else self.above
        year = self.above.first[0] if self.above else 0
        return date.low(year) if date and (date.first[0] or year) else None


@dataclass(frozen=True, slots=True)
class Weighed:
    """How likely statements answer, by their dates, too."""

    likely: NDArray[np.float64]  # (n,)
    is_apart: NDArray[np.bool_]  # (n,) surely of another time than the one asked for


def weigh_dates(
    question: str,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    likely: NDArray[np.float64],
    metadata: Mapping[str, Mapping[str, Value]],
    *,
    compares: bool,
) -> Weighed:
    """Weigh how likely statements answer a question that asks for a time, or for the latest.

    One that `compares` two things asks which of them was first, not which statement is. `metadata`
    are those of the passages' documents, by their ids.
    """
    day_first = _find_day_first([question, *(passage.text for passage in passages)])
    asked = _read_question(question, day_first)
    if compares:
        asked = replace(asked, order="")
    if not (asked.time or asked.order):
        return Weighed(likely, np.zeros(len(sentences), dtype=bool))
    dated = _date_sentences(sentences, passages, metadata)
    odds = likely / np.maximum(1 - likely, 1e-9)
    factors = np.array([_HEAD if each.is_head else asked.weigh(each) for each in dated])
    odds *= factors
    if asked.order:
        odds *= _weigh_order(question, asked, sentences, passages, dated, likely)
    is_apart = [asked.weigh(each) < 1 for each in dated]
    return Weighed(np.asarray(odds / (1 + odds)), np.array(is_apart))


def mark_dated(
    question: str, sentences: Sequence[Sentence], passages: Sequence[Passage]
) -> NDArray[np.bool_]:
    """Return (n,) whether a line above a statement says when it was, where a question asks that."""
    if question_kind(question) != "date":
        return np.zeros(len(sentences), dtype=bool)
    return np.array([each.is_below for each in _date_sentences(sentences, passages, {})])


def asks_for_time(question: str) -> bool:
    """Say whether a question names the time that it asks for: "in March", "before 2020"."""
    return _read_question(question, None).time is not None


def begin_at_dates(question: str, quotes: Sequence[Quote]) -> list[Quote]:
    """Return the quotes of an answer to when something was, each with its date.

    One without a date begins at the line near above that dates it.
    """
    if question_kind(question) != "date":
        return list(quotes)
    return [each if find_dates(each.text) else _begin_at_date(each) for each in quotes]


def _begin_at_date(quote: Quote) -> Quote:
    begin, date = find_head_above(quote)
    start = quote.passage.start + begin
    return replace(quote, start=start) if date and quote.start - start <= _NEAR else quote


def find_head_above(quote: Quote) -> tuple[int, Date | None]:
    """Return where the line begins in a passage that dates a quote, and its date, if any does."""
    heads = _find_heads(quote.passage.text, None)
    place = bisect_right(heads, quote.start - quote.passage.start, key=itemgetter(1)) - 1
    if place < 0:
        return 0, _read_above(quote.passage.section, None)
    begin, _, date = heads[place]
    return begin, date


def _is_during(time_: Date, date: Date) -> bool:
    """Say whether a time lies in the range that a text gives: 1935 in "between 1932 and 1938"."""
    years = date.last[0] - date.first[0]
    return date.first != date.last and years < _CENTURY and date.has(time_)


# -- of a question --------------------------------------------------------------------------------


def _read_question(question: str, day_first: DayFirst) -> _Asked:
    """Return the time that a question asks for, if any, and which of several."""
    relation: _Relation = "at"
    date = None
    for found in find_periods(question, day_first=day_first):
        if found.date is None:
            continue
        before = question[: found.start]
        date = _take_part(before, found.date)
        relation = next((name for name, words in _BEFORE_DATE if words.search(before)), "at")
        if relation == "since" and date.first != date.last:  # "from 1932 to 1938"
            relation = "at"
        break
    return _Asked(relation, date, _find_order(question))


def _take_part(before: str, date: Date) -> Date:
    """Return the third of a month that the words before it name: "at the end of March"."""
    (year, month, day), _ = date
    if not month or day:
        return date
    thirds = ((_FIRST_PART, 1, 10), (_MIDDLE, 11, 20), (_LAST_PART, 21, 31))
    days = next(((a, b) for words, a, b in thirds if words.search(before)), None)
    return Date((year, month, days[0]), (year, month, days[1])) if days else date


def _find_order(question: str) -> _Order:
    """Return which of several is asked for; a word of a name, "the Last Harbour", says nothing."""
    for order, words in (*_ORDERS, *_CJK_ORDERS):
        for match in words.finditer(question):
            if (
                match[0].islower()
                or not match[0].isascii()
                or not question[: match.start()].strip()
            ):
                return order
    return ""


# -- of statements --------------------------------------------------------------------------------


def _find_day_first(texts: Sequence[str]) -> DayFirst:
    """Say whether texts write the day before the month, by their dates, else by their language."""
    told = find_day_first(texts)
    return told if told is not None or find_language(texts[0]) in {"English", None} else True


def _date_sentences(
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    metadata: Mapping[str, Mapping[str, Value]],
) -> list[_Dated]:
    """Return the dates of statements."""
    # When a file was written says nothing of when its statements are of.
    metadata = {
        name: {field: value for field, value in fields.items() if field != "modified"}
        for name, fields in metadata.items()
    }
    texts = defaultdict(list)
    for passage in passages:
        texts[_find_file(passage)].append(passage.text)
    orders = {name: _find_day_first(of_document) for name, of_document in texts.items()}
    heads = [_find_heads(p.text, orders[_find_file(p)]) for p in passages]
    dated = []
    for each in sentences:
        passage = passages[each.place]
        day_first = orders[_find_file(passage)]
        found = [f for f in find_periods(each.said, day_first=day_first) if f.date]
        place = bisect_right(heads[each.place], each.own, key=itemgetter(1)) - 1
        above = heads[each.place][place][2] if place >= 0 else None
        if above is None:
            above = _read_above(f"{passage.section}\n{each.head}", day_first)
        if above is None and not found:
            above = read_date(find_date(metadata.get(passage.document_id, {}))[:_ISO])
        leads = bool(found) and bool(found[0].start <= _LEAD or _ROW.search(each.said))
        is_head = any(_read_head(line, day_first) for line in each.said.splitlines())
        own = tuple(f.date for f in found if f.date)
        holds = any(_HOLDS.search(each.said, 0, f.start) for f in found)
        dated.append(_Dated(own, above, leads, is_head, place >= 0, holds))
    return dated


def _find_file(passage: Passage) -> str:
    """Return the file of a passage, of which a document may be one record."""
    return _LINE.sub("", passage.source or passage.document_id)


def _read_above(head: str, day_first: DayFirst) -> Date | None:
    """Return the last date in the headings above a statement."""
    dates = [f.date for f in find_dates(head, day_first=day_first) if f.date]
    return dates[-1] if dates else None


def _find_heads(text: str, day_first: DayFirst) -> list[tuple[int, int, Date]]:
    """Return the lines that date what stands below them: beginning, end, and date."""
    ends = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    heads = ((a, b, _read_head(text[a:b], day_first)) for a, b in pairwise(ends))
    return [(a, b, date) for a, b, date in heads if date]


def _read_head(line: str, day_first: DayFirst) -> Date | None:
    """Return the date of a line that dates what stands below it, None of another line.

    It says little else: "## 5 March 2026", "Date: 5 Mar 2026 10:15", "5.2.0 (2026-04-28)".
    """
    line = line.strip()
    if len(line) > _HEAD_LENGTH or not _MAY_HEAD.match(line):
        return None
    found = [f for f in find_dates(line, day_first=day_first) if f.date and f.words]
    if not found:
        return None
    before, behind = line[: found[0].start], line[found[0].end :]
    n_words = len(_WORD.findall(before))
    is_head = n_words <= _HEAD_WORDS and not _WORD.search(_CLOCK.sub("", behind))
    return found[0].date if is_head or line.startswith("#") else None


def _weigh_order(
    question: str,
    asked: _Asked,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    dated: Sequence[_Dated],
    likely: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the factors of the first or last of the statements about the same, and of the others.

    These are the ones with most of the question's words, in their text, above it, or near.
    """
    words = _read_topic(question)
    near = [len(words & _read_words(passage.text)) for passage in passages]
    own = (len(words & _read_words(f"{each.head}\n{each.text}")) for each in sentences)
    met = [2 * n + near[each.place] for n, each in zip(own, sentences, strict=True)]
    times = [each.find_time(asked.order) for each in dated]
    likeliest = float(likely.max())
    able = {
        i: when
        for i, (when, each) in enumerate(zip(times, dated, strict=True))
        if when
        and not each.is_head
        and (asked.time is None or any(map(asked.fits, each.all)))
        and likely[i] >= _LEAST_LIKELY * likeliest
    }
    most = max((met[i] for i in able), default=0)
    able = {i: when for i, when in able.items() if met[i] == most}
    factors = np.ones(len(sentences))
    if most and len(set(able.values())) > 1:
        best = _choose_time(set(able.values()), asked.order)
        for i, when in able.items():
            factors[i] = _CHOSEN if when == best else _PASSED
    return factors


def _choose_time(times: set[Parts], order: _Order) -> Parts:
    """Return the time asked for: "next" is from today on, and "latest" till then, if any is."""
    if order == "first":
        return min(times)
    if order == "next" and (later := {each for each in times if each >= _today()}):
        return min(later)
    so_far = {each for each in times if order == "latest" and each <= _today()}
    return max(so_far or times)


def _today() -> Parts:
    """Return the day, or that of SOURCE_DATE_EPOCH."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given) if given.isdecimal() else time.time(), UTC)
    return now.year, now.month, now.day


def _read_topic(question: str) -> frozenset[str]:
    """Return the words of a question without its dates and those that say which of several."""
    for found in reversed(find_dates(question)):
        question = f"{question[: found.start]} {question[found.end :]}"
    for _, words in _ORDERS:
        question = words.sub(" ", question)
    return _read_words(question)


def _read_words(text: str) -> frozenset[str]:
    return frozenset(map(find_base, term_set(text)))
