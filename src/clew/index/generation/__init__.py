"""Open, assemble and compact one generation of an index: its rows, links and cached arrays."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.base.runtime.cached_values import Lazily, reading
from clew.base.types import KINDS
from clew.errors import DamagedIndex, InputError
from clew.index.generation.assembly import from_arrays, to_arrays
from clew.index.generation.cached import ArrayLoader, VerifiedArrays
from clew.index.generation.cut import Cutter
from clew.index.generation.layers import Parts, build_snapshot, resolve_aliases
from clew.index.generation.rows import Live, follow_rows
from clew.index.store.columns import StoredColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clew.index.generation.assembly import Assembly
    from clew.index.generation.edited import BaseGeneration
    from clew.index.snapshot import Snapshot
    from clew.index.store.segmented import Store, View

_ASSEMBLY = "assembly"  # what its arrays are cached under
_EDITS = "edits"
_NUMBERING, _OF = "numbering", "of"  # which stored rows, and which generation's edits
GENERATION_ARRAYS = frozenset({_ASSEMBLY, _EDITS})  # what is cached for no method
_SIZES = "lookup.sizes"  # how many documents and extractions were stored
_LOOKUP = "lookup.entity.first"  # which one has that edits can be found of
EDITED_FROM = 2_000  # documents; of fewer a generation is always put together
_MAX_EDITED = 500  # documents that came or went
_SMALL_INDEX = 2_000  # chunks, the removed ones among them
_EDITED_SHARE = 50  # or this part of all that there are


def open_snapshot(store: Store) -> Snapshot:
    """Return a snapshot of a store's newest generation; later commits do not change it."""
    view = store.view()
    try:
        base = _open_base(store, view)
        assembly = _open_assembly(store, view) if base is None else base.assembly
        recall = ArrayLoader(store.cache, view, assembly.stored)
        whole = build_snapshot(Parts(assembly, view), recall=recall)
        return replace(
            whole,
            among=partial(_restrict, store, view, assembly),
            cutter=Cutter(view, assembly),
            base=base,
        )
    except BaseException:
        view.close()
        raise


def open_former(store: Store, generation: int) -> Snapshot:
    """Rebuild an earlier generation: its documents, chunked and tagged as they were then.

    Aliases are those of now, and extractions those that are kept. Raises InputError for one that
    is not there, or whose replaced texts are erased.
    """
    view = store.view()
    try:
        _check_remembered(view, generation)
        rows = np.asarray([row for _, row in view.documents_at(generation)], dtype=np.int64)
        return replace(_build_selection(store, view, rows), generation=generation)
    except BaseException:
        view.close()
        raise


def _check_remembered(view: View, generation: int) -> None:
    if generation > view.generation:
        raise InputError(f"there is no generation {generation}: the newest is {view.generation}")
    if generation < view.remembered:
        raise InputError(
            f"generation {generation} was erased or not recorded: the earliest that can be"
            f" compared is {view.remembered}; for what was before restore a backup, and name its"
            f" folder in place of the generation"
        )


def _open_assembly(store: Store, view: View) -> Assembly:
    """Return the assembly of a generation, computed unless it is cached."""
    cached = store.cache.load(_ASSEMBLY, view.generation)
    if cached is None:
        arrays = _cached_assembly(store, view)
        cached = store.cache.load(_ASSEMBLY, view.generation)
        if cached is None:  # nothing can be cached
            return from_arrays(arrays)
    return from_arrays(VerifiedArrays(cached, partial(_cached_assembly, store, view)))


def _cached_assembly(store: Store, view: View) -> dict[str, NDArray[Any]]:
    arrays = to_arrays(_assemble_documents(view, _live_documents(view), editable=True))
    arrays[_NUMBERING] = np.array([view.numbering])
    store.cache.save(_ASSEMBLY, view.generation, arrays)
    return arrays


def _open_base(store: Store, view: View) -> BaseGeneration | None:
    """Return the generation to apply edits to, or None to assemble from scratch."""
    cached = [g for g in store.cache.generations(_ASSEMBLY) if g <= view.generation]
    if not cached or cached[-1] == view.generation:
        return None
    arrays = store.cache.load(_ASSEMBLY, cached[-1])
    if arrays is None or _LOOKUP not in arrays:
        return None
    from clew.index.generation.edited import BaseGeneration, GenerationEdits, TooManyEdits

    try:
        if int(arrays[_NUMBERING][0]) != view.numbering:
            return None
        documents, sizes = (np.array(arrays[name]) for name in ("stored.document", _SIZES))
        again = partial(_assemble_base_arrays, view, documents, sizes)
        base = from_arrays(VerifiedArrays(arrays, again))
        edits = _cached_edits(store, view, base, cached[-1])
    except (DamagedIndex, TooManyEdits):
        return None
    if edits is None:
        return None
    later = Lazily(reading(edits, edits))
    assembly = GenerationEdits(base, later).assemble()
    return BaseGeneration(store.cache, view, assembly, cached[-1])


