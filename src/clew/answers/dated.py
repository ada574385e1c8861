"""Choose statements by date if a question asks for a time, the latest or the first.

A statement is of the date that it begins with, else of the heading or line with a date above it,
else of one in its text, else of its document's.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from clew.base.runtime.lazy import compile_re
from clew.filters.validity import find_date
from clew.text.dates import Date, find_dates, find_day_first, find_periods, read_date
from clew.text.forms import find_bases
from clew.text.languages import find_language
from clew.text.questions import question_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.answers.quotes import Quote
    from clew.answers.sentences import Sentence
    from clew.base.types import Passage, Value
    from clew.index.snapshot import Snapshot
    from clew.text.dates import DayFirst, FoundDate, Parts

_Order = Literal["", "first", "last", "latest", "next"]
_ORDER_WORDS: Mapping[_Order, str] = {
    "next": r"\b(?:next|upcoming|nächste[rnms]?|prochaine?|próxim[oa])\b|次の|次回|下次|下一",
    "latest": r"\b(?:latest|newest|recent|recently|now|current|currently|today|neueste[rnms]?"
    r"|aktuelle?[rnms]?|derzeit|actuel(?:le)?|actual)\b|最新|最近|現在|现在|目前",
    "last": r"\b(?:last|final|finally|letzte[rnms]?|dernière?|últim[oa])\b|最後|最后",
    "first": r"\b(?:first|earliest|oldest|originally|original|erste[rnms]?|première?|primer[oa]?)\b"
    "|最初|初めて|第一次|首次",
}
_ORDERS = [(order, compile_re(words, re.IGNORECASE)) for order, words in _ORDER_WORDS.items()]
# Words before a date, by the time that both say: from its past, its own first day or what follows.
_CONDITION = compile_re(
    r"\b(?:(?P<before>before|prior to|earlier than|vor|avant|antes del?|prima del?|voor)"
    r"|(?P<until>until|till|by|up to|bis|jusqu'(?:en|à|au)|hasta)"
    r"|(?P<after>after|later than|nach|après|después del?|dopo)"
    r"|(?P<since>since|from|starting|as of|valid|effective|gültig|seit|ab|depuis|dès|à partir de"
    r"|desde|a partir de|dal)"
    r"|(?P<early>beginning|start|early|anfang|début)|(?P<mid>middle|mid|mitte|mi)"
    r"|(?P<late>end|late|ende|fin))"
    r"(?: since| from| on| of)?(?: the year| the| dem| der| de| du| le| el)?[ :-]+$",
    re.IGNORECASE,
)
_THIRDS = {"early": (1, 10), "mid": (11, 20), "late": (21, 31)}  # days of a month
# Factors of the odds of statements of the time that is asked for (squared: of the day), and of
# another.
_FITTING, _IN_PROSE, _APART = 6.0, 2.0, 0.3
_CHOSEN, _PASSED = 8.0, 0.6  # of the latest of several, and of the others
_NEAR = 300  # characters from a line with a date to what it dates
_LINE = compile_re(r":\d+$")  # behind a file's name, of a record
_ISO = 10  # characters of a day
_LEAD = 12  # characters before the date that a statement begins with: "v3.0 - ", "- "


class _Dated(NamedTuple):
    """The dates of a statement: in its text, in a heading above, or of its document."""

    own: tuple[Date, ...]
    intervals: tuple[Date, ...]  # the same with their conditions: since then, before it
    above: Date | None
    leads: bool  # it begins with its own date
    is_below: bool  # its context dates it

    def fits(self, asked: Date | None) -> bool:
        """Check whether the statement is dated within, or by a range around, the requested time."""
        dates = (*self.own, *filter(None, [self.above]))
        ranges = [date for date in self.own if date.first != date.last]
        return asked is None or any(map(asked.has, dates)) or any(r.has(asked) for r in ranges)

    def is_apart(self, asked: Date | None) -> bool:
        """Check whether the statement is certainly of another time and no longer valid.

        A year in prose may only tell what something is about: "the singer born in 1952".
        """
        if asked is None or self.fits(asked) or self._is_loose(asked):
            return False
        dates = (*self.intervals, *filter(None, [self.above]))
        return any(map(asked.is_apart, dates)) and not any(date.has(asked) for date in dates)

    def weigh(self, asked: Date | None) -> float:
        """Return the factor of the odds for a question about a time."""
        if asked is None or self._is_loose(asked) or not self.fits(asked):
            return _APART if self.is_apart(asked) else 1.0
        factor = _FITTING if self.leads or self.is_below else _IN_PROSE
        return factor**2 if asked.first[2] else factor

    def _is_loose(self, asked: Date) -> bool:
        return not (asked.first[1] or self.leads or self.is_below)

    def find_time(self, order: _Order) -> Parts | None:
        """Return the day by which statements are ordered; for "next", that of an event."""
        is_own = self.own and (self.leads or order == "next" or self.above is None)
        date = self.own[0] if is_own else self.above
        year = self.above.first[0] if self.above else 0
        return date.low(year) if date and (date.first[0] or year) else None


def find_date_factors(
    question: str,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    snapshot: Snapshot | None,
    *,
    compares: bool,
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Return (n,) factors of the odds of statements, and a mask of those certainly of another time.

    Factors are None where no time is asked for; where it `compares` two things, order is ignored.
    """
    day_first = _find_day_first([question, *(passage.text for passage in passages)])
    asked = _read_time(question, day_first)
    order = "" if compares else _find_order(question)
    if not (asked or order):
        return None, np.zeros(len(sentences), dtype=bool)
    dated = _date_sentences(sentences, passages, _read_metadata(passages, snapshot))
    factors = np.array([each.weigh(asked) for each in dated], float)
    if order:
        able = [each.find_time(order) if each.fits(asked) else None for each in dated]
        factors *= _weigh_order(order, able, _count_matched_words(question, sentences, passages))
    return factors, np.array([each.is_apart(asked) for each in dated])


