"""How often an index has something, also where a snapshot holds but a part of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.snapshot import Snapshot


def n_chunks(snapshot: Snapshot) -> int:
    """Return how many chunks the index has."""
    totals = snapshot.totals
    return len(snapshot.layer("chunk")) if totals is None else totals.n_chunks


def term_chunks(snapshot: Snapshot, terms: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the (n,) numbers of chunks that have each of some terms."""
    if snapshot.totals is None:
        return snapshot.linked("term", "chunk").counts_of(terms)
    found: NDArray[np.integer] = snapshot.totals.term_chunks[terms]
    return found
