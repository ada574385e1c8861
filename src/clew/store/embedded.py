"""The embedded store: one folder, no server.

index.sqlite    documents, entity keys, terms, settings; its transaction is the commit point
generation.json the newest generation, by which a loss of commits is seen
segments/NNN    what one commit added, as arrays; every eight of a size become one
cached/NAME-N   arrays that were computed from generation N, and can be again
writer.lock     held while a process writes
"""

from __future__ import annotations

import logging
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from clew.errors import DamagedIndex, NotAnIndex, StoreError
from clew.private import make_folder, make_inner_folder
from clew.store import schema, segments
from clew.store.cache import FOLDER as _CACHED
from clew.store.cache import FileCache
from clew.store.database import (
    FILE,
    FORMAT,
    LOCK,
    NEWEST,
    Database,
    Salvaged,
    Segment,
    WriterLock,
    is_blank,
)
from clew.store.repair import StandIns, stand_ins
from clew.types import KINDS, Batch, Document, Scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.store import Compacted, Touched, View
    from clew.store.segments import Arrays, Blocks

_log = logging.getLogger(__name__)
NAMED_IN = "store.txt"  # names the store of a folder that is none itself
_SEGMENTS = "segments"
_RENAMED = {"halvings": "subchunk_depth"}  # what a recipe of an earlier version has
_FORMER = "frozen"  # where an earlier version kept what it computed
_ATTEMPTS = 5  # to open a generation while a compaction replaces its files
_FAN_IN = 8  # segments of one level that are merged into one of the next
_BESIDE = re.compile(r"-(?:wal|shm|journal)$")  # what SQLite keeps beside a file of ours
_COMPACTED = -1  # the level of a compacted segment, which is never merged


