"""Immutable files in object storage, of which copies are kept on this disk, up to a bound."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InputError, StoreError
from clew.private import make_folder, make_inner_folder
from clew.store.postgres.address import cache_root
from clew.store.segments import MissingSegment

try:
    import obstore
    from obstore import exceptions
    from obstore.store import LocalStore, from_url
except ImportError as error:
    raise InputError(
        "object storage needs obstore: install it with pip install 'clew[postgres]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_MB = 20_000  # of copies, where CLEW_CACHE_MB says nothing
_RETRIES: dict[str, Any] = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
_CLIENT: dict[str, Any] = {"connect_timeout": "10s", "timeout": "300s"}
_WAITS_S = (0.1, 0.3, 1.0)  # for an object that is named and is not to be seen yet
_PIECE = 8 << 20
_FOLDERS = ("segments", "cached")


class Objects:
    """The files of one index; their names have a folder, such as "segments/0001-000003".

    `url` is an address of object storage (s3://, gs://, az://, whose keys come from the usual
    variables of the environment) or a folder; `prefix` is the index's own part of it, and `folder`
    is where copies are.
    """

    def __init__(self, url: str, prefix: str, folder: Path) -> None:
        self._shown = url
        self._prefix = prefix
        self.folder = folder
        make_folder(folder.parent)
        make_folder(folder)
        self._store = _opened(url)

    def put(self, name: str) -> None:
        """Upload the copy of a file, durable when this returns."""
        try:
            obstore.put(self._store, self._key(name), self.folder / name)
            if isinstance(self._store, LocalStore):
                with Path(self._shown, self._key(name)).open("rb") as file:
                    os.fsync(file.fileno())
        except (exceptions.BaseError, OSError, ValueError) as error:
            raise self._failed("cannot be written", error) from error

    def get(self, name: str) -> Path:
        """Return the copy of a file, downloaded where there is none.

        Raises MissingSegment where there is no such file, StoreError where it cannot be had.
        """
        path = self.folder / name
        with suppress(OSError):
            os.utime(path)  # those that were used last stay longest
            return path
        for wait in (*_WAITS_S, None):
            try:
                return self._download(name, path)
            except FileNotFoundError as error:
                if wait is None:
                    raise MissingSegment(
                        f"{name} is missing in {self._shown}: restore it, or index again"
                    ) from error
                time.sleep(wait)
            except (exceptions.BaseError, ValueError) as error:
                raise self._failed("cannot be read", error) from error
        raise AssertionError

    def _download(self, name: str, path: Path) -> Path:
        found = obstore.get(self._store, self._key(name))
        own = path.with_name(f"{os.getpid()}-{threading.get_ident()}.tmp")
        try:
            make_inner_folder(path.parent)
            with own.open("wb") as file:
                for piece in found.stream(min_chunk_size=_PIECE):
                    file.write(piece)
            if own.stat().st_size != found.meta["size"]:
                raise StoreError(f"{name} in {self._shown} was cut off: try again")
            own.replace(path)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be written ({error.strerror or error}): free some space, or name"
                f" another folder with CLEW_CACHE"
            ) from error
        finally:
            own.unlink(missing_ok=True)
        trim(keep=path)
        return path

    def delete(self, names: Iterable[str]) -> None:
        """Delete files, and their copies here; one that is not there is none to delete."""
        for name in names:
            try:
                obstore.delete(self._store, self._key(name))
            except FileNotFoundError:
                pass
            except (exceptions.BaseError, OSError, ValueError) as error:
                raise self._failed("cannot be deleted", error) from error
            with suppress(OSError):  # Windows keeps what a reader has open
                (self.folder / name).unlink()

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def _failed(self, what: str, error: Exception) -> StoreError:
        reason = str(error).partition("\n\nDebug source")[0]
        reason = " ".join(reason.split())
        return StoreError(
            f"files in {self._shown} {what} ({reason:.300}): see that it answers and that its keys"
            f" are in the environment, and try again; what was committed is kept"
        )


def _opened(url: str) -> Any:  # noqa: ANN401 -- obstore has a class for each kind
    if "://" not in url:
        try:
            Path(url).mkdir(mode=0o700, parents=True, exist_ok=True)
            return LocalStore(url)
        except OSError as error:
            raise StoreError(f"{url} cannot be made ({error.strerror}): name another") from error
    client = dict(_CLIENT)
    if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        client["allow_http"] = True
    try:
        return from_url(url, client_options=client, retry_config=_RETRIES)  # type: ignore[call-overload]
    except (exceptions.BaseError, ValueError) as error:
        reason = " ".join(str(error).partition("\n\nDebug source")[0].split())
        raise InputError(
            f"{url} names no object storage ({reason}): it is s3://BUCKET/PREFIX, gs://BUCKET/PREFIX,"
            f" az://CONTAINER/PREFIX or a folder"
        ) from error


def trim(keep: Path) -> None:
    """Delete the copies of all indexes that were used longest ago, while there are too many.

    What is open stays readable, and what is asked for again is downloaded again.
    """
    most = _most_bytes()
    found = []
    for folder in _FOLDERS:
        for path in cache_root().glob(f"*/*/{folder}/*"):
            with suppress(OSError):
                state = path.stat()
                found.append((state.st_mtime_ns, str(path), state.st_size))
    total = sum(size for _, _, size in found)
    for _, name, size in sorted(found):
        if total <= most:
            return
        if name != str(keep):
            with suppress(OSError):
                Path(name).unlink()
                total -= size


def _most_bytes() -> int:
    given = os.environ.get("CLEW_CACHE_MB", "")
    if not given:
        return _MOST_MB << 20
    if not given.isascii() or not given.isdigit():
        raise InputError(f"CLEW_CACHE_MB is a number of megabytes, not {given!r:.40}")
    return int(given) << 20
