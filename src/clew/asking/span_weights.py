"""How likely a span of a quote is the short answer, by its signs.

`benchmarks/short_answers.py --fit` prints the weights; on which questions they were fitted, and how
often a short answer is given and right: docs/guides/answers.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.asking.answer_spans import CandidateSpan

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SpanModel:
    """A softmax model over the spans of a question, and a logistic one of the best being right.

    `compared` is the probability that the outcome of a comparison is right. Nothing less probable
    than `least` is given: above it four of five are right.
    """

    span: Mapping[str, float]  # the weights of signs
    right: Mapping[str, float]  # of what tells that the best span is right
    compared: float
    least: float

    def score(self, signs: Sequence[Mapping[str, float]]) -> Floats:
        """Return the (n,) scores of spans, from their signs that are not 0."""
        weights = self.span
        scores = [sum(weights.get(name, 0.0) * v for name, v in each.items()) for each in signs]
        return np.array(scores, dtype=np.float64)

    def estimate(self, signs: Mapping[str, float]) -> float:
        """Return the probability that the best span is right, from the signs of that."""
        weighted = sum(weight * signs[name] for name, weight in self.right.items())
        return float(1 / (1 + np.exp(-weighted)))


def share_scores(scores: Floats) -> Floats:
    """Return the (n,) shares of the scores of n > 0 spans; their sum is 1."""
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


def read_confidence(
    spans: Sequence[CandidateSpan],
    scores: Floats,
    signs: Sequence[Mapping[str, float]],
    support: float | None,
) -> tuple[int, dict[str, float]]:
    """Return the row of the best of n > 0 spans, and what tells that it is right.

    How much of all shares the spans of the same text have, and those that hold it or that it
    holds; how likely its sentence is; the evidence's support.
    """
    best, shares = int(np.argmax(scores)), share_scores(scores)
    texts = [span.text.casefold() for span in spans]
    same = np.array([text == texts[best] for text in texts])
    alike = np.array([text in texts[best] or texts[best] in text for text in texts])
    return best, {
        "constant": 1.0,
        "same": float(np.log(shares[same].sum())),
        "alike": float(np.log(shares[alike].sum())),
        "logp": signs[best].get("logp", 0.0),
        "support": support or 0.0,
    }


FITTED = SpanModel(
    span={
        "AMOUNT": -2.288,
        "Ohio": 1.025,
        "a group": -3.368,
        "a person": -3.803,
        "by": 1.252,
        "comma": 0.581,
        "full name": 2.192,
        "in": 0.351,
        "like noun": -0.062,
        "logp": 1.458,
        "name NAME": 1.961,
        "name PHRASE": -1.451,
        "name TITLE": 2.626,
        "near": 3.107,
        "nested": -0.541,
        "no year": -5.49,
        "other title": 1.294,
        "share": -0.701,
        "type": 7.03,
        "type of noun": 0.707,
    },
    right={"constant": -0.506, "same": 1.298, "alike": 0.567, "logp": 0.544, "support": 2.085},
    compared=0.909,
    least=0.65,
)
