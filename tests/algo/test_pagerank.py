"""Personalised PageRank against two oracles, a worked example, and what must always hold."""

import re
from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo import pagerank
from clew.algo.links import Entries, take_rows
from clew.algo.pagerank import (
    BipartiteGraph,
    WholeGraph,
    bipartite_pagerank,
    local_pagerank,
    personalized_pagerank,
    printed_influence,
    transition_matrix,
)
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


@st.composite
def walks(draw):
    """Edges between two nodes, some of them several times, and a restart, some of it alone."""
    n = draw(st.integers(2, 12))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.sampled_from([0.85, 1, 3])), max_size=30))
    parallel = both_ways(n, [edge for edge in edges if edge[0] != edge[1]])
    nodes = draw(st.lists(ends, min_size=1, max_size=5, unique=True))
    return parallel, {node: draw(st.sampled_from([0.5, 1.0, 2.0])) for node in nodes}


def both_ways(n, edges):
    """Return an adjacency that has an entry for each edge, equal ones too."""
    rows = [*edges, *((b, a, weight) for a, b, weight in edges)]
    starts, ends, weights = np.array(sorted(rows), dtype=float).reshape(-1, 3).T
    begins = np.searchsorted(starts, np.arange(n + 1))
    return csr_array((weights, ends.astype(int), begins), shape=(n, n))


def solved(adjacency, restart, damping):
    """Return the scores as the solution of s = (1 - d) p + d (P^T s + s(dangling) p)."""
    weights, n = adjacency.toarray(), adjacency.shape[0]
    p = np.zeros(n)
    p[list(restart)] = list(restart.values())
    p /= p.sum()
    sums = weights.sum(axis=1)
    walk = np.where(sums[:, None] > 0, weights / np.where(sums > 0, sums, 1)[:, None], p)
    return np.linalg.solve(np.eye(n) - damping * walk.T, (1 - damping) * p)


def local(adjacency, restart, **options):
    edges, degrees = partial(take_rows, adjacency), np.asarray(adjacency.sum(axis=1))
    return local_pagerank(edges, degrees, restart, **options)


def spread(found, n):
    scores = np.zeros(n)
    scores[found.nodes] = found.scores
    return scores


def test_the_worked_example():
    """AGRAG's influence with damping 0.5 and three terminals, to six decimals."""
    restart = np.isin(np.arange(7), TERMINALS).astype(float)
    scores = personalized_pagerank(
        transition_matrix(adjacency(7, EDGES)), restart, damping=0.5, tolerance=1e-13
    )
    np.testing.assert_allclose(scores, INFLUENCE, atol=5e-7)
    found = local(adjacency(7, EDGES), dict.fromkeys(TERMINALS, 1.0), damping=0.5, residual=1e-9)
    np.testing.assert_array_equal(found.nodes, np.arange(6))
    np.testing.assert_allclose(found.scores, INFLUENCE[:6], atol=5e-7)
    assert found.error < 1e-7


@given(problems(), st.sampled_from([0.1, 0.5, 0.85]))
def test_the_printed_influence_solves_equation_12(problem, damping):
    """On any graph, with a dense matrix of what Eq. 11 says for every two nodes."""
    weights, terminals = problem
    linked = (weights + weights.T) > 0
    np.fill_diagonal(linked, val=False)
    n, degrees = len(weights), linked.sum(axis=1)
    moves = np.where(linked, 1 / np.maximum(degrees, 1)[:, None], 1 / n)
    starts = np.flatnonzero(terminals)
    reset = np.isin(np.arange(n), starts) * (1 - damping)
    expected = np.linalg.solve(np.eye(n) - damping * moves, reset)
    found = printed_influence(csr_array(linked.astype(float)), starts.tolist(), damping)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_the_printed_influence_of_the_worked_example():
    """It adds up to far more than 1, and a node without edges has some."""
    found = printed_influence(adjacency(7, EDGES), TERMINALS, 0.5)
    expected = [1.3744, 1.3344, 1.3256, 0.8656, 1.0087, 0.9163, 0.525]
    np.testing.assert_allclose(found, expected, atol=5e-5)
    twice = both_ways(7, [(a, b, 2.0) for a, b in [*EDGES, EDGES[0]]])  # a fact and a synonym
    entries = twice.nnz
    np.testing.assert_allclose(printed_influence(twice, TERMINALS, 0.5), found)
    assert twice.nnz == len(twice.indices) == entries  # and it is left as it was


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
        transition_matrix(csr_array(weights)), restart, damping=damping, tolerance=1e-12
    )
    np.testing.assert_allclose(scores, [expected[i] for i in range(len(scores))], atol=1e-9)
    assert scores.sum() == pytest.approx(1)
    assert (scores >= 0).all()


