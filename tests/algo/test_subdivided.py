"""The graph whose triples are nodes, against a plain reading of its triples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.subdivided import subdivide


@st.composite
def ends(draw):
    n_entities = draw(st.integers(1, 6))
    entity = st.integers(0, n_entities - 1)
    pairs = draw(st.lists(st.tuples(entity, entity), max_size=12))
    return n_entities, np.array(pairs, dtype=np.int32).reshape(-1, 2)


def test_a_small_graph():
    """Triples stand with both of their entities, a loop once, parallel ones side by side."""
    graph = subdivide(4, np.array([1, 0, 1, 2], np.int32), np.array([0, 1, 1, 0], np.int32))
    assert [graph.triples_of(entity).tolist() for entity in range(4)] == [
        [0, 1, 3],
        [0, 1, 2],
        [3],
        [],
    ]
    assert [graph.ends_of(triple) for triple in range(4)] == [(1, 0), (0, 1), (1,), (2, 0)]


@given(ends())
def test_each_entity_has_the_triples_that_name_it(problem):
    """Rows ascend, none comes twice, and none is missing."""
    n_entities, pairs = problem
    graph = subdivide(n_entities, pairs[:, 0], pairs[:, 1])
    for entity in range(n_entities):
        expected = [row for row, pair in enumerate(pairs.tolist()) if entity in pair]
        assert graph.triples_of(entity).tolist() == expected


@given(ends())
def test_the_ends_of_a_triple_are_its_entities(problem):
    """Two entities, subject first, or the one of a loop."""
    n_entities, pairs = problem
    graph = subdivide(n_entities, pairs[:, 0], pairs[:, 1])
    for row, (subject, target) in enumerate(pairs.tolist()):
        assert graph.ends_of(row) == ((subject, target) if subject != target else (subject,))
