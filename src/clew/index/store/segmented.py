"""The common part of stores with rows in a catalogue and arrays in immutable segments.

A transaction of the catalogue is the commit point. The segments of a commit are durable before it;
every eight of a size become one.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from clew.base.runtime.closing import Closing
from clew.base.types import KINDS, Document, Scalar, VocabularyEntry
from clew.errors import DamagedIndex
from clew.index.snapshot.batch import Batch
from clew.index.store import schema, segments
from clew.index.store.catalogue import Catalogue, Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.index.store import Compacted
    from clew.index.store.cache import FileCache
    from clew.index.store.segments import Arrays, Blocks

_log = logging.getLogger(__name__)
_ATTEMPTS = 5  # to open a generation while a compaction replaces its segments
_FAN_IN = 8  # segments of one level that are merged into one of the next
_COMPACTED = -1  # the level of a compacted segment, which is kept apart

C_co = TypeVar("C_co", bound=Catalogue, covariant=True)


class SegmentedStore(Closing, ABC, Generic[C_co]):
    """A session on a catalogue and its segments.

    The first write makes it the writer, which it is until `close`. Threads may take views and ask
    for the generation while one of them writes. A subclass says where things are.
    """

    cache: FileCache

    def __init__(self, catalogue: C_co, for_readers: C_co) -> None:
        self._catalogue = catalogue
        self._seen_by_readers = for_readers
        self.recipe: Mapping[str, Scalar] = dict(catalogue.meta("recipe"))
        self.aliases = catalogue.aliases
        self.vocabulary = catalogue.vocabulary
        self.hashes = catalogue.hashes
        self.source = catalogue.source
        self.work = catalogue.work

    # -- where things are -------------------------------------------------------------------

    @abstractmethod
    def open_read_only(self) -> Catalogue:
        """Open another connection to the catalogue, frozen at the newest generation."""

    @property
    @abstractmethod
    def _is_writer(self) -> bool: ...

    @abstractmethod
    def lock(self) -> None:
        """Become the writer unless this session already is. Raises IndexLocked."""

    @abstractmethod
    def _name(self, number: int) -> str:
        """Return a never used name for a new segment."""

    @abstractmethod
    def _put(self, name: str, arrays: Mapping[str, NDArray[Any] | Blocks]) -> None:
        """Write a segment durably."""

    @abstractmethod
    def _arrays(self, name: str) -> Arrays:
        """Return the arrays of a segment. Raises MissingSegment, DamagedIndex."""

    @abstractmethod
    def _sweep(self) -> None:
        """Delete segments that are unregistered or replaced."""

    @abstractmethod
    def _after_commit(self) -> None:
        """Run the hook after a commit."""

    def settle(self, more: Mapping[str, Scalar | None]) -> None:
        """Add settings to the recipe after creation; None removes one.

        Snapshots that are open keep the recipe that they have.
        """
        self.lock()
        recipe = {name: value for name, value in self.recipe.items() if name not in more}
        recipe |= {name: value for name, value in more.items() if value is not None}
        with self._catalogue.transaction():
            self._catalogue.set_meta("recipe", recipe)
        self.recipe = recipe

    @property
    def generation(self) -> int:
        """Return the newest committed generation, without waiting for writers."""
        return int(self._seen_by_readers.meta("generation"))

    def unnamed(self, keys: Sequence[str]) -> list[int]:
        """Return the indices of the keys whose entities have no stored name vector."""
        with_vectors = self._catalogue.keys_with_vectors(keys)
        return [i for i, key in enumerate(keys) if key not in with_vectors]

    def commit(self, batch: Batch, hashes: Sequence[str]) -> int:
        """Add a batch in one transaction and return the new generation.

        A document replaces the live one of the same id, an extraction those of its chunk and
        kind, which wait for it no more. Raises IndexLocked while another process writes.
        """
        self.lock()
        self._merge()
        with self._transaction():
            keys = {
                "entity": self._catalogue.add_keys("entity", batch.entities),
                "term": self._catalogue.add_keys("term", batch.terms),
            }
            first = Counter(document=self._catalogue.count("document"))
            for segment in self._catalogue.segments():
                first.update(segment.counts)
            arrays = schema.place_batch(batch, keys, first, self.recipe)
            self._write(arrays, level=0)
            self._catalogue.add_documents(batch.documents, hashes)
            if "name.entity" in arrays:
                self._catalogue.note_vectors(arrays["name.entity"].tolist())
            for number, kind in enumerate(KINDS if "extraction.chunk" in arrays else ()):
                done = arrays["extraction.chunk"][arrays["extraction.kind"] == number]
                self._catalogue.clear_work(kind, done.tolist())
            return self._advance()

    def _write(self, arrays: Mapping[str, NDArray[Any] | Blocks], *, level: int) -> None:
        """Write a segment and register it, inside a transaction."""
        number = int(self._catalogue.meta("next_segment") or 0)
        name = self._name(number)
        self._put(name, arrays)
        self._catalogue.add_segment(Segment(name, level, schema.count_rows(arrays)))
        self._catalogue.set_meta("next_segment", number + 1)

    def _merge(self) -> None:
        """Merge the newest segments while many have similar sizes.

        So an index of n commits has O(log n) segments: few files to open, however long a run is.
        No row changes its number, and so no generation begins.
        """
        while True:
            stored = self._catalogue.segments()
            newest = stored[-_FAN_IN:]
            if len(newest) < _FAN_IN or len({segment.level for segment in newest}) > 1:
                return
            try:
                parts = [self._arrays(segment.name) for segment in newest]
                with self._catalogue.transaction():
                    self._catalogue.drop_segments(segment.name for segment in newest)
                    self._write(segments.join_segments(parts), level=newest[0].level + 1)
            except DamagedIndex as error:
                _log.warning("segments are not merged (%s)", error)
                return
            self._sweep()

    def note(self, name: str) -> Mapping[str, Any]:
        """Return the JSON values last stored under a name, {} by default."""
        return dict(self._catalogue.meta(name) or {})

    def set_note(self, name: str, values: Mapping[str, Any]) -> None:
        """Store JSON values under a name, such as the plan of an extraction."""
        self.lock()
        with self._catalogue.transaction():
            self._catalogue.set_meta(name, dict(values))

    def set_work(self, kind: str, packs: Mapping[int, int], *, anew: bool = False) -> None:
        """Queue chunks for `work`; `anew` clears the queue first."""
        self.lock()
        with self._catalogue.transaction():
            if anew:
                self._catalogue.clear_work(kind, self._catalogue.work(kind))
            self._catalogue.set_work(kind, packs)

    def set_aliases(self, targets: Mapping[str, str | None]) -> int:
        """Set or (None) remove the targets of aliases; return the new generation."""
        self.lock()  # what another process says of a key meanwhile would be lost
        entries = self.vocabulary()
        empty = VocabularyEntry()
        return self.set_vocabulary(
            {
                key: replace(entries.get(key, empty), target=target or "")
                for key, target in targets.items()
            }
        )

    def set_vocabulary(self, entries: Mapping[str, VocabularyEntry]) -> int:
        """Replace vocabulary entries, removing empty ones; return the new generation."""
        with self._transaction():
            self._catalogue.set_vocabulary(entries)
            return self._advance()

    def revive(self, hashes: Mapping[str, str]) -> list[str]:
        """Restore removed documents by id and hash; return their ids."""
        with self._transaction():
            ids = self._catalogue.known_ids([*hashes])
            pairs = [(i, content) for i, content in hashes.items() if i in ids]
            back = [i for i, content in pairs if self._catalogue.revive(i, content)]
            if back:
                self._advance()
        return back

    def rename(self, documents: Mapping[str, Document]) -> list[str]:
        """Change ids and sources of live documents to those of others with equal content.

        Their rows stay as they are, and are those of the new ids. Nothing is done for an id that is
        not live, nor where the new one is; return the old ids of what was renamed.
        """
        with self._transaction():
            renamed = [i for i, new in documents.items() if self._catalogue.rename(i, new)]
            if renamed:
                self._advance()
        return renamed

    def restate(self, documents: Sequence[Document], hashes: Sequence[str]) -> None:
        """Replace source, metadata, pages and apparatus of live documents, with their hashes.

        Their texts and rows stay as they are, so the texts of `documents` do not matter.
        """
        with self._transaction():
            self._catalogue.restate(documents, hashes)
            self._advance()

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Delete documents and their own rows; return the ids that existed."""
        with self._transaction():
            gone = self._catalogue.kill(ids)
            if gone:
                self._advance()
        return gone

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the block as one transaction that may create a generation."""
        self.lock()
        with self._catalogue.transaction():
            yield
        self._after_commit()

    def _advance(self) -> int:
        generation = int(self._catalogue.meta("generation")) + 1
        self._catalogue.record_time()
        self._catalogue.set_meta("generation", generation)
        return generation

    def rewrite(self, live: Compacted) -> None:
        """Replace all rows by the live ones, renumbered, as the next generation.

        It was computed from a view that was opened behind `lock`.
        """
        with self._transaction():
            self._catalogue.replace_all(
                live.documents.tolist(), live.entities.tolist(), live.terms.tolist()
            )
            self._catalogue.replace_work(live.chunks.tolist())
            self._catalogue.note_vectors(live.named)
            self._catalogue.set_meta("numbering", int(self._catalogue.meta("numbering")) + 1)
            if len(live.documents):
                self._write(live.arrays, level=_COMPACTED)
            self._catalogue.set_meta("compacted", self._advance())
        self._sweep()
        self._catalogue.vacuum()

    def view(self) -> View:
        """Return the newest generation, unchanged by later commits."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(segments.MissingSegment):  # a compaction came between
                return self._open_view()
        return self._open_view()

    def _open_view(self) -> View:
        catalogue = self.open_read_only()
        try:
            segments = [self._arrays(each.name) for each in catalogue.segments()]
            return View(catalogue, dict(catalogue.meta("recipe")), segments)
        except BaseException:
            catalogue.close()
            raise

    def sweep(self) -> None:
        """Delete cached arrays older than the last rewrite, which may contain deleted text.

        It does so by itself when it becomes the writer.
        """
        if self._is_writer:
            self.cache.drop(before=self._catalogue.meta("compacted") or 0)
            with self._catalogue.transaction():
                self._catalogue.forget_touched(until=self.cache.oldest(self.generation))

    def close(self) -> None:
        """Close open files and release locks."""
        self.cache.let_go()
        self._seen_by_readers.close()
        self._catalogue.close()


class View:
    """One generation of a store: a read transaction, and its segments mapped into memory."""

    def __init__(
        self, catalogue: Catalogue, recipe: Mapping[str, Scalar], segments: Sequence[Arrays]
    ) -> None:
        self.recipe = recipe
        self.segments = segments  # oldest first; `schema` has their arrays
        self.generation = int(catalogue.meta("generation"))
        self.numbering = int(catalogue.meta("numbering"))  # another one once rows are renumbered
        self.live_documents = catalogue.live_documents
        self.documents = catalogue.documents
        self.keys = catalogue.keys
        self.rows = catalogue.rows
        self.count = catalogue.count
        self.aliases = catalogue.aliases
        self.vocabulary = catalogue.vocabulary
        self.remembered = catalogue.remembered
        self.list_times = catalogue.list_times
        self.documents_at = catalogue.documents_at
        self.touched = catalogue.touched_documents
        self.close = catalogue.close


Store: TypeAlias = SegmentedStore[Catalogue]
