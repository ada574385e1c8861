"""Cosines that do not depend on which rows are computed together.

BLAS adds up the products of two vectors in an order that depends on how many others it multiplies,
so that the last bits of a cosine differ and, now and then, its six decimals. Numbers here are
rounded to multiples of 2^-25. Their products are multiples of 2^-50, and sums of these below 8 are
exact in the 53 bits of a float64, in any order. Cosines are whole millionths.
"""

import numpy as np
from numpy.typing import NDArray

from clew.algo.coding import Vectors
from clew.algo.topk import DECIMALS

Rows = NDArray[np.integer]

MILLION = 10**DECIMALS
_STEP = 2.0**-25
_BATCH_SIZE = 4_096  # pairs of vectors that are read at once
_DENSE_PAIRS = 64  # pairs of a row


def quantize(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Round vectors shorter than 2, so that sums of their products are exact."""
    return np.asarray(np.rint(vectors.astype(np.float64) / _STEP) * _STEP)


def pair_cosines(vectors: Vectors, a: Rows, b: Rows) -> NDArray[np.int32]:
    """Return the (m,) cosines of rows `a` with rows `b`, in millionths. O(m d)."""
    cosines = np.empty(len(a), dtype=np.int32)
    for start in range(0, len(a), _BATCH_SIZE):
        pairs = slice(start, start + _BATCH_SIZE)
        both = quantize(vectors[a[pairs]]), quantize(vectors[b[pairs]])
        cosines[pairs] = _to_millionths(np.einsum("ij,ij->i", *both))
    return cosines


def indexed_pair_cosines(
    vectors: Vectors, rows: Rows, places: Rows, columns: Rows
) -> NDArray[np.int32]:
    """Return `pair_cosines` of rows[places] with `columns`, by one product if there are many."""
    if len(places) <= _DENSE_PAIRS * len(rows):
        return pair_cosines(vectors, rows[places], columns)
    some, place = np.unique(columns, return_inverse=True)
    return _to_millionths((quantize(vectors[rows]) @ quantize(vectors[some]).T)[places, place])


def rounding_margin(dimension: int) -> float:
    """Return the maximum rounding error of a float32 product below its rounded value."""
    return float(dimension * 2.0**-22 + 2.0 / MILLION)


def _to_millionths(cosines: NDArray[np.float64]) -> NDArray[np.int32]:
    return np.asarray(np.rint(cosines * MILLION), dtype=np.int32)
