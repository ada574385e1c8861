"""Okapi BM25 from the postings of a query's terms.

Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework: BM25 and Beyond", with
idf = ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative.
"""

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import Link


def bm25_scores(
    postings: Link,
    lengths: NDArray[np.floating],
    terms: NDArray[np.intp],
    *,
    k1: float = 1.2,
    b: float = 0.75,
) -> NDArray[np.float64]:
    """Return the (n_chunks,) scores for the `terms` of a query, each counted once.

    `postings` is the (n_terms, n_chunks) link of how often each chunk has each term, `lengths`
    (n_chunks,) how many terms it has. O(n_chunks + postings of the terms).
    """
    n_chunks = len(lengths)
    scores = np.zeros(n_chunks)
    mean = float(lengths.mean()) if n_chunks else 0.0
    for term in np.unique(terms).tolist():
        chunks, counts = postings.entries(term)
        tf, df = counts.astype(np.float64), len(chunks)
        idf = np.log1p((n_chunks - df + 0.5) / (df + 0.5))
        norm = k1 * (1 - b + b * lengths[chunks] / (mean or 1.0))
        scores[chunks] += idf * tf * (k1 + 1) / (tf + norm)
    return scores
