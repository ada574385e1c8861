"""Score how well walks match a question: word by word, or as one text."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clew.models import Embedder
from clew.steps.graph_paths.asked import QuestionPhrases
from clew.steps.graph_paths.relations import Relations
from clew.steps.graph_paths.steps_graph import Walk

_UNSAID = 1.5  # a step that no phrase speaks of costs this
_BACK_UNSAID = 0.9  # less where it only goes back along the relation that one came by
_MORE = 0.7  # share that a further phrase counts which speaks of the same step
_UNMATCHED = 1.0  # share that such a phrase costs where it is to speak of a step of its own
_TYPE, _CONTRAST = 2.5, 2.5  # weights of what stands at the end, like what is asked for
_DATELESS = 8.0  # a walk to names without a digit costs this for "when": more than words can say
_DATE = 2.0  # one to names with a digit for "who" and "where"
_HOP = 0.3  # each step after the first costs this
_AGAIN = 0.6  # for going back, where the question says "same", "also", "share"
_REPEAT = 0.5  # the same step twice in a row costs this
_ZIGZAG = 1.1  # there, back and there again costs this
_ROLE = 0.3  # a step whose name has one of these costs this if the question lacks it, else gains
_KNOWN = 0.5  # a phrase that is nearer to some relation speaks of one
_OWN = 0.8  # of that nearness, in a walk that has all that a question says
_WORD = re.compile(r"\w+")
_ROLES = frozenset({"after", "against", "for", "from", "to", "with"})


class ByWords:
    """Scores walks by aligned phrases, the type of their end, and few steps.

    A walk is aligned with the phrases of the question, both in order. A phrase that matches its
    step adds its nearness; one that matches another relation costs as much, and so does a step
    without a phrase.
    """

    def __init__(self, relations: Relations, question: QuestionPhrases, embedder: Embedder) -> None:
        words = [word for phrase in question.phrases for word in phrase]
        near = relations.compute_nearness(words, embedder)
        bounds = np.cumsum([0, *map(len, question.phrases)])[:-1]
        phrases = np.maximum.reduceat(near, bounds, axis=0) if words else near
        self.near = phrases  # (n_phrases, r)
        self._optional = np.array(question.optional, dtype=bool)
        self._phrases: list[list[float]] = phrases.tolist()
        self._lost = np.maximum(phrases, 0.0).max(axis=1, initial=0.0).tolist()
        self._apart = question.apart
        self._again = question.again
        self._types = _match_types(relations, question, embedder)
        self._roles = _match_roles(relations, question)
        self._aligned: dict[tuple[int, ...], float] = {}

    def score(self, walks: Sequence[Walk]) -> NDArray[np.float64]:
        """Return the (n,) scores of walks."""
        return np.array([self._score(walk) for walk in walks])

    def match_all(self, walk: Walk) -> bool:
        """Check whether each phrase has a close relation in a walk, and each relation a phrase."""
        near = self.near[:, [step // 2 for step in walk]]
        nearest = self.near.max(axis=1, initial=-np.inf)
        is_met = near.max(axis=1, initial=-np.inf) >= _OWN * nearest
        is_said = near.max(axis=0, initial=-np.inf) >= _KNOWN
        return bool((is_met | (nearest < _KNOWN) | self._optional).all() and is_said.all())

    def _score(self, walk: Walk) -> float:
        back = [i > 0 and step == walk[i - 1] ^ 1 for i, step in enumerate(walk)]
        twice = 0 if any(self._apart) else sum(a == b for a, b in pairwise(walk))
        zigzag = sum(a == c == b ^ 1 for a, b, c in zip(walk, walk[1:], walk[2:], strict=False))
        again = _AGAIN * sum(back) if self._again else 0.0
        end = float(self._types[walk[-1]])
        # Whether a step goes back follows from the others only with its direction.
        key = tuple(2 * (step // 2) + is_back for step, is_back in zip(walk, back, strict=True))
        if key not in self._aligned:
            self._aligned[key] = self._align([step // 2 for step in walk], back)
        odd = _HOP * (len(walk) - 1) + _REPEAT * twice + _ZIGZAG * zigzag
        odd -= _ROLE * sum(self._roles.get(step // 2, 0) for step in walk)
        return self._aligned[key] + end + again - odd

    def _align(self, relations: Sequence[int], back: Sequence[bool]) -> float:
        """Return the score of the best alignment of n relations with m phrases, in O(n m)."""
        skips = [_BACK_UNSAID if is_back else _UNSAID for is_back in back]
        row = [0.0]
        for skip in skips:
            row.append(row[-1] - skip)
        for near, lost, apart in zip(self._phrases, self._lost, self._apart, strict=True):
            more = -_UNMATCHED if apart else _MORE
            after = [row[0] - lost]
            for j, (relation, skip) in enumerate(zip(relations, skips, strict=True), 1):
                gain = near[relation]
                best = max(row[j] - lost, row[j] + more * gain, row[j - 1] + gain)
                after.append(max(best, after[j - 1] - skip))
            row = after
        return row[-1]


class ByText:
    """Scores walks by the cosine of their relations, as one text, to the question without names.

    This is what a plain method does, to compare with.
    """

    def __init__(self, relations: Relations, question: QuestionPhrases, embedder: Embedder) -> None:
        self._relations = relations
        self._embedder = embedder
        self._vector = relations.embed([question.rest], embedder)[0]
        self.near = np.zeros((0, len(relations.labels)))

    def match_all(self, walk: Walk) -> bool:  # noqa: ARG002 -- as of words
        """Return False: a text has no phrases to match."""
        return False

    def score(self, walks: Sequence[Walk]) -> NDArray[np.float64]:
        """Return the (n,) scores of walks."""
        labels = self._relations.labels
        texts = [" ".join(labels[step // 2] for step in walk) for walk in walks]
        vectors = self._relations.embed(texts, self._embedder)
        return np.asarray(vectors @ self._vector, dtype=np.float64)


def _match_roles(relations: Relations, question: QuestionPhrases) -> dict[int, int]:
    """Return -1 for relations with a preposition such as "for" that the question lacks, else 1."""
    own = set(_WORD.findall(question.rest.casefold()))
    words = (_ROLES.intersection(label.casefold().split()) for label in relations.labels)
    return {i: 1 if forms <= own else -1 for i, forms in enumerate(words) if forms}


def _date_costs(relations: Relations, wanted: str) -> NDArray[np.float64]:
    """Return (2 r,) penalties for steps that end at dates, or not, against the question."""
    if wanted == "when":
        return _DATELESS * (relations.dated - 1.0)
    if wanted in {"who", "whom", "where"}:
        return -_DATE * relations.dated
    return np.zeros(len(relations.dated))


def _match_types(
    relations: Relations, question: QuestionPhrases, embedder: Embedder
) -> NDArray[np.float64]:
    """Return the (2 r,) similarity of the names at each step's end to the type asked for."""
    if not question.wanted:
        return np.zeros(len(relations.ends))
    wanted = relations.embed([question.wanted], embedder)[0]
    other = wanted - relations.interrogatives
    other = other / max(float(np.linalg.norm(other)), 1e-9)
    like = _TYPE * (relations.ends @ wanted) + _CONTRAST * (relations.ends @ other)
    return np.asarray(like, dtype=np.float64) + _date_costs(relations, question.wanted)
