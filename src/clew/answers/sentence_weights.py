"""Estimate how likely a sentence contains the answer, alone or as the end of a chain of two.

A question is answered by one sentence that says all of it, or by a chain, of which one sentence
names what the other is about. Each way has a model of its own, and a third says which way a
question goes. `benchmarks/quotes.py --fit` prints the weights; on which questions they were fitted,
and how often the answer is quoted: docs/guides/answers.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.answers.sentence_features import SentenceFeatures


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The probability of each of n sentences to contain the answer, and its bridge sentence."""

    shares: NDArray[np.float64]  # (n,), their sum is 1
    bridges: NDArray[np.intp]  # (n,) the row before it in a chain, -1 for a sentence alone


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Softmax models of sentences and of pairs, and a logistic model that weighs the two."""

    one: Mapping[str, float]  # the weights of features where one sentence answers
    pair: Mapping[str, float]  # of a pair, and of the sentence at its end
    way: Mapping[str, float]  # of what tells that one sentence answers

    def estimate(self, features: SentenceFeatures) -> Likelihood:
        """Return how probably each sentence answers, and through which chain.

        A comparison takes one sentence of each side, so none of them ends a chain.
        """
        n = len(features.sentences)
        alone = _softmax(_weigh(features.columns, self.one))
        chains = features.chains
        if features.sides or not len(chains.answers):
            return Likelihood(alone, np.full(n, -1, dtype=np.intp))
        columns = {name: chains.column(name, features) for name in self.pair}
        ends, bridges = chains.share_bridges(_weigh(columns, self.pair), n)
        way = float(1 / (1 + np.exp(-_weigh(features.question_features, self.way))))
        chained = (1 - way) * ends
        bridges[chained <= way * alone] = -1
        return Likelihood(way * alone + chained, bridges)


def _weigh(
    features: Mapping[str, NDArray[np.float64] | float], weights: Mapping[str, float]
) -> NDArray[np.float64]:
    return np.asarray(sum(weight * features[name] for name, weight in weights.items()))


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


FITTED = SentenceModel(
    one={
        "gap": 12.566,
        "asked": 0.659,
        "near": 1.322,
        "kind": 0.156,
        "place": 1.683,
        "first": 0.402,
        "titled words": 1.852,
        "same code": 1.31,
        "named": 0.399,
        "other name": -0.478,
        "nothing new": -6.628,
        "asks": -2.835,
        "subject": 0.825,
        "forms": 0.4,
        "follows": 14.242,
        "asked value": 2.35,
        "a number": 1.302,
        "a date": 2.026,
        "a day": 1.476,
        "a place": 1.362,
        "a person": 1.16,
    },
    pair={
        "together": 14.943,
        "link": 1.854,
        "back": 1.428,
        "passage": 0.973,
        "titled": 2.638,
        "names asked": -2.819,
        "bridge place": 2.644,
        "bridge first": 0.883,
        "gap": 2.725,
        "asked": 2.772,
        "kind": 0.862,
        "place": 1.587,
        "first": 0.753,
        "titled words": -0.572,
        "same code": 1.421,
        "named": -0.672,
        "asks": -2.261,
        "subject": 0.539,
        "forms": 0.339,
        "a number": 2.977,
        "a date": 1.325,
        "a day": 2.083,
        "a place": 1.369,
        "a person": 0.877,
    },
    way={
        "constant": 3.753,
        "words": 3.406,
        "tokens": -3.612,
        "own": 5.911,
        "about": -2.845,
        "two": 9.633,
        "length": -6.618,
        "names": -3.063,
        "answers": 5.561,
        "linked": -16.261,
        "titled": -46.942,
    },
)
