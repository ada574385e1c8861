"""Compute once for a generation what queries would otherwise compute each time."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import steps
from clew.algo.keywords import Keywords, keyword_lengths, updated_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.store import Store
    from clew.types import Snapshot

_K = 2  # neighbours of a chunk, as the methods that use the graph take by default


def keep_derived(store: Store) -> None:
    """Keep the keywords' lengths of the newest generation, which must be frozen.

    Where the index has triples, keep the graph of near chunks too. What is kept of this generation
    already is left as it is; what did not change since an earlier one is not computed again.
    """
    with closing(store.snapshot()) as snapshot:
        if snapshot.kept("keywords") is None:
            _keep_keywords(store, snapshot)
        name = f"neighbours-{_K}"
        if len(snapshot.layer("triple")) and snapshot.kept(name) is None:
            graph = steps.chunk_graph(snapshot, _K)
            store.keep(name, {"indptr": graph.indptr, "indices": graph.indices})


def _keep_keywords(store: Store, snapshot: Snapshot) -> None:
    if not len(snapshot.layer("sentence")):
        return
    kept = store.kept("keywords")
    link, vectors = snapshot.link("sentence", "term"), snapshot.layer("sentence").vectors
    sentences, terms = snapshot.stored["sentence"], snapshot.stored["term"]
    if kept is None:
        lengths = keyword_lengths(link, vectors)
    else:
        lengths = updated_lengths(Keywords(**kept), sentences, terms, link, vectors)
    arrays: dict[str, NDArray[Any]] = {
        "sentences": sentences,
        "terms": terms,
        "n_sentences": np.bincount(link.indices, minlength=len(terms)),
        "lengths": lengths,
    }
    store.keep("keywords", arrays)
