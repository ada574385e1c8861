"""Find the entities that were added and removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.row_edits import RowEdits
from clew.base.types import DATE, ENTITY_TYPES, GRAPH, IMPORTED
from clew.index.generation.edits.search import (
    are_in,
    first_in_groups,
    places_inside,
    rows_below,
    take_or_any,
    take_or_default,
)
from clew.index.generation.edits.triples import merge_entries
from clew.index.generation.rows import build_link, place_by_row, renumber

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.index.generation.edits.source import Source
    from clew.index.generation.edits.units import MentionEdits, UnitEdits
    from clew.index.generation.rows import Rows

_NONE = np.iinfo(np.int64).max  # behind every place
_TITLE, _MENTION, _DESCRIPTION = range(3)  # how a document names an entity


@dataclass(frozen=True, slots=True)
class EntityEdits:
    """The entities that an added or removed row names."""

    edits: RowEdits
    stored: Rows
    numbers: Rows  # the present row of each stored entity that came, -1 for others; -1 at the end
    columns: Mapping[str, NDArray[Any]]
    lookups: Mapping[str, NDArray[Any]]

    def number(self, stored: Rows) -> Rows:
        """Return the present rows of stored entities that were added, -1 for -1."""
        return self.numbers[stored]


def find_entities(source: Source, units: UnitEdits, mentions: MentionEdits) -> EntityEdits:
    """Find the added and removed entities; an entity's place is its first mention."""
    titled = np.flatnonzero(source.titles >= 0)
    written = source.new_values("description.entity")
    described = source.resolve(written)
    lost = _find_lost(source, mentions)
    came = np.concatenate([source.titles[titled], mentions.entity, described])
    touched, place = renumber(np.concatenate([came, source.base.stored["entity"][lost]]))
    n = len(touched)
    in_titles, in_mentions, in_described, _ = np.split(
        place, np.cumsum([len(titled), len(mentions.entity), len(described)])
    )
    row = take_or_default(source.lookups["entity.rows"], touched)
    kept_title, kept_mention, linkable = _kept_occurrences(source, mentions, row, lost)
    rows, owner = _kept_descriptions(source, row)
    kept_description = first_in_groups(owner, n)
    kept_description[kept_description >= 0] = rows[kept_description[kept_description >= 0]]
    new_title, new_mention, new_description = (
        first_in_groups(each, n) for each in (in_titles, in_mentions, in_described)
    )
    linkable[in_titles] = True
    linkable[in_mentions[mentions.columns["label"] != DATE]] = True
    by_graph = source.column("chunk.graph")[source.column("description.chunk")[rows]] == IMPORTED
    linkable[owner[by_graph]] = True
    chunk = source.live.chunks_of("description")
    linkable[in_described[source.extraction_sources(GRAPH)[chunk] == IMPORTED]] = True
    votes = np.zeros((n, len(ENTITY_TYPES)), dtype=np.int32)
    np.add.at(votes, (owner, source.column("description.type")[rows]), 1)
    np.add.at(votes, (in_described, source.new_values("description.type")), 1)
    votes[:, 0] = 0  # "other" is no vote

    first = _FirstPlaces(
        source, units, mentions, np.full((3, n), _NONE), np.zeros(n, dtype=np.int64)
    )
    new_title = np.where(new_title >= 0, take_or_any(titled, new_title), -1)
    first.scan_kept(_TITLE, kept_title)
    first.scan_kept(_MENTION, kept_mention)
    first.scan_kept(_DESCRIPTION, kept_description)
    first.scan_new(_TITLE, new_title)
    first.scan_new(_MENTION, new_mention)
    first.scan_new(_DESCRIPTION, new_description)
    left = np.flatnonzero(first.places[0] < _NONE)
    left = left[np.lexsort(first.places[::-1, left])]
    edits = RowEdits.from_changes(
        len(source.base.stored["entity"]), np.sort(row[row >= 0]), first.before[left], row[left]
    )
    numbers = np.full(int(touched.max(initial=-1)) + 2, -1, dtype=np.int64)
    numbers[touched[left]] = edits.at
    new_mention, new_description = (
        _prefer_own(new, groups, own)
        for new, groups, own in (
            (new_mention, in_mentions, mentions.own),
            (new_description, in_described, described == written),
        )
    )
    description = _first_before(source.descriptions, kept_description, new_description)
    columns = {
        "mention": _first_before(mentions.edits, kept_mention, new_mention),
        "description": description,
        "linkable": linkable,
        "extracted": description >= 0,
        "type": votes.argmax(axis=1),
    }
    place, _, row = first.places
    lookups = {"place": place, "first": np.where(place % 3 == _TITLE, 0, row)}
    return EntityEdits(
        edits=edits,
        stored=touched[left],
        numbers=numbers,
        columns={f"entity.{name}": column[left] for name, column in columns.items()},
        lookups={f"entity.{name}": column[left] for name, column in lookups.items()},
    )


def _prefer_own(first: Rows, groups: Rows, own: NDArray[np.bool_]) -> Rows:
    """Return the first row of each group that is marked as its `own`, else its first row."""
    if own.all():
        return first
    rows = np.flatnonzero(own)
    own_first = first_in_groups(groups[rows], len(first))
    return np.where(own_first >= 0, take_or_any(rows, own_first), first)


