"""The layers of one generation, read from segments and rows when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import MissingLayer
from clew.text.names import title_span
from clew.types import Document, Layer, Scalar, Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.store.assemble import Assembly, Rows, Segment
    from clew.store.database import Database


@dataclass(frozen=True)
class Parts:
    """A generation's assembly with the open files behind it."""

    assembly: Assembly
    segments: Sequence[Segment]
    database: Database
    _documents: dict[int, Document] = field(default_factory=dict)
    _columns: dict[str, dict[str, NDArray[Any]]] = field(default_factory=dict)

    def columns(self, layer: str) -> dict[str, NDArray[Any]]:
        """Return the columns of one layer by their short names."""
        if layer not in self._columns:
            prefix = f"{layer}."
            named = self.assembly.columns.items()
            self._columns[layer] = {n[len(prefix) :]: c for n, c in named if n.startswith(prefix)}
        return self._columns[layer]

    def document(self, row: int) -> Document:
        """Return the document in a row of this generation."""
        if row not in self._documents:
            stored = int(self.assembly.stored_documents[row])
            self._documents[row] = self.database.documents([stored])[0]
        return self._documents[row]

    @cached_property
    def document_rows(self) -> dict[str, int]:
        """The row of each document id."""
        ids = [document_id for document_id, _ in self.database.live_documents()]
        return {document_id: row for row, document_id in enumerate(ids)}

    def gather(self, name: str, rows: Rows) -> NDArray[np.float32]:
        """Return the vectors in stored `rows`; mapped, not copied, when they are one segment."""
        parts = [s[name].view(np.float32) for s in self.segments if name in s]
        if not parts:
            layer = name.partition(".")[0]
            raise MissingLayer(f"this index was built without vectors of the layer {layer!r}")
        ends = np.cumsum([len(part) for part in parts])
        if len(parts) == 1 and len(rows) == ends[0] and _is_identity(rows):
            return parts[0]
        out = np.empty((len(rows), parts[0].shape[1]), dtype=np.float32)
        owner = np.searchsorted(ends, rows, side="right")
        for i, part in enumerate(parts):
            mine = owner == i
            out[mine] = part[rows[mine] - (ends[i] - len(part))]
        return out

    def tokens(self, chunk: int) -> NDArray[np.int8]:
        """Return the stored token vectors of a chunk of this generation."""
        segments, ends = self._token_places
        stored = int(self.assembly.stored_chunks[chunk])
        i = int(np.searchsorted(ends, stored, side="right"))
        if i >= len(segments):
            raise MissingLayer("this index was built without token vectors")
        vectors, offsets = segments[i]
        local = stored - (int(ends[i]) - (len(offsets) - 1))
        return np.asarray(vectors[offsets[local] : offsets[local + 1]])

    @cached_property
    def _token_places(self) -> tuple[list[tuple[NDArray[np.int8], Rows]], Rows]:
        """Each segment's token vectors with its chunks' offsets, and where its chunks end."""
        places = []
        for segment in self.segments:
            if "token.vectors" in segment:
                counts = segment["chunk.n_stored"].astype(np.int64)
                offsets = np.concatenate([[0], np.cumsum(counts)])
                places.append((segment["token.vectors"].view(np.int8), offsets))
        return places, np.cumsum([len(offsets) - 1 for _, offsets in places], dtype=np.int64)


class _StoredLayer:
    """What every layer has: a size, columns, and vectors that are read once."""

    def __init__(self, parts: Parts, name: str, size: int) -> None:
        self._parts = parts
        self._name = name
        self._size = size
        self._columns = parts.columns(name)

    def __len__(self) -> int:
        return self._size

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        return self._columns

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        return self._vectors()

    def _vectors(self) -> NDArray[np.float32]:
        raise MissingLayer(f"the layer {self._name!r} has no vectors")

    def tokens(self, row: int) -> NDArray[np.int8]:
        raise MissingLayer(f"the layer {self._name!r} has no token vectors (row {row})")


class _Documents(_StoredLayer):
    def ids(self, rows: Sequence[int]) -> list[str]:
        return [self._parts.document(row).id for row in rows]

    def texts(self, rows: Sequence[int]) -> list[str]:
        return [self._parts.document(row).text for row in rows]

    def rows(self, ids: Sequence[str]) -> list[int]:
        return [self._parts.document_rows.get(i, -1) for i in ids]

    def documents(self, rows: Sequence[int]) -> list[Document]:
        return [self._parts.document(row) for row in rows]