@given(problems(), st.integers(0, 8), st.sampled_from([0.0, 0.5, 0.85]))
def test_a_bipartite_graph_has_the_same_scores(problem, n_rows, damping):
    """Some nodes are rows, the others columns; nodes without edges keep what starts there."""
    weights, restart = problem
    both = np.zeros_like(weights)
    both[:n_rows, n_rows:] = weights[:n_rows, n_rows:]
    graph = BipartiteGraph.from_weights(csr_array(both[:n_rows, n_rows:]))
    walk = transition_matrix(csr_array(both + both.T))
    exact = personalized_pagerank(walk, restart, damping=damping, tolerance=1e-12)
    found = bipartite_pagerank(graph, restart, damping=damping)
    np.testing.assert_allclose(found, exact, atol=1e-5)
    assert found.sum() == pytest.approx(1)


@given(problems(), st.randoms(use_true_random=False))
def test_the_names_of_nodes_do_not_matter(problem, rng):
    """Nodes in another order have the same scores in that order."""
    weights, restart = problem
    order = np.array(rng.sample(range(len(restart)), len(restart)))
    one = personalized_pagerank(transition_matrix(csr_array(weights)), restart)
    shuffled = csr_array(weights[np.ix_(order, order)])
    other = personalized_pagerank(transition_matrix(shuffled), restart[order])
    np.testing.assert_allclose(other, one[order], atol=1e-6)


@given(problems())
def test_a_transition_moves_all_weight_or_none(problem):
    """Columns sum to one; those of rows without edges are empty."""
    weights, _ = problem
    sums = transition_matrix(csr_array(weights)).sum(axis=0)
    np.testing.assert_allclose(sums, weights.any(axis=1).astype(float))


def test_without_damping_the_restart_stays():
    """A walk that never moves ends where it starts."""
    walk = transition_matrix(adjacency(3, [(0, 1), (1, 2)]))
    scores = personalized_pagerank(walk, np.array([1.0, 0, 3]), damping=0)
    np.testing.assert_allclose(scores, [0.25, 0, 0.75])


@pytest.mark.parametrize("restart", [[0, 0], [-1, 2], [], [np.nan, 1]])
def test_a_restart_must_hold_weight(restart):
    """Without seeds there is no walk, and weights below zero mean nothing."""
    n = len(restart)
    with pytest.raises(InputError, match="at least one > 0"):
        personalized_pagerank(transition_matrix(csr_array((n, n))), np.array(restart, dtype=float))


@pytest.mark.parametrize("damping", [1, 1.5, -0.1, np.nan])
def test_damping_must_leave_a_restart(damping):
    """The value is named."""
    with pytest.raises(InputError, match=rf"damping must be in \[0, 1\), but is {damping:g}"):
        personalized_pagerank(
            transition_matrix(adjacency(2, [(0, 1)])), np.ones(2), damping=damping
        )


def test_too_few_iterations_are_an_error():
    """Half-done scores are never returned as if they were done."""
    walk = transition_matrix(adjacency(3, [(0, 1), (1, 2)]))
    restart = np.array([1.0, 0, 0])
    with pytest.raises(
        InputError, match=r"damping 0.99 still changes .* after 10 iterations: use a lower"
    ):
        personalized_pagerank(walk, restart, damping=0.99, max_iterations=10)


