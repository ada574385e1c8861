"""Which entities came and went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.algo.row_edits import RowEdits
from clew.generation.edits.search import are_in, first_of, inside, looked_up, stand, taken
from clew.generation.rows import places
from clew.types import DATE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.generation.edits.source import Source
    from clew.generation.edits.units import MentionEdits, UnitEdits
    from clew.generation.rows import Rows

_NONE = np.iinfo(np.int64).max  # behind every place


@dataclass(frozen=True, slots=True)
class EntityEdits:
    """The entities that came: all of those that something that came or went names."""

    edits: RowEdits
    stored: Rows
    numbers: Rows  # the present row of each stored entity that came, -1 for others
    mention: Rows
    linkable: NDArray[np.bool_]


def find_entities(source: Source, units: UnitEdits, mentions: MentionEdits) -> EntityEdits:
    """Return which entities came and went, each where a document first names it."""
    titled = np.flatnonzero(source.titles >= 0)
    lost = source.column("document.title_entity")[source.documents.gone]
    if len(mentions.edits.gone):
        named = source.column("mention.entity")[mentions.edits.gone]
        lost = np.concatenate([named, lost])
    lost = np.unique(lost[lost >= 0]).astype(np.int64)
    came = np.concatenate([source.titles[titled], mentions.entity])
    touched, place = np.unique(
        np.concatenate([came, source.base.stored["entity"][lost]]), return_inverse=True
    )
    in_titles, in_mentions = np.split(place[: len(came)], [len(titled)])
    row = looked_up(source.lookups["entity.rows"], touched)
    n = len(touched)
    kept_title, kept_mention, linkable = _kept_occurrences(source, mentions, row, lost)
    new_title, new_mention = first_of(in_titles, n), first_of(in_mentions, n)
    linkable[in_titles] = True
    linkable[in_mentions[mentions.columns["label"] != DATE]] = True
    first = _Firsts(np.full((3, n), _NONE), np.zeros(n, dtype=np.int64))
    first.in_kept_titles(source, kept_title)
    first.in_kept_mentions(source, units, kept_mention)
    first.in_new_titles(source, np.where(new_title >= 0, taken(titled, new_title), -1))
    first.in_new_mentions(source, units, mentions, new_mention)
    left = np.flatnonzero(first.places[0] < _NONE)
    left = left[np.lexsort(first.places[::-1, left])]
    edits = RowEdits.of(
        len(source.base.stored["entity"]), np.sort(row[row >= 0]), first.before[left], row[left]
    )
    mention = np.full(n, _NONE)
    has = kept_mention >= 0
    mention[has] = mentions.edits.now(kept_mention[has])
    has = new_mention >= 0
    mention[has] = np.minimum(mention[has], mentions.edits.at[new_mention[has]])
    mention[mention == _NONE] = -1
    numbers = np.full(int(touched.max(initial=-1)) + 1, -1, dtype=np.int64)
    numbers[touched[left]] = edits.at
    return EntityEdits(edits, touched[left], numbers, mention[left], linkable[left])


@dataclass(frozen=True, slots=True)
class _Firsts:
    """Where entities are first named, as far as was looked.

    A place is twice the present document, and one more in its text; the present unit; the mention.
    """

    places: Rows  # (3, n)
    before: Rows  # (n,) the former entity before which one stands that is first there

    def in_kept_titles(self, source: Source, documents: Rows) -> None:
        """Look at the titles of former documents, -1 for none."""
        some = np.flatnonzero(documents >= 0)
        at = documents[some]
        stands = stand(source.lookups["entity.place"], 2 * at)
        self._lower(some, np.stack([2 * source.documents.now(at), 0 * at, 0 * at]), stands)

    def in_kept_mentions(self, source: Source, units: UnitEdits, mentions: Rows) -> None:
        """Look at former mentions, -1 for none."""
        some = np.flatnonzero(mentions >= 0)
        at = mentions[some]
        unit = source.column("mention.unit")[at].astype(np.int64)
        document = source.column("chunk.document")[source.column("unit.chunk")[unit]]
        document = document.astype(np.int64)
        places = np.stack([2 * source.documents.now(document) + 1, units.edits.now(unit), at])
        self._lower(some, places, _among(source, document, at))

    def in_new_titles(self, source: Source, documents: Rows) -> None:
        """Look at the titles of documents that came, -1 for none."""
        some = np.flatnonzero(documents >= 0)
        at = documents[some]
        stands = stand(source.lookups["entity.place"], 2 * source.documents.before)
        self._lower(some, np.stack([2 * source.documents.at[at], 0 * at, 0 * at]), stands[at])

    def in_new_mentions(
        self, source: Source, units: UnitEdits, mentions: MentionEdits, rows: Rows
    ) -> None:
        """Look at mentions that came, -1 for none."""
        some = np.flatnonzero(rows >= 0)
        at = rows[some]
        unit = mentions.unit[at]
        document = source.documents_of(units.chunk[unit])
        former = source.documents.then(document)
        stands = _among(source, np.maximum(former, 0), mentions.before[at])
        new = np.flatnonzero(former < 0)
        came = np.searchsorted(source.documents.at, document[new])
        stands[new] = stand(source.lookups["entity.place"], 2 * source.documents.before)[came]
        self._lower(some, np.stack([2 * document + 1, units.edits.at[unit], at]), stands)

    def _lower(self, some: Rows, places: Rows, before: Rows) -> None:
        """Put places of some entities in place of higher ones."""
        own = self.places[:, some]
        lower = places[2] < own[2]
        for i in (1, 0):
            lower = (places[i] < own[i]) | ((places[i] == own[i]) & lower)
        chosen = some[lower]
        self.places[:, chosen] = places[:, lower]
        self.before[chosen] = before[lower]


def _kept_occurrences(
    source: Source, mentions: MentionEdits, rows: Rows, lost: Rows
) -> tuple[Rows, Rows, NDArray[np.bool_]]:
    """Return the former title and mention that each entity is first in, of those that stay.

    Of a former entity in `rows`, or none (-1); `lost` are those of which some occurrence went.
    And whether one that stays makes it linkable.
    """
    title, mention = (np.full(len(rows), -1, dtype=np.int64) for _ in range(2))
    linkable = np.zeros(len(rows), dtype=bool)
    is_lost = are_in(rows, lost)
    same = np.flatnonzero((rows >= 0) & ~is_lost)
    place = source.lookups["entity.place"][rows[same]].astype(np.int64)
    title[same] = np.where(place % 2, -1, place // 2)
    mention[same] = source.column("entity.mention")[rows[same]]
    linkable[same] = source.column("entity.linkable")[rows[same]]
    if len(lost):
        number = places(rows[is_lost], len(source.base.stored["entity"]))
        number[number >= 0] = np.flatnonzero(is_lost)[number[number >= 0]]
        owner = number[source.column("mention.entity")]
        found = np.flatnonzero(owner >= 0)
        found = found[~are_in(found, mentions.edits.gone)]
        mention[owner[found][::-1]] = found[::-1]
        linkable[owner[found[source.column("mention.label")[found] != DATE]]] = True
        titles = source.column("document.title_entity")
        titled = np.flatnonzero(titles >= 0)
        titled = titled[~are_in(titled, source.documents.gone)]
        owner = number[titles[titled]]
        titled, owner = titled[owner >= 0], owner[owner >= 0]
        title[owner[::-1]] = titled[::-1]
        linkable[owner] = True
    return title, mention, linkable


def _among(source: Source, documents: Rows, mentions: Rows) -> Rows:
    """Return before which former entity one stands that is first in a former mention."""
    place = source.lookups["entity.place"]
    return inside(place, source.column("entity.mention"), 2 * documents + 1, mentions)
