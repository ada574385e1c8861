"""A shared file of paid values: SQLite, opened for each use.

A commit is on disk when it returns, so a process that is killed loses nothing of it. Of a file that
is damaged, what can be read is kept, and what cannot is paid for again.
"""

import errno
import hashlib
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import apsw

from clew.base.runtime import sqlite
from clew.base.runtime.private import open_file, sync_folder
from clew.base.runtime.sqlite import Connection
from clew.errors import StoreError

_BUSY_S = 30.0  # how long another process may hold the file
_ROOM_BYTES = 8 << 20  # for the replies under way, some dozens at the most
_DIGEST = 32  # bytes of a key
_ROWS = 1_000  # that are copied at once
_ASKED = 500  # keys in one question to SQLite
_ENDS = ("", "-wal", "-shm")  # of the names of what SQLite keeps of a file
_log = logging.getLogger(__name__)


class DamagedFile(StoreError):
    """A file of paid values is damaged; `DatabaseFile.mend` salvages it."""


class PaidFile(Protocol):
    """Tables of paid values, in a file or database."""

    @property
    def path(self) -> Path:
        """Return the file, or its substitute in errors."""

    def exists(self) -> bool:
        """Check whether the file or its tables exist."""

    def open(self) -> AbstractContextManager[Connection]:
        """Open a connection. Raises StoreError if that fails."""

    def writing(self) -> AbstractContextManager[Connection]:
        """Open a connection, and commit the block's writes as one transaction."""

    def has(self, database: Connection, table: str) -> bool:
        """Check whether a lazily created table exists."""

    def make(self, database: Connection, table: str) -> None:
        """Create a table unless it exists."""

    def room(self) -> AbstractContextManager[None]:
        """Reserve space during paid requests. Raises StoreError if there is none."""

    def check_room(self) -> None:
        """Raise StoreError if the reservation was used up and the disk is full."""

    def give_room(self) -> None:
        """Release the reserved space for pending writes."""

    def mend(self) -> None:
        """Salvage the readable rows if it is damaged."""

    def is_blank(self) -> bool:
        """Check whether it has no table yet."""

    def faults(self) -> list[str]:
        """Return the damage."""


# A file of SQLite, or what makes another one of a kind, an application's id and tables.
Place = Path | str | Callable[[str, int, Sequence[str]], PaidFile]


