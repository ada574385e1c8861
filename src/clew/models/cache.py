"""Keep the vectors of an embedder in one SQLite file, so that no text is paid for twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import StoreError
from clew.models import Embedder, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

_APPLICATION_ID = 0x436C6577  # "Clew" in the header of the file
_TABLES = (
    "vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID",
    "dimensions (embedder TEXT PRIMARY KEY, dimension INTEGER NOT NULL)",
)
_BLOCK = 1024  # texts that are embedded, and then committed, together
_ASKED = 500  # keys in one question to SQLite
_BUSY_S = 30.0  # how long another process may hold the file


class CachedEmbedder:
    """An embedder that remembers: a vector is on disk before it is returned.

    `path` may be shared by embedders and by processes; vectors are little-endian float32 under the
    SHA-256 of embedder, kind and text. `hits` and `misses` count texts.
    """

    def __init__(self, embedder: Embedder, path: Path | str) -> None:
        self._embedder = embedder
        self._path = Path(path)
        self.hits = 0
        self.misses = 0

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The dimension of what is stored, so that a full cache needs no model."""
        with self._open() as database:
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
            vectors = self._embedder.embed([missing[key] for key in block], kind=kind)
            self._save(dict(zip(block, np.asarray(vectors, dtype="<f4"), strict=True)))
        # Read back: another process may have stored the same text first, and its vector counts.
        stored |= self._load(new)
        d = self.dimension
        rows = np.zeros((len(texts), d), dtype=np.float32)
        for row, key in enumerate(keys):
            if len(stored.get(key, b"")) != 4 * d:
                raise StoreError(
                    f"the vector cache {self._path} holds a damaged vector. Hint: delete the file"
                )
            rows[row] = np.frombuffer(stored[key], dtype="<f4")
        return rows

    def _load(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        if not keys:
            return found
        with self._open() as database:
            for i in range(0, len(keys), _ASKED):
                asked = keys[i : i + _ASKED]
                places = ",".join("?" * len(asked))
                question = f"SELECT key, vector FROM vectors WHERE key IN ({places})"  # noqa: S608 -- question marks
                found |= dict(database.execute(question, asked))
        return found

    def _save(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        rows = [(key, vector.tobytes()) for key, vector in vectors.items()]
        d = len(rows[0][1]) // 4
        with self._open() as database, database:
            database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            database.execute("INSERT OR IGNORE INTO dimensions VALUES (?, ?)", [self.name, d])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=_BUSY_S)) as database:
                _prepare(database, self._path)
                yield database
        except sqlite3.Error as error:
            # What stands in a file that can be read is paid for: only damage is worth a deletion.
            damaged = not isinstance(error, sqlite3.OperationalError)
            hint = "name another file, or delete this one if it was a cache"
            if not damaged:
                hint = "check its folder, the free space, and whether another process holds it"
            raise StoreError(
                f"the vector cache {self._path} cannot be used: {error}. Hint: {hint}"
            ) from error


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file; refuse one that another program made."""
    if _owner(database) != _APPLICATION_ID:
        database.execute("BEGIN IMMEDIATE")  # of several that find it new, one makes the tables
        owner = _owner(database)
        (n_tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if owner != _APPLICATION_ID and (owner or n_tables):
            raise StoreError(f"{path} belongs to another program. Hint: name another file")
        for table in _TABLES:
            database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.commit()
    # Lets others read while one writes. Refused while another has the file open: the next one asks.
    with suppress(sqlite3.OperationalError):
        database.execute("PRAGMA journal_mode = WAL")


def _owner(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA application_id").fetchone()[0])


def _key(embedder: str, kind: Kind, text: str) -> bytes:
    parts = (part.encode("utf-8", "surrogatepass") for part in (embedder, kind, text))
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
