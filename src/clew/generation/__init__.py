"""One generation of an index: its rows, links and cached arrays, from whatever store keeps it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import DamagedIndex
from clew.generation import assemble
from clew.generation.cached import Recall, Sound
from clew.generation.cut import Cutter
from clew.generation.layers import Parts, build, resolved
from clew.generation.rows import live_rows
from clew.store import schema
from clew.store.columns import StoredColumns
from clew.types import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.generation.assemble import Assembly
    from clew.generation.former import Former
    from clew.store import Store, View
    from clew.store.schema import Segment
    from clew.types import Snapshot

_ASSEMBLY = "assembly"  # what its arrays are cached under
_EDITS = "edits"
_NUMBERING, _OF = "numbering", "of"  # which stored rows, and which generation's edits
GENERATION_ARRAYS = frozenset({_ASSEMBLY, _EDITS})  # what is cached for no method
_SIZES = "lookup.sizes"  # how many documents and extractions were stored
_LOOKUP = "lookup.entity.first"  # which one has that edits can be found of
EDITED_FROM = 2_000  # documents; of fewer a generation is always put together
_MOST_EDITED = 500  # documents that came or went
_EDITED_SHARE = 50  # or this part of all that there are


def open_snapshot(store: Store) -> Snapshot:
    """Return the newest generation of a store, unchanged by later commits until it is closed."""
    view = store.view()
    try:
        former = _former(store, view)
        assembly = _whole(store, view) if former is None else former.edited.assembly
        recall = Recall(store.cache, view, assembly.stored)
        whole = build(Parts(assembly, view), recall=recall)
        return replace(
            whole,
            among=partial(_among, store, view, assembly),
            cutter=Cutter(view, assembly),
            former=former,
        )
    except BaseException:
        view.close()
        raise


def _whole(store: Store, view: View) -> Assembly:
    """Return a generation that is put together, or was."""
    found = store.cache.load(_ASSEMBLY, view.generation)
    if found is None:
        arrays = _cached_assembly(store, view)
        found = store.cache.load(_ASSEMBLY, view.generation)
        if found is None:  # nothing can be cached
            return assemble.from_arrays(arrays)
    return assemble.from_arrays(Sound(found, partial(_cached_assembly, store, view)))


def _cached_assembly(store: Store, view: View) -> dict[str, NDArray[Any]]:
    arrays = assemble.to_arrays(_assembled(view, _live(view), editable=True))
    arrays[_NUMBERING] = np.array([view.numbering])
    store.cache.save(_ASSEMBLY, view.generation, arrays)
    return arrays


def _former(store: Store, view: View) -> Former | None:
    """Return what a generation is the edits of, None where it is to be put together."""
    cached = [g for g in store.cache.generations(_ASSEMBLY) if g <= view.generation]
    if not cached or cached[-1] == view.generation:
        return None
    found = store.cache.load(_ASSEMBLY, cached[-1])
    if found is None or _LOOKUP not in found:
        return None
    from clew.generation.edited import Edited
    from clew.generation.edits import TooManyEdits
    from clew.generation.former import Former

    try:
        if int(found[_NUMBERING][0]) != view.numbering:
            return None
        documents, sizes = (np.array(found[name]) for name in ("stored.document", _SIZES))
        again = partial(_assembled_arrays, view, documents, sizes)
        base = assemble.from_arrays(Sound(found, again))
        edits = _cached_edits(store, view, base, cached[-1])
    except (DamagedIndex, TooManyEdits):
        return None
    return None if edits is None else Former(store.cache, view, Edited(base, edits), cached[-1])


def _assembled_arrays(
    view: View, documents: NDArray[np.int64], sizes: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a former generation; `sizes` are how many rows were stored then."""
    n_extractions = int(sizes[1])
    former = _assembled(view, documents, editable=True, n_extractions=n_extractions)
    arrays = assemble.to_arrays(former)
    return {**arrays, _SIZES: sizes}


def _cached_edits(
    store: Store, view: View, base: Assembly, of: int
) -> Mapping[str, NDArray[Any]] | None:
    """Return the edits that make a former generation that of a view, None for too many."""
    found = store.cache.load(_EDITS, view.generation)
    if found is not None and int(found[_OF][0]) == of:
        return Sound(found, partial(_found_edits, store, view, base, of))
    n_documents = int(base.lookups["sizes"][0])
    if view.count("document") - n_documents > _most_edited(base):
        return None
    return _found_edits(store, view, base, of)


