"""BM25 against the library bm25s and against the formula."""

import math

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo.bm25 import Lengths, bm25_candidates, bm25_chunk_scores, bm25_scores
from clew.algo.links import StoredLink
from clew.algo.topk import positive_top_k

COUNTS = st.integers(1, 6).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 3), min_size=width, max_size=width), min_size=1, max_size=8
    )
).map(np.array)  # fmt: skip
CHUNKS = np.array([[2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 3], [0, 0, 0, 0]])


def parts_of(counts, terms):
    """Return what BM25 takes, of (n_chunks, n_terms) counts and some of their columns."""
    postings = StoredLink.from_matrix(csr_array(csr_array(counts).T))
    lengths = np.asarray(csr_array(counts).sum(axis=1), dtype=float)
    return postings, Lengths.from_counts(lengths), np.array(terms, dtype=np.intp)


def scores_of(counts, terms):
    """Return the scores for some columns of (n_chunks, n_terms) counts."""
    return bm25_scores(*parts_of(counts, terms))


def by_formula(counts, terms, k1=1.2, b=0.75):
    """Sum idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length))."""
    lengths, scores = counts.sum(axis=1), []
    mean = lengths.mean() or 1
    for chunk, length in zip(counts, lengths, strict=True):
        score = 0.0
        for term in set(terms):
            df = int((counts[:, term] > 0).sum())
            idf = math.log(1 + (len(counts) - df + 0.5) / (df + 0.5))
            tf = chunk[term]
            score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean)) if tf else 0
        scores.append(score)
    return scores


@given(COUNTS, st.data())
def test_scores_are_those_of_the_formula(counts, data):
    """For every small collection and query, sparse or not."""
    terms = data.draw(st.lists(st.integers(0, counts.shape[1] - 1), max_size=5))
    scores = scores_of(counts, terms)
    np.testing.assert_allclose(scores, by_formula(counts, terms), atol=1e-12)


@given(COUNTS, st.data())
def test_scores_of_some_chunks(counts, data):
    """They are those that these chunks have among all."""
    terms = data.draw(st.lists(st.integers(0, counts.shape[1] - 1), max_size=5))
    chunks = np.array(data.draw(st.lists(st.integers(0, len(counts) - 1))), dtype=np.intp)
    found = bm25_chunk_scores(*parts_of(counts, terms), None, chunks)
    np.testing.assert_allclose(found, scores_of(counts, terms)[chunks], atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_best_chunks_are_those_of_all_scores(seed):
    """Words that are as unlike in how often they occur as those of a language, and ties."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(np.geomspace(2, 0.01, 12), (400, 12))
    terms = rng.permutation(12)[:6]
    every = scores_of(counts, terms)
    for k in (1, 5, 40, 1000):
        rows, scores = bm25_candidates(*parts_of(counts, terms), None, k)
        best = rows[positive_top_k(scores, k)]
        assert best.tolist() == positive_top_k(every, k).tolist()
        np.testing.assert_allclose(scores, every[rows], atol=1e-12)
        assert (np.diff(rows) > 0).all()


def test_frequent_words_lift_no_chunk_that_has_none_of_the_rare_ones():
    """Such chunks are not even looked at, where enough others are better."""
    counts = np.zeros((1_000, 2), dtype=int)
    counts[:, 0] = 1
    counts[5:8, 1] = 1
    assert bm25_candidates(*parts_of(counts, [0, 1]), None, 3)[0].tolist() == [5, 6, 7]
    assert len(bm25_candidates(*parts_of(counts, [0, 1]), None, 4)[0]) == 1_000


def test_scores_are_those_of_bm25s():
    """The library's "lucene" has this idf and leaves out the constant factor k1 + 1."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, (40, 25))
    words = [[f"w{t}" for t in range(25) for _ in range(chunk[t])] for chunk in counts]
    oracle = bm25s.BM25(method="lucene", k1=1.2, b=0.75, dtype="float64")
    oracle.index(words, show_progress=False)
    for query in ([0], [3, 7, 11], list(range(25))):
        expected = oracle.get_scores([f"w{t}" for t in query]) * 2.2
        np.testing.assert_allclose(scores_of(counts, query), expected, rtol=1e-6)


def test_scores_by_hand():
    """Four chunks of mean length two: the last term is alone in one of three words."""
    idf = math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 3 * 2.2 / (3 + 1.2 * (0.25 + 0.75 * 3 / 2))
    assert scores_of(CHUNKS, [3]).tolist() == [0, 0, pytest.approx(expected), 0]
    assert scores_of(csr_array((0, 3)), [0, 1, 2]).tolist() == []
