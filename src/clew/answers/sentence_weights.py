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
    bridges: NDArray[
        np.intp
    ]  # (n,) the row of the sentence before it in a chain; -1: it stands alone


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
        way = float(1 / (1 + np.exp(-_weigh(features.question_feature, self.way))))
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
        "gap": 11.188,
        "asked": 1.105,
        "near": 1.274,
        "kind": 0.181,
        "place": 2.155,
        "first": 0.171,
        "best here": -1.235,
        "titled words": 1.642,
        "same code": 0.545,
        "other code": -1.091,
        "named": 0.251,
        "other name": -0.479,
        "nothing new": -6.376,
        "asks": -2.353,
        "subject": 0.914,
        "forms": 0.09,
        "a number": 1.577,
        "a date": 1.051,
        "a day": 1.802,
        "a place": 1.203,
    },
    pair={
        "together": 13.763,
        "link": 2.512,
        "titled": 2.327,
        "names asked": -3.018,
        "bridge place": 2.414,
        "bridge first": 0.619,
        "gap": 3.78,
        "asked": 2.579,
        "kind": 0.834,
        "place": 1.826,
        "first": 0.509,
        "best here": 1.804,
        "titled words": -1.264,
        "same code": 1.719,
        "other code": 0.469,
        "named": -0.606,
        "asks": -0.862,
        "subject": 0.473,
        "forms": 0.825,
        "a number": 3.35,
        "a date": 1.572,
        "a day": 2.563,
        "a place": 1.201,
    },
    way={
        "constant": 3.836,
        "words": 2.872,
        "tokens": -3.331,
        "own": 5.765,
        "about": -2.798,
        "two": 8.815,
        "length": -6.502,
        "names": -2.986,
        "answers": 5.292,
        "linked": -17.539,
        "titled": -46.617,
    },
)
