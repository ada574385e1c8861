"""The SQLite catalogue of an index folder, and the lock of its writer."""

import json
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw

from clew.base.runtime import sqlite
from clew.base.runtime.private import open_file
from clew.base.types import KINDS, Document, Scalar, VocabularyEntry
from clew.errors import DamagedIndex, IndexLocked, NotAnIndex, StoreError
from clew.index.store import sharded
from clew.index.store.catalogue import SCHEMA, Catalogue

FILE = "index.sqlite"
NEWEST = "generation.json"  # beside the database: the newest generation that was committed
LOCK = "writer.lock"

_COPY = "copy the whole folder, while nobody writes to it"
_NOT_NOTES = (
    "format", "generation", "numbering", "recipe", "next_segment", "compacted", "forgotten",
    "remembered",
)  # fmt: skip
_MOST_ROWS = 1 << 40
_BUSY_S = 30.0  # how long a transaction waits for another process
_LOG = 4 << 20  # bytes of the write-ahead log that readers let be, and writers keep of a longer one
_AGAIN_S = 1.0  # between two tries to get readers out of the log


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvagedRows:
    """The readable rows of a damaged database."""

    documents: Mapping[int, tuple[Document, str]]  # live ones with their hashes, by stored row
    lost: Sequence[str]  # ids of documents whose texts cannot be read, as far as known
    is_unsure: bool  # there may be more of these
    notes: Mapping[str, Any]
    vocabulary: Mapping[str, VocabularyEntry]
    # By kind, the pack of each chunk that was considered; None where not all can be read.
    work: Mapping[str, Mapping[int, int]] | None


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

    def __init__(
        self, folder: Path, *, recipe: Mapping[str, Scalar] | None = None, is_damaged: bool = False
    ) -> None:
        """Open the database in `folder`, or create it if `recipe` is given.

        Of one that `is_damaged` as much is read as can be, and nothing may be written.
        """
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
            if is_damaged:
                sqlite.read_damaged(self._connection)
        self._is_frozen = False
        self._tried = 0.0  # when this reader last tried to get out of the log
        try:
            if recipe is not None:
                self._create(recipe)
            newest = _read_generation(folder)  # before: another process may commit meanwhile
            self._check_format(folder, is_damaged=is_damaged)
            self._check_generation(newest)
            if not is_damaged:
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

    def _check_format(self, folder: Path, *, is_damaged: bool) -> None:
        try:
            with _translate_errors(self.path):
                if not is_damaged:
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

    def salvage(self, hash_of: Callable[[Document], str]) -> SalvagedRows:
        """Return the readable rows of a damaged file.

        Of what stands on a damaged page those documents count that have the hash and the id which
        were written of them.
        """
        with self._lock, _translate_errors(self.path):
            readable = sqlite.readable(self._connection, "document", "row", (0, _MOST_ROWS))
            rows = {row: (fields[1], fields[2]) for row, *fields in readable}
            names: dict[int, str] = {}  # ids by row, from an index of these, as far as it goes
            is_unsure = True
            with suppress(sqlite.Error):
                is_unsure = not self._connection.execute("SELECT count(*), sum(live) FROM document")
            with suppress(sqlite.Error):  # what came before stays
                ids = "SELECT row, id FROM document INDEXED BY document_by_id"
                names.update(self._connection.execute(ids))
                is_unsure = False
        notes = self._read_notes()
        work: dict[str, dict[int, int]] | None = None
        with suppress(DamagedIndex):
            work = {kind: self.work(kind) for kind in KINDS}
        vocabulary = {
            key: VocabularyEntry(*texts, *map(bool, marks))
            for key, *fields in self._read_table("alias", "key")
            for texts, marks in [(fields[:3], fields[3:])]
        }
        documents, unread, lost = {}, [], []
        for row in sorted(rows.keys() | names.keys()):
            document = self._read_sound(row) if row in rows else None
            if document is None:
                unread.append(row)
            elif rows[row][0]:
                documents[row] = document, rows[row][1]
        self._select("PRAGMA checksum_verification = OFF")
        for row in unread:
            is_live, content = rows.get(row) or self._read_liveness(row)
            document = self._read_sound(row)
            is_own = document is not None and names.get(row) == document.id
            if is_live and document is not None and is_own and hash_of(document) == content:
                documents[row] = document, content
            elif is_live and row in names:
                lost.append(names[row])
        there = {document.id for document, _ in documents.values()}
        return SalvagedRows(
            documents=documents,
            lost=[each for each in dict.fromkeys(lost) if each not in there],
            is_unsure=is_unsure,
            notes=notes,
            vocabulary=vocabulary,
            work=work,
        )

    def _read_sound(self, row: int) -> Document | None:
        """Return a document, or None if its row or its text is damaged."""
        try:
            [document] = self.documents([row])
        except (DamagedIndex, UnicodeDecodeError):  # the latter of a page that is not checked
            return None
        return document

    def _read_liveness(self, row: int) -> tuple[int, str]:
        """Return whether a document is live and its hash, or (1, "") if a page is damaged."""
        with suppress(DamagedIndex, UnicodeDecodeError):
            question = "SELECT live, hash FROM document WHERE row = ?"
            for live, content in self._select(question, (row,)):
                if live in (0, 1) and content:  # no zeros in place of what was cut off
                    return live, content
        return 1, ""

    def _read_notes(self) -> dict[str, Any]:
        """Return the notes that can be read; a part of a note may be zeros."""
        notes = {}
        for name, value in self._read_table("meta", "name"):
            with suppress(TypeError, ValueError):
                notes[name] = json.loads(value)
        return {name: value for name, value in notes.items() if name not in _NOT_NOTES}

    def _read_table(self, table: str, key: str) -> list[sqlite.Row]:
        with self._lock, _translate_errors(self.path):
            return list(sqlite.readable(self._connection, table, key, ("", "\U0010ffff")))

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
