"""An index beyond one disk: rows in PostgreSQL, segments and computed arrays in object storage.

The transaction of the database is the commit point, as it is of a folder, and the lease of the
writer is a lock of the session that commits. An object is uploaded before the transaction that
names it, and is listed as unused until then, so that nothing is ever looked for in the storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from clew.errors import InputError, StoreError
from clew.store import schema, segments
from clew.store.postgres.address import Address, parse
from clew.store.postgres.cache import SharedCache
from clew.store.postgres.catalogue import PostgresCatalogue, object_of
from clew.store.postgres.objects import Objects
from clew.store.segmented import SegmentedStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.store.segments import Blocks
    from clew.types import Scalar


class PostgresStore(SegmentedStore[PostgresCatalogue]):
    """A session on an index in PostgreSQL."""

    def __init__(self, address: Address) -> None:
        """Open an index. Raises NotAnIndex where there is none, StoreError."""
        catalogue, for_readers = PostgresCatalogue.open(address), PostgresCatalogue(address)
        super().__init__(
            catalogue, for_readers, {**schema.DEFAULT_BITS, **catalogue.meta("recipe")}
        )
        self._identity = identity = str(catalogue.meta("identity"))
        place = _place(address, str(catalogue.meta("objects")))
        self._objects = Objects(place, f"{address.index}-{identity}", address.folder / identity)
        self._wrote: int | None = None  # the newest generation that this writer knows of
        self.cache = SharedCache(self._objects, for_readers)

    @classmethod
    def create(cls, address: Address, recipe: Mapping[str, Scalar]) -> Self:
        """Make an index, or open the one that is there. Raises InputError, StoreError."""
        PostgresCatalogue.create(address, recipe).close()
        return cls(address)

    def _frozen(self) -> PostgresCatalogue:
        catalogue = PostgresCatalogue(self._catalogue.address)
        try:
            catalogue.freeze()
            self._check_identity(catalogue)
        except BaseException:
            catalogue.close()
            raise
        return catalogue

    def _check_identity(self, catalogue: PostgresCatalogue) -> None:
        """Raise StoreError where another index has the address now."""
        if catalogue.meta("identity") != self._identity:
            raise StoreError(
                f"{catalogue.place} was deleted and made anew: close it, and open it again"
            )

    @property
    def _is_writer(self) -> bool:
        return self._catalogue.is_writer

    def _write_lock(self) -> None:
        if not self._catalogue.is_writer:
            self._catalogue.take_lease()
            known, self._wrote = self._wrote, int(self._catalogue.meta("generation"))
            if known is not None and known != self._wrote:
                raise StoreError(
                    f"another process wrote to {self._catalogue.place} while its connection was"
                    f" lost: run the same command again"
                )
            self._sweep()
            self.sweep()

    def _name(self, number: int) -> str:
        return f"{self._catalogue.epoch:04d}-{number:06d}"

    def _put(self, name: str, arrays: Mapping[str, NDArray[Any] | Blocks]) -> None:
        file = object_of(name)
        self._seen_by_readers.note_unused([file])  # until the transaction that names it
        segments.write(self._objects.folder / file, arrays)
        self._objects.put(file)
        self._catalogue.note_used([file])

    def _path(self, name: str) -> Path:
        return self._objects.get(object_of(name))

    def _sweep(self) -> None:
        unused = self._catalogue.unused()
        self._objects.delete(unused)
        self._catalogue.note_used(unused)

    def erase(self) -> None:
        """Delete the index with its files. Raises IndexLocked while another process writes."""
        self._write_lock()
        named = [object_of(segment.name) for segment in self._catalogue.segments()]
        cached = [f"cached/{n}-{g:06d}{segments.SUFFIX}" for n, g in self._catalogue.cached()]
        self._objects.delete([*named, *cached, *self._catalogue.unused()])
        self._catalogue.drop()

    def _committed(self) -> None:
        self._wrote = int(self._catalogue.meta("generation"))

    def _erase(self) -> None:
        self._catalogue.vacuum()


def _place(address: Address, place: str) -> str:
    """Return where the objects of an index are. Raises InputError where it is said otherwise."""
    if address.objects not in ("", place):
        raise InputError(
            f"the arrays of {address.shown} are in {place}, not in {address.objects}: leave"
            f" 'objects' out"
        )
    return place


class PostgresKind:
    """What opens indexes by their addresses."""

    def exists(self, place: str) -> bool:
        """Say whether an index is there. Raises StoreError where the database does not answer."""
        catalogue = PostgresCatalogue(parse(place))
        try:
            return catalogue.is_made()
        finally:
            catalogue.close()

    def create(self, place: str, recipe: Mapping[str, Scalar]) -> PostgresStore:
        """Make an index there, or open the one that is."""
        return PostgresStore.create(parse(place), recipe)

    def open(self, place: str) -> PostgresStore:
        """Open the index there. Raises NotAnIndex where there is none."""
        return PostgresStore(parse(place))


KIND = PostgresKind()
