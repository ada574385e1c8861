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
        "chain": -0.905,
        "gap": 8.522,
        "asked": 0.793,
        "kind": 1.214,
        "asked kind": -0.367,
        "place": 2.704,
        "first": 0.666,
        "best here": 1.013,
        "link": 0.771,
        "words": 0.711,
        "titled words": 1.577,
        "rare": -0.87,
        "same code": 3.383,
        "other code": -1.367,
        "named": 0.293,
        "other name": -0.964,
        "nothing new": -7.666,
        "back": -0.148,
        "asks": -2.244,
        "a number": 0.991,
        "a date": 1.262,
    },
    chain={
        "chain": 7.857,
        "gap": -2.06,
        "asked": 3.326,
        "kind": 1.497,
        "asked kind": 0.067,
        "place": 1.585,
        "first": 0.888,
        "best here": 1.231,
        "link": 1.146,
        "words": 2.346,
        "titled words": -1.674,
        "rare": 0.059,
        "same code": 1.123,
        "other code": -0.288,
        "named": -1.957,
        "other name": -0.341,
        "nothing new": -6.151,
        "back": 0.031,
        "asks": -1.145,
        "a number": 1.335,
        "a date": 2.538,
        "asked full": 0.588,
        "kind full": -1.915,
        "place full": 2.654,
        "link full": -0.716,
        "words full": 0.727,
        "gap full": -1.987,
        "rare full": 1.369,
        "named full": 0.96,
        "chain full": -1.322,
    },
    way={
        "constant": 2.076,
        "words": 2.312,
        "tokens": 2.982,
        "two": -2.01,
        "length": -8.52,
        "names": -1.463,
        "code": 0.071,
    },
)
