"""Lay out graphs for drawing: by forces, or in columns from given nodes.

Forces are those of Fruchterman and Reingold (1991): neighbours attract each other, all nodes repel
each other. What repels is summed on a grid by a convolution, as in particle-mesh methods, so a step
costs O(n + cells log cells) and not O(n²). The first positions are a spectral layout: eigenvectors
of the random walk, by power iterations (Koren 2003).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, rfft2
from scipy.sparse import csr_array, diags_array
from scipy.spatial import cKDTree

from clew.algo.links import entry_rows, replace_data

Places = NDArray[np.float64]  # (n, 2)

_STEPS = 80
_POWERS = 30
_CELLS = 128  # of the grid, a side
_SOFTENING = 0.5  # cells; nearer nodes repel each other no more than those that far apart
_GRAVITY = 0.5  # nodes without edges fill a disc of the area that all nodes need, twice
_ATTRACTION = 4.0
_JITTER = 0.1  # of the first positions, so that equal ones part
_MIN_DISTANCE, _SEPARATION_ROUNDS = 0.5, 10
_GOLDEN_ANGLE = np.pi * (3 - 5**0.5)  # an angle of which no multiple is near another
_DECIMALS = 4


def force_layout(graph: csr_array) -> Places:
    """Return (n, 2) coordinates from -1 to 1 for the nodes of a symmetric graph.

    Weights are > 0. The same graph has the same places in every run.
    """
    n = graph.shape[0]
    if n < 2:
        return np.zeros((n, 2))
    random = np.random.default_rng(0)
    pull = _damp_hubs(graph)
    places = _spectral_places(pull, random) + _JITTER * random.standard_normal((n, 2))
    side = np.sqrt(n)  # one node has about a square of side 1
    places *= side / 2 / np.abs(places).max()
    kernel = _kernel()
    for step in range(_STEPS):
        push = _repulsion(places, kernel)
        moved = push + _attraction(pull, places) - _GRAVITY * places
        length = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        heat = side / 10 * (1 - step / _STEPS) ** 2 + 0.01
        places = places + moved / length * np.minimum(length, heat)
    return _fit_square(_separate(places))


def _separate(places: Places) -> Places:
    """Push nodes apart until few are nearer than half a node's width."""
    turn = np.arange(len(places)) * _GOLDEN_ANGLE
    away = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    for _ in range(_SEPARATION_ROUNDS):
        pairs = cKDTree(places).query_pairs(_MIN_DISTANCE, output_type="ndarray")
        a, b = pairs[np.lexsort(pairs.T)].T
        way = places[a] - places[b] + 1e-3 * (away[a] - away[b])
        length = np.linalg.norm(way, axis=1, keepdims=True)
        push = way / length * np.maximum(_MIN_DISTANCE - length, 0) / 2
        places = places.copy()
        np.add.at(places, a, push)
        np.add.at(places, b, -push)
    return places


def _damp_hubs(graph: csr_array) -> csr_array:
    """Weaken the edges between nodes of high degree."""
    pull = replace_data(graph, np.log1p(graph.data))
    degrees = np.asarray(pull.sum(axis=1)).ravel()
    scale = diags_array(1 / np.sqrt(np.maximum(degrees, 1e-9)))
    return csr_array(scale @ pull @ scale)


def _spectral_places(pull: csr_array, random: np.random.Generator) -> Places:
    """Approximate the two slowest modes of a lazy random walk by power iteration."""
    degrees = np.asarray(pull.sum(axis=1), dtype=np.float64).ravel()
    mass = degrees + 1e-3 * max(degrees.mean(), 1e-9)
    walk = diags_array(1 / mass) @ pull
    places = random.standard_normal((len(mass), 2))
    for _ in range(_POWERS):
        places = 0.5 * (places + walk @ places)
        places -= mass @ places / mass.sum()
        first, second = places.T
        second -= first * (mass @ (first * second)) / max(mass @ first**2, 1e-12)
        places /= np.maximum(np.sqrt(mass @ places**2 / mass.sum()), 1e-12)
    # Few far ones would press the others into a point: ranks are as far from each other.
    ranks = np.argsort(np.argsort(places, axis=0, kind="stable"), axis=0, kind="stable")
    return ranks / max(len(mass) - 1, 1) * 2 - 1


