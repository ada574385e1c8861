"""Personalised PageRank against networkx, a worked example, and what must always hold."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo.pagerank import personalized_pagerank, transition
from clew.errors import InputError

# AGRAG's node influence: kidney, kidney cancer, tumors, blood vessels; two passages; one alone.
EDGES = [(0, 1), (0, 2), (2, 3), (1, 3), (4, 0), (4, 1), (5, 2), (5, 3)]
TERMINALS = [0, 1, 2]
INFLUENCE = [0.270157, 0.249324, 0.241748, 0.095915, 0.08658, 0.056277, 0.0]


def adjacency(n, edges):
    matrix = np.zeros((n, n))
    for a, b, *weight in edges:
        matrix[a, b] = matrix[b, a] = weight[0] if weight else 1
    return csr_array(matrix)


@st.composite
def problems(draw):
    n = draw(st.integers(1, 8))
    weights = draw(st.lists(st.sampled_from([0, 0, 0, 0.5, 1, 3]), min_size=n * n, max_size=n * n))
    restart = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n, max_size=n))
    restart[draw(st.integers(0, n - 1))] = 1.0
    return np.array(weights, dtype=float).reshape(n, n), np.array(restart)


def test_the_worked_example():
    """AGRAG's influence with damping 0.5 and three terminals, to six decimals."""
    restart = np.isin(np.arange(7), TERMINALS).astype(float)
    scores = personalized_pagerank(
        transition(adjacency(7, EDGES)), restart, damping=0.5, tolerance=1e-13
    )
    np.testing.assert_allclose(scores, INFLUENCE, atol=5e-7)


def test_two_nodes_by_hand():
    """A pair with restart at one end: s0 = 1 / (1 + d), s1 = d / (1 + d)."""
    walk = transition(adjacency(2, [(0, 1)]))
    scores = personalized_pagerank(walk, np.array([5.0, 0]), damping=0.5, tolerance=1e-12)
    np.testing.assert_allclose(scores, [2 / 3, 1 / 3])


@given(problems(), st.sampled_from([0.1, 0.5, 0.85]))
def test_scores_are_those_of_networkx(problem, damping):
    """On directed weighted graphs, dangling weight going back to the restart."""
    weights, restart = problem
    graph = nx.from_numpy_array(weights, create_using=nx.DiGraph)
    seeds = dict(enumerate(restart))
    expected = nx.pagerank(
        graph, alpha=damping, personalization=seeds, dangling=seeds, tol=1e-13, max_iter=1000
    )
    scores = personalized_pagerank(
        transition(csr_array(weights)), restart, damping=damping, tolerance=1e-12
    )
    np.testing.assert_allclose(scores, [expected[i] for i in range(len(scores))], atol=1e-9)
    assert scores.sum() == pytest.approx(1)
    assert (scores >= 0).all()


@given(problems(), st.randoms(use_true_random=False))
def test_the_names_of_nodes_do_not_matter(problem, rng):
    """Nodes in another order have the same scores in that order."""
    weights, restart = problem
    order = np.array(rng.sample(range(len(restart)), len(restart)))
    one = personalized_pagerank(transition(csr_array(weights)), restart)
    shuffled = csr_array(weights[np.ix_(order, order)])
    other = personalized_pagerank(transition(shuffled), restart[order])
    np.testing.assert_allclose(other, one[order], atol=1e-6)


@given(problems())
def test_a_transition_moves_all_weight_or_none(problem):
    """Columns sum to one; those of rows without edges are empty."""
    weights, _ = problem
    sums = transition(csr_array(weights)).sum(axis=0)
    np.testing.assert_allclose(sums, weights.any(axis=1).astype(float))


def test_without_damping_the_restart_stays():
    """A walk that never moves ends where it starts."""
    walk = transition(adjacency(3, [(0, 1), (1, 2)]))
    scores = personalized_pagerank(walk, np.array([1.0, 0, 3]), damping=0)
    np.testing.assert_allclose(scores, [0.25, 0, 0.75])


@pytest.mark.parametrize("restart", [[0, 0], [-1, 2], [], [np.nan, 1]])
def test_a_restart_must_hold_weight(restart):
    """Without seeds there is no walk, and weights below zero mean nothing."""
    n = len(restart)
    with pytest.raises(InputError, match="at least one > 0"):
        personalized_pagerank(transition(csr_array((n, n))), np.array(restart, dtype=float))


@pytest.mark.parametrize("damping", [1, 1.5, -0.1, np.nan])
def test_damping_must_leave_a_restart(damping):
    """The value is named."""
    with pytest.raises(InputError, match=rf"damping must be in \[0, 1\), but is {damping:g}"):
        personalized_pagerank(transition(adjacency(2, [(0, 1)])), np.ones(2), damping=damping)


def test_too_few_iterations_are_an_error():
    """Half-done scores are never returned as if they were done."""
    walk = transition(adjacency(3, [(0, 1), (1, 2)]))
    restart = np.array([1.0, 0, 0])
    with pytest.raises(
        InputError, match=r"damping 0.99 still changes .* after 10 iterations: take"
    ):
        personalized_pagerank(walk, restart, damping=0.99, max_iterations=10)
