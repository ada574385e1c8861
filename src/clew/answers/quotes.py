"""Select the sentences of a context that contain the answer, if no LLM writes one.

How likely a sentence holds it is estimated by `clew.answers.sentence_weights`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.algo.topk import find_highest
from clew.answers.comparisons import compare_sides, compares_related
from clew.answers.dated import find_date_factors, multiply_odds, prefix_dates
from clew.answers.question import MAX_QUOTES
from clew.answers.sentence_features import QuoteFeatures, SentenceFeatures
from clew.answers.sentence_weights import FITTED
from clew.answers.sentences import find_sentences, read_sentences
from clew.base.runtime.lazy import compile_re
from clew.text.normalize import collapse
from clew.text.numbered import find_item_number, has_item_number
from clew.text.questions import is_foreign_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.answers.sentences import Sentence
    from clew.base.types import Evidence, Passage
    from clew.index.snapshot import Snapshot
    from clew.models import Models

REST_UNKNOWN = "Nothing here says the rest."  # the last line of an answer in part
_ENOUGH = 0.8  # the probability that one of the quotes has the answer: there are no more then
_STANDS_OUT = 0.3  # the probability of a quote that is not unlikely to have the answer
_ADDS = 0.2  # of the question that two quotes meet and one does not: there are two then
_ASKS_AGAIN = compile_re(r"\band (?:who(?:m|se)?|what|when|where|which|how)\b", re.IGNORECASE)
_OF_SIDES = 4  # quotes of what two things name, such as the directors of two films
_SAME_PASSAGE = 0.6  # a further sentence of a passage is so much less likely to add something
_ITEM = 0.9  # how likely the clause or step that a question names answers, at least; others at most
_SAME_WORDS = 0.8  # of a sentence: with so many of them a quote says it already
_LED = 400  # characters that are quoted behind a lead-in, in whole statements


class Quote(NamedTuple):
    """A range of a passage: a sentence, with the nearby sentence it refers back to."""

    passage: Passage
    start: int  # in the document
    end: int
    probability: float = 0.0  # that it holds the answer
    link: str = ""  # the name for which it stands behind the quote that says the answer
    above: str = ""  # the context of the sentence, a line each
    resolves: bool = False  # whether that has all names of the question, so it is a first step
    own: int = 0  # where the sentence itself starts, behind one that it refers back to

    @property
    def text(self) -> str:
        """Return the text of the range."""
        return self.passage.text[self.start - self.passage.start : self.end - self.passage.start]


def compose_quote(quote: str, link: str) -> str:
    """Return a line of an extractive answer: the quote, after the name it explains."""
    line = f'"{" ".join(quote.split())}"'
    return f"{link}: {line}" if link else line


def choose_quotes(
    question: str,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    models: Models,
    snapshot: Snapshot | None = None,
    *,
    most: int = MAX_QUOTES,
) -> tuple[list[Quote], QuoteFeatures | None]:
    """Return up to `most` sentences of passages as quotes, the likeliest answer first.

    Returned with them are the features of how well they answer together, None without a quote.

    A question that compares two names, or that has a yes or no for an answer, is quoted one
    sentence for each of its names, as far as a sentence or a title has them. With the `snapshot`
    of the passages what it stores is not embedded again.
    """
    if not sentences or most < 1:
        return [], None
    reading = read_sentences(question, sentences, passages, models, snapshot)
    features = SentenceFeatures(question, sentences, reading)
    factors, is_apart = find_date_factors(
        question, sentences, passages, snapshot, compares=bool(features.sides)
    )
    estimated = FITTED.estimate(features)
    likely = multiply_odds(estimated.shares, factors)
    if items := _find_items(question, sentences):
        named = np.isin(np.arange(len(sentences)), items)
        likely = np.where(named, _ITEM + (1 - _ITEM) * likely, _ITEM * likely)
    rows = choose_sentences(features, likely, estimated.bridges, most)
    quotes = build_quotes([sentences[i] for i in rows], likely[rows], passages)
    if not features.sides and len(rows) > 1 and rows[1] == estimated.bridges[rows[0]]:
        link = features.linking_name(rows[1], rows[0])
        resolves = bool(features.question_keys) and bool(features.columns["named"][rows[1]] >= 1)
        quotes[1] = quotes[1]._replace(link=link, resolves=resolves)
    quotes = _complete_lead_ins(quotes, sentences, passages)
    quotes = prefix_dates(question, move_answer_first(question, quotes))
    joint = features.of_quotes(rows)
    stands_out = bool(features.sides) or float(likely[rows].max()) >= _STANDS_OUT
    total = 1.0 if stands_out else float(likely[rows].sum())
    joint = joint._replace(is_of_another_time=bool(is_apart[rows].all()), likely=total)
    return quotes, joint._replace(whole=1.0) if set(rows) & set(items) else joint


def _complete_lead_ins(
    quotes: Sequence[Quote], sentences: Sequence[Sentence], passages: Sequence[Passage]
) -> list[Quote]:
    """Extend quotes that end in a lead-in, "as follows:", by the list or text that follows it.

    A quote that such a wider one contains is left out.
    """
    wide: list[Quote] = []
    for quote in quotes:
        end = quote.end
        if quote.text.endswith(":"):
            said = collapse(quote.text[max(quote.own - quote.start, 0) :])
            for each in sentences:
                is_led = passages[each.place] is quote.passage and each.above.endswith(said)
                if is_led and end < quote.passage.start + each.end <= quote.end + _LED:
                    end = quote.passage.start + each.end
        wide.append(quote._replace(end=end))
    return [each for each in wide if not any(_contains(other, each) for other in wide)]


def _contains(quote: Quote, other: Quote) -> bool:
    """Check whether a quote has all of another one and more."""
    is_around = quote.start <= other.start and other.end <= quote.end
    return quote is not other and quote.passage is other.passage and is_around


def put_quotable_first(
    evidence: Evidence, passages: Sequence[Passage], models: Models, snapshot: Snapshot | None
) -> Evidence:
    """Return evidence that begins with what would be quoted: the answer, then what it rests on."""
    sentences = find_sentences(passages, snapshot)
    quotes, _ = choose_quotes(evidence.query, sentences, passages, models, snapshot)
    place = {each.passage.chunk_id: -i for i, each in enumerate(reversed(quotes))}
    hits = sorted(evidence.hits, key=lambda hit: place.get(hit.chunk_id, 1))
    return replace(evidence, hits=tuple(hits))


def _find_items(question: str, sentences: Sequence[Sentence]) -> list[int]:
    """Return the rows of sentences that are the clause or step whose number is asked for.

    Where none begins with that, those whose heading does.
    """
    number = find_item_number(question)
    if not number:
        return []
    own = [i for i, each in enumerate(sentences) if has_item_number(each.said, number)]
    below = (i for i, each in enumerate(sentences) if has_item_number(each.above, number))
    return own or list(below)


def choose_sentences(
    features: SentenceFeatures, likely: NDArray[np.float64], bridges: NDArray[np.intp], most: int
) -> list[int]:
    """Return the rows of up to `most` sentences that together answer, likeliest first.

    Behind the first stands the one that it rests on, if any; then the likeliest beside those before
    them, until one of all holds the answer surely enough. Of a comparison it is one sentence of
    each side, and one of what each names, where the question asks for that. One that has nearly all
    of its words from a chosen one, as another edition's would, is passed over.
    """
    left = np.array(likely, dtype=np.float64)
    best: list[int] = []

    def choose(rows: Sequence[int]) -> bool:
        free = [i for i in rows if left[i] >= 0]
        if not free or len(best) >= most:
            return False
        best.append(free[find_highest(left[free])])
        _discount_repeats(features, best, left)
        return True

    for side in features.sides:
        choose(side)
    if features.sides:
        most = max(most, _OF_SIDES)
        behind = best[:] if compares_related(features.question) else []
        for row in behind:
            choose(features.find_titled_by(row))
        return sorted(best, key=lambda row: -likely[row])
    if choose(range(len(left))) and bridges[best[0]] >= 0:
        choose([int(bridges[best[0]])])
    least = 1 + bool(
        features.question_features["two"] > _ADDS or _ASKS_AGAIN.search(features.question)
    )
    if is_foreign_question(features.question):  # the weights were fitted on English
        least = most
    while (likely[best].sum() < _ENOUGH or len(best) < least) and choose(range(len(left))):
        pass
    return best


def _discount_repeats(
    features: SentenceFeatures, rows: Sequence[int], left: NDArray[np.float64]
) -> None:
    """Discount the remaining sentences after a choice; exclude those that repeat it (-1)."""
    best, words, last = rows[-1], features.words.texts, features.words.last
    if features.places[best] not in features.places[rows[:-1]]:
        left[features.places == features.places[best]] *= _SAME_PASSAGE
    for i in range(len(left)):
        if len(last[i] & words[best]) >= _SAME_WORDS * len(last[i]):
            left[i] = -1.0
    left[best] = -1.0


def build_quotes(
    sentences: Sequence[Sentence], likely: NDArray[np.float64], passages: Sequence[Passage]
) -> list[Quote]:
    """Return the chosen sentences as quotes, in their order."""
    built: list[Quote] = []
    for sentence, probability in zip(sentences, likely.tolist(), strict=True):
        built.append(_build_quote(sentence, probability, passages, built))
    return built


def move_answer_first(question: str, quotes: Sequence[Quote]) -> list[Quote]:
    """Return the quotes with the one first that a comparison by date gives, if it does.

    That says which of two things is the answer: "Which was built first, A or B?"
    """
    compared = compare_sides(question, quotes)
    if compared is None:
        return list(quotes)
    first = quotes[compared[0].quote]
    return [first, *(each for each in quotes if each is not first)]


def _build_quote(
    sentence: Sentence, probability: float, passages: Sequence[Passage], quotes: Sequence[Quote]
) -> Quote:
    """Return a sentence as a quote, without its antecedent if that is quoted already."""
    passage = passages[sentence.place]
    start, own = passage.start + sentence.start, passage.start + sentence.own
    quoted = any(q.passage is passage and q.start <= start < q.end for q in quotes)
    begin, end = own if quoted else start, passage.start + sentence.end
    return Quote(passage, begin, end, probability, above=sentence.above, own=own)
