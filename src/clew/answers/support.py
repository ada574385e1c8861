"""Estimate how probably the evidence answers the question, without an LLM.

Three logistic models: for the whole of the evidence (`support`), for a hit (`relevance`), and for
quotes as an answer, whose support takes the place of the evidence's. No feature compares what was
found with the rest of the index, so a page alone is judged much as it is among thousands of others.
Which questions they were fitted on, and how well they tell answerable questions from others:
docs/guides/support.md. `benchmarks/support.py` fits them again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew import steps
from clew.algo.ascending import sort_distinct
from clew.algo.coding import multiply_rows
from clew.algo.links import neighbours
from clew.algo.topk import find_highest
from clew.text.analyze import terms
from clew.text.keys import name_key
from clew.text.languages import capitalizes_nouns
from clew.text.names import is_long_term
from clew.text.questions import find_joining, is_foreign_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clew.answers.sentence_features import QuoteFeatures
    from clew.base.types import Evidence
    from clew.index.snapshot import Snapshot
    from clew.models import Models

CALIBRATED = "all-MiniLM-L6-v2/"  # the embedder whose matches and cosines the weights are for
_ACROSS = "multilingual-e5-small/"  # one that finds texts that have no word of the question

_NAMED = 5  # hits among which a name is looked for
_LEAST = 1e-6  # a probability whose odds are taken
_UNKNOWN = 4.0  # by so much the odds are less where no word of a question is known
_FORM = 0.4  # a match with a form of a word, by its subwords
_READ = 10  # hits, and nearest chunks, that are read at all
_BESIDE = 1000  # chunks assumed beside those of the index: its size hardly changes a word's weight
_LARGEST = 10_000  # chunks of an index whose size still counts
_FOREIGN = 0.25  # the cosine of a statement in another language than English that counts, at most
_UNRELATED = 0.77  # the cosine of an unrelated chunk, by the multilingual embedder


class LogisticModel(NamedTuple):
    """A logistic model: the weight of each feature, and the intercept."""

    features: tuple[str, ...]
    weights: tuple[float, ...]
    constant: float

    def compute_probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (n,) probabilities of (n, m) features."""
        return np.asarray(1 / (1 + np.exp(-(features @ np.array(self.weights) + self.constant))))


_OF_SET = ("covered", "least", "named", "unknown names", "size")
# By token vectors of the calibrated embedder; by words for any other, set near the fit by hand, to
# refuse in every script; "near" is of the multilingual one, fitted on seven of the languages of
# `benchmarks/languages.py`. The methods of `Features` describe the features, in the same order.
SUPPORT = {
    "late": LogisticModel(
        features=(*_OF_SET, "cosine"),
        weights=(3.906, 3.332, 4.126, -2.209, -0.874, 5.648),
        constant=-6.458,
    ),
    "words": LogisticModel(
        features=(*_OF_SET, "unknown words"),
        weights=(2.7, 0.2, 1.7, -3.3, -0.4, -2.0),
        constant=-0.7,
    ),
    "near": LogisticModel(features=("nearest", "others"), weights=(78.95, -63.96), constant=-15.8),
}
RELEVANCE = {
    "late": LogisticModel(features=("covered", "cosine"), weights=(3.08, 6.241), constant=-6.211),
    "words": LogisticModel(features=("covered",), weights=(4.602,), constant=-3.779),
}


# What was retrieved, by the logarithm of the odds of its support, and `QuoteFeatures`.
QUOTES = LogisticModel(
    features=("retrieved", "missing", "whole", "unnamed"),
    weights=(1.0, -1.679, 0.945, -2.0),
    constant=1.241,
)
_OTHER_TIME = 0.2  # of the support of quotes that are of another time than the question asks for
_WHOLE = 0.5  # the support of a quote that has all words of the question, at least


def judge_quotes(evidence: Evidence, quotes: QuoteFeatures | None) -> Evidence:
    """Return the evidence with the support of the quoted answer.

    A quote with every word of a question, or of a keyword, is never refused by default.
    """
    if quotes is None or evidence.support is None:
        return evidence
    features = read_quotes(evidence.support, quotes)
    support = float(QUOTES.compute_probabilities(features[None])[0])
    support *= _OTHER_TIME if quotes.is_of_another_time else 1.0
    return replace(evidence, support=max(support, _WHOLE * (quotes.whole >= 1)))


