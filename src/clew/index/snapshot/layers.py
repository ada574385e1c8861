"""The parts of a snapshot: layers, the base it was edited from, and totals of the index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clew.base.types import Document, Mention, Validity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.algo.coding import Vectors
    from clew.algo.links import Link
    from clew.algo.row_edits import RowEdits
    from clew.base.derived import Arrays, CachedArrays
    from clew.index.snapshot.batch import Cut


class Layer(Protocol):
    """The rows of one kind: documents, chunks, sentences, units, entities, triples or terms."""

    def __len__(self) -> int: ...

    def ids(self, rows: Sequence[int]) -> list[str]:
        """Return the id of each row: a document's or chunk's id, an entity's key, a term."""
        ...

    def texts(self, rows: Sequence[int]) -> list[str]:
        """Return the text of each row; for entities, the name as first written."""
        ...

    def rows(self, ids: Sequence[str]) -> list[int]:
        """Return the row of each id, -1 if unknown."""
        ...

    @property
    def vectors(self) -> Vectors:
        """(n, d) unit rows, approximately. Raises MissingLayer if this layer has none.

        They are read when rows of them are asked for.
        """
        ...

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Numbers of each row by name, (n,) each: a chunk's document, start, end, ..."""
        ...

    def tokens(self, row: int) -> NDArray[np.float32]:
        """Return a chunk's or unit's stored token vectors, (n, d), approximately unit rows."""
        ...

    def token_vectors(self, rows: Sequence[int]) -> list[NDArray[np.float32]]:
        """Return the token vectors of several chunks or units, read together."""
        ...


class DocumentLayer(Layer, Protocol):
    """The documents, which have metadata beside their text."""

    def documents(self, rows: Sequence[int]) -> list[Document]: ...

    def headers(self) -> list[Document]:
        """Return all documents without their texts."""
        ...


class TripleLayer(Layer, Protocol):
    """The triples: subject, relation and object, with their descriptions."""

    def relations(self, rows: Sequence[int]) -> list[str]:
        """Return the relation of each row."""
        ...

    def descriptions(self, row: int, chunks: Collection[int] | None = None) -> list[str]:
        """Return the distinct descriptions of a triple, in chunk order.

        Where `chunks` are given, only what was extracted from these.
        """
        ...

    @property
    def validity(self) -> Mapping[int, Sequence[Validity]]:
        """Return the distinct times at which triples hold, by row, where texts say so."""
        ...


class StoredSentence(NamedTuple):
    """A statement of a chunk, as stored."""

    start: int  # in its document
    end: int
    mentions: tuple[Mention, ...]  # in its own text, of names that have an entity's key
    above_start: int = 0  # of what makes it understood, in its document
    above_end: int = 0  # 0 where nothing does
    is_context: bool = False  # it only leads to other statements


class ChunkCutter(Protocol):
    """Cuts chunks out of a generation."""

    def sentences(self, chunks: Sequence[int]) -> list[tuple[StoredSentence, ...]]:
        """Return the sentences of each chunk, in order; an imported graph's has none."""
        ...

    def cut(self, chunks: NDArray[np.int64], documents: NDArray[np.int64] | None = None) -> Cut:
        """Return some chunks as a batch, with their sentences, mentions and terms.

        Where `documents` are given these are there, too, whether or not they have any of the
        chunks.
        """
        ...

    def count_capitals(self) -> NDArray[np.int64]:
        """Return (n_terms,): how much oftener the texts have each term with a capital than without.

        Capitals at the start of a sentence do not count.
        """
        ...


class UnitsSought(NamedTuple):
    """What a method needs around entities: each one's units nearest to a query."""

    entities: NDArray[np.int64]  # (n,) rows; one may come several times
    directions: NDArray[np.float32]  # (n, d) what the units of each are compared with
    units: int  # of each
    titles: bool  # the units of documents whose title an entity is are its own, too


class Totals(NamedTuple):
    """Counts over the whole index for a snapshot of a part, by the snapshot's rows."""

    n_chunks: int
    n_titles: int  # entities that are the title of a document
    mean_length: float  # terms of a chunk
    term_chunks: NDArray[np.int64]  # (n_terms,) how many chunks have each
    mentioned: NDArray[np.int64]  # (n_entities,) how many chunks have it in their text
    titled: NDArray[np.int64]  # (n_entities,) how many chunks stand under it
    either: NDArray[np.int64]  # (n_entities,) how many do one or the other
    missing: tuple[str, ...] = ()  # the names of shards that did not reply
    reached: float = 1.0  # the share of the others


class SnapshotBase(Protocol):
    """An earlier generation: its cached arrays, and how its rows map to the present ones."""

    def arrays(self, what: CachedArrays) -> Arrays:
        """Return cached arrays, computed on a miss."""
        ...

    def rows(self, layer: str) -> RowEdits:
        """Return how a layer's rows changed."""
        ...

    @property
    def touched_chunks(self) -> NDArray[np.int64]:
        """The present rows of the chunks that are new or have a new unit."""
        ...

    def transpose(self, stored: Link, a: str, b: str) -> Link:
        """Return the present link from b to a; `stored` is the former one."""
        ...
