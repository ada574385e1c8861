"""Compute once for a generation what queries would otherwise compute each time."""

from __future__ import annotations

import hashlib
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import steps
from clew.algo.keywords import Keywords, keyword_lengths, updated_lengths
from clew.algo.sketches import EXACT_UP_TO, sketched

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from clew.store import Store
    from clew.types import Snapshot

    Arrays = Mapping[str, NDArray[Any]]

_K = 2  # neighbours of a chunk, as the methods that use the graph take by default
_KEYWORDS, _NEIGHBOURS = "keywords", f"neighbours-{_K}"
_SKETCHED = {f"sketches-{layer}": layer for layer in ("entity", "triple")}


def keep_derived(store: Store, *, graph: bool = False, exact_up_to: int = EXACT_UP_TO) -> None:
    """Keep the keywords' lengths of the newest generation, which should be frozen.

    Where the index has triples, or a `graph` is asked for, keep the graph of near chunks too,
    unless no chunk is of a text; and sketches of entities and of triples, where there are triples
    and more than `exact_up_to` rows. What is kept of this generation already is left as it is; what
    did not change since an earlier one is not computed again. Raises IndexLocked where something is
    to be kept and another process writes.
    """
    with closing(store.snapshot()) as snapshot:
        if not _missing(snapshot, exact_up_to, graph=graph):
            return
    store.claim()  # or another session commits between a snapshot and what is kept of it
    store.freeze()  # for the same reason: one may just have done so
    with closing(store.snapshot()) as snapshot:
        for name in _missing(snapshot, exact_up_to, graph=graph):
            store.keep(name, _COMPUTE[name](snapshot, store.kept(name)))


def _missing(snapshot: Snapshot, exact_up_to: int, *, graph: bool) -> list[str]:
    """Return the names of what is to be kept of a generation and is not yet."""
    n_sentences, n_triples = (len(snapshot.layer(name)) for name in ("sentence", "triple"))
    has_texts = bool(steps.are_texts(snapshot).any())
    needed = {_KEYWORDS: n_sentences > 0, _NEIGHBOURS: has_texts and (graph or n_triples > 0)}
    for name, layer in _SKETCHED.items():
        needed[name] = n_triples > 0 and len(snapshot.layer(layer)) > exact_up_to
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


def _sketches(layer: str, snapshot: Snapshot, last: Arrays | None) -> Arrays:
    """Return the sketches of a layer's vectors, and the digest of these; `last` were kept last."""
    vectors = snapshot.layer(layer).vectors
    digest = hashlib.blake2b(vectors.reshape(-1).view(np.uint8).data, digest_size=16)
    of = {"digest": np.frombuffer(digest.digest(), dtype=np.uint8)}
    if last is not None and _are_of(last, of):
        return last
    made = sketched(vectors)
    return {**of, "axes": made.axes, "codes": made.codes}


def _are_of(arrays: Arrays, rows: Arrays) -> bool:
    """Say whether what was kept was computed from these rows, in this order."""
    return all(np.array_equal(arrays[name], numbers) for name, numbers in rows.items())


_COMPUTE: Mapping[str, Callable[[Snapshot, Arrays | None], Arrays]] = {
    _KEYWORDS: _keywords,
    _NEIGHBOURS: _neighbours,
    **{name: partial(_sketches, layer) for name, layer in _SKETCHED.items()},
}
