"""Find the edits between a generation and its base from the documents that were touched.

A later generation has the rows of an earlier one, except for some that were removed and some that
were added. These follow from the documents that were added and removed and from what was extracted
since, and are found in time that grows with them. A generation without a base is assembled by the
same code, as the edits of an empty one, so both have the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.links import link_to_arrays
from clew.base.types import KINDS
from clew.index.generation.edited import TooManyEdits
from clew.index.generation.edits.entities import EntityEdits, find_entities
from clew.index.generation.edits.source import Source, find_documents
from clew.index.generation.edits.terms import TermEdits, find_terms, link_terms
from clew.index.generation.edits.triples import (
    TripleEdits,
    find_triples,
    link_to_chunks,
    triple_columns,
)
from clew.index.generation.edits.units import (
    FIRST_STATEMENT,
    MentionEdits,
    UnitEdits,
    find_mentions,
    find_sentences,
    find_units,
    unit_columns,
)
from clew.index.generation.rows import build_link, place_by_row
from clew.index.generation.schema import COLUMNS, LAYER_OF, LAYERS, LINKS, LOOKUPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.algo.row_edits import RowEdits
    from clew.index.generation.assembly import Assembly
    from clew.index.generation.edits.distinct import DistinctEdits
    from clew.index.generation.rows import Rows
    from clew.index.store import Touched
    from clew.index.store.columns import StoredColumns

    Arrays = dict[str, NDArray[Any]]


def find_edits(base: Assembly, stored: StoredColumns, touched: Sequence[Touched]) -> Arrays:
    """Return the edits that turn `base` into a later generation, for `GenerationEdits`.

    `touched` are the documents that were added or removed since, by their ids. Raises TooManyEdits
    where the generation is to be put together anew.
    """
    added = np.array([each.row for each in touched if each.live], dtype=np.int64)
    source = Source(base, stored, added, find_documents(base, touched))
    if not base.size("chunk") or not source.chunks.size:
        raise TooManyEdits
    edits = Edits.from_source(source)
    arrays: Arrays = {}
    for layer, rows in edits.layers.items():
        arrays |= {f"{layer}.gone": rows.gone, f"{layer}.at": rows.at, f"{layer}.from": rows.origin}
    arrays |= {f"came.{name}": column for name, column in edits.columns().items()}
    arrays["touched.chunks"] = edits.touched_chunks()
    for (a, b), entries in edits.links().items():
        arrays[f"link.{a}-{b}.rows"] = edits.row_edits(a).at
        arrays |= {f"link.{a}-{b}.{name}": part for name, part in link_to_arrays(entries).items()}
    return arrays


@dataclass(frozen=True)
class Edits:
    """All rows that were added and removed."""

    source: Source
    terms: TermEdits
    units: UnitEdits
    sentences: DistinctEdits | None  # where these are rows of their own
    mentions: MentionEdits
    entities: EntityEdits
    triples: TripleEdits
    term_links: Mapping[tuple[str, str], csr_array]

    @classmethod
    def from_source(cls, source: Source) -> Edits:
        """Find the rows that were added and removed. Raises TooManyEdits."""
        terms = find_terms(source)
        units = find_units(source, terms)
        sentences = find_sentences(source) if source.has_statements else None
        term_links = link_terms(source, terms, sentences or units.distinct)  # takes most memory
        mentions = find_mentions(source, terms, units)
        return cls(
            source=source,
            terms=terms,
            units=units,
            sentences=sentences,
            mentions=mentions,
            entities=find_entities(source, units, mentions),
            triples=find_triples(source),
            term_links=term_links,
        )

    @cached_property
    def layers(self) -> dict[str, RowEdits]:
        """The edits of each layer that has rows of its own."""
        layers = {
            "document": self.source.documents,
            "chunk": self.source.chunks,
            "unit": self.units.edits,
            "mention": self.mentions.edits,
            "entity": self.entities.edits,
            "term": self.terms.edits,
            "triple": self.triples.edits,
            "occurrence": self.triples.occurrences,
        }
        if self.sentences is not None:
            layers["sentence"] = self.sentences.edits
        for layer, table in LAYERS.items():
            if table.below_chunk and layer in self.source.live.rows:
                layers[layer] = self.source.edit_rows_below(layer)
        return layers

    def row_edits(self, layer: str) -> RowEdits:
        """Return the edits of a layer; without statements, sentences are the units."""
        return self.layers.get(layer) or self.layers["unit"]

    def touched_chunks(self) -> Rows:
        """Return the present rows of the chunks that are new or have a new unit."""
        units = self.units
        moved = units.distinct.code[units.edits.origin >= 0]
        have = units.known_rows.chunks_of(units.stored_units.keys(moved))
        rows = self.source.chunks.to_present(have)
        return np.union1d(self.source.chunks.at, rows[rows >= 0])

    def columns(self) -> Arrays:
        """Return the values of the added rows in every column, as the schema lists them."""
        source, live, entities = self.source, self.source.live, self.entities
        described = entities.number(source.described)
        profiled = live.above["profile"]
        arrays: Arrays = {
            "document.title_entity": entities.number(source.titles),
            "chunk.document": source.chunk_documents,
            "term.common": self.terms.are_common[self.terms.stored],
            "mention.unit": self.units.edits.at[self.mentions.unit],
            "mention.entity": entities.number(self.mentions.entity),
            "description.entity": described,
            "profile.description": self.layers["description"].at[profiled],
            "profile.entity": described[profiled],
        }
        arrays |= {f"mention.{name}": column for name, column in self.mentions.columns.items()}
        arrays |= {f"chunk.{kind}": source.extraction_sources(kind) for kind in KINDS}
        arrays |= {**unit_columns(source, self.units), **entities.columns}
        arrays |= triple_columns(source, self.triples, entities)
        if self.sentences is not None:
            arrays["sentence.chunk"] = self.sentences.chunk
        below = [layer for layer in self.layers if LAYERS[layer].below_chunk]
        arrays |= {f"{layer}.chunk": source.chunks.at[live.chunks_of(layer)] for layer in below}
        stored = self._stored_rows()
        columns = {f"stored.{name}": rows.astype(np.int64) for name, rows in stored.items()}
        for name, column in COLUMNS.items():
            if column.copied and LAYER_OF[name] in stored:
                arrays[name] = source.stored.take(name, stored[LAYER_OF[name]])
            if name in arrays:
                columns[name] = arrays[name].astype(column.dtype, copy=False)
        return columns

    def _stored_rows(self) -> dict[str, Rows]:
        """Return the stored rows of the added rows."""
        live, codes = self.source.live.rows, self.units.distinct.code
        is_statement = codes >= FIRST_STATEMENT
        rows = {layer: live[layer] for layer in self.layers if layer in live}
        rows |= {
            "unit.sentence": np.where(is_statement, -1, codes),
            "unit.statement": np.where(is_statement, codes - FIRST_STATEMENT, -1),
            "entity": self.entities.stored,
            "term": self.terms.stored,
            "triple": self.triples.distinct.code,
            "occurrence": self.triples.distinct.came.code,
        }
        if self.sentences is not None:
            rows["sentence"] = self.sentences.code
        return rows

    def links(self) -> dict[tuple[str, str], csr_array]:
        """Return the entries of the added rows of each link."""
        source, units = self.source, self.units
        titled = np.flatnonzero(source.titles >= 0)
        pairs = {
            ("chunk", "unit"): (units.distinct.came.chunk, units.distinct.of_came),
            ("unit", "entity"): (self.mentions.unit, self.entities.number(self.mentions.entity)),
            ("document", "entity"): (titled, self.entities.number(source.titles[titled])),
        }
        links = dict(self.term_links)
        for (a, b), (rows, columns) in pairs.items():
            links[a, b] = build_link(rows, columns, len(self.layers[a].at), self.layers[b].size)
        described = self.entities.number(source.described)
        links["entity", "chunk"] = link_to_chunks(
            source, "entity", self.entities.edits, described, source.live.chunks_of("description")
        )
        links["triple", "chunk"] = self.triples.chunks
        return {pair: links[pair] for pair in LINKS if pair in links}

    def lookups(self) -> Arrays:
        """Return what edits of a whole generation are found by."""
        stored = self.source.stored
        sizes = [stored.size("document"), stored.size("extraction")]
        arrays = {"sizes": np.array(sizes), **self.entities.lookups, **self.terms.lookups}
        arrays["named.entities"] = self.units.names.entities
        arrays["named.df"] = self.units.names.df
        arrays["entity.rows"] = place_by_row(self.entities.stored)
        arrays["term.rows"] = place_by_row(self.terms.stored)
        distinct = {"unit": self.units.distinct, "triple": self.triples.distinct}
        if self.sentences is not None:
            distinct["sentence"] = self.sentences
        for layer, edits in distinct.items():
            came, order = edits.came, np.argsort(edits.came.keys, kind="stable")
            arrays[f"{layer}.keys"] = came.keys[order]
            arrays[f"{layer}.chunks"] = came.chunk[order]
            arrays[f"{layer}.codes"] = came.code[order]
        lookups = {name: array.astype(LOOKUPS[name], copy=False) for name, array in arrays.items()}
        if not self.source.has_statements:
            lookups["unit.codes"] = lookups["unit.codes"].astype(np.int32)
        return lookups
