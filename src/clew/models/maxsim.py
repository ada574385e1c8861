"""Rerankers on the embedder's own vectors; by default late interaction over tokens.

Query tokens weigh by how rare their word is in the index; half the cosine of the whole texts is
added. An index that stores token vectors is scored without running the model again.

Late interaction is by Khattab and Zaharia (2020), "ColBERT", arXiv:2004.12832: the best match of
each query token among a text's tokens, score = Σ_i max_j q_i · d_j.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.coding import multiply
from clew.models import Embedder, TokenEmbedder, TokenVectors
from clew.models.run import ModelRun, call_model

COSINE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class MaxSim:
    """Late interaction between a query and texts, with equal weights of query tokens."""

    embedder: TokenEmbedder

    @property
    def name(self) -> str:
        return f"maxsim/{self.embedder.name}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        tokens, *read = self.embedder.embed_tokens([query, *texts])
        matches = best_matches(unit_rows(tokens.vectors), [unit_rows(t.vectors) for t in read])
        cosines = np.stack([t.pooled for t in read]) @ tokens.pooled
        return blend(weighted_mean(matches, np.ones(len(tokens.ids))), cosines)

    def matches(self, query: TokenVectors, texts: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        return best_matches(unit_rows(query.vectors), texts)


def blend(late: NDArray[np.floating], cosines: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the (n,) scores of the reranker from its two parts."""
    return np.asarray(late + COSINE_WEIGHT * cosines, dtype=np.float64)


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale (n, d) rows to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = np.divide(
        vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0
    )
    return scaled


@dataclass(frozen=True, slots=True)
class Cosine:
    """A fallback for embedders without token vectors; it adds nothing to dense search."""

    embedder: Embedder

    @property
    def name(self) -> str:
        return f"cosine/{self.embedder.name}"

    def score(
        self, query: str, texts: Sequence[str], *, run: ModelRun | None = None
    ) -> NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        [vector] = call_model(run, self.embedder.embed, [query], kind="query")
        rows = call_model(run, self.embedder.embed, texts, kind="document")
        return np.asarray(rows @ vector, dtype=np.float64)


def best_matches(
    query: NDArray[np.float32], texts: Sequence[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return (n, m): the best match in each of n texts for each of the (m, d) `query` tokens.

    A text is (t, d) token vectors of length one; one without tokens matches nothing (zeros).
    """
    lengths = np.array([len(text) for text in texts], dtype=np.intp)
    best = np.zeros((len(texts), len(query)), dtype=np.float32)
    full = np.flatnonzero(lengths).tolist()
    if not full or not len(query):
        return best
    # Tokens of all texts in one array would take longer to copy than to multiply.
    similarity = np.concatenate([multiply(texts[i], query.T) for i in full])
    starts = np.concatenate([[0], np.cumsum(lengths[full])[:-1]])
    best[full] = np.maximum.reduceat(similarity, starts, axis=0)
    return best


def weighted_mean(
    matches: NDArray[np.floating], weights: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the (n,) scores of (n, m) matches under (m,) token weights >= 0."""
    total = float(weights.sum())
    if not total > 0:
        return np.zeros(len(matches))
    return np.asarray(matches @ (weights / total), dtype=np.float64)
