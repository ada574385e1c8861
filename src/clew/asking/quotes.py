"""Choose the sentences of a context that hold the answer, where no LLM writes one.

How likely a sentence holds it is estimated by `clew.asking.sentence_signs`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import top_k
from clew.asking.sentence_signs import SentenceSigns
from clew.asking.sentence_weights import FITTED
from clew.asking.sentences import find_sentences, read_sentences
from clew.models import Models
from clew.snapshot import Snapshot
from clew.text.analyze import terms
from clew.text.keys import name_key
from clew.text.phrases import Span, query_type
from clew.text.questions import is_yes_no
from clew.types import Passage

_OR = re.compile(r"\bor\b")
_SAME_PASSAGE = 0.6  # a further sentence of a passage is so much less likely to add something
_SAME_WORDS = 0.8  # of a sentence: with so many of them a quote says it already


@dataclass(frozen=True, slots=True)
class Quote:
    """A range of a passage: a sentence, behind the one that it refers back to, if near."""

    passage: Passage
    start: int  # in the document
    end: int


def choose_quotes(
    question: str,
    passages: Sequence[Passage],
    models: Models,
    snapshot: Snapshot | None = None,
    *,
    most: int = 3,
) -> list[Quote]:
    """Return at most `most` quotes from passages in their order, the likeliest answer first.

    A question that compares two names, or that has a yes or no for an answer, is quoted one
    sentence for each of its names, as far as a sentence or a title has them. With the `snapshot`
    of the passages what it stores is not embedded again.
    """
    sentences = [s for place, each in enumerate(passages) for s in find_sentences(each, place)]
    if not sentences or most < 1:
        return []
    reading = read_sentences(question, sentences, passages, models, snapshot)
    signs = SentenceSigns(question, sentences, reading)
    sides = find_sides(signs)
    likely = FITTED.estimate(signs, is_comparison=bool(sides))
    chosen = choose_sentences(signs, likely, sides, most)
    quotes: list[Quote] = []
    for sentence in (sentences[i] for i in chosen):
        passage = passages[sentence.place]
        start, own = passage.start + sentence.start, passage.start + sentence.own
        if any(q.passage is passage and q.start <= start < q.end for q in quotes):
            start = own  # the one that it refers to is quoted already
        quotes.append(Quote(passage, start, passage.start + sentence.end))
    return [quotes[i] for i in top_k(likely[chosen], len(chosen))]


def find_sides(signs: SentenceSigns) -> list[list[int]]:
    """Return the sentences of each name that the question compares or asks a yes or no of, if any.

    There are two sides or more, or none.
    """
    question = signs.question
    names = _inner_spans([(m.start, m.end) for m in signs.question_names])
    compared = any(_OR.search(question[a[1] : b[0]]) for a, b in pairwise(names))
    compared = compared or query_type(question, names) == "comparison"
    if len(names) < 2 or not (compared or is_yes_no(question)):
        return []
    about = list(zip(signs.titles, signs.keys, strict=True))
    sides = [
        [i for i, (title, keys) in enumerate(about) if key == title or key in keys]
        for key in dict.fromkeys(name_key(question[a:b]) for a, b in names)
    ]
    return [side for side in sides if side] if sum(map(bool, sides)) > 1 else []


def choose_sentences(
    signs: SentenceSigns, likely: NDArray[np.float64], sides: Sequence[Sequence[int]], most: int
) -> list[int]:
    """Return the rows of at most `most` sentences, each the likeliest beside those before it.

    With `sides` one sentence of each. One that has nearly all of its words from a chosen one, as
    another edition's would, is passed over.
    """
    words = [set(terms(s.text)) for s in signs.sentences]
    last = [set(terms(s.parts[-1])) for s in signs.sentences]
    left = np.array(likely, dtype=np.float64)
    everything = range(len(left))
    chosen: list[int] = []
    for side in sides[:most] or [everything] * most:
        free = [i for i in side if left[i] >= 0]
        if not free:
            continue
        best = free[int(top_k(left[free], 1)[0])]
        chosen.append(best)
        if signs.places[best] not in signs.places[chosen[:-1]]:
            left[signs.places == signs.places[best]] *= _SAME_PASSAGE
        for i in everything:
            if len(last[i] & words[best]) >= _SAME_WORDS * len(last[i]):
                left[i] = -1.0
        left[best] = -1.0
    return chosen


def _inner_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the spans that hold no other one, in order: "A and B" may be a name beside A and B."""
    kept: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (-span[0], span[1])):
        if not kept or end < kept[-1][1]:
            kept.append((start, end))
    return kept[::-1]
