"""The rows that share most terms: every pair as the oracle, and what rare terms find."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, eye_array

from clew.algo.sharing import find_sharing


def texts(n, *, vocabulary=3_000, n_topics=60, length=50, seed=4):
    """Return counts of words that rank by Zipf's law, half of them by that of the text's topic."""
    rng = np.random.default_rng(seed)
    shares = np.cumsum(1 / np.arange(5, vocabulary + 5))
    words = np.searchsorted(shares, rng.random((n, length)) * shares[-1])
    topics = rng.integers(0, n_topics, n)[:, None]
    words = np.where(np.arange(length) % 2, (words * 7 + topics * 401) % vocabulary, words)
    rows = np.repeat(np.arange(n), length)
    return csr_array((np.ones(n * length), (rows, words.ravel())), shape=(n, vocabulary))


def itself(n):
    return csr_array(eye_array(n, dtype=np.int32))


def shared(terms, found):
    """Return how many terms each row shares with those found for it."""
    held = csr_array((terms > 0).astype(int))
    columns = [held.multiply(held[rows]).sum(axis=1) for rows in found.T]
    return np.stack(columns, axis=1)


@st.composite
def problems(draw):
    """Few terms, so that ties are common; some pairs that are taken."""
    n, n_terms = draw(st.integers(0, 9)), draw(st.integers(0, 4))
    counts = st.lists(st.sampled_from([0, 0, 1, 3]), min_size=n * n_terms, max_size=n * n_terms)
    taken = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    terms = np.array(draw(counts), dtype=np.int64).reshape(n, n_terms)
    return terms, np.array(taken, dtype=int).reshape(n, n)


@given(problems(), st.integers(1, 4), st.booleans())
def test_they_are_those_of_sorting_all_pairs(problem, h, exact):
    """Of few rows, rare terms miss none; equal ones come by row, and -1 where none share any."""
    terms, taken = problem
    found = find_sharing(csr_array(terms), h, csr_array(taken), exact=exact).rows
    assert found.shape == (len(terms), h)
    common = (terms > 0).astype(int) @ (terms > 0).astype(int).T
    for i, row in enumerate(found.tolist()):
        free = [j for j in range(len(terms)) if not taken[i, j] and common[i, j]]
        free.sort(key=lambda j: (-common[i, j], j))
        assert row == (free + [-1] * h)[:h]


def test_rare_terms_miss_few():
    """Frequent terms do not lead to a row, but they count where rare ones do."""
    terms = texts(3_000)
    exact, found = (find_sharing(terms, 2, itself(3_000), exact=e).rows for e in (True, False))
    assert (exact != found).any()
    best, most = shared(terms, exact), shared(terms, found)
    assert (most <= best).all()
    assert (most == best).mean() > 0.9
    assert most.sum() > 0.98 * best.sum()


def test_the_same_terms_have_the_same_neighbours():
    """And nobody has itself, or another twice."""
    terms = texts(2_000)
    first = find_sharing(terms, 2, itself(2_000), exact=False).rows
    assert first.tobytes() == find_sharing(terms, 2, itself(2_000), exact=False).rows.tobytes()
    assert (first != np.arange(2_000)[:, None]).all()
    assert (first[:, 0] != first[:, 1]).all()


def test_a_term_that_too_many_have_leads_nowhere():
    """Each row has a term of all, and one with its neighbour: it is compared with that alone."""
    rows = np.arange(8_001)
    columns = np.concatenate([np.zeros(8_001, dtype=int), 1 + rows // 2])  # the last is alone
    terms = csr_array((np.ones(16_002), (np.tile(rows, 2), columns)), shape=(8_001, 4_002))
    found = find_sharing(terms, 2, itself(8_001), exact=False).rows
    assert found[:-1, 0].tolist() == (rows[:-1] ^ 1).tolist()
    assert (found[-1] == -1).all()
    assert (found[:, 1] == -1).all()
