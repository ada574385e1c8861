"""Cache an embedder's vectors in an SQLite file, so that no text is paid for twice."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clew.algo import coding
from clew.errors import StoreError
from clew.models import Embedder, Kind, is_paid, is_priced
from clew.models.prices import FREE, Price
from clew.models.run import ModelRun, call_model
from clew.models.sqlite import Keep, Place, copy_rows, digest_parts, paid_file, rows_of_keys

_KIND = "vector cache"
APPLICATION_ID = 0x436C6577  # "Clew" in the header of the file
_TABLES = (
    "vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID",
    "dimensions (embedder TEXT PRIMARY KEY, dimension INTEGER NOT NULL)",
)
_BLOCK = 1024  # texts that are embedded, and then committed, together
_FLOATS, _CODES = b"\1", b"\2"  # behind a vector and its checksum: what the vector is in
_BITS = 8  # of a number of a document's vector, as an index has it by default
_EXACT = "document, float32"  # the kind of one that is kept as it came


class CachedEmbedder:
    """An embedder with a cache: a vector is on disk before it is returned.

    `place` may be shared by embedders and by processes. A query's vector is kept as float32, a
    document's in 8 bits a number, which is what an index keeps of it unless it is `exact`, each
    with a checksum, under the SHA-256 of embedder, kind and text. `hits` and `misses` count texts.
    """

    def __init__(self, embedder: Embedder, place: Place, *, exact: bool = False) -> None:
        self._embedder = embedder
        self._exact = exact
        self._file = paid_file(place, _KIND, APPLICATION_ID, _TABLES)
        self.hits = 0
        self.misses = 0

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """Return the dimension of the stored vectors, without loading a model."""
        stored = self._known_dimension()
        return self._embedder.dimension if stored is None else stored

    def _known_dimension(self) -> int | None:
        with self._file.open() as database:
            question = "SELECT dimension FROM dimensions WHERE embedder = ?"
            row = database.execute(question, [self.name]).fetchone()
        return int(row[0]) if row else None

    def embed(
        self, texts: Sequence[str], *, kind: Kind, run: ModelRun | None = None
    ) -> NDArray[np.float32]:
        keys = [self._key(kind, text) for text in texts]
        stored = self._load(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in stored}
        self.misses += len(missing)
        self.hits += len(texts) - len(missing)
        new = list(missing)
        for block in (new[i : i + _BLOCK] for i in range(0, len(new), _BLOCK)):
            self._embed(block, [missing[key] for key in block], kind, run)
        # Read back: another process may have stored the same text first, and its vector counts.
        stored |= self._load(new)
        d = self.dimension
        rows = np.zeros((len(texts), d), dtype=np.float32)
        for row, key in enumerate(keys):
            vector = stored.get(key)
            if vector is None and key in missing:
                continue  # the embedder has none for this text
            if vector is None or vector.size != d:
                raise StoreError(
                    f"the vector cache {self._file.path} holds a vector that is not of {d} numbers."
                    f" Hint: delete the file"
                )
            rows[row] = vector
        return rows

    @property
    def price(self) -> Price | None:
        return self._embedder.price if is_priced(self._embedder) else FREE

    def unpaid(self, texts: Sequence[str], *, kind: Kind) -> Sequence[str]:
        """Return the distinct texts without a cached vector, without creating the file."""
        if not is_priced(self._embedder):
            return []
        by_key = {self._key(kind, text): text for text in texts}
        stored = self._load(list(by_key)) if self._file.exists() else {}
        new = [text for key, text in by_key.items() if key not in stored]
        return self._embedder.unpaid(new, kind=kind)

    def dimension_texts(self) -> Sequence[str]:
        is_known = self._file.exists() and self._known_dimension() is not None
        return [] if is_known or not is_priced(self._embedder) else self._embedder.dimension_texts()

    def _embed(
        self, keys: Sequence[bytes], texts: Sequence[str], kind: Kind, run: ModelRun | None
    ) -> None:
        """Embed new texts, saving each vector as soon as it arrives.

        What a process that is killed has received is paid for, and is not asked for again.
        """

        def keep(first: int, rows: NDArray[np.float32]) -> None:
            form = _FLOATS if kind == "query" or self._exact else _CODES
            data = np.asarray(rows, dtype="<f4") if form == _FLOATS else coding.encode(rows, _BITS)
            received = (_append_checksum(row.tobytes(), form) for row in data)
            of_rows = keys[first : first + len(rows)]
            self._save(dict(zip(of_rows, received, strict=True)), rows.shape[1])

        if is_paid(self._embedder):
            call_model(run, self._embedder.embed, texts, kind=kind, keep=keep)
        else:
            keep(0, call_model(run, self._embedder.embed, texts, kind=kind))

    def _key(self, kind: Kind, text: str) -> bytes:
        return _key(self.name, _EXACT if self._exact and kind == "document" else kind, text)

    def _load(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the cached vectors of some keys, without damaged ones."""
        if not keys:
            return {}
        with self._file.open() as database:
            rows = rows_of_keys(database, "vectors", "vector", keys)
            vectors = {key: _decode_row(row) for key, row in rows}
            damaged = [(key,) for key, vector in vectors.items() if vector is None]
            if damaged:  # these are asked for again
                database.executemany("DELETE FROM vectors WHERE key = ?", damaged)
        return {key: vector for key, vector in vectors.items() if vector is not None}

    def _save(self, vectors: Mapping[bytes, bytes], d: int) -> None:
        with self._file.writing() as database:
            rows = vectors.items()
            database.executemany("INSERT INTO vectors VALUES (?, ?) ON CONFLICT DO NOTHING", rows)
            statement = "INSERT INTO dimensions VALUES (?, ?) ON CONFLICT DO NOTHING"
            database.execute(statement, [self.name, d])


def faults(path: Path) -> list[str]:
    """Return the damage in a file of vectors, none if it is missing."""
    return paid_file(path, _KIND, APPLICATION_ID, _TABLES).faults()


def copy(source: Place, target: Place, keep: Keep) -> None:
    """Copy the vectors with selected keys, and the dimensions."""
    file = paid_file(source, _KIND, APPLICATION_ID, _TABLES)
    if not file.is_blank():
        copied = paid_file(target, _KIND, APPLICATION_ID, _TABLES)
        copy_rows(file, copied, {"vectors": "key", "dimensions": "embedder"}, {"vectors": keep})


def has_vectors(place: Place) -> bool:
    """Check whether a file or tables of vectors exist."""
    return not paid_file(place, _KIND, APPLICATION_ID, _TABLES).is_blank()


def vector_keys(embedder: str, texts: Sequence[str]) -> list[bytes]:
    """Return the cache keys of the vectors of documents' texts."""
    return [_key(embedder, kind, text) for text in texts for kind in ("document", _EXACT)]


def _append_checksum(vector: bytes, form: bytes) -> bytes:
    return vector + crc32(vector).to_bytes(4, "little") + form


def _decode_row(stored: bytes) -> NDArray[np.float32] | None:
    """Return a vector without its checksum, None if the checksum is wrong."""
    vector, form = stored[:-5], stored[-1:]
    if form not in (_FLOATS, _CODES) or _append_checksum(vector, form) != stored:
        return None
    if form == _FLOATS:
        return np.frombuffer(vector, dtype="<f4")
    row = np.frombuffer(vector, dtype=np.uint8)
    vectors: NDArray[np.float32] = coding.decode(
        row[None], row.size - coding.code_width(0, _BITS), _BITS
    )[0]
    return vectors


def _key(embedder: str, kind: str, text: str) -> bytes:
    return digest_parts((embedder, kind, text))
