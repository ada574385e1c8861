"""Make anew what is damaged in an index in a folder, from the texts that it holds."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from clew import index
from clew.generation import compaction
from clew.index.building import build
from clew.store.embedded import EmbeddedStore, replace_files
from clew.types import IMPORTED_MARK

if TYPE_CHECKING:
    from pathlib import Path

    from clew.models import Models
    from clew.models.metered import Meter
    from clew.store.schema import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What a repair did; every other document is as it was."""

    documents: list[str] = field(default_factory=list)  # ids of those indexed again, from the index
    lost: list[str] = field(default_factory=list)  # of those that are gone: add or import them


def repair(store: EmbeddedStore, models: Models, meter: Meter) -> Repaired:
    """Index the documents again whose rows are damaged, and write all that is sound anew.

    Subjects of an imported graph have no text to be indexed again: damaged ones are removed. A
    process that is killed loses nothing, and the next one goes on.
    """
    index.check_recipe(store.recipe, index.model_recipe(models))
    store.lock()
    found = store.stand_ins()
    if not found.is_damaged:
        return Repaired()
    hashes = store.hashes()
    with closing(store.view_of(found.segments)) as view:
        ids = {row: name for name, row in view.live_documents()}
        rows = [row for row in found.documents.tolist() if row in ids]
        documents = view.documents(rows)
    imported = [each.id for each in documents if hashes[each.id].startswith(IMPORTED_MARK)]
    texts = [(each, hashes[each.id]) for each in documents if each.id not in set(imported)]
    for batch in index.batches(texts):
        built = build([document for document, _ in batch], store, models, meter)
        store.commit(built, [content for _, content in batch])
    store.remove(imported)
    _rewrite(store, models)
    return Repaired(documents=[document.id for document, _ in texts], lost=imported)


def _rewrite(store: EmbeddedStore, models: Models) -> None:
    """Write all that is live as one segment, with the names that were lost embedded again."""
    found = store.stand_ins()
    segments: list[Segment] = list(found.segments)
    with closing(store.view_of(segments)) as view:
        if len(found.unnamed):
            keys = view.keys("entity", found.unnamed.tolist())
            vectors = models.embedder.embed(keys, kind="document")
            segments.append({"name.entity": found.unnamed, "name.vectors": vectors})
        live = np.asarray([row for _, row in view.live_documents()], dtype=np.int64)
        compacted = compaction.compacted(segments, live, store.recipe)
    store.rewrite(compacted)


def rebuild(folder: Path, store: EmbeddedStore, models: Models, meter: Meter) -> Repaired:
    """Index all documents again whose texts can be read, where the database is damaged.

    The damaged files go into the folder `damaged` of the index; `store` is closed.
    """
    index.check_recipe(store.recipe, index.model_recipe(models))
    store.lock()
    found = store.salvaged()
    imported = [each.id for each, content in found.documents if content.startswith(IMPORTED_MARK)]
    texts = [each for each in found.documents if not each[1].startswith(IMPORTED_MARK)]
    place = folder / "repaired"
    shutil.rmtree(place, ignore_errors=True)
    with EmbeddedStore.create(place, store.recipe) as new:
        for name, values in found.notes.items():
            new.set_note(name, values)
        for batch in index.batches(texts):
            built = build([document for document, _ in batch], new, models, meter)
            new.commit(built, [content for _, content in batch])
        if found.aliases:
            new.set_aliases(found.aliases)
    store.close()
    replace_files(folder, place)
    return Repaired(documents=[each.id for each, _ in texts], lost=[*imported, *found.lost])
