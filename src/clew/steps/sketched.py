"""The nearest rows of a layer to some vectors; of many rows by their sketches."""

import numpy as np
from numpy.typing import NDArray

from clew.algo import sketches
from clew.derived import Arrays, CachedArrays, Derived, EarlierArrays
from clew.snapshot import Snapshot


def near_rows(
    snapshot: Snapshot,
    layer: str,
    vectors: NDArray[np.float32],
    k: int,
    *,
    only: NDArray[np.bool_] | None = None,
) -> list[list[tuple[int, float]]]:
    """Return the `k` rows of a layer nearest to each of the (m, d) `vectors`, with their cosines.

    Best first, ties by row, cosines to six decimals; where `only`, (n,), is given, none of the
    other rows. In a layer that `are_sketched` is true of a few of the nearest may be missed.
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
    """Return what `near_rows` does as arrays: rows and their cosines."""
    rows = snapshot.layer(layer).vectors
    if are_sketched(snapshot, layer):
        return sketches.search_sketches(read_sketches(snapshot, layer), rows, vectors, k, only=only)
    return sketches.search_exactly(rows, vectors, k, only=only)


def find_near_and_far(
    snapshot: Snapshot, layer: str, vector: NDArray[np.float32], k: int
) -> NDArray[np.intp]:
    """Return at least the `k` nearest rows to a vector, nearly, and the farthest; ascending.

    Of a layer that `are_sketched` is true of.
    """
    n = max(2 * k, sketches.CANDIDATES)  # of twice as many most are among the nearest
    return sketches.sample_near_and_far(read_sketches(snapshot, layer), vector, n)


def are_sketched(snapshot: Snapshot, layer: str) -> bool:
    """Say whether the rows of a layer are so many that they are found by sketches."""
    is_large = layer in SKETCHES and len(snapshot.layer(layer)) > sketches.EXACT_UP_TO
    return is_large and not snapshot.exact


def read_sketches(snapshot: Snapshot, layer: str) -> sketches.Sketches:
    """Return the sketches of a layer, by those of an earlier generation where it is edits of it."""
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
