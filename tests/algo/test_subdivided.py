"""The graph whose triples are nodes, against a plain reading of its triples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.bubble import subdivide


@st.composite
def ends(draw):
    n_entities = draw(st.integers(1, 6))
    entity = st.integers(0, n_entities - 1)
    pairs = draw(st.lists(st.tuples(entity, entity), max_size=12))
    return n_entities, np.array(pairs, dtype=np.int32).reshape(-1, 2)


@given(ends())
def test_triples_and_entities_name_one_another(problem):
    """Rows ascend, none comes twice, and none is missing; a loop has one end."""
    n_entities, pairs = problem
    graph = subdivide(n_entities, pairs[:, 0], pairs[:, 1])
    for entity in range(n_entities):
        expected = [row for row, pair in enumerate(pairs.tolist()) if entity in pair]
        assert graph.triples_of(entity).tolist() == expected
    n_entities, pairs = problem
    graph = subdivide(n_entities, pairs[:, 0], pairs[:, 1])
    for row, (subject, target) in enumerate(pairs.tolist()):
        assert graph.ends_of(row) == ((subject, target) if subject != target else (subject,))
