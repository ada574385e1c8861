"""The embedded store: one folder, no server.

index.sqlite    documents, entity keys, terms, settings; its transaction is the commit point
segments/NNN    what one commit added, as arrays; every eight of a size become one
frozen/NNN      the assembled links of one generation, so that opening is mapping
frozen/NNN-N    what was computed from a generation and kept
writer.lock     held while a process writes
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from clew.errors import InputError, NotAnIndex, StoreError
from clew.store import compaction, frozen, schema, segments
from clew.store.assemble import assemble
from clew.store.database import FILE, Database, Segment, WriterLock, is_blank, resolved
from clew.store.rows import live_rows
from clew.store.snapshot import Parts, build
from clew.types import KINDS, REFERENCES, Batch, Scalar, Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.store.assemble import Assembly
    from clew.store.segments import Arrays, Blocks

T = TypeVar("T")

_SEGMENTS = "segments"
_ATTEMPTS = 5  # to open a generation while a compaction replaces its files
_FAN_IN = 8  # segments of one level that are merged into one of the next
_BESIDE = re.compile(r"-(?:wal|shm|journal)$")  # what SQLite keeps beside a file of ours
_COMPACTED = -1  # the level of a compacted segment, which is never merged


class EmbeddedStore:
    """A store in a folder. The first write takes the writer's lock and keeps it until `close`.

    Threads may take snapshots and ask for `published` while one of them writes.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self._folder = folder
        self._database = database
        self._seen_by_readers = Database(folder)
        self._lock: WriterLock | None = None
        self._recipe: dict[str, Scalar] = database.meta("recipe")

    @classmethod
    def create(cls, folder: Path, recipe: Mapping[str, Scalar]) -> Self:
        """Make an index in `folder`, which must be new, empty or an index already."""
        if folder.exists() and not folder.is_dir():
            raise NotAnIndex(f"{folder} is a file: name a folder for the index")
        try:
            if folder.exists() and not cls.exists(folder) and _has_foreign_files(folder):
                raise NotAnIndex(f"{folder} holds other files: name a new or empty folder")
            folder.mkdir(parents=True, exist_ok=True)
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
        return int(self._database.meta("generation"))

    @property
    def published(self) -> int:
        """The newest generation that is committed; no write that goes on makes this wait."""
        return int(self._seen_by_readers.meta("generation"))

    def hashes(self) -> Mapping[str, str]:
        return self._database.hashes()

    def unnamed(self, keys: Sequence[str]) -> list[int]:
        named = self._database.named(keys)
        return [i for i, key in enumerate(keys) if key not in named]

    def claim(self) -> None:
        self._write_lock()

    def commit(self, batch: Batch, hashes: Sequence[str]) -> int:
        self._write_lock()
        self._merge()
        with self._database.transaction():
            arrays = self._placed(batch)
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

    def _placed(self, batch: Batch) -> dict[str, NDArray[Any]]:
        """Return the batch's columns with the store's rows; adds its entities and terms."""
        rows = {
            "entity": np.asarray(self._database.add_keys("entity", batch.entities), np.int32),
            "term": np.asarray(self._database.add_keys("term", batch.terms), np.int32),
        }
        first = Counter(document=self._database.count("document"))
        for segment in self._database.segments():
            first.update(segment.counts)
        arrays: dict[str, NDArray[Any]] = {}
        for name, column in batch.columns.items():
            layer = REFERENCES.get(name)
            if name == "extraction.chunk" and batch.documents:
                layer = "chunk"
            if layer in rows:
                local = column.astype(np.int64)
                arrays[name] = np.where(local >= 0, _take(rows[layer], local), -1).astype(np.int32)
            elif layer is not None:
                arrays[name] = (column.astype(np.int64) + first[layer]).astype(np.int32)
            else:
                arrays[name] = column
        return arrays

    def _write(self, arrays: Mapping[str, NDArray[Any] | Blocks], *, level: int) -> None:
        """Write a segment and register it, inside a transaction."""
        number = int(self._database.meta("next_segment") or 0)
        name = f"{number:06d}"
        segments.write(self._path(name), arrays)
        self._database.add_segment(Segment(name, level, schema.counts(arrays)))
        self._database.set_meta("next_segment", number + 1)

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
            parts = [segments.read(self._path(segment.name)) for segment in newest]
            with self._database.transaction():
                self._database.drop_segments(segment.name for segment in newest)
                self._write(segments.joined(parts), level=newest[0].level + 1)
            self._sweep()

    def _path(self, name: str) -> Path:
        return self._folder / _SEGMENTS / f"{name}{segments.SUFFIX}"

    def wanted(self) -> Mapping[str, Scalar]:
        return dict(self._database.meta("wanted") or {})

    def set_wanted(self, wanted: Mapping[str, Scalar]) -> None:
        self._write_lock()
        with self._database.transaction():
            self._database.set_meta("wanted", dict(wanted))

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
        self._write_lock()
        with self._database.transaction():
            for key, target in targets.items():
                self._database.set_alias(key, target)
            return self._advance()

    def revive(self, hashes: Mapping[str, str]) -> list[str]:
        self._write_lock()
        with self._database.transaction():
            back = [i for i, content in hashes.items() if self._database.revive(i, content)]
            if back:
                self._advance()
        return back

    def remove(self, ids: Sequence[str]) -> list[str]:
        self._write_lock()
        with self._database.transaction():
            gone = self._database.kill(ids)
            if gone:
                self._advance()
        return gone

    def _advance(self) -> int:
        generation = self.generation + 1
        self._database.set_meta("generation", generation)
        return generation

    def freeze(self) -> None:
        """Save the newest generation's links, so that readers map them and compute nothing."""
        if frozen.load(self._folder, self._database) is not None:
            return
        self._write_lock()
        generation = self.generation
        assembly = self._assembled(self._database, self._registered(self._database))
        frozen.save(self._folder, generation, assembly)
        with self._database.transaction():
            self._database.set_meta("frozen", generation)
        self._sweep()

    def keep(self, name: str, arrays: Arrays) -> None:
        self._write_lock()
        with self._database.transaction():
            if self._database.meta("frozen") != self.generation:
                raise InputError("only what is computed from a frozen generation can be kept")
            frozen.keep(self._folder, self._database, name, arrays)
        self._sweep()

    def kept(self, name: str) -> Arrays | None:
        return frozen.kept(self._folder, self._database, name)

    def compact(self) -> None:
        self._write_lock()
        rows = _live_rows(self._database)
        live = compaction.compacted(self._registered(self._database), rows)
        with self._database.transaction():
            self._database.replace_all(
                live.documents.tolist(), live.entities.tolist(), live.terms.tolist()
            )
            self._database.replace_work(live.chunks.tolist())
            self._database.set_named(live.named)
            self._database.set_meta("numbering", int(self._database.meta("numbering")) + 1)
            frozen.forget(self._database)
            if len(rows):
                self._write(live.arrays, level=_COMPACTED)
            self._advance()
        self._sweep()
        self._database.vacuum()

    def wasted(self) -> float:
        return _retried(self._wasted)

    def _wasted(self) -> float:
        with closing(Database(self._folder)) as database:
            database.freeze()
            registered = self._registered(database)
            owners = [s["chunk.document"] for s in registered if "chunk.document" in s]
            total = sum(map(len, owners))
            if not total:
                return 0.0
            documents = _live_rows(database)
            live = np.zeros(database.count("document"), dtype=bool)
            live[documents] = True
            dead = _dead_extractions(registered, documents)
        n_live = sum(int(live[owner].sum()) for owner in owners)
        return max(1 - max(map(len, owners)) / total, 1 - n_live / total, dead)

    def size_bytes(self) -> int:
        """Return how much disk the index takes."""
        return segments.size_bytes(self._folder)

    def snapshot(self) -> Snapshot:
        return _retried(self._snapshot)

    def _snapshot(self) -> Snapshot:
        database = Database(self._folder)
        try:
            database.freeze()
            registered = self._registered(database)
            saved = frozen.load(self._folder, database)
            assembly = saved or self._assembled(database, registered)
            generation = int(database.meta("generation"))
            return build(
                Parts(assembly, registered, database),
                recipe=self._recipe,
                generation=generation,
                kept=lambda name: frozen.kept(self._folder, database, name, generation),
            )
        except BaseException:
            database.close()
            raise

    def _assembled(self, database: Database, registered: Sequence[Arrays]) -> Assembly:
        """Return the newest generation that `database` sees, computed."""
        aliases = resolved(database.aliases())
        rows = database.rows("entity", sorted({*aliases, *aliases.values()}))
        pairs = {rows[a]: rows[b] for a, b in aliases.items() if a in rows and b in rows}
        halved = self._recipe["halvings"] != 0
        return assemble(registered, _live_rows(database), pairs, halved=halved)

    def _registered(self, database: Database) -> list[Arrays]:
        return [segments.read(self._path(segment.name)) for segment in database.segments()]

    def _write_lock(self) -> None:
        if self._lock is None:
            self._lock = WriterLock(self._folder)
            self._sweep()

    def _sweep(self) -> None:
        """Delete the files that no transaction registered, or that one has replaced."""
        names = [segment.name for segment in self._database.segments()]
        segments.sweep(self._folder / _SEGMENTS, names)
        frozen.sweep(self._folder, self._database)

    def close(self) -> None:
        self._seen_by_readers.close()
        self._database.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _live_rows(database: Database) -> NDArray[np.int64]:
    """Return the stored rows of the live documents, in the order of their ids."""
    return np.asarray([row for _, row in database.live_documents()], dtype=np.int64)


def _retried(read: Callable[[], T]) -> T:
    """Return what `read` gives, tried again while compactions take its files away."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(segments.MissingSegment):
            return read()
    return read()


def _dead_extractions(registered: Sequence[Arrays], documents: NDArray[np.int64]) -> float:
    """Return the share of extractions that a newer one replaced, or whose chunk is gone."""
    names = ("document.title_entity", *schema.numbers("chunk")[:1], *schema.numbers("extraction"))
    table = {name: schema.concatenated(registered, name) for name in names}
    total = len(table["extraction.chunk"])
    live = live_rows(table, documents, ("chunk", "extraction")) if total else None
    return 1 - len(live.rows["extraction"]) / total if live else 0.0


def _take(rows: NDArray[np.int32], positions: NDArray[np.int64]) -> NDArray[Any]:
    """Return rows[positions], any value where a position is -1."""
    return np.asarray(rows[np.maximum(positions, 0)]) if len(rows) else positions


def _has_foreign_files(folder: Path) -> bool:
    ours = {"index.sqlite", "writer.lock", _SEGMENTS, "frozen", "embeddings.sqlite", "calls.sqlite"}
    return any(_BESIDE.sub("", path.name) not in ours for path in folder.iterdir())
