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
        "gap": 13.057,
        "asked": 0.799,
        "near": 1.275,
        "kind": 0.151,
        "place": 1.744,
        "first": 0.416,
        "best here": -0.131,
        "titled words": 1.844,
        "same code": 0.328,
        "other code": -1.191,
        "named": 0.432,
        "other name": -0.451,
        "nothing new": -6.629,
        "asks": -2.872,
        "subject": 0.836,
        "forms": 0.321,
        "follows": 14.986,
        "asked value": 2.358,
        "a number": 1.281,
        "a date": 2.611,
        "a day": 0.751,
        "a place": 1.309,
        "a person": 1.193,
    },
    pair={
        "together": 15.907,
        "link": 1.883,
        "back": 1.385,
        "passage": 1.134,
        "titled": 2.611,
        "names asked": -2.521,
        "bridge place": 2.669,
        "bridge first": 0.802,
        "gap": 2.749,
        "asked": 2.572,
        "kind": 0.85,
        "place": 1.571,
        "first": 0.512,
        "best here": 1.699,
        "titled words": -0.717,
        "same code": 1.289,
        "other code": -0.057,
        "named": -0.713,
        "asks": -2.038,
        "subject": 0.538,
        "forms": 0.579,
        "a number": 2.974,
        "a date": 1.299,
        "a day": 2.247,
        "a place": 1.401,
        "a person": 0.772,
    },
    way={
        "constant": 3.713,
        "words": 3.559,
        "tokens": -3.679,
        "own": 5.959,
        "about": -2.831,
        "two": 10.568,
        "length": -6.703,
        "names": -3.067,
        "answers": 5.587,
        "linked": -16.555,
        "titled": -48.564,
    },
)
