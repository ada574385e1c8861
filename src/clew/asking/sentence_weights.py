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
        "chain": -0.639,
        "gap": 6.552,
        "asked": 0.717,
        "kind": 1.458,
        "asked kind": -0.351,
        "place": 2.606,
        "first": 0.692,
        "own": 3.017,
        "best here": 0.629,
        "link": 0.861,
        "words": 0.759,
        "titled words": 1.92,
        "last words": -1.743,
        "fewer words": 1.115,
        "rare": -0.448,
        "titled rare": -0.567,
        "same code": 3.918,
        "other code": -1.217,
        "named": 0.244,
        "other name": -0.994,
        "nothing new": -8.328,
        "new": -0.715,
        "length": 0.124,
        "back": -0.265,
        "asks": -3.156,
        "a number": 0.948,
        "a date": 1.165,
        "a name": -0.739,
    },
    chain={
        "chain": 7.818,
        "gap": -1.97,
        "asked": 3.42,
        "kind": 1.571,
        "asked kind": 0.053,
        "place": 1.603,
        "first": 0.904,
        "own": -0.524,
        "best here": 2.17,
        "link": 1.177,
        "words": 3.563,
        "titled words": -0.902,
        "last words": -1.865,
        "fewer words": -0.436,
        "rare": 0.28,
        "titled rare": -0.188,
        "same code": 1.158,
        "other code": -0.295,
        "named": -1.994,
        "other name": -0.415,
        "nothing new": -6.281,
        "new": -0.208,
        "length": -0.051,
        "back": -0.197,
        "asks": -1.344,
        "a number": 1.344,
        "a date": 2.461,
        "a name": -0.165,
        "asked full": 0.557,
        "kind full": -1.923,
        "place full": 2.784,
        "own full": 0.939,
        "link full": -0.728,
        "words full": 0.614,
        "gap full": -2.354,
        "rare full": 1.358,
        "named full": 0.967,
        "chain full": -1.441,
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
