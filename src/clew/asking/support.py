"""How probably what was found answers the question, by signs that need no LLM.

Three logistic models: for the whole of the evidence (`support`), for a hit (`relevance`), and for
quotes as an answer, whose support takes the place of the evidence's.
Which questions they were fitted on, and how well they tell answerable questions from others:
docs/guides/support.md. `benchmarks/support.py` fits them again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from clew import steps
from clew.text.analyze import terms
from clew.text.keys import name_key
from clew.text.languages import capitalizes_nouns
from clew.text.names import is_long_term
from clew.text.questions import find_joining, is_foreign_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clew.asking.sentence_signs import QuoteSigns
    from clew.models import Models
    from clew.snapshot import Snapshot
    from clew.types import Evidence

CALIBRATED = "all-MiniLM-L6-v2/"  # the embedder whose matches and cosines the weights are for
_ACROSS = "multilingual-e5-small/"  # one that finds texts that have no word of the question

_NAMED = 5  # hits among which a name is looked for
_LEAST = 1e-6  # a probability whose odds are taken
_UNKNOWN = 4.0  # by so much the odds are less where no word of a question is known
_FORM = 0.4  # a match with a form of a word, by its subwords
_READ = 10  # hits, and nearest chunks, that are read at all


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticModel:
    """A logistic model: the weight of each sign, and what is added to them."""

    signs: tuple[str, ...]
    weights: tuple[float, ...]
    constant: float

    def compute_probabilities(self, signs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (n,) probabilities of (n, m) signs."""
        return np.asarray(1 / (1 + np.exp(-(signs @ np.array(self.weights) + self.constant))))


# By token vectors of the calibrated embedder, and by words for any other; "near" is of the
# multilingual one, fitted on seven of the languages of `benchmarks/languages.py`. The signs of
# each are described at the methods of `Signs` that give them, in the same order.
SUPPORT = {
    "late": LogisticModel(
        signs=("covered", "named", "unknown names", "nearest", "others"),
        weights=(8.1, 4.949, -1.891, 7.379, -5.781),
        constant=-10.141,
    ),
    "words": LogisticModel(
        signs=("covered", "named", "unknown names", "unknown words"),
        weights=(2.255, 1.911, -2.317, -3.537),
        constant=-2.028,
    ),
    "near": LogisticModel(signs=("nearest", "others"), weights=(78.95, -63.96), constant=-15.8),
}
RELEVANCE = {
    "late": LogisticModel(
        signs=("covered", "named", "cosine"), weights=(3.764, 0.174, 4.872), constant=-5.929
    ),
    "words": LogisticModel(signs=("covered", "named"), weights=(3.027, 1.132), constant=-3.504),
}


# What was retrieved, by the logarithm of the odds of its support, and `QuoteSigns`.
QUOTES = LogisticModel(
    signs=("retrieved", "likely", "missing", "whole", "unnamed", "far"),
    weights=(0.619, 2.878, -1.303, 1.769, -0.972, 1.061),
    constant=-1.759,
)
_ROW = 0.3  # the support of a row of a table that has all names and codes of it, at least
_WHOLE = 0.5  # the support of a quote that has all words of the question, at least


def judge_quotes(evidence: Evidence, quotes: QuoteSigns | None) -> Evidence:
    """Return the evidence with the support of the answer that quotes give.

    A quote with every word of a question, or of a keyword, is never refused by default, nor is a
    row of a table with every name and code.
    """
    if quotes is None or evidence.support is None:
        return evidence
    signs = read_quote_signs(evidence.support, quotes)
    support = float(QUOTES.compute_probabilities(signs[None])[0])
    least = max(_WHOLE * (quotes.whole >= 1), _ROW * quotes.row)
    return replace(evidence, support=max(support, least))


def read_quote_signs(support: float, quotes: QuoteSigns) -> NDArray[np.float64]:
    """Return the (m,) inputs of the model `QUOTES`: the evidence's `support`, then the quotes'."""
    share = min(max(support, _LEAST), 1 - _LEAST)
    odds = float(np.log(share / (1 - share)))
    is_whole = float(quotes.whole >= 1)
    return np.array(
        [odds, quotes.likely, quotes.missing, is_whole, quotes.unnamed, quotes.far],
        dtype=np.float64,
    )


