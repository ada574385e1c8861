"""Immutable files in object storage, with copies on this disk up to a limit of bytes."""

import os
import secrets
import shutil
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from clew.base.runtime.private import make_folder, make_inner_folder, open_file, sync_folder
from clew.errors import DamagedIndex, InputError, StoreError, StoreUnavailable, write_install
from clew.extras.cluster.postgres.address import cache_root
from clew.index.store import segments
from clew.index.store.segments import MissingSegment

try:
    import obstore
    from obstore import exceptions
    from obstore.store import LocalStore, from_url
except ImportError as error:
    raise InputError(
        f"object storage needs obstore: install it with {write_install('postgres')}"
    ) from error

from collections.abc import Iterable, Sequence

from clew.index.store.segments import MappedSegment

MOST_MB = 20_000  # of copies, where CLEW_CACHE_MB says nothing
_RETRIES: dict[str, Any] = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
CLIENT: dict[str, Any] = {"connect_timeout": "10s", "timeout": "120s"}  # of a request
WAITS_S = (0.1, 0.3, 1.0)  # for an object that is named and is not to be seen yet
_PIECE = 8 << 20  # bytes of a file that are one request
_AT_ONCE = 4  # requests, of an upload
_TRIES = 5
_FOLDERS = ("segments", "cached")
_UNFINISHED = ".tmp"
_ABANDONED_S = 3600


class _NoObject(Exception):
    """The file does not exist, or is not visible yet."""


class Objects:
    """The files of one index; their names have a folder, such as "segments/0001-000003".

    `url` is an address of object storage (s3://, gs://, az://, whose keys come from the usual
    variables of the environment) or a folder; `prefix` is the index's own part of it, and `folder`
    is where copies are.
    """

    def __init__(self, url: str, prefix: str, folder: Path) -> None:
        _most_bytes()  # said now, and not behind the first upload
        self._shown = url
        self._prefix = prefix
        self.folder = folder
        make_folder(folder.parent)
        make_folder(folder)
        self._store = _open_storage(url)

    def new(self, name: str) -> Path:
        """Return a temporary path for a file to upload."""
        return _temporary_path(self.folder / name)

    def put(self, name: str, path: Path) -> None:
        """Upload a file durably, and keep it as the local copy."""
        try:
            obstore.put(
                self._store, self._key(name), path, chunk_size=_PIECE, max_concurrency=_AT_ONCE
            )
            if isinstance(self._store, LocalStore):
                stored = Path(self._shown, self._key(name))
                with stored.open("rb") as file:
                    os.fsync(file.fileno())
                sync_folder(stored.parent)
            path.replace(self.folder / name)
        except (exceptions.BaseError, OSError, ValueError) as error:
            if path.suffix == _UNFINISHED:
                path.unlink(missing_ok=True)
            raise self._to_store_error("cannot be written", error) from error
        trim(keep=self.folder / name)

    def open_arrays(self, name: str, waits: Sequence[float] | None = None) -> MappedSegment:
        """Open the arrays of a file; a damaged copy is downloaded again.

        Raises MissingSegment if there is no such file, DamagedIndex if it is damaged itself,
        StoreError if it cannot be fetched.
        """
        for _ in range(_TRIES):  # another process may delete the copy right now
            path = self.get(name, waits)
            try:
                return segments.open_segment(path, mend=partial(self.mend, name))
            except MissingSegment:
                continue
            except DamagedIndex:
                path.unlink(missing_ok=True)
        return segments.open_segment(self.get(name))

    def mend(self, name: str) -> bool:
        """Overwrite a damaged, memory-mapped copy of a file; return whether that succeeded."""
        path = self.folder / name
        own = _temporary_path(path)
        try:
            self.fetch(name, own)
            with own.open("rb") as whole, path.open("r+b") as copy:
                shutil.copyfileobj(whole, copy, _PIECE)
        except (StoreError, OSError):
            return False
        finally:
            own.unlink(missing_ok=True)
        return True

    def get(self, name: str, waits: Sequence[float] | None = None) -> Path:
        """Return the local copy of a file, downloading it if missing.

        `waits` are seconds to wait for a file that is not visible yet. Raises MissingSegment if
        there is none, StoreError if it cannot be fetched.
        """
        path = self.folder / name
        with suppress(OSError):
            os.utime(path)  # those that were used last stay longest
            return path
        own = _temporary_path(path)
        try:
            self.fetch(name, own, WAITS_S if waits is None else waits)
            own.replace(path)
        except OSError as error:
            raise _write_error(path, error) from error
        finally:
            own.unlink(missing_ok=True)
        trim(keep=path)
        return path

    def fetch(self, name: str, target: Path, waits: Sequence[float] = ()) -> None:
        """Download a file to `target`, as `get` does."""
        for wait in (*waits, None):
            try:
                return self._download(name, target)
            except _NoObject as error:
                if wait is None:
                    raise MissingSegment(
                        f"{name} is missing in {self._shown}: restore it, or rebuild the index"
                    ) from error
                time.sleep(wait)
        raise AssertionError

    def _download(self, name: str, target: Path) -> None:
        """Download a file in pieces, each with a timeout of its own."""
        start, size = 0, 1
        try:
            make_inner_folder(target.parent)
            with open_file(target) as file:
                while start < size:
                    piece, size = self._piece(name, start)
                    file.write(piece)
                    start += len(piece)
        except OSError as error:
            raise _write_error(target, error) from error

    def _piece(self, name: str, start: int) -> tuple[obstore.Bytes, int]:
        """Return a piece of a file, and the size of the whole file."""
        try:
            options: Any = {"range": (start, start + _PIECE)}
            response = obstore.get(self._store, self._key(name), options=options)
            piece, size = response.bytes(), response.meta["size"]
        except FileNotFoundError as error:
            raise _NoObject from error
        except (exceptions.BaseError, OSError, ValueError) as error:
            raise self._to_store_error("cannot be read", error) from error
        if len(piece) != min(_PIECE, size - start):
            raise StoreError(f"{name} in {self._shown} is incomplete: try again")
        return piece, size

    def size(self, name: str) -> int:
        try:
            return int(obstore.head(self._store, self._key(name))["size"])
        except FileNotFoundError:
            return 0
        except (exceptions.BaseError, OSError, ValueError) as error:
            raise self._to_store_error("cannot be read", error) from error

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            try:
                obstore.delete(self._store, self._key(name))
            except FileNotFoundError:
                pass
            except (exceptions.BaseError, OSError, ValueError) as error:
                raise self._to_store_error("cannot be deleted", error) from error
            with suppress(OSError):  # Windows keeps what a reader has open
                (self.folder / name).unlink()

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def _to_store_error(self, what: str, error: Exception) -> StoreError:
        return StoreUnavailable(
            f"files in {self._shown} {what} ({_reason(error):.300}): see that it answers and that"
            f" its keys are in the environment, and try again; commits are kept"
        )


