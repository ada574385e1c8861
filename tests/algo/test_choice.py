"""Rows chosen as a set: by hand, and beside a plain second writing of the rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.choice import Candidates, ChoiceWeights, QueryTokens, choose_rows

GAIN_ONLY = ChoiceWeights(gain=1.0, residual=0.0, named=0.0)


def rows(matches, *, prior=None, naming=None, named=None, repeats=None):
    n = len(matches)
    return Candidates(
        prior=np.zeros(n) if prior is None else np.array(prior, dtype=float),
        matches=np.array(matches, dtype=np.float32),
        naming=np.zeros((n, n)) if naming is None else np.array(naming, dtype=float),
        named=np.zeros(n) if named is None else np.array(named, dtype=float),
        repeats=np.zeros((n, n), dtype=bool) if repeats is None else np.array(repeats, dtype=bool),
    )


def words(weights, n):
    """Return a query of words, which have no vectors."""
    empty = np.zeros((len(weights), 0), dtype=np.float32)
    return QueryTokens(np.array(weights, dtype=float), empty, np.zeros((n, 0), dtype=np.float32))


def test_a_row_that_a_chosen_one_names_comes_next():
    """The title of the second row stands in the first one; nothing else speaks for either."""
    naming = np.zeros((3, 3))
    naming[2, 0] = 1.0
    found = rows([[1.0], [0.2], [0.2]], naming=naming)
    assert choose_rows(found, words([1], 3), GAIN_ONLY) == [0, 1, 2]
    assert choose_rows(found, words([1], 3), ChoiceWeights(gain=1, residual=0, named=0.3)) == [
        0,
        2,
        1,
    ]


def test_names_and_nothing():
    """Being named counts from the beginning; no rows are no order, no tokens leave the priors."""
    found = rows([[0.5], [0.5]], named=[0.0, 1.0])
    assert choose_rows(found, words([1], 2), ChoiceWeights()) == [1, 0]
    assert choose_rows(rows(np.zeros((0, 2))), words([1, 1], 0), ChoiceWeights()) == []
    found = rows(np.zeros((2, 0)), prior=[0.0, 1.0])
    assert choose_rows(found, words([], 2), ChoiceWeights()) == [1, 0]


def test_what_is_left_of_the_query_draws_rows_that_mean_it():
    """A row that meets no token, but is near to what no chosen row met, is taken."""
    tokens = np.eye(2, dtype=np.float32)
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    found = rows([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    asked = QueryTokens(np.ones(2), tokens, vectors)
    assert choose_rows(found, asked, GAIN_ONLY) == [0, 1, 2]
    assert choose_rows(found, asked, ChoiceWeights(gain=1, residual=0.3, named=0)) == [0, 2, 1]


def test_a_row_that_repeats_a_chosen_one_comes_last():
    """It stands behind rows of less worth, in the order of its worth among its like."""
    repeats = np.zeros((4, 4), dtype=bool)
    repeats[1, 0] = repeats[2, 0] = True
    found = rows([[0.0]] * 4, prior=[1.0, 0.8, 0.9, 0.1], repeats=repeats)
    assert choose_rows(found, words([1], 4), GAIN_ONLY) == [0, 3, 2, 1]


@st.composite
def problems(draw):
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    share = st.integers(0, 8).map(lambda value: value / 8)

    def grid(a, b):
        return np.array(draw(st.lists(share, min_size=a * b, max_size=a * b))).reshape(a, b)

    found = rows(
        grid(n, m),
        prior=grid(n, 1)[:, 0],
        naming=grid(n, n),
        named=grid(n, 1)[:, 0],
        repeats=(grid(n, n) > 0.8) & ~np.eye(n, dtype=bool),
    )
    return found, words(grid(m, 1)[:, 0] + 0.125, n)


@given(problems())
def test_each_step_takes_the_best_of_a_plain_second_writing(problem):
    """The order is that of the rule written with loops, and has every row once."""
    found, asked = problem
    shares = ChoiceWeights(gain=2.0, residual=0.3, named=0.5)
    assert choose_rows(found, asked, shares) == plainly(found, asked.weights, shares)


def plainly(found, weights, shares):
    total, chosen, spread = sum(weights), [], None
    left = list(range(len(found.prior)))
    while left:
        gains = {
            i: sum(
                w * max(match - max((float(found.matches[c][t]) for c in chosen), default=0.0), 0)
                for t, (w, match) in enumerate(
                    zip(weights, map(float, found.matches[i]), strict=True)
                )
            )
            / total
            for i in range(len(found.prior))
        }
        if spread is None:
            spread = max(gains.values()) - min(gains.values()) or 1.0
        fresh = [i for i in left if not any(found.repeats[i][c] for c in chosen)]

        def score(i, gains=gains, spread=spread):
            named = max([found.named[i], *(found.naming[i][c] for c in chosen)])
            return round(found.prior[i] + shares.named * named + shares.gain * gains[i] / spread, 6)

        best = min(fresh or left, key=lambda i: (-score(i), i))
        chosen.append(best)
        left.remove(best)
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_another_order_are_chosen_in_the_same_one(seed):
    """Where scores differ, the numbers of rows do not matter."""
    random = np.random.default_rng(seed)
    matches, prior = random.random((8, 5)), random.random(8)
    naming, named = random.random((8, 8)), random.random(8)
    order = random.permutation(8)
    one = choose_rows(
        rows(matches, prior=prior, naming=naming, named=named),
        words(np.ones(5), 8),
        ChoiceWeights(),
    )
    other = choose_rows(
        rows(
            matches[order],
            prior=prior[order],
            naming=naming[np.ix_(order, order)],
            named=named[order],
        ),
        words(np.ones(5), 8),
        ChoiceWeights(),
    )
    assert [order[i] for i in other] == one
