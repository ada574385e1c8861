"""The search between anchor groups: a worked example, an eager search, and brute force."""

import heapq
import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.algo.bubble import (
    EPSILON,
    Piece,
    RankedPiece,
    expand_groups,
    rank_pieces,
    select_diverse,
    subdivide,
)

# When did Lothair II's mother die? Entities and triples of a small graph, with the cosine of each
# to the question, and groups for the person, for whose child he is, and for when somebody died.
ENTITIES = {
    "Ermengarde": 0.6,
    "Francia": 0.2,
    "Hub": 0.1,
    "Lothair I": 0.7,
    "Lothair II": 0.9,
    "Teutberga": 0.5,
    "851": 0.3,
    "855": 0.3,
}
TRIPLES = {
    "r0": ("Lothair II", "Ermengarde", 0.8),
    "r1": ("Ermengarde", "851", 0.7),
    "r2": ("Lothair II", "Lothair I", 0.6),
    "r3": ("Lothair I", "855", 0.6),
    "r4": ("Lothair I", "Francia", 0.2),
    "r5": ("Ermengarde", "Hub", 0.1),
    "r6": ("Teutberga", "Hub", 0.1),
    "r7": ("Lothair II", "Teutberga", 0.4),
}
NAMES = [*ENTITIES, *TRIPLES]
ROW = {name: row for row, name in enumerate(NAMES)}
GRAPH = subdivide(
    len(ENTITIES),
    np.array([ROW[subject] for subject, _, _ in TRIPLES.values()], dtype=np.int32),
    np.array([ROW[target] for _, target, _ in TRIPLES.values()], dtype=np.int32),
)
COSTS = np.round([1 - x for x in (*ENTITIES.values(), *(x for _, _, x in TRIPLES.values()))], 6)
GROUPS = [{ROW["Lothair II"]}, {ROW["r0"], ROW["Teutberga"]}, {ROW["r1"], ROW["r3"]}]
WEIGHTS = [0.5, 0.3, 0.2]

# Nodes, mean cost, missing weight, and scores at alpha 0, 1 and 5, in the order of discovery. The
# third and the fourth are found at the same cost, 0.6: the first group's come first by their node.
EXPECTED = [
    (["Lothair II", "r0"], 0.15, 0.2, [6.6666, 5.4582, 2.4525]),
    (["Ermengarde", "r0", "r1"], 0.3, 0.5, [3.3333, 2.0218, 0.2736]),
    (["Ermengarde", "Lothair II", "r0", "r1"], 0.25, 0.0, [4.0, 4.0, 4.0]),
    (["Lothair II", "Teutberga", "r7"], 0.4, 0.2, [2.5, 2.0468, 0.9197]),
    (["Lothair I", "Lothair II", "r2", "r3"], 0.3, 0.3, [3.3333, 2.4694, 0.7438]),
    (["Lothair I", "Lothair II", "r0", "r2", "r3"], 0.28, 0.0, [3.5714, 3.5714, 3.5714]),
    (["Ermengarde", "Lothair II", "Teutberga", "r0", "r1", "r7"], 0.35, 0.0, [2.8571] * 3),
    (["Ermengarde", "Hub", "Teutberga", "r1", "r5", "r6"], 0.65, 0.5, [1.5385, 0.9331, 0.1263]),
    (
        ["Ermengarde", "Hub", "Lothair II", "Teutberga", "r0", "r1", "r5", "r6"],
        0.525,
        0.0,
        [1.9048] * 3,
    ),
]


def costs_of(costs):
    return lambda nodes: np.asarray(costs, dtype=float)[nodes]


def graph_of(n_entities, *pairs):
    subjects, objects = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return subdivide(n_entities, subjects, objects)


def names(piece):
    return [NAMES[node] for node in piece.nodes]


def is_full(nodes, groups):
    return all(set(nodes) & set(group) for group in groups)


def edges_of(graph):
    return [
        (entity, graph.n_entities + row)
        for row in range(len(graph.subjects))
        for entity in graph.ends_of(row)
    ]


def pruned(nodes, edges, anchors):
    """Take away ends that are no anchors, one after the other."""
    while True:
        dead = {x for x in nodes - anchors if sum(x in edge for edge in edges) < 2}
        if not dead:
            return nodes, edges
        nodes = nodes - dead
        edges = {edge for edge in edges if not dead & set(edge)}


