"""The knapsack against dynamic programming, and on the instances that are hard for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.knapsack import knapsack
from clew.errors import InputError

VALUE = st.sampled_from([0, 0.1, 0.5, 1, 2]) | st.floats(-1, 10)
ITEMS = st.lists(st.tuples(VALUE, st.integers(1, 25)), max_size=14)


def by_dynamic_programming(values, weights, capacity):
    """Return the highest value of any choice, one row of capacities at a time."""
    best = np.zeros(capacity + 1)
    for value, weight in zip(values, weights, strict=True):
        if weight <= capacity:
            best[weight:] = np.maximum(best[weight:], best[: capacity + 1 - weight] + value)
    return best[-1]


def by_density(values, weights, capacity):
    """Return the value of taking the densest items as long as they fit."""
    total = 0.0
    for item in np.argsort(-values / weights, kind="stable"):
        if weights[item] <= capacity:
            capacity -= weights[item]
            total += values[item]
    return total


@given(ITEMS, st.integers(0, 150))
def test_no_choice_is_worth_more(items, capacity):
    """The rows ascend, fit and are worth as much as dynamic programming finds possible."""
    values = np.array([value for value, _ in items], dtype=np.float64)
    weights = np.array([weight for _, weight in items], dtype=np.int64)
    choice = knapsack(values, weights, capacity)
    assert choice.exact
    assert (np.diff(choice.rows) > 0).all()
    assert weights[choice.rows].sum() <= capacity
    assert (values[choice.rows] > 0).all()
    best = by_dynamic_programming(values, weights, capacity)
    assert values[choice.rows].sum() == pytest.approx(best, rel=1e-11, abs=0)


@pytest.mark.parametrize("seed", range(5))
def test_larger_instances_are_exact(seed):
    """A few hundred items with few weights, few values and values near the weights."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 40, 200)
    capacity = int(weights.sum()) // 2
    for values in (
        rng.random(200),
        rng.integers(1, 5, 200) / 10,
        weights + rng.random(200),
        np.full(200, 0.3),
    ):
        choice = knapsack(values, weights, capacity)
        assert choice.exact
        assert weights[choice.rows].sum() <= capacity
        best = by_dynamic_programming(values, weights, capacity)
        assert values[choice.rows].sum() == pytest.approx(best, rel=1e-11)


def test_equals_and_scale():
    """Equal items are taken in the order of their rows, and tiny values as large ones."""
    assert knapsack(np.ones(5), np.ones(5, dtype=np.int64), 3).rows.tolist() == [0, 1, 2]
    assert knapsack(np.array([4.0, 2.0, 2.0]), np.array([4, 2, 2]), 4).rows.tolist() == [1, 2]
    rng = np.random.default_rng(2)
    values, weights = rng.random(60), rng.integers(1, 30, 60)
    rows = knapsack(values, weights, 300).rows
    for factor in (2.0**-60, 2.0**60):
        assert knapsack(values * factor, weights, 300).rows.tolist() == rows.tolist()


@pytest.mark.parametrize(("capacity", "rows"), [(-1, []), (0, []), (9, [0, 2]), (10**9, [0, 2])])
def test_capacities_at_the_edges(capacity, rows):
    """No room takes nothing; room for all takes all but what is worth nothing."""
    choice = knapsack(np.array([1.0, 0.0, 2.0, -1.0]), np.array([4, 1, 5, 1]), capacity)
    assert choice.rows.tolist() == rows
    assert choice.exact


@pytest.mark.parametrize("worth", ["equal values", "equal densities", "equal items"])
def test_many_equal_items_are_no_trouble(worth):
    """Ten thousand items that compare equal are chosen from exactly, and at once."""
    weights = np.random.default_rng(0).integers(20, 400, 10_000)
    if worth == "equal items":
        weights = np.full(10_000, 7)  # and the capacity is no multiple of it
    values = weights / 7 if worth == "equal densities" else np.full(10_000, 0.3)
    choice = knapsack(values, weights, int(weights.sum()) // 2 + 1)
    assert choice.exact


def test_a_hard_instance_ends_and_says_so():
    """Weights that hardly differ from values branch too widely: the best so far is given."""
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 10**6, 3000)
    values = weights + 1e5
    capacity = int(weights.sum()) // 2
    choice = knapsack(values, weights, capacity, max_states=20_000)
    assert not choice.exact
    assert weights[choice.rows].sum() <= capacity
    assert values[choice.rows].sum() >= by_density(values, weights, capacity)


def test_what_is_no_weight_or_value_is_refused():
    """A weight of 0 has no density, and infinity no sum."""
    with pytest.raises(InputError, match="weights must be at least 1, but the least is 0"):
        knapsack(np.ones(2), np.array([1, 0]), 5)
    with pytest.raises(InputError, match="values must be finite"):
        knapsack(np.array([1.0, np.nan]), np.array([1, 1]), 5)
