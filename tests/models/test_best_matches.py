"""Late interaction against loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo import coding
from clew.models.maxsim import best_matches, weighted_mean


def vectors(rng, n, d=8):
    rows = rng.normal(size=(n, d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def by_loops(query, texts):
    """Compare every query token with every token of every text."""
    best = np.zeros((len(texts), len(query)))
    for i, text in enumerate(texts):
        for j, asked in enumerate(query):
            best[i, j] = max((float(asked @ token) for token in text), default=0.0)
    return best


@given(st.integers(0, 4), st.lists(st.integers(0, 5), max_size=5), st.integers(0, 99))
def test_matches_are_those_of_loops(n_query, lengths, seed):
    """For texts of any lengths, empty ones among them."""
    rng = np.random.default_rng(seed)
    query, texts = vectors(rng, n_query), [vectors(rng, n) for n in lengths]
    matches = best_matches(query, texts)
    assert matches.shape == (len(lengths), n_query)
    assert matches.dtype == np.float32
    np.testing.assert_allclose(matches, by_loops(query, texts), atol=1e-6)


def test_stored_tokens_score_as_they_did():
    """Vectors in eight bits give the same matches to a hundredth."""
    rng = np.random.default_rng(1)
    query, texts = vectors(rng, 6, 384), [vectors(rng, n, 384) for n in (3, 0, 20)]
    stored = [coding.decode(coding.encode(text, 8), 384, 8) for text in texts]
    exact, rounded = best_matches(query, texts), best_matches(query, stored)
    np.testing.assert_allclose(rounded, exact, atol=0.01)
    assert rounded[1].tolist() == [0] * 6


def test_weighted_mean_by_hand():
    """Weights need not sum to one."""
    matches = np.array([[1.0, 0.5], [0.0, 1.0]])
    np.testing.assert_allclose(weighted_mean(matches, np.array([3.0, 1.0])), [0.875, 0.25])


@pytest.mark.parametrize("weights", [[], [0, 0]])
def test_a_query_without_weight_matches_nothing(weights):
    """No token that counts: zeros, not a division by zero."""
    scores = weighted_mean(np.ones((3, len(weights))), np.array(weights, dtype=float))
    assert scores.tolist() == [0, 0, 0]
