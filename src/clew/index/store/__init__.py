"""Keep an index. The embedded store is a folder of SQLite rows and immutable arrays.

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
    """Everything that is live as one new segment, and which stored rows its numbers stand for."""

    arrays: Mapping[str, NDArray[Any] | Blocks]
    documents: NDArray[np.int64]
    chunks: NDArray[np.int64]
    entities: NDArray[np.int64]
    terms: NDArray[np.int64]
    named: list[int]  # the new rows of entities that have a name vector


@dataclass(frozen=True, slots=True)
class Touched:
    """A document that was added, removed, brought back or given another id."""

    row: int
    live: bool
    after: int  # of one that is live: the row of the live one before it by id, -1 for none


class View(Protocol):
    """One generation as a store keeps it. Rows are the store's own numbers."""

    recipe: Mapping[str, Scalar]
    generation: int
    numbering: int  # another one where stored rows were given numbers anew
    segments: Sequence[Mapping[str, NDArray[Any]]]  # oldest first; `schema` has their arrays

    def live_documents(self) -> Sequence[tuple[str, int]]:
        """Return the id and the row of every live document, by id."""

    def documents(self, rows: Sequence[int], *, texts: bool = True) -> list[Document]:
        """Return the documents in some rows; their texts are empty unless `texts` is true."""

    def keys(self, table: str, rows: Sequence[int]) -> list[str]:
        """Return the key in each row of "entity" or "term"."""

    def rows(self, table: str, keys: Sequence[str]) -> Mapping[str, int]:
        """Return the row of each key that "document", "entity" or "term" has; live documents'."""

    def count(self, table: str) -> int:
        """Return how many rows "document", "entity" or "term" has, dead ones among them."""

    def aliases(self) -> Mapping[str, str]:
        """Return which entity key stands for which other key."""

    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        """Return what was said of entity keys by hand or by a list."""

    remembered: int  # the generation since which it is known what documents there were

    def list_times(self) -> Mapping[int, str]:
        """Return when each generation was written, ISO 8601 in UTC, as far as that is known."""

    def documents_at(self, generation: int) -> Sequence[tuple[str, int]]:
        """Return the ids and rows of the documents of a generation since `remembered`, by id."""

    def touched(self, since: int, first: int) -> Sequence[Touched] | None:
        """Return the documents that a generation's followers removed, then those they gave a place.

        The latter, by their ids, were added, in the rows from the `first` on, brought back or
        renamed. None where that is not known, or what an entity stands for changed.
        """

    def close(self) -> None: ...


class Cache(Protocol):
    """Arrays by name that were computed from a generation. Losing them costs time alone."""

    def names(self) -> list[str]:
        """Return the names of all cached arrays, of any generation."""

    def generations(self, name: str) -> list[int]:
        """Return the generations that have cached arrays of this name, ascending."""

    def load(self, name: str, generation: int) -> Mapping[str, NDArray[Any]] | None:
        """Return the cached arrays of a generation, or None if there are none to read.

        A damaged array may raise DamagedIndex when it is asked for.
        """

    def newest(self, name: str) -> Mapping[str, NDArray[Any]] | None:
        """Return the cached arrays of the newest generation that has them, fully verified."""

    def save(self, name: str, generation: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Cache arrays in place of those of earlier generations, if the cache can be written."""

    def drop(self, before: int) -> None:
        """Delete the cached arrays of generations before `before`."""


class Store(Protocol):
    """One index. Many may read it while one writes."""

    @property
    def recipe(self) -> Mapping[str, Scalar]:
        """The settings that the index was built with: chunking, models, versions."""

    def settle(self, more: Mapping[str, Scalar | None]) -> None:
        """Add settings to the recipe that are decided later; None removes one.

        Snapshots that are open keep the recipe that they have.
        """

    @property
    def generation(self) -> int:
        """How many commits there have been."""

    def hashes(self, ids: Sequence[str] | None = None) -> Mapping[str, str]:
        """Return the content hash of every live document by its id, or of some that are live."""

    def unnamed(self, keys: Sequence[str]) -> list[int]:
        """Return the positions of those entity keys that have no name vector yet."""

    def lock(self) -> None:
        """Become the one writer, until `close`. Raises IndexLocked while another process writes."""

    def commit(self, batch: Batch, hashes: Sequence[str]) -> int:
        """Add a batch in one transaction and return the new generation.

        A document replaces the live one of the same id, an extraction those of its chunk and
        kind, which wait for it no more. Raises IndexLocked while another process writes.
        """

    def note(self, name: str) -> Mapping[str, Any]:
        """Return the values that `set_note` stored last under a name, or an empty mapping."""

    def set_note(self, name: str, values: Mapping[str, Any]) -> None:
        """Store some JSON values under a name, such as the plan of an extraction."""

    def work(self, kind: str) -> Mapping[int, int]:
        """Return the chunks (stored rows) considered for a kind of extraction that lack theirs.

        Each has the number of its pack, the chunks of one prompt, or -1 to be left as it is.
        """

    def set_work(self, kind: str, packs: Mapping[int, int], *, anew: bool = False) -> None:
        """Consider chunks as `work` will return them; `anew` forgets those considered before."""

    def aliases(self) -> Mapping[str, str]:
        """Return which entity key stands for which other key."""

    def set_aliases(self, targets: Mapping[str, str | None]) -> int:
        """Make keys aliases of others, or of nothing (None); return the new generation."""

    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        """Return what was said of entity keys by hand or by a list."""

    def set_vocabulary(self, entries: Mapping[str, VocabularyEntry]) -> int:
        """Replace what is said of some keys, an empty entry by nothing; return the generation."""

    def revive(self, hashes: Mapping[str, str]) -> list[str]:
        """Restore removed documents whose id and hash match; return their ids."""

    def rename(self, documents: Mapping[str, Document]) -> list[str]:
        """Give live documents, by their ids, the id and source of others of equal content.

        Their rows stay as they are, and are those of the new ids. Nothing is done for an id that is
        not live, nor where the new one is; return the old ids of what was renamed.
        """

    def restate(self, documents: Sequence[Document], hashes: Sequence[str]) -> None:
        """Replace source, metadata, pages and apparatus of live documents, and their hashes.

        Their texts and rows stay as they are, so the texts of `documents` do not matter.
        """

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Delete documents and what only they supported; return the ids that were there."""

    def rewrite(self, live: Compacted) -> None:
        """Replace everything by the live rows, numbered anew, as the next generation.

        It was computed from a view that was opened behind `lock`.
        """

    def view(self) -> View:
        """Return the newest generation, unchanged by later commits."""

    def sweep(self) -> None:
        """Delete cached arrays from before the last rewrite, since they may quote deleted text.

        It does so by itself when it becomes the writer.
        """

    @property
    def cache(self) -> Cache:
        """Where arrays are cached that can be computed again."""

    def close(self) -> None:
        """Release files and locks."""
