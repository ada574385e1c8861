"""Compute once for a generation what queries would otherwise compute each time."""

from __future__ import annotations

from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import steps
from clew.algo.keywords import Keywords, keyword_lengths, updated_lengths
from clew.algo.sketches import EXACT_UP_TO, sketched
from clew.errors import MissingExtra, ModelError, RecipeMismatch
from clew.layers.statistical import KEPT, digest, statistical_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from clew.models import Embedder
    from clew.store import Store
    from clew.types import Snapshot

    Arrays = Mapping[str, NDArray[Any]]

_K = 2  # neighbours of a chunk, as the methods that use the graph take by default
_KEYWORDS, _NEIGHBOURS = "keywords", f"neighbours-{_K}"
_SKETCHED = {f"sketches-{layer}": layer for layer in ("entity", "triple")}


def keep_derived(
    store: Store,
    embedder: Callable[[], Embedder] | None = None,
    *,
    graph: bool = False,
    exact_up_to: int = EXACT_UP_TO,
    before: Arrays | None = None,
) -> None:
    """Keep the keywords' lengths of the newest generation, which should be frozen.

    Where the index has triples, or a `graph` is asked for, keep the graph of near chunks too,
    unless no chunk is of a text; and sketches of entities and of triples, where there are triples
    and more than `exact_up_to` rows. Where there are triples and an `embedder`, keep the
    statistical entities: it is asked for where a name has no vector, and not for those in `before`,
    which were kept before a compaction. Without a model that can be had, questions compute them.

    What is kept of this generation already is left as it is; what did not change since an earlier
    one is not computed again. Raises IndexLocked where something is to be kept and another process
    writes.
    """
    compute = dict(_COMPUTE)
    if embedder is not None:
        compute[KEPT] = partial(_statistical, embedder, before)
    with closing(store.snapshot()) as snapshot:
        if compute.keys().isdisjoint(_missing(snapshot, exact_up_to, graph=graph)):
            return
    store.claim()  # or another session commits between a snapshot and what is kept of it
    store.freeze()  # for the same reason: one may just have done so
    with closing(store.snapshot()) as snapshot:
        for name in _missing(snapshot, exact_up_to, graph=graph):
            if name in compute:
                with suppress(MissingExtra, ModelError, RecipeMismatch):
                    store.keep(name, compute[name](snapshot, store.kept(name)))


def _missing(snapshot: Snapshot, exact_up_to: int, *, graph: bool) -> list[str]:
    """Return the names of what is to be kept of a generation and is not yet."""
    n_sentences, n_triples = (len(snapshot.layer(name)) for name in ("sentence", "triple"))
    has_texts = bool(snapshot.are_texts().any())
    needed = {
        _KEYWORDS: n_sentences > 0,
        _NEIGHBOURS: has_texts and (graph or n_triples > 0),
        KEPT: n_triples > 0,
    }
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
    of = {"digest": digest(vectors)}
    if last is not None and _are_of(last, of):
        return last
    made = sketched(vectors)
    return {**of, "axes": made.axes, "codes": made.codes}


def _statistical(
    embedder: Callable[[], Embedder],
    before: Arrays | None,
    snapshot: Snapshot,
    last: Arrays | None,
) -> Arrays:
    """Return the statistical entities, with the chunks that their rates are of.

    The text of a chunk stays as long as its number, so equal chunks have equal salient terms.
    """
    rows = {"chunks": snapshot.stored["chunk"], "is_text": snapshot.are_texts()}
    same = last is not None and _are_of(last, rows)
    known = before if last is None else last
    return {**rows, **statistical_arrays(snapshot, embedder, known, same_texts=same)}


def _are_of(arrays: Arrays, rows: Arrays) -> bool:
    """Say whether what was kept was computed from these rows, in this order."""
    return all(np.array_equal(arrays[name], numbers) for name, numbers in rows.items())


_COMPUTE: Mapping[str, Callable[[Snapshot, Arrays | None], Arrays]] = {
    _KEYWORDS: _keywords,
    _NEIGHBOURS: _neighbours,
    **{name: partial(_sketches, layer) for name, layer in _SKETCHED.items()},
}
