"""Approximate nearest-neighbour search by binary sketches of all rows.

A sketch has one bit for each number of a row: whether it is positive. It depends on that row alone.
Rows are chosen in two steps: by their Hamming distance to the query's sketch, and among the best by
the inner product of the query with the sign vectors (Charikar 2002, "Similarity estimation
techniques from rounding algorithms"; the query itself is not rounded to bits then, as in Gao and
Long 2024, "RaBitQ"). The exact vectors decide among the rest.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import sort_distinct
from clew.algo.coding import Vectors, multiply_rows
from clew.algo.row_edits import RowEdits
from clew.algo.topk import DECIMALS, top_k

Found = tuple[NDArray[np.intp], NDArray[np.float64]]  # rows and their cosines, best first
Codes = NDArray[np.uint64]

EXACT_UP_TO = 30_000  # rows; of more, sketches take less time
CANDIDATES = 1_000  # rows that are compared with a query
_OVERSAMPLING = 8  # times as many are chosen by bits alone
_N_FARTHEST = 64
_WORD = 64  # bits
_PLANES = 4  # bits of a number of the query
_BLOCK = 16_384  # rows that are compared at once


class Sketches(NamedTuple):
    """The sketches of n rows, possibly those of an earlier generation with edits."""

    codes: Codes  # (d / 64, n)
    came: Codes | None = None  # (d / 64, m), of the rows that came
    edits: RowEdits | None = None

    @property
    def parts(self) -> list[Codes]:
        """The earlier generation's sketches, then those of the added rows."""
        return [self.codes] if self.came is None else [self.codes, self.came]

    @property
    def size(self) -> int:
        """The number of sketches, removed rows included."""
        return sum(part.shape[1] for part in self.parts)

    def rows(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of sketches at some positions, -1 for removed rows."""
        if self.edits is None:
            return places
        former = self.codes.shape[1]
        present = self.edits.to_present(np.minimum(places, former - 1), followed=False)
        came = places >= former
        present[came] = self.edits.at[places[came] - former]
        return present.astype(np.intp, copy=False)


def sketch(vectors: Vectors) -> Codes:
    """Return the (d / 64, n) sketches of the (n, d) `vectors`. O(n d)."""
    n, d = vectors.shape
    codes = np.zeros((-(-d // _WORD), n), dtype=np.uint64)
    for start in range(0, n, _BLOCK):
        bits = vectors[start : start + _BLOCK] > 0
        codes[:, start : start + _BLOCK] = _pack_bits(bits).T
    return codes


def _pack_bits(bits: NDArray[np.bool_]) -> Codes:
    """Pack (n, d) booleans into (n, d / 64) integers."""
    padded = np.zeros((len(bits), -(-bits.shape[1] // _WORD) * _WORD), dtype=bool)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def search_sketches(
    sketches: Sketches,
    vectors: Vectors,
    queries: NDArray[np.float32],
    k: int,
    *,
    only: NDArray[np.bool_] | None = None,
    candidates: int = CANDIDATES,
) -> list[Found]:
    """Run `search_exactly` on at least `k` of each query's `candidates`.

    `sketches` are those of `vectors`, of which no more than the candidates are read.
    """
    results, some, n = [], None, max(k, candidates)
    if only is not None:
        owners = sketches.rows(np.arange(sketches.size))
        some = np.flatnonzero((owners >= 0) & only[owners])
    for query in queries:
        distances = _distances(sketches, query)
        if some is None:
            first = _lowest_places(distances, n * _OVERSAMPLING)
        else:
            first = some[_lowest_places(distances[some], n * _OVERSAMPLING)]
        rows = np.sort(sketches.rows(_rank_by_products(sketches, query, first, n)))
        rows = rows[rows >= 0]
        cosines = np.asarray(multiply_rows(vectors, rows, query), dtype=np.float64)
        best = top_k(cosines, k)
        results.append((rows[best], np.round(cosines[best], DECIMALS)))
    return results


def sample_near_and_far(
    sketches: Sketches, query: NDArray[np.float32], candidates: int = CANDIDATES
) -> NDArray[np.intp]:
    """Return the `candidates` nearest to a query and some of the farthest, ascending."""
    distances = _distances(sketches, query)
    first = _lowest_places(distances, candidates * _OVERSAMPLING)
    near = _rank_by_products(sketches, query, first, candidates)
    far = _lowest_places(np.uint16(len(sketches.codes) * _WORD) - distances, _N_FARTHEST)
    rows = sort_distinct(sketches.rows(np.concatenate([near, far])))
    return rows[rows >= 0]


def _distances(sketches: Sketches, query: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the Hamming distance of each sketch to the query's."""
    [own] = _pack_bits(query[None] > 0)
    return np.concatenate([_count_differing_bits(part, own) for part in sketches.parts])


def _count_differing_bits(codes: Codes, own: NDArray[np.uint64]) -> NDArray[np.uint16]:
    n = codes.shape[1]
    n_differing = np.zeros(n, dtype=np.uint16)
    bits, counts = np.empty(_BLOCK, dtype=np.uint64), np.empty(_BLOCK, dtype=np.uint8)
    for start in range(0, n, _BLOCK):
        sums = n_differing[start : start + _BLOCK]
        size = len(sums)
        for word, mine in zip(codes, own, strict=True):
            np.bitwise_xor(word[start : start + size], mine, out=bits[:size])
            sums += np.bitwise_count(bits[:size], out=counts[:size])
    return n_differing


def _lowest_places(distances: NDArray[np.uint16], n: int) -> NDArray[np.intp]:
    """Return the positions of the `n` smallest distances, ascending, ties by position."""
    if n >= len(distances):
        return np.arange(len(distances))
    upto = np.cumsum(np.bincount(distances))
    most = int(np.searchsorted(upto, n))
    places = np.flatnonzero(distances <= most)
    over = int(upto[most]) - n
    ties = np.flatnonzero(distances[places] == most)
    return np.delete(places, ties[len(ties) - over :])


def _rank_by_products(
    sketches: Sketches, query: NDArray[np.float32], places: NDArray[np.intp], n: int
) -> NDArray[np.intp]:
    """Return the `n` positions whose sign vectors have the highest products with the query."""
    if len(places) <= n:
        return places
    former = sketches.codes.shape[1]
    own = int(np.searchsorted(places, former))
    scores = [_sign_products(sketches.codes, places[:own], query)]
    if sketches.came is not None:
        scores.append(_sign_products(sketches.came, places[own:] - former, query))
    return places[top_k(np.concatenate(scores), n)]


def _sign_products(
    codes: Codes, places: NDArray[np.intp], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return products of sign vectors with a query in 16 levels, up to an affine map."""
    low = float(query.min())
    step = (float(query.max()) - low) / (2**_PLANES - 1) or 1.0
    levels = np.rint((query - low) / step).astype(np.uint8)
    planes = _pack_bits((levels >> np.arange(_PLANES)[:, None]) & 1 > 0)
    every = np.full((1, planes.shape[1]), ~np.uint64(0))
    sums = np.zeros((_PLANES + 1, len(places)), dtype=np.uint16)
    for word, of_planes in zip(codes, np.concatenate([planes, every]).T, strict=True):
        sums += np.bitwise_count(word.take(places) & of_planes[:, None])
    weights = np.array([*(2.0**i for i in range(_PLANES)), low / step], dtype=np.float32)
    return np.asarray(weights @ sums.astype(np.float32))


def search_exactly(
    vectors: Vectors, queries: NDArray[np.float32], k: int, *, only: NDArray[np.bool_] | None = None
) -> list[Found]:
    """Return the `k` rows nearest by cosine to each of the (m, d) unit `queries`, best first.

    `vectors` are (n, d), of unit length or zero. Where `only`, (n,), is given, other rows are left
    out. Cosines are to six decimals, and of equal ones the first row comes first. O(n d m).
    """
    rows = None if only is None else np.flatnonzero(only)
    products = vectors @ queries.T if rows is None else multiply_rows(vectors, rows, queries.T)
    results = []
    for cosines in products.T.astype(np.float64):
        best = top_k(cosines, k)
        nearest = best if rows is None else rows[best]
        results.append((nearest, np.round(cosines[best], DECIMALS)))
    return results