def multiply_odds(
    likely: NDArray[np.float64], factors: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the (n,) probabilities after multiplying their odds by `factors`, if any."""
    if factors is None:
        return likely
    odds = likely / np.maximum(1 - likely, 1e-9) * factors
    return np.asarray(odds / (1 + odds))


def asks_for_time(question: str) -> bool:
    """Check whether a question names a time: "in March", "before 2020"."""
    return _read_time(question, None) is not None


def prefix_dates(question: str, quotes: Sequence[Quote]) -> list[Quote]:
    """Return the quotes of an answer to a question for a date, each preceded by its date.

    One without a date begins at the line near above that dates it.
    """
    if question_kind(question) != "date":
        return list(quotes)
    return [each if find_dates(each.text) else _begin_at_date(each) for each in quotes]


def _begin_at_date(quote: Quote) -> Quote:
    begin, date = find_head_above(quote)
    start = quote.passage.start + begin
    return quote._replace(start=start) if date and quote.start - start <= _NEAR else quote


def find_head_above(quote: Quote) -> tuple[int, Date | None]:
    """Return the start in its passage of the context that dates a quote, and the date, if any."""
    text, end = quote.passage.text, quote.start - quote.passage.start
    for line in reversed(quote.above.splitlines()):
        if (date := _read_above(line, None)) and (place := text.rfind(line, 0, end)) >= 0:
            return text.rfind("\n", 0, place) + 1, date
    return 0, _read_above(quote.passage.section, None)


# -- of a question --------------------------------------------------------------------------------


def _read_time(question: str, day_first: DayFirst) -> Date | None:
    """Return the time that a question names, or None."""
    found = find_periods(question, day_first=day_first)
    return _read_interval(question, found[0]) if found else None


def _read_interval(text: str, found: FoundDate) -> Date:
    """Return the interval of a date with the words before it: "before 2020", "end of March"."""
    date = found.date
    condition = _CONDITION.search(text, 0, found.start)
    low, high = date.low(), date.high()
    past, future = (1 if low[0] else 0, 1, 1), (9999 if low[0] else 0, 12, 31)
    year, month, day = date.first
    match condition and condition.lastgroup:
        case "before":
            return Date(past, (*low[:2], low[2] - 1 or -1))  # 0 is a day that is left open
        case "until":
            return Date(past, high)
        case "after":
            return Date((*high[:2], high[2] + 1), future)
        case "since" if date.first == date.last:  # not "from 1932 to 1938"
            return Date(low, future)
        case "early" | "mid" | "late" as part if month and not day:
            first, last = _THIRDS[part]
            return Date((year, month, first), (year, month, last))
    return date


def _find_order(question: str) -> _Order:
    """Return the order asked for (first, latest, ...), ignoring names ("the Last Harbour")."""
    for order, words in _ORDERS:
        for match in words.finditer(question):
            if not (match[0].istitle() and question[: match.start()].strip()):
                return order
    return ""


# -- of statements --------------------------------------------------------------------------------


def _find_day_first(texts: Sequence[str]) -> DayFirst:
    """Check whether texts write the day before the month, judged by their dates or language."""
    told = find_day_first(texts)
    return told if told is not None or find_language(texts[0]) in {"English", None} else True


def _date_sentences(
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    metadata: Mapping[str, Mapping[str, Value]],
) -> list[_Dated]:
    """Return the dates of each statement."""
    texts = defaultdict(list)
    for passage in passages:
        texts[_find_file(passage)].append(passage.text)
    orders = {name: _find_day_first(of_document) for name, of_document in texts.items()}
    dated = []
    for each in sentences:
        passage = passages[each.place]
        day_first = orders[_find_file(passage)]
        found = find_periods(each.said, day_first=day_first)
        own = tuple(each.date for each in found)
        above = _read_above(each.above, day_first)
        is_below = above is not None
        if above is None:
            above = _read_above(f"{passage.section}\n{each.head}", day_first)
        if above is None and not own:
            fields = dict(metadata.get(passage.document_id, {}))
            fields.pop("modified", None)  # which is the file's, not what it says
            above = read_date(find_date(fields)[:_ISO])
        leads = bool(found) and found[0].start <= _LEAD
        intervals = tuple(_read_interval(each.said, date) for date in found)
        dated.append(_Dated(own, intervals, above, leads, is_below))
    return dated


def _read_metadata(
    passages: Sequence[Passage], snapshot: Snapshot | None
) -> dict[str, Mapping[str, Value]]:
    """Return the metadata of the passages' documents, by document id."""
    if snapshot is None:
        return {}
    chunks = snapshot.layer("chunk")
    rows = [row for row in chunks.rows([each.chunk_id for each in passages]) if row >= 0]
    owners = sorted({int(chunks.columns["document"][row]) for row in rows})
    return {each.id: each.metadata for each in snapshot.documents(owners)}


def _find_file(passage: Passage) -> str:
    """Return the file of a passage; a document may be one record of a file."""
    return _LINE.sub("", passage.source or passage.document_id)


def _read_above(head: str, day_first: DayFirst) -> Date | None:
    """Return the last date in the headings above a statement."""
    found = find_dates(head, day_first=day_first)
    return found[-1].date if found else None


def _count_matched_words(
    question: str, sentences: Sequence[Sentence], passages: Sequence[Passage]
) -> list[int]:
    """Count question words in statements, in headings above them, and again if close together.

    Its dates do not count, nor words that say which of several.
    """
    for found in reversed(find_dates(question)):
        question = f"{question[: found.start]} {question[found.end :]}"
    for _, pattern in _ORDERS:
        question = pattern.sub(" ", question)
    words = find_bases(question)
    near = [len(words & find_bases(passage.text)) for passage in passages]
    return [
        2 * len(words & find_bases(f"{each.head}\n{each.text}")) + near[each.place]
        for each in sentences
    ]


def _weigh_order(
    order: _Order, times: Sequence[Parts | None], met: Sequence[int]
) -> NDArray[np.float64]:
    """Return factors that prefer the first or last of statements about the same subject.

    These are those with a time that have `met` most words of the question.
    """
    factors = np.ones(len(times))
    most = max((n for n, when in zip(met, times, strict=True) if when), default=0)
    able = {i: when for i, when in enumerate(times) if when and met[i] == most}
    if most and len(set(able.values())) > 1:
        best = _choose_time(set(able.values()), order)
        for i, when in able.items():
            factors[i] = _CHOSEN if when == best else _PASSED
    return factors


def _choose_time(times: set[Parts], order: _Order) -> Parts:
    """Return the time asked for: "next" is the first after today, "latest" the last until today."""
    if order == "first":
        return min(times)
    if order == "next" and (later := {each for each in times if each >= _today()}):
        return min(later)
    so_far = {each for each in times if order == "latest" and each <= _today()}
    return max(so_far or times)


def _today() -> Parts:
    """Return today's date, or that of SOURCE_DATE_EPOCH."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given) if given.isdecimal() else time.time(), UTC)
    return now.year, now.month, now.day