def eager(graph, costs, groups, *, budget, hops, full, intra, limit):
    """Search as `expand` does, but put every neighbour of what is settled into the heap."""
    anchors = set().union(*groups)
    neighbours = nx.Graph(edges_of(graph))
    neighbours.add_nodes_from(anchors)
    price = [round(cost * 1_000_000) for cost in costs]
    heap = [
        (0, i, a, -1, [a], 2 * hops + (a >= graph.n_entities))
        for i, group in enumerate(groups)
        for a in set(group)
    ]
    heapq.heapify(heap)
    paths, pieces, pairs, settled = {}, {}, set(), 0

    def add(kind, ways, *bridges):
        steps = itertools.chain(bridges, *map(itertools.pairwise, ways))
        edges = {tuple(sorted(step)) for step in steps}
        nodes, edges = pruned(set().union(*ways), edges, anchors)
        key = tuple(sorted(nodes))
        pieces.setdefault(key, Piece(key, tuple(sorted(edges)), kind))

    def goes_on():
        return len(pieces) < budget or (full and not any(is_full(key, groups) for key in pieces))

    while heap and goes_on():
        cost, i, node, _, path, cap = heapq.heappop(heap)
        if (i, node) in paths:
            continue
        if settled == limit:
            return list(pieces.values()), settled, True
        paths[i, node] = path
        met = [paths[j, node] for j in range(len(groups)) if (j, node) in paths]
        if len(met) == len(groups) or (len(met) > 1 and len(pieces) < budget):
            add("inter", met)
        states = dict(zip(paths, itertools.count(), strict=False))
        for x in sorted(neighbours[node], key=lambda x: (states.get((i, x), settled), x)):
            other = paths.get((i, x), path)
            pair = (i, frozenset((other[-1], path[-1])))
            if intra and len(pair[1]) > 1 and pair not in pairs and len(pieces) < budget:
                pairs.add(pair)
                add("intra", [path, other], (node, x))
            if len(path) <= cap:
                heapq.heappush(heap, (cost + price[x], i, x, settled, [x, *path], cap))
        settled += 1
    return list(pieces.values()), settled, False


@st.composite
def problems(draw, max_entities=8, max_triples=14, n_groups=(2, 4), max_anchors=3):
    """Multigraphs with loops, few different costs so that many tie, and groups that overlap."""
    n_entities = draw(st.integers(2, max_entities))
    entity = st.integers(0, n_entities - 1)
    pairs = draw(st.lists(st.tuples(entity, entity), min_size=1, max_size=max_triples))
    n_nodes = n_entities + len(pairs)
    cost = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 1.0])
    costs = draw(st.lists(cost, min_size=n_nodes, max_size=n_nodes))
    node = st.integers(0, n_nodes - 1)
    group = st.sets(node, min_size=1, max_size=max_anchors)
    groups = draw(st.lists(group, min_size=n_groups[0], max_size=n_groups[1]))
    return graph_of(n_entities, *pairs), costs, groups


def test_anchors_of_a_group_are_joined_through_the_cheapest_triple():
    """Not through that of the lowest row, where several join the two."""
    graph = graph_of(4, (1, 2), (1, 2), (0, 2), (2, 3))
    costs = [0.5, 0.5, 0.9, 0.9, 0.4, 0.3, 0.1, 1.0]
    found = expand_groups(graph, costs_of(costs), [{0, 1}, {3}], full=False, budget=1)
    assert [piece.nodes for piece in found.pieces] == [(0, 1, 2, 5, 6)]


def test_the_worked_example_is_found_in_order():
    """Nine pieces, by the cost at which they are complete, and then nothing is left."""
    found = expand_groups(GRAPH, costs_of(COSTS), GROUPS, intra=False)
    assert [names(piece) for piece in found.pieces] == [nodes for nodes, *_ in EXPECTED]
    assert {piece.kind for piece in found.pieces} == {"inter"}
    assert (found.settled, found.stopped) == (48, False)
    first, full = found.pieces[0], found.pieces[2]
    assert first.edges == ((ROW["Lothair II"], ROW["r0"]),)
    assert [(NAMES[a], NAMES[b]) for a, b in full.edges] == [
        ("Ermengarde", "r0"),
        ("Ermengarde", "r1"),
        ("Lothair II", "r0"),
    ]


