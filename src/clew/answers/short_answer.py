"""Add a short answer to the quotes: the name that a comparison by date selects.

Or the span that an extractive model reads. Nothing is generated: what is given stands in a
document. What all documents have of something `clew.methods.counts` gathers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.answers.comparisons import compare_sides
from clew.answers.quotes import Quote
from clew.base.types import AnswerSpan, ShortAnswer
from clew.text.keys import name_key
from clew.text.names import drop_qualifier
from clew.text.phrases import overlap
from clew.text.statements import statement_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.base.types import Passage
    from clew.models import Models

_RIGHT_COMPARED = 0.95  # of benchmarks/short_answers.py
_LEAST_READ = 0.5  # of a model's own probability


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
        return list(quotes), name_first(question, quotes, passages)
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
    return _build_answer(place, quotes[place].passage, name, _RIGHT_COMPARED)


def _is_ambiguous(title: str, passages: Sequence[Passage]) -> bool:
    """Check whether titles of documents differ only in their parentheses."""
    key = name_key(drop_qualifier(title))
    named = {p.document_id for p in passages if name_key(drop_qualifier(p.title)) == key}
    return len(named) > 1


def _build_answer(
    place: int, passage: Passage, span: tuple[int, int], probability: float
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
    return ShortAnswer(text=text, kind="span", probability=probability, spans=(cited,))
