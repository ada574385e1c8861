"""The database of a server: keys, spending and jobs, in a SQLite file or in PostgreSQL.

Servers and jobs on one home share it; each connection belongs to one process, whose threads take
turns. A home in PostgreSQL is that of servers on several machines: each has a folder of its own for
the files of its jobs, which it runs itself.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clew.base.runtime import sqlite
from clew.base.runtime.private import make_folder
from clew.errors import StoreError
from clew.index.store import opening

if TYPE_CHECKING:
    from clew.extras.cluster.postgres.connection import Connection as PostgresConnection

_BUSY_S = 30.0
_LOCK = 0x436C6548  # of whoever writes in PostgreSQL
_TABLES = (
    """key (id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL, options TEXT NOT NULL,
        made REAL NOT NULL, revoked REAL)""",
    # What was billed, summed by key and day; and what is set aside for requests under way.
    """spent (key TEXT NOT NULL, day TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
        unpriced INTEGER NOT NULL, requests INTEGER NOT NULL, PRIMARY KEY (key, day))""",
    """held (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, day TEXT NOT NULL,
        tokens INTEGER NOT NULL, usd REAL NOT NULL, owner TEXT NOT NULL)""",
    # The requests that a key may still send, and when that was counted (seconds since 1970).
    "rate (key TEXT PRIMARY KEY, remaining REAL NOT NULL, at REAL NOT NULL)",
    "session (digest BLOB PRIMARY KEY, key TEXT NOT NULL, ends REAL NOT NULL)",
    # Of sessions that a provider began, who it is; and what has begun one, to begin no other.
    "signed_in (digest BLOB PRIMARY KEY, name TEXT NOT NULL)",
    "begun (digest BLOB PRIMARY KEY, ends REAL NOT NULL)",
    "own_index (name TEXT PRIMARY KEY, folder TEXT NOT NULL)",
    "title (name TEXT PRIMARY KEY, title TEXT NOT NULL)",  # of own indexes, for people
    # `number` is the order in which jobs of one folder run. `attempt` counts the processes that
    # were started for a job, `deaths` those that ended without a word; `entered` is 1 once the
    # process of the attempt runs. `tokens` and `usd` hold what is set aside, too.
    """job (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL,
        name TEXT NOT NULL, folder TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
        options TEXT NOT NULL, state TEXT NOT NULL, made REAL NOT NULL, began REAL, ended REAL,
        attempt INTEGER NOT NULL DEFAULT 0, deaths INTEGER NOT NULL DEFAULT 0,
        entered INTEGER NOT NULL DEFAULT 0, pid INTEGER, cancelled REAL, run TEXT,
        tokens INTEGER NOT NULL DEFAULT 0, usd REAL NOT NULL DEFAULT 0,
        unpriced INTEGER NOT NULL DEFAULT 0, progress TEXT, result TEXT)""",
    # Of a home on several machines: the one that has the files of a job, and runs it.
    "placed (job TEXT PRIMARY KEY, place TEXT NOT NULL)",
    """event (job TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
        data TEXT NOT NULL, PRIMARY KEY (job, number))""",
)


class ServerDatabase:
    """One connection to the database of a home; threads take turns."""

    def __init__(self, home: Path) -> None:
        """Open the database, and create missing tables. Raises StoreError."""
        self.home = home
        self.address = opening.address_of(home)
        self._lock = threading.RLock()
        try:
            make_folder(home)
            self.place = "" if self.address is None else _read_place(home)
            self._connection = self._open()
        except (sqlite.Error, OSError) as error:
            raise StoreError(
                f"the server's home {home} cannot be used ({error}): choose another with --home"
            ) from error

    def _open(self) -> sqlite.Connection:
        if self.address is not None:
            from clew.extras.cluster.postgres.paid import PostgresFile

            return PostgresFile(self.address, "server's home", _LOCK, _TABLES).connected()
        connection = sqlite.connect(self.home / "server.sqlite", wait=_BUSY_S)
        connection.execute("PRAGMA journal_mode = WAL")
        with sqlite.transaction(connection):
            for table in _TABLES:
                connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        return connection

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite.Connection]:
        """Run the block in one transaction, which is committed or rolled back as a whole.

        Nobody else writes meanwhile. One that need not be `durable` does not wait for the disk: a
        crash of the machine may undo it.
        """
        with self._lock, self._raising_store_errors():
            if self.address is None:
                level = "FULL" if durable else "NORMAL"
                self._connection.execute(f"PRAGMA synchronous = {level}")
                with sqlite.transaction(self._connection):
                    yield self._connection
            else:
                self._query_postgres("SELECT 1")
                connection = cast("PostgresConnection", self._connection)
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
                    if not durable:
                        connection.execute("SET LOCAL synchronous_commit = off")
                    yield self._connection

    def read_rows(self, question: str, values: Sequence[Any] = ()) -> list[sqlite.Row]:
        with self._lock, self._raising_store_errors():
            if self.address is None:
                return sqlite.rows(self._connection, question, values)
            return self._query_postgres(question, values)

    def _query_postgres(self, question: str, values: Sequence[Any] = ()) -> list[sqlite.Row]:
        """Return the rows of a query of PostgreSQL, in a new session if the last was lost."""
        from clew.extras.cluster.postgres.connection import ConnectionLost

        try:
            return sqlite.rows(self._connection, question, values)
        except ConnectionLost:
            self._connection.close()
            self._connection = self._open()
        return sqlite.rows(self._connection, question, values)

    @contextmanager
    def _raising_store_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite.Error as error:
            raise StoreError(f"{self.home / 'server.sqlite'} cannot be used: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def _read_place(home: Path) -> str:
    """Return this machine's folder of a home, chosen once."""
    path = home / "place.txt"
    with suppress(FileExistsError), path.open("x", encoding="ascii") as file:
        file.write(secrets.token_hex(8))
    return path.read_text(encoding="ascii")