def _find_lost(source: Source, mentions: MentionEdits) -> Rows:
    """Return the former entities in removed titles, mentions and descriptions, ascending."""
    gone = {
        "document.title_entity": source.documents.gone,
        "mention.entity": mentions.edits.gone,
        "description.entity": source.descriptions.gone,
    }
    lost = [source.column(name)[rows] for name, rows in gone.items() if len(rows)]
    return np.setdiff1d(np.concatenate([np.zeros(0, np.int64), *lost]), [-1])


def _first_before(edits: RowEdits, stays: Rows, new: Rows) -> Rows:
    """Return the lower of a kept and an added row for each entity, -1 for neither."""
    firsts = np.full(len(stays), _NONE)
    has = stays >= 0
    firsts[has] = edits.to_present(stays[has])
    has = new >= 0
    firsts[has] = np.minimum(firsts[has], edits.at[new[has]])
    firsts[firsts == _NONE] = -1
    return firsts


@dataclass(frozen=True, slots=True)
class _FirstPlaces:
    """The first place of each entity among the rows scanned so far.

    A place is three times the present document and how it names the entity; the present unit or
    description; the row of the title, mention or description.
    """

    source: Source
    units: UnitEdits
    mentions: MentionEdits
    places: Rows  # (3, n)
    before: Rows  # (n,) the former entity before which one stands that is first there

    def scan_kept(self, how: int, rows: Rows) -> None:
        """Scan former titles, mentions or descriptions; -1 stands for none."""
        some = np.flatnonzero(rows >= 0)
        at, column = rows[some], self.source.column
        documents = ranks = at
        if how == _MENTION:
            unit = column("mention.unit")[at].astype(np.int64)
            documents = column("chunk.document")[column("unit.chunk")[unit]].astype(np.int64)
            ranks = self.units.edits.to_present(unit)
        elif how == _DESCRIPTION:
            chunk = column("description.chunk")[at]
            documents = column("chunk.document")[chunk].astype(np.int64)
            ranks = self.source.descriptions.to_present(at)
        before = self._place_inside(3 * documents + how, 0 * at if how == _TITLE else at)
        now = 3 * self.source.documents.to_present(documents) + how
        self._lower_places(some, np.stack([now, ranks, at]), before)

    def scan_new(self, how: int, rows: Rows) -> None:
        """Scan added titles, mentions or descriptions; -1 stands for none."""
        some = np.flatnonzero(rows >= 0)
        at, edits = rows[some], self.source.documents
        if how == _TITLE:
            documents, ranks, behind = edits.at[at], at, 0 * at
        elif how == _MENTION:
            unit = self.mentions.unit[at]
            documents = self.source.documents_of(self.units.distinct.chunk[unit])
            ranks, behind = self.units.edits.at[unit], self.mentions.before[at]
        else:
            chunk = self.source.live.chunks_of("description")[at]
            documents = self.source.chunk_documents[chunk]
            descriptions = self.source.descriptions
            ranks, behind = descriptions.at[at], descriptions.before[at]
        former = edits.to_former(documents)
        before = self._place_inside(3 * np.maximum(former, 0) + how, behind)
        new = np.flatnonzero(former < 0)  # in documents that came
        titles = 3 * edits.before[np.searchsorted(edits.at, documents[new])]
        before[new] = self._place_inside(titles, 0 * titles)
        self._lower_places(some, np.stack([3 * documents + how, ranks, at]), before)

    def _place_inside(self, places: Rows, rows: Rows) -> Rows:
        lookups = self.source.lookups
        return places_inside(lookups["entity.place"], lookups["entity.first"], places, rows)

    def _lower_places(self, some: Rows, places: Rows, before: Rows) -> None:
        """Lower the first places of some entities."""
        own = self.places[:, some]
        lower = places[2] < own[2]
        for i in (1, 0):
            lower = (places[i] < own[i]) | ((places[i] == own[i]) & lower)
        rows = some[lower]
        self.places[:, rows] = places[:, lower]
        self.before[rows] = before[lower]


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
    chunks = np.unique(source.base.links["entity", "chunk"].rows(rows[places]).indices)
    chunks = chunks[~are_in(chunks, source.chunks.gone)]
    descriptions = rows_below(source.column("description.chunk"), chunks)
    number = np.full(len(source.base.stored["entity"]), -1, dtype=np.int64)
    number[rows[places]] = places
    owner = number[source.column("description.entity")[descriptions]]
    return descriptions[owner >= 0], owner[owner >= 0]


def entity_chunks(source: Source, entities: EntityEdits) -> csr_array:
    """Return the rows of the link from entities to the chunks whose extractions name them."""
    described = entities.number(source.resolve(source.new_values("description.entity")))
    place = np.searchsorted(entities.edits.at, described)
    chunk = source.chunks.at[source.live.chunks_of("description")]
    new = build_link(place, chunk, len(entities.edits.at), source.chunks.size)
    return merge_entries(source, source.base.links["entity", "chunk"], entities.edits.origin, new)
