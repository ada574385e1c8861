"""Choosing rows within a number of tokens: the worked example, and what always holds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.pool import pool_rows, take_fitting

# Twelve half chunks of four words; which of them each keyword stands in, nearest first, and the
# keywords nearest to the query in order: bob, robots, factory, engineer, lyon.
POSTINGS = {0: [4, 9], 1: [3], 2: [3, 8], 3: [5], 4: [3, 8, 6]}
WORDS = np.full(12, 4)


def test_worked_example():
    """Five keywords give six halves, 24 words; a large first row can be cut."""
    found = pool_rows(range(5), POSTINGS.__getitem__, WORDS, 24)
    assert list(found) == [4, 9, 3, 8, 5, 6]
    assert found == {4: 0, 9: 0, 3: 1, 8: 2, 5: 3, 6: 4}
    assert list(pool_rows([0], POSTINGS.__getitem__, WORDS, 3)) == [4]


@given(
    st.lists(st.lists(st.integers(0, 9), unique=True, max_size=6), max_size=8),
    st.lists(st.integers(1, 9), min_size=10, max_size=10),
    st.integers(0, 40),
)
def test_the_pool_is_the_longest_beginning(postings, sizes, limit):
    """Rows come in the keywords' order; together they fit, and the next would not."""
    n_tokens = np.array(sizes)
    found = list(pool_rows(range(len(postings)), postings.__getitem__, n_tokens, limit))
    order = list(dict.fromkeys(row for rows in postings for row in rows))
    assert found == order[: len(found)]
    assert len(found) <= 1 or n_tokens[found].sum() <= limit
    if 0 < len(found) < len(order):
        assert n_tokens[order[: len(found) + 1]].sum() > limit


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(-2, 60))
def test_what_fits(sizes, limit):
    """The longest beginning within the limit, and nothing for a limit below zero."""
    rows = take_fitting(range(len(sizes)), sizes.__getitem__, limit)
    assert rows == list(range(len(rows)))
    assert sum(sizes[: len(rows)]) <= max(limit, 0)
    assert len(rows) == len(sizes) or sum(sizes[: len(rows) + 1]) > limit
