"""Growth around a tree: a worked example, the algorithm written out, and what it may look at."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo.mcmi import JoinedNode, components, grow_tree, induced_edges
from clew.algo.pagerank import personalized_pagerank, transition_matrix
from clew.algo.steiner import Tree, steiner_tree

# The kidney story of the paper's second figure, with our costs. The first three are terminals, p0
# and p1 passages, which have a twentieth of their PageRank for an influence.
NAMES = ["kidney", "kidney cancer", "tumors", "blood vessels", "surgery", "p0", "p1"]
EDGES = [
    (0, 1, 0.15),
    (0, 2, 0.20),
    (1, 3, 0.25),
    (2, 3, 0.22),
    (1, 4, 0.40),
    (5, 0, 0.30),
    (5, 1, 0.30),
    (6, 2, 0.35),
    (6, 3, 0.35),
]
SCORES = [0.257358, 0.258762, 0.237219, 0.085321, 0.032345, 0.003762, 0.002688]
RULES = ("released", "eq15", "mean")


def neighbours_of(edges, asked=None):
    """Return the neighbours of nodes; `asked` collects who was asked for."""

    def neighbours(node):
        if asked is not None:
            asked.append(node)
        found = [(b if a == node else a, cost) for a, b, cost in edges if node in (a, b)]
        return np.array([v for v, _ in found], dtype=np.intp), np.array([c for _, c in found])

    return neighbours


def tree_of(nodes, edges=()):
    return Tree(tuple(nodes), tuple(edges), 0.0, 0, joined=False, stopped=False)


def digits(value):
    """Round to 20 significant bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, 20)), exponent - 20) if value < math.inf else value


def written_out(edges, tree, scores, rule, cap):
    """Look through all candidates in each round, and add up the limit anew."""
    cost_of = {}
    for a, b, cost in edges:
        for pair in ((a, b), (b, a)):
            cost_of[pair] = min(cost, cost_of.get(pair, math.inf))
    members, counted, added = [*tree.nodes], [*tree.edges], []
    while len(added) < cap:
        best = min(
            (
                (digits(cost / scores[v]), -digits(scores[v]), cost, v, u)
                for (u, v), cost in cost_of.items()
                if u in members and v not in members and scores[v] > 0
            ),
            default=None,
        )
        if best is None:
            break
        ratio, _, cost, node, to = best
        if rule == "released":
            terms = [cost_of[a, b] * (scores[a] + scores[b]) / 2 for a, b in tree.edges]
        else:
            sums = [(cost_of[a, b], scores[a] + scores[b]) for a, b in counted]
            terms = [cost / both if both else math.inf for cost, both in sums]
        limit = digits(sum(terms) / (1 if rule == "eq15" else max(1, len(terms))))
        if rule == "released":
            ratio = digits(scores[node] / cost)
        if not (ratio >= limit if rule == "released" else ratio < limit):
            break
        added.append(JoinedNode(node, to, cost, scores[node], ratio, limit))
        members.append(node)
        counted.append((node, to))
    return added


def influences():
    one, two = np.array([edge[:2] for edge in EDGES]).T
    pairs = np.concatenate([one, two]), np.concatenate([two, one])
    moves = transition_matrix(csr_array((np.ones(len(pairs[0])), pairs)))
    restart = np.array([1.0, 1, 1, 0, 0, 0, 0])
    scores = personalized_pagerank(moves, restart, damping=0.5, tolerance=1e-13)
    scores[5:] *= 0.05
    return scores


@st.composite
def problems(draw):
    """Graphs with parallel edges and many equal costs and scores, a tree, and how far to grow."""
    n = draw(st.integers(2, 12))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=30))
    # Powers of two, so that any way of adding them up is exact.
    edges = [(a, b, 2.0 ** draw(st.integers(-3, 0))) for a, b in pairs if a != b]
    scores = np.array([draw(st.sampled_from([0.0, 0.125, 0.25, 0.5])) for _ in range(n)])
    terminals = draw(st.lists(node, min_size=1, max_size=4))
    return edges, steiner_tree(neighbours_of(edges), terminals), scores, draw(st.integers(0, 12))


@pytest.mark.parametrize(
    ("rule", "limit", "joined", "n_edges"),
    [
        ("released", 0.044083, [("blood vessels", 2.5785), ("surgery", 12.3666)], 5),
        ("eq15", 0.695016, [], 2),
        ("mean", 0.347508, [], 2),
    ],
)
def test_kidney_story(rule, limit, joined, n_edges):
    """The worked example: only the released rule adds, and a cycle closes; passages stay out."""
    neighbours = neighbours_of(EDGES)
    tree = steiner_tree(neighbours, [0, 1, 2], passages_from=5)
    assert (tree.edges, tree.cost) == (((0, 1), (0, 2)), 0.35)
    scores = influences()
    assert scores.round(6).tolist() == SCORES
    added = grow_tree(neighbours, tree, scores, rule=rule)
    assert [(NAMES[each.node], round(each.cost / each.score, 4)) for each in added] == joined
    assert all(each.limit == pytest.approx(limit, abs=5e-7) for each in added)
    members = [*tree.nodes, *(each.node for each in added)]
    edges = induced_edges(neighbours, members)
    assert len(edges) == n_edges
    assert components(members, edges) == [tuple(sorted(members))]


