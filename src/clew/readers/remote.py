"""Read documents from remote places: object storage, databases, sites.

A package registers a module for a scheme (`clew.remote`), or one named "storage" for all others:

    list_entries(place)      an `Entry` for each file, message, page or table, in a fixed order
    IS_QUERIED = True        where a query says what is fetched

An entry is fetched where it is not known from the run before (`clew.readers.unchanged`).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Protocol
from urllib.parse import urlsplit

from clew import plugins
from clew.base.display.addresses import hide_secrets
from clew.base.types import Skipped, Value
from clew.errors import InputError, UnreadableSource
from clew.limits import LIMITS, ReadingLimits
from clew.readers.inputs import Remote
from clew.readers.selection import Selection
from clew.readers.unchanged import UnchangedFiles
from clew.readers.walk import Columns, File, file_stem

_TABLE = re.compile(r"\bFROM\s+[\"`]?(\w+(?:\.\w+)*)", re.IGNORECASE)
_LOCAL = frozenset("duckdb file local memory sqlite tar zip".split())  # on this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An item of a remote place, fetched as one file."""

    id: str
    fetch: Callable[[Path], Path]  # writes it to a file, and returns that; raises UnreadableSource
    suffix: str  # of its format, as far as it is known before
    fingerprint: str = ""  # another one where the content is another; empty: not known
    below: str = ""  # its path below the place, by which it is selected
    size: int = 0
    modified: float = 0.0  # in seconds since 1970; 0: not known
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePlace:
    """A remote address with its options."""

    address: str
    id: str  # the address without what is secret
    sql: str = ""
    limits: ReadingLimits = LIMITS
    knows: Callable[[str, str], bool] = lambda _id, _fingerprint: False  # an entry is as it was


class _Module(Protocol):
    def list_entries(self, place: RemotePlace) -> Iterator[Entry | Skipped]: ...


def check_allowed(remote: Remote, *, web: bool, sql: str) -> None:
    """Raise InputError if a place may not be accessed, or lacks its SQL query."""
    shown = _id_of(remote.address)
    parts = remote.address.split("::")  # a part that is one word is a kind of place, too
    schemes = [part.partition("://")[0] for part in parts if "://" in part or part.isalpha()]
    if not (web or _LOCAL.issuperset(schemes)):
        raise InputError(f"{shown!r} is only fetched with --web, or web=True in Python")
    if getattr(_load_module(remote), "IS_QUERIED", False) != bool(sql):
        why = "needs a query: say one by --sql" if not sql else "is not a database: leave --sql out"
        raise InputError(f"{shown!r} {why}")


def fetch_files(
    remote: Remote,
    selection: Selection,
    unchanged: UnchangedFiles,
    is_readable: Callable[[Path], bool],
    *,
    sql: str = "",
    limits: ReadingLimits = LIMITS,
) -> Iterator[File | Skipped]:
    """Yield the files of a place, each deleted when the next is requested.

    What the `selection` leaves out, what no reader takes and what is as it was is not fetched.
    """
    shown = _id_of(remote.address)
    if sql:  # the rows of another table are another place
        table = _TABLE.search(sql)
        shown = f"{shown}/{table[1] if table else 'rows'}"
    unchanged.open_place(shown)
    place = RemotePlace(
        address=remote.address,
        id=shown,
        sql=sql,
        limits=limits,
        knows=lambda own, fingerprint: unchanged.keep(shown, own, fingerprint),
    )
    try:
        urlsplit(remote.address)
    except ValueError as error:
        raise InputError(f"{shown!r} is not an address: {error}") from None
    try:
        for entry in _load_module(remote).list_entries(place):
            if isinstance(entry, Skipped):
                unchanged.fail(shown, entry.source)
                yield entry
            elif _takes(selection, entry, shown) and not place.knows(entry.id, entry.fingerprint):
                yield from _fetch(entry, place, unchanged, is_readable)
    except UnreadableSource as error:
        unchanged.fail(shown, "")  # nothing is known of what it has
        yield Skipped(source=error.source, reason=error.reason)


def _load_module(remote: Remote) -> _Module:
    """Return the plug-in for a place. Raises InputError if there is none."""
    is_known = remote.scheme in plugins.find_registered("remote")
    kind = remote.scheme if is_known else "storage"
    module: _Module = plugins.load("remote", kind, repr(_id_of(remote.address)))
    return module


def _takes(selection: Selection, entry: Entry, place_id: str) -> bool:
    parts = PurePosixPath(entry.below).parts
    paths = (Path(*parts[:n]) for n in range(1, len(parts) + 1))
    return all(selection.takes(p, p, Path(), f"{place_id}/{p.as_posix()}", None) for p in paths)


def _fetch(
    entry: Entry, place: RemotePlace, unchanged: UnchangedFiles, is_readable: Callable[[Path], bool]
) -> Iterator[File | Skipped]:
    name = file_stem(PurePosixPath(entry.below or entry.id).stem)
    with TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / f"{name}{entry.suffix}"
        if not is_readable(path):
            suffix = entry.suffix.lower()
            yield Skipped(source=entry.id, reason=f"no reader for {suffix} files", unread=suffix)
            return
        try:
            _check_size(entry, place.limits)
            path = entry.fetch(path)
        except UnreadableSource as error:
            unchanged.fail(place.id, entry.id)
            yield Skipped(source=error.source, reason=error.reason)
            return
        yield File(
            path=path,
            id=entry.id,
            source=entry.id,
            named=not entry.below,
            size=path.stat().st_size,
            modified=entry.modified,
            limits=place.limits,
            columns=Columns(),
            place=place.id,
            fingerprint=entry.fingerprint,
            metadata=entry.metadata,
        )


def _check_size(entry: Entry, limits: ReadingLimits) -> None:
    if entry.size > limits.file_bytes:
        raise UnreadableSource(entry.id, f"has {limits.more_than('file_bytes', 'bytes')}")


def _id_of(address: str) -> str:
    """Return an address without password, token and query."""
    parts = hide_secrets(address).split("::")
    return "::".join(part.partition("?")[0] for part in parts).rstrip("/")


def to_seconds(moment: str) -> float:
    """Return an ISO 8601 time as Unix seconds, 0 if invalid; the default zone is UTC."""
    try:
        found = datetime.fromisoformat(moment)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
