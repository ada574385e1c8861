"""The PostgreSQL store: rows in PostgreSQL, segments and cached arrays in object storage.

As in a folder, the database transaction is the commit point; the writer's lease is a lock of the
committing session. An object is uploaded before the transaction that references it, and listed as
unused until then, so the storage itself is never searched.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clew.errors import DamagedIndex, InputError, StoreError
from clew.extras.cluster.postgres.address import IndexAddress
from clew.extras.cluster.postgres.catalogue import PostgresCatalogue, object_of
from clew.extras.cluster.postgres.objects import Objects
from clew.index.store import segments
from clew.index.store.cache import FOLDER, FileCache
from clew.index.store.check import Damage, find_cache_damages, find_generation_damages
from clew.index.store.segmented import SegmentedStore
from clew.index.store.segments import SUFFIX, MissingSegment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from clew.base.types import Document, Scalar
    from clew.index.store.segments import Arrays, Blocks


_PAUSE_S = 60.0  # in which no question waits for a storage that does not answer
_APPEARS_S = 3600  # how long an upload may go on of a process that lost its lease


class PostgresStore(SegmentedStore[PostgresCatalogue]):
    """A session on an index in PostgreSQL."""

    cache: SharedCache

    def __init__(self, address: IndexAddress) -> None:
        """Open an index. Raises NotAnIndex if there is none, StoreError."""
        catalogue, for_readers = PostgresCatalogue.open(address), PostgresCatalogue(address)
        super().__init__(catalogue, for_readers)
        self._identity = identity = str(catalogue.meta("identity"))
        place = str(catalogue.meta("objects"))
        if address.objects not in ("", place):
            raise InputError(
                f"the arrays of {address.shown} are in {place}, not in {address.objects}: leave"
                f" 'objects' out"
            )
        self._objects = Objects(place, f"{address.index}-{identity}", address.folder / identity)
        self._wrote: int | None = None  # the newest generation that this writer knows of
        self.cache = SharedCache(self._objects, for_readers)

    @classmethod
    def create(cls, address: IndexAddress, recipe: Mapping[str, Scalar]) -> Self:
        """Create an index, or open an existing one. Raises InputError, StoreError."""
        PostgresCatalogue.create(address, recipe).close()
        return cls(address)

    @staticmethod
    def exists(address: IndexAddress) -> bool:
        """Check whether an index exists. Raises StoreError if the database does not answer."""
        with closing(PostgresCatalogue(address)) as catalogue:
            return catalogue.is_made()

    @property
    def generation(self) -> int:
        return int(self._check_identity(self._seen_by_readers)["generation"])

    @property
    def size_bytes(self) -> int:
        """The size of the index in the database and the object storage."""
        return self._catalogue.size_bytes() + sum(map(self._objects.size, self._list_objects()))

    def _list_objects(self) -> list[str]:
        names = [object_of(segment.name) for segment in self._catalogue.segments()]
        return names + [self.cache.object_of(*each) for each in self.cache.list_objects()]

    def open_read_only(self) -> PostgresCatalogue:
        catalogue = PostgresCatalogue(self._catalogue.address)
        try:
            catalogue.freeze()
            self._check_identity(catalogue)
        except BaseException:
            catalogue.close()
            raise
        return catalogue

    @property
    def _is_writer(self) -> bool:
        return self._catalogue.is_writer

    def lock(self) -> None:
        if not self._catalogue.is_writer:
            self._catalogue.take_lease()
            try:
                self._check_lease()
            except StoreError:
                self._catalogue.give_lease()
                raise
            self._sweep()
            self.sweep()

    def _check_lease(self) -> None:
        """Raise StoreError if this session's knowledge is outdated."""
        state = self._check_identity(self._catalogue)
        before, self._wrote = self._wrote, int(state["generation"])
        if before is not None and before != self._wrote:
            raise StoreError(
                f"another process wrote to {self._catalogue.place} while its connection was lost:"
                f" run the same command again"
            )

    def _check_identity(self, catalogue: PostgresCatalogue) -> dict[str, Any]:
        """Return the state of the index. Raises StoreError if another index has its name now."""
        state = catalogue.state()
        if state.get("identity") == self._identity:
            return state
        raise StoreError(
            f"{catalogue.place} was deleted and created again since it was opened: open it again"
        )

    def _name(self, number: int) -> str:
        return f"{self._catalogue.epoch:04d}-{number:06d}"

    def _put(self, name: str, arrays: Mapping[str, NDArray[Any] | Blocks]) -> None:
        file = object_of(name)
        # Until the transaction that names it, which this session may not live to see.
        self._seen_by_readers.note_unused([file], seconds=_APPEARS_S)
        path = self._objects.new(file)
        segments.write_segment(path, arrays, final=self._objects.folder / file)
        self._objects.put(file, path)
        self._catalogue.note_used(file)

    def _arrays(self, name: str) -> Arrays:
        try:
            return self._objects.open_arrays(object_of(name), waits=())
        except MissingSegment:
            # Gone with a generation that another one replaced? Else it is not to be seen yet.
            if all(name != segment.name for segment in self._seen_by_readers.segments()):
                raise
        return self._objects.open_arrays(object_of(name))

    def _sweep(self) -> None:
        unused = self._catalogue.list_unused()
        self._objects.delete(unused)
        self._catalogue.note_deleted(unused)

    def erase(self) -> None:
        """Delete the index with its files. Raises IndexLocked while another process writes."""
        self.lock()
        self._objects.delete([*self._list_objects(), *self._catalogue.list_unused()])
        self._catalogue.drop()

    def _after_commit(self) -> None:
        self._wrote = int(self._catalogue.meta("generation"))


class SharedCache(FileCache):
    """Cached arrays in object storage, computed by one process and used by others.

    Copies on this disk, and behind them the objects that the database lists.
    """

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
        """Download a listed object unless there is a local copy."""
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
        """Return the name and generation of each object, including unfinished uploads."""
        return self._catalogue.list_cached()

    @staticmethod
    def object_of(name: str, generation: int) -> str:
        return f"{FOLDER}/{name}-{generation:06d}{SUFFIX}"


def find_postgres_damages(store: PostgresStore, hash_of: Callable[[Document], str]) -> list[Damage]:
    """Return the damage in the database and the object storage, not in local copies.

    Every referenced object is downloaded. Damaged cached arrays are deleted.
    """
    objects = store.cache.objects
    with (
        tempfile.TemporaryDirectory(dir=objects.folder) as place,
        closing(store.open_read_only()) as frozen,
    ):
        folder = Path(place)
        for segment in frozen.segments():
            name = object_of(segment.name)
            with suppress(MissingSegment):  # found to be missing below
                objects.fetch(name, folder / name)
        damages = find_generation_damages(folder, frozen, "database", hash_of)
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