def _assemble_base_arrays(
    view: View, documents: NDArray[np.int64], sizes: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Assemble the base generation as arrays; `sizes` are the row counts stored at that time."""
    former = _assemble_documents(view, documents, editable=True, n_extractions=int(sizes[1]))
    return {**to_arrays(former), _SIZES: sizes}


def _cached_edits(
    store: Store, view: View, base: Assembly, of: int
) -> Mapping[str, NDArray[Any]] | None:
    """Return the edits from the base to a view, or None if there are too many."""
    edits = store.cache.load(_EDITS, view.generation)
    if edits is not None and int(edits[_OF][0]) == of:
        return VerifiedArrays(edits, partial(_find_and_cache_edits, store, view, base, of))
    if view.count("document") - int(base.lookups["sizes"][0]) > _count_max_edited(base):
        return None
    return _find_and_cache_edits(store, view, base, of)


def _find_and_cache_edits(
    store: Store, view: View, base: Assembly, of: int
) -> dict[str, NDArray[Any]]:
    """Find edits and cache them. Raises TooManyEdits."""
    from clew.index.generation.edited import TooManyEdits
    from clew.index.generation.edits import find_edits

    touched = view.touched(of, int(base.lookups["sizes"][0]))
    if touched is None or len(touched) > _count_max_edited(base):
        raise TooManyEdits
    edits = find_edits(base, StoredColumns(view.segments), touched)
    edits[_OF] = np.array([of])
    store.cache.save(_EDITS, view.generation, edits)
    return edits


def _count_max_edited(base: Assembly) -> int:
    """Return how many documents may change before a full assembly is cheaper."""
    return max(_MAX_EDITED, base.size("document") // _EDITED_SHARE)


def _restrict(
    store: Store, view: View, whole: Assembly, documents: NDArray[np.int64], during: int = 0
) -> Snapshot:
    """Return a snapshot of the given documents only, as if the index had no others.

    It is assembled anew, so nothing in it counts, names or leads to what is left out. Triples that
    do not hold `during` a day, month or year (a number of `read_day`) are left out, too.
    """
    return _build_selection(store, view, whole.stored["document"][documents], during)


def _build_selection(
    store: Store, view: View, rows: NDArray[np.int64], during: int = 0
) -> Snapshot:
    """Return a snapshot of stored documents, in the order of their ids."""
    assembly = _assemble_documents(view, rows, during=during)
    recall = ArrayLoader(store.cache, view, assembly.stored, whole=False)
    some = build_snapshot(Parts(assembly, view, _restrict_aliases(view, rows)), recall=recall)
    among = partial(_restrict, store, view, assembly, during=during)
    return replace(some, among=among, cutter=Cutter(view, assembly))


def _restrict_aliases(view: View, documents: NDArray[np.int64]) -> Mapping[str, str]:
    """Return the aliases whose two names both occur in the given documents."""
    aliases = resolve_aliases(view.aliases())
    if not aliases:
        return aliases
    from clew.index.generation.assemble import entities_of

    rows = view.rows("entity", sorted({*aliases, *aliases.values()}))
    present = entities_of(StoredColumns(view.segments), documents)
    keys = {key for key, row in rows.items() if row in present}
    return {a: b for a, b in aliases.items() if a in keys and b in keys}


def _assemble_documents(
    view: View,
    documents: NDArray[np.int64],
    *,
    editable: bool = False,
    **more: Any,  # noqa: ANN401 -- of `assemble`
) -> Assembly:
    """Return the rows and links of documents, given as stored rows in id order.

    Where it is `editable` and has many documents, with what edits are found by.
    """
    aliases = resolve_aliases(view.aliases())
    rows = view.rows("entity", sorted({*aliases, *aliases.values()}))
    pairs = {rows[a]: rows[b] for a, b in aliases.items() if a in rows and b in rows}
    from clew.index.generation.assemble import assemble

    return assemble(
        view.segments,
        documents,
        pairs,
        halved=view.recipe["subchunk_depth"] != 0,
        editable=editable and len(documents) >= EDITED_FROM,
        **more,
    )


def compact(store: Store) -> None:
    """Rewrite all live rows as one segment with new row numbers, and delete the rest.

    What is cached of earlier generations stays until the store is told to drop it.
    """
    from clew.index.generation import compaction

    store.lock()
    with closing(store.view()) as view:
        live = compaction.compact_segments(view.segments, _live_documents(view))
    store.rewrite(live)  # with no reader of ours, who would keep dead text on disk


def is_worth_compacting(store: Store, share: float) -> bool:
    """Check whether too much of an index is dead or outside its largest segment.

    A small index keeps what was removed and replaced: it costs little, and can be compared.
    """
    if wasted_share(store) <= share:
        return False
    with closing(store.view()) as view:
        n_chunks = StoredColumns(view.segments).size("chunk")
        is_whole = len(view.live_documents()) == view.count("document")
    return is_whole or n_chunks > _SMALL_INDEX


def wasted_share(store: Store) -> float:
    """Return the share of stored chunks that are dead or outside the largest segment."""
    with closing(store.view()) as view:
        sizes = StoredColumns(view.segments).sizes("chunk.document")
        total = sum(sizes)
        if not total:
            return 0.0
        n_extractions = StoredColumns(view.segments).size("extraction")
        base = _open_base(store, view)
        if base is not None:
            n_live, columns = base.rows("chunk").size, base.assembly.columns
            used = sum(int(np.count_nonzero(columns[f"chunk.{kind}"])) for kind in KINDS)
        else:
            layers = ("chunk", "extraction") if n_extractions else ("chunk",)
            live = Live({"document": _live_documents(view)})
            rows = follow_rows(StoredColumns(view.segments), live, layers).rows
            n_live, used = len(rows["chunk"]), len(rows.get("extraction", ()))
    dead = 1 - used / n_extractions if n_extractions else 0.0
    return max(1 - max(sizes) / total, 1 - n_live / total, dead)


def _live_documents(view: View) -> NDArray[np.int64]:
    """Return the stored rows of the live documents, in the order of their ids."""
    return np.asarray([row for _, row in view.live_documents()], dtype=np.int64)
