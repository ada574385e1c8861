"""What became of a generation's rows since it was put together, found from what was touched.

The rows of a later generation are those of an earlier one, but for some that went and some that
came. Which ones follows from the documents that were added and removed, and is found in time that
grows with these. It is, byte for byte, what putting the later generation together gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.algo.links import as_arrays, expanded
from clew.algo.row_edits import RowEdits
from clew.generation.lookups import LAYERS, is_common
from clew.generation.postings import Postings, Ranges
from clew.generation.rows import first_of_equal, follow, link, live_rows, places
from clew.store.columns import StoredColumns
from clew.store.schema import TABLES, numbers, parent_column
from clew.types import DATE, TERM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.generation.assemble import Assembly
    from clew.generation.rows import Live, Rows
    from clew.store import Touched

    Arrays = dict[str, NDArray[Any]]

_MOST_UNITS = 10_000  # that come; of more, everything is put together anew
_NONE = np.iinfo(np.int64).max  # behind every place


class TooMuch(Exception):
    """Too much changed, or something that edits are not found for."""


def find_edits(
    base: Assembly,
    lookups: Mapping[str, NDArray[Any]],
    stored: StoredColumns,
    touched: Sequence[Touched],
) -> Arrays:
    """Return what makes `base` a later generation, as `Edited` reads it.

    `touched` are the documents that were added or removed since, by their ids. Raises TooMuch where
    the generation is to be put together anew.
    """
    edits = _Edits(base, lookups, stored, touched)
    if not base.size("chunk") or not edits.chunks.size:
        raise TooMuch
    found: Arrays = {}
    for layer, rows in edits.layers.items():
        found |= {f"{layer}.gone": rows.gone, f"{layer}.at": rows.at, f"{layer}.from": rows.origin}
    found |= {f"came.{name}": column for name, column in edits.columns().items()}
    for (a, b), (rows, entries) in edits.links().items():
        found[f"link.{a}-{b}.rows"] = rows
        found |= {f"link.{a}-{b}.{name}": part for name, part in as_arrays(entries).items()}
    return found


@dataclass(frozen=True, slots=True)
class _Came:
    """What was stored since, as a table of its own; `live` are its rows that are in use."""

    table: Mapping[str, NDArray[Any]]
    live: Live
    starts: Mapping[str, int]  # the stored row of each layer's first one here


@dataclass(frozen=True, slots=True)
class _Units:
    """The units that came, in order."""

    edits: RowEdits
    chunk: Rows  # the present row of the chunk that each is first in
    sentence: Rows  # the stored sentence
    before: Rows  # the former unit before which each stands
    of_sentence: Rows  # the present unit of each live sentence that came


@dataclass(frozen=True, slots=True)
class _Mentions:
    """The mentions of the units that came, in order."""

    edits: RowEdits
    before: Rows
    unit: Rows  # among the units that came
    entity: Rows  # stored
    columns: Mapping[str, NDArray[Any]]  # start, end, label


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms that came: all that a document that came or went has."""

    edits: RowEdits
    stored: Rows
    common: NDArray[np.bool_]
    numbers: Rows  # the present row of each stored term that came, -1 for others
    are_common: NDArray[np.bool_]  # of each stored term
    flipped: Rows  # stored terms that are common now and were not, or the other way


@dataclass(frozen=True, slots=True)
class _Entities:
    edits: RowEdits
    stored: Rows
    numbers: Rows  # the present row of each stored entity that came, -1 for others
    mention: Rows
    linkable: NDArray[np.bool_]