def judge_evidence(evidence: Evidence, snapshot: Snapshot, models: Models) -> Evidence:
    """Return the evidence with its support and its hits' relevance, both from 0 to 1.

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
    signs = Signs(evidence.query, snapshot, models, rows)
    relevance = dict(zip(rows, signs.estimate_relevance().tolist(), strict=True))
    pairs = zip(evidence.hits, of_hits, strict=True)
    hits = tuple(replace(hit, relevance=relevance.get(row)) for hit, row in pairs)
    return replace(evidence, hits=hits, support=signs.estimate_support())


class Signs:
    """What can be seen of how well chunks, in their order, answer a query."""

    def __init__(self, query: str, snapshot: Snapshot, models: Models, rows: Sequence[int]) -> None:
        self._snapshot = snapshot
        self._rows = list(rows)
        whole = steps.read_query(models, query)
        late = steps.Coverage(snapshot, whole)
        embedder = str(snapshot.recipe.get("embedder", ""))
        # In a foreign script tokens are words, which forms of them match in part.
        self._is_foreign = is_foreign = whole.tokens is not None and bool(
            (whole.tokens.ids < 0).any()
        )
        self.is_late = late.is_late and not is_foreign and embedder.startswith(CALIBRATED)
        self._is_across = embedder.startswith(_ACROSS)
        self._query = whole if self.is_late or is_foreign else replace(whole, tokens=None)
        self._coverage = late if self._query is whole else steps.Coverage(snapshot, self._query)
        self._names = list(_find_names(models, query))
        self._has_nouns = is_foreign_question(query) and capitalizes_nouns(query)

    def estimate_support(self) -> float:
        """Return how probably the chunks answer the query.

        By cosines too, where the embedder was trained on many languages.
        """
        fitted = SUPPORT["late" if self.is_late else "words"]
        support = float(fitted.compute_probabilities(self.set_signs())[0])
        if self.is_late and self._knows_nothing():
            support /= support + (1 - support) * _UNKNOWN
        if not self._is_across:
            return support
        _, cosines = steps.nearest(self._snapshot, "chunk", self._query, _READ)
        signs = np.array([[self._cosines.max(), cosines.mean()]], dtype=np.float64)
        return max(support, float(SUPPORT["near"].compute_probabilities(signs)[0]))

    def estimate_relevance(self) -> NDArray[np.float64]:
        """Return how probably each chunk is one that the answer needs."""
        fitted = RELEVANCE["late" if self.is_late else "words"]
        return fitted.compute_probabilities(self.chunk_signs())

    def set_signs(self) -> NDArray[np.float64]:
        """Return the (1, m) signs of the chunks together.

        How well the best two of ten meet the query's tokens or words, the rarer the more. How well
        some chunk of the first five meets the name that is met least; without a name, all words.
        The share of the query's names that are no entity and no word of the index. With token
        vectors, the highest cosine of a chunk, and how well the ten chunks of the index that are
        nearest meet the query in the mean: if all do, that says less of the best. Else the share of
        the words, by weight, that are not in the index.
        """
        first = self._matches[:_READ]
        pairs = self._share(np.maximum(first[:, None], first[None]))
        signs = [float(pairs.max()), self._least_named(), self._unknown_names]
        if self.is_late:
            signs += [float(self._cosines.max()), float(self._share(self._nearest).mean())]
        else:
            signs.append(self._unknown_words)
        return np.array([signs])

    def chunk_signs(self) -> NDArray[np.float64]:
        """Return the (n, m) features of the chunks found, a row for each chunk by itself.

        How well it meets the tokens or words of the query, and how well its names in the mean;
        with token vectors, its cosine.
        """
        columns = [self._share(self._matches), self._mean_named()]
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

    @property
    def _nearest(self) -> NDArray[np.float32]:
        rows, _ = steps.nearest(self._snapshot, "chunk", self._query, _READ)
        return self._coverage.of("chunk", rows.tolist())

    def _share(self, matches: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the means of (..., m) matches, weighted by how rare each token or word is."""
        weights = self._coverage.weights
        return np.asarray(matches @ (weights / max(weights.sum(), 1e-12)), dtype=np.float64)

    @cached_property
    def _parts(self) -> list[NDArray[np.intp]]:
        """The tokens or words of each name, of all words where there is none."""
        spans = self._coverage.spans
        inside = [
            np.flatnonzero((spans[:, 0] < end) & (spans[:, 1] > start))
            for _, start, end in self._names
        ]
        return [each for each in inside if len(each)]

    def _least_named(self) -> float:
        first = self._matches[:_NAMED]
        if not self._parts:
            return float(self._share(first.max(axis=0)))
        return min(float(first[:, part].mean(axis=1).max()) for part in self._parts)

    def _mean_named(self) -> NDArray[np.float64]:
        if not self._parts:
            return self._share(self._matches)
        means = [self._matches[:, part].mean(axis=1) for part in self._parts]
        return np.asarray(np.mean(means, axis=0), dtype=np.float64)

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

    def _knows_nothing(self) -> bool:
        """Say whether the index has no word of a question in another language than English.

        Parts of its words are matched by chance then, by an embedder that knows English.
        """
        query, layer = self._query.text, self._snapshot.layer("term")
        if not is_foreign_question(query):
            return False
        joining = find_joining(query)
        words = [term for term in terms(query) if term not in joining]
        return max(layer.rows(words), default=-1) < 0

    def _has_form(self, start: int, end: int) -> bool:
        """Say whether a chunk has a form of a name of the query, in a foreign script."""
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
    """Yield each name in the query that is no date, with its place."""
    [mentions] = models.tagger.tag([query])
    for each in mentions:
        name = query[each.start : each.end]
        if each.label != "DATE" and (each.label != "TERM" or is_long_term(name)):
            yield name, each.start, each.end
