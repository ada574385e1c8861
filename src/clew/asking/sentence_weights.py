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
        "chain": -0.978,
        "gap": 8.32,
        "asked": 0.67,
        "kind": 1.009,
        "asked kind": -0.247,
        "place": 2.416,
        "first": 0.587,
        "best here": 0.611,
        "link": 0.149,
        "words": -0.302,
        "titled words": 1.713,
        "rare": -0.694,
        "same code": 2.836,
        "other code": -1.623,
        "named": 0.655,
        "other name": -0.886,
        "nothing new": -8.147,
        "back": -0.183,
        "asks": -2.195,
        "far": 0.547,
        "subject": 0.99,
        "forms": 0.462,
        "a number": 0.939,
        "a date": 0.558,
        "a day": 1.836,
        "a place": 1.008,
    },
    chain={
        "chain": 8.233,
        "gap": -2.915,
        "asked": 2.81,
        "kind": 1.213,
        "asked kind": 0.062,
        "place": 0.963,
        "first": 0.823,
        "best here": 2.19,
        "link": 0.074,
        "words": 0.347,
        "titled words": 0.334,
        "rare": 0.043,
        "same code": 0.74,
        "other code": -0.228,
        "named": -1.769,
        "other name": -0.439,
        "nothing new": -5.627,
        "back": 0.092,
        "asks": -1.624,
        "far": 1.707,
        "subject": 0.423,
        "forms": -0.324,
        "a number": 2.378,
        "a date": 1.383,
        "a day": 1.017,
        "a place": 0.829,
        "asked full": 1.395,
        "kind full": -1.71,
        "place full": 3.393,
        "link full": -1.397,
        "words full": 1.203,
        "gap full": -2.435,
        "rare full": 1.269,
        "named full": 0.567,
        "chain full": -1.33,
    },
    way={
        "constant": 2.052,
        "words": 2.396,
        "tokens": 2.936,
        "two": -2.097,
        "length": -8.506,
        "names": -1.403,
        "code": 0.024,
    },
)
