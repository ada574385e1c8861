"""Find the edits between a generation and its base from the documents that were touched.

The rows of a later generation are those of an earlier one, but for some that went and some that
came. Which ones follows from the documents that came and went, and from what was extracted since,
and is found in time that grows with these. It is, byte for byte, what an assembly gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.ascending import match_sorted
from clew.algo.links import link_to_arrays
from clew.base.types import KINDS
from clew.index.generation.edits.distinct import TermEdits, find_terms
from clew.index.generation.edits.entities import EntityEdits, entity_chunks, find_entities
from clew.index.generation.edits.source import Source, TooManyEdits
from clew.index.generation.edits.triples import TripleEdits, find_triples, triple_columns
from clew.index.generation.edits.units import (
    MentionEdits,
    SentenceEdits,
    UnitEdits,
    find_mentions,
    find_sentences,
    find_units,
    unit_columns,
)
from clew.index.generation.postings import Postings, Ranges
from clew.index.generation.rows import build_link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.algo.row_edits import RowEdits
    from clew.index.generation.assemble import Assembly
    from clew.index.generation.rows import Rows
    from clew.index.store import Touched
    from clew.index.store.columns import StoredColumns

    Arrays = dict[str, NDArray[Any]]

__all__ = ["TooManyEdits", "find_edits"]

_RANGE = ("start", "end", "n_tokens")


def find_edits(
    base: Assembly,
    lookups: Mapping[str, NDArray[Any]],
    stored: StoredColumns,
    touched: Sequence[Touched],
) -> Arrays:
    """Return the edits that turn `base` into a later generation, for `GenerationEdits`.

    `touched` are the documents that were added or removed since, by their ids. Raises TooManyEdits
    where the generation is to be put together anew.
    """
    source = Source(base, lookups, stored, touched)
    if not base.size("chunk") or not source.chunks.size:
        raise TooManyEdits
    terms = find_terms(source)
    units = find_units(source, terms)
    mentions = find_mentions(source, terms, units)
    edits = _Edits(
        source=source,
        terms=terms,
        units=units,
        sentences=find_sentences(source) if source.has_statements else None,
        mentions=mentions,
        entities=find_entities(source, units, mentions),
        triples=find_triples(source),
    )
    arrays: Arrays = {}
    for layer, rows in edits.layers.items():
        arrays |= {f"{layer}.gone": rows.gone, f"{layer}.at": rows.at, f"{layer}.from": rows.origin}
    arrays |= {f"came.{name}": column for name, column in edits.columns().items()}
    arrays["touched.chunks"] = edits.touched_chunks()
    for (a, b), (at, entries) in edits.links().items():
        arrays[f"link.{a}-{b}.rows"] = at
        arrays |= {f"link.{a}-{b}.{name}": part for name, part in link_to_arrays(entries).items()}
    return arrays


@dataclass(frozen=True, slots=True)
class _Edits:
    """All rows that were added and removed."""

    source: Source
    terms: TermEdits
    units: UnitEdits
    sentences: SentenceEdits | None  # where these are rows of their own
    mentions: MentionEdits
    entities: EntityEdits
    triples: TripleEdits

    @property
    def layers(self) -> dict[str, RowEdits]:
        source, live = self.source, self.source.live
        layers = {
            "document": source.documents,
            "chunk": source.chunks,
            "unit": self.units.edits,
            "mention": self.mentions.edits,
            "entity": self.entities.edits,
            "term": self.terms.edits,
            "triple": self.triples.edits,
            "occurrence": self.triples.occurrences,
            "description": source.descriptions,
            "profile": source.edit_rows_below("profile.chunk", live.chunks_of("profile")),
        }
        if self.sentences is not None:
            layers["sentence"] = self.sentences.edits
        if source.is_halved:
            layers["subchunk"] = source.edit_rows_below("subchunk.chunk", live.above["subchunk"])
        return layers

    def touched_chunks(self) -> Rows:
        """Return the present rows of the chunks that are new or have a new unit."""
        units = self.units
        moved = units.distinct.code[units.edits.origin >= 0]
        have = units.known_rows.chunks_of(units.stored_units.keys(moved))
        rows = self.source.chunks.to_present(have)
        return np.union1d(self.source.chunks.at, rows[rows >= 0])

    def columns(self) -> Arrays:
        """Return the values of the added rows in every column, and their stored rows."""
        source, live, entities = self.source, self.source.live, self.entities
        titled = np.flatnonzero(source.titles >= 0)
        title = np.full(len(source.titles), -1, dtype=np.int64)
        title[titled] = entities.numbers[source.titles[titled]]
        arrays: Arrays = {
            "stored.document": live.rows["document"],
            "stored.chunk": live.rows["chunk"],
            "stored.entity": entities.stored,
            "stored.term": self.terms.stored,
            "document.title_entity": title,
            "chunk.document": source.chunk_documents,
            "entity.mention": entities.mention,
            "entity.description": entities.description,
            "entity.linkable": entities.linkable,
            "entity.extracted": entities.extracted,
            "entity.type": entities.type,
            "term.common": self.terms.common,
            "mention.unit": self.units.edits.at[self.mentions.unit],
            "mention.entity": entities.numbers[self.mentions.entity],
        }
        arrays |= {f"mention.{name}": column for name, column in self.mentions.columns.items()}
        arrays |= {f"chunk.{name}": source.new_values(f"chunk.{name}") for name in _RANGE}
        arrays |= {f"chunk.{kind}": source.extraction_sources(kind) for kind in KINDS}
        arrays |= unit_columns(source, self.units) | self._description_values()
        arrays |= triple_columns(source, self.triples, entities.numbers)
        if self.sentences is not None:
            stored = self.sentences.stored
            arrays |= {"stored.sentence": stored, "sentence.chunk": self.sentences.chunk}
            for name in ("start", "end"):
                arrays[f"sentence.{name}"] = source.stored.take(f"sentence.{name}", stored)
        if source.is_halved:
            arrays["stored.subchunk"] = live.rows["subchunk"]
            arrays["subchunk.chunk"] = source.chunks.at[live.above["subchunk"]]
            arrays |= {f"subchunk.{name}": source.new_values(f"subchunk.{name}") for name in _RANGE}
        return arrays

    def _description_values(self) -> Arrays:
        source, live = self.source, self.source.live
        entity = self.entities.numbers[source.new_values("description.entity")]
        chunk = source.chunks.at[live.chunks_of("description")]
        profiled = live.above["profile"]
        return {
            "stored.description": live.rows["description"],
            "stored.profile": live.rows["profile"],
            "description.entity": entity,
            "description.chunk": chunk,
            "description.type": source.new_values("description.type"),
            "profile.description": source.descriptions.at[profiled],
            "profile.entity": entity[profiled],
            "profile.chunk": chunk[profiled],
        }

    def links(self) -> dict[tuple[str, str], tuple[Rows, csr_array]]:
        """Return the added rows of links, with their entries."""
        source, live, units = self.source, self.source.live, self.units
        layers = self.layers
        sizes = {layer: edits.size for layer, edits in layers.items()}
        n_chunks, n_units = len(live.rows["chunk"]), len(units.edits.at)
        titled = np.flatnonzero(source.titles >= 0)
        titles = self.entities.numbers[source.titles[titled]]
        names = self.entities.numbers[self.mentions.entity]
        above, terms = live.above["count"], self.terms.numbers[source.new_values("count.term")]
        postings = Postings(
            live.above["posting"],
            self.terms.numbers[source.new_values("posting.term")],
            source.new_values("posting.start"),
            sizes["term"],
        )
        of_came, counts = units.distinct.of_came, source.new_values("count.n")
        links = {
            ("chunk", "unit"): build_link(units.came.chunk, of_came, n_chunks, sizes["unit"]),
            ("unit", "entity"): build_link(self.mentions.unit, names, n_units, sizes["entity"]),
            ("document", "entity"): build_link(titled, titles, len(source.titles), sizes["entity"]),
            ("chunk", "term"): build_link(above, terms, n_chunks, sizes["term"], counts),
            ("entity", "chunk"): entity_chunks(source, self.entities),
            ("triple", "chunk"): self.triples.chunks,
            ("sentence", "term"): self._sentence_terms(postings),
        }
        if source.is_halved:
            parts = self._ranges("subchunk", live.rows["subchunk"], live.above["subchunk"])
            links["subchunk", "term"] = postings.subchunk_terms(parts, above, terms)
        layers.setdefault("sentence", layers["unit"])
        return {(a, b): (layers[a].at, entries) for (a, b), entries in links.items()}

    def _sentence_terms(self, postings: Postings) -> csr_array:
        """Return the terms of the added sentences, or of added units that are sentences."""
        if self.sentences is not None:
            edits, rows = self.sentences.edits, self.sentences.stored
        else:
            edits, rows = self.units.edits, self.units.distinct.code
        came = self.source.live.rows["sentence"]
        order = np.argsort(came)
        new, place = match_sorted(came[order], rows)
        old = np.delete(np.arange(len(rows)), new)
        chunk = self.source.live.above["sentence"][order[place]]
        ascending = np.argsort(chunk, kind="stable")
        new, chunk = new[ascending], chunk[ascending]
        own = postings.sentence_terms(self._ranges("sentence", rows[new], chunk)).tocoo()
        former = self.source.base.links["sentence", "term"].rows(edits.origin[old]).tocoo()
        columns = self.terms.edits.to_present(former.col)
        row = np.concatenate([new[own.row], old[former.row]])
        return build_link(row, np.concatenate([own.col, columns]), len(rows), self.terms.edits.size)

    def _ranges(self, layer: str, rows: Rows, chunk: Rows) -> Ranges:
        start, end = (self.source.stored.take(f"{layer}.{name}", rows) for name in ("start", "end"))
        return Ranges(chunk, start, end)
