"""The layers of one generation, read from segments and SQLite on access."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo import coding
from clew.algo.coding import Vectors
from clew.algo.links import expand_ranges
from clew.base.runtime.cached_values import Lazily, Once, reading
from clew.base.types import Document, Validity, VocabularyEntry
from clew.errors import MissingLayer
from clew.index.generation.assembly import Assembly, select_prefix
from clew.index.generation.cached import ArrayLoader
from clew.index.generation.rows import Rows, SomeRows
from clew.index.generation.vectors import StoredVectors
from clew.index.snapshot import Snapshot
from clew.index.store import StoredRows, schema
from clew.index.store.columns import StoredColumn, StoredColumns
from clew.index.store.schema import TABLES, Segment
from clew.index.store.segments import MappedSegment
from clew.text.keys import name_key
from clew.text.names import strip_title
from clew.text.patterns import format_range, parse_range

_CACHED_DOCUMENTS = 4_096  # whose texts stay in memory
_CACHED_IDS = 1_024  # ids whose rows do
_BATCH_SIZE = 256  # rows whose documents are read at once
_NO_TOKENS = "this index was built without token vectors"
_CACHED_KEYS = 2**16  # of entities, or of terms, that stay in memory


@dataclass(frozen=True)
class Parts:
    """A generation's assembly, with its open files."""

    assembly: Assembly
    view: StoredRows
    some_aliases: Mapping[str, str] | None = None  # those of some documents; None: all
    _documents: Once[int] = field(default_factory=lambda: Once(_CACHED_DOCUMENTS))
    _columns: dict[str, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    _ragged: dict[str, "Ragged"] = field(default_factory=dict)

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """The entity key that each alias stands for."""
        some = self.some_aliases
        return resolve_aliases(self.view.aliases()) if some is None else some

    @cached_property
    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        """Entity types, names and notes that were set by hand or from a list."""
        return self.view.vocabulary()

    @cached_property
    def dimension(self) -> int:
        return schema.read_number(self.view.recipe, "dimension")

    def columns(self, layer: str) -> Mapping[str, NDArray[Any]]:
        """Return the columns of a layer by short name; each is read on access."""
        if layer not in self._columns:
            columns = select_prefix(self.assembly.columns, f"{layer}.")
            if layer == "chunk":
                number = partial(self.assembly.stored.__getitem__, "chunk")
                columns = Lazily({**reading(columns, columns), "number": number})
            self._columns[layer] = columns
        return self._columns[layer]

    def document(self, row: int) -> Document:
        return self._documents.get(row, lambda: self._read_documents([row])[0])

    def documents(self, rows: Sequence[int]) -> list[Document]:
        """Return the documents in some rows; those not in memory are read together."""
        if len(rows) == 1:  # as mostly
            return [self.document(rows[0])]
        by_row = self._documents.get_all(rows, self._read_documents)
        return [by_row[row] for row in rows]

    def _read_documents(self, rows: Sequence[int]) -> list[Document]:
        return self.view.documents(self.assembly.numbers("stored.document", rows))

    def find_rows(self, layer: str, keys: Sequence[str]) -> list[int]:
        """Return the row of each document, entity or term key, -1 if unknown."""
        stored = self.view.rows(layer, list(dict.fromkeys(keys)))
        places = self.assembly.places(layer, np.fromiter(stored.values(), np.int64))
        rows = dict(zip(stored, places.tolist(), strict=True))
        return [rows.get(key, -1) for key in keys]

    def stored_arrays(self, name: str) -> list[StoredColumn]:
        """Return the arrays of one name, one per segment that has it."""
        return [StoredColumn(each, name) for each in self.view.segments if name in each]

    def vectors(self, arrays: Sequence[StoredColumn], rows: Rows | SomeRows) -> StoredVectors:
        """Return the vectors in `rows` of concatenated arrays, zero for -1."""
        bits = schema.vector_bits(arrays[0].name, self.view.recipe)
        return StoredVectors(arrays, rows, dimension=self.dimension, bits=bits)

    def gather(self, name: str, rows: Rows | SomeRows) -> StoredVectors:
        """Return the vectors in stored `rows`, zero for -1. Raises MissingLayer."""
        parts = self.stored_arrays(name)
        if not parts:
            layer = name.partition(".")[0]
            raise MissingLayer(f"this index was built without vectors for the layer {layer!r}")
        return self.vectors(parts, rows)

    def tokens(
        self, layer: str, rows: Rows, within: tuple[Rows, Rows] | None = None
    ) -> list[NDArray[np.float32]]:
        """Return the token vectors of stored chunks or statements, limited to the range `within`.

        All are decoded at once. Raises MissingLayer where the index has none.
        """
        ragged = self.open_ragged(layer, "n_stored")
        bits = schema.vector_bits(ragged.name, self.view.recipe)
        vectors: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(rows)
        for places, codes, lengths in ragged.read_rows(rows, within):
            decoded = coding.decode(codes, self.dimension, bits)
            ends = lengths.cumsum().tolist()
            for place, start, end in zip(places, [0, *ends], ends, strict=False):
                vectors[place] = decoded[start:end]
        return vectors

    def text(self, layer: str, count: str, row: int) -> str:
        """Return the text stored with a row; `count` is the column of its length."""
        array = self.open_ragged(layer, count).row(row)
        return "" if array is None else array.tobytes().decode()

    def open_ragged(self, layer: str, count: str) -> "Ragged":
        """Return the ragged array of a layer, one range for each stored row."""
        name = f"{layer}.{count}"
        if name not in self._ragged:
            wide = TABLES[layer].ragged[count]
            self._ragged[name] = Ragged.from_segments(self.view.segments, name, wide)
        return self._ragged[name]


class Ragged(NamedTuple):
    """An array split into a range of rows per stored row, over several segments."""

    name: str
    parts: Sequence[tuple[Segment, Rows]]  # each segment that has it, and where its rows begin
    ends: Rows  # the stored row behind each segment's last one

    @classmethod
    def from_segments(cls, segments: Sequence[Segment], count: str, wide: str) -> "Ragged":
        """Open the array `wide`, split by the lengths in `count`."""
        parts = [
            (segment, np.concatenate([[0], np.cumsum(segment[count], dtype=np.int64)]))
            for segment in segments
            if wide in segment
        ]
        return cls(wide, parts, np.cumsum([len(begins) - 1 for _, begins in parts], dtype=np.int64))

    @property
    def is_empty(self) -> bool:
        """Whether every range is empty."""
        return not any(begins[-1] for _, begins in self.parts)

    def read_rows(
        self, rows: Rows, within: tuple[Rows, Rows] | None
    ) -> Iterator[tuple[list[int], NDArray[Any], Rows]]:
        """Yield the places among `rows` of those of one segment, their ranges joined, and lengths.

        Of each row only what is `within` a first and a last place of its range is read.
        """
        owners = np.searchsorted(self.ends, rows, side="right")
        if len(rows) and owners.max() >= len(self.parts):
            raise MissingLayer(_NO_TOKENS)
        for owner in dict.fromkeys(owners.tolist()):
            segment, begins = self.parts[owner]
            places = np.flatnonzero(owners == owner)
            local = rows[places] - (int(self.ends[owner]) - (len(begins) - 1))
            starts, stops = begins[local], begins[local + 1]
            if within is not None:
                starts, stops = starts + within[0][places], starts + within[1][places]
            if isinstance(segment, MappedSegment):  # of which only these rows are looked at
                array = segment.verify_ranges(self.name, starts, stops)
            else:
                array = segment[self.name]
            yield places.tolist(), array[expand_ranges(starts, stops)[1]], stops - starts

    def row(self, stored: int) -> NDArray[Any] | None:
        """Return the range of a stored row, or None if no segment has such an array."""
        i = int(np.searchsorted(self.ends, stored, side="right"))
        if i >= len(self.parts):
            return None
        segment, begins = self.parts[i]
        local = stored - (int(self.ends[i]) - (len(begins) - 1))
        start, stop = int(begins[local]), int(begins[local + 1])
        if isinstance(segment, MappedSegment):  # of which only these rows are looked at
            return segment.part(self.name, start, stop)
        return np.asarray(segment[self.name][start:stop])


class _StoredLayer:
    """Base of the stored layers: size, columns, and vectors that are opened once."""

    def __init__(self, parts: Parts, name: str) -> None:
        self._parts = parts
        self._name = name
        self._columns = parts.columns(name)

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _size(self) -> int:
        return self._parts.assembly.size(self._name)

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        return self._columns

    @cached_property
    def vectors(self) -> Vectors:
        return self._vectors()

    def _vectors(self) -> Vectors:
        raise MissingLayer(f"the layer {self._name!r} has no vectors")

    def tokens(self, row: int) -> NDArray[np.float32]:
        return self.token_vectors([row])[0]

    def token_vectors(self, rows: Sequence[int]) -> list[NDArray[np.float32]]:
        raise MissingLayer(f"the layer {self._name!r} has no token vectors (rows {list(rows)})")


class _Documents(_StoredLayer):
    def ids(self, rows: Sequence[int]) -> list[str]:
        return [self._parts.document(row).id for row in rows]

    def texts(self, rows: Sequence[int]) -> list[str]:
        return [self._parts.document(row).text for row in rows]

    def rows(self, ids: Sequence[str]) -> list[int]:
        return self._parts.find_rows("document", ids)

    def documents(self, rows: Sequence[int]) -> list[Document]:
        return self._parts.documents(rows)

    def headers(self) -> list[Document]:
        stored = self._parts.assembly.stored["document"]
        return self._parts.view.documents(stored.tolist(), texts=False)


class _Ranges(_StoredLayer):
    """Chunks, sub-chunks and sentences: character ranges of documents, named by their ids."""

    def ids(self, rows: Sequence[int]) -> list[str]:
        return [format_range(each.id, start, end) for each, start, end in self._places(rows)]

    def texts(self, rows: Sequence[int]) -> list[str]:
        return [document.text[start:end] for document, start, end in self._places(rows)]

    def _places(self, rows: Sequence[int]) -> Iterator[tuple[Document, int, int]]:
        """Yield the document, start and end of each row."""
        for first in range(0, len(rows), _BATCH_SIZE):
            some = rows[first : first + _BATCH_SIZE]
            chunks = self._numbers("chunk", some) if "chunk" in self._columns else some
            documents = self._parts.assembly.numbers("chunk.document", chunks)
            starts, ends = (self._numbers(name, some) for name in ("start", "end"))
            yield from zip(self._parts.documents(documents), starts, ends, strict=True)

    def _numbers(self, column: str, rows: Sequence[int]) -> list[int]:
        return self._parts.assembly.numbers(f"{self._name}.{column}", rows)

    def rows(self, ids: Sequence[str]) -> list[int]:
        rows = self._rows_by_id.get_all(ids, self._find_rows)
        return [rows[key] for key in ids]

    @cached_property
    def _rows_by_id(self) -> Once[str]:
        """The rows of recently used ids, which a question looks up several times."""
        return Once(_CACHED_IDS)

    def _find_rows(self, ids: Sequence[str]) -> list[int]:
        parts = [parse_range(each) or ("", 0, 0) for each in ids]
        documents = self._parts.find_rows("document", [document for document, _, _ in parts])
        return [
            self._find(document, start, end)
            for document, (_, start, end) in zip(documents, parts, strict=True)
        ]

    def _find(self, document: int, start: int, end: int) -> int:
        if document < 0:
            return -1
        first, last = _group_range(self._parts.columns("chunk")["document"], document, document + 1)
        if "chunk" in self._columns:
            first, last = _group_range(self._columns["chunk"], first, last)
        rows = slice(first, last)
        same = self._columns["start"][rows] == start
        same &= self._columns["end"][rows] == end
        matches = np.flatnonzero(same & self._are_ranges(rows))
        return first + int(matches[0]) if len(matches) else -1

    def _are_ranges(self, rows: slice) -> NDArray[np.bool_] | bool:  # noqa: ARG002 -- of all kinds
        """Mark the rows whose id is a range without a statement number."""
        return True

    def _vectors(self) -> Vectors:
        stored = partial(self._parts.assembly.stored_rows, self._name)
        return self._parts.gather(f"{self._name}.vectors", SomeRows(len(self), stored))


class _SameRanges(_Ranges):
    """The rows and vectors of another layer under a different name."""

    def __init__(self, same: _Ranges, name: str, columns: Mapping[str, NDArray[Any]]) -> None:
        super().__init__(same._parts, name)  # noqa: SLF001 -- of one kind
        self._columns = columns
        self._same = same
        self._size = len(same)

    def _numbers(self, column: str, rows: Sequence[int]) -> list[int]:
        numbers: list[int] = self._columns[column][rows].tolist()
        return numbers

    def _vectors(self) -> Vectors:
        return self._same.vectors


class _Chunks(_Ranges):
    def ids(self, rows: Sequence[int]) -> list[str]:
        """Return the ids, and remember their rows for the look-up of hits."""
        ids = super().ids(rows)
        self._rows_by_id.keep(dict(zip(ids, map(int, rows), strict=True)))
        return ids

    def token_vectors(self, rows: Sequence[int]) -> list[NDArray[np.float32]]:
        return self._parts.tokens(
            "chunk", self._parts.assembly.stored_rows("chunk", np.asarray(rows))
        )


class _Units(_Ranges):
    """Sentences, and statements that an LLM extracted: DOCUMENT:START-END#PLACE."""

    def ids(self, rows: Sequence[int]) -> list[str]:
        ids = super().ids(rows)
        for i, _ in self._statements(rows):
            ids[i] += f"#{self._parts.assembly.value('unit.place', rows[i])}"
        return ids

    def texts(self, rows: Sequence[int]) -> list[str]:
        texts = super().texts(rows)
        for i, statement in self._statements(rows):
            texts[i] = self._parts.text("statement", "n_bytes", statement)
        return texts

    def _statements(self, rows: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the index and stored row of the rows that are statements."""
        for i, row in enumerate(rows):
            stored = self._parts.assembly.value("stored.unit.statement", row)
            if stored >= 0:
                yield i, stored

    def _find_rows(self, ids: Sequence[str]) -> list[int]:
        rows = super()._find_rows(ids)
        for i, each in enumerate(ids):
            name, mark, number = each.rpartition("#")
            if rows[i] < 0 and mark and number.isdecimal():
                [chunk] = _Ranges(self._parts, "chunk")._find_rows([name])  # noqa: SLF001 -- a base
                same = (self._columns["chunk"] == chunk) & (self._columns["place"] == int(number))
                matches = np.flatnonzero(same & ~self._are_ranges(slice(None)))
                rows[i] = int(matches[0]) if len(matches) else -1
        return rows

    def _vectors(self) -> Vectors:
        stored = self._parts.assembly.stored_rows
        statements = self._parts.stored_arrays("statement.vectors")
        if not statements:
            rows = SomeRows(len(self), partial(stored, "unit.sentence"))
            return self._parts.gather("sentence.vectors", rows)
        sentences = self._parts.stored_arrays("sentence.vectors")
        n_sentences = sum(len(array) for array in sentences)

        def either(rows: Rows) -> Rows:
            made = stored("unit.statement", rows)
            return np.where(made < 0, stored("unit.sentence", rows), n_sentences + made)

        return self._parts.vectors([*sentences, *statements], SomeRows(len(self), either))

    def token_vectors(self, rows: Sequence[int]) -> list[NDArray[np.float32]]:
        assembly, units = self._parts.assembly, np.asarray(rows, dtype=np.int64)
        statements = assembly.stored_rows("unit.statement", units)
        made = np.flatnonzero(statements >= 0)
        if len(made) == len(units):
            return self._parts.tokens("statement", statements)
        if "first_token" not in self._columns:
            raise MissingLayer(_NO_TOKENS)
        ranges = np.flatnonzero(statements < 0)
        chunk, first, last = (
            assembly.values(f"unit.{name}", units[ranges])
            for name in ("chunk", "first_token", "last_token")
        )
        stored = assembly.stored_rows("chunk", chunk)
        own = self._parts.tokens("chunk", stored, (first, last))
        vectors = dict(zip(ranges.tolist(), own, strict=True))
        if len(made):
            own = self._parts.tokens("statement", statements[made])
            vectors |= dict(zip(made.tolist(), own, strict=True))
        return [vectors[i] for i in range(len(units))]

    def _are_ranges(self, rows: slice) -> NDArray[np.bool_]:
        places = np.arange(*rows.indices(len(self)))
        return np.asarray(self._parts.assembly.stored_rows("unit.statement", places) < 0)


class _Keyed(_StoredLayer):
    """Entities and terms: strings with rows of their own in the database."""

    def __init__(self, parts: Parts, name: str) -> None:
        super().__init__(parts, name)
        self._keys: Once[int] = Once(_CACHED_KEYS)  # by stored rows
        self._rows_by_key: Once[str] = Once(_CACHED_IDS)

    def ids(self, rows: Sequence[int]) -> list[str]:
        stored = self._parts.assembly.stored_rows(self._name, np.asarray(rows, dtype=np.int64))
        numbers = stored.tolist()
        keys = self._keys.get_all(numbers, partial(self._parts.view.keys, self._name))
        return [keys[number] for number in numbers]

    def texts(self, rows: Sequence[int]) -> list[str]:
        return self.ids(rows)

    def rows(self, ids: Sequence[str]) -> list[int]:
        """Return the row of each key; recent keys are cached, since a question repeats them."""
        rows = self._rows_by_key.get_all(ids, partial(self._parts.find_rows, self._name))
        return [rows[key] for key in ids]


class _Entities(_Keyed):
    def rows(self, ids: Sequence[str]) -> list[int]:
        """Return the row of each key; an alias has the row of its target."""
        aliases = self._parts.aliases
        own = super().rows(ids)
        if not aliases:
            return own
        others = super().rows([aliases.get(i, i) for i in ids])
        return [other if row < 0 else row for row, other in zip(own, others, strict=True)]

    def texts(self, rows: Sequence[int]) -> list[str]:
        """Return the given names of entities, else their first spelling.

        That is in a unit, an extraction, or a title.
        """
        given = {key: entry.name for key, entry in self._parts.vocabulary.items() if entry.name}
        names: list[str] = []
        for first in range(0, len(rows), _BATCH_SIZE):
            some = rows[first : first + _BATCH_SIZE]
            places = [self._find_mention(row) for row in some]
            documents = iter(self._parts.documents([place[0] for place in places if place]))
            names += [
                next(documents).text[place[1]] if place else self._find_name(row)
                for row, place in zip(some, places, strict=True)
            ]
        if not given:
            return names
        pairs = zip(self.ids(rows), names, strict=True)
        return [given.get(key, name) for key, name in pairs]

    def _find_mention(self, row: int) -> tuple[int, slice] | None:
        """Return the document and range of an entity's first mention, or None."""
        value = self._parts.assembly.value
        mention = value("entity.mention", row)
        unit = value("mention.unit", mention) if mention >= 0 else -1
        if unit < 0 or value("stored.unit.statement", unit) >= 0:
            return None
        place = slice(value("mention.start", mention), value("mention.end", mention))
        return value("chunk.document", value("unit.chunk", unit)), place

    def _find_name(self, row: int) -> str:
        """Return an entity's spelling in a statement, an extraction or a title."""
        value = self._parts.assembly.value
        mention = value("entity.mention", row)
        if mention >= 0:
            statement = value("stored.unit.statement", value("mention.unit", mention))
            place = slice(value("mention.start", mention), value("mention.end", mention))
            return self._parts.text("statement", "n_bytes", statement)[place]
        description = value("entity.description", row)
        if description >= 0:
            stored = value("stored.description", description)
            return self._parts.text("description", "n_name", stored)
        titles = np.flatnonzero(self._parts.columns("document")["title_entity"] == row)
        return strip_title(self._parts.document(int(titles[0])).title)

    def _vectors(self) -> Vectors:
        """Return (n, d) name vectors, zero for a date that no extraction names."""
        owners = [s["name.entity"] for s in self._parts.view.segments if "name.entity" in s]
        stored = np.concatenate(owners) if owners else np.zeros(0, dtype=np.int64)
        place = np.full(self._parts.view.count("entity"), -1, dtype=np.int64)
        place[stored] = np.arange(len(stored))
        has_name = self._columns["linkable"] | self._columns["extracted"]
        stored = self._parts.assembly.stored["entity"]
        return self._parts.gather("name.vectors", np.where(has_name, place[stored], -1))


class _Triples(_StoredLayer):
    """Statements about two entities. An id is SUBJECT|RELATION|OBJECT, by keys."""

    def ids(self, rows: Sequence[int]) -> list[str]:
        subjects, objects = map(self._entities.ids, self._ends(rows))
        relations = map(name_key, self.relations(rows))
        return ["|".join(words) for words in zip(subjects, relations, objects, strict=True)]

    def texts(self, rows: Sequence[int]) -> list[str]:
        """Return subject, relation and object in words, and when that holds where texts say so."""
        subjects, objects = map(self._entities.texts, self._ends(rows))
        texts = map(" ".join, zip(subjects, self.relations(rows), objects, strict=True))
        times = ("; ".join(map(str, self.validity.get(row, ()))) for row in map(int, rows))
        return [f"{a} ({b})" if b else a for a, b in zip(texts, times, strict=True)]

    @cached_property
    def validity(self) -> Mapping[int, Sequence[Validity]]:
        stored, times = StoredColumns(self._parts.view.segments), defaultdict[int, Any](dict)
        parents, *days = (stored.tail(name, 0) for name in schema.number_columns("validity"))
        if not len(parents):
            return {}
        places = self._parts.assembly.places("occurrence", parents.astype(np.int64))
        live = np.flatnonzero(places >= 0)
        triples = self._parts.columns("occurrence")["triple"][places[live]].tolist()
        for triple, *own in zip(triples, *(each[live].tolist() for each in days), strict=True):
            times[triple][Validity(*own)] = True
        return {triple: tuple(each) for triple, each in times.items()}

    def _ends(self, rows: Sequence[int]) -> tuple[list[int], list[int]]:
        places = np.asarray(rows, dtype=np.intp)
        subjects, objects = (self._columns[end][places].tolist() for end in ("subject", "object"))
        return subjects, objects

    def rows(self, ids: Sequence[str]) -> list[int]:
        return [self._find(triple_id) for triple_id in ids]

    def _find(self, triple_id: str) -> int:
        """Return the first row of an id, whose keys may contain the separator."""
        words = triple_id.split("|")
        order, begins = self._by_subject
        for i, j in combinations(range(1, len(words)), 2):
            subject, target = self._entities.rows(["|".join(words[:i]), "|".join(words[j:])])
            if subject >= 0:
                rows = order[begins[subject] : begins[subject + 1]]
                rows = rows[self._columns["object"][rows] == target]
                for row, triple in zip(rows.tolist(), self.ids(rows), strict=True):
                    if triple == triple_id:
                        return int(row)
        return -1

    @cached_property
    def _by_subject(self) -> tuple[Rows, Rows]:
        """The rows of all triples sorted by subject, and the offset of each subject."""
        return _group_rows(self._columns["subject"], self._parts.assembly.size("entity"))

    def relations(self, rows: Sequence[int]) -> list[str]:
        stored = self._parts.assembly.stored["triple"]
        return [self._parts.text("triple", "n_relation", int(stored[row])) for row in rows]

    def descriptions(self, row: int, chunks: Collection[int] | None = None) -> list[str]:
        if self._parts.open_ragged("triple", "n_description").is_empty:
            return []
        order, begins = self._occurrences
        rows = order[begins[row] : begins[row + 1]]
        if chunks is not None:
            rows = rows[np.isin(self._parts.columns("occurrence")["chunk"][rows], [*chunks])]
        stored = self._parts.assembly.stored["occurrence"][rows]
        texts = (self._parts.text("triple", "n_description", int(each)) for each in stored)
        return list(dict.fromkeys(text for text in texts if text))

    @cached_property
    def _occurrences(self) -> tuple[Rows, Rows]:
        """The rows of all occurrences sorted by triple, and the offset of each triple."""
        return _group_rows(self._parts.columns("occurrence")["triple"], len(self))

    def _vectors(self) -> Vectors:
        return self._parts.gather("triple.vectors", self._parts.assembly.stored["triple"])

    @cached_property
    def _entities(self) -> _Entities:
        return _Entities(self._parts, "entity")


class _Descriptions(_StoredLayer):
    """Entities as described by one chunk's extraction. An id is ENTITY@CHUNK."""

    def ids(self, rows: Sequence[int]) -> list[str]:
        at = np.asarray(rows, dtype=np.intp)
        entities, chunks = (self._columns[name][at].tolist() for name in ("entity", "chunk"))
        keys = _Entities(self._parts, "entity").ids(entities)
        places = _Chunks(self._parts, "chunk").ids(chunks)
        return [f"{key}@{place}" for key, place in zip(keys, places, strict=True)]

    def texts(self, rows: Sequence[int]) -> list[str]:
        stored = self._parts.assembly.stored["description"]
        return [self._parts.text("description", "n_text", int(stored[row])) for row in rows]

    def rows(self, ids: Sequence[str]) -> list[int]:
        places = {name: row for row, name in enumerate(self.ids(range(len(self))))}
        return [places.get(i, -1) for i in ids]


class _Profiles(_Descriptions):
    """Descriptions with a text; a vector embeds the entity's name and that text."""

    def texts(self, rows: Sequence[int]) -> list[str]:
        return super().texts([int(self._columns["description"][row]) for row in rows])

    def _vectors(self) -> Vectors:
        if not len(self):
            return np.zeros((0, self._parts.dimension), dtype=np.float32)
        return self._parts.gather("profile.vectors", self._parts.assembly.stored["profile"])


_LAYERS: Mapping[str, type[_StoredLayer]] = {
    "document": _Documents,
    "chunk": _Chunks,
    "subchunk": _Ranges,
    "sentence": _Ranges,
    "unit": _Units,
    "entity": _Entities,
    "term": _Keyed,
    "triple": _Triples,
    "description": _Descriptions,
    "profile": _Profiles,
}


def build_snapshot(parts: Parts, recall: ArrayLoader | None) -> Snapshot:
    """Return the snapshot of an assembled generation.

    Sub-chunks are the chunks if none is halved, and sentences the units if no LLM extracted any.
    """
    stored, links = parts.assembly.stored, parts.assembly.links
    layers: dict[str, Any] = {name: layer(parts, name) for name, layer in _LAYERS.items()}
    if "subchunk" not in stored:
        chunks = layers["chunk"]
        columns = reading(chunks.columns, chunks.columns)
        columns["chunk"] = partial(np.arange, len(chunks), dtype=np.int32)
        layers["subchunk"] = _SameRanges(chunks, "subchunk", Lazily(columns))
        whole = reading(links, links)
        links = Lazily({**whole, ("subchunk", "term"): whole["chunk", "term"]})
    if "sentence" not in stored:
        columns = reading(layers["unit"].columns, ("chunk", "start", "end"))
        layers["sentence"] = _SameRanges(layers["unit"], "sentence", Lazily(columns))
    return Snapshot(
        document_layer=layers["document"],
        layers=layers,
        links=links,
        recipe=parts.view.recipe,
        vocabulary=parts.vocabulary,
        generation=parts.view.generation,
        recall=recall,
        close=parts.view.close,
    )


def resolve_aliases(aliases: Mapping[str, str]) -> dict[str, str]:
    """Follow chains of aliases to their ends; a cycle is followed once."""
    last = {}
    for key in aliases:
        seen = [key]
        while aliases.get(seen[-1], key) not in seen:
            seen.append(aliases[seen[-1]])
        last[key] = seen[-1]
    return last


def _group_range(owners: NDArray[Any], first: int, last: int) -> tuple[int, int]:
    """Return the range in ascending `owners` of the owners from `first` up to before `last`."""
    bounds = np.array([first, last], dtype=owners.dtype)  # of another type all were copied
    begin, end = np.searchsorted(owners, bounds).tolist()
    return begin, end


def _group_rows(owners: NDArray[Any], n_owners: int) -> tuple[Rows, Rows]:
    """Return the rows sorted by owner, and the offset of each owner's rows."""
    order = np.argsort(owners, kind="stable")
    return order, np.searchsorted(owners[order], np.arange(n_owners + 1))