def _found_edits(store: Store, view: View, base: Assembly, of: int) -> dict[str, NDArray[Any]]:
    """Find edits and cache them. Raises TooManyEdits where there are too many."""
    from clew.generation.edits import TooManyEdits, find_edits

    touched = view.touched(of, int(base.lookups["sizes"][0]))
    if touched is None or len(touched) > _most_edited(base):
        raise TooManyEdits
    edits = find_edits(base, base.lookups, StoredColumns(view.segments), touched)
    edits[_OF] = np.array([of])
    store.cache.save(_EDITS, view.generation, edits)
    return edits


def _most_edited(base: Assembly) -> int:
    """Return how many documents are edited at most, before everything is put together anew."""
    return max(_MOST_EDITED, base.size("document") // _EDITED_SHARE)


def _among(store: Store, view: View, whole: Assembly, documents: NDArray[np.int64]) -> Snapshot:
    """Return the snapshot of some documents, as if the index had never held others.

    It is assembled anew, so nothing in it counts, names or leads to what is left out.
    """
    rows = whole.stored["document"][documents]
    assembly = _assembled(view, rows)
    recall = Recall(store.cache, view, assembly.stored, whole=False)
    some = build(Parts(assembly, view, _aliases_among(view, rows)), recall=recall)
    return replace(some, cutter=Cutter(view, assembly))


def _aliases_among(view: View, documents: NDArray[np.int64]) -> Mapping[str, str]:
    """Return the aliases both of whose names stand in some documents: no others are known there."""
    aliases = resolved(view.aliases())
    if not aliases:
        return aliases
    rows = view.rows("entity", sorted({*aliases, *aliases.values()}))
    present = assemble.entities_of(view.segments, documents)
    known = {key for key, row in rows.items() if row in present}
    return {a: b for a, b in aliases.items() if a in known and b in known}


def _assembled(
    view: View,
    documents: NDArray[np.int64],
    *,
    editable: bool = False,
    n_extractions: int | None = None,
) -> Assembly:
    """Return the rows and links of documents, stored rows in the order of their ids.

    Where it is `editable` and has many documents, with what edits are found by. Of extractions
    the first `n_extractions` count, or all.
    """
    aliases = resolved(view.aliases())
    rows = view.rows("entity", sorted({*aliases, *aliases.values()}))
    pairs = {rows[a]: rows[b] for a, b in aliases.items() if a in rows and b in rows}
    halved = view.recipe["subchunk_depth"] != 0
    return assemble.assemble(
        view.segments,
        documents,
        pairs,
        halved=halved,
        editable=editable and len(documents) >= EDITED_FROM,
        n_extractions=n_extractions,
    )


def compact(store: Store) -> None:
    """Rewrite everything that is live as one segment, its rows numbered anew, and erase the rest.

    What is cached of earlier generations stays until the store is told to drop it.
    """
    from clew.generation import compaction

    store.lock()
    with closing(store.view()) as view:
        live = compaction.compacted(view.segments, _live(view), view.recipe)
    store.rewrite(live)  # with no reader of ours, who would keep dead text on disk


def wasted(store: Store) -> float:
    """Return the share of stored chunks that are dead or outside the largest segment."""
    with closing(store.view()) as view:
        sizes = StoredColumns(view.segments).sizes("chunk.document")
        total, dead = sum(sizes), 0.0
        if not total:
            return 0.0
        former = _former(store, view)
        if former is not None:
            n_live = former.rows("chunk").size
            columns = former.edited.assembly.columns
            used = sum(int(np.count_nonzero(columns[f"chunk.{kind}"])) for kind in KINDS)
            n_extractions = StoredColumns(view.segments).size("extraction")
            dead = 1 - used / n_extractions if n_extractions else 0.0
        else:
            documents = _live(view)
            live = np.zeros(view.count("document"), dtype=bool)
            live[documents] = True
            n_live = int(live[schema.concatenated(view.segments, "chunk.document")].sum())
            dead = _dead_extractions(view.segments, documents)
    return max(1 - max(sizes) / total, 1 - n_live / total, dead)


def _dead_extractions(segments: Sequence[Segment], documents: NDArray[np.int64]) -> float:
    """Return the share of extractions that a newer one replaced, or whose chunk is gone."""
    names = ("document.title_entity", *schema.numbers("chunk")[:1], *schema.numbers("extraction"))
    table = {name: schema.concatenated(segments, name) for name in names}
    total = len(table["extraction.chunk"])
    live = live_rows(table, documents, ("chunk", "extraction")) if total else None
    return 1 - len(live.rows["extraction"]) / total if live else 0.0


def _live(view: View) -> NDArray[np.int64]:
    """Return the stored rows of the live documents, in the order of their ids."""
    return np.asarray([row for _, row in view.live_documents()], dtype=np.int64)
