"""Add a short answer to the quotes: a date, number or name in one of them.

Or the span that an extractive model reads. Nothing is generated: what is given stands in a
document. What all documents have of something `clew.methods.counts` gathers.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from clew.answers.comparisons import compare_sides, find_life, find_name, find_sides
from clew.answers.quotes import Quote
from clew.base.runtime.lazy import compile_re
from clew.base.types import AnswerSpan, ShortAnswer
from clew.steps.entity_types import OTHER, find_types, was_read
from clew.text.analyze import term_set
from clew.text.dates import find_dates, find_periods
from clew.text.keys import has_key, name_key
from clew.text.measures import counts_things, find_counts
from clew.text.names import drop_qualifier
from clew.text.phrases import overlap
from clew.text.questions import is_foreign_question, is_yes_no, question_kind
from clew.text.statements import statement_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.answers.sentences import Sentence
    from clew.base.types import Evidence, Fact, GraphAnswer, Passage
    from clew.index.snapshot import Snapshot
    from clew.models import Models
    from clew.text.phrases import Span


class _Measured(NamedTuple):
    """How a kind of short answers did in `benchmarks/short_answers.py`."""

    least: float  # the probability of the first quote from which on they are given
    right: float  # the share that is right of those


# The kinds that are right often enough; others are quoted: docs/results/engineering.md.
KINDS: Mapping[str, _Measured] = {
    "when": _Measured(0.7, 0.87),
    "how many": _Measured(0.5, 0.91),
    "which of two": _Measured(0.0, 0.95),
    "graph": _Measured(0.5, 0.83),  # of the score of the graph; on no unseen questions yet
}
_LEAST_READ = 0.5  # of a model's own probability
_BIRTH = compile_re(r"\b(?:born|birth\w*)\b", re.IGNORECASE)
_DEATH = compile_re(r"\b(?:die[ds]?|death|passed away)\b", re.IGNORECASE)
_STAMP = compile_re(r"\W?[\d./-]{8,}[ T,]+\d\d?:\d\d")  # when a line of a log was written


def add_short_answer(
    question: str,
    quotes: Sequence[Quote],
    passages: Sequence[Passage],
    models: Models,
    *,
    most: int,
) -> tuple[list[Quote], ShortAnswer | None]:
    """Return the quotes with the short answer, if any.

    `passages` are all of the context; the places of quotes are those of an answer's citations. What
    a model reads may stand elsewhere in the passages: then its sentence is the first of at most
    `most` quotes.
    """
    if models.reader is None:
        short = name_first(question, quotes, passages) or find_value(question, quotes)
        return list(quotes), short
    read = models.reader.read(question, [each.text for each in passages])
    if read is None or read.probability < _LEAST_READ:
        return list(quotes), None
    passage = passages[read.text]
    start, end = passage.start + read.start, passage.start + read.end
    holding = [q for q in quotes if q.passage is passage and q.start <= start and end <= q.end]
    if not holding:
        around = [s for s in statement_spans(passage.text) if overlap(s, (read.start, read.end))]
        a, b = around[0][0], around[-1][1]
        holding = [Quote(passage, passage.start + a, passage.start + b, read.probability)]
        quotes = [*holding, *quotes][:most]
    place = next(i for i, quote in enumerate(quotes) if quote is holding[0])
    return list(quotes), _build_answer(place, passage, (read.start, read.end), read.probability)


def find_value(
    question: str, quotes: Sequence[Quote], *, least: float | None = None
) -> ShortAnswer | None:
    """Return the date or number that the question asks for, if the first quote has only one.

    What the question has itself does not count, nor does a quote that is less likely to answer than
    `least`, by default that of the kind.
    """
    kind = find_kind(question, quotes)
    if not kind or quotes[0].probability < (KINDS[kind].least if least is None else least):
        return None
    quote = quotes[0]
    at = max(quote.start, quote.own) - quote.passage.start
    text = quote.passage.text[at : quote.end - quote.passage.start]
    find = _find_dates if kind == "when" else find_counts
    known = term_set(question)
    spans = [span for span in find(question, text) if not term_set(text[slice(*span)]) <= known]
    if len({text[slice(*span)] for span in spans}) != 1:
        return None
    start, end = spans[0]
    return _build_answer(0, quote.passage, (at + start, at + end), KINDS[kind].right)


def find_kind(question: str, quotes: Sequence[Quote]) -> str:
    """Return which of the kinds a question is that one value answers, or ""."""
    is_plain = not (is_foreign_question(question) or is_yes_no(question))
    if not (quotes and is_plain) or len(find_sides(question, quotes)) > 1:
        return ""
    if question_kind(question) == "date":
        return "when"
    return "how many" if counts_things(question) else ""


def _find_dates(question: str, text: str) -> list[Span]:
    """Return the positions of the dates in a statement that may answer when something was.

    Of a life in brackets that is its first or last day.
    """
    born, died = _BIRTH.search(question), _DEATH.search(question)
    if bool(born) != bool(died) and (life := find_life(text)):
        place, date = life[bool(died)]
        return [(f.start, f.end) for f in find_dates(text) if (f.start, f.date) == (place, date)]
    begin = 2 if _STAMP.match(text) else 0
    found = find_periods(text)
    return [(f.start, f.end) for f in found if f.start >= begin and (f.words or f.date.first[0])]


def add_graph_answer(
    question: str,
    quotes: Sequence[Quote],
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    evidence: Evidence,
    snapshot: Snapshot | None,
) -> tuple[list[Quote], ShortAnswer | None]:
    """Return the quotes with the graph's answer, if the first one and the graph agree on it.

    Behind that quote there is then one for each other fact on the path.
    """
    graph = evidence.graph
    if not (quotes and graph and snapshot and _is_sure(question, graph.answers, snapshot)):
        return list(quotes), None
    best, first = graph.answers[0], quotes[0]
    facts = {fact.id: fact for fact in graph.facts}
    *before, last = [facts[fact] for fact in best.facts]
    name = find_name(best.text, first.text)
    is_read = first.passage.chunk_id in last.chunk_ids and was_read(snapshot, last.chunk_ids)
    bridges = [_quote_fact(*pair, sentences, passages) for pair in pairwise([*before, last])]
    if name is None or not is_read or None in bridges:
        return list(quotes), None
    at = first.start - first.passage.start
    measured = KINDS["graph"].right
    short = _build_answer(0, first.passage, (at + name[0], at + name[1]), measured, "named")
    return [first, *(each for each in reversed(bridges) if each)], short


def _is_sure(question: str, answers: Sequence[GraphAnswer], snapshot: Snapshot) -> bool:
    """Check whether one answer of a graph stands out, and is of the kind that is asked for."""
    if not answers:
        return False
    best, *rest = answers
    others = [each.score for each in rest if each.is_asked]
    is_alone = best.is_asked and best.score > 2 * max(others, default=0.0)
    if not is_alone or best.score < KINDS["graph"].least or is_yes_no(question):
        return False
    [type_] = find_types(snapshot, snapshot.layer("entity").rows([best.id]))
    kind = question_kind(question)
    if kind == "number":
        return any(map(str.isdigit, best.text))
    if kind in {"person", "place"}:
        return type_ in {kind, OTHER}
    return (type_ == "date") == (kind == "date")


def _quote_fact(
    fact: Fact, following: Fact, sentences: Sequence[Sentence], passages: Sequence[Passage]
) -> Quote | None:
    """Return a quote of the first statement of a fact, linked by the name that the next one has."""
    ends = {fact.subject, fact.object}
    [link, *_] = sorted(ends & {following.subject, following.object})
    for each in sentences:
        passage = passages[each.place]
        words = f" {name_key(f'{each.title} {each.text}')} "
        if passage.chunk_id in fact.chunk_ids and all(has_key(words, end) for end in ends):
            place = find_name(link, each.text)
            name = each.text[slice(*place)] if place else each.title
            start, end = passage.start + each.start, passage.start + each.end
            return Quote(passage, start, end, link=name)
    return None


def name_first(
    question: str, quotes: Sequence[Quote], passages: Sequence[Passage]
) -> ShortAnswer | None:
    """Return which of two things a question compares by date was first or last.

    None where its quotes do not tell, where its own passage spells the name in another way, and
    where several documents have one of the names, and the question not the whole title.
    """
    compared = compare_sides(question, quotes)
    if compared is None or (name := compared[0].name) is None:
        return None
    titles = [quotes[side.quote].passage.title for side in compared]
    if any(
        _is_ambiguous(title, passages)
        for title in titles
        if title.casefold() not in question.casefold()
    ):
        return None
    place = compared[0].quote
    return _build_answer(place, quotes[place].passage, name, KINDS["which of two"].right)


def _is_ambiguous(title: str, passages: Sequence[Passage]) -> bool:
    """Check whether titles of documents differ only in their parentheses."""
    key = name_key(drop_qualifier(title))
    named = {p.document_id for p in passages if name_key(drop_qualifier(p.title)) == key}
    return len(named) > 1


def _build_answer(
    place: int, passage: Passage, span: Span, probability: float, kind: str = "span"
) -> ShortAnswer:
    """Return a range of a passage as a short answer; `place` is the index of its quote."""
    start, end = span
    text = passage.text[start:end]
    cited = AnswerSpan(
        citation=place,
        document_id=passage.document_id,
        start=passage.start + start,
        end=passage.start + end,
        text=text,
    )
    return ShortAnswer(text=text, kind=kind, probability=probability, spans=(cited,))
