"""A lock on a file that the system frees when its process dies, however it dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.runtime import sqlite


@contextmanager
def hold_lock(path: Path, wait: float = 0.0) -> Iterator[bool]:
    """Hold a lock during the block; gives whether it was acquired.

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