def paid_file(place: Place, kind: str, application_id: int, tables: Sequence[str]) -> PaidFile:
    """Return the tables at a place; `kind` names them in errors."""
    if callable(place):
        return place(kind, application_id, tables)
    return DatabaseFile(Path(place), kind, application_id, tables)


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """One SQLite file with its tables; `kind` names it in errors."""

    path: Path
    kind: str
    application_id: int  # in the header of the file
    tables: Sequence[str]  # what stands behind CREATE TABLE
    # Set where the held space was given up: what is under way needs it.
    _is_full: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)
    _giving: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def exists(self) -> bool:
        return self.path.exists()

    def is_blank(self) -> bool:
        """Check whether the file is missing or has no tables, as after a killed process."""
        if not self.path.exists():
            return True
        try:
            with closing(sqlite.connect(self.path, wait=_BUSY_S)) as database:
                return not sqlite.rows(database, "SELECT 1 FROM sqlite_schema LIMIT 1")
        except sqlite.Error:
            return False  # `faults` says what is wrong

    def faults(self) -> list[str]:
        """Return the faults of the file; reads every used page."""
        if self.is_blank():
            return []
        try:
            with self.open() as database:
                return sqlite.faults(database)
        except StoreError as error:
            return [str(error)]

    def has(self, database: Connection, table: str) -> bool:
        there = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)"
        return bool(database.execute(there, [table]).get)

    def make(self, database: Connection, table: str) -> None:
        database.execute(f"CREATE TABLE IF NOT EXISTS {table}")

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """Yield a connection.

        Raises DamagedFile where the file is damaged, StoreError where it cannot be used.
        """
        try:
            with closing(sqlite.connect(self.path, wait=_BUSY_S)) as database:
                self._prepare(database)
                yield database
        except sqlite.Error as error:
            # What stands in a file that can be read is paid for: only damage is worth a deletion.
            if sqlite.is_damage(error) and sqlite.is_made_by(self.path, self.application_id):
                raise DamagedFile(f"the {self.kind} {self.path} is damaged ({error})") from error
            hint = "name another file, or delete this one if it was Clew's"
            if isinstance(error, _UNUSABLE):
                hint = "check its folder, the free space, and whether another process holds it"
            raise StoreError(
                f"the {self.kind} {self.path} cannot be used: {error}. Hint: {hint}"
            ) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.open() as database, sqlite.transaction(database):
            yield database

    @contextmanager
    def room(self) -> Iterator[None]:
        """Reserve disk space during paid requests, so that replies can be stored.

        Raises StoreError where there is not even that, before anything is paid for.
        """
        self._is_full.clear()
        self.check_room()
        try:
            yield
        finally:
            self._room.unlink(missing_ok=True)

    def check_room(self) -> None:
        if self._room.exists():
            return None
        reason = os.strerror(errno.ENOSPC)
        if not self._is_full.is_set():
            try:
                return _allocate(self._room, _ROOM_BYTES)
            except OSError as error:
                self._room.unlink(missing_ok=True)
                reason = error.strerror or str(error)
        raise StoreError(
            f"the {self.kind} {self.path} has no disk space for paid replies ({reason})."
            f" Hint: free {_ROOM_BYTES >> 20} MB or more; replies are kept, so the same command"
            f" continues there"
        )

    def give_room(self) -> None:
        self._is_full.set()
        with self._giving:  # it is free when the first of several threads has deleted it
            self._room.unlink(missing_ok=True)

    @property
    def _room(self) -> Path:
        return _sibling(self.path, ".room")

    def mend(self) -> None:
        """Replace a damaged file by its readable rows, keeping a copy as NAME.damaged.

        A file that another thread or process has mended meanwhile is let be, and a mending that
        was killed is gone on with. The file keeps its place on the disk and is locked meanwhile,
        so nobody writes to one that is gone. Raises StoreError where that cannot be done.
        """
        try:
            with sqlite.lock_database(self.path, wait=_BUSY_S) as file:
                if self._mended_path.exists() or self._rebuild(file):
                    # One that is killed is done again. Whoever has the ends open holds the lock.
                    for end in ("-wal", "-shm"):
                        _sibling(self.path, end).unlink(missing_ok=True)
                    sqlite.copy_in(self._mended_path, file)
                    self._mended_path.unlink()
        except (sqlite.Error, OSError) as error:
            raise StoreError(
                f"the damaged {self.kind} {self.path} cannot be repaired: {error}."
                f" Hint: check its folder, the free space, and whether another process holds it"
            ) from error

    @property
    def _mended_path(self) -> Path:
        """Return the path of the complete replacement, while it is copied into place."""
        return _sibling(self.path, ".mended")

    def _rebuild(self, file: sqlite.LockedFile) -> bool:
        """Write the readable rows of the locked file to a new one; return False if it is sound."""
        damaged, rebuilt = _sibling(self.path, ".damaged-new"), _sibling(self.path, ".rebuilt")
        for end in _ENDS:
            _sibling(damaged, end).unlink(missing_ok=True)
            _sibling(rebuilt, end).unlink(missing_ok=True)
        sqlite.copy_out(file, damaged)
        with suppress(FileNotFoundError):
            shutil.copyfile(_sibling(self.path, "-wal"), _sibling(damaged, "-wal"))
        if self._is_sound(damaged):
            for end in _ENDS:
                _sibling(damaged, end).unlink(missing_ok=True)
            return False
        n_rows = self._copy_readable(damaged, rebuilt)
        for end in _ENDS:
            with suppress(FileNotFoundError):
                _sibling(damaged, end).replace(_sibling(self.path, f".damaged{end}"))
        rebuilt.replace(self._mended_path)
        sync_folder(self.path.parent)
        _log.warning(
            "the %s %s was damaged: %d rows of it could be read and are kept, others will be paid "
            "for again; the damaged file is %s.damaged",
            *(self.kind, self.path, n_rows, self.path.name),
        )
        return True

    def _is_sound(self, path: Path) -> bool:
        """Check whether every page of a copy of the file is readable."""
        try:
            with replace(self, path=path).open() as database:
                return bool(database.execute("PRAGMA integrity_check(1)").get == "ok")
        except StoreError as error:
            if isinstance(error.__cause__, sqlite.Error) and not sqlite.is_damage(error.__cause__):
                raise
            return False  # or it is another program's

    def _copy_readable(self, damaged: Path, new: Path) -> int:
        """Copy the readable rows of a damaged file to a new one; return their number."""
        n_rows = 0
        with (
            closing(sqlite.connect(damaged, wait=_BUSY_S)) as source,
            replace(self, path=new).open() as target,
        ):
            is_another = sqlite.read_damaged(source) and _owner(source) != self.application_id
            for table, made_by in () if is_another else _tables(source):
                with suppress(apsw.SQLError):  # it is there
                    target.execute(made_by)
                with suppress(apsw.SQLError):  # what the damaged file says of it is no table
                    n_rows += _copy(source, target, table)
        return n_rows

    def _prepare(self, database: Connection) -> None:
        """Create the tables of a new file; refuse the file of another program."""
        sqlite.check_checksums(database, self.path)
        if self._mended_path.exists():  # the mending was killed, and left half of the file
            raise apsw.CorruptError("its repair did not finish")
        if not sqlite.may_be_written(self.path):  # the tables are there, or nothing is
            return
        if _owner(database) != self.application_id:
            self._make(database)
        # Lets others read while one writes. Refused while another has the file open: the next
        # one asks.
        with suppress(apsw.BusyError, apsw.LockedError):
            database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")

    def _make(self, database: Connection) -> None:
        database.execute("BEGIN IMMEDIATE")  # of several that find it new, one makes the tables
        owner = _owner(database)
        n_tables = database.execute("SELECT count(*) FROM sqlite_schema").get
        if owner != self.application_id and (owner or n_tables):
            raise StoreError(
                f"{self.path} belongs to another program, so it cannot be the {self.kind}."
                f" Hint: name another file"
            )
        if not n_tables:
            sqlite.mark(database)
        for table in self.tables:
            database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        database.execute(f"PRAGMA application_id = {self.application_id}")
        database.execute("COMMIT")


