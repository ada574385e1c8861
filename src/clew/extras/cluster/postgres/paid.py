"""The paid files in PostgreSQL: tables of an index's ledger and of its cached vectors."""

import atexit
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from clew.base.runtime import sqlite
from clew.extras.cluster.postgres.address import IndexAddress
from clew.extras.cluster.postgres.catalogue import lock_for_making
from clew.extras.cluster.postgres.connection import Connection, ConnectionLost, convert_table

_MOST_IDLE = 4
_PATIENCE_S = 20.0  # for a server that starts again: what is to be written may be paid for
_PAUSE_S = 0.5
# Sessions that nobody uses now, of this process alone.
_idle: dict[tuple[int, IndexAddress], deque[Connection]] = {}


@atexit.register
def _close_idle() -> None:
    for (process, _), idle in _idle.items():
        for connection in idle if process == os.getpid() else ():
            connection.close()


@dataclass(frozen=True, slots=True)
class PostgresFile:
    """Paid model replies in an index's schema; implements `clew.models.sqlite.PaidFile`."""

    address: IndexAddress
    kind: str  # its name in errors
    application_id: int  # of a file; no table needs it
    tables: Sequence[str]

    @property
    def path(self) -> Path:
        return Path(self.address.shown)

    def exists(self) -> bool:
        with _session(self.address) as database:
            return self._are_made(database)

    def connected(self) -> sqlite.Connection:
        """Open a session of its own, with the tables created."""
        connection = Connection(self.address)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return cast("sqlite.Connection", connection)

    @contextmanager
    def open(self) -> Iterator[sqlite.Connection]:
        """Yield a connection. Raises StoreError if PostgreSQL does not answer."""
        with _session(self.address) as database:
            self._prepare(database)
            yield cast("sqlite.Connection", database)  # it does what is asked of one here

    @contextmanager
    def writing(self) -> Iterator[sqlite.Connection]:
        """Yield a connection, and commit the block's writes atomically."""
        with _session(self.address, _PATIENCE_S) as database:
            self._prepare(database)
            with database.transaction():
                yield cast("sqlite.Connection", database)

    def _are_made(self, database: Connection) -> bool:
        names = [each.split(maxsplit=1)[0] for each in self.tables]
        there = "SELECT count(*) FROM pg_tables WHERE schemaname = ? AND tablename = ANY(?)"
        return bool(database.execute(there, (self.address.schema, names)).get == len(names))

    def _prepare(self, database: Connection) -> None:
        """Create the tables, in one of several processes."""
        if not self._are_made(database):
            with database.transaction():
                database.execute(*lock_for_making(self.address))
                database.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.address.schema}"')
                for each in self.tables:
                    database.execute(f"CREATE TABLE IF NOT EXISTS {convert_table(each)}")

    def is_blank(self) -> bool:
        return not self.exists()

    def faults(self) -> list[str]:
        return []  # the server has checksums of its own


@contextmanager
def _session(address: IndexAddress, patience: float = 0.0) -> Iterator[Connection]:
    """Yield an exclusive session; wait some seconds for the server."""
    idle = _idle.setdefault((os.getpid(), address), deque())
    connection = _take_idle(idle) or _open_session(address, patience)
    try:
        yield connection
    finally:
        if connection.is_lost or len(idle) >= _MOST_IDLE:
            connection.close()
        else:
            idle.append(connection)


def _open_session(address: IndexAddress, patience: float) -> Connection:
    until = time.monotonic() + patience
    while True:
        try:
            return Connection(address)
        except ConnectionLost:
            if time.monotonic() >= until:
                raise
        time.sleep(_PAUSE_S)


def _take_idle(idle: deque[Connection]) -> Connection | None:
    """Return an idle session that is still connected, or None."""
    while True:
        try:
            connection = idle.pop()
            connection.execute("SELECT 1")
        except IndexError:
            return None
        except ConnectionLost:
            connection.close()
        else:
            return connection
