"""Mixtures of Gaussians beside SciPy's densities, and clusters that were drawn apart."""

import numpy as np
import pytest

from clew.extras.baselines.mixture import (
    Mixture,
    choose_mixture,
    fit_mixture,
    reduce_vectors,
    soft_clusters,
)

ONES = np.ones(450, dtype=int)
CENTRES = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])


def drawn(n, centres=CENTRES, spread=1.0, seed=1):
    """Return `n` points around each centre, one centre after the other."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.normal(c, spread, (n, centres.shape[1])) for c in centres])


def test_densities_are_those_of_scipy():
    """And a point belongs to each Gaussian by its share of them."""
    from scipy.stats import multivariate_normal  # which takes long to load

    mixture = Mixture(np.array([0.3, 0.7]), CENTRES[:2], np.array([[1.0, 2.0], [0.5, 3.0]]))
    points = drawn(5)
    parts = np.stack(
        [
            weight * multivariate_normal(mean, np.diag(variances)).pdf(points)
            for weight, mean, variances in zip(
                mixture.weights, mixture.means, mixture.variances, strict=True
            )
        ],
        axis=1,
    )
    shares, likelihoods = mixture.assign(points)
    assert likelihoods == pytest.approx(np.log(parts.sum(axis=1)))
    assert shares == pytest.approx(parts / parts.sum(axis=1, keepdims=True))


def test_one_gaussian_on_paper():
    """Of 0, 2 and 4 the mean is 2 and the variance 8/3."""
    mixture, mean = fit_mixture(np.array([[0.0], [2.0], [4.0]]), 1)
    assert (mixture.weights, mixture.means, mixture.variances) == (
        pytest.approx(1),
        pytest.approx(2),
        pytest.approx(8 / 3),
    )
    assert mean == pytest.approx(-(np.log(2 * np.pi * 8 / 3) + 1) / 2)


def test_fitting_makes_points_likelier():
    """No step of expectation maximisation makes them less likely."""
    points = drawn(40, spread=3.0)
    least = np.full(2, 1e-12)
    shares = np.random.default_rng(2).dirichlet(np.ones(3), len(points))
    before = -np.inf
    for _ in range(30):
        shares, likelihoods = Mixture.from_shares(points, shares, least).assign(points)
        assert likelihoods.mean() >= before - 1e-9
        before = likelihoods.mean()
    assert fit_mixture(points, 3)[1] > fit_mixture(points, 1)[1]


def test_as_many_gaussians_as_there_are_heaps():
    """Three for three, one for one, and two where two are the fewest."""
    mixture = choose_mixture(drawn(50))
    assert sorted(np.round(mixture.means).tolist()) == sorted(CENTRES.tolist())
    assert len(choose_mixture(drawn(50, CENTRES[:1])).weights) == 1
    assert len(choose_mixture(drawn(50, CENTRES[:1]), fewest=2).weights) == 2


def test_equal_points_are_one_heap():
    """Without any variance nothing divides by zero."""
    mixture = choose_mixture(np.ones((20, 3)))
    assert np.isfinite(mixture.assign(np.ones((1, 3)))[1]).all()
    assert [len(each) for each in soft_clusters(np.ones((20, 3)), 2, ONES[:20], 5)] == [20]


def test_coordinates_keep_distances():
    """Points of a plane in space lie as far apart by two coordinates as in space."""
    plane = np.linalg.qr(np.random.default_rng(3).normal(size=(5, 2)))[0].T
    points = drawn(10)
    found = reduce_vectors(points @ plane + 7, 2)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    assert np.linalg.norm(found[:, None] - found, axis=2) == pytest.approx(apart, abs=1e-5)


def test_clusters_are_the_heaps():
    """Each row is in one; one that lies between two heaps is in both."""
    heaps = [set(range(start, start + 50)) for start in (0, 50, 100)]
    found = soft_clusters(drawn(50), 2, ONES[:150], 60)
    assert sorted(map(sorted, found)) == sorted(map(sorted, heaps))
    two = np.concatenate([drawn(50, CENTRES[:2], spread=1.5), [[4.0, 0.0]]])
    between = [set(each.tolist()) for each in soft_clusters(two, 2, ONES[:101], 200)]
    assert sum(100 in each for each in between) == 2


@pytest.mark.parametrize("most", [12, 20])
def test_large_clusters_are_parted_again(most):
    """None has more than the most, each row is in one at least, and the same again."""
    points = drawn(150, spread=2.0)
    found = soft_clusters(points, 2, ONES[:450], most)
    assert max(map(len, found)) <= most
    assert set(np.concatenate(found).tolist()) == set(range(len(points)))
    assert all((np.diff(each) > 0).all() for each in found)
    again = soft_clusters(points, 2, ONES[:450], most)
    assert [each.tolist() for each in again] == [each.tolist() for each in found]


def test_few_are_one_cluster():
    """As many as coordinates and one more."""
    assert [each.tolist() for each in soft_clusters(drawn(1), 2, ONES[:3], 1)] == [[0, 1, 2]]
