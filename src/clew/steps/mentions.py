"""Which chunks have which entities, in their text or as their title, from both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from clew.algo.links import Link, as_arrays, as_link
from clew.derived import CachedArrays, Derived
from clew.steps.scores import chunk_titles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.derived import Arrays, Earlier
    from clew.types import Snapshot

MENTIONED, TITLED = 1, 2  # how a chunk has an entity; in text and title: their sum


def chunk_entities(snapshot: Snapshot) -> Link:
    """Return the (n_chunks, n_entities) link of chunks to what they mention or is their title."""
    return snapshot.get(_CHUNKS)


def entity_chunks(snapshot: Snapshot) -> Link:
    """Return the same link from the entities' side."""
    return snapshot.get(_ENTITIES)


def titled_chunks(snapshot: Snapshot, entity: int) -> NDArray[np.integer]:
    """Return the chunks of the documents whose title an entity is, ascending."""
    chunks, how = entity_chunks(snapshot).entries(entity)
    return chunks[how & TITLED > 0]


def _by_chunk(snapshot: Snapshot) -> Arrays:
    mentioned = csr_array(snapshot.link("chunk", "unit") @ snapshot.link("unit", "entity"))
    titled = chunk_titles(snapshot)
    both = csr_array(_marked(mentioned, MENTIONED) + _marked(titled, TITLED))
    both.sort_indices()
    return as_arrays(both)


def _marked(link: csr_array, mark: int) -> csr_array:
    marks = np.full(link.nnz, mark, dtype=np.uint8)
    return csr_array((marks, link.indices, link.indptr), shape=link.shape)


def _by_entity(snapshot: Snapshot) -> Arrays:
    return as_arrays(chunk_entities(snapshot).whole.transpose().tocsr())


def _again(snapshot: Snapshot, _earlier: Earlier) -> Arrays:
    return _by_chunk(snapshot)


def _turned_again(snapshot: Snapshot, _earlier: Earlier) -> Arrays:
    return _by_entity(snapshot)


_BY_CHUNK = CachedArrays("mentions-by-chunk", _by_chunk, update=_again)
_BY_ENTITY = CachedArrays("mentions-by-entity", _by_entity, update=_turned_again)
MENTIONS = (_BY_CHUNK, _BY_ENTITY)
_CHUNKS = Derived("entities of chunks", lambda snapshot: as_link(snapshot.get(_BY_CHUNK)))
_ENTITIES = Derived("chunks of entities", lambda snapshot: as_link(snapshot.get(_BY_ENTITY)))