def _attraction(pull: csr_array, places: Places) -> Places:
    """Return the weighted sum of each node's vectors to its neighbours."""
    rows = entry_rows(pull)
    way = places[pull.indices] - places[rows]
    way *= (_ATTRACTION * pull.data)[:, None]
    sums = [np.bincount(rows, weights=each, minlength=len(places)) for each in way.T]
    return np.stack(sums, axis=1)


def _kernel() -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Return the Fourier transforms of the repulsion 1 / distance on the grid."""
    steps = np.fft.fftfreq(2 * _CELLS, 1 / (2 * _CELLS))
    x, y = np.meshgrid(steps, steps, indexing="ij")
    softened = x**2 + y**2 + _SOFTENING**2
    return rfft2(x / softened), rfft2(y / softened)


def _repulsion(
    places: Places, kernel: tuple[NDArray[np.complex128], NDArray[np.complex128]]
) -> Places:
    """Return the repulsion of all nodes on each node, interpolated from the grid."""
    low = places.min(axis=0)
    cell = max(float((places.max(axis=0) - low).max()), 1e-6) / (_CELLS - 2)
    at = (places - low) / cell
    corner = at.astype(np.int64)
    rest = at - corner
    cells, shares = [], []
    for dx in (0, 1):
        for dy in (0, 1):
            cells.append((corner[:, 0] + dx) * _CELLS + corner[:, 1] + dy)
            shares.append(np.abs(1 - dx - rest[:, 0]) * np.abs(1 - dy - rest[:, 1]))
    many, share = np.concatenate(cells), np.concatenate(shares)
    mass = np.bincount(many, weights=share, minlength=_CELLS**2).reshape(_CELLS, _CELLS)
    spread = rfft2(mass, s=(2 * _CELLS, 2 * _CELLS))
    pushes = []
    for one in kernel:
        field = irfft2(spread * one, s=(2 * _CELLS, 2 * _CELLS))[:_CELLS, :_CELLS].ravel()
        pushes.append(sum(field[c] * s for c, s in zip(cells, shares, strict=True)) / cell)
    return np.stack(pushes, axis=1)


def _fit_square(places: Places) -> Places:
    """Centre the coordinates, scale them to [-1, 1] and round."""
    places = places - (places.max(axis=0) + places.min(axis=0)) / 2
    return np.asarray(np.round(places / max(np.abs(places).max(), 1e-9), _DECIMALS))


def column_layout(n: int, edges: Sequence[tuple[int, int]], starts: Sequence[int]) -> Places:
    """Return (n, 2) coordinates from -1 to 1, in columns by distance from `starts`.

    The first column holds the starts, the next one their neighbours, and the last one what no
    edge leads to. In a column nodes stand by the mean of their neighbours in the one before.
    """
    near: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    columns, left = [list(dict.fromkeys(starts))], set(range(n)) - set(starts)
    while columns[-1]:
        next_column = dict.fromkeys(b for a in columns[-1] for b in near[a] if b in left)
        left -= set(next_column)
        columns.append(list(next_column))
    columns = [each for each in (*columns, sorted(left)) if each]
    places = np.zeros((n, 2))
    for number, column in enumerate(columns):
        before = set(columns[number - 1]) if number else set()
        beside = {a: [places[b, 1] for b in near[a] if b in before] for a in column}
        heights = {a: sum(ys) / len(ys) if ys else 0.0 for a, ys in beside.items()}
        for place, node in enumerate(sorted(column, key=lambda a: (heights[a], a))):
            places[node] = _spread_evenly(number, len(columns)), _spread_evenly(place, len(column))
    return np.round(places, _DECIMALS)


def _spread_evenly(place: int, n: int) -> float:
    """Return the position of one of `n` nodes spread over [-1, 1]; a single one is at 0."""
    return 2 * place / (n - 1) - 1 if n > 1 else 0.0
