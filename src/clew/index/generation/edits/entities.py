"""Find the entities that were added and removed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.row_edits import RowEdits
from clew.base.types import DATE, GRAPH, IMPORTED
from clew.index.generation.edits.search import (
    BEHIND_ALL,
    are_in,
    first_in_groups,
    places_inside,
    rows_below,
    take_or_any,
    take_or_default,
)
from clew.index.generation.rows import place_by_row, renumber

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.index.generation.edits.source import Source
    from clew.index.generation.edits.units import MentionEdits, UnitEdits
    from clew.index.generation.rows import Rows

_TITLE, _MENTION, _DESCRIPTION = range(3)  # how a document names an entity
_ROW_BITS = 32  # of a key: the row below the place


@dataclass(frozen=True, slots=True)
class EntityEdits:
    """The entities that an added or removed row names."""

    edits: RowEdits
    stored: Rows
    numbers: Rows  # the present row of each stored entity that came, -1 for others; -1 at the end
    columns: Mapping[str, NDArray[Any]]
    lookups: Mapping[str, NDArray[Any]]

    def number(self, stored: NDArray[Any]) -> Rows:
        """Return the present rows of stored entities that were added, -1 for -1."""
        return np.asarray(self.numbers[stored])


def find_entities(source: Source, units: UnitEdits, mentions: MentionEdits) -> EntityEdits:
    """Find the added and removed entities; an entity's place is its first mention."""
    titled = np.flatnonzero(source.titles >= 0)
    lost = _find_lost(source, mentions)
    came = [source.titles[titled], mentions.entity, source.described]
    touched, numbers = renumber(np.concatenate([*came, source.base.stored["entity"][lost]]))
    groups = np.split(numbers, np.cumsum([len(each) for each in came]))[:-1]
    n, row = len(touched), take_or_default(source.lookups["entity.rows"], touched)
    title, mention, linkable = _kept_occurrences(source, mentions, row, lost)
    descriptions = _kept_descriptions(source, row)
    kept = title, mention, _first_rows(*descriptions, n)
    new = [first_in_groups(each, n) for each in groups]
    new[_TITLE] = _first_rows(titled, groups[_TITLE], n)
    parts = source, units, mentions
    firsts = [_first_occurrence_keys(*parts, how, kept[how], new[how]) for how in range(3)]
    keys = np.stack([keys for keys, _ in firsts])
    how, key = keys.argmin(axis=0), keys.min(axis=0)
    left = np.flatnonzero(key < BEHIND_ALL)
    left = left[np.argsort(key[left])]
    before = np.choose(how[left], [before[left] for _, before in firsts])
    gone = np.sort(row[row >= 0])
    edits = RowEdits.from_changes(len(source.base.stored["entity"]), gone, before, row[left])
    numbers = np.full(int(touched.max(initial=-1)) + 2, -1, dtype=np.int64)
    numbers[touched[left]] = edits.at
    _mark_linkable(source, mentions, linkable, groups, descriptions)
    own_descriptions = source.described == source.new_values("description.entity")
    description = _first_own_row(keys[_DESCRIPTION], groups[_DESCRIPTION], own_descriptions)
    columns = {
        "entity.mention": _first_own_row(keys[_MENTION], groups[_MENTION], mentions.own),
        "entity.description": description,
        "entity.linkable": linkable,
        "entity.extracted": description >= 0,
    }
    place, first = key[left] >> _ROW_BITS, _rows_of(key[left])
    return EntityEdits(
        edits=edits,
        stored=touched[left],
        numbers=numbers,
        columns={name: column[left] for name, column in columns.items()},
        lookups={"entity.place": place, "entity.first": np.where(place % 3 == _TITLE, 0, first)},
    )


def _find_lost(source: Source, mentions: MentionEdits) -> Rows:
    """Return the former entities in removed titles, mentions and descriptions, ascending."""
    gone = {
        "document.title_entity": source.documents.gone,
        "mention.entity": mentions.edits.gone,
        "description.entity": source.descriptions.gone,
    }
    lost = [source.column(name)[rows] for name, rows in gone.items() if len(rows)]
    return np.setdiff1d(np.concatenate([np.zeros(0, np.int64), *lost]), [-1])


def _first_occurrence_keys(
    source: Source, units: UnitEdits, mentions: MentionEdits, how: int, kept: Rows, new: Rows
) -> tuple[Rows, Rows]:
    """Return each entity's first title, mention or description, as a sortable key.

    A key is three times the present document and how it names the entity, then the present row.
    It belongs before a former entity. `kept` has the first former row that stays, and `new` the
    first one that came, -1 for none.
    """
    documents, edits = (
        source.documents,
        (source.documents, mentions.edits, source.descriptions)[how],
    )
    find_place = partial(
        places_inside, source.lookups["entity.place"], source.lookups["entity.first"]
    )
    keys, before = np.full(len(kept), BEHIND_ALL), np.zeros(len(kept), dtype=np.int64)
    some = np.flatnonzero(kept >= 0)
    at = kept[some]
    document = _former_documents(source, how, at)
    keys[some] = _make_keys(3 * documents.to_present(document) + how, edits.to_present(at))
    before[some] = find_place(3 * document + how, 0 * at if how == _TITLE else at)
    some = np.flatnonzero(new >= 0)
    at = new[some]
    if how == _TITLE:
        document = documents.at[at]
    elif how == _MENTION:
        document = source.documents_of(units.distinct.chunk[mentions.unit[at]])
    else:
        document = source.chunk_documents[source.live.chunks_of("description")[at]]
    own = _make_keys(3 * document + how, edits.at[at])
    is_lower = own < keys[some]
    some, at, document = some[is_lower], at[is_lower], document[is_lower]
    keys[some] = own[is_lower]
    former = documents.to_former(document)
    place = 3 * former + how
    behind = 0 * at if how == _TITLE else edits.before[at]
    came = np.flatnonzero(former < 0)
    place[came] = 3 * documents.before[np.searchsorted(documents.at, document[came])]
    behind[came] = 0
    before[some] = find_place(place, behind)
    return keys, before


