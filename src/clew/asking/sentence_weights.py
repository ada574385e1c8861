"""How likely a sentence holds the answer, by its signs.

A question is answered by one sentence that says all of it, or by a chain of two, of which one
names what the other is about. Each way has a model of its own of the same signs, and a third says
which way a question goes. `benchmarks/quotes.py --fit` prints the weights; on which questions they
were fitted, and how often the answer is quoted: docs/guides/answers.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.asking.sentence_signs import SentenceSigns


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Two softmax models over the sentences of a context, and a logistic one of the question."""

    one: Mapping[str, float]  # the weights of signs where one sentence answers
    chain: Mapping[str, float]  # where two do together
    way: Mapping[str, float]  # of what tells that one sentence answers

    def estimate(self, signs: SentenceSigns) -> NDArray[np.float64]:
        """Return the (n,) probabilities of the sentences to hold the answer; their sum is 1.

        A comparison needs two things at once, so it is never answered by one sentence.
        """
        chain = _softmax(_weigh(signs.columns, self.chain))
        if signs.sides:
            return chain
        way = 1 / (1 + np.exp(-_weigh(signs.of_question, self.way)))
        return np.asarray(way * _softmax(_weigh(signs.columns, self.one)) + (1 - way) * chain)


def _weigh(
    signs: Mapping[str, NDArray[np.float64] | float], weights: Mapping[str, float]
) -> NDArray[np.float64]:
    return np.asarray(sum(weight * signs[name] for name, weight in weights.items()))


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


FITTED = SentenceModel(
    one={
        "chain": -0.896,
        "gap": 8.354,
        "asked": 0.955,
        "kind": 1.184,
        "asked kind": -0.432,
        "place": 2.677,
        "first": 0.608,
        "best here": 0.92,
        "link": 0.719,
        "words": 0.841,
        "titled words": 1.458,
        "rare": -0.856,
        "same code": 2.725,
        "other code": -1.619,
        "named": 0.402,
        "other name": -0.876,
        "nothing new": -7.684,
        "back": -0.207,
        "asks": -2.274,
        "a number": 1.012,
        "a date": 1.334,
    },
    chain={
        "chain": 7.934,
        "gap": -2.25,
        "asked": 3.363,
        "kind": 1.58,
        "asked kind": 0.038,
        "place": 1.596,
        "first": 0.911,
        "best here": 1.272,
        "link": 1.16,
        "words": 2.264,
        "titled words": -1.476,
        "rare": 0.019,
        "same code": 0.885,
        "other code": -0.484,
        "named": -2.052,
        "other name": -0.491,
        "nothing new": -6.072,
        "back": 0.076,
        "asks": -1.208,
        "a number": 1.271,
        "a date": 2.589,
        "asked full": 0.333,
        "kind full": -2.015,
        "place full": 2.866,
        "link full": -0.746,
        "words full": 0.681,
        "gap full": -1.828,
        "rare full": 1.436,
        "named full": 0.811,
        "chain full": -1.35,
    },
    way={
        "constant": 2.085,
        "words": 2.32,
        "tokens": 2.957,
        "two": -2.006,
        "length": -8.501,
        "names": -1.481,
        "code": 0.069,
    },
)
