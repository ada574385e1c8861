"""Places of nodes: the same in every run, within bounds, neighbours near one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.extras.graphs.layout import column_layout, force_layout
from tests.trials import trials

EDGES = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20)


def graph(n, pairs):
    """Return the symmetric graph of some pairs, each of the weight of how often it is there."""
    a, b = np.array([pair for pair in pairs if pair[0] != pair[1]], dtype=int).reshape(-1, 2).T
    found = csr_array((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), shape=(n, n))
    found.sum_duplicates()
    return found


@trials(5, 100)
@given(pairs=EDGES)
def test_places_are_those_of_every_run(pairs):
    """They are finite, within -1 to 1 and touch the bounds, and no two nodes are at one place."""
    places = force_layout(graph(9, pairs))
    assert np.abs(places).max() == 1
    assert len(np.unique(places, axis=0)) == 9
    assert np.array_equal(places, force_layout(graph(9, pairs)))


@pytest.mark.parametrize("n", [0, 1])
def test_what_needs_no_layout(n):
    """No node has no place, and a single one stands in the middle."""
    assert np.array_equal(force_layout(csr_array((n, n))), np.zeros((n, 2)))


def test_groups_and_neighbours_stand_together():
    """Of two cliques every node is nearer to its own; an edge of a ring is short."""
    pairs = [(a + g, b + g) for g in (0, 20) for a in range(20) for b in range(a)]
    places = force_layout(graph(40, [*pairs, (0, 20)]))
    middles = np.array([places[:20].mean(axis=0), places[20:].mean(axis=0)])
    distances = np.linalg.norm(places[:, None] - middles[None], axis=2)
    assert np.array_equal(distances.argmin(axis=1), np.repeat([0, 1], 20))
    n = 300
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    places = force_layout(graph(n, ring.tolist()))
    far = np.linalg.norm(places[:, None] - places[None], axis=2).mean()
    assert np.linalg.norm(np.diff(places[ring], axis=1), axis=2).mean() < far / 10


def test_columns_follow_the_edges():
    """By hand: a start, its two neighbours, what is behind them, and a node without edges."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4)]
    assert column_layout(6, edges, [0]).tolist() == [
        [-1, 0],
        [-0.3333, -1],
        [-0.3333, 1],
        [0.3333, -1],  # between its two neighbours, 0
        [0.3333, 1],  # beside its own
        [1, 0],
    ]
    assert column_layout(0, [], []).shape == (0, 2)


@given(pairs=EDGES, start=st.integers(0, 8))
def test_a_column_holds_what_is_as_far(pairs, start):
    """Nodes of one column are as many edges from the start as a search in breadth says."""
    places = column_layout(9, pairs, [start])
    far = {start: 0}
    queue = [start]
    for node in queue:
        for a, b in [*pairs, *((b, a) for a, b in pairs)]:
            if a == node and b not in far:
                far[b] = far[node] + 1
                queue.append(b)
    depths = [far.get(node, max(far.values()) + 1) for node in range(9)]
    columns = np.unique(places[:, 0], return_inverse=True)[1]
    assert columns.tolist() == depths
    assert len(np.unique(places, axis=0)) == 9