@given(problems(), st.sampled_from(RULES))
def test_growth_is_that_of_a_search_through_all(problem, rule):
    """A heap gives what looking through all gives, in any order, and asks each member once."""
    edges, tree, scores, cap = problem
    found = grow_tree(neighbours_of(edges), tree, scores, rule=rule, cap=cap)
    assert found == written_out(edges, tree, scores.tolist(), rule, cap)
    edges, tree, scores, cap = problem
    backwards = neighbours_of([(b, a, cost) for a, b, cost in reversed(edges)])
    found = grow_tree(neighbours_of(edges), tree, scores, rule=rule, cap=cap)
    assert grow_tree(backwards, tree, scores, rule=rule, cap=cap) == found
    edges, tree, scores, cap = problem
    asked = []
    added = grow_tree(neighbours_of(edges, asked), tree, scores, rule=rule, cap=cap)
    assert len(set(asked)) == len(asked)
    assert set(asked) <= {*tree.nodes, *(each.node for each in added)}
    assert len(added) <= cap


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_hubs_give_the_same_as_a_search_through_all(rule, seed):
    """Of a hub's neighbours only the best are looked at, and parallel edges hide none of them."""
    rng = np.random.default_rng(seed)
    one, two = np.zeros(3000, dtype=np.int64), rng.integers(2, 900, 3000)
    one[2000:] = 1
    two[:1000] = rng.integers(2, 10, 1000)  # of few nodes very many
    costs = np.where(two < 10, 0.125, 2.0 ** rng.integers(-3, 0, 3000))
    edges = [(0, 1, 0.5), *zip(one.tolist(), two.tolist(), costs.tolist(), strict=True)]
    scores = 2.0 ** rng.integers(-12, -4, 900)
    scores[rng.random(900) < 0.3] = 0
    scores[:10] = 0.25
    tree = tree_of([0, 1], [(0, 1)])
    found = grow_tree(neighbours_of(edges), tree, scores, rule=rule)
    assert found == written_out(edges, tree, scores.tolist(), rule, 20)
    assert len(found) == {"released": 20, "eq15": 8, "mean": 2}[rule]


def test_tiny_scores_are_told_apart():
    """Six decimals would make these scores nothing; what differs less than six digits is a tie."""
    edges = [(0, 1, 0.5), (0, 2, 0.5), (0, 3, 0.5)]
    scores = np.array([1e-9, 1e-12, 2e-12, 2e-12 * (1 + 1e-9)])
    added = grow_tree(neighbours_of(edges), tree_of([0]), scores)
    assert [each.node for each in added] == [2, 3, 1]


@pytest.mark.parametrize("rule", RULES)
def test_without_candidates_nothing_joins(rule):
    """No neighbours, none with influence, or no room: no growth, and no error."""
    tree = tree_of([0, 1], [(0, 1)])
    edges = [(0, 1, 0.5), (1, 2, 0.5)]
    assert grow_tree(neighbours_of([]), tree_of([7]), np.ones(8), rule=rule) == []
    assert grow_tree(neighbours_of(edges), tree, np.array([0.5, 0.5, 0.0]), rule=rule) == []
    assert grow_tree(neighbours_of(edges), tree, np.ones(3), rule=rule, cap=0) == []


def test_edges_and_parts():
    """Each pair once, with its cheapest edge; nodes without edges are parts too."""
    edges = [(3, 1, 0.5), (1, 3, 0.25), (1, 2, 0.5), (2, 3, 0.75), (2, 9, 0.1), (3, 9, 0.1)]
    assert induced_edges(neighbours_of(edges), [3, 2, 1]) == [
        (1, 2, 0.5),
        (1, 3, 0.25),
        (2, 3, 0.75),
    ]
    assert induced_edges(neighbours_of(edges), [1]) == []
    assert induced_edges(neighbours_of(edges), []) == []
    edges = [(2, 9, 0.5), (5, 9, 0.5), (1, 2, 0.5), (3, 4, 0.5)]
    assert components([9, 5, 4, 3, 2, 1, 0], edges) == [(0,), (1, 2, 5, 9), (3, 4)]
    assert components([], []) == []
