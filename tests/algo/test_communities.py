"""Communities: groups that were put there are found, as a tree, and kept over edits."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from clew.algo.communities import Communities, find_communities, join_communities, match_communities

NONE = -1


def cliques(*sizes, between=0.01):
    """Return cliques of some sizes, each node joined weakly to the first of the next clique."""
    graph = block_diag([np.ones((n, n)) - np.eye(n) for n in sizes]).toarray()
    firsts = np.cumsum([0, *sizes[:-1]])
    for a, b in pairwise(firsts):
        graph[a, b] = graph[b, a] = between
    return csr_array(graph)


def test_cliques_are_communities():
    """The largest comes first, of equal ones that with the lower node."""
    found = find_communities(cliques(4, 6, 4), 14, most=10)
    assert found.parents.tolist() == [-1, -1, -1]
    assert found.leaves.tolist() == [1] * 4 + [0] * 6 + [2] * 4


def test_large_communities_are_parted():
    """Two groups of two cliques each: groups at the top, cliques below them."""
    pair = np.full((16, 16), 0.2) + np.kron(np.eye(2), np.full((8, 8), 0.8)) - np.eye(16)
    graph = csr_array(block_diag([pair, pair]))
    found = find_communities(graph, 32, most=10)
    assert found.parents.tolist() == [-1, -1, 0, 0, 1, 1]
    assert found.levels.tolist() == [0, 0, 1, 1, 1, 1]
    assert found.leaves.tolist() == [2] * 8 + [3] * 8 + [4] * 8 + [5] * 8
    members = found.members.toarray()
    assert members.sum(axis=1).tolist() == [16, 16, 8, 8, 8, 8]
    assert members[0].tolist() == [1] * 16 + [0] * 16


def test_only_counted_nodes_have_a_place():
    """The last nodes join others, as entities join chunks, and count for no size."""
    found = find_communities(cliques(5, 5), 7, most=10)
    assert found.leaves.tolist() == [0] * 5 + [1] * 2


@pytest.mark.parametrize("n", [0, 3])
def test_nodes_without_edges_are_alone(n):
    found = find_communities(csr_array((n, n)), n, most=10)
    assert found.leaves.tolist() == list(range(n))


def test_communities_are_connected_and_the_same_in_every_run():
    """Which is what Leiden promises; a planted partition is found but for a few nodes."""
    planted = nx.planted_partition_graph(6, 30, 0.4, 0.01, seed=5)
    graph = csr_array(nx.to_scipy_sparse_array(planted, dtype=float))
    found = find_communities(graph, 180, most=40)
    again = find_communities(graph, 180, most=40)
    assert found.leaves.tolist() == again.leaves.tolist()
    assert found.parents.tolist() == again.parents.tolist()
    for community in range(len(found.parents)):
        nodes = np.flatnonzero(found.members[[community]].toarray()[0])
        assert nx.is_connected(planted.subgraph(nodes.tolist()))
    matched = match_communities(
        csr_array(np.repeat(np.eye(6), 30, axis=1)), found.members, share=0.8
    )
    assert sorted(matched[matched >= 0].tolist()) == list(range(6))


def test_who_comes_joins_the_community_that_it_is_linked_to():
    """The second node went, one came behind the first, and one that is linked to none."""
    former = Communities(np.array([-1, -1]), np.array([0, 0, 1, 1]))
    rows = np.array([0, NONE, 2, 3, NONE])
    links = csr_array([[0.5, 0, 0.4, 0.2, 0], [0, 0, 0, 0, 0]])
    found = join_communities(former, rows, links)
    assert found.leaves.tolist() == [0, 1, 1, 1, NONE]
    assert found.parents is former.parents


def test_communities_are_matched_by_what_they_share():
    """The first lost one of four, the second is half of another, the third is new."""
    former = csr_array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1.0]])
    now = csr_array([[0, 0, 0, 0, 1, 1, 1, 0], [1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0, 0]])
    assert match_communities(former, now).tolist() == [1, NONE, 0]