def _former_documents(source: Source, how: int, rows: Rows) -> Rows:
    """Return the former documents of former titles, mentions or descriptions."""
    if how == _TITLE:
        return rows
    if how == _MENTION:
        chunks = source.column("unit.chunk")[source.column("mention.unit")[rows]]
    else:
        chunks = source.column("description.chunk")[rows]
    return np.asarray(source.column("chunk.document")[chunks], dtype=np.int64)


def _make_keys(places: Rows, rows: Rows) -> Rows:
    return (places.astype(np.int64) << _ROW_BITS) | rows


def _rows_of(keys: Rows) -> Rows:
    return np.asarray(keys & ((1 << _ROW_BITS) - 1))


def _first_rows(rows: Rows, groups: Rows, size: int) -> Rows:
    """Return the first row of each of `size` groups, -1 for an empty one."""
    first = first_in_groups(groups, size)
    return np.where(first >= 0, take_or_any(rows, first), -1)


def _first_own_row(keys: Rows, groups: Rows, own: NDArray[np.bool_]) -> Rows:
    """Return each entity's first row, -1 for none; a name of its own before an alias."""
    first = np.where(keys < BEHIND_ALL, _rows_of(keys), -1)
    if own.all():
        return first
    rows = np.flatnonzero(own)  # of a whole generation, as there are no edits with aliases
    own_first = _first_rows(rows, groups[rows], len(keys))
    return np.where(own_first >= 0, own_first, first)


def _mark_linkable(
    source: Source,
    mentions: MentionEdits,
    linkable: NDArray[np.bool_],
    groups: Sequence[Rows],
    descriptions: tuple[Rows, Rows],
) -> None:
    """Mark the entities that a title, an undated mention or an imported graph names."""
    linkable[groups[_TITLE]] = True
    linkable[groups[_MENTION][mentions.columns["label"] != DATE]] = True
    rows, owner = descriptions
    imported = source.column("chunk.graph")[source.column("description.chunk")[rows]] == IMPORTED
    linkable[owner[imported]] = True
    chunk = source.live.chunks_of("description")
    linkable[groups[_DESCRIPTION][source.extraction_sources(GRAPH)[chunk] == IMPORTED]] = True


def _kept_occurrences(
    source: Source, mentions: MentionEdits, rows: Rows, lost: Rows
) -> tuple[Rows, Rows, NDArray[np.bool_]]:
    """Return the first title and the first mention of each entity in kept documents.

    Of a former entity in `rows`, or none (-1); `lost` are those of which some occurrence went.
    And whether one that stays makes it linkable.
    """
    title, mention = (np.full(len(rows), -1, dtype=np.int64) for _ in range(2))
    linkable = np.zeros(len(rows), dtype=bool)
    is_lost = are_in(rows, lost)
    same = np.flatnonzero((rows >= 0) & ~is_lost)
    place = source.lookups["entity.place"][rows[same]].astype(np.int64)
    title[same] = np.where(place % 3, -1, place // 3)
    mention[same] = source.column("entity.mention")[rows[same]]
    linkable[same] = source.column("entity.linkable")[rows[same]]
    if len(lost):
        number = place_by_row(rows[is_lost], len(source.base.stored["entity"]))
        number[number >= 0] = np.flatnonzero(is_lost)[number[number >= 0]]
        owner = number[source.column("mention.entity")]
        staying = np.flatnonzero(owner >= 0)
        staying = staying[~are_in(staying, mentions.edits.gone)]
        mention[owner[staying][::-1]] = staying[::-1]
        linkable[owner[staying[source.column("mention.label")[staying] != DATE]]] = True
        titles = source.column("document.title_entity")
        titled = np.flatnonzero(titles >= 0)
        titled = titled[~are_in(titled, source.documents.gone)]
        owner = number[titles[titled]]
        titled, owner = titled[owner >= 0], owner[owner >= 0]
        title[owner[::-1]] = titled[::-1]
        linkable[owner] = True
    return title, mention, linkable


def _kept_descriptions(source: Source, rows: Rows) -> tuple[Rows, Rows]:
    """Return the kept descriptions of some entities, and the index of each one's entity."""
    places = np.flatnonzero(rows >= 0)
    chunks = np.unique(source.base.links["entity", "chunk"].entries_of(rows[places]).indices)
    chunks = chunks[~are_in(chunks, source.chunks.gone)]
    descriptions = rows_below(source.column("description.chunk"), chunks)
    number = np.full(len(source.base.stored["entity"]), -1, dtype=np.int64)
    number[rows[places]] = places
    owner = number[source.column("description.entity")[descriptions]]
    return descriptions[owner >= 0], owner[owner >= 0]
