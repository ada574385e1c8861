"""How likely a sentence holds the answer, by its signs.

A question is answered by one sentence that says all of it, or by a chain of two, of which one
names what the other is about. Each way has a model of its own of the same signs, and a third says
which way a question goes. `benchmarks/quotes.py --fit` prints the weights; on which questions they
were fitted, and how often the answer is quoted: docs/guides/answers.md. These have prose for a
context; so some weights of `CHOOSING`, which orders quotes, were fitted on FAQs, manuals, tables,
chats and `records.json` as well. How likely quotes hold the answer at all is estimated by `FITTED`,
as when `support` was fitted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clew.answers.sentence_signs import SentenceSigns


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Two softmax models over the sentences of a context, and a logistic one of the question."""

    one: Mapping[str, float]  # the weights of signs where one sentence answers
    chain: Mapping[str, float]  # where two do together
    way: Mapping[str, float]  # of what tells that one sentence answers

    def estimate(self, signs: SentenceSigns) -> NDArray[np.float64]:
        """Return the (n,) probabilities of the sentences to hold the answer; their sum is 1.

        A comparison needs two things at once, so it is never answered by one sentence; each of
        several codes is.
        """
        chain = _softmax(_weigh(signs.columns, self.chain))
        if signs.sides and not signs.alike_codes:
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
        "chain": 0.043,
        "gap": 8.055,
        "asked": 0.586,
        "near": 0.211,
        "kind": 0.822,
        "place": 1.856,
        "first": 0.578,
        "best here": 0.865,
        "titled words": 0.702,
        "same code": 2.86,
        "other code": -1.576,
        "named": 0.768,
        "other name": -0.672,
        "nothing new": -5.464,
        "asks": -3.643,
        "far": 0.552,
        "subject": 0.968,
        "forms": 0.248,
        "a number": 1.158,
        "a date": 0.894,
        "a day": 1.713,
        "a place": 1.063,
    },
    chain={
        "chain": 8.162,
        "gap": -2.779,
        "asked": 2.988,
        "near": -0.194,
        "kind": 1.255,
        "place": 0.649,
        "first": 0.805,
        "best here": 2.42,
        "titled words": 1.358,
        "same code": 0.855,
        "other code": -0.454,
        "named": -1.487,
        "other name": -0.426,
        "nothing new": -5.196,
        "asks": -3.819,
        "far": 1.389,
        "subject": 0.435,
        "forms": -0.062,
        "a number": 2.298,
        "a date": 1.512,
        "a day": 1.034,
        "a place": 1.016,
        "kind full": -1.841,
        "place full": 3.801,
        "gap full": 1.08,
        "chain full": -1.34,
    },
    way={
        "constant": 2.002,
        "words": 2.369,
        "tokens": 2.879,
        "two": -1.766,
        "length": -8.585,
        "names": -1.203,
    },
)
# Fitted on statements of many kinds of documents as well; what these say too little of stays.
_OF_STATEMENTS = {
    "gap": 11.27,
    "asked": 0.57,
    "near": 1.71,
    "place": 2.35,
    "titled words": 2.05,
    "same code": 1.94,
    "other code": -1.04,
    "named": 0.7,
    "forms": 0.86,
    "follows": 13.18,
    "asked value": 2.51,
}
CHOOSING = replace(FITTED, one={**FITTED.one, **_OF_STATEMENTS}, way={**FITTED.way, "answers": 2.5})
