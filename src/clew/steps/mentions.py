"""Links between chunks and the entities that they mention or have as title."""

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import match_sorted, sort_distinct
from clew.algo.edited_links import EditedLink, FreshRows, TransposedEdits
from clew.algo.links import (
    Entries,
    Link,
    Matrix,
    count_ends,
    link_from_arrays,
    link_to_arrays,
    replace_data,
)
from clew.base.derived import Arrays, CachedArrays, Derived
from clew.index.snapshot import Snapshot
from clew.steps.scores import chunk_titles

_MOST_UNITS = 10_000  # of an entity, of which all are compared with what is left of the question
MENTIONED, TITLED = 1, 2  # how a chunk has an entity; in text and title: their sum


def chunk_entities(snapshot: Snapshot) -> Link:
    """Return the (n_chunks, n_entities) link of chunks to mentioned and title entities."""
    return snapshot.get(_CHUNKS)


def entity_chunks(snapshot: Snapshot) -> Link:
    """Return the (n_entities, n_chunks) link, the transpose of `chunk_entities`."""
    return snapshot.get(_ENTITIES)


def titled_chunks(snapshot: Snapshot, entity: int) -> NDArray[np.integer]:
    """Return the chunks of documents titled by an entity, ascending."""
    chunks, how = entity_chunks(snapshot).entries(entity)
    return chunks[how & TITLED > 0]


def entity_units(
    snapshot: Snapshot,
    entities: NDArray[np.integer],
    *,
    titles: bool,
    near: NDArray[np.integer] | None,
) -> list[NDArray[np.integer]]:
    """Return the units that mention each of some entities, ascending.

    With `titles` also those of the documents that they title. Of an entity in more than 10,000
    units only those in `near`, if given, are returned: the units of the chunks nearest to the
    question, ascending.
    """
    mentioned = snapshot.linked("entity", "unit").entries_of(entities)
    owners, units = mentioned.owners, mentioned.indices
    if near is not None and np.any(mentioned.counts > _MOST_UNITS):
        few = (mentioned.counts <= _MOST_UNITS)[owners]
        few[match_sorted(near, units)[0]] = True
        owners, units = owners[few], units[few]
    if titles:
        by_title = _find_titled(snapshot, entities)
        n = len(snapshot.layer("unit"))
        keys = sort_distinct(np.append(owners * n + units, by_title[0] * n + by_title[1]))
        owners, units = np.divmod(keys, n) if n else (keys, keys)
    return np.split(units, np.searchsorted(owners, np.arange(1, len(entities))))[: len(entities)]


def _find_titled(
    snapshot: Snapshot, entities: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.integer]]:
    """Return the units of documents titled by the entities, with each entity's position."""
    entries = entity_chunks(snapshot).entries_of(entities)
    is_title = entries.data & TITLED > 0
    owners, chunks = entries.owners[is_title], entries.indices[is_title]
    within = snapshot.linked("chunk", "unit").entries_of(chunks)
    owners_within, n = owners[within.owners], max(entries.shape[1], 1)
    first = snapshot.layer("unit").columns["chunk"][within.indices]  # where each stands first
    own, _ = match_sorted(owners * n + chunks, owners_within * n + first)
    return owners_within[own], within.indices[own]


def _link_chunks(snapshot: Snapshot) -> Arrays:
    """Merge mentions and titles into one link, whose data tell them apart."""
    mentioned = snapshot.link("chunk", "unit") @ snapshot.link("unit", "entity")
    titled = chunk_titles(snapshot).to_matrix()
    both = _mark_link(mentioned, MENTIONED) + _mark_link(titled, TITLED)
    both.sort_indices()
    return link_to_arrays(both)


def _mark_link(link: Matrix, mark: int) -> Matrix:
    return replace_data(link, np.full(link.nnz, mark, dtype=np.uint8))


def _link_entities(snapshot: Snapshot) -> Arrays:
    return link_to_arrays(chunk_entities(snapshot).whole.transpose().tocsr())


_BY_CHUNK = CachedArrays(
    "mentions-by-chunk", _link_chunks, update=lambda now, _earlier: _link_chunks(now), edited=True
)
_BY_ENTITY = CachedArrays(
    "mentions-by-entity",
    _link_entities,
    update=lambda now, _earlier: _link_entities(now),
    edited=True,
)
MENTIONS = (_BY_CHUNK, _BY_ENTITY)


def _open_chunks(snapshot: Snapshot) -> Link:
    arrays = snapshot.base_arrays(_BY_CHUNK)
    if arrays is None or snapshot.base is None:
        return link_from_arrays(snapshot.get(_BY_CHUNK))
    edits, rows = snapshot.base.rows("chunk"), snapshot.base.touched_chunks
    fresh = FreshRows(rows, _read_entries(snapshot, rows))
    return EditedLink(link_from_arrays(arrays), edits, snapshot.base.rows("entity"), fresh)


def _read_entries(snapshot: Snapshot, chunks: NDArray[np.int64]) -> Entries:
    """Return the entries of `_link_chunks` for some chunks."""
    n = max(len(snapshot.layer("entity")), 1)
    inside = snapshot.linked("chunk", "unit").entries_of(chunks)
    mentioned = snapshot.linked("unit", "entity").entries_of(inside.indices)
    titled = chunk_titles(snapshot, chunks)
    keys = [
        inside.owners[mentioned.owners] * n + mentioned.indices,
        titled.owners * n + titled.indices,
    ]
    both = sort_distinct(np.concatenate(keys))
    data = np.zeros(len(both), dtype=np.uint8)
    for own, mark in zip(keys, (MENTIONED, TITLED), strict=True):
        data[match_sorted(both, own)[1]] |= np.uint8(mark)
    owners, columns = np.divmod(both, n)
    counts = np.bincount(owners, minlength=len(chunks))
    return Entries((len(chunks), n), count_ends(counts), columns.astype(np.int32), data)


def _open_entities(snapshot: Snapshot) -> Link:
    arrays, edited = snapshot.base_arrays(_BY_ENTITY), chunk_entities(snapshot)
    if arrays is None or not isinstance(edited, EditedLink):
        return link_from_arrays(snapshot.get(_BY_ENTITY))
    return TransposedEdits(link_from_arrays(arrays), edited)


_CHUNKS = Derived("entities of chunks", _open_chunks)
_ENTITIES = Derived("chunks of entities", _open_entities)
