"""Soft clustering by Gaussian mixtures on the principal components of vectors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from clew.algo.topk import DECIMALS

Points = NDArray[np.float64]
Vectors = NDArray[np.floating]
Rows = NDArray[np.integer]

_NUMBERS = (1, 2, 3, 5, 8, 13, 21, 34, 50)  # of Gaussians, of which one is chosen
_SAMPLE = 5_000  # points that mixtures and coordinates are fitted to
_N_ROUNDS, _TOLERANCE = 100, 1e-3  # of fitting; the least gain of the mean log-likelihood
# Of all points' variance: the least one of a Gaussian, else one point is a cluster.
_MIN_SHARE = 0.1
_NONE, _ALONE = 1e-12, 1.0


@dataclass(frozen=True, slots=True)
class Mixture:
    """k Gaussians with diagonal covariance, and their weights."""

    weights: NDArray[np.float64]  # (k,)
    means: Points  # (k, d)
    variances: Points  # (k, d)

    def assign(self, points: Points) -> tuple[Points, NDArray[np.float64]]:
        """Return the (n, k) responsibilities of the Gaussians for points, and log-likelihoods."""
        inverse = 1 / self.variances
        squares = points**2 @ inverse.T - 2 * points @ (self.means * inverse).T
        constant = (np.log(2 * np.pi * self.variances) + self.means**2 * inverse).sum(axis=1)
        logs = np.log(np.maximum(self.weights, _NONE)) - (squares + constant) / 2
        total = logsumexp(logs, axis=1, keepdims=True)
        return np.exp(logs - total), total[:, 0]

    @classmethod
    def from_shares(cls, points: Points, shares: Points, least: NDArray[np.float64]) -> "Mixture":
        """Return the maximum-likelihood mixture for (n, k) responsibilities (the M step).

        No variance is below the (d,) `least`.
        """
        sums = np.maximum(shares.sum(axis=0), _NONE)
        means = shares.T @ points / sums[:, None]
        variances = shares.T @ points**2 / sums[:, None] - means**2
        return cls(sums / len(points), means, np.maximum(variances, least))


def fit_mixture(points: Points, k: int) -> tuple[Mixture, float]:
    """Return a mixture of `k` Gaussians for (n, d) points, and the mean log-likelihood.

    Expectation maximisation (Dempster, Laird and Rubin 1977) from k points that lie apart, which
    are drawn as in k-means++ (Arthur and Vassilvitskii 2007), the same ones each time.
    """
    least = np.maximum(_MIN_SHARE * points.var(axis=0), _NONE)
    apart = points[_draw_distant(points, k)]
    nearest = ((points[:, None] - apart) ** 2).sum(axis=2).argmin(axis=1)
    mixture, before = Mixture.from_shares(points, np.eye(k)[nearest], least), -np.inf
    for _ in range(_N_ROUNDS):
        shares, likelihoods = mixture.assign(points)
        mean = float(likelihoods.mean())
        if mean - before < _TOLERANCE:
            break
        mixture, before = Mixture.from_shares(points, shares, least), mean
    return mixture, mean


def choose_mixture(points: Points, fewest: int = 1) -> Mixture:
    """Return the mixture of at most 50 Gaussians with the least Bayesian information criterion.

    It has at least 1 or 2, the `fewest`, and less than there are points, of which there are three.
    """
    n, d = points.shape
    fitted = [(k, *fit_mixture(points, k)) for k in _NUMBERS if fewest <= k < n]
    criteria = [(2 * k * d + k - 1) * np.log(n) - 2 * n * mean for k, _, mean in fitted]
    return fitted[int(np.argmin(criteria))][1]


def soft_clusters(
    vectors: Vectors, n_coordinates: int, sizes: Rows, most: int, threshold: float = 0.1
) -> list[Rows]:
    """Cluster (n, d) vectors; return ascending rows, which may be in several clusters.

    As in RAPTOR (Sarthi et al. 2024, arXiv:2401.18059): two rounds, each by a mixture over the
    principal components; a row belongs to every cluster by more than `threshold`, and to the
    likeliest. Clusters whose rows have (n,) `sizes` of more than `most` together are split again by
    likeliest cluster, as long as that makes them smaller. O(n log n).
    """
    return [
        cluster
        for whole in _part(vectors, np.arange(len(vectors)), n_coordinates, threshold, 1)
        for part in _part(vectors, whole, n_coordinates, threshold, 1)
        for cluster in _part_large(vectors, part, n_coordinates, sizes, most)
    ]


def _part_large(
    vectors: Vectors, rows: Rows, n_coordinates: int, sizes: Rows, most: int
) -> Iterator[Rows]:
    """Split clusters until their sizes are at most `most` together, as far as possible."""
    if sizes[rows].sum() <= most or len(rows) <= n_coordinates + 1:
        yield rows
        return
    for part in _part(vectors, rows, n_coordinates, _ALONE, 2):
        if len(part) < len(rows):
            yield from _part_large(vectors, part, n_coordinates, sizes, most)
        else:
            yield part


def _part(
    vectors: Vectors, rows: Rows, n_coordinates: int, threshold: float, fewest: int
) -> Iterator[Rows]:
    """Yield the rows of each cluster, one per Gaussian of a mixture of at least `fewest`.

    A cluster without rows is left out, and so few rows that nothing can be fitted are one cluster.
    """
    if len(rows) <= n_coordinates + 1:
        yield rows
        return
    points = reduce_vectors(vectors[rows], n_coordinates)
    shares, _ = choose_mixture(points[_sample(len(points))], fewest).assign(points)
    belongs = shares > threshold
    belongs[np.arange(len(rows)), shares.argmax(axis=1)] = True
    yield from (rows[each] for each in belongs.T if each.any())


def reduce_vectors(vectors: Vectors, n_coordinates: int) -> Points:
    """Return the (n, n_coordinates) principal components of vectors."""
    sample = np.asarray(vectors[_sample(len(vectors))], dtype=np.float64)
    mean = sample.mean(axis=0)
    _, axes = np.linalg.eigh((sample - mean).T @ (sample - mean))
    points: Points = (vectors - mean) @ axes[:, ::-1][:, :n_coordinates]
    return points.round(DECIMALS)


def _sample(n: int) -> Rows:
    """Return at most `_SAMPLE` evenly spaced positions among n."""
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))


def _draw_distant(points: Points, k: int) -> list[int]:
    """Draw `k` points with probability by squared distance to earlier ones (k-means++)."""
    random = np.random.default_rng(0)
    drawn = [int(random.integers(len(points)))]
    distances = np.full(len(points), np.inf)
    while len(drawn) < k:
        distances = np.minimum(distances, ((points - points[drawn[-1]]) ** 2).sum(axis=1))
        total = distances.sum()
        chances = distances / total if total > 0 else None
        drawn.append(int(random.choice(len(points), p=chances)))
    return drawn
