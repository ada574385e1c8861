"""What a snapshot is made of: rows of each kind, what they were before, and totals of the index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from clew.types import Document, Mention

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.algo.coding import Vectors
    from clew.algo.links import Link
    from clew.algo.row_edits import RowEdits
    from clew.derived import Arrays, CachedArrays
    from clew.snapshot.batch import Cut


class Layer(Protocol):
    """The rows of one kind: documents, chunks, sentences, units, entities, triples or terms."""

    def __len__(self) -> int: ...

    def ids(self, rows: Sequence[int]) -> list[str]:
        """Return the id of each row: a document's or chunk's id, an entity's key, a term."""
        ...

    def texts(self, rows: Sequence[int]) -> list[str]:
        """Return the text of each row; an entity's is its name as first written."""
        ...

    def rows(self, ids: Sequence[str]) -> list[int]:
        """Return the row of each id, -1 where there is none."""
        ...

    @property
    def vectors(self) -> Vectors:
        """(n, d) unit rows, nearly; raises MissingLayer where this kind has none.

        They are read when rows of them are asked for.
        """
        ...

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Numbers about each row by name, each (n,): a chunk's document, start, end, ..."""
        ...

    def tokens(self, row: int) -> NDArray[np.float32]:
        """Return a chunk's or unit's stored token vectors, (n, d) nearly of length one."""
        ...

    def token_vectors(self, rows: Sequence[int]) -> list[NDArray[np.float32]]:
        """Return those of several chunks or units, read at once."""
        ...


class DocumentLayer(Layer, Protocol):
    """The documents, which have more to them than a text."""

    def documents(self, rows: Sequence[int]) -> list[Document]: ...

    def headers(self) -> list[Document]:
        """Return every document as it is, but for an empty text."""
        ...


class TripleLayer(Layer, Protocol):
    """The triples: subject, relation and object, with what the extractions say of them."""

    def relations(self, rows: Sequence[int]) -> list[str]:
        """Return the relation of each row."""
        ...

    def descriptions(self, row: int, chunks: Collection[int] | None = None) -> list[str]:
        """Return the distinct descriptions of a triple, in the order of their chunks.

        Where `chunks` are given, only what was extracted from these.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoredSentence:
    """A sentence of a chunk, as the index has it."""

    start: int  # in its document
    end: int
    mentions: tuple[Mention, ...]  # in its own text, of names that have an entity's key


class ChunkCutter(Protocol):
    """Cuts chunks out of a generation."""

    def sentences(self, chunks: Sequence[int]) -> list[tuple[StoredSentence, ...]]:
        """Return the sentences of each chunk, in order; an imported graph's has none."""
        ...

    def cut(self, chunks: NDArray[np.int64], documents: NDArray[np.int64] | None = None) -> Cut:
        """Return the chunks of some rows as a batch, with their sentences, mentions and terms.

        Where `documents` are given these are there, too, whether or not they have any of the
        chunks.
        """
        ...

    def count_written(self) -> NDArray[np.int64]:
        """Return (2, n_terms): how often the texts have each term, and how often in lower case."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsSought:
    """What a method looks for around entities: the units of each that are nearest to something."""

    entities: NDArray[np.int64]  # (n,) rows; one may come several times
    directions: NDArray[np.float32]  # (n, d) what the units of each are compared with
    units: int  # of each
    titles: bool  # the units of documents whose title an entity is are its own, too


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What an index has of which a snapshot holds a part: numbers by the snapshot's own rows."""

    n_chunks: int
    n_titles: int  # entities that are the title of a document
    mean_length: float  # terms of a chunk
    term_chunks: NDArray[np.int64]  # (n_terms,) how many chunks have each
    mentioned: NDArray[np.int64]  # (n_entities,) how many chunks have it in their text
    titled: NDArray[np.int64]  # (n_entities,) how many chunks stand under it
    either: NDArray[np.int64]  # (n_entities,) how many do one or the other


class SnapshotBase(Protocol):
    """An earlier generation: what was cached of it, and how its rows became those of now."""

    def arrays(self, what: CachedArrays) -> Arrays:
        """Return what is cached of it; what is not is computed and cached."""
        ...

    def rows(self, layer: str) -> RowEdits:
        """Return how the rows of a layer became others."""
        ...

    @property
    def touched_chunks(self) -> NDArray[np.int64]:
        """The chunks that came or have a unit that came, by their present rows."""
        ...

    def transpose(self, stored: Link, a: str, b: str) -> Link:
        """Return the present link from b to a; `stored` is the former one."""
        ...
