"""A file of paid-for values that processes share: SQLite, opened for each use.

A commit is on disk when it returns, so a process that is killed loses nothing of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection

from clew.errors import StoreError
from clew.private import make_file

__all__ = ["Connection", "DatabaseFile"]

_BUSY_S = 30.0  # how long another process may hold the file


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """One SQLite file with its tables; `kind` is its name in errors."""

    path: Path
    kind: str
    application_id: int  # in the header of the file
    tables: Sequence[str]  # what stands behind CREATE TABLE

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """Give a connection; `with connection:` around writes commits them together.

        Raises StoreError where the file cannot be used.
        """
        with suppress(OSError):  # SQLite will say what is wrong
            make_file(self.path)
        try:
            with closing(sqlite3.connect(self.path, timeout=_BUSY_S)) as database:
                self._prepare(database)
                yield database
        except sqlite3.Error as error:
            # What stands in a file that can be read is paid for: only damage is worth a deletion.
            damaged = not isinstance(error, sqlite3.OperationalError)
            hint = "name another file, or delete this one if it was Clew's"
            if not damaged:
                hint = "check its folder, the free space, and whether another process holds it"
            raise StoreError(
                f"the {self.kind} {self.path} cannot be used: {error}. Hint: {hint}"
            ) from error

    def _prepare(self, database: Connection) -> None:
        """Make the tables of a new file; refuse one that another program made."""
        if _owner(database) != self.application_id:
            self._make(database)
        # Lets others read while one writes. Refused while another has the file open: the next
        # one asks.
        with suppress(sqlite3.OperationalError):
            database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")

    def _make(self, database: Connection) -> None:
        database.execute("BEGIN IMMEDIATE")  # of several that find it new, one makes the tables
        owner = _owner(database)
        (n_tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if owner != self.application_id and (owner or n_tables):
            raise StoreError(
                f"{self.path} belongs to another program, so it can be no {self.kind}."
                f" Hint: name another file"
            )
        for table in self.tables:
            database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        database.execute(f"PRAGMA application_id = {self.application_id}")
        database.commit()


def _owner(database: Connection) -> int:
    return int(database.execute("PRAGMA application_id").fetchone()[0])
