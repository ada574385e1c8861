"""What was stored and removed since a generation, and what became of its documents and chunks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.row_edits import RowEdits
from clew.generation.edits.search import are_in, below, stand
from clew.generation.lookups import LAYERS
from clew.generation.rows import follow, live_rows, places
from clew.store.schema import TABLES, numbers, parent_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.generation.assemble import Assembly
    from clew.generation.rows import Live, Rows
    from clew.store import Touched
    from clew.store.columns import StoredColumns

MOST_UNITS = 10_000  # that come; of more, everything is put together anew


class TooManyEdits(Exception):
    """Too much changed, or something that edits are not found for."""


@dataclass(frozen=True, slots=True)
class Came:
    """What was stored since, as a table of its own; `live` are its rows that are in use."""

    table: Mapping[str, NDArray[Any]]
    live: Live
    starts: Mapping[str, int]  # the stored row of each layer's first one here


@dataclass(frozen=True)
class Source:
    """What edits are found from, and the edits of documents and chunks."""

    base: Assembly
    lookups: Mapping[str, NDArray[Any]]
    stored: StoredColumns
    touched: Sequence[Touched]

    @property
    def is_halved(self) -> bool:
        return "subchunk" in self.base.stored

    @cached_property
    def came(self) -> Came:
        starts = dict(zip(("document", *LAYERS), self.lookups["sizes"].tolist(), strict=True))
        if self.stored.size("extraction"):
            raise TooManyEdits
        table = {"document.title_entity": self._tail("document", "document.title_entity", starts)}
        for layer in LAYERS:
            table |= {name: self._tail(layer, name, starts) for name in numbers(layer)}
            parents = table[parent_column(layer)]
            table[parent_column(layer)] = parents - starts[TABLES[layer].above]
            if parents.min(initial=starts[TABLES[layer].above]) < starts[TABLES[layer].above]:
                raise TooManyEdits
        rows = [each.row - starts["document"] for each in self._new]
        live = live_rows(table, np.array(rows, dtype=np.int64), LAYERS)
        if len(live.rows["sentence"]) > MOST_UNITS:
            raise TooManyEdits
        return Came(table, live, starts)

    def _tail(self, layer: str, name: str, starts: Mapping[str, int]) -> NDArray[Any]:
        return self.stored.tail(name, starts[layer])

    @property
    def _new(self) -> list[Touched]:
        n = int(self.lookups["sizes"][0])
        return [each for each in self.touched if each.row >= n and each.live]

    @cached_property
    def documents(self) -> RowEdits:
        rows = self.base.stored["document"]
        place = places(rows, int(self.lookups["sizes"][0]))
        old = [each for each in self.touched if each.row < len(place)]
        if any(each.live and place[each.row] < 0 for each in old):
            raise TooManyEdits
        gone = place[np.array([each.row for each in old if not each.live], dtype=np.int64)]
        before = np.zeros(len(self._new), dtype=np.int64)
        for i, each in enumerate(self._new):
            if 0 <= each.after < len(place):
                before[i] = place[each.after] + 1
            elif i and each.after >= 0:  # behind another one that came
                before[i] = before[i - 1]
        return RowEdits.of(len(rows), np.sort(gone[gone >= 0]), before)

    @cached_property
    def chunks(self) -> RowEdits:
        document = self.column("chunk.document")
        before = stand(document, self.documents.before)
        above = self.came.live.above["chunk"]
        return RowEdits.of(len(document), below(document, self.documents.gone), before[above])

    @cached_property
    def subchunks(self) -> RowEdits:
        chunk = self.column("subchunk.chunk")
        before = stand(chunk, self.chunks.before)
        above = self.came.live.above["subchunk"]
        return RowEdits.of(len(chunk), below(chunk, self.chunks.gone), before[above])

    @cached_property
    def titles(self) -> Rows:
        """The stored entity of the title of each document that came, -1 for none."""
        rows = self.came.live.rows["document"]
        return self.came.table["document.title_entity"][rows].astype(np.int64)

    def documents_of(self, chunks: Rows) -> Rows:
        """Return the present document of present chunks."""
        former = self.chunks.then(chunks)
        old = self.documents.now(self.column("chunk.document")[np.maximum(former, 0)])
        if not len(self.chunks.at):
            return old
        place = np.minimum(np.searchsorted(self.chunks.at, chunks), len(self.chunks.at) - 1)
        new = self.documents.at[self.came.live.above["chunk"][place]]
        return np.where(former < 0, new, old)

    def first_rows(self, link: csr_array, columns: Rows, but: Rows) -> Rows:
        """Return the first row with each of some columns but for some rows, -1 for none."""
        number = places(columns, link.shape[1])
        entries = np.flatnonzero(number[link.indices] >= 0)
        rows = np.searchsorted(link.indptr, entries, side="right") - 1
        kept = ~are_in(rows, but)
        found = np.full(len(columns), -1, dtype=np.int64)
        found[number[link.indices[entries[kept]]][::-1]] = rows[kept][::-1]
        return found

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the base."""
        return self.base.columns[name]

    def mentions_of(self, sentences: Rows) -> tuple[Rows, dict[str, NDArray[Any]]]:
        """Return the mentions of stored sentences, in the order of these, and whose each is."""
        first, table = self.came.starts["sentence"], self.came.table
        new, old = np.flatnonzero(sentences >= first), np.flatnonzero(sentences < first)
        rows, owner = follow(
            table["mention.sentence"], sentences[new] - first, len(table["sentence.chunk"])
        )
        former, above = self.stored.below("mention", sentences[old])
        place = np.concatenate([new[owner], old[above]])
        order = np.argsort(place, kind="stable")
        columns = {}
        for name in ("entity", "term", "start", "end", "label"):
            both = table[f"mention.{name}"][rows], self.stored.take(f"mention.{name}", former)
            columns[name] = np.concatenate(both)[order]
        return place[order], columns

    def former_mentions(self, column: str, values: Rows) -> Rows:
        """Return the stored mentions, of those that there were, with some values in a column."""
        if not len(values):
            return np.zeros(0, dtype=np.int64)
        held = self.stored.head(f"mention.{column}", self.came.starts["mention"])
        wanted = np.zeros(int(max(held.max(initial=-1), values.max())) + 2, dtype=bool)
        wanted[values] = True  # the last one, which is that of -1, is not
        return np.flatnonzero(wanted[held])

    def units_of(self, mentions: Rows) -> Rows:
        """Return the former unit that each stored mention is one of, -1 for none."""
        number = places(self.base.stored["unit.sentence"], self.came.starts["sentence"])
        return np.asarray(number[self.stored.take("mention.sentence", mentions)])
