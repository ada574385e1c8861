"""Bootstrap intervals and the paired randomisation test."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.extras.evaluate.stats import bootstrap_interval, paired_test, quantiles

SCORES = st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0]), min_size=1, max_size=40)


def recalls(n, seed):
    rng = np.random.default_rng(seed)
    return rng.choice([0, 0.5, 1], n, p=[0.2, 0.3, 0.5]).tolist()


def test_interval_by_hand():
    """Of two values, a resample's mean is 0, 1/2 or 1 with odds 1 : 2 : 1."""
    assert bootstrap_interval([0, 1]) == (0, 1)
    assert bootstrap_interval([1 / 3] * 7) == (1 / 3, 1 / 3)
    assert bootstrap_interval([0.5]) == (0.5, 0.5)
    values = np.random.default_rng(0).random(3_000).tolist()
    low, high = bootstrap_interval(values, resamples=3_000)
    assert 0.47 < low < np.mean(values) < high < 0.53
    assert quantiles([4, 1, 2, 3], (0, 0.5, 1)) == [1, 2.5, 4]


@settings(max_examples=30)
@given(SCORES, st.randoms(use_true_random=False))
def test_an_interval_lies_within_the_values_in_any_order(values, rng):
    low, high = bootstrap_interval(values, resamples=500)
    assert min(values) <= low <= high <= max(values)
    shuffled = rng.sample(values, len(values))
    assert bootstrap_interval(shuffled, resamples=500) == (low, high)


def test_the_seed_decides():
    values = recalls(50, 1)
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


@pytest.mark.parametrize("kind", ["recall", "continuous"])
def test_interval_agrees_with_scipy(kind):
    """The percentile bootstrap of scipy, drawn question by question, gives the same interval."""
    stats = pytest.importorskip("scipy.stats")
    values = recalls(120, 5) if kind == "recall" else np.random.default_rng(5).random(60).tolist()
    oracle = stats.bootstrap((values,), np.mean, method="percentile", rng=0).confidence_interval
    assert bootstrap_interval(values) == pytest.approx((oracle.low, oracle.high), abs=0.01)


def test_paired_test_by_hand():
    """Three wins in three: two of the eight sign patterns are as extreme, so p is near 1/4."""
    test = paired_test([1, 1, 1], [0, 0, 0])
    assert test.difference == 1
    assert test.p_value == pytest.approx(0.25, abs=0.02)
    values = recalls(30, 7)
    assert paired_test(values, values) == (0, 0, 0, 1)
    lower = (np.array(recalls(40, 8)) / 2).tolist()
    test = paired_test([value + 0.1 for value in lower], lower)
    assert test.difference == pytest.approx(0.1)
    assert (test.low, test.high) == pytest.approx((0.1, 0.1))
    assert test.p_value == 1 / 10_001


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.sampled_from([0, 0.5, 1])), min_size=1))
def test_swapping_the_methods_swaps_the_sign(pairs):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    one, other = paired_test(a, b, resamples=300), paired_test(b, a, resamples=300)
    assert one.difference == -other.difference
    assert one.p_value == other.p_value
    assert 0 < one.p_value <= 1


@pytest.mark.parametrize("seed", range(4))
def test_p_value_agrees_with_scipy(seed):
    """The paired permutation test of scipy, exact for twelve questions, gives the same p-value."""
    stats = pytest.importorskip("scipy.stats")
    a, b = recalls(12, seed), recalls(12, seed + 100)
    oracle = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
    )
    assert paired_test(a, b).difference == pytest.approx(oracle.statistic)
    assert paired_test(a, b).p_value == pytest.approx(oracle.pvalue, abs=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([]), "at least one value"),
        (lambda: bootstrap_interval([0.5, float("nan")]), "finite"),
        (lambda: bootstrap_interval([0.5], resamples=0), "at least 1, but is 0"),
        (lambda: paired_test([1, 0], [1]), "got 2 and 1"),
    ],
)
def test_unusable_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_importing_evaluate_loads_no_scipy():
    """The command line starts fast: scipy is for graphs, and evaluation has none."""
    code = "import sys, clew.evaluate; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
