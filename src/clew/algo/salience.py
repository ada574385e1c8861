"""Say which terms of a chunk are salient: often there, and in few other chunks.

Equation 2 of AGRAG (Wang et al. 2025, arXiv:2511.05549), for a term v of a chunk t among N:

    ER(v, t) = count(v, t) / (|t| ln(N + 1)) · ln((N + 1) / (df(v) + 1))

As printed it stays far below the paper's thresholds: a term that stands once among 256 words
rates below 0.004. So by default a chunk's rates are divided by its highest; their order stays.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.topk import DECIMALS

Score = Literal["eq2", "normalised", "tfidf"]


def entity_rates(
    counts: csr_array, lengths: NDArray[np.integer], *, score: Score = "normalised"
) -> csr_array:
    """Return the (n_chunks, n_terms) rates, from 0 to 1, of the terms counted in `counts`.

    `counts` stores positive numbers only; the (n_chunks,) `lengths` are in tokens [|t|].
    "eq2" is the equation, "normalised" divides it by the chunk's highest, and "tfidf" is
    count · (1 + ln((N + 1) / (df + 1))) in rows of unit length. A term of all chunks rates 0 but
    for "tfidf"; so does every term of a lone chunk. O(nnz).
    """
    n_chunks, n_terms = counts.shape
    row = np.repeat(np.arange(n_chunks), np.diff(counts.indptr))
    df = np.bincount(counts.indices, minlength=n_terms)
    rarity = np.log((n_chunks + 1) / (df + 1))
    if score == "tfidf":
        rates = counts.data * (1 + rarity)[counts.indices]
        scale = np.sqrt(np.bincount(row, weights=rates**2, minlength=n_chunks))
    else:
        rates = counts.data * rarity[counts.indices]
        scale = lengths * np.log(n_chunks + 1)
    if score == "normalised":
        scale = np.zeros(n_chunks)
        np.maximum.at(scale, row, rates)
    rates = np.divide(rates, scale[row], out=np.zeros_like(rates), where=scale[row] > 0)
    return csr_array((rates, counts.indices, counts.indptr), shape=counts.shape)


def salient(rates: csr_array, threshold: float) -> csr_array:
    """Return the entries of `rates` above `threshold` [τ], to six decimals, in their order."""
    kept = np.round(rates.data, DECIMALS) > threshold
    ends = np.append(0, np.cumsum(kept))[rates.indptr]
    return csr_array((rates.data[kept], rates.indices[kept], ends), shape=rates.shape)
