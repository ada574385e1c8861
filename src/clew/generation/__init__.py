"""One generation of an index: its rows, links and cached arrays, from whatever store keeps it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.generation import assemble, compaction
from clew.generation.cached import Recall, Sound
from clew.generation.layers import Parts, build, resolved
from clew.generation.rows import live_rows
from clew.store import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.generation.assemble import Assembly
    from clew.store import Store, View
    from clew.store.schema import Segment
    from clew.types import Snapshot

_ASSEMBLY = "assembly"  # what its arrays are cached under


def open_snapshot(store: Store) -> Snapshot:
    """Return the newest generation of a store, unchanged by later commits until it is closed."""
    view = store.view()
    try:
        found = store.cache.load(_ASSEMBLY, view.generation)
        if found is None:
            assembly = assemble.from_arrays(_cached_assembly(store, view))
        else:
            sound = Sound(found, partial(_cached_assembly, store, view))
            assembly = assemble.from_arrays(sound)
        recall = Recall(store.cache, view, assembly.stored)
        whole = build(Parts(assembly, view), recall=recall)
        return replace(whole, among=partial(_among, store, view))
    except BaseException:
        view.close()
        raise


def _cached_assembly(store: Store, view: View) -> dict[str, NDArray[Any]]:
    arrays = assemble.to_arrays(_assembled(view, _live(view)))
    store.cache.save(_ASSEMBLY, view.generation, arrays)
    return arrays


def _among(store: Store, view: View, documents: NDArray[np.int64]) -> Snapshot:
    """Return the snapshot of some documents, as if the index had never held others.

    It is assembled anew, so nothing in it counts, names or leads to what is left out.
    """
    assembly = _assembled(view, _live(view)[documents])
    recall = Recall(store.cache, view, assembly.stored, whole=False)
    return build(Parts(assembly, view), recall=recall)


def _assembled(view: View, documents: NDArray[np.int64]) -> Assembly:
    """Return the rows and links of documents, stored rows in the order of their ids."""
    aliases = resolved(view.aliases())
    rows = view.rows("entity", sorted({*aliases, *aliases.values()}))
    pairs = {rows[a]: rows[b] for a, b in aliases.items() if a in rows and b in rows}
    halved = view.recipe["subchunk_depth"] != 0
    return assemble.assemble(view.segments, documents, pairs, halved=halved)


def compact(store: Store) -> None:
    """Rewrite everything that is live as one segment, its rows numbered anew, and erase the rest.

    What is cached of earlier generations stays until the store is told to drop it.
    """
    store.lock()
    with closing(store.view()) as view:
        live = compaction.compacted(view.segments, _live(view), view.recipe)
    store.rewrite(live)  # with no reader of ours, who would keep dead text on disk


def wasted(store: Store) -> float:
    """Return the share of stored chunks that are dead or outside the largest segment."""
    with closing(store.view()) as view:
        owners = [s["chunk.document"] for s in view.segments if "chunk.document" in s]
        total = sum(map(len, owners))
        if not total:
            return 0.0
        documents = _live(view)
        live = np.zeros(view.count("document"), dtype=bool)
        live[documents] = True
        dead = _dead_extractions(view.segments, documents)
        n_live = sum(int(live[owner].sum()) for owner in owners)
    return max(1 - max(map(len, owners)) / total, 1 - n_live / total, dead)


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
