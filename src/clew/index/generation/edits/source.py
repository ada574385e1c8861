"""The documents, chunks and extractions added or removed since the base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.row_edits import RowEdits
from clew.base.types import KINDS, LLM_MADE, UNITS
from clew.index.generation.assembly import Assembly, IndexCounts
from clew.index.generation.edited import TooManyEdits
from clew.index.generation.edits.search import are_in, insertion_places, rows_below
from clew.index.generation.rows import Live, Rows, follow_rows, place_by_row
from clew.index.store import Touched
from clew.index.store.columns import StoredColumns

MOST_ROWS = 10_000  # of a layer that come; of more, everything is put together anew
_LAYERS = (
    "sentence", "count", "subchunk", "extraction", "statement", "triple", "description", "profile",
)  # fmt: skip
_LIMITED_LAYERS = ("sentence", "statement", "triple", "description")


@dataclass(frozen=True)
class Source:
    """The changes that edits are derived from, and the edits of documents and chunks.

    A chunk of which something was extracted since is one that went, and came in its own place.
    Of an empty base the edits are the whole generation.
    """

    base: Assembly
    stored: StoredColumns
    added: Rows  # the stored rows of the added documents, in the order of their ids
    documents: RowEdits
    # For a whole generation only:
    targets: Rows | None = None  # the entity that each stored one is an alias of, or itself
    n_extractions: int | None = None  # how many count; None: all
    whole: IndexCounts | None = None  # of the index that it is a part of
    during: int = 0  # a day, month or year: triples that do not hold then are left out

    @property
    def lookups(self) -> Mapping[str, NDArray[Any]]:
        return self.base.lookups

    @cached_property
    def is_edited(self) -> bool:
        """Whether edits start from an earlier generation, so that a rebuild may be cheaper."""
        return self.base.size("chunk") > 0

    @property
    def is_halved(self) -> bool:
        return "subchunk" in self.base.stored

    @cached_property
    def has_statements(self) -> bool:
        """Whether an LLM made units, so that sentences are rows of their own."""
        if self.is_edited:
            return "sentence" in self.base.stored
        return bool(len(self.live.rows["statement"])) or not self.has_own_units.all()

    @cached_property
    def has_own_units(self) -> NDArray[np.bool_]:
        """Mark the added sentences that are units: in their chunk no LLM made any."""
        is_own = self.extraction_sources(UNITS)[self.live.above["sentence"]] != LLM_MADE
        return np.asarray(is_own)

    def column(self, name: str) -> NDArray[Any]:
        return self.base.columns[name]

    def resolve(self, entities: NDArray[Any]) -> Rows:
        """Return the stored entities that some stored entities stand for."""
        targets = self.targets
        return entities.astype(np.int64) if targets is None else targets[entities]

    def check_size(self, n: int) -> None:
        """Raise TooManyEdits if `n` added rows make a rebuild cheaper."""
        if self.is_edited and n > MOST_ROWS:
            raise TooManyEdits

    # -- documents and chunks ---------------------------------------------------------------------

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
        new, owner = self.stored.rows_below("chunk", self.added)
        self.check_size(len(new) + len(self.changed))
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
        if not self.is_edited:
            return self.chunk_documents[chunks]
        former = self.chunks.to_former(chunks)
        old = self.documents.to_present(self.column("chunk.document")[np.maximum(former, 0)])
        new = np.flatnonzero(former < 0)
        old[new] = self.chunk_documents[np.searchsorted(self.chunks.at, chunks[new])]
        return old

    # -- what stands below the chunks that came ---------------------------------------------------

    @cached_property
    def live(self) -> Live:
        """The stored rows of the added documents and chunks, and of the layers below them."""
        live = Live({"document": self.added, "chunk": self._chunks[0]})
        for layer in _LAYERS:
            if layer != "subchunk" or self.is_halved:
                follow_rows(self.stored, live, (layer,), n_extractions=self.n_extractions)
            if layer in _LIMITED_LAYERS:
                self.check_size(len(live.rows[layer]))
        return live

    def new_values(self, name: str) -> NDArray[Any]:
        """Return a stored column of the rows added with chunks."""
        return self.stored.take(name, self.live.rows[name.partition(".")[0]])

    def extraction_sources(self, kind: str) -> NDArray[np.uint8]:
        """Return the source of each added chunk's extraction of a kind, or 0."""
        mine = self.new_values("extraction.kind") == KINDS.index(kind)
        sources = np.zeros(len(self.live.rows["chunk"]), dtype=np.uint8)
        sources[self.live.above["extraction"][mine]] = self.new_values("extraction.source")[mine]
        return sources

    def edit_rows_below(self, layer: str, chunks: Rows | None = None) -> RowEdits:
        """Return the edits of a layer whose rows are added and removed with their chunks.

        `chunks` are those that the added rows stand in, among the added chunks.
        """
        former = self.column(f"{layer}.chunk")
        before = insertion_places(former, self.chunks_before)
        gone = rows_below(former, self.chunks.gone)
        own = self.live.chunks_of(layer) if chunks is None else chunks
        return RowEdits.from_changes(len(former), gone, before[own])

    @cached_property
    def descriptions(self) -> RowEdits:
        return self.edit_rows_below("description")

    @property
    def described(self) -> Rows:
        """The stored entity of each added description."""
        return self.resolve(self.new_values("description.entity"))

    @cached_property
    def titles(self) -> Rows:
        """The stored entity in the title of each added document, -1 for none."""
        rows = self.live.rows["document"]
        return self.resolve(self.stored.take("document.title_entity", rows))


def find_documents(base: Assembly, touched: Sequence[Touched]) -> RowEdits:
    """Return the edits of the documents, given those that were touched, by their ids."""
    rows = base.stored["document"]
    place = place_by_row(rows, int(base.lookups["sizes"][0]))
    stored = np.array([each.row for each in touched], dtype=np.int64)
    gone = place[stored[stored < len(place)]]
    place[stored[stored < len(place)]] = -1
    new = [each for each in touched if each.live]
    before = np.zeros(len(new), dtype=np.int64)
    for i, each in enumerate(new):
        if 0 <= each.after < len(place) and place[each.after] >= 0:
            before[i] = place[each.after] + 1
        elif i and each.after >= 0:  # behind another one that came
            before[i] = before[i - 1]
    return RowEdits.from_changes(len(rows), np.sort(gone[gone >= 0]), before)
