"""Choose the sentences of a context that hold the answer, where no LLM writes one.

How likely a sentence holds it is estimated by `clew.asking.sentence_signs`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import top_k
from clew.asking.sentence_signs import SentenceSigns
from clew.asking.sentence_weights import FITTED
from clew.asking.sentences import find_sentences, read_sentences
from clew.models import Models
from clew.snapshot import Snapshot
from clew.types import Passage

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
    likely = FITTED.estimate(signs)
    chosen = choose_sentences(signs, likely, most)
    quotes: list[Quote] = []
    for sentence in (sentences[i] for i in chosen):
        passage = passages[sentence.place]
        start, own = passage.start + sentence.start, passage.start + sentence.own
        if any(q.passage is passage and q.start <= start < q.end for q in quotes):
            start = own  # the one that it refers to is quoted already
        quotes.append(Quote(passage, start, passage.start + sentence.end))
    return [quotes[i] for i in top_k(likely[chosen], len(chosen))]


def choose_sentences(signs: SentenceSigns, likely: NDArray[np.float64], most: int) -> list[int]:
    """Return the rows of at most `most` sentences, each the likeliest beside those before it.

    Of a comparison it is one sentence of each side. One that has nearly all of its words from a
    chosen one, as another edition's would, is passed over.
    """
    words, last = signs.words.texts, signs.words.last
    left = np.array(likely, dtype=np.float64)
    everything: Sequence[int] = range(len(left))
    chosen: list[int] = []
    for side in signs.sides[:most] or [everything] * most:
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
