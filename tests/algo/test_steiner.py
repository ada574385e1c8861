"""The tree between terminals: an eager search, networkx, brute force, and what it may look at."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.steiner import Tree, steiner_tree

MILLION = 1_000_000
COSTS = st.integers(1, 4).map(lambda quarters: quarters / 4)  # so that many are alike


class Asked:
    """The neighbours of nodes, of a list of edges with costs; it notes who was asked for."""

    def __init__(self, edges, *, backwards=False):
        self.edges = edges
        self.backwards = backwards
        self.nodes = []

    def __call__(self, node):
        self.nodes.append(node)
        found = [(b if a == node else a, cost) for a, b, cost in self.edges if node in (a, b)]
        if self.backwards:
            found.reverse()
        return np.array([v for v, _ in found], dtype=np.intp), np.array([c for _, c in found])


class Rows:
    """The same of arrays, for graphs that are large."""

    def __init__(self, one, two, costs):
        owners, self.ends = np.concatenate([one, two]), np.concatenate([two, one])
        order = np.argsort(owners, kind="stable")
        self.ends, self.costs = self.ends[order], np.tile(costs, 2)[order]
        self.begins = np.searchsorted(owners[order], np.arange(self.ends.max() + 2))

    def __call__(self, node):
        edges = slice(self.begins[node], self.begins[node + 1])
        return self.ends[edges], self.costs[edges]


def graph_of(edges):
    """Return the cheapest edges as whole millionths."""
    graph = nx.Graph()
    for a, b, cost in edges:
        price = round(cost * MILLION)
        if not graph.has_edge(a, b) or price < graph.edges[a, b]["weight"]:
            graph.add_edge(a, b, weight=price)
    return graph


def regions_of(graph, terminals):
    """Return the region, distance and node before of each node, settled in order of all three."""
    graph.add_nodes_from(terminals)
    waiting = {(0, terminal, terminal, -1) for terminal in terminals}
    settled = {}
    while waiting:
        least = min(waiting)
        waiting.remove(least)
        cost, terminal, node, before = least
        if node not in settled:
            settled[node] = terminal, cost, before
            waiting |= {
                (cost + graph.edges[node, other]["weight"], terminal, other, node)
                for other in graph[node]
            }
    return settled


def pruned(graph, terminals):
    """Take away ends that are no terminals, one after the other."""
    while dead := [node for node in graph if graph.degree(node) < 2 and node not in terminals]:
        graph.remove_nodes_from(dead)


def bridges_of(graph, settled, passages, joint):
    """Return the length and the ends of edges between regions, and then of ways over the joint."""
    found = []
    for a, b in graph.edges:
        if a in settled and b in settled and settled[a][0] != settled[b][0]:
            length = settled[a][1] + graph.edges[a, b]["weight"] + settled[b][1]
            found.append((length, *sorted((a, b)), False))
    over = [
        (settled[passages[0]][1] + 2 * joint + settled[passage][1], passages[0], passage, True)
        for passage in passages[1:]
    ]
    return sorted([*sorted(found), *over], key=lambda bridge: (bridge[0], bridge[3]))


def way_back(settled, node):
    while (before := settled[node][2]) >= 0:
        yield node, before
        node = before


def mehlhorn(edges, terminals, passages_from=math.inf, joint_cost=10.0):
    """Search everywhere, and do all the steps of the algorithm one by one."""
    graph, joint = graph_of(edges), round(joint_cost * MILLION)
    settled = regions_of(graph, terminals)
    nearest = {}  # passage of each region, in the order in which they were settled
    for node, (terminal, _, _) in settled.items():
        if node >= passages_from:
            nearest.setdefault(terminal, node)
    parts = nx.utils.UnionFind(terminals)
    union = nx.Graph()
    union.add_nodes_from(terminals)
    for _, one, two, over in bridges_of(graph, settled, [*nearest.values()], joint):
        if parts[settled[one][0]] == parts[settled[two][0]]:
            continue
        parts.union(settled[one][0], settled[two][0])
        graph.add_edges_from([(one, "joint"), (two, "joint")] if over else [], weight=joint)
        steps = [(one, "joint"), (two, "joint")] if over else [(one, two)]
        for node in (one, two):
            steps += way_back(settled, node)
        union.add_edges_from((a, b, graph.edges[a, b]) for a, b in steps)
    tree = nx.minimum_spanning_tree(union)
    pruned(tree, set(terminals))
    joined = "joint" in tree
    tree.remove_nodes_from(["joint"])
    found = tuple(sorted((min(edge), max(edge)) for edge in tree.edges))
    return tuple(sorted(tree)), found, sum(tree.edges[e]["weight"] for e in found), joined


def least_cost(edges, terminals):
    """Return the least cost of connecting the terminals, by trying every set of nodes."""
    graph = graph_of(edges)
    others = sorted(set(graph) - set(terminals))
    costs = [math.inf]
    for n in range(len(others) + 1):
        for chosen in itertools.combinations(others, n):
            part = graph.subgraph([*terminals, *chosen])
            if len(part) == len(terminals) + n and nx.is_connected(part):
                costs.append(nx.minimum_spanning_tree(part).size(weight="weight"))
    return min(costs)


def result(tree):
    return tree.nodes, tree.edges, round(tree.cost * MILLION), tree.joined


@st.composite
def problems(draw, n_nodes=12, n_edges=30, *, connected=False):
    """Graphs with parallel edges, often in several parts, and two to five terminals."""
    n = draw(st.integers(4, n_nodes))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), min_size=3, max_size=n_edges))
    if connected:
        pairs += [(node, draw(st.integers(0, node - 1))) for node in range(1, n)]
    edges = [(a, b, draw(COSTS)) for a, b in pairs if a != b]
    return edges, draw(st.lists(node, min_size=2, max_size=5, unique=True))


def large(n_nodes, n_edges, seed):
    """A connected graph whose first node is a hub."""
    rng = np.random.default_rng(seed)
    one = np.concatenate([np.arange(1, n_nodes), rng.integers(0, n_nodes, n_edges)])
    two = np.concatenate([np.zeros(n_nodes - 1, np.int64), rng.integers(0, n_nodes, n_edges)])
    one, two = one[one != two], two[one != two]
    costs = np.round(rng.uniform(0.01, 1, len(one)), 6)
    return one, two, costs


@given(problems())
def test_tree_is_that_of_a_search_everywhere(problem):
    """Stopping early changes nothing, with equal costs, parts apart and edges twice, too."""
    edges, terminals = problem
    assert result(steiner_tree(Asked(edges), terminals)) == mehlhorn(edges, terminals)


@given(problems(), st.integers(0, 12), st.sampled_from([0.0, 0.25, 1.0, 10.0]))
def test_the_joint_is_that_of_a_search_everywhere(problem, passages_from, joint_cost):
    """The joint connects as one more node would, cheap or dear, whichever nodes are passages."""
    edges, terminals = problem
    tree = steiner_tree(Asked(edges), terminals, passages_from=passages_from, joint_cost=joint_cost)
    assert result(tree) == mehlhorn(edges, terminals, passages_from, joint_cost)


@pytest.mark.parametrize("steps", [MILLION, 400, 3])
@pytest.mark.parametrize("seed", range(2))
def test_hubs_are_searched_piece_by_piece(seed, steps):
    """Edges of a hub come in blocks, also where these would end amid equal costs."""
    one, two, costs = large(700, 1500, seed)
    costs = np.ceil(costs * steps) / MILLION
    terminals = np.random.default_rng(seed).integers(1, 700, 6).tolist()
    edges = list(zip(one.tolist(), two.tolist(), costs.tolist(), strict=True))
    tree = steiner_tree(Rows(one, two, costs), terminals)
    assert result(tree) == mehlhorn(edges, sorted(set(terminals)))


@given(problems(n_nodes=8, n_edges=10, connected=True))
def test_tree_costs_at_most_twice_the_least(problem):
    """Mehlhorn's bound holds against brute force: 2(1 - 1/t) for t terminals."""
    edges, terminals = problem
    bound = 2 * (1 - 1 / len(terminals)) * least_cost(edges, terminals)
    assert round(steiner_tree(Asked(edges), terminals).cost * MILLION) <= bound + 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_tree_is_never_dearer_than_networkx(seed):
    """The same algorithm in networkx finds no cheaper tree, where no two costs are alike."""
    one, two, costs = large(60, 120, seed)
    terminals = np.random.default_rng(seed).choice(60, 2 + seed % 5, replace=False).tolist()
    graph = graph_of(zip(one.tolist(), two.tolist(), costs.tolist(), strict=True))
    other = nx.algorithms.approximation.steiner_tree(graph, terminals, method="mehlhorn")
    tree = steiner_tree(Rows(one, two, costs), terminals)
    assert round(tree.cost * MILLION) <= other.size(weight="weight")


