"""The indexes of a server: given at its start, or created at run time."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from clew import Index, Settings, Specs
from clew.errors import AlreadyExists, NotAnIndex, StoreUnavailable
from clew.extras.cluster.shards.index import Shards, open_any
from clew.extras.server.database import ServerDatabase
from clew.extras.server.jobs.queue import JobQueue
from clew.extras.server.scoped_questions import make_shards_refusal
from clew.extras.server.settings import ServerSettings, check_name
from clew.extras.wire.refusals import Refusal, forbidden, no_such_resource
from clew.index.store import opening, sharded

Opener = Callable[..., Index | Shards]


class Indexes:
    """Opened indexes by name; any number of threads may use them."""

    def __init__(
        self, settings: ServerSettings, database: ServerDatabase, opener: Opener = open_any
    ) -> None:
        self._opener = opener
        self._settings = settings
        self._database = database
        self._open: dict[str, Index | Shards] = {}
        self._files: dict[str, int | None] = {}  # what is open of them
        self._folders: dict[str, Path] = dict(settings.indexes)
        self._lock = threading.Lock()

    def list_folders(self) -> dict[str, Path]:
        """Return the folder of each index by name, those given at the start first."""
        own = self._database.read_rows("SELECT name, folder FROM own_index ORDER BY name")
        made = {name: self._find_folder(folder) for name, folder in own}
        given = self._settings.indexes
        self._folders = {**given, **{n: at for n, at in made.items() if n not in given}}
        return self._folders

    def _find_folder(self, written: str) -> Path:
        """Return the folder of an index created at run time, from its row."""
        return opening.folder_of(written) if "://" in written else self._settings.home / written

    def read_generation(self, name: str) -> int:
        """Return the newest generation of an index. Raises StoreError if it is unreadable."""
        if sharded.is_home(self.find_folder(name)):
            return self.get(name).generation
        store = opening.open_store(self.find_folder(name))
        try:
            return store.generation
        finally:
            store.close()

    def find_folder(self, name: str) -> Path:
        """Return the folder of an index. Raises Refusal 404 if it does not exist."""
        folder = self.list_folders().get(name)
        if folder is None:
            raise no_such_resource(f"there is no index {name!r:.80} here")
        return folder

    def get(self, name: str) -> Index | Shards:
        """Return the open index of this name, shared by requests. Raises Refusal 404."""
        with self._lock:
            folder = self.list_folders().get(name)
            file = None if folder is None else opening.find_file(folder)
            # Another process may have deleted it, and made another one.
            if name in self._open and (folder is None or file != self._files[name]):
                self._open.pop(name).close()
            folder = self.find_folder(name)
            index = self._open.get(name)
            if index is None or index.folder != folder:
                self._files[name] = file
                index = self._open[name] = self._open_index(folder)
                if isinstance(index, Index) and opening.address_of(folder) is not None:
                    index.follow()
            return index

    @contextmanager
    def open_writer(self, name: str) -> Iterator[Index]:
        """Open an index for one write, holding its lock: what is read of it is the newest.

        The index that questions read never writes: it would hold that lock as long as it is open.
        Raises IndexLocked.
        """
        with self._open_index(self.find_folder(name)) as index:
            if isinstance(index, Shards):
                raise make_shards_refusal(name)
            index.lock()
            yield index
        with self._lock:
            read = self._open.get(name)
        if isinstance(read, Index) and read.is_open:
            read.catch_up()  # whoever wrote reads what it wrote

    def _open_index(
        self, folder: Path, *, specs: Specs | None = None, settings: Settings | None = None
    ) -> Index | Shards:
        return self._opener(
            folder,
            specs=specs or self._settings.specs,
            settings=settings,
            prices=self._settings.prices,
        )

    def read_titles(self) -> dict[str, str]:
        """Return the titles of indexes created at run time, by name."""
        return dict(self._database.read_rows("SELECT name, title FROM title"))

    def make(
        self,
        name: str,
        settings: Settings | None = None,
        *,
        embedder: str | None = None,
        title: str = "",
    ) -> None:
        """Create an empty index in the server's home. Raises AlreadyExists.

        What it is built with is on disk then, for jobs of other processes.
        """
        check_name(name)
        specs = self._settings.specs
        if embedder is not None:
            specs = replace(specs, embedder=embedder)
        address = opening.address_of(self._settings.home)
        written = f"indexes/{name}.clew" if address is None else address.address_beside(name)
        with self._lock:
            if name in self.list_folders():
                raise AlreadyExists(f"the index {name!r} already exists: choose another name")
            with self._database.writing() as connection:
                connection.execute("INSERT INTO own_index VALUES (?, ?)", (name, written))
                if title:
                    connection.execute("INSERT INTO title VALUES (?, ?)", (name, title))
        place = self._find_folder(written)
        try:
            with self._open_index(place, specs=specs, settings=settings) as index:
                index.add([], changed=[])
        except BaseException:
            self._forget(name)
            shutil.rmtree(place, ignore_errors=True)
            raise

    def _forget(self, name: str) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM own_index WHERE name = ?", (name,))
            connection.execute("DELETE FROM title WHERE name = ?", (name,))

    def is_own(self, name: str) -> bool:
        """Check whether an index was created at run time."""
        return name not in self._settings.indexes

    def drop(self, name: str) -> None:
        """Delete an index created at run time, with its files.

        Jobs that wait for it are cancelled. Raises a refusal, 403 for one that the server was
        started with and 409 while a job of it runs, and IndexLocked while another process writes.
        """
        if not self.is_own(name):
            raise forbidden(f"the index {name!r} is configured at start and cannot be deleted")
        with self._lock:
            folder = self.find_folder(name)
            if not JobQueue(self._database).end_all(folder.resolve()):
                why = f"a job of the index {name!r} is running: cancel it first"
                raise Refusal(409, "index_locked", why)
            if opening.exists(folder):
                store = opening.open_store(folder)
                try:
                    store.lock()
                finally:
                    store.close()
            opened = self._open.pop(name, None)
            self._forget(name)
        if opened is not None:
            opened.close()
        opening.erase(folder)
        shutil.rmtree(self.find_uploads(name), ignore_errors=True)

    def hide_paths(self, text: str) -> str:
        """Replace paths in a text by index names, for callers without `admin`."""
        with suppress(StoreUnavailable):  # which may be what the text tells of
            self.list_folders()
        for name, folder in self._folders.items():
            for path in {opening.describe_place(folder), str(folder), str(folder.resolve())}:
                text = text.replace(path, name)
        home = self._settings.home
        for path in (opening.describe_place(home), str(home)):
            text = text.replace(path, "the server's home")
        return text

    def find_uploads(self, name: str) -> Path:
        """Return the folder of an index's uploaded files."""
        return self._settings.home.resolve() / "files" / check_name(name)

    def check_one(self, name: str) -> None:
        """Raise Refusal 501 for a sharded index, to which no job can write."""
        if sharded.is_home(self.find_folder(name)):
            raise make_shards_refusal(name)

    def check(self) -> None:
        """Raise NotAnIndex for a named folder without an index."""
        for name, folder in self._settings.indexes.items():
            if not (opening.exists(folder) or sharded.is_home(folder)):
                raise NotAnIndex(f"{folder} holds no index to serve as {name!r}: run 'clew index'")

    def close(self) -> None:
        with self._lock:
            for each in self._open.values():
                each.close()
            self._open.clear()
