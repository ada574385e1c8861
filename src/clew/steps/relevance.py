"""Match rows with a query token by token, and score them by the reranker."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import match_sorted, sort_distinct
from clew.algo.links import neighbours
from clew.base.runtime.lazy import compile_re
from clew.index.snapshot import Snapshot
from clew.models import Models, TokenVectors, is_late
from clew.models.maxsim import best_matches, blend, unit_rows, weighted_mean
from clew.steps.scores import Query, n_chunks, term_chunks
from clew.text.analyze import IDEOGRAPHS, term_spans, terms
from clew.text.names import FUNCTION
from clew.text.questions import find_foreign_asking, find_joining

Match = Callable[[TokenVectors, Sequence[NDArray[Any]]], NDArray[np.float32]]


_JOINED, _KATAKANA = compile_re(rf"[\u3041-\u309f{FUNCTION}]"), compile_re(r"[\u30a0-\u30ff]+")
_ENDING = 0.3  # the weight of a pair with hiragana or a word that joins, beside other words
_UNKNOWN = 0.5  # of one that the index has not, as each of its words is in two or three such pairs
# The weight of a stop word or mark: half of a word's that stands in every chunk, since no token of
# such is stored. So support is on average what it was with tokens of all words.
_COMMON = 0.5 * float(np.log1p(1.0))


# A code, and what a chunk without it meets of its pieces, if the index has it.
_CODE = compile_re(
    r"(?!\d+(?:st|nd|rd|th|['’]?s)?['’]?$)(?!\d{4}-\d\d(?:\d\d)?$)"  # "4th", "70's", "1914-18"
    r"(?=\D*\d)(?=.*[^\W\d]|.*[-_]).+|\d{5,}",
    re.IGNORECASE,
)
_OTHER_CODE = 0.5


class Coverage:
    """The match of a layer's rows with each query token; each row is read once.

    By stored token vectors, if the query has some of the same model; else tokens are words, which a
    row has or has not.
    """

    def __init__(
        self, snapshot: Snapshot, query: Query, match: Match | None = None, *, beside: int = 0
    ) -> None:
        """Weigh words as if `beside` more chunks were indexed, one in a hundred with each word."""
        self._snapshot = snapshot
        self._query = query
        self._match: Match = match or (
            lambda tokens, texts: best_matches(unit_rows(tokens.vectors), texts)
        )
        self._beside = beside
        self._matches: dict[str, NDArray[np.float32]] = {}  # by layer, in the order of reading
        self._places: dict[str, dict[int, int]] = {}  # of rows among these

    @cached_property
    def is_late(self) -> bool:
        """Whether stored token vectors are used."""
        return self._snapshot.recipe.get("vectors") == "late" and self._query.tokens is not None

    def of(self, layer: Literal["chunk", "unit"], rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the (n, m) matches of rows with the m tokens, about 0 to 1."""
        places, wanted = self._places.setdefault(layer, {}), list(map(int, rows))
        if new := [row for row in dict.fromkeys(wanted) if row not in places]:
            read = (self._match_vectors if self.is_late else self._match_words)(layer, new)
            before = [self._matches[layer]] if places else []
            self._matches[layer] = np.concatenate([*before, read])
            places.update(zip(new, count(len(places)), strict=False))
        if not wanted:
            return np.zeros((0, len(self.weights)), dtype=np.float32)
        return self._matches[layer][[places[row] for row in wanted]]

    def _match_vectors(self, layer: str, rows: Sequence[int]) -> NDArray[np.float32]:
        tokens = self._query.tokens
        assert tokens is not None  # noqa: S101 -- only called where is_late is true
        read = self._match(tokens, self._snapshot.layer(layer).token_vectors(rows))
        return self._match_codes(read, rows) if layer == "chunk" else read

    def _match_codes(self, read: NDArray[np.float32], rows: Sequence[int]) -> NDArray[np.float32]:
        """Lower the (n, m) matches of codes for chunks that have another code.

        The pieces of "SH-077" are near to those of "SH-107", which is something else.
        """
        begins, ends = self.spans.T
        for (start, end), term in zip(self._words.spans, self._words.rows, strict=True):
            if term >= 0 and _CODE.fullmatch(self._query.text, start, end):
                link = self._snapshot.linked("chunk", "term").entries_of(np.asarray(rows))
                lacks = [term not in neighbours(link, i) for i in range(len(rows))]
                inside = (begins < end) & (ends > start)
                read[np.ix_(lacks, inside)] *= _OTHER_CODE
        return read

    def _match_words(self, layer: str, rows: Sequence[int]) -> NDArray[np.float32]:
        of_words = np.array(self._words.rows, dtype=np.int64)
        if layer == "chunk":
            link = self._snapshot.linked("chunk", "term").entries_of(np.asarray(rows))
            owners, indices = link.owners, link.indices
        else:
            texts = self._snapshot.layer(layer).texts(rows)
            layer_of_terms = self._snapshot.layer("term")
            has = [layer_of_terms.rows(list(dict.fromkeys(terms(text)))) for text in texts]
            owners = np.repeat(np.arange(len(rows)), list(map(len, has)))
            indices = np.array([row for here in has for row in here], dtype=np.int64)
        words, places = np.unique(of_words, return_inverse=True)
        met = np.zeros((len(rows), len(words)), dtype=np.float32)
        entries, which = match_sorted(words, indices)
        met[owners[entries], which] = 1.0
        return np.where(of_words >= 0, met[:, places], np.float32(0))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The (m,) weight of each token: ln(1 + N / (1 + df)) of the word that it is part of."""
        words, tokens = self._words, self._query.tokens
        if not self.is_late or tokens is None:
            return words.weights
        if (tokens.ids < 0).all() and len(tokens.ids) == len(words.weights):
            return words.weights  # tokens are words, some of which overlap
        weights = np.zeros(len(tokens.ids))
        begins, ends = tokens.spans.T  # of tokens in their order, as words are
        for (start, end), weight in zip(words.spans, words.weights, strict=True):
            weights[np.searchsorted(ends, start, "right") : np.searchsorted(begins, end)] = weight
        return np.where(weights > 0, weights, _COMMON)

    @property
    def spans(self) -> NDArray[np.int32]:
        """The (m, 2) character ranges of the tokens or words in the query."""
        tokens = self._query.tokens
        if not self.is_late or tokens is None:
            return np.array(self._words.spans, dtype=np.int32).reshape(-1, 2)
        return tokens.spans

    @property
    def words(self) -> Sequence[int]:
        """The term row of each analysed word of the query, -1 if the index lacks it."""
        return self._words.rows

    @property
    def weighty_words(self) -> Sequence[tuple[int, int]]:
        """The character ranges of the analysed words with a weight."""
        words = self._words
        return [span for span, x in zip(words.spans, words.weights, strict=True) if x > 0]

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The (m, d) unit vectors of the tokens; (m, 0) if words are matched."""
        tokens = self._query.tokens
        if not self.is_late or tokens is None:
            return np.zeros((len(self.weights), 0), dtype=np.float32)
        return unit_rows(tokens.vectors)

    @cached_property
    def _words(self) -> "_Words":
        """The words of the query with their rarity in the index."""
        words = list(term_spans(self._query.text))
        rows = self._snapshot.layer("term").rows([term for term, _, _ in words])
        counts, is_term = np.zeros(len(rows)), np.array(rows, dtype=np.intp) >= 0
        counts[is_term] = term_chunks(self._snapshot, np.array(rows, dtype=np.intp)[is_term])
        n_all = n_chunks(self._snapshot) + self._beside
        weights = np.log1p(n_all / (counts + 1 + self._beside / 100))
        weights *= _weigh_words(self._query.text, words, is_term)
        return _Words([(start, end) for _, start, end in words], rows, weights)


