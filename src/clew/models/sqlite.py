"""A shared file of paid values: SQLite, opened for each use.

A commit is on disk when it returns, so a process that is killed loses nothing of it.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import apsw

from clew.base.runtime import sqlite
from clew.base.runtime.sqlite import Connection
from clew.errors import StoreError

_BUSY_S = 30.0  # how long another process may hold the file
_ROWS = 1_000  # that are copied at once
_ASKED = 500  # keys in one question to SQLite


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
            return [str(error.__cause__ or error)]

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """Yield a connection. Raises StoreError where the file is damaged or cannot be used."""
        try:
            with closing(sqlite.connect(self.path, wait=_BUSY_S)) as database:
                self._prepare(database)
                yield database
        except sqlite.Error as error:
            hint = "check its folder, the free space, and whether another process holds it"
            if sqlite.is_damage(error):
                hint = "restore it from a backup or, if it was Clew's, delete it: what it held is"
                hint += " paid for again"
            elif not isinstance(error, _UNUSABLE):
                hint = "name another file"
            raise StoreError(
                f"the {self.kind} {self.path} cannot be used: {error}. Hint: {hint}"
            ) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.open() as database, sqlite.transaction(database):
            yield database

    def _prepare(self, database: Connection) -> None:
        """Create the tables of a new file; refuse the file of another program."""
        sqlite.check_checksums(database, self.path)
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


def _owner(database: Connection) -> int:
    return int(database.execute("PRAGMA application_id").get)
