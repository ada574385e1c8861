"""How likely a sentence holds the answer, by its signs.

A question is answered by one sentence that says all of it, or by a chain of two, of which one
names what the other is about. Each way has a model of its own of the same signs, and a third says
which way a question goes. `benchmarks/quotes.py --fit` prints the weights; on which questions they
were fitted, and how often the answer is quoted: docs/guides/answers.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clew.asking.sentence_signs import SentenceSigns


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Two softmax models over the sentences of a context, and a logistic one of the question."""

    one: Mapping[str, float]  # the weights of signs where one sentence answers
    chain: Mapping[str, float]  # where two do together
    way: Mapping[str, float]  # of what tells that one sentence answers

    def estimate(self, signs: SentenceSigns, *, is_comparison: bool = False) -> NDArray[np.float64]:
        """Return the (n,) probabilities of the sentences to hold the answer; their sum is 1.

        A comparison needs two things at once, so it is never answered by one sentence.
        """
        columns = signs.columns(is_comparison=is_comparison)
        chain = _softmax(_weigh(columns, self.chain))
        if is_comparison:
            return chain
        way = 1 / (1 + np.exp(-_weigh(signs.way_signs(), self.way)))
        return np.asarray(way * _softmax(_weigh(columns, self.one)) + (1 - way) * chain)


def _weigh(
    signs: Mapping[str, NDArray[np.float64] | float], weights: Mapping[str, float]
) -> NDArray[np.float64]:
    return np.asarray(sum(weight * signs[name] for name, weight in weights.items()))


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


FITTED = SentenceModel(
    one={
        "chain": -0.701,
        "gap": 8.407,
        "asked": 0.777,
        "kind": 1.303,
        "asked kind": -0.31,
        "place": 2.768,
        "first": 0.678,
        "best here": 1.043,
        "link": 0.806,
        "words": 0.417,
        "titled words": 1.799,
        "rare": -0.867,
        "same code": 3.717,
        "other code": -1.256,
        "named": 0.157,
        "other name": -1.187,
        "nothing new": -7.956,
        "back": -0.161,
        "asks": -2.713,
        "a number": 0.863,
        "a date": 1.184,
    },
    chain={
        "chain": 7.862,
        "gap": -2.094,
        "asked": 3.337,
        "kind": 1.528,
        "asked kind": 0.062,
        "place": 1.573,
        "first": 0.891,
        "best here": 1.205,
        "link": 1.152,
        "words": 2.266,
        "titled words": -1.614,
        "rare": 0.061,
        "same code": 1.148,
        "other code": -0.289,
        "named": -2.055,
        "other name": -0.441,
        "nothing new": -6.278,
        "back": 0.026,
        "asks": -1.247,
        "a number": 1.313,
        "a date": 2.509,
        "asked full": 0.599,
        "kind full": -1.887,
        "place full": 2.708,
        "link full": -0.699,
        "words full": 0.691,
        "gap full": -2.018,
        "rare full": 1.392,
        "named full": 1.021,
        "chain full": -1.33,
    },
    way={
        "constant": 2.069,
        "words": 2.307,
        "tokens": 2.99,
        "two": -2.024,
        "length": -8.533,
        "names": -1.449,
        "code": 0.078,
    },
)
