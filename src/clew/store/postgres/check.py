"""Look at every byte of an index in PostgreSQL and object storage."""

from __future__ import annotations

import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clew.store.check import Damage, find_cache_damages, find_generation_damages
from clew.store.postgres.catalogue import object_of
from clew.store.segments import MissingSegment

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.store.postgres.store import PostgresStore
    from clew.types import Document

_DATABASE = "database"  # what a damage calls it


def find_postgres_damages(store: PostgresStore, hash_of: Callable[[Document], str]) -> list[Damage]:
    """Return the damage in the database and the object storage, not in copies here.

    Every object that the database names is downloaded. What can be computed again is deleted if it
    is damaged.
    """
    objects = store.cache.objects
    with (
        tempfile.TemporaryDirectory(dir=objects.folder) as place,
        closing(store.open_frozen()) as frozen,
    ):
        folder = Path(place)
        for segment in frozen.segments():
            name = object_of(segment.name)
            with suppress(MissingSegment):  # found to be missing below
                objects.fetch(name, folder / name)
        damages = find_generation_damages(folder, frozen, _DATABASE, hash_of)
        return [*_find_cache_damages(store, folder), *damages]


def _find_cache_damages(store: PostgresStore, folder: Path) -> list[Damage]:
    for name, generation in store.cache.list_objects():
        file = store.cache.object_of(name, generation)
        with suppress(MissingSegment):  # it is being written, or was not to the end
            store.cache.objects.fetch(file, folder / file)
    damages = list(find_cache_damages(folder))
    damaged = {each.file for each in damages}
    for name, generation in store.cache.list_objects():
        if store.cache.object_of(name, generation) in damaged:
            store.cache.forget(name, generation)
    return damages
