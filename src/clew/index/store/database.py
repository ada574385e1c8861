"""The SQLite catalogue of an index folder, and the lock of its writer."""

import json
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw

from clew.base.runtime import sqlite
from clew.base.runtime.private import open_file
from clew.base.types import Document, Scalar
from clew.errors import DamagedIndex, IndexLocked, NotAnIndex, StoreError
from clew.index.store import sharded
from clew.index.store.catalogue import SCHEMA, Catalogue

FILE = "index.sqlite"
NEWEST = "generation.json"  # beside the database: the newest generation that was committed
LOCK = "writer.lock"

_COPY = "copy the whole folder, while nobody writes to it"
_BUSY_S = 30.0  # how long a transaction waits for another process
_LOG = 4 << 20  # bytes of the write-ahead log that readers let be, and writers keep of a longer one
_AGAIN_S = 1.0  # between two tries to get readers out of the log


def is_blank(path: Path) -> bool:
    """Check whether a database is missing or has no tables yet."""
    try:
        if not path.exists():
            return True
    except PermissionError as error:
        raise StoreError(f"{path.parent} is not readable: ask its owner for permission") from error
    try:
        with closing(sqlite.connect(path, wait=_BUSY_S)) as connection:
            return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    except sqlite.Error:
        return False  # opening it will say what is wrong


