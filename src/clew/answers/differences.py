"""Find sentences of two documents or dates that give different values for the same fact.

Two sentences differ so where all is the same but for one value of a kind: a number, a date or a
name. Where both have another word or a second value of their own, they speak of two things: "opens
at 9" and "closes at 18", rooms 12 and 14, adults and children.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from clew.answers.dated import asks_for_time, find_head_above
from clew.answers.quotes import Quote
from clew.base.runtime.lazy import compile_re
from clew.filters.validity import find_date
from clew.text.analyze import term_set
from clew.text.dates import find_dates, parse_period
from clew.text.forms import find_base, find_bases

if TYPE_CHECKING:
    from clew.answers.sentences import Sentence
    from clew.base.types import Evidence, Passage, Value

_VALUES = compile_re(
    r"(?P<number>[-−]?\d[\d.,:]*(?<![.,:])"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty)\b)"
    r"|(?P<name>(?<![.!?:] )(?<!^)\b[A-Z][\w'’-]*(?: (?:of |de |van |von )?[A-Z][\w'’-]*)*"
    r"|^[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)+)"
)
_YEAR_ALONE = compile_re(r"\b(?:in|of)$", re.IGNORECASE)  # before a year that is no number
# Words that say when or how surely something holds, and not of what.
_HEDGES = frozenset(
    "about approximately around current currently default exactly least nearly new newer now "
    "recently revised roughly some today".split()
)
# Words that say that something is another than before, or than was meant: not of what, either.
_CHANGES = frozenset(
    map(
        find_base,
        "adjusted changed corrected cut decreased delayed expected extended increased lowered moved"
        " original originally planned postponed pushed raised reduced rescheduled scheduled"
        " shortened take place".split(),
    )
)
_LEAST_SHARED = 0.5  # of the words of the shorter sentence
_Values = tuple[tuple[str, str], ...]  # kinds and texts


class _Statement(NamedTuple):
    """The values in a sentence, and the words around them."""

    values: _Values
    words: frozenset[str]
    all_words: frozenset[str]  # those of values, too


@lru_cache(maxsize=1 << 10)
def _read_sentence(text: str) -> _Statement:
    values: list[tuple[str, str]] = []
    rest = list(text)
    for date in find_dates(text):
        if date.words or _YEAR_ALONE.search(text[: date.start].rstrip()):
            values.append(("date", text[date.start : date.end]))
            rest[date.start : date.end] = "\0" * (date.end - date.start)
    for match in _VALUES.finditer("".join(rest)):
        start, end = match.span()
        head, _, tail = match[0].partition(" ")
        if match["name"] and not term_set(head) and tail:  # "On Fridays"
            start += len(head) + 1
        rest[start:end] = " " * (end - start)
        values.append((str(match.lastgroup), " ".join(text[start:end].split())))
    words = find_bases("".join(rest))
    return _Statement(tuple(values), words - _HEDGES - _CHANGES, find_bases(text))


def find_difference(
    question: str, one: tuple[str, ...], other: tuple[str, ...]
) -> tuple[str, str] | None:
    """Return the differing values of two sentences about the same fact, or None if they agree.

    Each sentence stands behind the title of its document, and before the headings above it.
    """
    if _are_parallel(one[0], other[0]) or not _share_words(question, one, other):
        return None
    first, second = _read_sentence(one[1]), _read_sentence(other[1])
    if first.words - second.all_words and second.words - first.all_words:
        return None
    n_shared = len(first.all_words & second.all_words)
    if n_shared < max(1, _LEAST_SHARED * min(len(first.words), len(second.words))):
        return None
    own, others = _find_own(first, second), _find_own(second, first)
    if not (own and others):
        return _find_changed(first, second, own, others)
    if len(own) > 1 or len(others) > 1:  # when it is said does not count
        own, others = _drop_one_sided_dates(own, others), _drop_one_sided_dates(others, own)
    if len(own) != 1 or len(others) != 1 or own[0][0] != others[0][0]:
        return None
    return own[0][1], others[0][1]


def _find_changed(
    first: _Statement, second: _Statement, own: _Values, others: _Values
) -> tuple[str, str] | None:
    """Return the values of a sentence and of a later one that reports a change of the same fact.

    That may name both: "The launch on 4 May is moved to 18 May."
    """
    old, new, added = (first, second, others) if others else (second, first, own)
    if len(added) != 1 or not new.all_words & _CHANGES:
        return None
    [(kind, after)] = added
    told = [value for value in old.values if value[0] == kind]
    if len(told) != 1 or told[0] not in new.values:
        return None
    before = told[0][1]
    return (before, after) if old is first else (after, before)


def _find_own(sentence: _Statement, other: _Statement) -> _Values:
    """Return the values in a sentence that the other sentence lacks."""
    return tuple(
        (kind, text)
        for kind, text in dict.fromkeys(sentence.values)
        if (kind, text) not in other.values
        and not (kind == "name" and find_bases(text) <= other.all_words)
    )


def _drop_one_sided_dates(own: _Values, others: _Values) -> _Values:
    """Return the values without dates if the other sentence has no date of its own."""
    if any(kind == "date" for kind, _ in others):
        return own
    return tuple(each for each in own if each[0] != "date")


def _are_parallel(one: str, other: str) -> bool:
    """Check whether titles follow one pattern, as "Lake Vann" and "Lake Myr" do."""
    words, others = one.split(), other.split()
    if len(words) != len(others) or len(words) == 1:
        return False
    unlike = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    return len(unlike) == 1 and all(word[:1].isupper() for word in unlike[0])


def _share_words(question: str, one: Sequence[str], other: Sequence[str]) -> bool:
    """Check whether two sentences contain the same words of the question, headings included."""
    wanted = find_bases(question)
    return wanted & find_bases("\n".join(one)) == wanted & find_bases("\n".join(other))


# -- of an answer ---------------------------------------------------------------------------------


def add_difference(
    question: str,
    quotes: Sequence[Quote],
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    evidence: Evidence,
) -> tuple[list[Quote], str]:
    """Return quotes that begin with two contradicting ones, newest first, and a note on this.

    The second one is the first sentence of another document that differs from the first quote. The
    quotes stay what they are, and the note is empty, where none does.
    """
    is_sought = quotes and not asks_for_time(question)  # of another time both may be true
    difference = _find_differing(question, quotes[0], sentences, passages) if is_sought else None
    if difference is None:
        return list(quotes), ""
    other, *values = difference
    metadata = {hit.document_id: hit.metadata for hit in evidence.hits}
    pair = [quotes[0], other]
    dates = [_date_quote(each, metadata.get(each.passage.document_id, {})) for each in pair]
    periods = [parse_period(each) for each in dates]
    if all(periods) and periods[1] > periods[0]:  # type: ignore[operator]
        pair, dates, values = pair[::-1], dates[::-1], values[::-1]
    rest = [each for each in quotes[1:] if (each.passage, each.end) != (other.passage, other.end)]
    newer, older = (
        f"“{value}” ({', '.join(filter(None, (quote.passage.document_id, date)))})"
        for value, quote, date in zip(values, pair, dates, strict=True)
    )
    is_newer = all(periods) and periods[0] != periods[1]
    what = "documents" if other.passage.document_id != quotes[0].passage.document_id else "places"
    note = f"two {what} differ: {newer} {'supersedes' if is_newer else 'and'} {older}"
    return [*pair, *rest][: max(len(quotes), 2)], note


def _date_quote(quote: Quote, metadata: Mapping[str, Value]) -> str:
    """Return the date of the heading above a quote, else of its document, or ""."""
    _, date = find_head_above(quote)
    return str(date) if date and date.first[0] else find_date(metadata)


def _find_differing(
    question: str, first: Quote, sentences: Sequence[Sentence], passages: Sequence[Passage]
) -> tuple[Quote, str, str] | None:
    """Return the first sentence that contradicts a quote, and both values.

    It is of another document, or below another date.
    """
    end = first.end - first.passage.start
    ends = (s.parts[-1] for s in sentences if s.end == end and passages[s.place] is first.passage)
    said = next(ends, first.text)
    sentence = first.passage.title, said, f"{first.passage.section}\n{first.above}"
    terms = term_set(said)
    for each in sentences:
        passage = passages[each.place]
        if len(terms & term_set(each.said)) < _LEAST_SHARED * len(terms) - 1:
            continue
        behind = passage.title, each.said, f"{passage.section}\n{each.head}\n{each.above}"
        values = find_difference(question, sentence, behind)
        if values is not None:
            a, b = passage.start + each.start, passage.start + each.end
            other = Quote(passage, a, b, first.probability, above=each.above)
            if passage.document_id != first.passage.document_id or _differ_by_date(first, other):
                return other, *values
    return None


def _differ_by_date(one: Quote, other: Quote) -> bool:
    """Check whether two quotes of a document have different dates, and one reports a change."""
    if not any(find_bases(each.text) & _CHANGES for each in (one, other)):
        return False
    dates = [find_head_above(each)[1] for each in (one, other)]
    return all(dates) and dates[0] != dates[1]