class EmbeddedStore:
    """A store in a folder. The first write takes the writer's lock and keeps it until `close`.

    Threads may take views and ask for the generation while one of them writes.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self._folder = folder
        self._database = database
        self._seen_by_readers = Database(folder)
        self._lock: WriterLock | None = None
        self._recipe = _renamed(database.meta("recipe"), int(database.meta("format")))
        self.cache = FileCache(folder)

    @classmethod
    def create(cls, folder: Path, recipe: Mapping[str, Scalar]) -> Self:
        """Make an index in `folder`, which must be new, empty or an index already."""
        if folder.exists() and not folder.is_dir():
            raise NotAnIndex(f"{folder} is a file: name a folder for the index")
        try:
            if folder.exists() and not cls.exists(folder) and _has_foreign_files(folder):
                raise NotAnIndex(f"{folder} holds other files: name a new or empty folder")
            make_folder(folder)
        except OSError as error:
            raise StoreError(f"{folder} cannot be used ({error.strerror}): name another") from error
        return cls(folder, Database(folder, recipe=recipe))

    @staticmethod
    def exists(folder: Path) -> bool:
        """Say whether `folder` looks like an index."""
        return not is_blank(folder / FILE)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the index in `folder`. Raises NotAnIndex where there is none."""
        return cls(folder, Database(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def recipe(self) -> Mapping[str, Scalar]:
        return self._recipe

    def settle(self, more: Mapping[str, Scalar | None]) -> None:
        self._write_lock()
        recipe = {name: value for name, value in self._recipe.items() if name not in more}
        recipe |= {name: value for name, value in more.items() if value is not None}
        with self._database.transaction():
            self._database.set_meta("recipe", recipe)
        self._recipe = recipe

    @property
    def generation(self) -> int:
        """The newest generation that is committed; no write that goes on makes this wait."""
        return int(self._seen_by_readers.meta("generation"))

    def hashes(self, ids: Sequence[str] | None = None) -> Mapping[str, str]:
        return self._database.hashes(ids)

    def unnamed(self, keys: Sequence[str]) -> list[int]:
        named = self._database.named(keys)
        return [i for i, key in enumerate(keys) if key not in named]

    def lock(self) -> None:
        self._write_lock()

    def commit(self, batch: Batch, hashes: Sequence[str]) -> int:
        self._write_lock()
        self._merge()
        with self._committing():
            keys = {
                "entity": self._database.add_keys("entity", batch.entities),
                "term": self._database.add_keys("term", batch.terms),
            }
            first = Counter(document=self._database.count("document"))
            for segment in self._database.segments():
                first.update(segment.counts)
            arrays = schema.placed(batch, keys, first, self._recipe)
            self._write(arrays, level=0)
            self._database.add_documents(batch.documents, hashes)
            if "name.entity" in arrays:
                self._database.set_named(arrays["name.entity"].tolist())
            self._drop_work(arrays)
            return self._advance()

    def _drop_work(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        for number, kind in enumerate(KINDS if "extraction.chunk" in arrays else ()):
            done = arrays["extraction.chunk"][arrays["extraction.kind"] == number]
            self._database.drop_work(kind, done.tolist())

    def _write(self, arrays: Mapping[str, NDArray[Any] | Blocks], *, level: int) -> None:
        """Write a segment and register it, inside a transaction."""
        number = int(self._database.meta("next_segment") or 0)
        name = f"{number:06d}"
        segments.write(self._path(name), arrays)
        self._database.add_segment(Segment(name, level, schema.counts(arrays)))
        self._database.set_meta("next_segment", number + 1)
        self._database.set_format(self._recipe)

    def _merge(self) -> None:
        """Put the newest segments end to end while there are many of one size.

        So an index of n commits has O(log n) segments: few files to open, however long a run is.
        No row changes its number, and so no generation begins.
        """
        while True:
            stored = self._database.segments()
            newest = stored[-_FAN_IN:]
            if len(newest) < _FAN_IN or len({segment.level for segment in newest}) > 1:
                return
            try:
                parts = [segments.read(self._path(segment.name)) for segment in newest]
                with self._database.transaction():
                    self._database.drop_segments(segment.name for segment in newest)
                    arrays = segments.joined([schema.Coded(part, self._recipe) for part in parts])
                    self._write(arrays, level=newest[0].level + 1)
            except DamagedIndex as error:
                _log.warning("segments are not merged (%s)", error)
                return
            self._sweep()

    def _path(self, name: str) -> Path:
        return self._folder / _SEGMENTS / f"{name}{segments.SUFFIX}"

    def note(self, name: str) -> Mapping[str, Any]:
        return dict(self._database.meta(name) or {})

    def set_note(self, name: str, values: Mapping[str, Any]) -> None:
        self._write_lock()
        with self._database.transaction():
            self._database.set_meta(name, dict(values))

    def work(self, kind: str) -> Mapping[int, int]:
        return self._database.work(kind)

    def set_work(self, kind: str, packs: Mapping[int, int], *, anew: bool = False) -> None:
        self._write_lock()
        with self._database.transaction():
            if anew:
                self._database.drop_work(kind, self._database.work(kind))
            self._database.set_work(kind, packs)

    def aliases(self) -> Mapping[str, str]:
        return self._database.aliases()

    def set_aliases(self, targets: Mapping[str, str | None]) -> int:
        with self._committing():
            for key, target in targets.items():
                self._database.set_alias(key, target)
            return self._advance()

    def revive(self, hashes: Mapping[str, str]) -> list[str]:
        with self._committing():
            back = [i for i, content in hashes.items() if self._database.revive(i, content)]
            if back:
                self._advance()
        return back

    def rename(self, documents: Mapping[str, Document]) -> list[str]:
        with self._committing():
            renamed = [i for i, new in documents.items() if self._database.rename(i, new)]
            if renamed:
                self._advance()
        return renamed

    def restate(self, documents: Sequence[Document], hashes: Sequence[str]) -> None:
        with self._committing():
            self._database.restate(documents, hashes)
            self._advance()

    def remove(self, ids: Sequence[str]) -> list[str]:
        with self._committing():
            gone = self._database.kill(ids)
            if gone:
                self._advance()
        return gone

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """Run the block as one transaction that may lead to another generation."""
        self._write_lock()
        with self._database.transaction():
            yield
        self._database.tell_generation()

    def _advance(self) -> int:
        generation = int(self._database.meta("generation")) + 1
        self._database.set_meta("generation", generation)
        return generation

    def rewrite(self, live: Compacted) -> None:
        with self._committing():
            self._database.replace_all(
                live.documents.tolist(), live.entities.tolist(), live.terms.tolist()
            )
            self._database.replace_work(live.chunks.tolist())
            self._database.set_named(live.named)
            self._database.set_meta("numbering", int(self._database.meta("numbering")) + 1)
            if len(live.documents):
                self._write(live.arrays, level=_COMPACTED)
            self._database.set_meta("compacted", self._advance())
        self._sweep()
        self._database.vacuum()

    def view(self) -> View:
        for _ in range(_ATTEMPTS - 1):
            with suppress(segments.MissingSegment):  # a compaction came between
                return self.view_of()
        return self.view_of()

    def view_of(self, given: Sequence[Arrays] | None = None) -> FolderView:
        """Return the newest generation, with the segments of the folder or with those `given`."""
        database = Database(self._folder)
        try:
            database.freeze()
            if given is None:
                given = [segments.read(self._path(each.name)) for each in database.segments()]
            return FolderView(database, self._recipe, given)
        except BaseException:
            database.close()
            raise

    def stand_ins(self) -> StandIns:
        """Return the segments with zeros in place of what is damaged, and whose rows that are."""
        registered = self._database.segments()
        n_documents = self._database.count("document")
        named = self._database.all_named()
        return stand_ins(self._folder / _SEGMENTS, registered, n_documents, named)

    def salvaged(self) -> Salvaged:
        """Return what can be read of a damaged database."""
        return self._database.salvaged()

    def _write_lock(self) -> None:
        if self._lock is None:
            self._lock = WriterLock(self._folder)
            self._sweep()
            self.sweep()
            segments.sweep(self._folder / _FORMER, ())

    def sweep(self) -> None:
        if self._lock is not None:
            self.cache.drop(before=self._database.meta("compacted") or 0)
            with self._database.transaction():
                self._database.forget_touched(until=self.cache.oldest(self.generation))

    def _sweep(self) -> None:
        """Delete the segments that no transaction registered, or that one has replaced."""
        names = [segment.name for segment in self._database.segments()]
        segments.sweep(self._folder / _SEGMENTS, names)

    def close(self) -> None:
        self.cache.let_go()
        self._seen_by_readers.close()
        self._database.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


class FolderView:
    """One generation of a folder: a read transaction, and its segments mapped into memory."""

    def __init__(
        self, database: Database, recipe: Mapping[str, Scalar], found: Sequence[Arrays]
    ) -> None:
        self._database = database
        self.recipe = recipe
        self.segments = found
        self.generation = int(database.meta("generation"))
        self.numbering = int(database.meta("numbering"))

    def live_documents(self) -> Sequence[tuple[str, int]]:
        return self._database.live_documents()

    def documents(self, rows: Sequence[int], *, texts: bool = True) -> list[Document]:
        self._database.leave_log()
        return self._database.documents(rows, texts=texts)

    def keys(self, table: str, rows: Sequence[int]) -> list[str]:
        return self._database.keys(table, rows)

    def rows(self, table: str, keys: Sequence[str]) -> Mapping[str, int]:
        return self._database.rows(table, keys)

    def count(self, table: str) -> int:
        return self._database.count(table)

    def aliases(self) -> Mapping[str, str]:
        return self._database.aliases()

    def touched(self, since: int, first: int) -> Sequence[Touched] | None:
        return self._database.touched(since, first)

    def close(self) -> None:
        self._database.close()


def replace_files(folder: Path, place: Path) -> None:
    """Put the index in `place`, a folder below, in the place of that in a folder.

    The files that were there go into the folder `damaged`.
    """
    aside = folder / "damaged"
    make_inner_folder(aside)
    for path in (*folder.glob(f"{FILE}*"), *(folder / n for n in (NEWEST, _SEGMENTS, _CACHED))):
        if path.exists():
            target = aside / path.name
            if target.is_dir():
                shutil.rmtree(target)
            path.replace(target)
    for name in (_SEGMENTS, _CACHED, NEWEST, FILE):  # the database is the last: it makes an index
        if (place / name).exists():
            (place / name).replace(folder / name)
    shutil.rmtree(place)


def _renamed(recipe: Mapping[str, Scalar], version: int) -> dict[str, Scalar]:
    """Return a recipe with the names that it has now, and the defaults of those that came later.

    What is written to an index of an earlier format has the present default of tokens' bits, unless
    it was made with others than the default of then.
    """
    named = {_RENAMED.get(name, name): value for name, value in recipe.items()}
    if version < FORMAT and named.get("token_bits") == schema.FORMER_TOKEN_BITS:
        del named["token_bits"]
    return {**schema.DEFAULT_BITS, **named}


def _has_foreign_files(folder: Path) -> bool:
    folders = {_SEGMENTS, _CACHED, _FORMER}
    ours = {FILE, LOCK, NEWEST, NAMED_IN, "embeddings.sqlite", "calls.sqlite", *folders}
    return any(_BESIDE.sub("", path.name) not in ours for path in folder.iterdir())
