"""Clue-RAG's Q-Iter: its worked example, and an independent search over small graphs."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo.beam import Beam, UnitGraph, grow_unit_sets
from clew.algo.links import neighbours

# Where scores are equal the paper orders sets by their texts and Clew by their rows, so k1 is the
# first row here: both orders then fall the same way.

UNITS = {
    "k1": "Chelsea won the FA Cup in 1970",
    "k0": "The European Cup was won by Nottingham Forest in 1979-80",
    "k2": "Nottingham Forest did win the FA Cup in 1898 and 1959",
    "k3": "Nottingham Forest plays at the City Ground",
    "k4": "The City Ground opened in 1898",
}
MENTIONED = {
    "k0": ["1979 80", "european cup", "nottingham forest"],
    "k1": ["1970", "chelsea", "fa cup"],
    "k2": ["1898", "1959", "fa cup", "nottingham forest"],
    "k3": ["city ground", "nottingham forest"],
    "k4": ["1898", "city ground"],
}
VECTORS = {
    "k0": [0.8, 0, 0.6, 0],
    "k1": [0, 1, 0, 0],
    "k2": [0, 0.8, 0.6, 0],
    "k3": [0, 0, 0.8, 0.6],
    "k4": [0, 0, 0, 1],
}
QUERY = "When did the 1979-80 European Cup winner win the FA Cup?"
QUERY_VECTOR = np.array([0.6, 0.8, 0, 0])
NAMES = list(UNITS)
ENTITIES = sorted({entity for entities in MENTIONED.values() for entity in entities})

FEW = ["1970", "chelsea", "european cup", "fa cup"]
MANY = [*FEW, "1898", "1959", "nottingham forest"]
K0, K2 = MENTIONED["k0"], MENTIONED["k2"]
BOTH = ["1898", "1959", "1979 80", "european cup", "fa cup", "nottingham forest"]
RUNS = {  # seeds, settings, and the kept sets: units, frontier, residual, score
    "narrow": (
        FEW,
        Beam(k=1, depth=3, width=1),
        [
            ({"k0"}, K0, [-0.2, 0.8, -0.6, 0], 0.5),
            ({"k2", "k0"}, K2, [-0.2, 0, -1.2, 0], 0.8),
            ({"k1", "k2", "k0"}, MENTIONED["k1"], [-0.2, -1, -1.2, 0], 0.8),
        ],
    ),
    "wide": (
        MANY,
        Beam(k=2, depth=2, width=2),
        [
            ({"k0"}, K0, [-0.2, 0.8, -0.6, 0], 0.5),
            ({"k2"}, K2, [0.6, 0, -0.6, 0], 0.5),
            ({"k2", "k0"}, BOTH, [-0.2, 0, -1.2, 0], 0.8),
            ({"k1", "k2"}, MENTIONED["k1"], [0.6, -1, -0.6, 0], 0.5),
        ],
    ),
    "without query updating": (
        MANY,
        Beam(k=2, depth=2, width=2, query_updating=False),
        [
            ({"k0"}, K0, [0.6, 0.8, 0, 0], 0.5),
            ({"k2"}, K2, [0.6, 0.8, 0, 0], 0.5),
            ({"k2", "k0"}, BOTH, [0.6, 0.8, 0, 0], 0.8),
            ({"k1", "k2"}, MENTIONED["k1"], [0.6, 0.8, 0, 0], 0.5),
        ],
    ),
}


def graph_of(link, vectors):
    """Return the graph of a (n_units, n_entities) link."""
    turned = csr_array(link.T)
    return UnitGraph(
        lambda units: [neighbours(link, unit).tolist() for unit in units],
        lambda rows: [neighbours(turned, row) for row in rows],
        vectors,
    )


def example_graph():
    mentions = [[entity in MENTIONED[unit] for entity in ENTITIES] for unit in NAMES]
    link = csr_array(np.array(mentions, dtype=float))
    return graph_of(link, np.array([VECTORS[unit] for unit in NAMES]))


def shared_words(sets):
    """Score by the share of the question's words that a set's texts have: the stand-in."""
    asked = set(re.findall("[a-z0-9]+", QUERY.lower()))
    texts = [" ".join(UNITS[NAMES[unit]] for unit in units) for units in sets]
    read = [asked & set(re.findall("[a-z0-9]+", text.lower())) for text in texts]
    return np.array([len(words) / len(asked) for words in read])


@pytest.mark.parametrize("name", RUNS)
def test_the_worked_example(name):
    """Every kept set of the three runs: its units, frontier, residual and score, in order."""
    seeds, beam, expected = RUNS[name]
    rows = [ENTITIES.index(seed) for seed in seeds]
    kept = grow_unit_sets(example_graph(), rows, QUERY_VECTOR, shared_words, beam)
    assert [({NAMES[u] for u in s.units}, [ENTITIES[e] for e in s.frontier]) for s in kept] == [
        (units, frontier) for units, frontier, _, _ in expected
    ]
    np.testing.assert_allclose([s.residual for s in kept], [e[2] for e in expected], atol=1e-9)
    np.testing.assert_allclose([s.score for s in kept], [e[3] for e in expected], atol=1e-6)


def test_units_remember_how_they_were_found():
    """The second unit was reached over an entity of the first: the thread to show."""
    seeds, beam, _ = RUNS["narrow"]
    rows = [ENTITIES.index(seed) for seed in seeds]
    *_, last = grow_unit_sets(example_graph(), rows, QUERY_VECTOR, shared_words, beam)
    assert [NAMES[unit] for unit in last.units] == ["k0", "k2", "k1"]
    assert [ENTITIES[entity] for entity in last.via] == [
        "european cup",
        "nottingham forest",
        "fa cup",
    ]


@st.composite
def problems(draw):
    """Make a graph of up to six units and five entities, coarse vectors, a score per set."""
    n_units, n_entities = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    cells = st.lists(st.booleans(), min_size=n_entities, max_size=n_entities)
    mentions = np.array(draw(st.lists(cells, min_size=n_units, max_size=n_units)), dtype=float)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    vectors = rng.integers(-2, 3, (n_units + 1, 3)).astype(float)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)
    seeds = draw(st.sets(st.integers(0, n_entities - 1)))
    seed_units = draw(st.lists(st.integers(0, n_units - 1), max_size=2, unique=True))
    beam = Beam(
        depth=draw(st.integers(0, 3)),
        width=draw(st.integers(1, 4)),
        k=draw(st.integers(1, 3)),
        query_updating=draw(st.booleans()),
        ways=draw(st.sampled_from(["union", "last", "separate"])),
    )
    salt = draw(st.integers(0, 9))
    return mentions, vectors[:-1], vectors[-1], seeds, seed_units, beam, salt


def scorer(salt):
    """Give each set a score that depends on its units only, with many ties."""
    return lambda sets: np.array([(sum(3**u for u in units) * 7 + salt) % 5 / 5 for units in sets])


def searched(mentions, vectors, query, seeds, seed_units, beam, salt):
    """Follow the paper's lines one state at a time: (units, frontier, residual, score)."""

    def entities(unit):
        return {e for e in range(mentions.shape[1]) if mentions[unit, e]}

    def near(unit, residual):
        length = np.linalg.norm(residual)
        return round(float(vectors[unit] @ residual) / length, 6) if length else 0.0

    states, kept = [(e, query, frozenset()) for e in sorted(seeds)], []
    for depth in range(1, beam.depth + 1):
        candidates = {}
        found = []
        for entity, residual, units in states:
            pool = [u for u in range(len(mentions)) if mentions[u, entity] and u not in units]
            pool.sort(key=lambda u, residual=residual: (-near(u, residual), u))
            found += [(units | {u}, u, residual) for u in pool[: beam.k]]
        if depth == 1:
            found += [(frozenset({u}), u, query) for u in seed_units]
        for units, unit, residual in found:
            left = residual - vectors[unit] if beam.query_updating else residual
            # Line 14 adds the tuple itself: with other entities it is another one.
            key = units, frozenset(entities(unit)) if beam.ways == "separate" else frozenset()
            frontier, _ = candidates.get(key, (set(), None))
            candidates[key] = (frontier if beam.ways == "union" else set()) | entities(unit), left
        scores = {key: scorer(salt)([sorted(key[0])])[0] for key in candidates}
        best = sorted(candidates, key=lambda s: (-scores[s], sorted(s[0]), sorted(s[1])))
        best = best[: beam.width]
        kept += [
            (sorted(s[0]), sorted(candidates[s][0]), candidates[s][1], scores[s]) for s in best
        ]
        states = [(e, candidates[s][1], s[0]) for s in best for e in sorted(candidates[s][0])]
    return kept


