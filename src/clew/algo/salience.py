"""Rate the salient terms of chunks: frequent there and rare elsewhere.

Equation 2 of AGRAG (Wang et al. 2025, arXiv:2511.05549), for a term v of a chunk t among N:

    ER(v, t) = count(v, t) / (|t| ln(N + 1)) · ln((N + 1) / (df(v) + 1))

As printed it stays far below the paper's thresholds: a term that stands once among 256 words
rates below 0.004. So by default a chunk's rates are divided by its highest; their order stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.algo.links import entry_rows, replace_data
from clew.algo.topk import DECIMALS
from clew.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

Score = Literal["eq2", "normalised", "tfidf"]

_BATCH_SIZE = 4_096  # texts whose n-grams are counted together


@dataclass(frozen=True, slots=True)
class Ngrams:
    """The n-grams of texts, as m entries of `counts` in text order."""

    counts: csr_array  # (n_texts, n_grams), how often each stands in each text
    places: NDArray[np.int64]  # (m,), the word with which each begins there first
    sizes: NDArray[np.int64]  # (m,), of how many words it is
    inside: NDArray[np.bool_]  # (m,), part of a longer one that stands in that text as often


def count_ngrams(
    words: NDArray[np.integer],
    added: NDArray[np.integer],
    joins: NDArray[np.bool_],
    begins: NDArray[np.integer],
    longest: int,
) -> Ngrams:
    """Count the n-grams, n <= `longest`, of texts.

    Text i has the words from `begins[i]` to `begins[i + 1]`. Of the n words in all, `words` are
    numbers of what each is by itself, `added` of what it adds to an n-gram that it continues, and
    `joins` says which go on with the word before them. O(n log n) for each length.

    Raises InputError for a `longest` below 1.
    """
    from scipy.sparse import csr_array  # which takes longer to load than numpy

    if longest < 1:
        raise InputError(f"n-grams have at least one word, so the longest cannot have {longest}")
    grams, n_grams = _number_ngrams(words, added, joins, longest)
    n_texts = len(begins) - 1
    parts = [
        _count_by_text(grams, begins[start : start + _BATCH_SIZE + 1], n_grams)
        for start in range(0, max(1, n_texts), _BATCH_SIZE)
    ]
    n, columns, first, inside = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    place = first // longest
    ends = np.searchsorted(place, begins)
    counts = csr_array((n, columns, ends), shape=(n_texts, n_grams))
    return Ngrams(counts, place, first % longest + 1, inside)


def _number_ngrams(
    words: NDArray[np.integer], added: NDArray[np.integer], joins: NDArray[np.bool_], longest: int
) -> tuple[NDArray[np.int32], int]:
    """Return (n, longest) ids of the n-grams that begin at each word, and their number.

    Column i is for those of i + 1 words; -1 stands where the run ends before.
    """
    grams = np.full((len(words), longest), -1, dtype=np.int32)
    grams[:, 0] = words
    n_grams, n_added = int(words.max(initial=-1)) + 1, int(added.max(initial=-1)) + 1
    places = np.arange(len(words))
    for i in range(1, longest):
        places = places[places + i < len(words)]
        places = places[joins[places + i]]
        keys = grams[places, i - 1].astype(np.int64) * n_added + added[places + i]
        distinct, numbers = np.unique(keys, return_inverse=True)
        grams[places, i] = n_grams + numbers
        n_grams += len(distinct)
    return grams, n_grams


def _count_by_text(
    grams: NDArray[np.int32], begins: NDArray[np.integer], n_grams: int
) -> tuple[NDArray[np.integer], ...]:
    """Count each n-gram in each text; also return its id.

    With it come where it stands first, a position in the flat (n, longest) `grams` by which all
    are ordered, and whether it is part of a longer one that stands in that text as often.
    """
    longest = grams.shape[1]
    block = grams[begins[0] : begins[-1]]
    owners = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    word, size = np.nonzero(block >= 0)
    keys, first, cell, n = np.unique(
        owners[word] * n_grams + block[word, size],
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    cells = np.full(block.shape, -1)
    cells[word, size] = cell
    inside = np.zeros(len(keys), dtype=bool)
    for i in range(1, longest):
        longer = np.flatnonzero(cells[:, i] >= 0)
        for part in (cells[longer, i - 1], cells[longer + 1, i - 1]):
            inside[part[n[part] == n[cells[longer, i]]]] = True
    order = np.argsort(first)
    first = first[order]
    first = (begins[0] + word[first]) * longest + size[first]
    return n[order], keys[order] % n_grams, first, inside[order]


def entity_rates(
    counts: csr_array, lengths: NDArray[np.integer], *, score: Score = "normalised"
) -> csr_array:
    """Return the (n_chunks, n_terms) rates, from 0 to 1, of the terms counted in `counts`.

    `counts` stores positive numbers only; the (n_chunks,) `lengths` are in tokens [|t|],
    at which "eq2" alone looks.
    "eq2" is the equation, "normalised" divides it by the chunk's highest, and "tfidf" is
    count · (1 + ln((N + 1) / (df + 1))) in rows of unit length. A term of all chunks rates 0 but
    for "tfidf"; so does every term of a lone chunk. O(nnz).
    """
    n_chunks, n_terms = counts.shape
    row = entry_rows(counts)
    df = np.bincount(counts.indices, minlength=n_terms)
    rarity = np.log((n_chunks + 1) / (df + 1))
    if score == "tfidf":
        rates = counts.data * (1 + rarity)[counts.indices]
        scale = np.sqrt(np.bincount(row, weights=rates**2, minlength=n_chunks))
    else:
        rates = counts.data * rarity[counts.indices]
    if score == "eq2":
        scale = lengths * np.log(n_chunks + 1)
    elif score == "normalised":
        scale = np.zeros(n_chunks)
        np.maximum.at(scale, row, rates)
    rates = np.divide(rates, scale[row], out=np.zeros_like(rates), where=scale[row] > 0)
    return replace_data(counts, rates)


def mark_salient(rates: csr_array, threshold: float) -> NDArray[np.bool_]:
    """Mark the entries of `rates` above `threshold` [τ], compared to six decimals."""
    return np.asarray(np.round(rates.data, DECIMALS) > threshold)


def keep_entries(matrix: csr_array, is_kept: NDArray[np.bool_]) -> csr_array:
    """Return `matrix` with only the entries where `is_kept`."""
    from scipy.sparse import csr_array  # which takes longer to load than numpy

    ends = np.append(0, np.cumsum(is_kept))[matrix.indptr]
    return csr_array((matrix.data[is_kept], matrix.indices[is_kept], ends), shape=matrix.shape)
