"""How skewed a graph of chunks is, as KET-RAG's Figure 2 shows it."""

import numpy as np
from scipy.sparse import csr_array

from benchmarks.figures import draw_degrees, tail_shares

# The graph of six chunks that docs/methods/ket.md is checked with: K = 2.
EDGES = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 4), (3, 4), (3, 5)]


def graph_of(n, edges):
    ends = np.array([*edges, *((b, a) for a, b in edges)]).reshape(-1, 2)
    return csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))


def test_shares_of_degrees_by_hand():
    """Five chunks have three neighbours and one has one."""
    degrees, shares = tail_shares(graph_of(6, EDGES))
    assert degrees.tolist() == [1, 3]
    assert shares.tolist() == [1, 5 / 6]
    star = graph_of(5, [(0, other) for other in range(1, 5)])
    assert [each.tolist() for each in tail_shares(star)] == [[1, 4], [1, 1 / 5]]


def test_the_figure_is_the_same_twice(tmp_path):
    graphs = {"six chunks": graph_of(6, EDGES), "a star": graph_of(3, [(0, 1), (0, 2)])}
    for name in ("a", "b"):
        draw_degrees(graphs, tmp_path / f"{name}.svg")
    first, second = ((tmp_path / f"{name}.svg").read_text() for name in ("a", "b"))
    assert first == second
    assert "six chunks, a star" in first
    assert "share of PageRank" in first
