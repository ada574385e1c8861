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

from clew.answers.sentence_signs import SentenceSigns


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Two softmax models over the sentences of a context, and a logistic one of the question."""

    one: Mapping[str, float]  # the weights of signs where one sentence answers
    chain: Mapping[str, float]  # where two do together
    way: Mapping[str, float]  # of what tells that one sentence answers

    def estimate(self, signs: SentenceSigns) -> NDArray[np.float64]:
        """Return the (n,) probabilities of the sentences to hold the answer; their sum is 1.

        A comparison needs two things at once, so it is never answered by one sentence; each of
        several codes is.
        """
        chain = _softmax(_weigh(signs.columns, self.chain))
        if signs.sides and not signs.alike_codes:
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
        "chain": -0.916,
        "gap": 8.076,
        "asked": 0.659,
        "kind": 0.806,
        "place": 2.392,
        "first": 0.575,
        "best here": 0.177,
        "titled words": 0.641,
        "same code": 2.796,
        "other code": -1.59,
        "named": 0.835,
        "other name": -0.77,
        "nothing new": -8.013,
        "asks": -2.083,
        "far": 0.741,
        "subject": 0.992,
        "forms": 0.376,
        "a number": 1.049,
        "a date": 0.507,
        "a day": 1.899,
        "a place": 0.991,
    },
    chain={
        "chain": 8.103,
        "gap": -3.834,
        "asked": 3.073,
        "kind": 1.227,
        "place": 0.803,
        "first": 0.788,
        "best here": 2.372,
        "titled words": 1.742,
        "same code": 0.833,
        "other code": -0.344,
        "named": -1.544,
        "other name": -0.439,
        "nothing new": -5.566,
        "asks": -1.677,
        "far": 1.61,
        "subject": 0.402,
        "forms": -0.189,
        "a number": 2.355,
        "a date": 1.639,
        "a day": 0.932,
        "a place": 0.907,
        "kind full": -2.003,
        "place full": 3.865,
        "gap full": 1.183,
        "chain full": -1.752,
    },
    way={
        "constant": 2.053,
        "words": 2.405,
        "tokens": 2.933,
        "two": -2.102,
        "length": -8.504,
        "names": -1.406,
    },
)
