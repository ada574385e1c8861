"""Okapi BM25 from the postings of a query's terms.

Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework: BM25 and Beyond", with
idf = ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative. The best chunks alone are found
as by Turtle and Flood (1995), "Query evaluation: strategies and optimizations": the rarest terms
first, and no new chunk once what is left of the terms cannot lift one among the best.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import match_sorted, merge_sums
from clew.algo.links import Link
from clew.algo.topk import DECIMALS

_K1, _B = 1.2, 0.75
_ROUNDING = 2 * 10.0**-DECIMALS  # scores that are nearer than this may be equal


class _Posting(NamedTuple):
    """The chunks that contain a query term, with its frequency in each."""

    chunks: NDArray[np.integer]  # ascending
    counts: NDArray[np.floating]
    most: float  # that the term adds to a score, however often it stands there

    def gains(self, places: NDArray[np.intp] | slice, lengths: "Lengths") -> NDArray[np.float64]:
        """Return the term's part of the score of some of its chunks."""
        tf = self.counts[places].astype(np.float64)
        length = lengths.of_chunks[self.chunks[places]] / (lengths.mean or 1.0)
        return np.asarray(self.most * tf / (tf + _K1 * (1 - _B + _B * length)))


class Lengths(NamedTuple):
    """The lengths of chunks in terms."""

    of_chunks: NDArray[np.number]  # (n_chunks,)
    mean: float
    n_chunks: int  # of the index, of which those above may be a part

    @classmethod
    def from_counts(cls, lengths: NDArray[np.number]) -> "Lengths":
        """Return the lengths with their mean."""
        return cls(lengths, float(lengths.mean()) if len(lengths) else 0.0, len(lengths))


def bm25_scores(
    postings: Link, lengths: Lengths, terms: NDArray[np.intp], df: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """Return the (n_chunks,) scores for the `terms` of a query, each counted once.

    `postings` is the (n_terms, n_chunks) link of how often each chunk has each term. Where it has
    a part of the index's chunks, `df` says in how many of all each of the `terms` is.
    O(n_chunks + postings of the terms).
    """
    scores = np.zeros(len(lengths.of_chunks))
    for posting in _sort_postings(postings, lengths, terms, df):
        scores[posting.chunks] += posting.gains(slice(None), lengths)
    return scores


def bm25_chunk_scores(
    postings: Link,
    lengths: Lengths,
    terms: NDArray[np.intp],
    df: NDArray[np.integer] | None,
    chunks: NDArray[np.integer],
) -> NDArray[np.float64]:
    """Return `bm25_scores` of some chunks. O(chunks log n_chunks) for each term."""
    scores = np.zeros(len(chunks))
    for posting in _sort_postings(postings, lengths, terms, df):
        rows, places = match_sorted(posting.chunks, chunks)
        scores[rows] += posting.gains(places, lengths)
    return scores


def bm25_candidates(
    postings: Link,
    lengths: Lengths,
    terms: NDArray[np.intp],
    df: NDArray[np.integer] | None,
    k: int,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return ascending chunks that include the top `k` by `bm25_scores`, and their scores.

    None of them has no term of the query. O(p log p) for the p postings of the rarer terms.
    """
    chunks, scores = np.zeros(0, dtype=np.intp), np.zeros(0)
    rarest = _sort_postings(postings, lengths, terms, df)
    left = sum(posting.most for posting in rarest)
    for posting in rarest:
        least = np.partition(scores, -k)[-k] if 0 < k <= len(scores) else 0.0
        if least > left + _ROUNDING:
            may = scores + left + _ROUNDING >= least
            chunks, scores = chunks[may], scores[may]
            rows, places = match_sorted(posting.chunks, chunks)
            scores[rows] += posting.gains(places, lengths)
        else:
            gains = posting.gains(slice(None), lengths)
            chunks, scores = merge_sums((chunks, scores), (posting.chunks, gains))
        left -= posting.most
    return chunks, scores


def _sort_postings(
    postings: Link, lengths: Lengths, terms: NDArray[np.intp], df: NDArray[np.integer] | None
) -> list[_Posting]:
    sorted_postings = []
    first = {term: place for place, term in reversed([*enumerate(terms.tolist())])}
    for term, place in sorted(first.items()):
        chunks, counts = postings.entries(term)
        n = len(chunks) if df is None else int(df[place])
        idf = np.log1p((lengths.n_chunks - n + 0.5) / (n + 0.5))
        sorted_postings.append(_Posting(chunks, counts, float(idf * (_K1 + 1))))
    return sorted(sorted_postings, key=lambda posting: len(posting.chunks))