def read_quotes(support: float, quotes: QuoteFeatures) -> NDArray[np.float64]:
    """Return the (m,) features for `QUOTES`: of the evidence's `support`, then of the quotes."""
    share = min(max(support, _LEAST), 1 - _LEAST)
    odds = float(np.log(share / (1 - share)))
    is_whole = float(quotes.whole >= 1)
    return np.array([odds, quotes.missing, is_whole, quotes.unnamed])


def judge_evidence(evidence: Evidence, snapshot: Snapshot, models: Models) -> Evidence:
    """Return the evidence with its support and the relevance of its hits, from 0 to 1.

    Both depend on the question, the index and the hits alone, whatever method found them. Chunks of
    an imported graph are judged by nothing: their hits, and evidence of nothing else, have None.
    Where nothing at all was found in texts, the support is 0.
    """
    chunks = snapshot.layer("chunk")
    if not evidence.hits:
        nothing = snapshot.are_texts().any() and not evidence.tables
        return replace(evidence, support=0.0 if nothing else None)
    of_hits = chunks.rows([hit.chunk_id for hit in evidence.hits])
    are_texts = snapshot.are_texts()
    rows = [row for row in dict.fromkeys(of_hits) if are_texts[row]]
    if not rows:
        return evidence
    features = Features(evidence.query, snapshot, models, rows)
    relevance = dict(zip(rows, features.estimate_relevance().tolist(), strict=True))
    pairs = zip(evidence.hits, of_hits, strict=True)
    hits = tuple(replace(hit, relevance=relevance.get(row)) for hit, row in pairs)
    return replace(evidence, hits=hits, support=features.estimate_support())