def grown(mentions, vectors, query, seeds, seed_units, beam, salt):
    link = csr_array(mentions)
    graph = graph_of(link, vectors)
    return grow_unit_sets(graph, sorted(seeds), query, scorer(salt), beam, seed_units=seed_units)


@given(problems())
def test_the_search_is_that_of_the_pseudo_code(problem):
    """The same sets in the same order as a search written down line by line."""
    kept, expected = grown(*problem), searched(*problem)
    assert [sorted(s.units) for s in kept] == [e[0] for e in expected]
    assert [list(s.frontier) for s in kept] == [e[1] for e in expected]
    assert [s.score for s in kept] == [e[3] for e in expected]
    for one, other in zip(kept, expected, strict=True):
        np.testing.assert_allclose(one.residual, other[2], atol=1e-12)


@given(problems())
def test_what_holds_of_every_kept_set(problem):
    """Units once each, joined by their entities; the residual is what they leave of the query."""
    mentions, vectors, query, seeds, seed_units, beam, _ = problem
    kept = grown(*problem)
    distinct = {
        (tuple(sorted(s.units)), s.frontier if beam.ways == "separate" else ()) for s in kept
    }
    assert len(distinct) == len(kept)
    for s in kept:
        assert len(set(s.units)) == len(s.units) == len(s.via) <= beam.depth
        said = vectors[list(s.units)].sum(axis=0) if beam.query_updating else 0
        np.testing.assert_allclose(s.residual, query - said, atol=1e-12)
        reachable = set(seeds)
        for unit, entity in zip(s.units, s.via, strict=True):
            assert (entity in reachable and mentions[unit, entity]) or (
                entity == -1 and unit in seed_units and unit == s.units[0]
            )
            reachable |= set(np.flatnonzero(mentions[unit]).tolist())
    for depth in range(1, beam.depth + 1):
        level = [s.score for s in kept if len(s.units) == depth]
        assert len(level) <= beam.width
        assert level == sorted(level, reverse=True)


