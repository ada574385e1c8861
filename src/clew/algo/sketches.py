"""Find the rows of a matrix that are nearest to a few vectors, by short sketches of all rows.

A sketch has the numbers of a row along the axes on which rows differ most (their principal
components), in a byte each. Sketches choose the candidates, and the rows themselves decide among
these, as in Jégou et al. 2011, "Searching in one billion vectors: re-rank with source coding".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.algo.topk import DECIMALS, top_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.algo.coding import Vectors

    Found = tuple[NDArray[np.intp], NDArray[np.float64]]  # rows and their cosines, best first

EXACT_UP_TO = 100_000  # rows; of more, comparing all takes too long (benchmarks/sketches.py)
CANDIDATES = 1_000  # rows that are compared with a query
_AXES = 128
_SAMPLE = 50_000  # rows from which the axes are learned
_LARGEST = 127  # of a code
_AT_ONCE = 2**18  # multiplications; so few that they need no second thread and no slow memory
_BLOCK = 16_384  # rows that are compared at once


@dataclass(frozen=True, slots=True)
class Sketches:
    """Of n rows: `codes @ axes` is nearly each row less their mean."""

    axes: NDArray[np.float32]  # (p, d)
    codes: NDArray[np.int8]  # (n, p)


def sketched(vectors: Vectors) -> Sketches:
    """Return sketches of the (n, d) `vectors`, n > 0, with at most 128 axes. O(n d)."""
    chosen = np.random.default_rng(0).permutation(len(vectors))[:_SAMPLE]
    sample = vectors[np.sort(chosen)]
    mean = sample.mean(axis=0)
    sample -= mean
    axes = np.linalg.eigh(sample.T @ sample).eigenvectors[:, ::-1][:, :_AXES]
    step = float(np.abs(sample @ axes).max() or 1.0) / _LARGEST
    codes = np.empty((len(vectors), axes.shape[1]), dtype=np.int8)
    for start in range(0, len(vectors), _BLOCK):
        numbers = (vectors[start : start + _BLOCK] - mean) @ axes / step
        codes[start : start + _BLOCK] = np.clip(np.rint(numbers), -_LARGEST, _LARGEST)
    return Sketches(np.ascontiguousarray(axes.T) * np.float32(step), codes)


def digest(vectors: Vectors) -> NDArray[np.uint8]:
    """Return 16 bytes that are others where vectors are."""
    found = hashlib.blake2b(digest_size=16)
    for start in range(0, len(vectors), _BLOCK):
        block = np.ascontiguousarray(vectors[start : start + _BLOCK])
        found.update(block.reshape(-1).view(np.uint8).data)
    return np.frombuffer(found.digest(), dtype=np.uint8)


def search(
    sketches: Sketches,
    vectors: Vectors,
    queries: NDArray[np.float32],
    k: int,
    *,
    only: NDArray[np.bool_] | None = None,
    candidates: int = CANDIDATES,
) -> list[Found]:
    """Return what `search_all` does among the `candidates` of each query, at least `k`.

    `sketches` are those of `vectors`, of which no more than the candidates are read.
    """
    rows = None if only is None else np.flatnonzero(only)
    found = []
    for query, scores in zip(queries, _scores(sketches, queries), strict=True):
        best = top_k(scores if rows is None else scores[rows], max(k, candidates))
        read = np.sort(best if rows is None else rows[best])
        [(places, cosines)] = search_all(vectors[read], query[None], k)
        found.append((read[places], cosines))
    return found


def _scores(sketches: Sketches, queries: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (m, n): nearly the cosines of rows to each query, less one number for each query."""
    along = sketches.axes @ queries.T
    scores = np.empty((len(queries), len(sketches.codes)), dtype=np.float32)
    size = max(1, _AT_ONCE // max(1, along.size))
    for start in range(0, len(sketches.codes), size):
        block = sketches.codes[start : start + size].astype(np.float32)
        scores[:, start : start + size] = (block @ along).T
    return scores


def search_all(
    vectors: Vectors,
    queries: NDArray[np.float32],
    k: int,
    *,
    only: NDArray[np.bool_] | None = None,
) -> list[Found]:
    """Return the `k` rows nearest by cosine to each of the (m, d) unit `queries`, best first.

    `vectors` are (n, d), of unit length or zero. Where `only`, (n,), is given, other rows are left
    out. Cosines are to six decimals, and of equal ones the first row comes first. O(n d m).
    """
    found = [(np.empty(0, dtype=np.intp), np.empty(0)) for _ in queries]
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        rows = np.arange(len(block)) if only is None else np.flatnonzero(only[start:][: len(block)])
        near = block if len(rows) == len(block) else block[rows]
        scores = (near @ queries.T).T.astype(np.float64)
        found = [_best(f, start + rows, s, k) for f, s in zip(found, scores, strict=True)]
    return [(rows, np.round(cosines, DECIMALS)) for rows, cosines in found]


def _best(found: Found, rows: NDArray[np.intp], cosines: NDArray[np.float64], k: int) -> Found:
    """Return the `k` best of those that were found and of later rows, which ascend."""
    own = top_k(cosines, k)
    together = np.concatenate([found[0], rows[own]]), np.concatenate([found[1], cosines[own]])
    best = top_k(together[1], k)
    return together[0][best], together[1][best]
