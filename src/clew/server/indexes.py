"""The indexes of a server: those that it was started with, and those made at run time."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.api import open_index
from clew.errors import InputError, NotAnIndex
from clew.server.errors import Refusal, not_found
from clew.server.jobs.queue import JobQueue
from clew.server.settings import check_name
from clew.store import opening

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.api import Index
    from clew.index import Settings
    from clew.loading import Specs
    from clew.server.books import Books
    from clew.server.settings import ServerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What an index is opened with, in the server or in the process of a job."""

    folder: Path
    specs: Specs
    settings: Settings | None  # of an index that is not made yet


class Indexes:
    """Opened indexes by name; any number of threads may use them."""

    def __init__(
        self, settings: ServerSettings, books: Books, opener: Callable[..., Index] = open_index
    ) -> None:
        self._opener = opener
        self._settings = settings
        self._books = books
        self._open: dict[str, Index] = {}
        self._lock = threading.Lock()

    def folders(self) -> dict[str, Path]:
        """Return the folder of each index, by name."""
        own = self._books.rows("SELECT name, folder FROM own_index ORDER BY name")
        made = {name: self._settings.home / folder for name, folder in own}
        return dict(sorted({**made, **self._settings.indexes}.items()))

    def folder(self, name: str) -> Path:
        """Return the folder of an index. Raises a refusal, 404, where there is none."""
        found = self.folders().get(name)
        if found is None:
            raise not_found(f"there is no index {name!r:.80} here")
        return found

    def get(self, name: str) -> Index:
        """Return an index, opened. Raises a refusal, 404, where there is none."""
        wanted = self.opening(name)
        with self._lock:
            found = self._open.get(name)
            if found is None or found.folder != wanted.folder:
                found = self._open[name] = self._opened(wanted)
            return found

    def opening(self, name: str) -> Opening:
        """Return what an index is opened with. Raises a refusal, 404, where there is none."""
        folder, specs = self.folder(name), self._settings.specs
        rows = self._books.rows("SELECT made_with FROM own_index WHERE name = ?", (name,))
        with_ = json.loads(rows[0][0]) if rows and name not in self._settings.indexes else {}
        if with_.get("embedder"):
            specs = replace(specs, embedder=with_["embedder"])
        # What an index was made with stands in its recipe, where settings would be compared.
        settings = None if opening.exists(folder) else settings_of(with_.get("settings"))
        return Opening(folder=folder, specs=specs, settings=settings)

    def _opened(self, wanted: Opening) -> Index:
        return self._opener(
            wanted.folder,
            specs=wanted.specs,
            settings=wanted.settings,
            prices=self._settings.prices,
        )

    @contextmanager
    def writing(self, name: str) -> Iterator[Index]:
        """Give an index to write to for a moment; its write lock is free again behind the block.

        It is opened anew: those that read go on. Raises IndexLocked where another process writes.
        """
        index = self._opened(self.opening(name))
        try:
            yield index
        finally:
            index.close()

    def make(self, name: str, settings: Settings | None = None, *, embedder: str = "") -> Index:
        """Make an empty index in the server's home. Raises InputError where there is one."""
        check_name(name)
        if name in self.folders():
            raise InputError(f"there is an index {name!r} already: take another name")
        folder = Path("indexes", f"{name}.clew")
        with_ = {"settings": None if settings is None else asdict(settings), "embedder": embedder}
        with self._books.writing() as connection:
            row = (name, str(folder), json.dumps(with_))
            connection.execute("INSERT INTO own_index VALUES (?, ?, ?)", row)
        return self.get(name)

    def drop(self, name: str) -> None:
        """Delete an index that was made here, with its files; another one is only let go of.

        Jobs that wait for it are cancelled. Raises InputError for one that the server was started
        with, and a refusal, 409, while a job of it runs.
        """
        if name in self._settings.indexes:
            raise InputError(
                f"the index {name!r} was named when the server was started: it is not the server's"
                f" to delete"
            )
        folder = self.folder(name)
        if not JobQueue(self._books).end_all(folder.resolve()):
            raise Refusal(
                HTTPStatus.CONFLICT,
                "index_locked",
                f"a job of the index {name!r} is running: cancel it first",
            )
        with self._lock:
            opened = self._open.pop(name, None)
        if opened is not None:
            opened.close()
        with self._books.writing() as connection:
            connection.execute("DELETE FROM own_index WHERE name = ?", (name,))
        for each in (folder, self.files(name)):
            shutil.rmtree(each, ignore_errors=True)

    def files(self, name: str) -> Path:
        """Return the folder of the files that were uploaded into an index."""
        return self._settings.home.resolve() / "files" / check_name(name)

    def check(self) -> None:
        """Raise NotAnIndex for a folder that was named and holds no index."""
        for name, folder in self._settings.indexes.items():
            if not opening.exists(folder):
                raise NotAnIndex(
                    f"{folder} holds no index to serve as {name!r}: make it with 'clew index'"
                )

    def close(self) -> None:
        with self._lock:
            for each in self._open.values():
                each.close()
            self._open.clear()


def settings_of(plain: Mapping[str, Any] | None) -> Settings | None:
    """Return settings as `asdict` made them plain."""
    if plain is None:
        return None
    from clew.index import Settings
    from clew.text.chunking import Chunking

    return Settings(**{**plain, "chunking": Chunking(**plain["chunking"])})