RESIDUALS = st.sampled_from([1e-9, 1e-3, 0.02, 0.3, 10.0])
DAMPINGS = st.sampled_from([0.0, 0.5, 0.85])


def test_a_push_by_hand():
    """Node 1 passes half of its weight to both ends of a path; they keep half of what comes."""
    found = local(adjacency(3, [(0, 1), (1, 2)]), {1: 4.0}, damping=0.5, residual=0.3)
    np.testing.assert_array_equal(found.nodes, [0, 1, 2])
    np.testing.assert_allclose(found.scores, [1 / 8, 1 / 2, 1 / 8])
    assert found.error == pytest.approx(1 / 4)


@given(walks(), DAMPINGS, RESIDUALS)
def test_local_scores_lack_what_they_say(walk, damping, residual):
    """None is too high, none lacks more than it may, and all together lack the error."""
    weights, restart = walk
    exact = solved(weights, restart, damping)
    found = local(weights, restart, damping=damping, residual=residual)
    lacking = exact - spread(found, len(exact))
    assert lacking.min() > -1e-12
    assert (lacking <= damping * residual * weights.sum(axis=1) + 1e-12).all()
    assert lacking.sum() == pytest.approx(found.error, abs=1e-12)
    assert found.scores.sum() + found.error == pytest.approx(1)
    assert found.scores.min() >= 0
    assert (np.diff(found.nodes) > 0).all()


@given(walks(), DAMPINGS)
def test_local_and_exact_scores_agree(walk, damping):
    """With a small residual, however edges and nodes without any are arranged."""
    weights, restart = walk
    seeds = np.zeros(weights.shape[0])
    seeds[list(restart)] = list(restart.values())
    exact = personalized_pagerank(
        transition_matrix(weights), seeds, damping=damping, tolerance=1e-12
    )
    found = local(weights, restart, damping=damping, residual=1e-12)
    np.testing.assert_allclose(spread(found, len(seeds)), exact, atol=1e-9)


@given(walks(), RESIDUALS, st.randoms(use_true_random=False))
def test_the_order_of_the_restart_leaves_no_trace(walk, residual, rng):
    """To the byte."""
    weights, restart = walk
    one = local(weights, restart, residual=residual)
    shuffled = dict(rng.sample(sorted(restart.items()), len(restart)))
    other = local(weights, shuffled, residual=residual)
    assert one.nodes.tobytes() == other.nodes.tobytes()
    assert one.scores.tobytes() == other.scores.tobytes()
    assert one.error == other.error


def test_nodes_of_weight_zero_pass_nothing_on():
    """Their neighbours are not reached; a node without edges keeps what it starts with."""
    found = local(adjacency(5, [(0, 1), (2, 3)]), {0: 0.0, 2: 1.0, 4: 1.0}, damping=0.5)
    np.testing.assert_array_equal(found.nodes, [0, 2, 3, 4])
    assert found.scores[0] == 0
    alone = local(adjacency(5, []), {4: 3.0, 1: 1.0})
    np.testing.assert_array_equal(alone.nodes, [1, 4])
    np.testing.assert_allclose(alone.scores, [0.25, 0.75])
    assert alone.error == 0


def test_a_hub_is_not_pushed_for_dust():
    """It keeps its part of what has come to it, and what is behind it stays unseen."""
    n = 1_002
    star = adjacency(n, [(0, leaf) for leaf in range(1, n)])
    found = local(star, {1: 1.0}, damping=0.5, residual=1e-3)
    np.testing.assert_array_equal(found.nodes, [0, 1])
    np.testing.assert_allclose(found.scores, [1 / 4, 1 / 2])
    assert len(local(star, {1: 1.0}, damping=0.5, residual=1e-4).nodes) == n


