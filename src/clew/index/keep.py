"""Compute once for a generation what queries would otherwise compute each time."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import steps
from clew.algo.keywords import Keywords, keyword_lengths, updated_lengths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clew.store import Store
    from clew.types import Snapshot

    Arrays = Mapping[str, NDArray[Any]]

_K = 2  # neighbours of a chunk, as the methods that use the graph take by default
_KEYWORDS, _NEIGHBOURS = "keywords", f"neighbours-{_K}"


def keep_derived(store: Store, *, graph: bool = False) -> None:
    """Keep the keywords' lengths of the newest generation, which should be frozen.

    Where the index has triples, or a `graph` is asked for, keep the graph of near chunks too.
    What is kept of this generation already is left as it is; what did not change since an earlier
    one is not computed again. Raises IndexLocked where something is to be kept and another
    process writes.
    """
    with closing(store.snapshot()) as snapshot:
        if not _missing(snapshot, graph=graph):
            return
    store.claim()  # or another session commits between a snapshot and what is kept of it
    store.freeze()  # for the same reason: one may just have done so
    with closing(store.snapshot()) as snapshot:
        for name in _missing(snapshot, graph=graph):
            compute = _keywords if name == _KEYWORDS else _neighbours
            store.keep(name, compute(snapshot, store.kept(name)))


def _missing(snapshot: Snapshot, *, graph: bool) -> list[str]:
    """Return the names of what is to be kept of a generation and is not yet."""
    n_sentences, n_chunks, n_triples = (
        len(snapshot.layer(name)) for name in ("sentence", "chunk", "triple")
    )
    needed = {_KEYWORDS: n_sentences > 0, _NEIGHBOURS: n_triples > 0 or (graph and n_chunks > 0)}
    return [name for name in needed if needed[name] and snapshot.kept(name) is None]


def _keywords(snapshot: Snapshot, last: Arrays | None) -> Arrays:
    """Return the lengths of all terms, with what they are of; `last` is what was kept last."""
    sentences, terms = snapshot.stored["sentence"], snapshot.stored["term"]
    rows = {"sentences": sentences, "terms": terms}
    if last is not None and _are_of(last, rows):
        return last
    link, vectors = snapshot.link("sentence", "term"), snapshot.layer("sentence").vectors
    if last is None:
        lengths = keyword_lengths(link, vectors)
    else:
        lengths = updated_lengths(Keywords(**last), sentences, terms, link, vectors)
    n_sentences = np.bincount(link.indices, minlength=len(terms))
    return {**rows, "n_sentences": n_sentences, "lengths": lengths}


def _neighbours(snapshot: Snapshot, last: Arrays | None) -> Arrays:
    """Return the graph of near chunks and what it is of; `last` is what was kept last.

    Terms and vectors of a chunk stay as long as its number, so equal chunks have an equal graph.
    """
    rows = {"chunks": snapshot.stored["chunk"]}
    if last is not None and _are_of(last, rows):
        return last
    graph = steps.chunk_graph(snapshot, _K)
    return {**rows, "indptr": graph.indptr, "indices": graph.indices}


def _are_of(arrays: Arrays, rows: Arrays) -> bool:
    """Say whether what was kept was computed from these stored rows, in this order."""
    return all(np.array_equal(arrays[name], numbers) for name, numbers in rows.items())
