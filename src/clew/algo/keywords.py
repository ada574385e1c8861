"""Cosines of keyword vectors, without computing those vectors.

Huang et al. (2025), "KET-RAG", arXiv:2502.09304: a keyword's vector is the mean of those of the
sentences with it. With the sentences' vectors S and A, which sentence has which term, its cosine
to a query q is (Aᵀ S q) / |Aᵀ S|. So of each term only the length |Aᵀ S| is needed.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.coding import Vectors

_BLOCK_BYTES = 2**28
_BATCH_SIZE = 16_384  # vectors that are read at once


def keyword_lengths(
    sentence_terms: csr_array, vectors: Vectors, *, block: int = _BLOCK_BYTES
) -> NDArray[np.float32]:
    """Return (n_terms,): the norm of the sum of each term's sentence vectors.

    `sentence_terms` is (n_sentences, n_terms) of zeros and ones, `vectors` (n_sentences, d) unit
    rows. A term without sentences has 0. Sums are float64, in the order of the rows, and some
    dimensions at a time, so that they take about `block` bytes; no block size changes a bit.
    """
    return _sum_lengths(csr_array(sentence_terms.T).astype(np.float64), vectors, block)


def update_lengths(
    lengths: NDArray[np.float32],
    n_sentences: NDArray[np.integer],
    earlier_sentences: NDArray[np.integer],
    earlier_terms: NDArray[np.integer],
    sentence_terms: csr_array,
    vectors: Vectors,
    *,
    block: int = _BLOCK_BYTES,
) -> NDArray[np.float32]:
    """Update `keyword_lengths` for terms with changed sentences, bit for bit.

    `lengths` and `n_sentences` are the earlier terms' lengths and numbers of sentences.
    `earlier_sentences` and `earlier_terms` map present rows and columns to earlier ones, -1 for new
    ones. Unchanged rows have the same vectors and terms, in the same order.
    """
    now = np.flatnonzero(earlier_terms >= 0)
    before = earlier_terms[now]
    counts = np.bincount(sentence_terms.indices, minlength=len(earlier_terms))
    changed = np.ones(len(earlier_terms), dtype=bool)
    changed[now] = counts[now] != n_sentences[before]
    came = earlier_sentences < 0
    changed[sentence_terms[came].indices] = True  # where one came and one went, too
    updated = np.zeros(len(earlier_terms), dtype=np.float32)
    updated[now] = lengths[before]
    updated[changed] = _sum_lengths(_transpose_columns(sentence_terms, changed), vectors, block)
    return updated


def keyword_cosines(
    sentence_terms: csr_array, sentence_scores: NDArray[np.floating], lengths: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the (n_terms,) cosines of terms to a query, -inf for a term of length 0.

    `sentence_scores` are the (n_sentences,) inner products of the sentences' vectors with the
    query's, and `lengths` what `keyword_lengths` returns. One sparse product.
    """
    sums = sentence_terms.T @ sentence_scores.astype(np.float64)
    cosines = np.full(len(lengths), -np.inf)
    np.divide(sums, lengths, out=cosines, where=lengths > 0)
    return cosines


def _sum_lengths(by_term: csr_array, vectors: Vectors, block: int) -> NDArray[np.float32]:
    """Return (m,): the norm of the sum of the vectors in each row of `by_term`."""
    rows, places = np.unique(by_term.indices, return_inverse=True)
    shape = len(by_term.indptr) - 1, len(rows)
    member = csr_array((by_term.data, places, by_term.indptr), shape=shape)
    width = max(1, block // (8 * max(1, sum(shape))))
    squares = np.zeros(shape[0])
    for start in range(0, vectors.shape[1], width):
        sums = member @ _read_columns(vectors, rows, start, width)
        for dimension in sums.T:
            squares += dimension * dimension
    return np.sqrt(squares).astype(np.float32)


def _transpose_columns(matrix: csr_array, mask: NDArray[np.bool_]) -> csr_array:
    """Return the chosen columns of a matrix, transposed, as float64."""
    place = np.cumsum(mask) - 1
    entries = np.flatnonzero(mask[matrix.indices])
    row = np.searchsorted(matrix.indptr, entries, side="right") - 1
    columns = place[matrix.indices[entries]]
    shape = int(mask.sum()), matrix.shape[0]
    return csr_array((matrix.data[entries].astype(np.float64), (columns, row)), shape=shape)


def _read_columns(
    vectors: Vectors, rows: NDArray[np.integer], start: int, width: int
) -> NDArray[np.float64]:
    columns = np.empty((len(rows), min(width, vectors.shape[1] - start)))
    for first in range(0, len(rows), _BATCH_SIZE):
        block = slice(first, first + _BATCH_SIZE)
        columns[block] = vectors[rows[block]][:, start : start + width]
    return columns
