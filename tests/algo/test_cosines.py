"""Cosines in millionths: those of fractions, and the same in any company."""

from fractions import Fraction

import numpy as np
import pytest

from clew.algo.nearest import indexed_pair_cosines, pair_cosines, rounding_margin


def unit(n, d, seed=0):
    vectors = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_they_are_those_of_fractions():
    """To half of a millionth, and what is left by rounding the vectors."""
    vectors = unit(4, 50)
    [found] = pair_cosines(vectors, np.array([1]), np.array([3])).tolist()
    exact = sum(
        Fraction(float(a)) * Fraction(float(b)) for a, b in zip(*vectors[[1, 3]], strict=True)
    )
    assert abs(found - 10**6 * exact) <= Fraction(6, 10)


@pytest.mark.parametrize("d", [3, 384])
def test_company_changes_nothing(d):
    """One by one, in the order of pairs, or as one product."""
    vectors = unit(300, d)
    places, columns = np.divmod(np.arange(200 * 300), 300)
    rows = np.arange(200)[::-1]
    together = indexed_pair_cosines(vectors, rows, places, columns)
    assert together.tobytes() == pair_cosines(vectors, rows[places], columns).tobytes()
    some = np.arange(0, len(places), 997)
    few = indexed_pair_cosines(vectors, rows, places[some], columns[some])
    assert few.tobytes() == together[some].tobytes()
    products = (vectors[rows] @ vectors.T).ravel()
    assert (products > together / 10**6 - rounding_margin(d)).all()
