"""The influence of nodes: the worked example, and near ones alone in a large graph."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from clew.algo.links import Entries
from clew.algo.pagerank import WholeGraph, local_pagerank, personalized_pagerank
from clew.methods.agrag.view import LOCAL_ABOVE, AgragGraph, compute_influence


def graph(edges, n, n_chunks=0):
    """Return a graph of these edges, each with a weight."""
    a, b, weights = np.array(edges, dtype=float).reshape(-1, 3).T
    rows, columns = np.concatenate([a, b]).astype(int), np.concatenate([b, a]).astype(int)
    adjacency = csr_array((np.tile(weights, 2), (rows, columns)), shape=(n, n))
    nothing = np.empty(0, dtype=np.int64)
    pairs = np.full(adjacency.nnz, -1, dtype=np.int32)
    stated = np.empty(0, dtype=bool)
    return AgragGraph(
        n - n_chunks, 0, n_chunks, adjacency, pairs, np.zeros(1, int), nothing, stated
    )


# Kidney, kidney cancer, tumors, blood vessels, two passages, and one that nothing is said of.
STORY = [(a, b, 1) for a, b in ((0, 1), (0, 2), (2, 3), (1, 3), (4, 0), (4, 1), (5, 2), (5, 3))]
SCORES = [0.270157, 0.249324, 0.241748, 0.095915, 0.086580, 0.056277, 0.0]


def test_the_worked_example():
    """PageRank at damping 0.5 from three terminals; without damping they share all of it."""
    found = compute_influence(graph(STORY, 7, 2), [0, 1, 2], 0.5)
    assert found == pytest.approx(SCORES, abs=1e-6)
    assert found.sum() == pytest.approx(1)
    assert compute_influence(graph(STORY, 7, 2), [6, 1], 0.0).tolist() == [0, 0.5, 0, 0, 0, 0, 0.5]
    assert compute_influence(graph(STORY, 7, 2), [6], 0.5).tolist() == [0] * 6 + [1]


def chain(n):
    """Return a ring of n nodes with chords, of several weights."""
    numbers = np.arange(n)
    ring = np.stack([numbers, (numbers + 1) % n, 1 + numbers % 3], axis=1)
    chords = np.stack([numbers, (numbers * 7 + 3) % n, np.ones(n, dtype=int)], axis=1)
    chords = chords[chords[:, 0] != chords[:, 1]]
    return graph(np.concatenate([ring, chords]), n)


def test_a_large_graph_is_read_near_the_terminals_only():
    """What is missing is what the local push says; far nodes have none."""
    small, n = chain(2_000), LOCAL_ABOVE // 2 + 1_000
    large = chain(n)
    assert small.n_edges < LOCAL_ABOVE < large.n_edges
    found = compute_influence(large, [5, 40], 0.5)
    near = local_pagerank(
        WholeGraph(Entries.from_matrix(large.adjacency)),
        large.degrees,
        {5: 1.0, 40: 1.0},
        damping=0.5,
        residual=3e-7,
    )
    assert found.shape == (n,)
    assert found[near.nodes].tolist() == near.scores.tolist()
    assert np.count_nonzero(found) <= len(near.nodes) < n / 10
    terminals = np.isin(np.arange(n), [5, 40]).astype(float)
    exact = personalized_pagerank(large.transition, terminals, damping=0.5, tolerance=1e-12)
    assert 0 < near.error < 0.01
    assert np.abs(found - exact).sum() == pytest.approx(near.error, abs=1e-9)
    assert (found <= exact + 1e-12).all()


def test_a_graph_of_just_so_many_edges_is_read_whole():
    """Its scores add up to 1 to the last digits."""
    n = LOCAL_ABOVE // 2
    assert chain(n).n_edges <= LOCAL_ABOVE
    assert compute_influence(chain(n), [5], 0.5).sum() == pytest.approx(1, abs=1e-12)