@pytest.mark.parametrize(("position", "alpha"), [(0, 0), (1, 1), (2, 5)])
def test_the_worked_example_is_scored(position, alpha):
    """Costs, missing weights and scores; only a strict ranking puts a piece of all groups first."""
    pieces = expand_groups(GRAPH, costs_of(COSTS), GROUPS, intra=False).pieces
    result = rank_pieces(
        pieces, costs_of(COSTS), GROUPS, WEIGHTS, alpha=alpha, n_entities=len(ENTITIES)
    )
    expected = {tuple(nodes): (cost, missing, s[position]) for nodes, cost, missing, s in EXPECTED}
    assert len(result) == len(expected)
    for each in result:
        cost, missing, score = expected[tuple(names(each.piece))]
        assert each.cost == pytest.approx(cost)
        assert each.missing == pytest.approx(missing)
        assert each.score == pytest.approx(score, abs=5e-5)
    best = ["Lothair II", "r0"] if alpha < 2.554 else ["Ermengarde", "Lothair II", "r0", "r1"]
    assert names(result[0].piece) == best


@given(
    problems(),
    st.integers(1, 6),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([5, 12, 10_000]),
)
def test_it_finds_what_an_eager_search_finds(problem, budget, hops, full, intra, limit):
    """The same pieces in the same order, from the same settled states."""
    graph, costs, groups = problem
    options = {"budget": budget, "hops": hops, "full": full, "intra": intra, "limit": limit}
    pieces, settled, stopped = eager(graph, costs, groups, **options)
    found = expand_groups(graph, costs_of(costs), groups, **options)
    if pieces:
        assert list(found.pieces) == pieces
    else:
        assert [piece.kind for piece in found.pieces] == ["fallback"]
    assert (found.settled, found.stopped) == (settled, stopped)


