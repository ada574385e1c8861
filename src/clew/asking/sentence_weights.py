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
        "chain": -0.892,
        "gap": 8.427,
        "asked": 0.882,
        "kind": 1.195,
        "asked kind": -0.443,
        "place": 2.69,
        "first": 0.604,
        "best here": 0.97,
        "link": 0.718,
        "words": 0.855,
        "titled words": 1.477,
        "rare": -0.865,
        "same code": 2.729,
        "other code": -1.615,
        "named": 0.371,
        "other name": -0.871,
        "nothing new": -7.694,
        "back": -0.211,
        "asks": -2.279,
        "a number": 1.024,
        "a date": 1.325,
    },
    chain={
        "chain": 7.922,
        "gap": -2.211,
        "asked": 3.312,
        "kind": 1.545,
        "asked kind": 0.083,
        "place": 1.611,
        "first": 0.905,
        "best here": 1.365,
        "link": 1.143,
        "words": 2.24,
        "titled words": -1.439,
        "rare": 0.037,
        "same code": 0.858,
        "other code": -0.503,
        "named": -2.041,
        "other name": -0.473,
        "nothing new": -6.101,
        "back": 0.089,
        "asks": -1.197,
        "a number": 1.278,
        "a date": 2.572,
        "asked full": 0.502,
        "kind full": -2.006,
        "place full": 2.799,
        "link full": -0.729,
        "words full": 0.631,
        "gap full": -1.922,
        "rare full": 1.444,
        "named full": 0.854,
        "chain full": -1.379,
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
