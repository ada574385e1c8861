"""The SQLite file in which a server keeps its keys, what they spent, and its jobs.

Servers and jobs on one home share it; each connection belongs to one process, whose threads take
turns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew import sqlite
from clew.errors import StoreError
from clew.private import make_folder

_BUSY_S = 30.0
_TABLES = (
    """key (id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL, options TEXT NOT NULL,
        made REAL NOT NULL, revoked REAL)""",
    # What was billed, summed by key and day; and what is set aside for requests under way.
    """spent (key TEXT NOT NULL, day TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
        unpriced INTEGER NOT NULL, requests INTEGER NOT NULL, PRIMARY KEY (key, day))""",
    """held (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, day TEXT NOT NULL,
        tokens INTEGER NOT NULL, usd REAL NOT NULL, owner TEXT NOT NULL)""",
    "session (digest BLOB PRIMARY KEY, key TEXT NOT NULL, ends REAL NOT NULL)",
    "own_index (name TEXT PRIMARY KEY, folder TEXT NOT NULL)",
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
    """event (job TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
        data TEXT NOT NULL, PRIMARY KEY (job, number))""",
)


class Books:
    """One connection to the file of a home."""

    def __init__(self, home: Path) -> None:
        """Open the file, which is made where it is not there. Raises StoreError."""
        self.home = home
        self.path = home / "server.sqlite"
        self._lock = threading.RLock()
        try:
            make_folder(home)
            self._connection = sqlite.connect(self.path, wait=_BUSY_S)
            self._connection.execute("PRAGMA journal_mode = WAL")
            with sqlite.transaction(self._connection):
                for table in _TABLES:
                    self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        except (sqlite.Error, OSError) as error:
            raise StoreError(
                f"the server's home {home} cannot be used ({error}): name another with --home"
            ) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite.Connection]:
        """Give the connection, and commit what the block writes, all of it or nothing."""
        with self._lock, self._told(), sqlite.transaction(self._connection):
            yield self._connection

    def rows(self, question: str, values: Sequence[Any] = ()) -> list[sqlite.Row]:
        """Return what a question finds."""
        with self._lock, self._told():
            return sqlite.rows(self._connection, question, values)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite.Error as error:
            raise StoreError(f"{self.path} cannot be used: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._connection.close()
