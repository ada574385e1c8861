"""Chains of two statements: one resolves a name, the other answers about that name.

"Colin Archer built the Fram" names who the builder was, and "Colin Archer was born in Larvik" says
where he was born. The question has the Fram, and not the name by which the two are linked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.text.phrases import overlap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clew.answers.sentence_features import SentenceFeatures

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chains:
    """The p linked pairs among n statements; the two come from different passages."""

    bridges: NDArray[np.intp]  # (p,) the statement that has the name
    answers: NDArray[np.intp]  # (p,) the statement that says something about it
    columns: Mapping[str, Floats]  # (p,) each feature
    gains: Mapping[str, float]  # what the best pair has of the question beyond the best statement

    def column(self, name: str, features: SentenceFeatures) -> Floats:
        """Return the (p,) values of a feature of the pairs, or of their last sentences."""
        return self.columns[name] if name in self.columns else features.columns[name][self.answers]

    def share_bridges(self, scores: Floats, n: int) -> tuple[Floats, NDArray[np.intp]]:
        """Return the answer probability of each of n statements, and its likeliest bridge or -1.

        `scores` are the (p,) logits of the pairs; the probabilities of all pairs sum to 1.
        """
        shares = np.exp(scores - scores.max(initial=-np.inf))
        shares /= shares.sum() or 1.0
        best = np.full(n, -1, dtype=np.intp)
        order = np.argsort(shares, kind="stable")  # the likeliest is written last
        best[self.answers[order]] = self.bridges[order]
        ends = np.bincount(self.answers, weights=shares, minlength=n).astype(np.float64)
        return ends, best


def find_chains(features: SentenceFeatures) -> Chains:
    """Return the pairs of statements that share a name absent from the question."""
    links, places, met = _link_names(features), features.places, features.met
    weights = features.reading.weights
    bridges, answers = np.nonzero((links > 0) & (places[:, None] != places))
    together = np.maximum(met[bridges], met[answers]) @ weights
    named = [keys - {title} for keys, title in zip(features.keys, features.titles, strict=True)]
    pairs = list(zip(bridges.tolist(), answers.tolist(), strict=True))
    titled = np.array([features.titles[a] in named[b] for b, a in pairs], dtype=np.float64)
    in_names = _weigh_names(features)
    first = np.array([s.is_first for s in features.sentences], dtype=np.float64)
    most = float(features.alone.max(initial=0.0))
    return Chains(
        bridges,
        answers,
        columns={
            "together": together,
            "link": links[bridges, answers],
            "titled": titled,
            "names asked": (met @ in_names)[answers],
            "bridge place": 1 / np.sqrt(1 + places[bridges]),
            "bridge first": first[bridges],
        },
        gains={
            "linked": float(together.max(initial=most)) - most,
            "titled": float(together[titled > 0].max(initial=most)) - most,
        },
    )


def _link_names(features: SentenceFeatures) -> Floats:
    """Return (n, n): the rarest name that one sentence shares with another sentence or its title.

    1 for a name of two passages, 2 / 3 for one of three, and so on. The question's own names do
    not link, nor does what the passage of the first sentence is about.
    """
    naming: dict[str, list[int]] = {}
    about: dict[str, list[int]] = {}
    for i, (keys, title) in enumerate(zip(features.keys, features.titles, strict=True)):
        for key in keys - {title} - features.question_keys:
            naming.setdefault(key, []).append(i)
        for key in (keys | {title}) - features.question_keys:
            about.setdefault(key, []).append(i)
    places = features.places.tolist()
    links = np.zeros((len(places), len(places)))
    for key, rows in naming.items():
        n_passages = len({places[row] for row in about[key]})
        if n_passages > 1:
            block = np.ix_(rows, about[key])
            links[block] = np.maximum(links[block], 2 / n_passages)
    return links


def _weigh_names(features: SentenceFeatures) -> Floats:
    """Return the weights of question tokens inside names; they sum to 1 unless all are 0."""
    names = [(m.start, m.end) for m in features.names]
    in_names = [any(overlap(span, name) for name in names) for span in features.reading.spans]
    weights = features.reading.weights * np.array(in_names, dtype=np.float64)
    return np.asarray(weights / max(float(weights.sum()), 1e-6))