class Features:
    """The features of how well ranked chunks answer a query."""

    def __init__(self, query: str, snapshot: Snapshot, models: Models, rows: Sequence[int]) -> None:
        self._snapshot = snapshot
        self._rows = list(rows)
        whole = steps.read_query(models, query)
        coverage = steps.Coverage(snapshot, whole, beside=_BESIDE)
        embedder = str(snapshot.recipe.get("embedder", ""))
        # In a foreign script tokens are words, which forms of them match in part.
        self._is_foreign = is_foreign = whole.tokens is not None and bool(
            (whole.tokens.ids < 0).any()
        )
        self.is_late = coverage.is_late and not is_foreign and embedder.startswith(CALIBRATED)
        self._is_across = embedder.startswith(_ACROSS)
        self._query = whole
        if not (self.is_late or is_foreign):
            self._query = whole._replace(tokens=None)
            coverage = steps.Coverage(snapshot, self._query, beside=_BESIDE)
        self._coverage = coverage
        self._names = list(_find_names(models, query))
        self._has_nouns = is_foreign_question(query) and capitalizes_nouns(query)

    def estimate_support(self) -> float:
        """Return the probability that the chunks answer the query.

        By cosines too, where the embedder was trained on many languages.
        """
        fitted = SUPPORT["late" if self.is_late else "words"]
        support = float(fitted.compute_probabilities(self.of_set())[0])
        if self.is_late and self._lacks_query_words():
            support /= support + (1 - support) * _UNKNOWN
        if not self._is_across:
            return support
        _, cosines = steps.nearest(self._snapshot, "chunk", self._query, _READ)
        others = (cosines.sum() + (_READ - len(cosines)) * _UNRELATED) / _READ
        features = np.array([[self._cosines.max(), others]], dtype=np.float64)
        return max(support, float(SUPPORT["near"].compute_probabilities(features)[0]))

    def estimate_relevance(self) -> NDArray[np.float64]:
        """Return the probability that each chunk is needed for the answer."""
        fitted = RELEVANCE["late" if self.is_late else "words"]
        return fitted.compute_probabilities(self.of_chunks())

    def of_set(self) -> NDArray[np.float64]:
        """Return the (1, m) features of the chunks as a set.

        How well the two of the first ten that cover the query best match its tokens or words, rare
        ones weighing more; how well they match the word that they match least; how well some chunk
        of the first five matches the name that is matched least, or all words if there is no name;
        the share of the query's names that are no entity and no word of the index; and the power of
        ten of the index's chunks, since among more of them some match better by chance. With token
        vectors, also the highest cosine of a statement of the first ten; else the share of the
        words, by weight, that are not in the index.
        """
        first = self._matches[:_READ]
        one, other = np.triu_indices(len(first))
        pairs = np.maximum(first[one], first[other])
        covered = self._share(pairs)
        best = find_highest(covered)
        least = self._match_worst_word(pairs[best])
        size = np.log10(min(len(self._snapshot.layer("chunk")), _LARGEST))
        features = [covered[best], least, self._match_names(), self._unknown_names, size]
        features.append(self._nearest_statement() if self.is_late else self._unknown_words)
        return np.array([features])

    def of_chunks(self) -> NDArray[np.float64]:
        """Return the (n, m) features of the chunks, one row per chunk.

        How well it matches the tokens or words of the query; with token vectors, its cosine.
        """
        columns = [self._share(self._matches)]
        if self.is_late:
            columns.append(self._cosines.astype(np.float64))
        return np.stack(columns, axis=1)

    @cached_property
    def _matches(self) -> NDArray[np.float32]:
        return self._coverage.of("chunk", self._rows)

    @cached_property
    def _cosines(self) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = self._snapshot.layer("chunk").vectors[self._rows]
        return rows @ self._query.vector

    def _share(self, matches: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the means of (..., m) matches, weighted by how rare each token or word is."""
        weights = self._coverage.weights
        return np.asarray(matches @ (weights / max(weights.sum(), 1e-12)), dtype=np.float64)

    def _nearest_statement(self) -> float:
        """Return the highest cosine of the query to a unit of the first chunks, with its headings.

        The embedder finds any two texts of another language than English near to each other.
        """
        link = self._snapshot.linked("chunk", "unit")
        units = [neighbours(link, row) for row in self._rows[:_READ]]
        rows = sort_distinct(np.concatenate(units))
        if not len(rows):
            return float(self._cosines.max())
        cosines = multiply_rows(self._snapshot.layer("unit").vectors, rows, self._query.vector)
        most = _FOREIGN if is_foreign_question(self._query.text) else 1.0
        return min(float(cosines.max()), most)

    def _match_worst_word(self, matches: NDArray[np.floating]) -> float:
        """Return the mean of the (m,) matches within the word that matches worst."""
        starts, ends = self._coverage.spans.T
        inside = ((starts < end) & (ends > start) for start, end in self._coverage.weighty_words)
        means = [float(matches[tokens].mean()) for tokens in inside if tokens.any()]
        return min(means, default=float(self._share(matches)))

    def _match_names(self) -> float:
        """Return how well the first five chunks match the name that matches worst."""
        first, spans = self._matches[:_NAMED], self._coverage.spans
        parts = [(spans[:, 0] < end) & (spans[:, 1] > start) for _, start, end in self._names]
        best = [float(first[:, part].mean(axis=1).max()) for part in parts if part.any()]
        return min(best, default=float(self._share(first.max(axis=0))))

    @property
    def _unknown_names(self) -> float:
        keys = [name_key(name) for name, _, _ in self._names]
        entities = self._snapshot.layer("entity").rows(keys)
        words = self._snapshot.layer("term").rows(keys)
        places = zip(self._names, entities, words, strict=True)
        unknown = [
            entity < 0
            and word < 0
            and (" " in name or (start > 0 and not self._has_nouns))
            and not self._has_form(start, end)
            for (name, start, end), entity, word in places
        ]
        return sum(unknown) / max(len(unknown), 1)

    def _lacks_query_words(self) -> bool:
        """Check whether the index contains no word of a non-English question.

        Parts of its words are matched by chance then, by an embedder that knows English.
        """
        query, layer = self._query.text, self._snapshot.layer("term")
        if not is_foreign_question(query):
            return False
        joining = find_joining(query)
        words = [term for term in terms(query) if term not in joining]
        return max(layer.rows(words), default=-1) < 0

    def _has_form(self, start: int, end: int) -> bool:
        """Check whether a chunk has a form of a name of the query, in a foreign script."""
        if not self._is_foreign:
            return False
        begins, ends = self._coverage.spans.T
        matches = self._matches[:_READ, (begins < end) & (ends > start)]
        return bool(matches.size > 0 and matches.mean(axis=1).max() >= _FORM)

    @property
    def _unknown_words(self) -> float:
        is_known = np.array([row >= 0 for row in self._coverage.words], dtype=bool)
        is_known |= self._matches[:_READ].max(axis=0) >= _FORM
        return float(self._share((~is_known).astype(np.float64)))


def _find_names(models: Models, query: str) -> Iterator[tuple[str, int, int]]:
    """Yield each name in the query that is not a date, with its position."""
    [mentions] = models.tagger.tag([query])
    for each in mentions:
        name = query[each.start : each.end]
        if each.label != "DATE" and (each.label != "TERM" or is_long_term(name)):
            yield name, each.start, each.end
