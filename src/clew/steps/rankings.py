"""Rankings of chunks, and the nearest rows of a layer, by a query.

In large indexes only the chunks that may be best are ranked: the nearest by sketches, and those
with rare words of the query. An exact snapshot ranks all.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo import sketches
from clew.algo.ascending import match_sorted, sort_distinct
from clew.algo.bm25 import bm25_candidates, bm25_chunk_scores
from clew.algo.topk import positive_top_k, top_k
from clew.base.derived import Arrays, CachedArrays, Derived, EarlierArrays
from clew.index.snapshot import Snapshot
from clew.steps.scores import (
    Query,
    choose_fusion,
    cosines_of,
    dense_scores,
    lexical_scores,
    read_lexical,
)

Scores = NDArray[np.float64]
Rows = NDArray[np.intp]

MANY_UNITS = 10_000  # of more, those of the nearest chunks are compared
CANDIDATES = 1_000  # chunks: the first of a ranking that others are made from


class Ranking(NamedTuple):
    """Scores of chunks: all, or a subset that contains the best."""

    rows: Rows | None  # ascending, None for all
    scores: Scores  # of these rows
    of_others: Callable[[NDArray[np.integer]], Scores] | None = None  # of other rows; None for 0

    def best(self, k: int, *, positive: bool = False) -> Rows:
        """Return the `k` best rows, best first, ties by row; no score below zero if `positive`."""
        places = positive_top_k(self.scores, k) if positive else top_k(self.scores, k)
        return places if self.rows is None else self.rows[places]

    def of(self, rows: NDArray[np.integer]) -> Scores:
        """Return the scores of any rows."""
        if self.rows is None:
            return np.asarray(self.scores[rows])
        ranked, places = match_sorted(self.rows, rows)
        scores = np.zeros(len(rows))
        scores[ranked] = self.scores[places]
        if self.of_others is not None:
            others = np.delete(np.arange(len(rows)), ranked)
            scores[others] = self.of_others(rows[others])
        return scores


def dense_ranking(snapshot: Snapshot, query: Query) -> Ranking:
    """Rank chunks by their cosines to the query; of many only the nearest and the farthest."""
    if not uses_sketches(snapshot, "chunk"):
        return Ranking(None, dense_scores(snapshot, "chunk", query))

    def score_rows(rows: NDArray[np.integer]) -> Scores:
        return cosines_of(snapshot, "chunk", query, rows)

    rows = find_near_and_far(snapshot, "chunk", query.vector, CANDIDATES)
    return Ranking(rows, score_rows(rows), score_rows)


def lexical_ranking(snapshot: Snapshot, query: str, k: int = CANDIDATES) -> Ranking:
    """Rank chunks by BM25, at least the `k` best."""
    parts = read_lexical(snapshot, query)
    rows, scores = bm25_candidates(*parts, k)
    return Ranking(rows, scores, lambda others: bm25_chunk_scores(*parts, others))


def hybrid_ranking(
    snapshot: Snapshot, query: Query, fusion: str = "mean", dense: Ranking | None = None
) -> Ranking:
    """Rank chunks by fused dense and lexical scores; `fusion` is "mean" or "rrf".

    Of many chunks the best of both. `dense` is the dense ranking where it is known already.
    """
    dense = dense_ranking(snapshot, query) if dense is None else dense
    if dense.rows is None:
        return Ranking(
            None, choose_fusion(fusion, dense.scores, lexical_scores(snapshot, query.text))
        )
    lexical = lexical_ranking(snapshot, query.text)
    rows = sort_distinct(np.concatenate([dense.rows, lexical.best(CANDIDATES)]))
    both = [(ranking, ranking.of(rows)) for ranking in (dense, lexical)]

    def score_others(others: NDArray[np.integer]) -> Scores:
        scores = choose_fusion(
            fusion, *(np.append(own, ranking.of(others)) for ranking, own in both)
        )
        return scores[len(rows) :]

    return Ranking(rows, choose_fusion(fusion, *(own for _, own in both)), score_others)


def nearest(
    snapshot: Snapshot, layer: str, query: Query, k: int, *, only: NDArray[np.bool_] | None = None
) -> tuple[Rows, Scores]:
    """Return the `k` rows of a layer nearest to the query, best first, and their cosines.

    Ties go by row. Where `only`, (n,), is given, none of the other rows.
    """
    if uses_sketches(snapshot, layer):
        return find_near_rows(snapshot, layer, query.vector[None], k, only=only)[0]
    scores = dense_scores(snapshot, layer, query)
    if only is None:
        best = top_k(scores, k)
    else:
        among = np.flatnonzero(only)
        best = among[top_k(scores[among], k)]
    return best, scores[best]


def nearest_units(
    snapshot: Snapshot, query: Query, k: int, among: NDArray[np.integer] | None = None
) -> tuple[Rows, Scores]:
    """Return the `k` units nearest to the query, best first, and their cosines; ties go by row.

    They are `among` what `units_near` returned.
    """
    if among is None:
        return nearest(snapshot, "unit", query, k)
    cosines = cosines_of(snapshot, "unit", query, among)
    best = top_k(cosines, k)
    return among[best].astype(np.intp), cosines[best]


def units_near(
    snapshot: Snapshot, query: Query, dense: Ranking | None = None, k: int = CANDIDATES
) -> NDArray[np.integer] | None:
    """Return units that contain the `k` nearest to the query, ascending; None for up to 10,000.

    They are the units of the 100 nearest chunks for each unit wanted, 1,000 at most: of 500
    questions on up to 3,739 chunks the three nearest units were in the 100 nearest chunks. None
    also for an exact snapshot. `dense` is the dense ranking of chunks, if known.
    """
    if snapshot.exact or len(snapshot.layer("unit")) <= MANY_UNITS:
        return None
    ranking = dense_ranking(snapshot, query) if dense is None else dense
    chunks = np.sort(ranking.best(min(_CHUNKS * k, CANDIDATES)))
    return sort_distinct(snapshot.linked("chunk", "unit").entries_of(chunks).indices)


_CHUNKS = 100  # of the nearest, whose units are compared for each that is looked for


def near_rows(
    snapshot: Snapshot,
    layer: str,
    vectors: NDArray[np.float32],
    k: int,
    *,
    only: NDArray[np.bool_] | None = None,
) -> list[list[tuple[int, float]]]:
    """Return the `k` rows of a layer nearest to each of the (m, d) `vectors`, with their cosines.

    Best first, ties by row, cosines to six decimals; `only`, (n,), restricts the rows. In a layer
    with sketches some of the nearest may be missed.
    """
    nearest = find_near_rows(snapshot, layer, vectors, k, only=only)
    return [list(zip(near.tolist(), cosines.tolist(), strict=True)) for near, cosines in nearest]


def find_near_rows(
    snapshot: Snapshot,
    layer: str,
    vectors: NDArray[np.float32],
    k: int,
    *,
    only: NDArray[np.bool_] | None = None,
) -> list[sketches.Found]:
    """Return the result of `near_rows` as arrays of rows and cosines."""
    rows = snapshot.layer(layer).vectors
    if uses_sketches(snapshot, layer):
        return sketches.search_sketches(read_sketches(snapshot, layer), rows, vectors, k, only=only)
    return sketches.search_exactly(rows, vectors, k, only=only)


def find_near_and_far(
    snapshot: Snapshot, layer: str, vector: NDArray[np.float32], k: int
) -> NDArray[np.intp]:
    """Return approximately the `k` nearest rows to a vector, and some of the farthest; ascending.

    Of a layer that `uses_sketches` is true of.
    """
    n = max(2 * k, sketches.CANDIDATES)  # of twice as many most are among the nearest
    return sketches.sample_near_and_far(read_sketches(snapshot, layer), vector, n)


def uses_sketches(snapshot: Snapshot, layer: str) -> bool:
    """Check whether a layer is so large that its rows are searched by sketches."""
    is_large = layer in SKETCHES and len(snapshot.layer(layer)) > sketches.EXACT_UP_TO
    return is_large and not snapshot.exact


def read_sketches(snapshot: Snapshot, layer: str) -> sketches.Sketches:
    """Return the sketches of a layer, updated from an earlier generation's if possible."""
    return snapshot.get(_SKETCHES, layer)