def _weigh_words(
    text: str, words: Sequence[tuple[str, int, int]], is_term: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return (m,) weight factors of words: 1, or less for question and function words.

    Interrogatives of other languages weigh nothing, like stop words. In scripts without spaces
    terms are pairs of characters: an unknown pair next to a known one spans two words and weighs
    nothing, except in katakana; one in hiragana is an ending.
    """
    factors, joining = np.ones(len(words)), find_joining(text)
    _, (first, last) = find_foreign_asking(text) or ("name", (0, 0))
    for i, (term, start, end) in enumerate(words):
        beside = [j for j in (i - 1, i + 1) if 0 <= j < len(words) and is_term[j]]
        if term in joining or (start < last and end > first):
            factors[i] = 0.0
        elif term.isascii() or not IDEOGRAPHS.match(term) or _KATAKANA.fullmatch(term):
            continue
        elif _JOINED.search(term):
            factors[i] = _ENDING * is_term[i]
        elif not is_term[i]:
            factors[i] = _UNKNOWN * (
                not any(words[j][1] < end and words[j][2] > start for j in beside)
            )
    return factors


class _Words(NamedTuple):
    """The analysed words of a query: range, term row or -1, and weight of each."""

    spans: Sequence[tuple[int, int]]
    rows: Sequence[int]
    weights: NDArray[np.float64]


class Relevance:
    """The reranker's scores of units and chunks for a query; each row is read once.

    Where the index stores token vectors of the reranker's own model, no model runs.
    """

    def __init__(self, snapshot: Snapshot, models: Models, query: Query) -> None:
        self._snapshot = snapshot
        self._models = models
        self._query = query
        reranker = models.reranker
        match = reranker.matches if is_late(reranker) else None
        self._coverage = Coverage(snapshot, query, match)
        self._text_scores: dict[str, float] = {}

    def of_chunks(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """Return the (n,) scores of chunks, read with their titles."""
        if self._stored:
            cosines = self._snapshot.layer("chunk").vectors[list(rows)] @ self._query.vector
            matches = self._coverage.of("chunk", rows)
            return blend(weighted_mean(matches, self._coverage.weights), cosines)
        return self._score_texts(self._snapshot.titled_texts(rows))

    def of_unit_sets(self, sets: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """Return the (n,) scores of sets of equally many units, each read as one text."""
        layer = self._snapshot.layer("unit")
        own = np.array(sets).T
        units = sort_distinct(own.ravel())
        if self._stored:
            members = np.searchsorted(units, own)
            best = self._coverage.of("unit", units.tolist())[members].max(axis=0)
            sums = layer.vectors[units][members].sum(axis=0)
            lengths = np.maximum(np.linalg.norm(sums, axis=1), 1e-12)  # a zero sum has no cosine
            support = weighted_mean(best, self._coverage.weights)
            return blend(support, sums @ self._query.vector / lengths)
        texts = dict(zip(units.tolist(), layer.texts(units.tolist()), strict=True))
        return self._score_texts([" ".join(sorted(texts[unit] for unit in each)) for each in sets])

    def _score_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        new = list(dict.fromkeys(t for t in texts if t not in self._text_scores))
        if new:
            scores = self._models.reranker.score(self._query.text, new)
            self._text_scores.update(zip(new, scores.tolist(), strict=True))
        return np.array([self._text_scores[text] for text in texts])

    @cached_property
    def _stored(self) -> bool:
        reranker = self._models.reranker
        own = f"maxsim/{self._snapshot.recipe.get('embedder')}"
        return self._coverage.is_late and is_late(reranker) and reranker.name == own
