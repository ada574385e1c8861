"""Store an index: in a folder with SQLite and immutable array files, or at an address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clew.base.types import Document, Scalar, VocabularyEntry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.index.store.segments import Blocks


class Compacted(NamedTuple):
    """All live rows as one new segment, with the old row of each new one."""

    arrays: Mapping[str, NDArray[Any] | Blocks]
    documents: NDArray[np.int64]
    chunks: NDArray[np.int64]
    entities: NDArray[np.int64]
    terms: NDArray[np.int64]
    named: list[int]  # the new rows of entities that have a name vector


class Touched(NamedTuple):
    """A document that was added, removed, restored or renamed."""

    row: int
    live: bool
    after: int  # of one that is live: the row of the live one before it by id, -1 for none


class StoredRows(Protocol):
    """The read interface of a snapshot: a store's view, or several joined views."""

    recipe: Mapping[str, Scalar]
    generation: int
    segments: Sequence[Mapping[str, NDArray[Any]]]  # oldest first; `schema` has their arrays

    def documents(self, rows: Sequence[int], *, texts: bool = True) -> list[Document]:
        """Return the documents in some rows, without their texts unless `texts` is true."""

    def keys(self, table: str, rows: Sequence[int]) -> list[str]:
        """Return the keys of some rows of "entity" or "term"."""

    def rows(self, table: str, keys: Sequence[str]) -> Mapping[str, int]:
        """Return the rows of some keys of "document" (live ones), "entity" or "term"."""

    def count(self, table: str) -> int:
        """Return the number of rows of "document", "entity" or "term", dead ones included."""

    def aliases(self) -> Mapping[str, str]:
        """Return the key of the entity that each alias stands for."""

    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        """Return the vocabulary: entries by entity key."""

    def close(self) -> None: ...