_UNUSABLE = (
    apsw.BusyError, apsw.LockedError, apsw.CantOpenError, apsw.FullError, apsw.IOError,
    apsw.PermissionsError, apsw.ReadOnlyError,
)  # fmt: skip


class _HasFile(Protocol):
    _file: PaidFile


S = TypeVar("S", bound=_HasFile)
P = ParamSpec("P")
R = TypeVar("R")


Keep = Callable[[Sequence[bytes]], Sequence[bool]]  # says of keys whose rows are copied


def copy_rows(
    source: PaidFile, target: PaidFile, tables: Mapping[str, str], keep: Mapping[str, Keep]
) -> None:
    """Copy the rows of tables, selected by their key columns.

    Of a table of which `keep` says nothing all rows are. What the target has it keeps.
    """
    for table, key in tables.items():
        behind, last = "", list[Any]()
        while True:
            question = f"SELECT * FROM {table} {behind} ORDER BY {key} LIMIT {_ROWS}"  # noqa: S608 -- names of ours
            with source.open() as database:
                rows = sqlite.rows(database, question, last)
            if not rows:
                break
            behind, last = f"WHERE {key} > ?", [rows[-1][0]]
            if table in keep:
                keeps = keep[table]([row[0] for row in rows])
                rows = [row for row, is_kept in zip(rows, keeps, strict=True) if is_kept]
            if rows:
                places = ",".join("?" * len(rows[0]))
                with target.writing() as database:
                    database.executemany(
                        f"INSERT INTO {table} VALUES ({places}) ON CONFLICT DO NOTHING",  # noqa: S608 -- names of ours
                        rows,
                    )


