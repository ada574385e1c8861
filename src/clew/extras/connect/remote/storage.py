"""Read files through fsspec: s3://, gs://, az://, github://, sftp://, zip://, memory://.

Needs the extra `remote`. Object storage is read by obstore, with the settings of its own variables,
such as AWS_ACCESS_KEY_ID; some others need a package that fsspec names.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from clew.base.runtime.lazy import needs
from clew.base.types import Skipped
from clew.errors import InputError, UnreadableSource
from clew.readers.remote import Entry, RemotePlace, to_seconds
from clew.readers.walk import os_reason

_OBJECTS = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "azure", "adl")
_MARKS = ("ETag", "e_tag", "etag", "md5Hash", "sha", "CRC", "LastModified", "last_modified",
          "mtime", "updated", "created", "date_time")  # fmt: skip
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")
_ERRORS = {
    "aiohttp.client_exceptions": "ClientError",
    "lzma": "LZMAError",
    "obstore.exceptions": "BaseError",
    "paramiko.ssh_exception": "SSHException",
    "tarfile": "TarError",
    "zipfile": "BadZipFile",
    "zlib": "error",
}


def list_entries(place: RemotePlace) -> Iterator[Entry | Skipped]:
    """Yield the file, or the files below the address, ordered by path.

    Raises InputError for an address that nothing here can read, UnreadableSource where what is
    behind it does not answer.
    """
    files, path = _open(place)
    try:
        if files.isfile(path):
            yield _entry(place, files, files.info(path), "")
            return
        infos = files.find(path, detail=True)
    except _errors() as error:
        raise UnreadableSource(place.id, _reason(error)) from None
    if not infos:
        raise UnreadableSource(place.id, "holds no file, or is not there")
    root = files._strip_protocol(path).strip("/")  # noqa: SLF001 -- paths are given without it, too
    for name, info in sorted(infos.items()):
        below = name.strip("/").removeprefix(root).strip("/")
        yield _entry(place, files, info, below)


def _open(place: RemotePlace) -> tuple[Any, str]:
    """Return the file system and the path within it."""
    with needs("fsspec", "remote", f"reading {place.id}"):
        from fsspec.core import url_to_fs
    scheme = place.address.rpartition("::")[2].partition("://")[0]
    options: dict[str, Any] = {}
    if scheme in _OBJECTS:
        with needs("obstore", "remote", f"reading {place.id}"):
            from obstore.fsspec import register
        register(scheme)
        is_plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        options = {"client_options": {"allow_http": True}} if is_plain else {}
    try:
        files, path = url_to_fs(place.address, **options)
    except ImportError as error:
        raise InputError(f"{place.id} needs another package: {error}") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{place.id} is not an address that can be read: {error}") from None
    except _errors() as error:
        raise UnreadableSource(place.id, _reason(error)) from None
    return files, path


def _errors() -> tuple[type[Exception], ...]:
    """Return the exception classes of the loaded file system packages."""
    modules = {name: sys.modules.get(name) for name in _ERRORS}
    return (
        OSError,
        EOFError,
        ValueError,
        *(getattr(m, _ERRORS[name]) for name, m in modules.items() if m is not None),
    )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return os_reason(error)
    return f"cannot be read: {' '.join(str(error).split())[:200]}"


def _entry(place: RemotePlace, files: Any, info: Mapping[str, Any], below: str) -> Entry:  # noqa: ANN401
    marks = [str(info[name]) for name in _MARKS if info.get(name) not in (None, "")]
    size, path = int(info.get("size") or 0), PurePosixPath(below or place.id)
    return Entry(
        id=f"{place.id}/{below}" if below else place.id,
        below=below,
        suffix="".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else [path.suffix]),
        fetch=partial(_fetch, place, files, str(info["name"])),
        fingerprint=f"{size} {' '.join(marks)}" if marks else "",
        size=size,
        modified=next((_seconds(info[name]) for name in _TIMES if info.get(name)), 0.0),
    )


def _seconds(moment: object) -> float:
    if isinstance(moment, str):
        return to_seconds(moment)
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float(moment) if isinstance(moment, int | float) else 0.0


def _fetch(place: RemotePlace, files: Any, name: str, path: Path) -> Path:  # noqa: ANN401
    try:
        files.get_file(name, str(path))
    except _errors() as error:
        raise UnreadableSource(f"{place.id}: {name}", _reason(error)) from None
    return path
