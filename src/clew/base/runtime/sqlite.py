"""Open SQLite files with page checksums, so that damage raises an error when read.

SQLite comes with APSW, and with it the checksum VFS of the SQLite project: the last eight bytes of
a page are a checksum of the others, which is looked at whenever a page is read. Below it a VFS of
ours binds each checksum to the page's place in the file, so that a page in the place of another, or
one of zeros, is damage too. Other programs read such a file as any other.

Nothing may open a file of SQLite beside it: on POSIX, a process that closes any descriptor of a
file drops every lock that it holds on that file, those of its other connections too. So bytes of
such files are read by SQLite's own file system, as in `read_header`.
"""

import atexit
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from clew.base.runtime.private import make_file
from clew.errors import StoreError

Connection = apsw.Connection
Error = apsw.Error
Row = tuple[Any, ...]

# Where `apsw.sqlite_extra` finds it in wheels; to load that takes 15 ms.
_EXTENSION = Path(apsw.__file__).with_name("sqlite_extra_binaries") / "cksumvfs"
_VFS = "cksmvfs"
_PLACES = "clew-places"  # the VFS below it
_CHECKSUM = 8  # bytes of a page
_HEADER = 100  # bytes of the file
_RESERVED = 20  # the place in the header of how many bytes of a page are reserved
_USER_VERSION = slice(60, 64)  # of the header
_LEAST_PAGE = 512  # bytes
_OF_PLACE = 2  # `user_version` of a file whose checksums are bound to the places of pages
_lock = threading.Lock()


def connect(path: Path, *, wait: float) -> Connection:
    """Open or create a database; wait up to `wait` seconds for other processes.

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
    # No connection of this process may be opened while the descriptor that makes the file is open.
    with _lock, suppress(OSError):  # SQLite will say what is wrong
        if not path.exists():
            make_file(path)
    connection = Connection(str(path), vfs=_VFS)
    connection.set_busy_timeout(round(wait * 1000))
    with suppress(Error):  # what is wrong is told where it is read
        connection.reserve_bytes("main", _CHECKSUM)
    return connection


def may_be_written(path: Path) -> bool:
    """Check whether a database can be written; SQLite needs write access to its folder too."""
    if not path.parent.exists():
        return True  # SQLite will say what is wrong
    return os.access(path.parent, os.W_OK) and (os.access(path, os.W_OK) or not path.exists())


def _check_readable(path: Path) -> None:
    if not path.exists():
        raise StoreError(f"{path.parent} is not writable: ask its owner for permission, or copy it")
    if not os.access(path, os.R_OK):
        raise StoreError(f"{path} is not readable: ask its owner for permission")
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path.parent} is not writable, and {log.name} holds commits that must be written "
            f"first: let its owner open it once, or copy the folder"
        )


def mark(connection: Connection) -> None:
    """Mark a new file, in the transaction that creates its tables, as having checksums."""
    connection.execute(f"PRAGMA user_version = {_OF_PLACE}")


def check_checksums(connection: Connection, path: Path) -> None:
    """Raise CorruptError if a file marked as having checksums has none."""
    if connection.execute("PRAGMA user_version").get == _OF_PLACE:
        header = read_header(path)
        if header and header[_RESERVED] != _CHECKSUM:
            raise apsw.CorruptError("its header was changed")


def read_header(path: Path) -> bytes:
    """Return the header of a file, or b"" if it has none or is unreadable."""
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    try:
        file = apsw.VFSFile(_system(), str(path), flags)
        try:
            header = file.xRead(_HEADER, 0)
        finally:
            file.xClose()
    except Error:
        return b""
    return header if len(header) == _HEADER else b""


def is_damage(error: Error) -> bool:
    """Check whether an error means corrupted data."""
    return (
        isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError))
        or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA
    )


class _PlacedFile(apsw.VFSFile):
    """A file whose page checksums include the page number.

    The first page is as the checksum VFS writes it, and so is every page of a file that does not
    say that its checksums are bound. One that is not there yet will say so.
    """

    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._is_database = bool(flags[0] & apsw.SQLITE_OPEN_MAIN_DB)
        self._is_bound = False  # as far as is known
        super().__init__(_system(), name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 -- APSW's
        data = super().xRead(amount, offset)
        if data and self._is_database and amount >= _LEAST_PAGE:
            data = data.ljust(amount, b"\0")  # the checksum of half a page is looked at, too
        return self._combine(data, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: ANN401, N802 -- APSW's
        super().xWrite(self._combine(data, offset), offset)

    def _combine(self, data: bytes, offset: int) -> bytes:
        if not (self._is_database and offset and len(data) >= _LEAST_PAGE and self._binds()):
            return data
        checksum = int.from_bytes(data[-_CHECKSUM:]) ^ (offset // len(data))
        return data[:-_CHECKSUM] + checksum.to_bytes(_CHECKSUM)

    def _binds(self) -> bool:
        if self._is_bound:
            return True
        header = super().xRead(_HEADER, 0)
        if not any(header):
            return True
        version = int.from_bytes(header[_USER_VERSION])
        self._is_bound = header[_RESERVED] == _CHECKSUM and version == _OF_PLACE
        return self._is_bound


class _Places(apsw.VFS):
    """A SQLite VFS that binds page checksums to page numbers."""

    def __init__(self) -> None:
        super().__init__(_PLACES, _system(), makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 -- APSW's
        return _PlacedFile(name, flags)


@cache
def _system() -> str:
    """Return the name of the system's default VFS."""
    return next(name for name in apsw.vfs_names() if name not in (_VFS, _PLACES))


@cache
def _load() -> apsw.VFS:
    """Load the checksum VFS into the process, once."""
    places = _Places()  # the default, which the checksum VFS takes for the one below it
    memory = Connection(":memory:")
    try:
        memory.enable_load_extension(True)
        memory.load_extension(str(_EXTENSION))
    except Error:  # another release of APSW may have it elsewhere
        _load_by_apsw(memory)
    finally:
        memory.close()
    atexit.register(_close_all)
    return places


def _load_by_apsw(memory: Connection) -> None:
    import apsw.sqlite_extra

    try:
        apsw.sqlite_extra.load(memory, "cksumvfs")
    except (LookupError, Error, apsw.sqlite_extra.NotAvailable) as error:
        raise StoreError(
            f"this build of apsw has no cksumvfs ({error}): install its wheel from PyPI"
        ) from error


def _close_all() -> None:
    """Close all connections at exit; APSW would do so after their VFS is gone, and crash."""
    for connection in apsw.connections():
        if connection.open_vfs == _VFS:
            with suppress(Error):
                connection.close(force=True)


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
    """Return the rows of a query."""
    return connection.execute(question, values).fetchall()


def faults(connection: Connection) -> list[str]:
    """Return SQLite's integrity errors; reads every used page."""
    lines = [str(row[0]) for row in rows(connection, "PRAGMA integrity_check(20)")]
    if lines == ["ok"]:
        return []
    return [line for each in lines for line in each.splitlines() if not line.startswith("***")]


def copy(connection: Connection, path: Path) -> None:
    """Copy a connection's view, including its open transaction, to a new file.

    Pages are copied as they are, and nobody waits: a reader hinders no writer of a WAL.
    """
    target = connect(path, wait=0.0)
    try:
        # The file says first how its checksums are made: pages are written in no certain order.
        version = connection.execute("PRAGMA user_version").get
        target.execute(f"PRAGMA user_version = {version}")
        with target.backup("main", connection, "main") as pages:
            while not pages.done:
                pages.step(-1)
        target.execute("PRAGMA journal_mode = WAL")
    finally:
        target.close()
