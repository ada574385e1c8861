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
        "gap": 12.788,
        "asked": 0.768,
        "near": 1.269,
        "kind": 0.122,
        "place": 1.795,
        "first": 0.401,
        "titled words": 1.833,
        "same code": 1.307,
        "named": 0.391,
        "other name": -0.472,
        "nothing new": -6.641,
        "asks": -2.911,
        "subject": 0.827,
        "forms": 0.336,
        "follows": 14.332,
        "asked value": 2.368,
        "a number": 1.297,
        "a date": 2.616,
        "a day": 0.741,
        "a place": 1.289,
        "a person": 1.173,
    },
    pair={
        "together": 15.792,
        "link": 1.836,
        "back": 1.33,
        "passage": 1.202,
        "titled": 2.641,
        "names asked": -2.715,
        "bridge place": 2.654,
        "bridge first": 0.905,
        "gap": 3.072,
        "asked": 2.677,
        "kind": 0.85,
        "place": 1.357,
        "first": 0.614,
        "titled words": -0.76,
        "same code": 1.406,
        "named": -0.657,
        "asks": -2.189,
        "subject": 0.573,
        "forms": 0.583,
        "a number": 2.927,
        "a date": 1.32,
        "a day": 2.282,
        "a place": 1.418,
        "a person": 0.906,
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
