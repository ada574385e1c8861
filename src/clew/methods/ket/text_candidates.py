"""What fills the context beside the graph: sub-chunks by keywords, or as the paper's rivals do."""

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
from clew.methods.ket.texts import Texts
from clew.snapshot import Snapshot

NEAR = "near the question"
_FIRST_KEYWORDS = 1_000  # nearly always enough to fill the pool


@dataclass(frozen=True, slots=True)
class TextCandidates:
    """Sub-chunks to print while they fit, best first, and what led to each."""

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
        """Say why a keyword is one of this question."""
        return self.reasons.get(term, NEAR)


NOTHING = TextCandidates("", ())


def find_by_keywords(
    snapshot: Snapshot, query: steps.Query, texts: Texts, pool: int, *, common: float
) -> TextCandidates:
    """Return the sub-chunks of the keywords nearest to the query, the nearest of them first.

    The keywords give `pool` tokens of them. Those in more than a share `common` of the sub-chunks
    give none.
    """
    scores = keyword_cosines(
        snapshot.link("sentence", "term"),
        steps.dense_scores(snapshot, "sentence", query),
        steps.keyword_lengths(snapshot),
    )
    postings = snapshot.link("term", "subchunk")
    frequent = np.diff(postings.indptr) > common * postings.shape[1]
    scores = np.where(frequent, -np.inf, scores)

    def get_posted(term: int) -> list[int]:
        rows = neighbours(postings, term)
        nearest_first: list[int] = rows[top_k(texts.cosines[rows], len(rows))].tolist()
        return nearest_first

    found = pool_rows(_iterate_best(scores), get_posted, texts.n_tokens, pool)
    rows = np.fromiter(found, dtype=np.intp, count=len(found))
    rows.sort()
    order = rows[top_k(texts.cosines[rows], len(rows))]
    return TextCandidates("keyword", tuple(order.tolist()), keywords=found, scores=scores)


def _iterate_best(scores: NDArray[np.float64]) -> Iterator[int]:
    """Yield the rows with a finite score, best first; few are sorted unless more are asked for."""
    finite = np.flatnonzero(np.isfinite(scores))
    first = finite[top_k(scores[finite], _FIRST_KEYWORDS)]
    yield from first.tolist()
    if len(first) < len(finite):
        yield from islice(finite[top_k(scores[finite], len(finite))].tolist(), len(first), None)


def find_nearest_texts(texts: Texts, budget: int) -> TextCandidates:
    """Return the sub-chunks nearest to the query (Text-RAG)."""
    return TextCandidates("text", tuple(_find_nearest(texts, budget)))


def find_with_neighbours(snapshot: Snapshot, texts: Texts, budget: int, k: int) -> TextCandidates:
    """Return each of the nearest sub-chunks with those of its chunk's neighbours (KNNG-RAG).

    Neighbours come by the cosine of their chunks.
    """
    graph, vectors = steps.chunk_graph(snapshot, k), snapshot.layer("chunk").vectors
    found: dict[int, int] = {}
    used = 0
    for row in _find_nearest(texts, budget):
        if used > budget:
            break
        chunk = int(texts.owners[row])
        near = neighbours(graph, chunk)
        near = near[top_k(vectors[near] @ vectors[chunk], len(near))]
        for part in (row, *(p for n in near for p in neighbours(texts.of_chunk, int(n)).tolist())):
            if part not in found:
                found[part] = row
                used += int(texts.n_tokens[part])
    return TextCandidates("text", tuple(found), seeds=found)


def _find_nearest(texts: Texts, budget: int) -> list[int]:
    """Return the nearest sub-chunks, at least as many as fit into `budget` tokens."""
    found: list[int] = top_k(texts.cosines, budget + 1).tolist()
    return found
