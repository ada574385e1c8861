"""Okapi BM25 as one sparse product.

Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework: BM25 and Beyond", with
idf = ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def bm25_weights(counts: csr_array, *, k1: float = 1.2, b: float = 0.75) -> csr_array:
    """Return the (n_terms, n_chunks) weights of the (n_chunks, n_terms) term `counts`.

    A query's scores are the sum of its terms' rows; see `bm25_scores`. O(nnz).
    """
    n_chunks, n_terms = counts.shape
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64)
    mean = lengths.mean() if n_chunks else 0.0
    df = np.bincount(counts.indices, minlength=n_terms)
    idf = np.log1p((n_chunks - df + 0.5) / (df + 0.5))
    rows = np.repeat(np.arange(n_chunks), np.diff(counts.indptr))
    tf = counts.data.astype(np.float64)
    norm = k1 * (1 - b + b * lengths[rows] / (mean or 1.0))
    data = idf[counts.indices] * tf * (k1 + 1) / (tf + norm)
    weights = csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    return csr_array(weights.T)


def bm25_scores(weights: csr_array, terms: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the (n_chunks,) scores for the rows `terms` of the query, each counted once."""
    scores = np.zeros(weights.shape[1])
    for term in np.unique(terms):
        row = slice(weights.indptr[term], weights.indptr[term + 1])
        scores[weights.indices[row]] += weights.data[row]
    return scores
