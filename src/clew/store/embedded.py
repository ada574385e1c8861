"""The embedded store: one folder, no server.

    index.sqlite    documents, entity keys, terms, settings; its transaction is the commit point
    segments/NNN    what one commit added, as arrays
    frozen/NNN      the assembled links of one generation, so that opening is mapping
    writer.lock     held while a process writes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from clew.errors import DamagedIndex, NotAnIndex
from clew.store import compaction, frozen, segments
from clew.store.assemble import Assembly, assemble
from clew.store.database import FILE, Database, WriterLock
from clew.store.snapshot import Parts, build
from clew.types import REFERENCES, Batch, Scalar, Snapshot

_SEGMENTS = "segments"
_ATTEMPTS = 5  # to open a generation while a compaction replaces its files


class EmbeddedStore:
    """A store in a folder. The first write takes the writer's lock and keeps it until `close`."""

    def __init__(self, folder: Path, database: Database) -> None:
        self._folder = folder
        self._database = database
        self._lock: WriterLock | None = None
        self._recipe: dict[str, Scalar] = database.meta("recipe")

    @classmethod
    def create(cls, folder: Path, recipe: Mapping[str, Scalar]) -> Self:
        """Make an index in `folder`, which must be new, empty or an index already."""
        if folder.exists() and not folder.is_dir():
            raise NotAnIndex(f"{folder} is a file: name a folder for the index")
        if folder.exists() and not cls.exists(folder) and _has_foreign_files(folder):
            raise NotAnIndex(f"{folder} holds other files: name a new or empty folder")
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, Database(folder, recipe=recipe))

    @staticmethod
    def exists(folder: Path) -> bool:
        """Say whether `folder` looks like an index."""
        return (folder / FILE).exists()

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

    @property
    def generation(self) -> int:
        return int(self._database.meta("generation"))

    def hashes(self) -> Mapping[str, str]:
        return self._database.hashes()

    def unnamed(self, keys: Sequence[str]) -> list[int]:
        named = self._database.named(keys)
        return [i for i, key in enumerate(keys) if key not in named]

    def commit(self, batch: Batch, hashes: Sequence[str]) -> int:
        self._write_lock()
        number = int(self._database.meta("next_segment") or 0)
        folder = f"{number:06d}"
        with self._database.transaction():
            arrays = self._placed(batch)
            segments.write(self._folder / _SEGMENTS / folder, arrays)
            self._database.add_documents(batch.documents, hashes)
            if "name.entity" in arrays:
                self._database.set_named(arrays["name.entity"].tolist())
            self._database.add_segment(folder)
            self._database.set_meta("next_segment", number + 1)
            return self._advance()

    def _placed(self, batch: Batch) -> dict[str, np.ndarray]:
        """Return the batch's columns with the store's rows; adds its entities and terms."""
        rows = {
            "entity": np.asarray(self._database.add_keys("entity", batch.entities), np.int32),
            "term": np.asarray(self._database.add_keys("term", batch.terms), np.int32),
        }
        first = {"document": self._database.count("document"), **self._stored_rows()}
        arrays = {}
        for name, column in batch.columns.items():
            layer = REFERENCES.get(name)
            if layer in rows:
                local = column.astype(np.int64)
                column = np.where(local >= 0, _take(rows[layer], local), -1).astype(np.int32)
            elif layer is not None:
                column = (column + first[layer]).astype(np.int32)
            arrays[name] = column
        return arrays

    def _stored_rows(self) -> dict[str, int]:
        """Return how many chunks and sentences the registered segments hold."""
        counts = {"chunk": 0, "sentence": 0}
        for folder in self._database.segments():
            for layer, column in (("chunk", "chunk.document"), ("sentence", "sentence.chunk")):
                path = self._folder / _SEGMENTS / folder / f"{column}.npy"
                counts[layer] += len(np.load(path, mmap_mode="r"))
        return counts

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
        self._write_lock()
        generation = self.generation
        if self._database.meta("frozen") != generation:
            registered = self._registered(self._database)
            assembly = self._assembled(self._database, registered)
            frozen.save(self._folder, generation, assembly)
            with self._database.transaction():
                self._database.set_meta("frozen", generation)
            frozen.sweep(self._folder, generation)

    def compact(self) -> None:
        self._write_lock()
        rows = [row for _, row in self._database.live_documents()]
        live = compaction.compacted(
            self._registered(self._database), np.asarray(rows, dtype=np.int64)
        )
        number = int(self._database.meta("next_segment") or 0)
        folder = f"{number:06d}"
        segments.write(self._folder / _SEGMENTS / folder, live.arrays)
        with self._database.transaction():
            self._database.replace_all(live.documents, live.entities, live.terms)
            self._database.set_named(np.asarray(live.arrays.get("name.entity", ())).tolist())
            self._database.add_segment(folder)
            self._database.set_meta("next_segment", number + 1)
            self._advance()
        self._sweep()
        self._database.vacuum()

    def wasted(self) -> float:
        owners = [s["chunk.document"] for s in self._registered(self._database)]
        total = sum(map(len, owners))
        if not total:
            return 0.0
        live = np.zeros(self._database.count("document"), dtype=bool)
        live[[row for _, row in self._database.live_documents()]] = True
        n_live = sum(int(live[owner].sum()) for owner in owners)
        return max(1 - max(map(len, owners)) / total, 1 - n_live / total)

    def size_bytes(self) -> int:
        """Return how much disk the index takes."""
        return segments.size_bytes(self._folder)

    def snapshot(self) -> Snapshot:
        for attempt in range(_ATTEMPTS):
            database = Database(self._folder)
            database.freeze()
            try:
                registered = self._registered(database)
                assembly = frozen.load(self._folder, database) or self._assembled(
                    database, registered
                )
            except FileNotFoundError as error:  # a compaction finished in between
                database.close()
                if attempt == _ATTEMPTS - 1:
                    raise DamagedIndex(
                        f"{error.filename} is missing: rebuild the index from its documents"
                    ) from error
            else:
                parts = Parts(assembly, registered, database)
                return build(parts, self._recipe, int(database.meta("generation")))
        raise AssertionError  # the loop returns or raises

    def _registered(self, database: Database) -> list[segments.Arrays]:
        names = database.segments()
        return [segments.read(self._folder / _SEGMENTS / name) for name in names]

    def _assembled(self, database: Database, registered: Sequence[segments.Arrays]) -> Assembly:
        rows = [row for _, row in database.live_documents()]
        return assemble(registered, np.asarray(rows, dtype=np.int64))

    def _write_lock(self) -> None:
        if self._lock is None:
            self._lock = WriterLock(self._folder)
            self._sweep()

    def _sweep(self) -> None:
        segments.sweep(self._folder / _SEGMENTS, self._database.segments())

    def close(self) -> None:
        self._database.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _take(rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return rows[positions], any value where a position is -1."""
    return rows[np.maximum(positions, 0)] if len(rows) else positions


def _has_foreign_files(folder: Path) -> bool:
    ours = {"index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "writer.lock", _SEGMENTS}
    return any(path.name not in ours | {"frozen", "embeddings.sqlite"} for path in folder.iterdir())
