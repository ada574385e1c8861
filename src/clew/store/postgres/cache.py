"""Computed arrays of an index in object storage, which one process computes and others take."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from clew.errors import DamagedIndex, StoreError
from clew.store.cache import FOLDER, FileCache
from clew.store.segments import SUFFIX

if TYPE_CHECKING:
    from pathlib import Path

    from clew.store.postgres.catalogue import PostgresCatalogue
    from clew.store.postgres.objects import Objects
    from clew.store.segments import Arrays


_PAUSE_S = 60.0  # in which no question waits for a storage that does not answer


class SharedCache(FileCache):
    """Copies on this disk, and behind them the objects that the database lists."""

    def __init__(self, objects: Objects, catalogue: PostgresCatalogue) -> None:
        super().__init__(objects.folder)
        self.objects = objects
        self._catalogue = catalogue
        self._waits_until = 0.0  # with uploads, where one failed

    def names(self) -> list[str]:
        return sorted({*super().names(), *(name for name, _ in self.list_objects())})

    def generations(self, name: str) -> list[int]:
        listed = {generation for each, generation in self.list_objects() if each == name}
        return sorted({*super().generations(name), *listed})

    def oldest(self, newest: int) -> int:
        listed = (generation for _, generation in self.list_objects())
        return min((super().oldest(newest), *listed))

    def load(self, name: str, generation: int) -> Arrays | None:
        self._take(name, generation)
        return super().load(name, generation)

    def newest(self, name: str) -> Arrays | None:
        for generation in self.generations(name)[-1:]:
            self._take(name, generation)
        return super().newest(name)

    def save(self, name: str, generation: int, arrays: Arrays) -> None:
        super().save(name, generation, arrays)
        path = self._path(name, generation)
        if not path.exists() or time.monotonic() < self._waits_until:
            return
        try:
            # Listed before it is there, and again in case that it was dropped meanwhile: whatever
            # is in the storage is listed.
            self._catalogue.add_cached(name, generation)
            self.objects.put(self.object_of(name, generation), path)
            self._catalogue.add_cached(name, generation)
            self._forget(name, before=generation)
        except StoreError:  # others compute it, then
            self._waits_until = time.monotonic() + _PAUSE_S

    def drop(self, before: int) -> None:
        super().drop(before)
        self._forget(None, before)

    def _forget(self, name: str | None, before: int) -> None:
        for each, generation in self.list_objects():
            if generation < before and name in (None, each):
                self.forget(each, generation)

    def forget(self, name: str, generation: int) -> None:
        """Delete the cached arrays of a generation from object storage and the catalogue."""
        self.objects.delete([self.object_of(name, generation)])
        self._catalogue.drop_cached(name, generation)

    def _take(self, name: str, generation: int) -> None:
        """Download a listed object unless there is a copy here."""
        if not self._path(name, generation).exists() and (name, generation) in self.list_objects():
            with suppress(StoreError):  # it is computed, then
                self.objects.get(self.object_of(name, generation), waits=())

    def _read(self, path: Path) -> Arrays:
        if not path.exists():
            return super()._read(path)
        try:
            return self.objects.open_arrays(f"{FOLDER}/{path.name}")
        except StoreError as error:
            raise DamagedIndex(str(error)) from error

    def list_objects(self) -> list[tuple[str, int]]:
        """Return the name and generation of each object, uploads under way included."""
        return self._catalogue.list_cached()

    @staticmethod
    def object_of(name: str, generation: int) -> str:
        return f"{FOLDER}/{name}-{generation:06d}{SUFFIX}"
