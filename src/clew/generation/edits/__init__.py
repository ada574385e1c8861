"""What became of a generation's rows since it was put together, found from what was touched.

The rows of a later generation are those of an earlier one, but for some that went and some that
came. Which ones follows from the documents that were added and removed, and is found in time that
grows with these. It is, byte for byte, what putting the later generation together gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.links import as_arrays
from clew.generation.edits.entities import EntityEdits, find_entities
from clew.generation.edits.source import Source, TooManyEdits
from clew.generation.edits.terms import TermEdits, find_terms
from clew.generation.edits.units import MentionEdits, UnitEdits, find_mentions, find_units
from clew.generation.postings import Postings, Ranges
from clew.generation.rows import link, places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.algo.row_edits import RowEdits
    from clew.generation.assemble import Assembly
    from clew.generation.rows import Rows
    from clew.store import Touched
    from clew.store.columns import StoredColumns

    Arrays = dict[str, NDArray[Any]]

__all__ = ["TooManyEdits", "find_edits"]

_RANGE = ("start", "end", "n_tokens")


def find_edits(
    base: Assembly,
    lookups: Mapping[str, NDArray[Any]],
    stored: StoredColumns,
    touched: Sequence[Touched],
) -> Arrays:
    """Return what makes `base` a later generation, as `Edited` reads it.

    `touched` are the documents that were added or removed since, by their ids. Raises TooManyEdits
    where the generation is to be put together anew.
    """
    source = Source(base, lookups, stored, touched)
    if not base.size("chunk") or not source.chunks.size:
        raise TooManyEdits
    terms = find_terms(source)
    units = find_units(source, terms)
    mentions = find_mentions(source, terms, units)
    edits = _Edits(source, terms, units, mentions, find_entities(source, units, mentions))
    found: Arrays = {}
    for layer, rows in edits.layers.items():
        found |= {f"{layer}.gone": rows.gone, f"{layer}.at": rows.at, f"{layer}.from": rows.origin}
    found |= {f"came.{name}": column for name, column in edits.columns().items()}
    found["touched.chunks"] = edits.touched_chunks()
    for (a, b), (at, entries) in edits.links().items():
        found[f"link.{a}-{b}.rows"] = at
        found |= {f"link.{a}-{b}.{name}": part for name, part in as_arrays(entries).items()}
    return found


@dataclass(frozen=True, slots=True)
class _Edits:
    """All that came and went."""

    source: Source
    terms: TermEdits
    units: UnitEdits
    mentions: MentionEdits
    entities: EntityEdits

    @property
    def layers(self) -> dict[str, RowEdits]:
        found = {
            "document": self.source.documents,
            "chunk": self.source.chunks,
            "unit": self.units.edits,
            "mention": self.mentions.edits,
            "entity": self.entities.edits,
            "term": self.terms.edits,
        }
        return found | ({"subchunk": self.source.subchunks} if self.source.is_halved else {})

    def touched_chunks(self) -> Rows:
        """Return the chunks that came or have a unit that came, by their present rows."""
        chunks, origin = self.source.chunks, self.units.edits.origin
        again = np.zeros(self.units.edits.n, dtype=bool)
        again[origin[origin >= 0]] = True
        if not again.any():
            return chunks.at
        link = self.source.base.links["chunk", "unit"].whole
        entries = np.flatnonzero(again[link.indices])
        rows = chunks.now(np.searchsorted(link.indptr, entries, side="right") - 1)
        return np.union1d(chunks.at, rows[rows >= 0])

    def columns(self) -> Arrays:
        """Return the values of the rows that came, in every column and in `stored`."""
        table, live, units = self.source.came.table, self.source.came.live, self.units
        starts, mentions, entities = self.source.came.starts, self.mentions, self.entities
        chunk_rows = live.rows["chunk"]
        zeros = np.zeros(len(chunk_rows), dtype=np.uint8)
        title = np.full(len(self.source.titles), -1, dtype=np.int64)
        titled = np.flatnonzero(self.source.titles >= 0)
        title[titled] = entities.numbers[self.source.titles[titled]]
        found: Arrays = {
            "stored.document": live.rows["document"] + starts["document"],
            "stored.chunk": chunk_rows + starts["chunk"],
            "stored.unit.sentence": units.sentence,
            "stored.unit.statement": np.full(len(units.sentence), -1, dtype=np.int64),
            "stored.entity": entities.stored,
            "stored.term": self.terms.stored,
            "chunk.document": self.source.documents.at[live.above["chunk"]],
            "chunk.units": zeros,
            "chunk.graph": zeros,
            "unit.chunk": units.chunk,
            "unit.source": np.zeros(len(units.chunk), dtype=np.uint8),
            "unit.place": np.full(len(units.chunk), -1, dtype=np.int32),
            "mention.unit": units.edits.at[mentions.unit],
            "mention.entity": entities.numbers[mentions.entity],
            "entity.mention": entities.mention,
            "entity.description": np.full(len(entities.stored), -1, dtype=np.int32),
            "entity.linkable": entities.linkable,
            "entity.extracted": np.zeros(len(entities.stored), dtype=bool),
            "entity.type": np.zeros(len(entities.stored), dtype=np.uint8),
            "term.common": self.terms.common,
            "document.title_entity": title,
        }
        found |= {f"mention.{name}": mentions.columns[name] for name in ("start", "end", "label")}
        found |= {f"chunk.{n}": table[f"chunk.{n}"][chunk_rows] for n in _RANGE}
        for name in ("start", "end", "first_token", "last_token"):
            if f"unit.{name}" in self.source.base.columns:
                found[f"unit.{name}"] = self._of_sentences(f"sentence.{name}")
        if self.source.is_halved:
            rows = live.rows["subchunk"]
            found["stored.subchunk"] = rows + starts["subchunk"]
            found["subchunk.chunk"] = self.source.chunks.at[live.above["subchunk"]]
            found |= {f"subchunk.{n}": table[f"subchunk.{n}"][rows] for n in _RANGE}
        return found

    def _of_sentences(self, name: str) -> NDArray[Any]:
        """Return a column of the sentences that the units that came are."""
        rows, first = self.units.sentence, self.source.came.starts["sentence"]
        if len(self.source.came.table[name]) != len(self.source.came.table["sentence.chunk"]):
            raise TooManyEdits  # no token vectors, as the former ones have
        old = self.source.stored.take(name, rows[rows < first])
        found = np.empty(len(rows), dtype=np.int64)
        found[rows < first] = old
        found[rows >= first] = self.source.came.table[name][rows[rows >= first] - first]
        return found

    def links(self) -> dict[tuple[str, str], tuple[Rows, csr_array]]:
        """Return the rows of links that came, and their entries."""
        table, live, units, entities = (
            self.source.came.table,
            self.source.came.live,
            self.units,
            self.entities,
        )
        sizes = {layer: edits.size for layer, edits in self.layers.items()}
        n_chunks = len(live.rows["chunk"])
        titled = np.flatnonzero(self.source.titles >= 0)
        rows, above = live.rows["count"], live.above["count"]
        terms = self.terms.numbers[table["count.term"][rows]]
        number = self.terms.numbers[table["posting.term"][live.rows["posting"]]]
        start = table["posting.start"][live.rows["posting"]]
        postings = Postings(live.above["posting"], number, start, sizes["term"])
        found = {
            ("chunk", "unit"): link(
                live.above["sentence"], units.of_sentence, n_chunks, sizes["unit"]
            ),
            ("unit", "entity"): link(
                self.mentions.unit,
                entities.numbers[self.mentions.entity],
                len(units.chunk),
                sizes["entity"],
            ),
            ("document", "entity"): link(
                titled,
                entities.numbers[self.source.titles[titled]],
                len(self.source.titles),
                sizes["entity"],
            ),
            ("chunk", "term"): link(above, terms, n_chunks, sizes["term"], table["count.n"][rows]),
            ("sentence", "term"): self._sentence_terms(postings),
        }
        if self.source.is_halved:
            inside = live.rows["subchunk"], live.above["subchunk"]
            parts = Ranges.of(table, "subchunk", *inside)
            found["subchunk", "term"] = postings.subchunk_terms(parts, above, terms)
        at = {a: self.layers["unit" if a == "sentence" else a].at for a, _ in found}
        return {(a, b): (at[a], entries) for (a, b), entries in found.items()}

    def _sentence_terms(self, postings: Postings) -> csr_array:
        """Return the terms of the sentences that the units that came are."""
        units, first = self.units, self.source.came.starts["sentence"]
        new, old = np.flatnonzero(units.sentence >= first), np.flatnonzero(units.sentence < first)
        rows = units.sentence[new] - first
        place = places(
            self.source.came.live.rows["chunk"], len(self.source.came.table["chunk.document"])
        )
        chunk = place[self.source.came.table["sentence.chunk"][rows]]
        own = postings.sentence_terms(
            Ranges.of(self.source.came.table, "sentence", rows, chunk)
        ).tocoo()
        former = self.source.base.links["sentence", "term"].rows(units.edits.origin[old]).tocoo()
        kept = self.terms.edits.now(former.col)
        unit = np.concatenate([new[own.row], old[former.row]])
        return link(unit, np.concatenate([own.col, kept]), len(units.chunk), self.terms.edits.size)
