"""Late interaction: the best match of each query token among a text's tokens.

Khattab and Zaharia (2020), "ColBERT", arXiv:2004.12832: score = Σ_i max_j q_i · d_j, here as a
weighted mean over the query's tokens.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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
    similarity = np.concatenate([texts[i] @ query.T for i in full])
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
