"""Store an index. The embedded store is a folder with SQLite and immutable array files.

A store is anything that keeps this protocol; `clew.testing` has the suite that proves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from clew.base.types import Document, Scalar, VocabularyEntry
from clew.index.snapshot.batch import Batch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.index.store.segments import Blocks


@dataclass(frozen=True, slots=True)
class Compacted:
    """All live rows as one new segment, with the old row of each new one."""

    arrays: Mapping[str, NDArray[Any] | Blocks]
    documents: NDArray[np.int64]
    chunks: NDArray[np.int64]
    entities: NDArray[np.int64]
    terms: NDArray[np.int64]
    named: list[int]  # the new rows of entities that have a name vector


@dataclass(frozen=True, slots=True)
class Touched:
    """A document that was added, removed, restored or renamed."""

    row: int
    live: bool
    after: int  # of one that is live: the row of the live one before it by id, -1 for none


class View(Protocol):
    """A stored generation. Rows are the store's own numbers."""

    recipe: Mapping[str, Scalar]
    generation: int
    numbering: int  # another one where stored rows were given numbers anew
    segments: Sequence[Mapping[str, NDArray[Any]]]  # oldest first; `schema` has their arrays

    def live_documents(self) -> Sequence[tuple[str, int]]:
        """Return the ids and rows of live documents, sorted by id."""

    def documents(self, rows: Sequence[int], *, texts: bool = True) -> list[Document]:
        """Return the documents in some rows, without their texts unless `texts` is true."""

    def keys(self, table: str, rows: Sequence[int]) -> list[str]:
        """Return the keys of some rows of "entity" or "term"."""

    def rows(self, table: str, keys: Sequence[str]) -> Mapping[str, int]:
        """Return the rows of some keys of "document" (live ones), "entity" or "term"."""

    def count(self, table: str) -> int:
        """Return the number of rows of "document", "entity" or "term", dead ones included."""

    def aliases(self) -> Mapping[str, str]:
        """Return the target key of each alias."""

    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        """Return the vocabulary: entries by entity key."""

    remembered: int  # the generation since which it is known what documents there were

    def list_times(self) -> Mapping[int, str]:
        """Return the time of each generation, ISO 8601 in UTC, where known."""

    def documents_at(self, generation: int) -> Sequence[tuple[str, int]]:
        """Return ids and rows of the documents of a generation, sorted by id."""

    def touched(self, since: int, first: int) -> Sequence[Touched] | None:
        """Return the documents that later generations removed, then those they added or moved.

        The latter, by their ids, were added, in the rows from the `first` on, brought back or
        renamed. None where that is not known, or what an entity stands for changed.
        """

    def close(self) -> None: ...


class Cache(Protocol):
    """Arrays derived from a generation, cached by name; losing them only costs time."""

    def names(self) -> list[str]:
        """Return the names of all cached arrays, of any generation."""

    def generations(self, name: str) -> list[int]:
        """Return the generations that have cached arrays of this name, ascending."""

    def load(self, name: str, generation: int) -> Mapping[str, NDArray[Any]] | None:
        """Return the cached arrays of a generation, or None if there are none to read.

        A damaged array may raise DamagedIndex when it is asked for.
        """

    def newest(self, name: str) -> Mapping[str, NDArray[Any]] | None:
        """Return the newest cached arrays of this name, fully verified."""

    def save(self, name: str, generation: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Cache arrays, replacing those of earlier generations; ignore an unwritable cache."""

    def drop(self, before: int) -> None:
        """Delete the cached arrays of generations before `before`."""


class Store(Protocol):
    """The store of an index, with one writer and any number of readers."""

    @property
    def recipe(self) -> Mapping[str, Scalar]:
        """Return the settings that the index was built with: chunking, models, versions."""

    def settle(self, more: Mapping[str, Scalar | None]) -> None:
        """Add settings to the recipe after creation; None removes one.

        Snapshots that are open keep the recipe that they have.
        """

    @property
    def generation(self) -> int:
        """Return the number of commits."""

    def hashes(self, ids: Sequence[str] | None = None) -> Mapping[str, str]:
        """Return the content hashes of live documents by id, of all or some."""

    def unnamed(self, keys: Sequence[str]) -> list[int]:
        """Return the positions of entity keys without a stored name vector."""

    def lock(self) -> None:
        """Become the only writer until `close`. Raises IndexLocked."""

    def commit(self, batch: Batch, hashes: Sequence[str]) -> int:
        """Add a batch in one transaction and return the new generation.

        A document replaces the live one of the same id, an extraction those of its chunk and
        kind, which wait for it no more. Raises IndexLocked while another process writes.
        """

    def note(self, name: str) -> Mapping[str, Any]:
        """Return the JSON values last stored under a name, {} by default."""

    def set_note(self, name: str, values: Mapping[str, Any]) -> None:
        """Store JSON values under a name, such as the plan of an extraction."""

    def work(self, kind: str) -> Mapping[int, int]:
        """Return the queued chunks (stored rows) of a kind of extraction, with their packs.

        Each has the number of its pack, the chunks of one prompt, or -1 to be left as it is.
        """

    def set_work(self, kind: str, packs: Mapping[int, int], *, anew: bool = False) -> None:
        """Queue chunks for `work`; `anew` clears the queue first."""

    def aliases(self) -> Mapping[str, str]:
        """Return the target key of each alias."""

    def set_aliases(self, targets: Mapping[str, str | None]) -> int:
        """Set or (None) remove the targets of aliases; return the new generation."""

    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        """Return the vocabulary: entries by entity key."""

    def set_vocabulary(self, entries: Mapping[str, VocabularyEntry]) -> int:
        """Replace vocabulary entries, removing empty ones; return the new generation."""

    def revive(self, hashes: Mapping[str, str]) -> list[str]:
        """Restore removed documents by id and hash; return their ids."""

    def rename(self, documents: Mapping[str, Document]) -> list[str]:
        """Change ids and sources of live documents to those of others with equal content.

        Their rows stay as they are, and are those of the new ids. Nothing is done for an id that is
        not live, nor where the new one is; return the old ids of what was renamed.
        """

    def restate(self, documents: Sequence[Document], hashes: Sequence[str]) -> None:
        """Replace source, metadata, pages and apparatus of live documents, with their hashes.

        Their texts and rows stay as they are, so the texts of `documents` do not matter.
        """

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Delete documents and their own rows; return the ids that existed."""

    def rewrite(self, live: Compacted) -> None:
        """Replace all rows by the live ones, renumbered, as the next generation.

        It was computed from a view that was opened behind `lock`.
        """

    def view(self) -> View:
        """Return the newest generation, unchanged by later commits."""

    def sweep(self) -> None:
        """Delete cached arrays older than the last rewrite, which may contain deleted text.

        It does so by itself when it becomes the writer.
        """

    @property
    def cache(self) -> Cache:
        """Return the cache for derived arrays."""

    def close(self) -> None:
        """Release files and locks."""
