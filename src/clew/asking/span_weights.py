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
        "AMOUNT": -2.266,
        "Ohio": 0.888,
        "a group": -3.392,
        "a person": -3.878,
        "by": 1.223,
        "comma": 0.598,
        "full name": 2.156,
        "in": 0.613,
        "like noun": 0.088,
        "logp": 1.407,
        "name NAME": 1.975,
        "name PHRASE": -1.457,
        "name TITLE": 2.571,
        "near": 3.159,
        "nested": -0.524,
        "no year": -5.359,
        "other title": 1.457,
        "share": -0.842,
        "type": 7.033,
        "type of noun": 0.724,
    },
    right={"constant": -0.684, "same": 1.233, "alike": 0.497, "logp": 0.369, "support": 2.068},
    compared=0.909,
    least=0.75,
)
