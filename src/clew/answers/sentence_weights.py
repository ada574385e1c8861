"""Estimate how likely a sentence contains the answer, alone or as the end of a chain of two.

A question is answered by one sentence that says all of it, or by a chain, of which one sentence
names what the other is about. Each way has a model of its own, and a third says which way a
question goes. `benchmarks/quotes.py --fit` prints the weights; on which questions they were fitted,
and how often the answer is quoted: docs/guides/answers.md.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers.sentence_features import SentenceFeatures


class Likelihood(NamedTuple):
    """The probability of each of n sentences to contain the answer, and its bridge sentence."""

    shares: NDArray[np.float64]  # (n,), their sum is 1
    bridges: NDArray[np.intp]  # (n,) the row before it in a chain, -1 for a sentence alone


class SentenceModel(NamedTuple):
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
        "gap": 12.554,
        "asked": 0.709,
        "near": 1.321,
        "kind": 0.12,
        "place": 1.702,
        "first": 0.405,
        "titled words": 1.828,
        "same code": 1.292,
        "named": 0.43,
        "other name": -0.472,
        "nothing new": -6.665,
        "asks": -2.832,
        "subject": 0.818,
        "forms": 0.399,
        "follows": 13.975,
        "asked value": 2.358,
        "a number": 1.331,
        "a date": 2.065,
        "a day": 1.482,
        "a place": 1.304,
        "a person": 1.186,
    },
    pair={
        "together": 15.081,
        "link": 1.852,
        "back": 1.479,
        "passage": 0.9,
        "titled": 2.615,
        "names asked": -2.806,
        "bridge place": 2.678,
        "bridge first": 0.881,
        "gap": 2.559,
        "asked": 2.823,
        "kind": 0.537,
        "place": 1.671,
        "first": 0.75,
        "titled words": -0.609,
        "same code": 1.427,
        "named": -0.68,
        "asks": -2.387,
        "subject": 0.579,
        "forms": 0.358,
        "a number": 3.189,
        "a date": 1.57,
        "a day": 2.093,
        "a place": 1.293,
        "a person": 0.986,
    },
    way={
        "constant": 3.68,
        "words": 3.381,
        "tokens": -3.512,
        "own": 5.906,
        "about": -2.891,
        "two": 10.279,
        "length": -6.584,
        "names": -3.071,
        "answers": 5.559,
        "linked": -16.959,
        "titled": -46.087,
    },
)