def _compute_sketches(snapshot: Snapshot, layer: str) -> sketches.Sketches:
    what = SKETCHES[layer]
    arrays = snapshot.base_arrays(what)
    if arrays is None or snapshot.base is None:
        return sketches.Sketches(snapshot.get(what)["codes"])
    edits = snapshot.base.rows(layer)
    came = sketches.sketch(snapshot.layer(layer).vectors[edits.at])
    return sketches.Sketches(arrays["codes"], came, edits)


_SKETCHES = Derived("sketches of the rows of a layer", _compute_sketches)


def _declare_sketches(layer: str) -> CachedArrays:
    def compute(snapshot: Snapshot) -> Arrays:
        return {"codes": sketches.sketch(snapshot.layer(layer).vectors)}

    def update(snapshot: Snapshot, earlier: EarlierArrays) -> Arrays:
        if layer == "entity":  # the same one may have got a name
            return compute(snapshot)
        before, then = earlier.rows[layer], earlier.arrays["codes"]
        old, new = np.flatnonzero(before >= 0), np.flatnonzero(before < 0)
        codes = np.empty((len(then), len(before)), dtype=then.dtype)
        codes[:, old] = then[:, before[old]]
        codes[:, new] = sketches.sketch(snapshot.layer(layer).vectors[new])
        return {"codes": codes}

    def worth(snapshot: Snapshot) -> bool:
        return len(snapshot.layer(layer)) > sketches.EXACT_UP_TO

    name = f"sketches-{layer}"
    return CachedArrays(name, compute, inputs=(layer,), update=update, worth=worth, edited=True)


SKETCHES = {layer: _declare_sketches(layer) for layer in ("chunk", "entity", "triple")}
