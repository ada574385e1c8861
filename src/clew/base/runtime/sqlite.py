"""Open SQLite files with page checksums, so that damage raises an error when read.

SQLite comes with APSW, and with it the checksum VFS of the SQLite project: the last eight bytes of
a page are a checksum of the others, which is looked at whenever a page is read. Below it a VFS of
ours binds each checksum to the page's place in the file, so that a page in the place of another, or
one of zeros, is damage too. Other programs read such a file as any other.

Nothing may open a file of SQLite beside it: on POSIX, a process that closes any descriptor of a
file drops every lock that it holds on that file, those of its other connections too. So bytes of
such files are read by SQLite's own file system, `own_file`.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from clew.base.runtime.private import make_file, open_file
from clew.errors import StoreError

Connection = apsw.Connection
Error = apsw.Error
LockedFile = apsw.VFSFile
Row = tuple[Any, ...]

_VFS = "cksmvfs"
_PLACES = "clew-places"  # the VFS below it
_CHECKSUM = 8  # bytes of a page
_HEADER = 100  # bytes of the file
_RESERVED = 20  # the place in the header of how many bytes of a page are reserved
_USER_VERSION = slice(60, 64)  # of the header
_LEAST_PAGE = 512  # bytes
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID = slice(68, 72)  # of the header
_PIECE = 1 << 16  # bytes of a file that are copied together: SQLite reads and writes less than 2^17
_PAUSE_S = 0.01  # between two tries to lock a file
_TRIES = 1_000  # ranges of keys of a damaged table that are read, the widest first
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
    try:
        with own_file(path, apsw.SQLITE_OPEN_READONLY) as file:
            header = file.xRead(_HEADER, 0)
    except Error:
        return b""
    return header if len(header) == _HEADER else b""


def is_made_by(path: Path, application_id: int) -> bool:
    """Check whether a file's header has the application id, even if the rest is damaged."""
    header = read_header(path)
    return header.startswith(_MAGIC) and header[_APPLICATION_ID] == application_id.to_bytes(4)


@contextmanager
def own_file(path: Path, access: int) -> Iterator[apsw.VFSFile]:
    """Open a database's file through SQLite, which keeps the process's locks valid.

    `access` is SQLITE_OPEN_READONLY or SQLITE_OPEN_READWRITE. Raises Error.
    """
    file = apsw.VFSFile(_system(), str(path), [apsw.SQLITE_OPEN_MAIN_DB | access, 0])
    try:
        yield file
    finally:
        file.xClose()


@contextmanager
def lock_database(path: Path, *, wait: float) -> Iterator[apsw.VFSFile]:
    """Lock a database exclusively for the block, without reading its pages.

    Raises BusyError where others did not let go of it within `wait` seconds.
    """
    end = time.monotonic() + wait
    with own_file(path, apsw.SQLITE_OPEN_READWRITE) as file:
        try:
            # Of several that want this one gets the reserved lock, which keeps the others from
            # waiting for one another.
            for levels in (
                (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED),
                (apsw.SQLITE_LOCK_EXCLUSIVE,),
            ):
                while not _acquire_levels(file, levels):
                    if time.monotonic() > end:
                        raise apsw.BusyError("another connection uses it")
                    time.sleep(_PAUSE_S)
            yield file
        finally:
            file.xUnlock(apsw.SQLITE_LOCK_NONE)


def _acquire_levels(file: apsw.VFSFile, levels: Sequence[int]) -> bool:
    """Take locks in order; release all if one is not available."""
    try:
        for level in levels:
            file.xLock(level)
    except apsw.BusyError:
        if len(levels) > 1:
            file.xUnlock(apsw.SQLITE_LOCK_NONE)
        return False
    return True


def copy_out(file: apsw.VFSFile, path: Path) -> None:
    """Write the bytes of a locked database to a new file."""
    with open_file(path) as target:
        for start in range(0, file.xFileSize(), _PIECE):
            target.write(file.xRead(min(_PIECE, file.xFileSize() - start), start))


def copy_in(path: Path, file: apsw.VFSFile) -> None:
    """Write the bytes of an unused file into a locked database, and sync them."""
    with path.open("rb") as source:
        size = 0
        while piece := source.read(_PIECE):
            file.xWrite(piece, size)
            size += len(piece)
    file.xTruncate(size)
    file.xSync(apsw.SQLITE_SYNC_FULL)


def is_full(error: Error) -> bool:
    """Check whether an error means a full disk."""
    full = (apsw.SQLITE_IOERR_SHMSIZE,)  # the log's index could not grow
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) in full


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
        self._is_bound = False  # as far as is known: a file of before may be mended in its place
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
    import apsw.sqlite_extra  # 15 ms

    places = _Places()  # the default, which the checksum VFS takes for the one below it
    memory = Connection(":memory:")
    try:
        apsw.sqlite_extra.load(memory, "cksumvfs")
    except (LookupError, Error, apsw.sqlite_extra.NotAvailable) as error:
        raise StoreError(
            f"this build of apsw has no cksumvfs ({error}): install its wheel from PyPI"
        ) from error
    finally:
        memory.close()
    return places


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


def read_damaged(connection: Connection) -> bool:
    """Make a read-only connection read as much of a damaged file as possible.

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


def readable(
    connection: Connection, table: str, key: str, within: tuple[Any, Any]
) -> Iterator[Row]:
    """Yield the readable rows of a damaged table with a key `within` two values.

    The key is the first column. These are integers, or byte strings of one length as digests are,
    and are among what is read, or texts. A range is read from both ends up to what is damaged, and
    then, but of texts, the halves of what is between.
    """
    ranges = deque([within])
    for _ in range(_TRIES):
        if not ranges:
            return
        first, last = ranges.popleft()
        upwards, is_whole = _read_until_damage(connection, table, key, (first, last), "ASC")
        yield from upwards
        if is_whole:
            continue
        if isinstance(last, str):
            yield from _read_until_damage(connection, table, key, (first, last), "DESC")[0]
            continue
        if upwards:
            first = _shift(upwards[-1][0], 1)
        downwards, _ = _read_until_damage(connection, table, key, (first, last), "DESC")
        yield from downwards
        if downwards:
            last = _shift(downwards[-1][0], -1)
        if first < last:
            middle = _middle(first, last)
            ranges += [(first, middle), (_shift(middle, 1), last)]


def _read_until_damage(
    connection: Connection, table: str, key: str, within: tuple[Any, Any], order: str
) -> tuple[list[Row], bool]:
    """Return the rows of a range up to the first unreadable one, and whether all were read."""
    question = f"SELECT * FROM {table} WHERE {key} BETWEEN ? AND ? ORDER BY {key} {order}"  # noqa: S608 -- names of ours
    sound: list[Row] = []
    try:
        sound.extend(connection.execute(question, within))
    except Error as error:
        if not is_damage(error):
            raise
        return sound, False
    return sound, True


def _middle(first: Any, last: Any) -> Any:  # noqa: ANN401 -- as SQLite's values
    """Return the middle key of a range."""
    if isinstance(first, int):
        return (first + last) // 2
    return _middle(int.from_bytes(first), int.from_bytes(last)).to_bytes(len(first))


def _shift(value: Any, by: int) -> Any:  # noqa: ANN401 -- as SQLite's values
    """Return the value increased by `by`; byte strings change only between extremes."""
    if isinstance(value, int):
        return value + by
    most = (1 << (8 * len(value))) - 1
    return min(max(int.from_bytes(value) + by, 0), most).to_bytes(len(value))
