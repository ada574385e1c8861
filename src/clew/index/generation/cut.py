"""Cut some chunks out of a generation, with all rows below them, as a batch to commit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import match_sorted
from clew.algo.links import expand_ranges
from clew.base.runtime.cached_values import Once
from clew.base.runtime.lazy import compile_re
from clew.base.types import LABELS, Document, Mention
from clew.index.generation.assembly import Assembly
from clew.index.generation.rows import Live, Rows, find_newest, follow_rows
from clew.index.snapshot.batch import Batch, Cut
from clew.index.snapshot.layers import StoredSentence
from clew.index.store import schema
from clew.index.store.columns import StoredColumns
from clew.index.store.segmented import View

Columns = dict[str, NDArray[Any]]


_CACHED_CHUNKS = 1_024  # chunks whose sentences stay in memory
_STATEMENT = "start", "end", "above_start", "above_end", "is_context"
_MENTION = "start", "end", "label"
_NO_BREAK = compile_re(r"[^\r\n]")


@dataclass(frozen=True)
class Cutter:
    """Cuts chunks out of a generation; builds its lookup tables once."""

    view: View
    assembly: Assembly
    _ends_by_count: dict[str, Rows] = field(default_factory=dict, init=False, compare=False)
    _sentences: Once[int] = field(
        default_factory=lambda: Once(_CACHED_CHUNKS), init=False, compare=False
    )

    def sentences(self, chunks: Sequence[int]) -> list[tuple[StoredSentence, ...]]:
        """Return the sentences of each chunk, in order; recently read chunks are kept in memory."""
        found = self._sentences.get_all(chunks, self._read_sentences)
        return [found[chunk] for chunk in chunks]

    def _read_sentences(self, chunks: Sequence[int]) -> list[tuple[StoredSentence, ...]]:
        stored = self.assembly.stored_rows("chunk", np.array(chunks, dtype=np.int64))
        rows, above = self._stored.rows_below("sentence", stored)
        starts, ends, *around = (
            self._take(f"sentence.{name}", rows).tolist() for name in _STATEMENT
        )
        places, owners = self._stored.rows_below("mention", rows)
        mentions: list[list[Mention]] = [[] for _ in starts]
        numbers = (self._take(f"mention.{name}", places).tolist() for name in _MENTION)
        for owner, start, end, label in zip(owners.tolist(), *numbers, strict=True):
            begin = starts[owner]
            mentions[owner].append(Mention(start - begin, end - begin, LABELS[label]))
        sentences = list(map(StoredSentence, starts, ends, map(tuple, mentions), *around))
        bounds = np.searchsorted(above, np.arange(len(chunks) + 1)).tolist()
        return [tuple(sentences[a:b]) for a, b in pairwise(bounds)]

    def cut(self, chunks: Rows, documents: Rows | None = None) -> Cut:
        """Return some chunks with all rows below them; the first call takes longer.

        Their documents have no text but theirs: everything else in it is a space or a line break.
        There are others only where `documents` names more, by their rows.
        """
        stored = np.sort(self.assembly.stored_rows("chunk", chunks))
        above = self._take("chunk.document", stored).astype(np.int64)
        if documents is None:
            documents = np.unique(above)
        else:
            documents = np.sort(self.assembly.stored_rows("document", documents))
        owners = np.searchsorted(documents, above)
        live = Live({"document": documents, "chunk": stored}, {"chunk": owners})
        live.rows["extraction"], live.above["extraction"] = self._extractions_of(stored)
        given = {"chunk", "extraction"}
        follow_rows(self._stored, live, [layer for layer in schema.TABLES if layer not in given])
        columns = self._columns(live)
        keys = {name: self._renumber(columns, name) for name in ("entity", "term")}
        columns |= self._name_columns(keys["entity"])
        entities, terms = (self.view.keys(name, keys[name].tolist()) for name in keys)
        return Cut(
            batch=Batch(
                documents=self._documents(columns, documents),
                entities=entities,
                terms=terms,
                columns=columns,
            ),
            entities=self.assembly.places("entity", keys["entity"]),
            terms=self.assembly.places("term", keys["term"]),
            chunks=self.assembly.places("chunk", stored),
        )

    @cached_property
    def _stored(self) -> StoredColumns:
        return StoredColumns(self.view.segments)

    def _take(self, name: str, rows: Rows) -> NDArray[Any]:
        return self._stored.take(name, rows)

    def _extractions_of(self, chunks: Rows) -> tuple[Rows, Rows]:
        """Return the newest extractions of stored chunks, and the index of each one's chunk."""
        order, sorted_chunks = self._extractions
        firsts, lasts = (np.searchsorted(sorted_chunks, chunks, side) for side in ("left", "right"))
        owners, places = expand_ranges(firsts, lasts)
        rows = order[places]
        newest = find_newest(owners, self._take("extraction.kind", rows))
        return rows[newest], owners[newest]

    @cached_property
    def _extractions(self) -> tuple[Rows, NDArray[Any]]:
        """The stored extractions in the order of their chunks, and these."""
        chunks = self._stored.tail("extraction.chunk", 0)
        order = np.argsort(chunks, kind="stable").astype(np.int64)
        return order, chunks[order]

    def _columns(self, live: Live) -> Columns:
        """Return all columns of live rows; entities and terms are still stored rows."""
        titles = self._take("document.title_entity", live.rows["document"])
        columns: Columns = {"document.title_entity": titles}
        for layer, table in schema.TABLES.items():
            rows = live.rows[layer]
            for name in filter(self._has, schema.number_columns(layer)):
                is_parent = name == schema.parent_column(layer)
                columns[name] = live.above[layer] if is_parent else self._take(name, rows)
            name = f"{layer}.vectors"
            if table.vectors and self._has(name):
                columns[name] = self._read_ranges(name, rows, rows + 1)
            for count, wide in table.ragged.items():
                if self._has(wide):
                    columns[f"{layer}.{count}"] = self._take(f"{layer}.{count}", rows)
                    ends = self._ends(f"{layer}.{count}")
                    columns[wide] = self._read_ranges(wide, ends[rows], ends[rows + 1])
        return {
            name: column.astype(np.int32) if schema.REFERENCES.get(name) else column
            for name, column in columns.items()
        }

    def _has(self, name: str) -> bool:
        return any(name in segment for segment in self.view.segments)

    def _read_ranges(self, name: str, starts: Rows, stops: Rows) -> NDArray[Any]:
        return self._stored.take(name, expand_ranges(starts, stops)[1])

    def _ends(self, count: str) -> Rows:
        """Return the range boundaries of the stored rows: (n + 1,) offsets."""
        if count not in self._ends_by_count:
            lengths = self._stored.tail(count, 0)
            self._ends_by_count[count] = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return self._ends_by_count[count]

    def _renumber(self, columns: Columns, layer: str) -> Rows:
        """Replace stored entities or terms by indices in columns; return their stored rows."""
        names = [name for name in columns if schema.REFERENCES.get(name) == layer]
        rows = np.unique(np.concatenate([columns[name] for name in names]))
        rows = rows[rows >= 0].astype(np.int64)
        for name in names:
            numbers = columns[name]
            place = np.searchsorted(rows, numbers).astype(np.int32)
            columns[name] = np.where(numbers >= 0, place, -1).astype(np.int32)
        return rows

    def _name_columns(self, entities: Rows) -> Columns:
        """Return the name vectors of the entities that have one."""
        owners, place = self._name_rows
        if not len(owners):
            return {}
        matches, at = match_sorted(owners, entities)
        rows = place[at]
        return {
            "name.entity": matches.astype(np.int32),
            "name.vectors": self._read_ranges("name.vectors", rows, rows + 1),
        }

    @cached_property
    def _name_rows(self) -> tuple[Rows, Rows]:
        """The stored entities that have a name vector, ascending, and the row of each vector."""
        entities = self._stored.tail("name.entity", 0).astype(np.int64)
        last = len(entities) - 1 - np.unique(entities[::-1], return_index=True)[1]
        return entities[last], last

    def _documents(self, columns: Columns, rows: Rows) -> list[Document]:
        owners = columns["chunk.document"]
        ranges = np.stack([columns["chunk.start"], columns["chunk.end"]], axis=1)
        bounds = np.searchsorted(owners, np.arange(len(rows) + 1)).tolist()
        documents = self.view.documents(rows.tolist())
        return [
            replace(document, text=mask_outside(document.text, ranges[a:b].tolist()), pictures={})
            for document, a, b in zip(documents, bounds, bounds[1:], strict=False)
        ]

    def count_capitals(self) -> NDArray[np.int64]:
        """Return (n_terms,): how much oftener the texts have each term with a capital than without.

        Capitals at the start of a sentence do not count.
        """
        counts = np.zeros(self.assembly.size("term"), dtype=np.int64)
        rows, _ = self._stored.rows_below("count", np.sort(self.assembly.stored["chunk"]))
        terms = self.assembly.places("term", self._take("count.term", rows).astype(np.int64))
        np.add.at(counts, terms, self._take("count.capitals", rows))
        return counts


def mask_outside(text: str, ranges: list[list[int]]) -> str:
    """Replace the characters outside the ranges by spaces, and drop what follows the last range.

    Line breaks stay: the line of a character is that of the whole text.
    """
    parts, end = [], 0
    for start, stop in ranges:
        parts.append(_NO_BREAK.sub(" ", text[end:start]))
        parts.append(text[max(start, end) : stop])
        end = max(end, stop)
    return "".join(parts)