class Database(Catalogue):
    """One thread-safe connection to the SQLite catalogue.

    It closes when nothing refers to it any more, if nobody closed it before.
    """

    def __init__(self, folder: Path, *, recipe: Mapping[str, Scalar] | None = None) -> None:
        """Open the database in `folder`, or create it if `recipe` is given."""
        self.path = folder / FILE
        self.place = str(self.path)
        if recipe is None and is_blank(self.path):
            if _read_generation(folder) > 0:
                raise DamagedIndex(f"{folder} is an index without its {FILE}-wal: {_COPY}")
            if sharded.is_home(folder):
                raise NotAnIndex(sharded.explain_home(folder))
            raise NotAnIndex(f"{folder} is not a Clew index: create one with 'clew index PATH'")
        self._lock = threading.RLock()
        with _translate_errors(self.path):
            self._hold(sqlite.connect(self.path, wait=_BUSY_S))
        self._is_frozen = False
        self._tried = 0.0  # when this reader last tried to get out of the log
        try:
            if recipe is not None:
                self._create(recipe)
            newest = _read_generation(folder)  # before: another process may commit meanwhile
            self._check_format(folder)
            self._check_generation(newest)
            self._select("PRAGMA synchronous = FULL")
            self._select(f"PRAGMA journal_size_limit = {_LOG}")
        except BaseException:
            self._connection.close()
            raise

    def _hold(self, connection: sqlite.Connection) -> None:
        self._connection = connection
        self._finalizer = weakref.finalize(self, connection.close)
        self._finalizer.atexit = False

    def _create(self, recipe: Mapping[str, Scalar]) -> None:
        if self._select("SELECT 1 FROM sqlite_master"):  # ours or not: nothing to make
            return
        self._select("PRAGMA journal_mode = WAL")
        with self.transaction():
            if not self._select("SELECT 1 FROM sqlite_master"):  # nobody else made it meanwhile
                sqlite.mark(self._connection)
                for table in SCHEMA:
                    self._select(f"CREATE TABLE {table}")
                self._select("CREATE INDEX document_by_id ON document (id)")
                self.begin_meta(recipe)

    def _check_format(self, folder: Path) -> None:
        try:
            with _translate_errors(self.path):
                sqlite.check_checksums(self._connection, self.path)
            format_ = self.meta("format")
        except DamagedIndex as error:
            if isinstance(error.__cause__, apsw.SQLError):  # no such table
                raise NotAnIndex(f"{self.path} is not a Clew index ({error.__cause__})") from error
            raise
        if format_ is None:
            raise NotAnIndex(f"{self.path} is not a Clew index (it has no format)")
        self.check_format(folder)

    def _check_generation(self, newest: int) -> None:
        """Raise DamagedIndex if the database lost commits."""
        generation = int(self.meta("generation"))
        if generation < newest:
            raise DamagedIndex(
                f"{self.path} has generation {generation} and {NEWEST} says {newest}: "
                f"{FILE}-wal, which held the others, is missing or damaged: {_COPY}, or delete "
                f"{NEWEST} to continue with the remaining data"
            )

    def close(self) -> None:
        with self._lock:
            self._finalizer()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock, _translate_errors(self.path), sqlite.transaction(self._connection):
            yield

    def record_generation(self) -> None:
        """Record the committed generation beside the database, to detect lost commits."""
        note = _pack_generation(int(self.meta("generation")))
        path = self.path.with_name(NEWEST)
        own = path.with_name(f"{NEWEST}.tmp")
        with suppress(OSError):  # it says less than there is, then: nothing is lost
            with open_file(own) as file:
                file.write(note)
            own.replace(path)

    def newest_fault(self) -> str:
        """Return the fault of the generation file beside the database, or ""."""
        path = self.path.with_name(NEWEST)
        if not path.exists():
            return "it is missing" if int(self.meta("generation")) else ""
        with suppress(OSError):
            if path.read_bytes() == _pack_generation(_read_generation(path.parent)):
                return ""
        return "it is not what was written"

    def copy(self, path: Path) -> None:
        """Write what the open read transaction sees to a new file."""
        with self._lock, _translate_errors(self.path):
            sqlite.copy(self._connection, path)

    def freeze(self) -> None:
        """Begin a read transaction: later commits stay invisible until `close`."""
        self._select("BEGIN")
        self.meta("generation")
        self._is_frozen = True

    def documents(self, rows: Sequence[int], *, texts: bool = True) -> list[Document]:
        if self._is_frozen:
            self._skip_write_ahead_log()
        return super().documents(rows, texts=texts)

    def _skip_write_ahead_log(self) -> None:
        """Read without the write-ahead log if it is long and not needed.

        SQLite begins its log anew only where no reader is in it, and a process that always reads,
        as a server does, would be in it forever. For a connection that is frozen.
        """
        n_bytes = 0
        with suppress(OSError):
            n_bytes = self.path.with_name(f"{self.path.name}-wal").stat().st_size
        if n_bytes <= _LOG or time.monotonic() < self._tried + _AGAIN_S:
            return
        with self._lock:
            self._tried = time.monotonic()
            if not sqlite.may_be_written(self.path):
                return
            other = Database(self.path.parent)
            try:
                [(_, logged, done)] = other._select("PRAGMA wal_checkpoint(PASSIVE)")
                other.freeze()
                if done < logged or other.meta("generation") != self.meta("generation"):
                    return
                other._finalizer.detach()  # its connection is this one's from now on
                self._finalizer()
                self._hold(other._connection)
            finally:
                other.close()

    def _select(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock, _translate_errors(self.path):
            return self._connection.execute(statement, values).fetchall()

    def _run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._lock, _translate_errors(self.path):
            self._connection.executemany(statement, rows)

    def faults(self) -> list[str]:
        try:
            with self._lock, _translate_errors(self.path):
                return sqlite.faults(self._connection)
        except (DamagedIndex, StoreError) as error:
            return [str(error)]

    def vacuum(self) -> None:
        """Give freed pages back and empty the write-ahead log, so that deleted text is gone.

        Where another process still reads an older generation, the next compaction does it.
        """
        with self._lock, _translate_errors(self.path):
            self._connection.set_busy_timeout(0)
            try:
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite.Error as error:
                if sqlite.is_damage(error):
                    raise
            finally:
                self._connection.set_busy_timeout(round(_BUSY_S * 1000))


class WriterLock:
    """A lock held by the only writing process, released by the system when it dies."""

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        with _translate_errors(path):
            self._connection = sqlite.connect(path, wait=0.0)
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite.Error as error:
            self._connection.close()
            if not isinstance(error, apsw.BusyError):
                raise StoreError(
                    f"{path} cannot be locked ({error}): check its folder, or delete that file"
                ) from error
            raise IndexLocked(
                f"another process is writing to {folder}: wait until it is done, or stop it"
            ) from error

    def release(self) -> None:
        self._connection.close()


def _pack_generation(generation: int) -> bytes:
    note = {"generation": generation}
    return json.dumps(note | {"crc32": crc32(json.dumps(note).encode())}).encode()


def _read_generation(folder: Path) -> int:
    """Return the generation noted beside the database, or -1 if it is unknown."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        note = json.loads((folder / NEWEST).read_text(encoding="utf-8"))
        checksum = note.pop("crc32")
        if crc32(json.dumps(note).encode()) == checksum:
            return int(note["generation"])
    return -1


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.ConnectionClosedError, apsw.BindingsError):
        raise  # a mistake of ours
    except (apsw.BusyError, apsw.LockedError) as error:
        raise IndexLocked(f"another process uses {path}: try again when it is done") from error
    except apsw.ReadOnlyError as error:
        raise StoreError(
            f"{path.parent} is not writable: ask its owner for permission, or copy the folder"
        ) from error
    except apsw.NotADBError as error:
        raise NotAnIndex(f"{path} is not a Clew index ({error}): name another") from error
    except sqlite.Error as error:
        if isinstance(error, _UNUSABLE) and not sqlite.is_damage(error):
            raise StoreError(
                f"{path} cannot be used ({error}): check its folder and the free space"
            ) from error
        raise DamagedIndex(
            f"{path} is damaged ({error}): 'clew check' says what can be restored"
        ) from error


_UNUSABLE = (apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.PermissionsError)