@pytest.mark.parametrize(
    ("restart", "options", "message"),
    [
        ({}, {}, "at least one > 0"),
        ({0: 0.0}, {}, "at least one > 0"),
        ({0: 2.0, 1: -1.0}, {}, "at least one > 0"),
        ({0: 1.0, 2: 1.0}, {}, "names nodes that the graph of 2 does not have"),
        ({-1: 1.0}, {}, "names nodes that the graph of 2 does not have"),
        ({0: 1.0}, {"damping": 1.0}, "damping must be in [0, 1), but is 1"),
        ({0: 1.0}, {"residual": 0.0}, "the residual must be above 0, but is 0"),
        ({0: 1.0}, {"residual": np.nan}, "the residual must be above 0, but is nan"),
    ],
)
def test_what_local_scores_refuse(restart, options, message):
    """What is wrong is named."""
    with pytest.raises(InputError, match=re.escape(message)):
        local(adjacency(2, [(0, 1)]), restart, **options)


def test_scipy_adds_up_to_the_same_bits(monkeypatch):
    """It does so for graphs of many edges."""
    draw = np.random.default_rng(3)
    graph = adjacency(100, [(*draw.integers(0, 90, 2).tolist(), draw.random()) for _ in range(300)])
    whole = WholeGraph(Entries.from_matrix(graph))
    given = whole, np.asarray(graph.sum(axis=1)), {0: 1.0, 7: 0.5}
    few = local_pagerank(*given, residual=1e-10)
    monkeypatch.setattr(pagerank, "_FEW_EDGES", -1)
    many = local_pagerank(*given, residual=1e-10)
    assert few.scores.tolist() == many.scores.tolist()


def test_scipy_is_loaded_for_many_edges_however_few_products_have_them(monkeypatch):
    """What it saves is a time for each edge, and loading it takes one time."""
    monkeypatch.setattr(pagerank, "_FEW_EDGES", 25)
    whole = WholeGraph(Entries.from_matrix(adjacency(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])))
    for _ in range(3):  # of ten edges
        whole.multiply(np.ones(4))
    assert "_matrix" not in vars(whole)
    whole.multiply(np.ones(4))
    assert "_matrix" in vars(whole)


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("residual", [1e-10, 1e-3])
def test_a_matrix_gives_what_its_rows_give(residual, beyond):
    """But for the last digits, where most of its edges are gone along at once."""
    draw = np.random.default_rng(3)
    edges = [(*draw.integers(0, 90, 2).tolist(), draw.random()) for _ in range(300)]
    graph = adjacency(100, edges)
    sums = np.asarray(graph.sum(axis=1))
    options = {"residual": residual, "beyond": 0.5 * sums if beyond else None}
    whole = local_pagerank(
        WholeGraph(Entries.from_matrix(graph)), sums, {0: 1.0, 7: 0.5, 95: 0.1}, **options
    )
    rows = local(graph, {0: 1.0, 7: 0.5, 95: 0.1}, **options)
    assert len(rows.nodes) > 50
    np.testing.assert_array_equal(whole.nodes, rows.nodes)
    np.testing.assert_allclose(whole.scores, rows.scores, rtol=1e-12)
    assert whole.error == pytest.approx(rows.error)


def test_every_node_needs_a_degree():
    """Degrees of another graph would be read where they are not."""
    with pytest.raises(InputError, match="2 nodes need as many degrees, but there are 3"):
        local_pagerank(partial(take_rows, adjacency(2, [(0, 1)])), np.ones(3), {0: 1.0})


def test_a_question_leaves_no_trace_in_the_next_one():
    """The zeros of one question are those of the next, in a smaller graph too."""
    draw = np.random.default_rng(3)
    for n in (100, 40, 90):
        graph = adjacency(n, [(*draw.integers(0, n - 5, 2).tolist(), 1.0) for _ in range(3 * n)])
        first, other = ({int(node): 1.0} for node in graph.indices[:2])
        alone = local(graph, other, residual=1e-6)
        local(graph, first, residual=1e-6)
        again = local(graph, other, residual=1e-6)
        assert again.nodes.tolist() == alone.nodes.tolist()
        assert again.scores.tolist() == alone.scores.tolist()
