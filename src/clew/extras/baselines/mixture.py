"""Soft clustering by Gaussian mixtures on the principal components of vectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import DECIMALS

Points = NDArray[np.float64]
Rows = NDArray[np.integer]

_NUMBERS = (1, 2, 3, 5, 8, 13, 21, 34, 50)  # of Gaussians, of which one is chosen
_SAMPLE = 5_000  # points that mixtures and coordinates are fitted to
_BATCH = 8_192  # vectors that are read
_N_ROUNDS, _TOLERANCE = 100, 1e-3  # of fitting; the least gain of the mean log-likelihood
_MIN_SHARE = (
    0.1  # of all points' variance: the least one of a Gaussian, else one point is a cluster
)
_NONE, _ALONE = 1e-12, 1.0


class ReadsRows(Protocol):
    """(n, d) vectors that can be read by rows."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> NDArray[np.floating]: ...  # noqa: ANN401 -- as of NumPy


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
        top = logs.max(axis=1, keepdims=True)
        total = top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
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
    centres = points[_draw_distant(points, k)]
    nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    shares = np.eye(k)[nearest]
    mixture, before = Mixture.from_shares(points, shares, least), -np.inf
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
    best, least = None, np.inf
    for k in (k for k in _NUMBERS if fewest <= k < n):
        mixture, mean = fit_mixture(points, k)
        criterion = (2 * k * d + k - 1) * np.log(n) - 2 * n * mean
        if best is None or criterion < least:
            best, least = mixture, criterion
    assert best is not None  # noqa: S101 -- one or two Gaussians are always tried
    return best


def soft_clusters(
    vectors: ReadsRows, n_coordinates: int, most: int, threshold: float = 0.1
) -> list[Rows]:
    """Cluster vectors; return ascending rows, which may be in several clusters.

    As in RAPTOR (Sarthi et al. 2024, arXiv:2401.18059): two rounds, each by a mixture over the
    principal components; a row belongs to every cluster by more than `threshold`, and to the
    likeliest. Clusters of more than `most` rows are split again by likeliest cluster, as long as
    that makes them smaller. O(n log n).
    """
    rows = np.arange(len(vectors))
    return [
        cluster
        for whole in _part(vectors, rows, n_coordinates, threshold, 1)
        for part in _part(vectors, whole, n_coordinates, threshold, 1)
        for cluster in _part_large(vectors, part, n_coordinates, most)
    ]


def _part_large(vectors: ReadsRows, rows: Rows, n_coordinates: int, most: int) -> Iterator[Rows]:
    """Split clusters until they have at most `most` rows, as far as possible."""
    if len(rows) <= max(most, n_coordinates + 1):
        yield rows
        return
    for part in _part(vectors, rows, n_coordinates, _ALONE, 2):
        if len(part) < len(rows):
            yield from _part_large(vectors, part, n_coordinates, most)
        else:
            yield part


def _part(
    vectors: ReadsRows, rows: Rows, n_coordinates: int, threshold: float, fewest: int
) -> Iterator[Rows]:
    """Yield the rows of each cluster, one per Gaussian of a mixture of at least `fewest`.

    A cluster without rows is left out, and so few rows that nothing can be fitted are one cluster.
    """
    if len(rows) <= n_coordinates + 1:
        yield rows
        return
    points = reduce_vectors(vectors, rows, n_coordinates)
    mixture = choose_mixture(points[_sample(len(points))], fewest)
    shares, _ = mixture.assign(points)
    belongs = shares > threshold
    belongs[np.arange(len(rows)), shares.argmax(axis=1)] = True
    yield from (rows[each] for each in belongs.T if each.any())


def reduce_vectors(vectors: ReadsRows, rows: Rows, n_coordinates: int) -> Points:
    """Return the (len(rows), n_coordinates) principal components of some vectors."""
    sample = np.asarray(vectors[rows[_sample(len(rows))]], dtype=np.float64)
    mean = sample.mean(axis=0)
    _, axes = np.linalg.eigh((sample - mean).T @ (sample - mean))
    axes = axes[:, ::-1][:, :n_coordinates]
    parts = [
        (vectors[rows[start : start + _BATCH]] - mean) @ axes
        for start in range(0, len(rows), _BATCH)
    ]
    return np.round(np.concatenate(parts), DECIMALS)


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
        chances = distances / total if total > 0 else np.full(len(points), 1 / len(points))
        drawn.append(int(random.choice(len(points), p=chances)))
    return drawn
