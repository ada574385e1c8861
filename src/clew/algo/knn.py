"""Join each chunk to its nearest ones, and choose the core of that graph.

Huang et al. (2025), "KET-RAG", arXiv:2502.09304, Algorithm 1: half of the neighbours by shared
keywords, half by vectors; the chunks of the highest PageRank are worth reading by a model.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.pagerank import personalized_pagerank, transition
from clew.algo.topk import DECIMALS, top_k
from clew.errors import InputError


def knn_graph(
    terms: csr_array,
    vectors: NDArray[np.floating],
    k: int,
    *,
    excluded: NDArray[np.integer] | None = None,
    block: int = 512,
) -> csr_array:
    """Return the (n, n) adjacency of n chunks: symmetric, weights 1, zero diagonal.

    `terms` is (n, n_terms) counts >= 0, `vectors` (n, d) unit rows. A chunk chooses the k / 2
    others that share most terms with it, at least one, and then the k / 2 nearest by cosine that
    are not among those. An edge stands where either end chose the other. The (m, 2) pairs of
    rows `excluded`, such as overlapping chunks, get none.

    Holds two dense (`block`, n) matrices at a time, and takes O(n² d) for all.

    Raises InputError for a k that is odd or below 2, and where the rows do not match.
    """
    if k < 2 or k % 2:
        raise InputError(f"k must be even and at least 2, half of it for each kind, but is {k}")
    n = terms.shape[0]
    if len(vectors) != n:
        raise InputError(f"{n} rows of terms need as many vectors, but there are {len(vectors)}")
    binary = csr_array((terms > 0).astype(np.float32))
    by_term = csr_array(binary.T)
    barred = _barred(n, excluded)
    chosen: list[NDArray[np.intp]] = []
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        shared = (binary[rows] @ by_term).toarray()
        nearness = vectors[rows] @ vectors.T
        forbidden = barred[rows].nonzero()
        shared[forbidden] = 0
        nearness[forbidden] = -np.inf
        chosen += [_choose(*scores, k // 2) for scores in zip(shared, nearness, strict=True)]
    return _undirected(chosen)


def core_chunks(graph: csr_array, share: float, *, seed: int | None = None) -> NDArray[np.intp]:
    """Return the (m,) rows of the core of the (n, n) `graph`, m = ⌈share n⌉, ascending.

    They are those of the highest PageRank with damping 0.85 (teleport 0.15) and uniform restart,
    or a uniform sample where a `seed` is given. A share of 0 is no chunk at all.

    Raises InputError for a share outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise InputError(f"the share of core chunks must be in [0, 1], but is {share:g}")
    n = graph.shape[0]
    size = math.ceil(round(share * n, DECIMALS))  # 0.07 of 100 is 7, not 7.000000000000001
    if size == 0:
        return np.empty(0, dtype=np.intp)
    if seed is not None:
        return np.sort(np.random.default_rng(seed).permutation(n)[:size])
    scores = personalized_pagerank(transition(graph), np.ones(n), tolerance=1e-10)
    return np.sort(top_k(n * scores, size))  # mean 1, so that rounding suits any n


def _barred(n: int, excluded: NDArray[np.integer] | None) -> csr_array:
    """Return (n, n) with an entry for each pair that may not be joined, and the diagonal."""
    pairs = np.empty((0, 2), dtype=np.intp) if excluded is None else excluded
    own = np.arange(n)
    rows = np.concatenate([pairs[:, 0], pairs[:, 1], own])
    columns = np.concatenate([pairs[:, 1], pairs[:, 0], own])
    return csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=(n, n))


def _choose(
    shared: NDArray[np.float32], nearness: NDArray[np.floating], half: int
) -> NDArray[np.intp]:
    """Return the neighbours of one chunk from its (n,) scores; spoils `nearness`."""
    found = np.flatnonzero(shared)  # few of n: selection among many zeros is slow
    lexical = found[top_k(shared[found], half)]
    nearness[lexical] = -np.inf
    semantic = top_k(nearness, half)
    return np.concatenate([lexical, semantic[np.isfinite(nearness[semantic])]])


def _undirected(chosen: list[NDArray[np.intp]]) -> csr_array:
    n = len(chosen)
    rows = np.repeat(np.arange(n), [len(columns) for columns in chosen])
    columns = np.concatenate([np.empty(0, dtype=np.intp), *chosen])
    directed = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return csr_array(directed.maximum(directed.T))