def test_each_depth_is_scored_in_one_batch():
    """A slow reranker is asked once per depth, for each set once, rows ascending."""
    batches = []

    def score(sets):
        batches.append(list(sets))
        return np.zeros(len(sets))

    grow_unit_sets(example_graph(), [ENTITIES.index("fa cup")], QUERY_VECTOR, score, Beam(depth=2))
    assert len(batches) == 2
    for batch in batches:
        assert len(set(batch)) == len(batch)
        assert all(list(units) == sorted(units) for units in batch)


def test_nothing_to_start_from():
    """Without seeds nothing is found and no score is asked for."""

    def score(sets):
        raise AssertionError

    assert grow_unit_sets(example_graph(), [], QUERY_VECTOR, score, Beam()) == []


class CountedVectors(np.ndarray):
    """Vectors that count the products they are asked for."""

    n_products = 0

    def products(self, rows, other):
        CountedVectors.n_products += len(rows) * other.shape[1]
        return np.asarray(self)[rows] @ other


def test_units_are_compared_with_the_states_that_reach_them():
    """Two halves of a graph share no entity: each unit is compared with the states of its own."""
    draw, side = np.random.default_rng(1), 20
    mentions = np.zeros((2 * side, 4))
    mentions[:side, :2] = mentions[side:, 2:] = 1
    vectors = draw.normal(size=(2 * side, 8)).astype(np.float32).view(CountedVectors)
    graph = graph_of(csr_array(mentions), vectors)
    beam = Beam(depth=2, width=40, k=side)
    CountedVectors.n_products = 0
    grow_unit_sets(graph, range(4), draw.normal(size=8), lambda sets: np.zeros(len(sets)), beam)
    # At first two entities of each side with one state; then with those of their own side.
    assert CountedVectors.n_products == 4 * side + 2 * (2 * side) * side
