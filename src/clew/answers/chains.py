"""Pairs of statements that answer together: one names what another says the answer about.

"Colin Archer built the Fram" names who the builder was, and "Colin Archer was born in Larvik" says
where he was born. The question has the Fram, and not the name by which the two are linked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.text.phrases import overlap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.answers.sentence_features import SentenceFeatures

    Floats = NDArray[np.float64]


class Chains(NamedTuple):
    """The p linked pairs among n statements, each pair of two passages."""

    bridges: NDArray[np.intp]  # (p,) the statement that has the name
    answers: NDArray[np.intp]  # (p,) the statement that says something about it
    columns: Mapping[str, Floats]  # (p,) each feature
    gains: Mapping[str, float]  # what the best pair has of the question beyond the best statement

    def column(self, name: str, features: SentenceFeatures) -> Floats:
        """Return the (p,) values of a feature of the pairs, or of the sentences that end them."""
        return self.columns[name] if name in self.columns else features.columns[name][self.answers]

    def share_bridges(self, scores: Floats, n: int) -> tuple[Floats, NDArray[np.intp]]:
        """Return how probably each of n statements answers, and the likeliest bridge to it or -1.

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
    """Return the pairs of statements of two passages that a name links.

    The question's own names do not link, nor does the title that both passages have.
    """
    in_sentence, by_title, in_passage = _link_names(features)
    places, met, weights = features.places, features.met, features.reading.weights
    bridges, answers = np.nonzero((in_passage > 0) & (places[:, None] != places))
    together = np.maximum(met[bridges], met[answers]) @ weights
    named = [own - {title} for own, title in zip(features.own_keys, features.titles, strict=True)]
    pairs = list(zip(bridges.tolist(), answers.tolist(), strict=True))
    titled = np.array([features.titles[a] in named[b] for b, a in pairs], dtype=np.float64)
    first = np.array([s.is_first for s in features.sentences], dtype=np.float64)
    most = float(features.alone.max(initial=0.0))
    return Chains(
        bridges,
        answers,
        columns={
            "together": together,
            "link": in_sentence[bridges, answers],
            "back": by_title[bridges, answers],
            "passage": in_passage[bridges, answers],
            "titled": titled,
            "names asked": (met @ _weigh_names(features))[answers],
            "bridge place": 1 / np.sqrt(1 + places[bridges]),
            "bridge first": first[bridges],
        },
        gains={
            "linked": float(together.max(initial=most)) - most,
            "titled": float(together[titled > 0].max(initial=most)) - most,
        },
    )


def _link_names(features: SentenceFeatures) -> tuple[Floats, Floats, Floats]:
    """Return how rare the rarest name is that links a statement to another, three (n, n) arrays.

    By a name that the first has and the second, or its title, has as well; by the title of the
    first, which the second has; and by either, where any statement of the second's passage has it.
    1 for a name of two passages, 2 / 3 for one of three, and so on; 0 without a link.
    """
    n = len(features.places)
    in_sentence, by_title, in_passage = np.zeros((3, n, n))
    places = features.places.tolist()
    naming, titled, about = (_group_rows(each) for each in _read_names(features))
    rows_of = _group_rows([{place} for place in places])
    for key, having in about.items():
        within = {places[row] for row in having}
        if len(within) < 2:
            continue
        rarity, near = 2 / len(within), [row for place in within for row in rows_of[place]]
        own, below = naming.get(key, []), titled.get(key, [])
        for links, first, second in (
            (in_sentence, own, having),
            (by_title, below, [row for row in having if row not in below]),
            (in_passage, own, near),
            (in_passage, below, [row for row in near if row not in below]),
        ):
            block = np.ix_(first, second)
            links[block] = np.maximum(links[block], rarity)
    return in_sentence, by_title, in_passage


def _read_names(
    features: SentenceFeatures,
) -> tuple[list[set[str]], list[set[str]], list[set[str]]]:
    """Return for each statement the names in its own words, its title, and all that it has."""
    asked = features.question_keys
    titles = [{title} - asked - {""} for title in features.titles]
    rows = list(zip(features.own_keys, features.keys, titles, strict=True))
    return (
        [own - title - asked for own, _, title in rows],
        titles,
        [(keys - asked) | title for _, keys, title in rows],
    )


def _group_rows(keys: Sequence[set[Any]]) -> dict[Any, list[int]]:
    """Return the rows that have each key."""
    rows: dict[Any, list[int]] = {}
    for row, own in enumerate(keys):
        for key in own:
            rows.setdefault(key, []).append(row)
    return rows


def _weigh_names(features: SentenceFeatures) -> Floats:
    """Return the weights of the question's tokens in its names, whose sum is 1 if there are any."""
    names = [(m.start, m.end) for m in features.names]
    in_names = [any(overlap(span, name) for name in names) for span in features.reading.spans]
    weights = features.reading.weights * np.array(in_names, dtype=np.float64)
    return np.asarray(weights / max(float(weights.sum()), 1e-6))