def _open_storage(url: str) -> Any:  # noqa: ANN401 -- obstore has a class for each kind
    if "://" not in url:
        try:
            Path(url).mkdir(mode=0o700, parents=True, exist_ok=True)
            return LocalStore(url)
        except OSError as error:
            raise StoreError(f"{url} cannot be made ({error.strerror}): name another") from error
    is_plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
    client = CLIENT | ({"allow_http": True} if is_plain else {})
    try:
        return from_url(url, client_options=client, retry_config=_RETRIES)  # type: ignore[call-overload]
    except (exceptions.BaseError, ValueError) as error:
        raise InputError(
            f"{url} is no object storage ({_reason(error)}): use s3://BUCKET/PREFIX, gs://BUCKET/PREFIX,"
            f" az://CONTAINER/PREFIX or a folder"
        ) from error


def _reason(error: Exception) -> str:
    """Return obstore's message without its source location."""
    return " ".join(str(error).partition("\n\nDebug source")[0].split())


def trim(keep: Path) -> None:
    """Delete the least recently used copies of all indexes above the limit.

    What is open stays readable, and what is asked for again is downloaded again.
    """
    most, copies, since = _most_bytes(), [], time.time_ns() - _ABANDONED_S * 10**9
    for folder in _FOLDERS:
        for path in cache_root().glob(f"*/*/{folder}/*"):
            with suppress(OSError):
                state = path.stat()
                if path.suffix != _UNFINISHED:
                    copies.append((state.st_mtime_ns, str(path), state.st_size))
                elif state.st_mtime_ns < since:  # whoever wrote it was killed
                    path.unlink()
    total = sum(size for _, _, size in copies)
    for _, name, size in sorted(copies):
        if total <= most:
            return
        if name != str(keep):
            with suppress(OSError):
                Path(name).unlink()
                total -= size


def _temporary_path(path: Path) -> Path:
    return path.with_name(f"{secrets.token_hex(8)}{_UNFINISHED}")


def _write_error(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be written ({error.strerror or error}): free some space, or name another"
        f" folder with CLEW_CACHE"
    )


def _most_bytes() -> int:
    megabytes = os.environ.get("CLEW_CACHE_MB", "")
    if megabytes and not (megabytes.isascii() and megabytes.isdigit()):
        raise InputError(f"CLEW_CACHE_MB must be a number of megabytes, not {megabytes!r:.40}")
    return int(megabytes or MOST_MB) << 20