@pytest.mark.parametrize("seed", range(6))
def test_an_eager_search_of_hubs_finds_the_same(seed):
    """Entities with hundreds of triples, whose costs are put in order part by part."""
    rng = np.random.default_rng(seed)
    pairs = np.minimum(rng.integers(0, 40, (700, 2)), rng.integers(0, 40, (700, 2)))
    graph = graph_of(40, *(pairs // rng.integers(1, 9, (700, 1))))
    assert np.diff(graph.begins).max() > 200
    costs = np.round(rng.random(740), 2)
    costs[rng.random(740) < 0.5] = 0.9
    groups = [rng.choice(740, 3).tolist() for _ in range(3)]
    options = {"budget": 10 + 90 * (seed % 2), "hops": 6, "full": True, "intra": True}
    pieces, settled, _ = eager(graph, costs, groups, **options, limit=3_000)
    found = expand_groups(graph, costs_of(costs), groups, **options, limit=3_000)
    assert list(found.pieces) == pieces
    assert found.settled == settled


@given(problems())
def test_pieces_connect_anchors(problem):
    """Every connection hangs together by edges of the graph, and all its ends are anchors."""
    graph, costs, groups = problem
    anchors, edges = set().union(*groups), set(edges_of(graph))
    for piece in expand_groups(graph, costs_of(costs), groups).pieces:
        if piece.kind == "fallback":
            assert piece == Piece(tuple(sorted(anchors)), (), "fallback")
            continue
        drawn = nx.Graph(piece.edges)
        drawn.add_nodes_from(piece.nodes)
        assert set(drawn) == set(piece.nodes)
        assert list(piece.nodes) == sorted(drawn)
        assert set(piece.edges) <= edges
        assert nx.is_connected(drawn)
        assert all(node in anchors for node in drawn if drawn.degree[node] < 2)
        touched = [group for group in groups if set(piece.nodes) & set(group)]
        assert len(touched) >= (2 if piece.kind == "inter" else 1)


@given(problems(), st.integers(1, 3))
def test_a_piece_with_all_groups_is_found_where_there_is_one(problem, budget):
    """However small the budget, if the groups are in one component."""
    graph, costs, groups = problem
    drawn = nx.Graph(edges_of(graph))
    drawn.add_nodes_from(range(len(costs)))
    possible = any(is_full(component, groups) for component in nx.connected_components(drawn))
    found = expand_groups(graph, costs_of(costs), groups, budget=budget, hops=len(costs))
    full = [piece for piece in found.pieces if is_full(piece.nodes, groups)]
    assert bool([piece for piece in full if piece.kind != "fallback"]) == possible


@given(problems(n_groups=(2, 2), max_anchors=1))
def test_two_anchors_are_joined_by_the_cheapest_path(problem):
    """As networkx finds it, where going to a node costs what the node costs."""
    graph, costs, groups = problem
    [a], [b] = groups
    drawn = nx.DiGraph()
    drawn.add_nodes_from(range(len(costs)))
    for x, y in edges_of(graph):
        drawn.add_edge(x, y, weight=costs[y])
        drawn.add_edge(y, x, weight=costs[x])
    piece = expand_groups(graph, costs_of(costs), groups, hops=len(costs)).pieces[0]
    if not nx.has_path(drawn, a, b):
        assert piece.kind == "fallback"
        return
    inner = sum(costs[node] for node in piece.nodes if node not in {a, b})
    length = nx.dijkstra_path_length(drawn, a, b) - (costs[b] if a != b else 0)
    # Bubbles meet where the dearer of two ways is cheapest: up to one node's cost beside the best.
    assert length - 1e-9 <= inner <= length + max(costs) + 1e-9


@given(problems(max_entities=5, max_triples=6, max_anchors=2))
def test_a_piece_costs_at_most_m_times_the_least(problem):
    """For m groups whose anchors are free, every piece with all of them that is found first."""
    graph, costs, groups = problem
    for anchor in set().union(*groups):
        costs[anchor] = 0.0
    drawn = nx.Graph(edges_of(graph))
    drawn.add_nodes_from(range(len(costs)))
    trees = [
        sum(costs[node] for node in nodes)
        for size in range(1, len(costs) + 1)
        for nodes in itertools.combinations(range(len(costs)), size)
        if is_full(nodes, groups) and nx.is_connected(drawn.subgraph(nodes))
    ]
    found = expand_groups(graph, costs_of(costs), groups, hops=len(costs)).pieces
    full = [piece for piece in found if piece.kind != "fallback" and is_full(piece.nodes, groups)]
    assert bool(full) == bool(trees)
    if full:
        first = sum(costs[node] for node in full[0].nodes)
        assert min(trees) - 1e-9 <= first <= len(groups) * min(trees) + 1e-9


@pytest.mark.parametrize(("hops", "joined"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_path_takes_at_most_so_many_triples(hops, joined):
    """Four triples lie between two entities: two from each side."""
    graph = graph_of(5, (0, 1), (1, 2), (2, 3), (3, 4))
    found = expand_groups(graph, costs_of([0.1] * 9), [[0], [4]], hops=hops)
    assert found.pieces[0].kind == ("inter" if joined else "fallback")


def test_the_cheapest_path_may_be_too_long_to_go_on():
    """One path for a node: a cheap detour to it stands where a dear short cut could go on."""
    detour, short_cut, on = [(0, 1), (1, 2)], [(0, 2)], [(2, 3), (3, 4), (4, 5)]
    both = graph_of(6, *detour, *short_cut, *on)
    costs = costs_of([0] * 6 + [0.1, 0.1, 0.9, 0.1, 0.1, 0.1])
    assert expand_groups(both, costs, [[0], [5]], hops=2).pieces[0].kind == "fallback"
    assert expand_groups(both, costs, [[0], [5]], hops=3).pieces[0].nodes[:3] == (0, 1, 2)
    one = graph_of(6, *short_cut, *on)
    assert expand_groups(one, costs, [[0], [5]], hops=2).pieces[0].kind == "inter"


def test_a_limit_ends_the_search():
    """Groups that nothing connects are given up after so many states, and that is told."""
    ring = [(i, (i + 1) % 50) for i in range(50)]
    graph = graph_of(100, *ring, *((a + 50, b + 50) for a, b in ring))
    costs = costs_of([0.1] * 200)
    found = expand_groups(graph, costs, [[0], [50]], hops=100, limit=40)
    assert (found.settled, found.stopped) == (40, True)
    assert [(piece.kind, piece.nodes) for piece in found.pieces] == [("fallback", (0, 50))]
    everything = expand_groups(graph, costs, [[0], [50]], hops=100, limit=200)
    assert (everything.settled, everything.stopped) == (200, False)


def test_only_what_is_settled_is_asked_for():
    """A search between neighbours does not ask for the costs of a large graph."""
    rng = np.random.default_rng(3)
    graph = graph_of(50_000, (0, 1), *rng.integers(0, 50_000, (100_000, 2)))
    asked = []

    def costs(nodes):
        asked.extend(nodes.tolist())
        return np.full(len(nodes), 0.5)

    found = expand_groups(graph, costs, [[0], [1]], budget=1)
    assert found.pieces[0].nodes == (0, 1, 50_000)
    assert len(asked) < 200


def test_a_hub_is_not_asked_for_before_it_is_settled():
    """It stands in the heap, dear, when others are asked for; its 500 triples are not."""
    graph = graph_of(505, (0, 2), (0, 3), (3, 4), *((2, i) for i in range(5, 505)))
    prices = np.full(505 + 503, 0.5)
    prices[[2, 3, 505, 506, 507]] = [1.0, 0.1, 0.1, 0.2, 0.1]
    asked = set()

    def costs(nodes):
        asked.update(nodes.tolist())
        return prices[nodes]

    found = expand_groups(graph, costs, [[0], [4]], budget=1)
    assert found.pieces[0].nodes == (0, 3, 4, 506, 507)
    assert asked == {2, 3, 4, 0, 505, 506, 507}


def test_a_single_group_needs_no_connection():
    """Each anchor is a piece, also where other groups have none."""
    expected = (Piece((2,), (), "single"), Piece((5,), (), "single"))
    for groups in ([[5, 2, 5]], [[], [5, 2], set()]):
        found = expand_groups(GRAPH, costs_of(COSTS), groups)
        assert (found.pieces, found.settled, found.stopped) == (expected, 0, False)


def test_groups_without_anchors():
    """It can never be covered, so the search does not wait for it; of nothing nothing is asked."""
    assert expand_groups(GRAPH, costs_of(COSTS), []).pieces == ()
    assert expand_groups(GRAPH, costs_of(COSTS), [[], []]).pieces == ()
    assert rank_pieces([], costs_of(COSTS), [], [], n_entities=8) == []
    assert select_diverse([], 3) == []
    found = expand_groups(GRAPH, costs_of(COSTS), [*GROUPS, []], intra=False, budget=1)
    assert found == expand_groups(GRAPH, costs_of(COSTS), GROUPS, intra=False, budget=1)
    assert is_full(found.pieces[-1].nodes, GROUPS)


@given(problems())
@settings(max_examples=30)
def test_the_order_of_anchors_does_not_matter(problem):
    """Sets, lists and repeated anchors give the same search."""
    graph, costs, groups = problem
    backwards = [[*sorted(group, reverse=True), *group] for group in groups]
    assert expand_groups(graph, costs_of(costs), backwards) == expand_groups(
        graph, costs_of(costs), groups
    )


@given(problems(), st.floats(0, 10), st.booleans(), st.lists(st.floats(0, 1), min_size=4))
def test_scores_follow_the_formula(problem, alpha, entities_only, weights):
    """Never below zero, best first, and lower where more weight is missing counts for more."""
    graph, costs, groups = problem
    pieces, weights = expand_groups(graph, costs_of(costs), groups).pieces, weights[: len(groups)]
    options = {"n_entities": graph.n_entities, "entities_only": entities_only}
    result = rank_pieces(pieces, costs_of(costs), groups, weights, alpha=alpha, **options)
    stricter = rank_pieces(pieces, costs_of(costs), groups, weights, alpha=alpha + 1, **options)
    after = {each.piece: each.score for each in stricter}
    for each in result:
        counted = [n for n in each.piece.nodes if n < graph.n_entities or not entities_only]
        mean = np.mean([costs[node] for node in counted or each.piece.nodes])
        missing = sum(
            weight
            for weight, group in zip(weights, groups, strict=True)
            if not set(group) & set(each.piece.nodes)
        )
        penalty = 1.1 if each.piece.kind == "intra" else 1
        assert each.cost == pytest.approx(mean)
        assert each.missing == pytest.approx(missing)
        assert each.score == pytest.approx(
            1 / (mean * math.exp(alpha * missing) * penalty + EPSILON), rel=1e-6
        )
        assert 0 <= after[each.piece] <= each.score
    scores = [round(each.score, 6) for each in result]
    assert scores == sorted(scores, reverse=True)


def test_pieces_are_ranked():
    """By rounded costs, the smaller first; one that shares half with a better one is left out."""
    assert int(0.000249 * 10**6) == 248
    piece = Piece((0,), (), "single")
    [only] = rank_pieces([piece], costs_of([0.000249]), [[0]], [1.0], n_entities=1)
    assert only.cost == 0.000249
    pieces = [Piece((3, 4), (), "inter"), Piece((1, 2, 5), (), "inter"), Piece((1, 6), (), "inter")]
    result = rank_pieces(pieces, costs_of([0.5] * 7), [[0]], [1.0], n_entities=3)
    assert [each.piece.nodes for each in result] == [(1, 6), (3, 4), (1, 2, 5)]
    sets = [(1, 2, 3), (1, 2, 4), (1, 5, 6), (7,), (2, 3, 8, 9, 10), (7, 11)]
    found = [RankedPiece(Piece(nodes, (), "inter"), 1.0, 0.5, 0.0, (True,)) for nodes in sets]
    assert select_diverse(found, 10) == [0, 2, 3, 4]
    assert select_diverse(found, 2) == [0, 2]
    assert select_diverse(found, 10, most_shared=1.0) == [0, 1, 2, 3, 4, 5]
    assert select_diverse(found, 10, most_shared=0.51) == [0, 1, 2, 3, 4, 5]
