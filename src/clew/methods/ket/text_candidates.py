"""Rank the sub-chunks that fill the context: by keywords, or as the paper's rivals do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.keywords import keyword_cosines
from clew.algo.links import neighbours
from clew.algo.pool import pool_rows
from clew.algo.topk import top_k
from clew.index.snapshot import Snapshot
from clew.steps.subchunks import Texts

NEAR = "near the question"
_FIRST_KEYWORDS = 1_000  # nearly always enough to fill the pool


@dataclass(frozen=True, slots=True)
class TextCandidates:
    """Ranked sub-chunks, to print while they fit, and the reason for each."""

    channel: str
    rows: tuple[int, ...]
    keywords: dict[int, int] = field(default_factory=dict)  # the term that gave a row
    seeds: dict[int, int] = field(default_factory=dict)  # the row whose chunk a row's is near to
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # of the terms
    reasons: Mapping[int, str] = field(default_factory=dict)  # of terms, where it is not NEAR

    def score(self, term: int) -> float:
        """Return the cosine of a keyword to the query, or its influence."""
        return float(self.scores[term])

    def explain(self, term: int) -> str:
        """Say why a keyword was chosen for this question."""
        return self.reasons.get(term, NEAR)


NOTHING = TextCandidates("", ())


def find_by_keywords(
    snapshot: Snapshot, query: steps.Query, texts: Texts, pool: int, *, by_cosine: bool
) -> TextCandidates:
    """Rank the sub-chunks that contain the keywords nearest to the query.

    They have `pool` tokens together. Unless `by_cosine`, inner products with means are compared,
    which are short for frequent words.
    """
    sentence_terms = snapshot.link("sentence", "term")
    n_sentences = np.bincount(sentence_terms.indices, minlength=sentence_terms.shape[1])
    lengths = steps.keyword_lengths(snapshot) if by_cosine else n_sentences.astype(np.float32)
    scores = keyword_cosines(
        sentence_terms, steps.dense_scores(snapshot, "sentence", query), lengths
    )
    postings = snapshot.link("term", "subchunk")

    def get_posted(term: int) -> list[int]:
        rows = neighbours(postings, term)
        return list(rows[top_k(texts.cosines[rows], len(rows))].tolist())

    keywords = pool_rows(_iterate_best(scores), get_posted, texts.n_tokens, pool)
    rows = np.fromiter(keywords, dtype=np.intp, count=len(keywords))
    rows.sort()
    order = rows[top_k(texts.cosines[rows], len(rows))]
    return TextCandidates("keyword", tuple(order.tolist()), keywords=keywords, scores=scores)


def _iterate_best(scores: NDArray[np.float64]) -> Iterator[int]:
    """Yield the rows with a finite score, best first, sorted lazily."""
    finite = np.flatnonzero(np.isfinite(scores))
    first = finite[top_k(scores[finite], _FIRST_KEYWORDS)]
    yield from first.tolist()
    if len(first) < len(finite):
        yield from islice(finite[top_k(scores[finite], len(finite))].tolist(), len(first), None)


def find_nearest_texts(texts: Texts, budget: int) -> TextCandidates:
    """Return the sub-chunks nearest to the query (Text-RAG)."""
    return TextCandidates("text", tuple(_find_nearest(texts, budget)))


def find_with_neighbours(snapshot: Snapshot, texts: Texts, budget: int, k: int) -> TextCandidates:
    """Follow each of the nearest sub-chunks by those of neighbouring chunks (KNNG-RAG).

    Neighbours come by the cosine of their chunks.
    """
    graph, vectors = steps.chunk_graph(snapshot, k), snapshot.layer("chunk").vectors
    seeds: dict[int, int] = {}
    used = 0
    for row in _find_nearest(texts, budget):
        if used > budget:
            break
        chunk = int(texts.owners[row])
        near = neighbours(graph, chunk)
        near = near[top_k(vectors[near] @ vectors[chunk], len(near))]
        for part in (row, *(p for n in near for p in neighbours(texts.of_chunk, int(n)).tolist())):
            if part not in seeds:
                seeds[part] = row
                used += int(texts.n_tokens[part])
    return TextCandidates("text", tuple(seeds), seeds=seeds)


def _find_nearest(texts: Texts, budget: int) -> list[int]:
    """Return the nearest sub-chunks, enough to fill `budget` tokens."""
    return list(top_k(texts.cosines, budget + 1).tolist())
