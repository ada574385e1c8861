"""The indexes of a server: those that it was started with, and those made at run time."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from clew.api import open_index
from clew.errors import InputError, NotAnIndex
from clew.server.errors import not_found
from clew.server.settings import check_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.api import Index
    from clew.index import Settings
    from clew.server.books import Books
    from clew.server.settings import ServerSettings


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
        folder = self.folder(name)
        with self._lock:
            found = self._open.get(name)
            if found is None or found.folder != folder:
                found = self._open[name] = self._opener(
                    folder, specs=self._settings.specs, prices=self._settings.prices
                )
            return found

    def make(self, name: str, settings: Settings | None = None) -> Index:
        """Make an empty index in the server's home. Raises InputError where there is one."""
        check_name(name)
        if name in self.folders():
            raise InputError(f"there is an index {name!r} already: take another name")
        folder = Path("indexes", f"{name}.clew")
        with self._books.writing() as connection:
            connection.execute("INSERT INTO own_index VALUES (?, ?)", (name, str(folder)))
        index = self._opener(
            self._settings.home / folder,
            specs=self._settings.specs,
            settings=settings,
            prices=self._settings.prices,
        )
        with self._lock:
            self._open[name] = index
        return index

    def drop(self, name: str) -> None:
        """Delete an index that was made here, with its files; another one is only let go of.

        Raises InputError for one that the server was started with.
        """
        if name in self._settings.indexes:
            raise InputError(
                f"the index {name!r} was named when the server was started: it is not the server's"
                f" to delete"
            )
        folder = self.folder(name)
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
        return self._settings.home / "files" / check_name(name)

    def check(self) -> None:
        """Raise NotAnIndex for a folder that was named and holds no index."""
        for name, folder in self._settings.indexes.items():
            if not (folder / "index.sqlite").exists() and not (folder / "store.json").exists():
                raise NotAnIndex(
                    f"{folder} holds no index to serve as {name!r}: make it with 'clew index'"
                )

    def close(self) -> None:
        with self._lock:
            for each in self._open.values():
                each.close()
            self._open.clear()
