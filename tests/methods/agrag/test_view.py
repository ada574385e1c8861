"""AGRAG's graph of an index, and the costs that a question gives its edges, by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from clew import steps
from clew.algo.links import StoredLink
from clew.index.layers.statistical import StatisticalEntities
from clew.index.snapshot import Snapshot
from clew.methods.agrag.view import build_graph, open_view
from tests.methods.memory import Rows

ENTITIES = ("kidney", "kidney cancer", "tumors", "blood vessels", "gas")
TERM, FIRST = (
    5,
    7,
)  # the first of two statistical entities, the first of four chunks, the last of which has nothing
TRIPLES = (  # subject, object, cosine to the question, and the chunks, true where it is grounded
    (0, 1, 0.5, {0: True}),
    (2, 3, 0.25, {1: True}),
    (1, 0, 0.75, {0: True, 2: False}),
    (0, 2, 0.9, {1: False, 2: True}),
    (4, 1, 0.8, {2: False}),
    (3, 2, 0.25, {1: True}),
)
SALIENT = {(0, 0): 1.0, (3, 1): 0.75}  # entity, chunk
OWN_TERMS = {(0, 2): 0.875, (1, 2): 1.0}  # statistical entity, chunk
EXTRACTED = {(0, 1), (2, 1), (4, 0)}
MENTIONS = ((0, 2), (4, 2), (1, 1), (0, 0), (0, 1))  # entity, chunk, a unit for each
SYNONYMS = {(0, 1): 0.875, (1, 5): 0.75, (4, 6): 0.9375}
NAMES = (0.125, 0.5, 0.0, 0.0, 0.25)  # cosines of entities
TERMS = (0.375, 0.625)
CHUNKS = (0.2, 0.6, 1.0, 0.4)
HYBRID = np.array([3.0, 1.0, 5.0, 2.0])  # scaled 0.5, 0, 1 and 0.25
QUERY = steps.Query("anything", np.array([1.0, 0.0], dtype=np.float32), None)


def vectors(cosines):
    cosines = np.asarray(cosines, dtype=np.float32)
    return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)


def matrix(entries, shape, dtype=np.float32):
    pairs = np.array(sorted(entries), dtype=int).reshape(-1, 2)
    data = [entries[tuple(pair)] if isinstance(entries, dict) else 1 for pair in pairs.tolist()]
    return csr_array((np.array(data, dtype=dtype), tuple(pairs.T)), shape=shape)


def snapshot():
    """Return the index of the tables above."""
    subjects, objects, cosines, chunks = zip(*TRIPLES, strict=True)
    columns = {"subject": np.array(subjects), "object": np.array(objects)}
    names = [f"t{row}" for row in range(len(TRIPLES))]
    layers = {
        "chunk": Rows([*"abcd"], [*"ABCD"], {}, vectors(CHUNKS)),
        "entity": Rows(ENTITIES, [name.title() for name in ENTITIES], {}, vectors(NAMES)),
        "triple": Rows(names, names, columns, vectors(cosines)),
    }
    n, units = len(ENTITIES), range(len(MENTIONS))
    links = {
        ("triple", "chunk"): matrix(
            {(row, chunk) for row, where in enumerate(chunks) for chunk in where}, (len(names), 4)
        ),
        ("entity", "chunk"): matrix(EXTRACTED, (n, 4)),
        ("chunk", "unit"): matrix({(MENTIONS[u][1], u) for u in units}, (4, len(units))),
        ("unit", "entity"): matrix({(u, MENTIONS[u][0]) for u in units}, (len(units), n)),
    }
    return Snapshot(
        None, layers, {pair: StoredLink.from_matrix(link) for pair, link in links.items()}
    )


def counted(synonyms=SYNONYMS):
    both_ways = synonyms | {(b, a): cosine for (a, b), cosine in synonyms.items()}
    said = [where[chunk] for *_, where in TRIPLES for chunk in sorted(where)]
    n = len(ENTITIES)
    return StatisticalEntities(
        names=["Straw", "Steady hand"],
        vectors=vectors(TERMS),
        entities=matrix(SALIENT, (n, 4)),
        terms=matrix(OWN_TERMS, (2, 4)),
        synonyms=matrix(both_ways, (n + 2, n + 2)),
        grounded=np.array(said),
        empty=0.0,
    )


def made(*, entities="statistical", verbatim=True, synonyms=SYNONYMS):
    drawn = {"entities": entities, "verbatim": verbatim}
    return build_graph(snapshot(), counted(synonyms), **drawn)


def edges(graph):
    """Return each edge once, (a, b, weight, rows of the triples of a fact edge), in order."""
    rows = np.repeat(np.arange(graph.adjacency.shape[0]), np.diff(graph.adjacency.indptr))
    columns, weights = graph.adjacency.indices, graph.adjacency.data
    cells = zip(
        rows.tolist(), columns.tolist(), weights.tolist(), graph.pairs.tolist(), strict=True
    )
    return [
        (a, b, weight, graph.get_triples(pair).tolist() if pair >= 0 else None)
        for a, b, weight, pair in cells
        if a < b
    ]


FACTS = [(0, 1, 2.0, [0, 2]), (0, 2, 1.0, [3]), (2, 3, 2.0, [1, 5])]
ALIKE = [(0, 1, 0.875, None), (1, 5, 0.75, None), (4, 6, 0.9375, None)]
STATED = {(0, 0), (1, 0), (0, 2), (2, 2), (2, 1), (3, 1)}  # ends of grounded triples, and chunks
SAID = {(0, 0), (3, 1), (5, 2), (6, 2)}  # what is salient


def where(places):
    return [(node, FIRST + chunk, 1.0, None) for node, chunk in places]


def in_order(*groups):
    return sorted((edge for group in groups for edge in group), key=lambda edge: edge[:2])


# -- the graph ------------------------------------------------------------------------------------


def test_the_graph_is_facts_chunks_and_synonyms():
    """All triples of a pair, either way, are one edge; what a text does not state is none."""
    graph = made()
    assert edges(graph) == in_order(FACTS, where(STATED | SAID), ALIKE)
    assert (graph.n_entities, graph.n_terms, graph.n_chunks, graph.first_chunk) == (5, 2, 4, FIRST)
    assert graph.stated.tolist() == [True, True, True, True, False, True]
    assert graph.n_edges == len(edges(graph)) == 14


@pytest.mark.parametrize("entities", ["statistical", "extracted"])
@pytest.mark.parametrize("verbatim", [True, False])
def test_the_graph_is_symmetric_and_sorted_without_loops(entities, verbatim):
    """Each edge is stored both ways, with the same weight and triples."""
    graph = made(entities=entities, verbatim=verbatim)
    sparse = graph.adjacency
    assert sparse.shape == (11, 11)
    rows = np.repeat(np.arange(11), np.diff(sparse.indptr))
    assert (np.diff(rows * 11 + sparse.indices) >= 0).all()
    assert (rows != sparse.indices).all()
    cells = list(zip(rows.tolist(), sparse.indices.tolist(), sparse.data, graph.pairs, strict=True))
    assert sorted(cells) == sorted((b, a, weight, pair) for a, b, weight, pair in cells)
    assert graph.degrees.tolist() == [sparse.data[rows == row].sum() for row in range(11)]
    moved = np.divide(1.0, graph.degrees, out=np.zeros(11), where=graph.degrees > 0)
    np.testing.assert_allclose(graph.transition.toarray(), (sparse.toarray() * moved[:, None]).T)


def test_settings_of_the_graph():
    """All triples, extracted entities alone."""
    graph = made(verbatim=False)
    facts = [FACTS[0], FACTS[1], (1, 4, 1.0, [4]), FACTS[2]]
    more = {(1, 2), (0, 1), (4, 2)}
    assert edges(graph) == in_order(facts, where(STATED | SAID | more), ALIKE)
    assert graph.stated.all()
    graph = made(entities="extracted")
    assert edges(graph) == in_order(FACTS, where(STATED | EXTRACTED), ALIKE[:1])
    assert not graph.degrees[TERM:FIRST].any()


# -- costs ----------------------------------------------------------------------------------------


def seen(costs="released", query=QUERY, hybrid=HYBRID, **drawn):
    """Return what the question sees of the graph."""
    return open_view(snapshot(), query, made(**drawn), counted(), costs, hybrid)


def costs_of(view):
    """Return the costs of each edge, as its lower node sees them and as the other one does."""
    found = {}
    for node in range(11):
        for other, cost in zip(*map(np.ndarray.tolist, view.get_neighbours(node)), strict=True):
            found.setdefault((min(node, other), max(node, other)), []).append((node, cost))
    return {
        edge: (
            [cost for node, cost in several if node == edge[0]],
            [cost for node, cost in several if node == edge[1]],
        )
        for edge, several in found.items()
    }


RELEASED = {
    (0, 1): [0.25, 0.5],  # the better triple; the better name
    (0, 2): [0.1],
    (2, 3): [0.75],
    (1, 5): [0.5],
    (4, 6): [0.375],
    (0, 7): [0.5],
    (1, 7): [0.5],
    (2, 8): [1.0],
    (3, 8): [1.0],
    **{(node, 9): [1e-6] for node in (0, 2, 5, 6)},
}


def test_the_costs_of_edges():
    """1 less the best triple, the better name, or the share of the scores."""
    found = costs_of(seen("released"))
    assert found == {edge: (costs, costs) for edge, costs in RELEASED.items()}
    expected = {edge: [max(cost / 2, 1e-6) for cost in costs] for edge, costs in RELEASED.items()}
    expected |= {(0, 7): [0.4], (1, 7): [0.4], (2, 8): [0.2], (3, 8): [0.2]}
    found = costs_of(seen("paper"))
    assert found == {edge: (costs, costs) for edge, costs in expected.items()}


def test_no_edge_costs_nothing_and_one_may_cost_more_than_one():
    """A cosine above 1, by rounding, and one below 0."""
    above, against = (
        steps.Query("x", np.array([x, 0.0], dtype=np.float32), None) for x in (1.25, -1.0)
    )
    assert set(seen("paper", above).get_neighbours(9)[1].tolist()) == {1e-6}
    assert seen("released", against).get_neighbours(2)[1].tolist() == [1.9, 1.25, 1.0, 1e-6]
    assert seen(hybrid=np.full(4, 0.5)).get_neighbours(9)[1].tolist() == [1.0] * 4


def test_an_edge_costs_the_same_from_both_ends():
    """Whichever other edges its cost is computed with, to the last of six decimals."""
    n, random = 60, np.random.default_rng(7)
    subjects, objects = random.integers(0, n, (2, 4_000)).astype(np.int32)
    two = subjects != objects
    columns = {"subject": subjects[two], "object": objects[two]}
    drawn = random.normal(size=(two.sum() + n, 384)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    names = [f"e{row}" for row in range(n)]
    layers = {
        "chunk": Rows(["a"], ["A"], {}, drawn[:1]),
        "entity": Rows(names, names, {}, drawn[:n]),
        "triple": Rows(range(two.sum()), range(two.sum()), columns, drawn[n:]),
    }
    said = matrix({(row, 0) for row in range(two.sum())}, (two.sum(), 1))
    index = Snapshot(None, layers, {("triple", "chunk"): StoredLink.from_matrix(said)})
    alike = np.triu(random.random((n, n)) < 0.3, 1).astype(np.float32)
    given = StatisticalEntities(
        names=[],
        vectors=drawn[:0],
        entities=matrix({}, (n, 1)),
        terms=matrix({}, (0, 1)),
        synonyms=csr_array(alike + alike.T),
        grounded=np.ones(two.sum(), dtype=bool),
        empty=0.0,
    )
    drawn_by = {"entities": "statistical", "verbatim": True}
    graph = build_graph(index, given, **drawn_by)
    query = steps.Query("x", drawn[0], None)
    view = open_view(index, query, graph, given, "released", np.zeros(1))
    entries = [
        (node, int(other), bool(pair < 0), cost)
        for node in range(n)
        for other, pair, cost in zip(
            view.get_neighbours(node)[0],
            graph.pairs[graph.row_entries(node)],
            view.get_neighbours(node)[1],
            strict=True,
        )
        if other < n
    ]
    assert len(entries) > 3_000
    assert set(entries) == {(b, a, kind, cost) for a, b, kind, cost in entries}


def test_a_graph_without_facts_has_costs():
    """Nothing is stated, so synonyms and chunks are all that there is."""
    given = counted()
    given.grounded[:] = False
    graph = build_graph(snapshot(), given, entities="statistical", verbatim=True)
    assert edges(graph) == in_order(where(SAID), ALIKE)
    view = open_view(snapshot(), QUERY, graph, given, "released", HYBRID)
    assert view.get_neighbours(0)[0].tolist() == [1, 7]
    assert not graph.stated.any()


# -- what joins two nodes -------------------------------------------------------------------------


def test_pairs_of_edges_and_names():
    """A fact where two nodes are synonyms as well, in either order."""
    view = seen()
    assert view.find_pair(0, 1) == view.find_pair(1, 0) == 0
    assert view.find_pair(3, 2) == 2
    assert view.find_pair(1, 5) == view.find_pair(0, 3) == -1
    assert seen().read_texts([6, 1, 5, 0]) == [
        "Steady hand", "Kidney Cancer", "Straw", "Kidney",
    ]  # fmt: skip
    assert seen().read_texts([]) == []
