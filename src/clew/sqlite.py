"""SQLite files whose pages have checksums, so that damage is an error where it is met.

SQLite comes with APSW, and with it the checksum VFS of the SQLite project: the last eight bytes of
a page are a checksum of the others, which is looked at whenever a page is read. Other programs
read such a file as any other. A page of zeros has the right checksum: a long text that may have
become one needs a checksum of its own.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import apsw

from clew.errors import StoreError
from clew.private import make_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Connection = apsw.Connection
Error = apsw.Error
Row = tuple[Any, ...]

_VFS = "cksmvfs"
_CHECKSUM = 8  # bytes of a page
_RESERVED = 20  # the place in the file of how many bytes of a page are reserved
_TRIES = 20_000  # to read ranges of keys of a damaged table, the widest first
_HAS_CHECKSUMS = 1  # `user_version` of a file that was made with them
_lock = threading.Lock()


def connect(path: Path, *, wait: float) -> Connection:
    """Open a database, which is made where it is not there; `wait` seconds for other processes.

    One that may not be written, or whose folder may not, is read as it is. Raises StoreError where
    it cannot be: it may not be read, or the newest commits are in a file beside it that only SQLite
    can take over, by writing.
    """
    with _lock:
        _load()
    if not may_be_written(path):
        _check_readable(path)
        address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return Connection(address, flags=flags, vfs=_VFS)
    with suppress(OSError):  # SQLite will say what is wrong
        make_file(path)
    connection = Connection(str(path), vfs=_VFS)
    connection.set_busy_timeout(round(wait * 1000))
    with suppress(Error):  # what is wrong is told where it is read
        connection.reserve_bytes("main", _CHECKSUM)
    return connection


def may_be_written(path: Path) -> bool:
    """Say whether a database, there or not, may be written: SQLite needs its folder too."""
    if not path.parent.exists():
        return True  # SQLite will say what is wrong
    return os.access(path.parent, os.W_OK) and (os.access(path, os.W_OK) or not path.exists())


def _check_readable(path: Path) -> None:
    if not path.exists():
        raise StoreError(f"{path.parent} may not be written: ask its owner to allow it, or copy it")
    if not os.access(path, os.R_OK):
        raise StoreError(f"{path} may not be read: ask its owner to allow it")
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path.parent} may not be written, and {log.name} holds commits that have to be taken "
            f"over first: let its owner open it once, or copy the folder"
        )


def mark(connection: Connection) -> None:
    """Note in a new file, inside the transaction that makes its tables, that it has checksums."""
    connection.execute(f"PRAGMA user_version = {_HAS_CHECKSUMS}")


def check(connection: Connection, path: Path) -> None:
    """Raise CorruptError where a file that was made with checksums says that it has none."""
    if connection.execute("PRAGMA user_version").get == _HAS_CHECKSUMS:
        with suppress(OSError), path.open("rb") as file:
            file.seek(_RESERVED)
            if file.read(1) not in (b"", bytes([_CHECKSUM])):
                raise apsw.CorruptError("its header was changed")


def is_damage(error: Error) -> bool:
    """Say whether an error tells of bytes that are not those that were written."""
    return (
        isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError))
        or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA
    )


@cache
def _load() -> None:
    """Bring the checksum VFS into the process."""
    import apsw.sqlite_extra  # 15 ms

    memory = Connection(":memory:")
    try:
        apsw.sqlite_extra.load(memory, "cksumvfs")
    except (LookupError, Error, apsw.sqlite_extra.NotAvailable) as error:
        raise StoreError(
            f"this build of apsw has no cksumvfs ({error}): install its wheel from PyPI"
        ) from error
    finally:
        memory.close()


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Run the block as one write transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite may have ended it: a full disk
            connection.execute("ROLLBACK")
        raise


def rows(connection: Connection, question: str, values: Sequence[Any] = ()) -> list[Row]:
    """Return what a question finds."""
    return connection.execute(question, values).fetchall()


def faults(connection: Connection) -> list[str]:
    """Return what SQLite finds wrong in a file, of which it reads every page that is in use."""
    found = [str(row[0]) for row in rows(connection, "PRAGMA integrity_check(20)")]
    if found == ["ok"]:
        return []
    return [line for each in found for line in each.splitlines() if not line.startswith("***")]


def read_damaged(connection: Connection) -> bool:
    """Let as much of a damaged file be read as can be, by a connection that writes nothing to it.

    Of one that was cut off that is what is left. The first page holds only which tables there are,
    so that is read whatever its checksum says; a table that it does not have right has no rows.
    Return whether that page is sound.
    """
    connection.execute("PRAGMA writable_schema = ON")  # lets a file that was cut off be read
    try:
        rows(connection, "SELECT 1 FROM sqlite_schema")
        return True
    except Error as error:
        if not is_damage(error):
            raise
        connection.execute("PRAGMA checksum_verification = OFF")
        with suppress(Error):
            rows(connection, "SELECT 1 FROM sqlite_schema")
        connection.execute("PRAGMA checksum_verification = ON")
        return False


def copy(connection: Connection, path: Path) -> None:
    """Write what a connection sees, with the transaction that it is in, to a new file at `path`.

    Pages are copied as they are, and nobody waits: a reader hinders no writer of a WAL.
    """
    target = connect(path, wait=0.0)
    try:
        with target.backup("main", connection, "main") as pages:
            while not pages.done:
                pages.step(-1)
        target.execute("PRAGMA journal_mode = WAL")
    finally:
        target.close()


def readable(
    connection: Connection, table: str, key: str, within: tuple[Any, Any]
) -> Iterator[Row]:
    """Yield the rows of a damaged table whose pages can be read, by a key `within` two values.

    These are integers, or byte strings of one length as digests are, and are in the first column.
    Where a range cannot be read to its end the halves of what is left are tried; of a range of
    texts nothing is tried behind its first page that is damaged.
    """
    ranges = deque([within])
    question = f"SELECT * FROM {table} WHERE {key} BETWEEN ? AND ? ORDER BY {key}"  # noqa: S608 -- names of ours
    for _ in range(_TRIES):
        if not ranges:
            return
        begin, last = ranges.popleft()
        first = begin
        try:
            for row in connection.execute(question, (first, last)):
                yield row
                first = _behind(row[0], last)
                if first is None:
                    break
        except Error as error:
            if not is_damage(error):
                raise
            if isinstance(last, str):
                return
            if first != last:
                middle = _middle(first, last)
                ranges += [(first, middle), (_behind(middle, last), last)]
            elif first != begin:
                ranges.append((first, last))


def _middle(first: Any, last: Any) -> Any:  # noqa: ANN401 -- as SQLite's values
    """Return the last value of a range's first half."""
    if isinstance(first, int):
        return (first + last) // 2
    middle = (int.from_bytes(first) + int.from_bytes(last)) // 2
    return middle.to_bytes(len(first))


def _behind(value: Any, last: Any) -> Any:  # noqa: ANN401 -- as SQLite's values
    """Return the value behind one, None where that is the last one."""
    if value == last:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return value + 1
    return (int.from_bytes(value) + 1).to_bytes(len(value))