@given(problems(), st.integers(0, 12), st.one_of(st.none(), st.integers(0, 12)))
def test_order_leaves_no_trace(problem, passages_from, limit):
    """Terminals and neighbours may come in any order, and terminals twice."""
    edges, terminals = problem
    options = {"passages_from": passages_from, "limit": limit}
    again = Asked(edges, backwards=True)
    assert steiner_tree(Asked(edges), terminals, **options) == steiner_tree(
        again, [*reversed(terminals), *terminals], **options
    )


@given(problems(), st.one_of(st.none(), st.integers(0, 12)))
def test_only_settled_nodes_are_asked(problem, limit):
    """No node is asked twice, none beyond the limit, and parts have no cycle and no dead end."""
    edges, terminals = problem
    asked = Asked(edges)
    tree = steiner_tree(asked, terminals, limit=limit)
    assert len(set(asked.nodes)) == len(asked.nodes) == tree.settled
    assert limit is None or tree.settled <= limit
    graph = nx.Graph(tree.edges)
    graph.add_nodes_from(tree.nodes)
    assert nx.is_forest(graph)
    assert {node for node in graph if graph.degree(node) < 2} <= set(terminals) <= set(graph)


def test_search_ends_where_the_tree_is_certain():
    """Between two terminals, what is more than half as far as they are apart is not looked at."""
    path = [(i, i + 1, 1.0) for i in range(100)]
    asked = Asked(path)
    tree = steiner_tree(asked, [50, 54])
    assert tree.nodes == (50, 51, 52, 53, 54)
    assert tree.cost == 4.0
    assert set(asked.nodes) <= set(range(48, 57))


