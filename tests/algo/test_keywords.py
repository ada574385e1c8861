"""Keywords: NumPy means as the oracle, and an update that is a fresh computation, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo.keywords import keyword_cosines, keyword_lengths, update_lengths

# Two sentences of 30 degrees apart have the word 0, one of them the word 1, none the word 2.
SENTENCES = csr_array(np.array([[1, 1, 0], [1, 0, 0]], dtype=np.float32))


def at(*degrees):
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def unit(rng, n, d):
    vectors = rng.standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@st.composite
def indexes(draw, stored=12, n_terms=6):
    """Some of the stored sentences and terms: their numbers, the link of all, all vectors."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    link = (rng.random((stored, n_terms)) < draw(st.sampled_from([0.1, 0.4, 0.9]))).astype(float)
    return link, unit(rng, stored, draw(st.sampled_from([1, 3, 20])))


some = st.lists(st.integers(0, 11), unique=True, max_size=12).map(sorted)


def generation(link, vectors, rows):
    """Return what a generation of some stored sentences has, terms by first occurrence."""
    rows = np.array(rows, dtype=np.int64)
    found = link[rows].nonzero()[1]
    terms = np.array(list(dict.fromkeys(found.tolist())), dtype=np.int64)
    return rows, terms, csr_array(link[np.ix_(rows, terms)]), vectors[rows]


def places(now, then):
    """Return where each present number stood, -1 for a new one."""
    return np.array([then.tolist().index(n) if n in then else -1 for n in now], dtype=np.int64)


def test_frequent_words_are_not_pushed_down():
    """A word of two sentences lies between them: nearer to a query there than either sentence."""
    vectors = at(-15, 15)
    lengths = keyword_lengths(SENTENCES, vectors)
    np.testing.assert_allclose(lengths, [2 * np.cos(np.radians(15)), 1, 0], rtol=1e-6)
    cosines = keyword_cosines(SENTENCES, vectors @ at(0)[0], lengths)
    np.testing.assert_allclose(cosines, [1, np.cos(np.radians(15)), -np.inf], rtol=1e-6)


def test_a_term_without_direction_comes_last():
    """Opposite sentences have no mean: their word has no cosine, and no error."""
    lengths = keyword_lengths(SENTENCES, at(0, 180))
    assert lengths[0] < 1e-6
    exactly = keyword_lengths(SENTENCES, np.array([[1, 0], [-1, 0]], dtype=np.float32))
    assert exactly.tolist() == [0, 1, 0]
    assert keyword_cosines(SENTENCES, np.array([1, -1]), exactly).tolist() == [-np.inf, 1, -np.inf]


@given(indexes(), some, st.sampled_from([1, 200, 2**26]))
def test_cosines_are_those_of_means(index, rows, block):
    """With the mean made for every term, as the definition says; the block changes no bit."""
    _, _, link, vectors = generation(*index, rows)
    query = unit(np.random.default_rng(5), 1, vectors.shape[1])[0]
    lengths = keyword_lengths(link, vectors, block=block)
    assert lengths.dtype == np.float32
    assert lengths.tobytes() == keyword_lengths(link, vectors).tobytes()
    found = keyword_cosines(link, vectors @ query, lengths)
    for term in np.flatnonzero(lengths > 0.01):  # float32 cannot tell the direction of less
        mean = vectors[link.toarray()[:, term] > 0].mean(axis=0, dtype=float)
        np.testing.assert_allclose(found[term], mean @ query / np.linalg.norm(mean), atol=1e-4)


@given(indexes(), some, some, st.sampled_from([200, 2**26]))
def test_an_update_is_a_fresh_computation(index, before, after, block):
    """Whichever sentences came and went, and whichever terms with them."""
    rows, terms, link, vectors = generation(*index, before)
    n_sentences = np.diff(link.tocsc().indptr)
    lengths = keyword_lengths(link, vectors)
    now, now_terms, link, vectors = generation(*index, after)
    earlier = [places(now, rows), places(now_terms, terms)]
    updated = update_lengths(lengths, n_sentences, *earlier, link, vectors, block=block)
    assert updated.tobytes() == keyword_lengths(link, vectors).tobytes()


def test_what_did_not_change_is_not_computed():
    """The length of a term whose sentences stayed is taken over, right or wrong."""
    rows, terms, link, vectors = generation(np.eye(3), unit(np.random.default_rng(1), 3, 4), [0, 1])
    wrong = np.array([7, 8], dtype=np.float32), np.array([1, 1])
    same = places(rows, rows), places(terms, terms)
    assert update_lengths(*wrong, *same, link, vectors).tolist() == [7, 8]
    other = places(rows, np.array([0, 2])), places(terms, terms)
    lengths = update_lengths(*wrong, *other, link, vectors)
    assert lengths[0] == 7
    assert lengths[1] == pytest.approx(1)
