"""Find pairs of entities with similar names, which may be synonyms."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.ascending import match_sorted
from clew.algo.links import entry_rows
from clew.algo.synonyms import find_near_pairs, update_pairs
from clew.base.derived import Arrays, CachedArrays, EarlierArrays
from clew.index.snapshot import Snapshot

LEAST = 0.8  # cosine of two names above which they are kept
_SHORTEST = 3  # letters and digits of a name that may have synonyms


def synonym_pairs(
    snapshot: Snapshot, above: float
) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.float32]]:
    """Return pairs of entities, the lower first, with cosines `above` 0.8 or more."""
    arrays = snapshot.get(SYNONYMS)
    pairs, members = _open_pairs(arrays), arrays["members"]
    rows, columns = entry_rows(pairs), pairs.indices
    near = (rows < columns) & (pairs.data > above)
    return members[rows[near]], members[columns[near]], pairs.data[near]


def _compute_pairs(
    snapshot: Snapshot, earlier: EarlierArrays | None = None
) -> dict[str, NDArray[Any]]:
    """Return the pairs among entities of triples, comparing only new entities."""
    layer, columns = snapshot.layer("entity"), snapshot.layer("triple").columns
    rows = np.unique(np.concatenate([columns["subject"], columns["object"]])).astype(np.int64)
    vectors = np.asarray(layer.vectors[rows])
    sizes = np.array([sum(map(str.isalnum, key)) for key in layer.ids(rows.tolist())], dtype=int)
    is_named = vectors.any(axis=1) & (sizes >= _SHORTEST)
    members, vectors = rows[is_named], vectors[is_named]
    pairs: csr_array | None = None
    if earlier is not None:
        then = np.full(len(members), -1, dtype=np.int64)
        old, places = match_sorted(earlier.arrays["members"], earlier.rows["entity"][members])
        then[old] = places
        pairs = update_pairs(_open_pairs(earlier.arrays), then, vectors, LEAST)
    if pairs is None:
        pairs = find_near_pairs(vectors, LEAST)
    return {
        "members": members,
        "starts": pairs.indptr,
        "others": pairs.indices,
        "cosines": pairs.data,
    }


def _open_pairs(arrays: Arrays) -> csr_array:
    n = len(arrays["members"])
    return csr_array((arrays["cosines"], arrays["others"], arrays["starts"]), shape=(n, n))


SYNONYMS = CachedArrays(
    "synonyms",
    _compute_pairs,
    inputs=("entity", "triple"),
    update=_compute_pairs,
    worth=lambda snapshot: len(snapshot.layer("triple")) > 0,
)
