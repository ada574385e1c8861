"""Which processes of a home still run: each holds a lock that the system frees when it dies."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from clew import sqlite
from clew.private import make_folder

_FOLDER = "alive"


class Alive:
    """Held by a process as long as it runs, under a name of its own."""

    def __init__(self, home: Path, name: str = "") -> None:
        self.name = name or secrets.token_hex(8)
        folder = home / _FOLDER
        make_folder(folder)
        self._path = folder / self.name
        self._connection = sqlite.connect(self._path, wait=0.0)
        self._connection.execute("BEGIN EXCLUSIVE")

    def end(self) -> None:
        """Let go of the lock."""
        self._connection.close()
        self._path.unlink(missing_ok=True)


def is_alive(home: Path, name: str) -> bool:
    """Say whether the process that holds a name still runs. What a dead one left is deleted."""
    path = home / _FOLDER / name
    if not path.exists():
        return False
    connection = None
    try:
        connection = sqlite.connect(path, wait=0.0)
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite.Error:
        return True
    finally:
        if connection is not None:
            connection.close()
    with suppress(OSError):
        path.unlink(missing_ok=True)
    return False
