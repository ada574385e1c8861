"""The documents, chunks and extractions added or removed since the base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.row_edits import RowEdits
from clew.base.types import KINDS
from clew.index.generation.assemble import Assembly
from clew.index.generation.edits.search import are_in, insertion_places, rows_below
from clew.index.generation.rows import Live, Rows, find_newest, follow, place_by_row
from clew.index.store import Touched
from clew.index.store.columns import StoredColumns

MOST_ROWS = 10_000  # of a layer that come; of more, everything is put together anew
_LIMITED_LAYERS = ("sentence", "statement", "triple", "description")


class TooManyEdits(Exception):
    """The generations differ too much, or in a way that edits do not cover."""


@dataclass(frozen=True)
class Source:
    """The changes that edits are derived from, and the edits of documents and chunks.

    A chunk of which something was extracted since is one that went, and came in its own place.
    """

    base: Assembly
    lookups: Mapping[str, NDArray[Any]]
    stored: StoredColumns
    touched: Sequence[Touched]

    @property
    def is_halved(self) -> bool:
        return "subchunk" in self.base.stored

    @property
    def has_statements(self) -> bool:
        """Whether an LLM made units, so that sentences are rows of their own."""
        return "sentence" in self.base.stored

    def column(self, name: str) -> NDArray[Any]:
        return self.base.columns[name]

    # -- documents and chunks ---------------------------------------------------------------------

    @property
    def _added_documents(self) -> Rows:
        """The stored rows of the added documents."""
        return np.array([each.row for each in self.touched if each.live], dtype=np.int64)

    @cached_property
    def documents(self) -> RowEdits:
        rows = self.base.stored["document"]
        place = place_by_row(rows, int(self.lookups["sizes"][0]))
        touched = np.array([each.row for each in self.touched], dtype=np.int64)
        gone = place[touched[touched < len(place)]]
        place[touched[touched < len(place)]] = -1
        new = [each for each in self.touched if each.live]
        before = np.zeros(len(new), dtype=np.int64)
        for i, each in enumerate(new):
            if 0 <= each.after < len(place) and place[each.after] >= 0:
                before[i] = place[each.after] + 1
            elif i and each.after >= 0:  # behind another one that came
                before[i] = before[i - 1]
        return RowEdits.from_changes(len(rows), np.sort(gone[gone >= 0]), before)

    @cached_property
    def removed(self) -> Rows:
        """The former rows of the removed documents' chunks, ascending."""
        return rows_below(self.column("chunk.document"), self.documents.gone)

    @cached_property
    def changed(self) -> Rows:
        """The former rows of kept chunks with a new extraction, ascending."""
        new = self.stored.tail("extraction.chunk", int(self.lookups["sizes"][1])).astype(np.int64)
        rows = np.unique(self.base.places("chunk", new))
        rows = rows[rows >= 0]
        return rows[~are_in(rows, self.removed)]

    @cached_property
    def _chunks(self) -> tuple[Rows, Rows, Rows, Rows]:
        """The added chunks in order: stored row, present document, insertion point and origin."""
        document = self.column("chunk.document")
        new, owner = self.stored.rows_below("chunk", self._added_documents)
        if len(new) + len(self.changed) > MOST_ROWS:
            raise TooManyEdits
        stays = self.documents.to_present(document[self.changed])
        rows = np.concatenate([new, self.base.stored["chunk"][self.changed]])
        documents = np.concatenate([self.documents.at[owner], stays])
        boundary = insertion_places(document, self.documents.before)
        before = np.concatenate([boundary[owner], self.changed])
        origin = np.concatenate([np.full(len(new), -1), self.changed])
        order = np.lexsort((rows, documents))
        return rows[order], documents[order], before[order], origin[order]

    @cached_property
    def chunks(self) -> RowEdits:
        _, _, before, origin = self._chunks
        gone = np.union1d(self.removed, self.changed)
        return RowEdits.from_changes(len(self.column("chunk.document")), gone, before, origin)

    @property
    def chunk_documents(self) -> Rows:
        """The present document of each added chunk."""
        return self._chunks[1]

    @property
    def chunks_before(self) -> Rows:
        """The former chunk that each added chunk is inserted before or replaces."""
        return self._chunks[2]

    def documents_of(self, chunks: Rows) -> Rows:
        """Return the document of each given chunk; both are present rows."""
        former = self.chunks.to_former(chunks)
        old = self.documents.to_present(self.column("chunk.document")[np.maximum(former, 0)])
        new = np.flatnonzero(former < 0)
        old[new] = self.chunk_documents[np.searchsorted(self.chunks.at, chunks[new])]
        return old

    # -- what stands below the chunks that came ---------------------------------------------------

    @cached_property
    def live(self) -> Live:
        """The stored rows of the added documents and chunks, and of all layers below them."""
        chunks = self._chunks[0]
        live = Live({"document": self._added_documents, "chunk": chunks})
        for layer in ("sentence", "count", "posting"):
            self._follow(live, layer, chunks)
        if self.is_halved:
            self._follow(live, "subchunk", chunks)
        n_stored = self.stored.size("chunk")
        extracted, of = follow(self.stored.tail("extraction.chunk", 0), chunks, n_stored)
        newest = find_newest(of, self.stored.take("extraction.kind", extracted))
        live.rows["extraction"], live.above["extraction"] = extracted[newest], of[newest]
        for layer in ("statement", "triple", "description"):
            self._follow(live, layer, live.rows["extraction"])
        self._follow(live, "profile", live.rows["description"])
        return live

    def _follow(self, live: Live, layer: str, above: Rows) -> None:
        """Add the rows of a layer below some rows. Raises TooManyEdits above the limit."""
        live.rows[layer], live.above[layer] = self.stored.rows_below(layer, above)
        if layer in _LIMITED_LAYERS and len(live.rows[layer]) > MOST_ROWS:
            raise TooManyEdits

    def new_values(self, name: str) -> NDArray[Any]:
        """Return a stored column of the rows added with chunks."""
        return self.stored.take(name, self.live.rows[name.partition(".")[0]])

    def extraction_sources(self, kind: str) -> NDArray[np.uint8]:
        """Return the source of each added chunk's extraction of a kind, or 0."""
        mine = self.new_values("extraction.kind") == KINDS.index(kind)
        sources = np.zeros(len(self.live.rows["chunk"]), dtype=np.uint8)
        sources[self.live.above["extraction"][mine]] = self.new_values("extraction.source")[mine]
        return sources

    def edit_rows_below(self, column: str, chunks: Rows) -> RowEdits:
        """Return the edits of rows that are added and removed with their chunks.

        `column` names that of the chunks that they stand in; `chunks` are those that came.
        """
        former = self.column(column)
        before = insertion_places(former, self.chunks_before)
        gone = rows_below(former, self.chunks.gone)
        return RowEdits.from_changes(len(former), gone, before[chunks])

    @cached_property
    def descriptions(self) -> RowEdits:
        return self.edit_rows_below("description.chunk", self.live.chunks_of("description"))

    @cached_property
    def titles(self) -> Rows:
        """The stored entity in the title of each added document, -1 for none."""
        rows = self.live.rows["document"]
        return self.stored.take("document.title_entity", rows).astype(np.int64)
