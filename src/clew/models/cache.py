"""Keep the vectors of an embedder in one SQLite file, so that no text is paid for twice."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from clew import sqlite
from clew.errors import StoreError
from clew.models import Embedder, Kind, is_paid, is_priced
from clew.models.prices import FREE, Price
from clew.models.sqlite import DatabaseFile, mending

if TYPE_CHECKING:
    from numpy.typing import NDArray

_APPLICATION_ID = 0x436C6577  # "Clew" in the header of the file
_TABLES = (
    "vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID",
    "dimensions (embedder TEXT PRIMARY KEY, dimension INTEGER NOT NULL)",
)
_BLOCK = 1024  # texts that are embedded, and then committed, together
_HAS_CHECKSUM = b"\1"
_ASKED = 500  # keys in one question to SQLite


class CachedEmbedder:
    """An embedder that remembers: a vector is on disk before it is returned.

    `path` may be shared by embedders and by processes; vectors are little-endian float32 with a
    checksum, under the SHA-256 of embedder, kind and text. `hits` and `misses` count texts.
    """

    def __init__(self, embedder: Embedder, path: Path | str) -> None:
        self._embedder = embedder
        self._file = DatabaseFile(Path(path), "vector cache", _APPLICATION_ID, _TABLES)
        self.hits = 0
        self.misses = 0

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    @mending
    def dimension(self) -> int:
        """The dimension of what is stored, so that a full cache needs no model."""
        with self._file.open() as database:
            question = "SELECT dimension FROM dimensions WHERE embedder = ?"
            row = database.execute(question, [self.name]).fetchone()
        return int(row[0]) if row else self._embedder.dimension

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        keys = [_key(self.name, kind, text) for text in texts]
        stored = self._load(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in stored}
        self.misses += len(missing)
        self.hits += len(texts) - len(missing)
        new = list(missing)
        for block in (new[i : i + _BLOCK] for i in range(0, len(new), _BLOCK)):
            self._embed(block, [missing[key] for key in block], kind)
        # Read back: another process may have stored the same text first, and its vector counts.
        stored |= self._load(new)
        d = self.dimension
        rows = np.zeros((len(texts), d), dtype=np.float32)
        for row, key in enumerate(keys):
            if len(stored.get(key, b"")) != 4 * d:
                raise StoreError(
                    f"the vector cache {self._file.path} holds a vector that is not of {d} numbers."
                    f" Hint: delete the file"
                )
            rows[row] = np.frombuffer(stored[key], dtype="<f4")
        return rows

    @property
    def price(self) -> Price | None:
        return self._embedder.price if is_priced(self._embedder) else FREE

    def unpaid(self, texts: Sequence[str], *, kind: Kind) -> Sequence[str]:
        """Return those of the texts that are not in the file, each once; make no file."""
        if not is_priced(self._embedder):
            return []
        by_key = {_key(self.name, kind, text): text for text in texts}
        stored = self._load(list(by_key)) if self._file.path.exists() else {}
        new = [text for key, text in by_key.items() if key not in stored]
        return self._embedder.unpaid(new, kind=kind)

    def _embed(self, keys: Sequence[bytes], texts: Sequence[str], kind: Kind) -> None:
        """Save the vectors of new texts, each as soon as it is received where that can be told.

        What a process that is killed has received is paid for, and is not asked for again.
        """

        def keep(first: int, rows: NDArray[np.float32]) -> None:
            received = np.asarray(rows, dtype="<f4")
            self._save(dict(zip(keys[first : first + len(rows)], received, strict=True)))

        def keep_paid(first: int, rows: NDArray[np.float32]) -> None:
            keep(first, rows)
            self._file.check_room()  # else what comes next could not be kept

        if is_paid(self._embedder):
            with self._file.room():
                self._embedder.embed(texts, kind=kind, keep=keep_paid)
        else:
            keep(0, self._embedder.embed(texts, kind=kind))

    @mending
    def _load(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the vectors of those keys that are known and sound, as bytes."""
        found: dict[bytes, bytes | None] = {}
        if not keys:
            return {}
        with self._file.open() as database:
            for i in range(0, len(keys), _ASKED):
                asked = keys[i : i + _ASKED]
                places = ",".join("?" * len(asked))
                question = f"SELECT key, vector FROM vectors WHERE key IN ({places})"  # noqa: S608 -- question marks
                found |= {
                    key: _opened(kept) for key, kept in sqlite.rows(database, question, asked)
                }
            damaged = [(key,) for key, vector in found.items() if vector is None]
            if damaged:  # these are asked for again
                database.executemany("DELETE FROM vectors WHERE key = ?", damaged)
        return {key: vector for key, vector in found.items() if vector is not None}

    @mending
    def _save(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        rows = [(key, _closed(vector.tobytes())) for key, vector in vectors.items()]
        d = next(iter(vectors.values())).size
        with self._file.writing() as database:
            database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            database.execute("INSERT OR IGNORE INTO dimensions VALUES (?, ?)", [self.name, d])


def _closed(vector: bytes) -> bytes:
    """Return a vector with its checksum, and a last byte that says that it has one."""
    return vector + crc32(vector).to_bytes(4, "little") + _HAS_CHECKSUM


def _opened(kept: bytes) -> bytes | None:
    """Return a vector without its checksum, None where that is not the one of the vector."""
    if len(kept) % 4 == 0:  # of a version before checksums
        return kept
    vector, end = kept[:-5], kept[-5:]
    return vector if _closed(vector)[-5:] == end else None


def _key(embedder: str, kind: Kind, text: str) -> bytes:
    parts = (part.encode("utf-8", "surrogatepass") for part in (embedder, kind, text))
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