def rows_of_keys(
    database: Connection, table: str, column: str, keys: Sequence[bytes]
) -> Iterator[sqlite.Row]:
    """Yield key and column of the given keys that a table contains."""
    for i in range(0, len(keys), _ASKED):
        some = keys[i : i + _ASKED]
        places = ",".join("?" * len(some))
        question = f"SELECT key, {column} FROM {table} WHERE key IN ({places})"  # noqa: S608 -- names of ours
        yield from sqlite.rows(database, question, some)


def digest_parts(parts: Sequence[str]) -> bytes:
    """Return the SHA-256 of texts and their lengths, for use as a key."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.digest()


def owner(path: Path) -> int | None:
    """Return the application id in a readable file, or None."""
    if path.exists():
        with suppress(sqlite.Error), closing(sqlite.connect(path, wait=_BUSY_S)) as database:
            return _owner(database)
    return None


def mending(use: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Retry a method once after repairing a damaged file or freeing disk space.

    What can be read of the file is kept, and the held space is given up. The arguments of the
    method must be such as can be read twice.
    """

    @wraps(use)
    def use_file(self: S, /, *arguments: P.args, **kwargs: P.kwargs) -> R:
        try:
            return use(self, *arguments, **kwargs)
        except DamagedFile:
            self._file.mend()
        except StoreError as error:
            if not (isinstance(error.__cause__, apsw.Error) and sqlite.is_full(error.__cause__)):
                raise
            self._file.give_room()  # or another thread has
        return use(self, *arguments, **kwargs)

    return use_file


def _tables(damaged: Connection) -> list[sqlite.Row]:
    """Return table names and definitions, none if the first page is unreadable."""
    try:
        question = """SELECT name, sql FROM sqlite_schema
            WHERE type = 'table' AND typeof(name) = 'text' AND typeof(sql) = 'text' ORDER BY name"""
        return sqlite.rows(damaged, question)
    except UnicodeDecodeError:
        return []
    except sqlite.Error as error:
        if not sqlite.is_damage(error):
            raise
        return []


def _copy(damaged: Connection, mended: Connection, table: str) -> int:
    """Copy the readable rows of a table; return their number."""
    columns = sqlite.rows(mended, "SELECT name, type FROM pragma_table_info(?)", [table])
    key, kind = columns[0] if columns else ("", "")
    if kind not in _RANGES:  # what made it, in the damaged file, is not what was written
        return 0
    rows = sqlite.readable(damaged, table, key, _RANGES[kind])
    places = ",".join("?" * len(columns))
    with sqlite.transaction(mended):
        mended.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({places})", rows)  # noqa: S608 -- names of ours
    return int(mended.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608 -- a name of ours


_RANGES: Mapping[str, tuple[Any, Any]] = {  # of the values of a key, by its type
    "BLOB": (bytes(_DIGEST), b"\xff" * _DIGEST),
    "INTEGER": (0, 1 << 24),
    "TEXT": ("", "\U0010ffff"),
}


def _allocate(path: Path, size: int) -> None:
    """Create a file of zeros that occupies disk space.

    Others may delete it at any time, whose requests are done.
    """
    with open_file(path) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.write(bytes(size))


def _sibling(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _owner(database: Connection) -> int:
    return int(database.execute("PRAGMA application_id").get)
