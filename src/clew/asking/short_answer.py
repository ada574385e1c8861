"""A short answer above the quotes: a span of them, or yes or no.

Nothing is generated: what is given stands in a document, but for yes and no. What all documents
have of something `clew.methods.counts` gathers. Which span it is, and how probably it is right, is
estimated by `clew.asking.answer_spans`; which of two things is first, or has something in common,
by `clew.asking.comparisons`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.asking.answer_spans import CandidateSpan, SpanSigns
from clew.asking.comparisons import Compared, compare_sides
from clew.asking.quotes import Quote
from clew.asking.span_weights import FITTED, SpanModel, read_confidence
from clew.models import gives_tokens
from clew.runtime.lazy import compile_re
from clew.text.phrases import overlap, query_type
from clew.text.questions import has_question_word, is_yes_no, names_alternatives
from clew.text.sentences import sentence_spans
from clew.types import AnswerSpan, ShortAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.models import Models
    from clew.types import Passage

_LIST = compile_re(
    r"\W*(?:list|enumerate|name all|name the \w+s)\b|.*\b(?:which|what)\b.*\ball\b", re.IGNORECASE
)
_LEAST_READ = 0.5  # of a model's own probability


def find_short_answer(
    question: str,
    quotes: Sequence[Quote],
    passages: Sequence[Passage],
    models: Models,
    support: float | None = None,
    model: SpanModel = FITTED,
) -> ShortAnswer | None:
    """Return the short answer that quotes hold, None where none is likely enough.

    `passages` are all of the context; the places of quotes are those of an answer's citations.
    """
    if not quotes:
        return None
    signs = SpanSigns(question, quotes, passages, models)
    compared = compare_sides(question, quotes, signs.mentions)
    if compared is not None:
        answer = name_compared(compared, quotes, model.compared)
    elif _LIST.match(question) or not (asks_for_span(signs) and gives_tokens(models.embedder)):
        return None  # the weights are of signs that need tokens, and of one span
    elif has_question_word(question):
        answer = _find_span(signs, model, support)
    else:  # a keyword asks for nothing in particular
        return None
    return answer if answer and answer.probability >= model.least else None


def add_short_answer(
    question: str,
    quotes: Sequence[Quote],
    passages: Sequence[Passage],
    models: Models,
    support: float | None = None,
    *,
    most: int,
) -> tuple[list[Quote], ShortAnswer | None]:
    """Return the quotes with the short answer, if any.

    One that a model reads may stand elsewhere in the passages: then its sentence is the first of at
    most `most` quotes.
    """
    if models.reader is None:
        return list(quotes), find_short_answer(question, quotes, passages, models, support)
    read = models.reader.read(question, [each.text for each in passages])
    if read is None or read.probability < _LEAST_READ:
        return list(quotes), None
    passage = passages[read.text]
    start, end = passage.start + read.start, passage.start + read.end
    holding = [q for q in quotes if q.passage is passage and q.start <= start and end <= q.end]
    if not holding:
        around = [s for s in sentence_spans(passage.text) if overlap(s, (read.start, read.end))]
        a, b = around[0][0], around[-1][1]
        holding = [Quote(passage, passage.start + a, passage.start + b, read.probability)]
        quotes = [*holding, *quotes][:most]
    place = next(i for i, quote in enumerate(quotes) if quote is holding[0])
    span = _place_span(place, holding[0], start - holding[0].start, end - holding[0].start)
    answer = ShortAnswer(text=span.text, kind="span", probability=read.probability, spans=(span,))
    return list(quotes), answer


def asks_for_span(signs: SpanSigns) -> bool:
    """Say whether a question asks for neither yes or no nor one of two names that it has itself."""
    names = [(m.start, m.end) for m in signs.in_question if m.label != "DATE"]
    is_choice = names_alternatives(signs.question, names)
    compares = query_type(signs.question, names) == "comparison"
    return not (is_yes_no(signs.question) or is_choice or compares)


def name_compared(
    compared: Compared, quotes: Sequence[Quote], probability: float
) -> ShortAnswer | None:
    """Return yes or no with both quotes, or the name of the side that a comparison gives."""
    if compared.text:
        sides = [quotes[side.quote] for side in compared.sides]
        spans = [
            _place_span(side.quote, quote, 0, len(quote.text))
            for side, quote in zip(compared.sides, sides, strict=True)
        ]
        return ShortAnswer(
            text=compared.text, kind="yes or no", probability=probability, spans=tuple(spans)
        )
    first = compared.sides[0]
    if first.name is None:
        return None
    quote = quotes[first.quote]
    before = quote.start - quote.passage.start
    span = _place_span(first.quote, quote, first.name[0] - before, first.name[1] - before)
    return ShortAnswer(text=span.text, kind="span", probability=probability, spans=(span,))


def _find_span(signs: SpanSigns, model: SpanModel, support: float | None) -> ShortAnswer | None:
    """Return the likeliest span, with its probability to be right."""
    if not signs.spans:
        return None
    read = signs.read()
    best, about = read_confidence(signs.spans, model.score(read), read, support)
    span = _place_candidate(signs, signs.spans[best])
    return ShortAnswer(
        text=span.text, kind="span", probability=model.estimate(about), spans=(span,)
    )


def _place_candidate(signs: SpanSigns, span: CandidateSpan) -> AnswerSpan:
    return _place_span(span.quote, signs.quotes[span.quote], span.start, span.end)


def _place_span(place: int, quote: Quote, start: int, end: int) -> AnswerSpan:
    """Return the range of a quote, or of its passage around it, in the document."""
    passage, begin = quote.passage, quote.start - quote.passage.start
    return AnswerSpan(
        citation=place,
        document_id=passage.document_id,
        start=quote.start + start,
        end=quote.start + end,
        text=passage.text[begin + start : begin + end],
    )