@dataclass(frozen=True)
class _Edits:
    base: Assembly
    lookups: Mapping[str, NDArray[Any]]
    stored: StoredColumns
    touched: Sequence[Touched]

    @property
    def layers(self) -> dict[str, RowEdits]:
        found = {
            "document": self.documents,
            "chunk": self.chunks,
            "unit": self.units.edits,
            "mention": self.mentions.edits,
            "entity": self.entities.edits,
            "term": self.terms.edits,
        }
        return found | ({"subchunk": self.subchunks} if self._halved else {})

    @property
    def _halved(self) -> bool:
        return "subchunk" in self.base.stored

    # -- documents and chunks ---------------------------------------------------------------------

    @cached_property
    def came(self) -> _Came:
        starts = dict(zip(("document", *LAYERS), self.lookups["sizes"].tolist(), strict=True))
        if self.stored.size("extraction"):
            raise TooMuch
        table = {"document.title_entity": self._tail("document", "document.title_entity", starts)}
        for layer in LAYERS:
            table |= {name: self._tail(layer, name, starts) for name in numbers(layer)}
            parents = table[parent_column(layer)]
            table[parent_column(layer)] = parents - starts[TABLES[layer].above]
            if parents.min(initial=starts[TABLES[layer].above]) < starts[TABLES[layer].above]:
                raise TooMuch
        if (table["mention.label"] == TERM).any():
            raise TooMuch
        rows = [each.row - starts["document"] for each in self._new]
        live = live_rows(table, np.array(rows, dtype=np.int64), LAYERS)
        if len(live.rows["sentence"]) > _MOST_UNITS:
            raise TooMuch
        return _Came(table, live, starts)

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
            raise TooMuch
        gone = place[np.array([each.row for each in old if not each.live], dtype=np.int64)]
        before = np.zeros(len(self._new), dtype=np.int64)
        for i, each in enumerate(self._new):
            if 0 <= each.after < len(place):
                before[i] = place[each.after] + 1
            elif i and each.after >= 0:  # behind another one that came
                before[i] = before[i - 1]
        return RowEdits.of(len(rows), np.sort(gone[gone >= 0]), before)

    @cached_property
    def _before_documents(self) -> Rows:
        """Before which former document each one that came stands."""
        return self.documents.before

    @cached_property
    def chunks(self) -> RowEdits:
        document = self._column("chunk.document")
        before = _stand(document, self._before_documents)
        above = self.came.live.above["chunk"]
        return RowEdits.of(len(document), _below(document, self.documents.gone), before[above])

    @cached_property
    def subchunks(self) -> RowEdits:
        chunk = self._column("subchunk.chunk")
        before = _stand(chunk, self.chunks.before)
        above = self.came.live.above["subchunk"]
        return RowEdits.of(len(chunk), _below(chunk, self.chunks.gone), before[above])

    # -- terms ------------------------------------------------------------------------------------

    @cached_property
    def terms(self) -> _Terms:
        table, live, known = self.came.table, self.came.live, self.lookups
        rows, above = live.rows["count"], live.above["count"]
        came = table["count.term"][rows].astype(np.int64)
        lost, _ = self.stored.below("count", self.base.stored["chunk"][self.chunks.gone])
        went = self.stored.take("count.term", lost).astype(np.int64)
        touched, place = np.unique(np.concatenate([came, went]), return_inverse=True)
        in_came, in_went = place[: len(came)], place[len(came) :]
        row = _looked_up(known["term.rows"], touched)
        counts = {}
        for name in ("n", "n_lower"):
            former = np.where(row >= 0, _taken(known[f"term.{name}"], row), 0)
            plus = np.bincount(in_came, table[f"count.{name}"][rows], len(touched))
            minus = np.bincount(in_went, self.stored.take(f"count.{name}", lost), len(touched))
            counts[name] = former + plus.astype(np.int64) - minus.astype(np.int64)
        common = is_common(counts["n"], counts["n_lower"])
        # Where each stands first: among what came, and among what stayed.
        chunk, count = (np.full(len(touched), _NONE) for _ in range(2))
        before = np.zeros(len(touched), dtype=np.int64)
        first = _first_of(in_came, len(touched))
        has = first >= 0
        chunk[has] = self.chunks.at[above[first[has]]]
        count[has] = self.came.starts["count"] + rows[first[has]]
        boundary = _stand(known["term.chunk"], self.chunks.before)
        before[has] = boundary[above[first[has]]]
        there, stays, at = self._kept_terms(touched, row)
        now = np.full(len(touched), _NONE)
        now[there] = self.chunks.now(stays)
        earlier = np.flatnonzero(now < chunk)
        chunk[earlier] = now[earlier]
        kept = np.searchsorted(there, earlier)
        count[earlier] = at[kept]
        before[earlier] = _inside(known["term.chunk"], known["term.count"], stays[kept], at[kept])
        # All of them that are left come anew, each where it stands first.
        left = np.flatnonzero(chunk < _NONE)
        left = left[np.lexsort((count[left], chunk[left]))]
        n_before = len(self.base.stored["term"])
        edits = RowEdits.of(n_before, np.sort(row[row >= 0]), before[left], row[left])
        numbers = np.full(max(int(touched.max(initial=-1)) + 1, len(known["term.rows"])), -1)
        numbers[touched[left]] = edits.at
        were = np.zeros(len(numbers), dtype=bool)
        were[self.base.stored["term"]] = self._column("term.common")
        are = were.copy()
        are[touched] = common
        return _Terms(
            edits, touched[left], common[left], numbers, are, np.flatnonzero(were != are)
        )

    def _kept_terms(self, terms: Rows, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Return which terms are in chunks that stay, the first such chunk, and the count there."""
        known = np.flatnonzero(rows >= 0)
        chunk = self.lookups["term.chunk"][rows[known]].astype(np.int64)
        count = self.lookups["term.count"][rows[known]].astype(np.int64)
        went = np.flatnonzero(_are_in(chunk, self.chunks.gone))
        if len(went):
            link = self.base.links["chunk", "term"].whole
            chunk[went] = self._first_rows(link, rows[known[went]], self.chunks.gone)
            stays = went[chunk[went] >= 0]
            below, owner = self.stored.below("count", self.base.stored["chunk"][chunk[stays]])
            same = self.stored.take("count.term", below) == terms[known[stays]][owner]
            count[stays[owner[same]]] = below[same]
        left = chunk >= 0
        return known[left], chunk[left], count[left]

    def _first_rows(self, link: csr_array, columns: Rows, but: Rows) -> Rows:
        """Return the first row with each of some columns but for some rows, -1 for none."""
        number = places(columns, link.shape[1])
        entries = np.flatnonzero(number[link.indices] >= 0)
        rows = np.searchsorted(link.indptr, entries, side="right") - 1
        kept = ~_are_in(rows, but)
        found = np.full(len(columns), -1, dtype=np.int64)
        found[number[link.indices[entries[kept]]][::-1]] = rows[kept][::-1]
        return found

    # -- units and their mentions -----------------------------------------------------------------

    @cached_property
    def units(self) -> _Units:
        table, live = self.came.table, self.came.live
        chunks, sentences = self._column("unit.chunk"), self.base.stored["unit.sentence"]
        rows, above = live.rows["sentence"], live.above["sentence"]
        first, groups = first_of_equal(table["sentence.key"][rows].astype(np.uint64))
        keys = table["sentence.key"][rows[first]].astype(np.uint64)
        known = self._known_units(keys)
        # Units that lost the chunk that they were first in, and the next one that has them.
        lost = _below(chunks, self.chunks.gone)
        following = np.full(len(lost), -1, dtype=np.int64)
        if len(lost):
            whole = self.base.links["chunk", "unit"].whole
            following = self._first_rows(whole, lost, self.chunks.gone)
        stands = np.where(known >= 0, _taken(chunks, known).astype(np.int64), -1)
        is_lost = _are_in(known, lost)
        stands[is_lost] = following[np.searchsorted(lost, known[is_lost])]
        stands_now = np.where(stands >= 0, self.chunks.now(np.maximum(stands, 0)), _NONE)
        here = self.chunks.at[above[first]]
        moves = here < stands_now  # it is first in what came
        boundary = _stand(chunks, self.chunks.before)
        parts = [
            (
                here[moves],
                self.came.starts["sentence"] + rows[first[moves]],
                boundary[above[first[moves]]],
                known[moves],
            )
        ]
        # Those that are first in another chunk that stays, and those whose names changed.
        other = np.flatnonzero((following >= 0) & ~_are_in(lost, np.sort(known[moves])))
        found = self._same_sentences(following[other], lost[other])
        changed = self._renamed_units()
        changed = changed[~_are_in(changed, np.sort(np.concatenate([lost, known[moves]])))]
        at = np.concatenate([following[other], chunks[changed]]).astype(np.int64)
        stored = np.concatenate([found, sentences[changed]])
        before = _inside(chunks, sentences, at, stored)
        origin = np.concatenate([lost[other], changed])
        parts.append((self.chunks.now(at), stored, before, origin))
        chunk, stored, before, origin = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((stored, chunk))
        chunk, stored, before, origin = (each[order] for each in (chunk, stored, before, origin))
        gone = np.unique(np.concatenate([lost, origin[origin >= 0]]))
        edits = RowEdits.of(len(chunks), gone, before, origin)
        unit = edits.now(np.maximum(known, 0))
        own = np.flatnonzero(stored >= self.came.starts["sentence"])
        placed = np.full(len(first), -1, dtype=np.int64)
        number = places(stored[own] - self.came.starts["sentence"], len(table["sentence.chunk"]))
        placed[moves] = edits.at[own[number[rows[first[moves]]]]]
        return _Units(edits, chunk, stored, before, np.where(moves, placed, unit)[groups])

    def _known_units(self, keys: NDArray[np.uint64]) -> Rows:
        """Return the former unit of each key, -1 for none."""
        known = self.lookups["unit.keys"]
        at = np.searchsorted(known, keys)
        found = np.flatnonzero(at < len(known))
        found = found[known[at[found]] == keys[found]]
        units = np.full(len(keys), -1, dtype=np.int64)
        units[found] = self.lookups["unit.rows"][at[found]]
        return units

    def _same_sentences(self, chunks: Rows, units: Rows) -> Rows:
        """Return the stored sentence of each chunk that has the key of a former unit."""
        below, owner = self.stored.below("sentence", self.base.stored["chunk"][chunks])
        wanted = self.stored.take("sentence.key", self.base.stored["unit.sentence"][units])
        same = self.stored.take("sentence.key", below) == wanted[owner]
        found = np.empty(len(chunks), dtype=np.int64)
        found[owner[same][::-1]] = below[same][::-1]
        return found

    def _renamed_units(self) -> Rows:
        """Return the former units with a word that is a name now and was none, or so."""
        flipped = self.terms.flipped
        flipped = flipped[flipped < len(self.lookups["term.rows"])]
        if not len(flipped):
            return flipped
        terms = self.stored.head("mention.term", self.came.starts["mention"])
        is_flipped = np.zeros(int(max(terms.max(initial=-1), flipped[-1])) + 2, dtype=bool)
        is_flipped[flipped] = True  # the last one, which is that of -1, is not
        mentions = np.flatnonzero(is_flipped[terms])
        sentences = np.unique(self.stored.take("mention.sentence", mentions))
        if len(sentences) > _MOST_UNITS:
            raise TooMuch
        number = places(self.base.stored["unit.sentence"], self.came.starts["sentence"])
        found = number[sentences]
        return np.sort(found[found >= 0])

    @cached_property
    def mentions(self) -> _Mentions:
        units, table = self.units, self.came.table
        first = self.came.starts["sentence"]
        new = np.flatnonzero(units.sentence >= first)
        rows, owner = follow(
            table["mention.sentence"],
            units.sentence[new] - first,
            len(table["sentence.chunk"]),
        )
        old = np.flatnonzero(units.sentence < first)
        below, above = self.stored.below("mention", units.sentence[old])
        unit = np.concatenate([new[owner], old[above]])
        order = np.argsort(unit, kind="stable")
        columns = {}
        for name in ("entity", "term", "start", "end", "label"):
            both = table[f"mention.{name}"][rows], self.stored.take(f"mention.{name}", below)
            columns[name] = np.concatenate(both)[order]
        term = columns["term"].astype(np.int64)
        kept = (term < 0) | ~_looked_up(self.terms.are_common, term, other=False)
        unit = unit[order][kept]
        columns = {name: column[kept] for name, column in columns.items()}
        former = self._column("mention.unit")
        gone = _below(former, units.edits.gone)
        before = _stand(former, units.before)[unit]
        entity = columns.pop("entity").astype(np.int64)
        return _Mentions(RowEdits.of(len(former), gone, before), before, unit, entity, columns)

    # -- entities ---------------------------------------------------------------------------------

    @cached_property
    def titles(self) -> Rows:
        """The stored entity of the title of each document that came, -1 for none."""
        rows = self.came.live.rows["document"]
        return self.came.table["document.title_entity"][rows].astype(np.int64)

    @cached_property
    def entities(self) -> _Entities:
        mentions, known = self.mentions, self.lookups
        title, owner = self._column("document.title_entity"), self._column("mention.entity")
        titled = np.flatnonzero(self.titles >= 0)
        lost = np.concatenate([owner[mentions.edits.gone], title[self.documents.gone]])
        lost = np.unique(lost[lost >= 0]).astype(np.int64)
        came = np.concatenate([self.titles[titled], mentions.entity])
        touched, place = np.unique(
            np.concatenate([came, self.base.stored["entity"][lost]]), return_inverse=True
        )
        in_titles, in_mentions = np.split(place[: len(came)], [len(titled)])
        row = _looked_up(known["entity.rows"], touched)
        n = len(touched)
        # What is left of the former occurrences: the first title and the first mention.
        kept_title, kept_mention, linkable = self._kept_occurrences(row, lost)
        # The first place of all, as (twice the document and one in its text, unit, mention).
        new_title, new_mention = _first_of(in_titles, n), _first_of(in_mentions, n)
        linkable[in_titles] = True
        linkable[in_mentions[mentions.columns["label"] != DATE]] = True
        units = self.units
        document = self._documents_of(units.chunk)
        best = np.full((3, n), _NONE)
        before = np.zeros(n, dtype=np.int64)
        has = np.flatnonzero(kept_title >= 0)
        at = kept_title[has]
        best[:, has] = 2 * self.documents.now(at), 0 * at, 0 * at
        before[has] = _stand(known["entity.place"], 2 * at)
        has = np.flatnonzero(kept_mention >= 0)
        at = kept_mention[has]
        former = self._column("mention.unit")[at].astype(np.int64)
        first_in = self._column("chunk.document")[self._column("unit.chunk")[former]]
        first_in = first_in.astype(np.int64)
        keys = np.stack([2 * self.documents.now(first_in) + 1, units.edits.now(former), at])
        _take_lower(best, before, has, keys, self._among_entities(first_in, at))
        has = np.flatnonzero(new_title >= 0)
        at = titled[new_title[has]]
        keys = np.stack([2 * self.documents.at[at], 0 * at, 0 * at])
        boundary = _stand(known["entity.place"], 2 * self._before_documents)
        _take_lower(best, before, has, keys, boundary[at])
        has = np.flatnonzero(new_mention >= 0)
        at = new_mention[has]
        unit = mentions.unit[at]
        keys = np.stack([2 * document[unit] + 1, units.edits.at[unit], at])
        stands = self.documents.then(document[unit])
        inside = self._among_entities(np.maximum(stands, 0), mentions.before[at])
        if len(self.documents.at):
            came_in = np.minimum(
                np.searchsorted(self.documents.at, document[unit]), len(self.documents.at) - 1
            )
            inside = np.where(stands < 0, boundary[came_in], inside)
        _take_lower(best, before, has, keys, inside)
        left = np.flatnonzero(best[0] < _NONE)
        left = left[np.lexsort(best[::-1, left])]
        edits = RowEdits.of(
            len(self.base.stored["entity"]), np.sort(row[row >= 0]), before[left], row[left]
        )
        mention = np.full(n, _NONE)
        has = kept_mention >= 0
        mention[has] = mentions.edits.now(kept_mention[has])
        has = new_mention >= 0
        mention[has] = np.minimum(mention[has], mentions.edits.at[new_mention[has]])
        mention[mention == _NONE] = -1
        numbers = np.full(int(touched.max(initial=-1)) + 1, -1, dtype=np.int64)
        numbers[touched[left]] = edits.at
        return _Entities(edits, touched[left], numbers, mention[left], linkable[left])

    def _kept_occurrences(self, rows: Rows, lost: Rows) -> tuple[Rows, Rows, NDArray[np.bool_]]:
        """Return the former title and mention that each entity is first in, of those that stay.

        Of a former entity in `rows`, or none (-1); `lost` are those of which some occurrence went.
        And whether one that stays makes it linkable.
        """
        title, mention = (np.full(len(rows), -1, dtype=np.int64) for _ in range(2))
        linkable = np.zeros(len(rows), dtype=bool)
        is_lost = _are_in(rows, lost)
        same = np.flatnonzero((rows >= 0) & ~is_lost)
        place = self.lookups["entity.place"][rows[same]].astype(np.int64)
        title[same] = np.where(place % 2, -1, place // 2)
        mention[same] = self._column("entity.mention")[rows[same]]
        linkable[same] = self._column("entity.linkable")[rows[same]]
        if len(lost):
            number = places(rows[is_lost], len(self.base.stored["entity"]))
            number[number >= 0] = np.flatnonzero(is_lost)[number[number >= 0]]
            owner = number[self._column("mention.entity")]
            found = np.flatnonzero(owner >= 0)
            found = found[~_are_in(found, self.mentions.edits.gone)]
            mention[owner[found][::-1]] = found[::-1]
            linkable[owner[found[self._column("mention.label")[found] != DATE]]] = True
            titles = self._column("document.title_entity")
            titled = np.flatnonzero(titles >= 0)
            titled = titled[~_are_in(titled, self.documents.gone)]
            owner = number[titles[titled]]
            titled, owner = titled[owner >= 0], owner[owner >= 0]
            title[owner[::-1]] = titled[::-1]
            linkable[owner] = True
        return title, mention, linkable

    def _among_entities(self, documents: Rows, mentions: Rows) -> Rows:
        """Return before which former entity one stands that is first in a former mention."""
        place = self.lookups["entity.place"]
        return _inside(place, self._column("entity.mention"), 2 * documents + 1, mentions)

    def _documents_of(self, chunks: Rows) -> Rows:
        """Return the present document of present chunks."""
        former = self.chunks.then(chunks)
        old = self.documents.now(self._column("chunk.document")[np.maximum(former, 0)])
        if not len(self.chunks.at):
            return old
        place = np.minimum(np.searchsorted(self.chunks.at, chunks), len(self.chunks.at) - 1)
        new = self.documents.at[self.came.live.above["chunk"][place]]
        return np.where(former < 0, new, old)

    # -- what came, as columns and links ----------------------------------------------------------

    def columns(self) -> Arrays:
        """Return the values of the rows that came, in every column and in `stored`."""
        table, live, units = self.came.table, self.came.live, self.units
        starts, mentions, entities = self.came.starts, self.mentions, self.entities
        chunk_rows = live.rows["chunk"]
        zeros = np.zeros(len(chunk_rows), dtype=np.uint8)
        title = np.full(len(self.titles), -1, dtype=np.int64)
        titled = np.flatnonzero(self.titles >= 0)
        title[titled] = entities.numbers[self.titles[titled]]
        found = {
            "stored.document": live.rows["document"] + starts["document"],
            "stored.chunk": chunk_rows + starts["chunk"],
            "stored.unit.sentence": units.sentence,
            "stored.unit.statement": np.full(len(units.sentence), -1, dtype=np.int64),
            "stored.entity": entities.stored,
            "stored.term": self.terms.stored,
            "chunk.document": self.documents.at[live.above["chunk"]],
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
            if f"unit.{name}" in self.base.columns:
                found[f"unit.{name}"] = self._of_sentences(f"sentence.{name}")
        if self._halved:
            rows = live.rows["subchunk"]
            found["stored.subchunk"] = rows + starts["subchunk"]
            found["subchunk.chunk"] = self.chunks.at[live.above["subchunk"]]
            found |= {f"subchunk.{n}": table[f"subchunk.{n}"][rows] for n in _RANGE}
        return found

    def _of_sentences(self, name: str) -> NDArray[Any]:
        """Return a column of the sentences that the units that came are."""
        rows, first = self.units.sentence, self.came.starts["sentence"]
        if len(self.came.table[name]) != len(self.came.table["sentence.chunk"]):
            raise TooMuch  # no token vectors, as the former ones have
        old = self.stored.take(name, rows[rows < first])
        found = np.empty(len(rows), dtype=np.int64)
        found[rows < first] = old
        found[rows >= first] = self.came.table[name][rows[rows >= first] - first]
        return found

    def links(self) -> dict[tuple[str, str], tuple[Rows, csr_array]]:
        """Return the rows of links that came, and their entries."""
        table, live, units, entities = self.came.table, self.came.live, self.units, self.entities
        sizes = {layer: edits.size for layer, edits in self.layers.items()}
        n_chunks = len(live.rows["chunk"])
        titled = np.flatnonzero(self.titles >= 0)
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
                entities.numbers[self.titles[titled]],
                len(self.titles),
                sizes["entity"],
            ),
            ("chunk", "term"): link(above, terms, n_chunks, sizes["term"], table["count.n"][rows]),
            ("sentence", "term"): self._sentence_terms(postings),
        }
        if self._halved:
            inside = live.rows["subchunk"], live.above["subchunk"]
            parts = Ranges.of(table, "subchunk", *inside)
            found["subchunk", "term"] = postings.subchunk_terms(parts, above, terms)
        at = {a: self.layers["unit" if a == "sentence" else a].at for a, _ in found}
        return {(a, b): (at[a], entries) for (a, b), entries in found.items()}

    def _sentence_terms(self, postings: Postings) -> csr_array:
        """Return the terms of the sentences that the units that came are."""
        units, first = self.units, self.came.starts["sentence"]
        new, old = np.flatnonzero(units.sentence >= first), np.flatnonzero(units.sentence < first)
        rows = units.sentence[new] - first
        place = places(self.came.live.rows["chunk"], len(self.came.table["chunk.document"]))
        chunk = place[self.came.table["sentence.chunk"][rows]]
        own = postings.sentence_terms(Ranges.of(self.came.table, "sentence", rows, chunk)).tocoo()
        former = self.base.links["sentence", "term"].rows(units.edits.origin[old]).tocoo()
        kept = self.terms.edits.now(former.col)
        unit = np.concatenate([new[own.row], old[former.row]])
        return link(
            unit, np.concatenate([own.col, kept]), len(units.chunk), self.terms.edits.size
        )

    def _column(self, name: str) -> NDArray[Any]:
        return self.base.columns[name]


_RANGE = ("start", "end", "n_tokens")


def _stand(column: NDArray[Any], values: Rows, *, behind: bool = False) -> Rows:
    """Return before, or `behind`, which rows of an ascending column values stand."""
    own = values.astype(column.dtype, copy=False)  # else the whole column were copied
    return np.searchsorted(column, own, side="right" if behind else "left").astype(np.int64)


def _below(parents: NDArray[Any], rows: Rows) -> Rows:
    """Return the places of some rows in `parents`, which ascend."""
    return expanded(_stand(parents, rows), _stand(parents, rows, behind=True))[1].astype(np.int64)


def _inside(parents: NDArray[Any], ranks: NDArray[Any], rows: Rows, values: Rows) -> Rows:
    """Return where values stand among the `ranks`, which ascend below each of `parents`."""
    first, last = _stand(parents, rows), _stand(parents, rows, behind=True)
    while np.any(first < last):
        some = np.flatnonzero(first < last)
        middle = (first[some] + last[some]) // 2
        is_less = ranks[middle] < values[some]
        first[some[is_less]] = middle[is_less] + 1
        last[some[~is_less]] = middle[~is_less]
    return first


def _are_in(values: NDArray[Any], among: Rows) -> NDArray[np.bool_]:
    """Say which values are among others, which ascend."""
    if not len(among):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(among, values), len(among) - 1)
    return np.asarray(among[place] == values)


def _looked_up(table: NDArray[Any], rows: Rows, *, other: int | bool = -1) -> NDArray[Any]:
    """Return table[rows], and `other` where there is no such place."""
    found = np.full(len(rows), other, dtype=bool if table.dtype == bool else np.int64)
    inside = (rows >= 0) & (rows < len(table))
    found[inside] = table[rows[inside]]
    return found


def _taken(column: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Return column[rows], any value where a row is -1."""
    return column[np.maximum(rows, 0)] if len(column) else np.zeros(len(rows), column.dtype)


def _first_of(groups: NDArray[np.integer], size: int) -> Rows:
    """Return where each of `size` groups first stands, -1 for nowhere."""
    first = np.full(size, -1, dtype=np.int64)
    first[groups[::-1]] = np.arange(len(groups))[::-1]
    return first


def _take_lower(best: Rows, before: Rows, some: Rows, keys: Rows, stands: Rows) -> None:
    """Put keys in place of higher ones of some columns of `best`, and with them where they stand."""
    own = best[:, some]
    lower = keys[2] < own[2]
    for i in (1, 0):
        lower = (keys[i] < own[i]) | ((keys[i] == own[i]) & lower)
    chosen = some[lower]
    best[:, chosen] = keys[:, lower]
    before[chosen] = stands[lower]
