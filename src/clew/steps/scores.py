"""The query as models see it, and scores of all rows of a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.algo.bm25 import bm25_scores, bm25_weights
from clew.algo.fusion import mean_of_min_max, reciprocal_rank_fusion
from clew.derived import Derived
from clew.models import Models, gives_tokens
from clew.text.analyze import terms
from clew.types import Snapshot, TokenVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Query:
    """A query as the models see it."""

    text: str
    vector: NDArray[np.float32]  # (d,), unit length
    tokens: TokenVectors | None  # None where the embedder gives none


def read_query(models: Models, text: str) -> Query:
    """Return the query's vector, and its tokens' from the same pass where there are such."""
    if gives_tokens(models.embedder):
        [tokens] = models.embedder.embed_tokens([text])
        return Query(text, tokens.pooled, tokens)
    return Query(text, models.embedder.embed([text], kind="query")[0], None)


def dense_scores(snapshot: Snapshot, layer: str, query: Query) -> NDArray[np.float64]:
    """Return the (n,) cosines of a layer's rows to the query."""
    return np.asarray(snapshot.layer(layer).vectors @ query.vector, dtype=np.float64)


def lexical_scores(snapshot: Snapshot, query: str) -> NDArray[np.float64]:
    """Return the (n_chunks,) BM25 scores; a query term counts once."""
    known = np.array([row for row in term_rows(snapshot, query) if row >= 0], dtype=np.intp)
    return bm25_scores(bm25(snapshot), known)


def term_rows(snapshot: Snapshot, text: str) -> list[int]:
    """Return the row of each distinct term of a text, -1 where the index has none."""
    return snapshot.layer("term").rows(list(dict.fromkeys(terms(text))))


def bm25(snapshot: Snapshot) -> csr_array[Any, tuple[int, int]]:
    """Return the snapshot's BM25 weights, computed once."""
    return snapshot.get(_BM25)


def _bm25(snapshot: Snapshot) -> csr_array[Any, tuple[int, int]]:
    return bm25_weights(snapshot.link("chunk", "term"))


_BM25 = Derived("BM25 weights", _bm25)


def hybrid_scores(snapshot: Snapshot, query: Query, fusion: str = "mean") -> NDArray[np.float64]:
    """Return the (n_chunks,) fused dense and lexical scores; `fusion` is "mean" or "rrf"."""
    both = dense_scores(snapshot, "chunk", query), lexical_scores(snapshot, query.text)
    return reciprocal_rank_fusion(both) if fusion == "rrf" else mean_of_min_max(*both)


def beside_hybrid(found: Sequence[int], hybrid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (n,) scores of rows in two rankings together, 1 / rank in each.

    One is `found`, what a method ranks by itself, best first; the other is that of the (n,)
    `hybrid` scores above zero. The first row of either is among the first three of the result.
    """
    own = np.zeros(len(hybrid))
    own[list(found)] = np.arange(len(found), 0, -1)
    return reciprocal_rank_fusion((own, hybrid), constant=0)


def chunk_titles(snapshot: Snapshot) -> csr_array[Any, tuple[int, int]]:
    """Return the (n_chunks, n_entities) link of chunks to the entity that their title names."""
    documents = snapshot.layer("chunk").columns["document"]
    return csr_array(snapshot.link("document", "entity")[documents])