def test_a_part_that_is_searched_out_ends_the_search():
    """One terminal far from all others does not make the rest be searched: nothing leads to it."""
    edges = [(0, 1, 0.5), *((i, i + 1, 0.5) for i in range(10, 400))]
    tree = steiner_tree(Asked(edges), [0, 200, 201])
    assert tree == Tree(
        (0, 200, 201), ((200, 201),), 0.5, tree.settled, joined=False, stopped=False
    )
    assert tree.settled < 10


def test_limit_keeps_apart_what_was_not_connected_before():
    """The limit is told; what is connected by then stays so."""
    path = [(i, i + 1, 0.5) for i in range(40)]
    tree = steiner_tree(Asked(path), [0, 1, 30], limit=6)
    assert (tree.nodes, tree.edges) == ((0, 1, 30), ((0, 1),))
    assert (tree.settled, tree.stopped) == (6, True)
    assert not steiner_tree(Asked(path), [0, 1, 30], limit=41).stopped


@pytest.mark.parametrize("terminals", [[], [7], [7, 7]])
def test_one_terminal_is_the_tree(terminals):
    """Nothing is to be connected, so nothing is asked."""
    tree = steiner_tree(Asked([(7, 8, 0.5)]), terminals, passages_from=0)
    assert tree == Tree(tuple(set(terminals)), (), 0.0, 0, joined=False, stopped=False)


def test_blocks_of_a_hub():
    """All are taken where the only way leads over the last; they count in what is certain."""
    edges = [*((0, i, i / 1000) for i in range(1, 400)), (399, 400, 2.0)]
    assert steiner_tree(Asked(edges), [0, 400]).edges == ((0, 399), (399, 400))
    x, y, far = 500, 501, 502
    millionths = [(0, far, 205), (0, x, 101), (x, y, 1), (y, far, 102)]
    millionths += [(0, leaf, 100) for leaf in range(1, 129)]
    edges = [(a, b, cost / MILLION) for a, b, cost in millionths]
    assert steiner_tree(Asked(edges), [0, far]).edges == ((0, x), (x, y), (y, far))


def test_work_stays_near_the_terminals_of_a_large_graph():
    """Two terminals that an edge joins take a look at few of 100,000 nodes, though beside a hub."""
    one, two, costs = large(100_000, 200_000, 1)
    pair = [int(one[150_000]), int(two[150_000])]
    costs[150_000] = 0.05
    assert steiner_tree(Rows(one, two, costs), pair).settled < 1_000
