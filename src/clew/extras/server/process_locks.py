"""File locks by which running processes are detected.

The system frees what a process holds when it dies, however it dies.
"""

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from clew.base.runtime import sqlite
from clew.base.runtime.private import make_folder
from clew.index.store import opening

_FOLDER = "alive"
_HELD = "clew alive "  # begins what a lock of the database is for


@contextmanager
def hold_lock(path: Path, wait: float = 0.0) -> Iterator[bool]:
    """Hold a lock during the block; yields whether it was acquired.

    Its file stays: one that is deleted while another process opens it would be two locks.
    """
    connection = sqlite.connect(path, wait=wait)
    try:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite.Error:
            yield False
        else:
            yield True
    finally:
        connection.close()


class ProcessLock:
    """A lock that a process holds under a name of its own until it ends."""

    def __init__(self, home: Path) -> None:
        self.name = secrets.token_hex(8)
        address = opening.address_of(home)
        self._path: Path | None = None
        if address is not None:
            from clew.extras.cluster.postgres.connection import Connection, lock_number

            self._connection: Any = Connection(address)
            self._connection.execute(
                "SELECT pg_advisory_lock(?)", (lock_number(f"{_HELD}{self.name}"),)
            )
            return
        folder = home / _FOLDER
        make_folder(folder)
        self._path = folder / self.name
        self._connection = sqlite.connect(self._path, wait=0.0)
        self._connection.execute("BEGIN EXCLUSIVE")

    def end(self) -> None:
        self._connection.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def is_alive(home: Path, name: str) -> bool:
    """Check whether the process that locked a name still runs; clean up after a dead one."""
    address = opening.address_of(home)
    if address is not None:
        from clew.extras.cluster.postgres.connection import Connection, lock_number

        question, number = "SELECT pg_try_advisory_lock(?)", lock_number(f"{_HELD}{name}")
        with closing(Connection(address)) as connection:
            return not connection.execute(question, (number,)).get
    path = home / _FOLDER / name
    if not path.exists():
        return False
    try:
        with hold_lock(path) as is_free:
            if not is_free:
                return True
    except sqlite.Error:  # it cannot be opened now, so nothing is known of its process
        return True
    with suppress(OSError):
        path.unlink(missing_ok=True)
    return False