class _Ranges(_StoredLayer):
    """Chunks and units: character ranges of documents, with ids that say which."""

    def ids(self, rows: Sequence[int]) -> list[str]:
        starts, ends = self._columns["start"], self._columns["end"]
        return [f"{self._document(row).id}:{starts[row]}-{ends[row]}" for row in rows]

    def texts(self, rows: Sequence[int]) -> list[str]:
        starts, ends = self._columns["start"], self._columns["end"]
        return [self._document(row).text[int(starts[row]) : int(ends[row])] for row in rows]

    def rows(self, ids: Sequence[str]) -> list[int]:
        return [self._find(i) for i in ids]

    def _find(self, range_id: str) -> int:
        document_id, _, place = range_id.rpartition(":")
        document = self._parts.document_rows.get(document_id, -1)
        start, _, end = place.partition("-")
        if document < 0 or not (start.isdecimal() and end.isdecimal()):
            return -1
        found = np.flatnonzero(
            (self._owners == document)
            & (self._columns["start"] == int(start))
            & (self._columns["end"] == int(end))
        )
        return int(found[0]) if len(found) else -1

    def _document(self, row: int) -> Document:
        return self._parts.document(int(self._owners[row]))

    @cached_property
    def _owners(self) -> NDArray[np.int32]:
        """The document of each row."""
        if self._name == "chunk":
            return self._columns["document"].view(np.int32)
        owners = self._parts.columns("chunk")["document"][self._columns["chunk"]]
        return np.asarray(owners, dtype=np.int32)


class _Chunks(_Ranges):
    def _vectors(self) -> NDArray[np.float32]:
        return self._parts.gather("chunk.vectors", self._parts.assembly.stored_chunks)

    def tokens(self, row: int) -> NDArray[np.int8]:
        return self._parts.tokens(row)


class _Units(_Ranges):
    def _vectors(self) -> NDArray[np.float32]:
        return self._parts.gather("sentence.vectors", self._parts.assembly.stored_sentences)

    def tokens(self, row: int) -> NDArray[np.int8]:
        tokens = self._parts.tokens(int(self._columns["chunk"][row]))
        first, last = self._columns["first_token"][row], self._columns["last_token"][row]
        return tokens[int(first) : int(last)]


class _Keyed(_StoredLayer):
    """Entities and terms: strings with rows of their own in the database."""

    def __init__(self, parts: Parts, name: str, stored: Rows) -> None:
        super().__init__(parts, name, len(stored))
        self._stored = stored

    def ids(self, rows: Sequence[int]) -> list[str]:
        return self._parts.database.keys(self._name, [int(self._stored[row]) for row in rows])

    def texts(self, rows: Sequence[int]) -> list[str]:
        return self.ids(rows)

    def rows(self, ids: Sequence[str]) -> list[int]:
        found = self._parts.database.rows(self._name, list(dict.fromkeys(ids)))
        return [int(self._places[found[i]]) if i in found else -1 for i in ids]

    @cached_property
    def _places(self) -> Rows:
        """The row of each stored row, -1 where it is not in this generation."""
        places = np.full(self._parts.database.count(self._name), -1, dtype=np.int64)
        places[self._stored] = np.arange(len(self._stored))
        return places


class _Entities(_Keyed):
    def texts(self, rows: Sequence[int]) -> list[str]:
        return [self._name_of(int(row)) for row in rows]

    def _name_of(self, row: int) -> str:
        """Return the entity as it was first written: in a text, else in a title."""
        mention = int(self._columns["mention"][row])
        if mention >= 0:
            columns = self._parts.columns("mention")
            unit = int(columns["unit"][mention])
            chunk = int(self._parts.columns("unit")["chunk"][unit])
            document = self._parts.document(int(self._parts.columns("chunk")["document"][chunk]))
            return document.text[int(columns["start"][mention]) : int(columns["end"][mention])]
        titles = self._parts.columns("document")["title_entity"]
        title = self._parts.document(int(np.flatnonzero(titles == row)[0])).title
        start, end = title_span(title)
        return title[start:end]

    def _vectors(self) -> NDArray[np.float32]:
        """Return (n, d) name vectors; zero for an entity that no query can be linked to."""
        owners = [s["name.entity"] for s in self._parts.segments if "name.entity" in s]
        stored = np.concatenate(owners) if owners else np.zeros(0, dtype=np.int64)
        place = np.full(self._parts.database.count("entity"), -1, dtype=np.int64)
        place[stored] = np.arange(len(stored))
        wanted = np.where(self._columns["linkable"], place[self._stored], -1)
        if np.all(wanted >= 0):
            return self._parts.gather("name.vectors", wanted)
        named = wanted >= 0
        found = self._parts.gather("name.vectors", wanted[named])
        vectors = np.zeros((len(wanted), found.shape[1]), dtype=np.float32)
        vectors[named] = found
        return vectors


def build(parts: Parts, recipe: Mapping[str, Scalar], generation: int) -> Snapshot:
    """Return the snapshot of an assembled generation."""
    assembly = parts.assembly
    documents = _Documents(parts, "document", len(assembly.stored_documents))
    layers: dict[str, Layer] = {
        "document": documents,
        "chunk": _Chunks(parts, "chunk", len(assembly.stored_chunks)),
        "unit": _Units(parts, "unit", len(assembly.stored_sentences)),
        "entity": _Entities(parts, "entity", assembly.stored_entities),
        "term": _Keyed(parts, "term", assembly.stored_terms),
    }
    return Snapshot(documents, layers, assembly.links, recipe, generation, parts.database.close)


def _is_identity(rows: Rows) -> bool:
    return bool(np.array_equal(rows, np.arange(len(rows))))
