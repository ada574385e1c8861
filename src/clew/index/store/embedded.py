"""The embedded store: a folder, without a server.

index.sqlite    documents, entity keys, terms, settings; its transaction is the commit point
generation.json the newest generation, by which a loss of commits is seen
segments/NNN    what one commit added, as arrays; every eight of a size become one
cached/NAME-N   arrays that were computed from generation N, and can be again
writer.lock     held while a process writes
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

from numpy.typing import NDArray

from clew.base.runtime.lazy import compile_re
from clew.base.runtime.private import make_folder
from clew.base.types import Scalar
from clew.errors import NotAnIndex, StoreError
from clew.index.store import paid, segments
from clew.index.store.cache import FOLDER as _CACHED
from clew.index.store.cache import FileCache
from clew.index.store.database import FILE, LOCK, NEWEST, Database, WriterLock, is_blank
from clew.index.store.segmented import SegmentedStore
from clew.index.store.segments import Arrays, Blocks

NAMED_IN = "store.txt"  # names the store of a folder that is none itself
_SEGMENTS = "segments"
_BESIDE = compile_re(r"-(?:wal|shm|journal)$")  # what SQLite keeps beside a file of ours


class EmbeddedStore(SegmentedStore[Database]):
    """A store in a folder. The first write takes the writer's lock, held until `close`."""

    def __init__(self, folder: Path, database: Database) -> None:
        super().__init__(database, Database(folder))
        self.folder = folder
        self._segments = folder / _SEGMENTS
        self._mapped: WeakValueDictionary[object, segments.MappedSegment] = WeakValueDictionary()
        self._lock: WriterLock | None = None
        self.cache = FileCache(folder)

    @classmethod
    def create(cls, folder: Path, recipe: Mapping[str, Scalar]) -> Self:
        """Create an index in a new or empty `folder`, or open an existing one."""
        if folder.exists() and not folder.is_dir():
            raise NotAnIndex(f"{folder} is a file: choose a folder for the index")
        try:
            if folder.exists() and not cls.exists(folder) and has_foreign_files(folder):
                raise NotAnIndex(f"{folder} contains other files: choose a new or empty folder")
            make_folder(folder)
        except OSError as error:
            raise StoreError(f"{folder} cannot be used ({error.strerror}): name another") from error
        return cls(folder, Database(folder, recipe=recipe))

    @staticmethod
    def exists(folder: Path) -> bool:
        return not is_blank(folder / FILE)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the index in `folder`. Raises NotAnIndex if there is none."""
        return cls(folder, Database(folder))

    def open_read_only(self) -> Database:
        database = Database(self.folder)
        try:
            database.freeze()
        except BaseException:
            database.close()
            raise
        return database

    @property
    def _is_writer(self) -> bool:
        return self._lock is not None

    def lock(self) -> None:
        if self._lock is None:
            self._lock = WriterLock(self.folder)
            self._sweep()
            self.sweep()

    def _name(self, number: int) -> str:
        return f"{number:06d}"

    def _put(self, name: str, arrays: Mapping[str, NDArray[Any] | Blocks]) -> None:
        segments.write_segment(self._path(name), arrays)

    def _arrays(self, name: str) -> Arrays:
        path = self._path(name)
        file = segments.file_state(path)
        found = self._mapped.get(file)  # as an open generation has it, of which much is verified
        if found is None:
            found = self._mapped[file] = segments.open_segment(path)
        return found

    def _path(self, name: str) -> Path:
        return self._segments / f"{name}{segments.SUFFIX}"

    def _sweep(self) -> None:
        names = [segment.name for segment in self._catalogue.segments()]
        segments.delete_others(self._segments, names)

    def _after_commit(self) -> None:
        self._catalogue.record_generation()

    def close(self) -> None:
        super().close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def has_foreign_files(folder: Path) -> bool:
    """Check whether a folder has files that are not part of an index."""
    ours = {FILE, LOCK, NEWEST, f"{NEWEST}.tmp", NAMED_IN, *paid.FILES, _SEGMENTS, _CACHED}
    return any(_BESIDE.sub("", path.name) not in ours for path in folder.iterdir())
