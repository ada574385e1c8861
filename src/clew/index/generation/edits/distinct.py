"""Find the distinct rows that were added and removed; a row's place is its first occurrence.

Units, sentences and triples are such rows: a chunk has occurrences, and equal ones are one row.
Terms are found by their counts, and so are those that became common words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.links import expand_ranges
from clew.algo.row_edits import RowEdits
from clew.index.generation.edits.search import (
    are_in,
    first_in_groups,
    insertion_places,
    places_inside,
    take_or_any,
    take_or_default,
)
from clew.index.generation.lookups import is_common
from clew.index.generation.rows import place_by_row, renumber

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.index.generation.edits.source import Source
    from clew.index.generation.rows import Rows

_NONE = np.iinfo(np.int64).max  # behind every chunk and place


@dataclass(frozen=True, slots=True)
class KnownRows:
    """The base's rows with all their occurrences, grouped by key and in order.

    Codes are numbers by which occurrences ascend in a chunk.
    """

    chunk: NDArray[Any]  # that each row is first in, ascending
    code: NDArray[Any]  # of its first occurrence
    keys: NDArray[np.uint64]  # of each occurrence, ascending
    chunks: NDArray[Any]
    codes: NDArray[Any]

    @classmethod
    def from_lookups(
        cls, name: str, lookups: Mapping[str, NDArray[Any]], chunk: NDArray[Any], code: NDArray[Any]
    ) -> KnownRows:
        occurrences = (lookups[f"{name}.{each}"] for each in ("keys", "chunks", "codes"))
        return cls(chunk, code, *occurrences)

    def occurrences(self, keys: NDArray[np.uint64]) -> tuple[Rows, Rows]:
        """Return the occurrences of some keys, and the index of each one's key."""
        first = insertion_places(self.keys, keys)
        owner, at = expand_ranges(first, insertion_places(self.keys, keys, behind=True))
        return at.astype(np.int64), owner

    def rows_of(self, keys: NDArray[np.uint64], codes: Rows) -> Rows:
        """Return the rows whose first occurrences have these keys and codes, -1 if unknown."""
        first = insertion_places(self.keys, keys)
        matches = np.flatnonzero(first < len(self.keys))
        at = first[matches]
        same = (self.keys[at] == keys[matches]) & (self.codes[at] == codes[matches])
        matches, at = matches[same], at[same]
        rows = np.full(len(codes), -1, dtype=np.int64)
        rows[matches] = places_inside(
            self.chunk, self.code, self.chunks[at].astype(np.int64), self.codes[at]
        )
        return rows

    def chunks_of(self, keys: NDArray[np.uint64]) -> Rows:
        return self.chunks[self.occurrences(keys)[0]].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The new occurrences, in order."""

    keys: NDArray[np.uint64]
    chunk: Rows  # by its place among the chunks that came
    code: Rows


@dataclass(frozen=True, slots=True)
class Moves:
    """The rows that moved, were added or were removed."""

    chunk: Rows  # the present row of the chunk that each is first in
    code: Rows
    before: Rows  # the former row before which each stands
    origin: Rows  # the former row, -1 for one that is new
    gone: Rows  # the former rows that went or moved, ascending
    # Of each occurrence that came its place among these rows, or -1 and its former row.
    place: Rows
    former: Rows

    def add_returning(self, rows: Rows, chunk: Rows, code: Rows) -> Moves:
        """Add former rows that return to their old place in a present chunk."""
        return replace(
            self,
            chunk=np.concatenate([self.chunk, chunk]),
            code=np.concatenate([self.code, code]),
            before=np.concatenate([self.before, rows]),
            origin=np.concatenate([self.origin, rows]),
            gone=np.union1d(self.gone, rows),
        )


@dataclass(frozen=True, slots=True)
class DistinctEdits:
    """The added rows, in order."""

    edits: RowEdits
    chunk: Rows  # the present row of the chunk that each is first in
    code: Rows
    before: Rows  # the former row before which each stands
    of_came: Rows  # the present row of each occurrence that came

    @classmethod
    def from_moves(cls, n: int, moves: Moves) -> DistinctEdits:
        """Return the edits of `n` rows, given those that moved."""
        order = np.lexsort((moves.code, moves.chunk))
        before = moves.before[order]
        edits = RowEdits.from_changes(n, moves.gone, before, moves.origin[order])
        at = np.empty(len(order), dtype=np.int64)
        at[order] = edits.at
        of_came = np.where(
            moves.place >= 0, take_or_any(at, moves.place), edits.to_present(moves.former)
        )
        return cls(edits, moves.chunk[order], moves.code[order], before, of_came)


def find_moves(
    known: KnownRows,
    source: Source,
    gone: Rows,
    came: Occurrences,
    lost: NDArray[np.uint64],
    *,
    always: bool = False,
) -> Moves:
    """Find the rows that were added or removed with chunks, or whose first occurrence moved.

    `gone` are the former chunks that went, and `lost` the keys of what stood first in these. Where
    `always`, every row of a key that came or was lost comes anew.
    """
    keys, group = np.unique(np.concatenate([came.keys, lost]), return_inverse=True)
    n = len(keys)
    occurrences, owner = known.occurrences(keys)
    first = first_in_groups(owner, n)
    is_known = first >= 0
    first = occurrences[first[is_known]]
    row = np.full(n, -1, dtype=np.int64)
    row[is_known] = places_inside(
        known.chunk, known.code, known.chunks[first].astype(np.int64), known.codes[first]
    )
    # The first of those that stay, and of those that came.
    stays = np.flatnonzero(~are_in(known.chunks[occurrences], gone))
    firsts = first_in_groups(owner[stays], n)
    firsts[firsts >= 0] = occurrences[stays[firsts[firsts >= 0]]]
    former = take_or_any(known.chunks, firsts).astype(np.int64)
    now = np.where(firsts >= 0, source.chunks.to_present(former), _NONE)
    new = first_in_groups(group[: len(came.keys)], n)
    here = np.where(new >= 0, take_or_any(source.chunks.at, take_or_any(came.chunk, new)), _NONE)
    is_new = here < now
    chunk, code = np.minimum(here, now), np.where(is_new, take_or_any(came.code, new), 0)
    before = np.zeros(n, dtype=np.int64)
    boundary = insertion_places(known.chunk, source.chunks_before)
    before[is_new] = boundary[came.chunk[new[is_new]]]
    old = np.flatnonzero(~is_new & (firsts >= 0))
    code[old] = known.codes[firsts[old]]
    before[old] = places_inside(known.chunk, known.code, former[old], code[old])
    moved = np.ones(n, dtype=bool)
    if not always:
        same = np.flatnonzero(~is_new & is_known & (firsts >= 0))
        moved[same] = row[same] != before[same]
    left = np.flatnonzero(moved & (chunk < _NONE))
    place = np.full(n, -1, dtype=np.int64)
    place[left] = np.arange(len(left))
    own = group[: len(came.keys)]
    went = row[moved]
    gone = np.sort(went[went >= 0])
    return Moves(chunk[left], code[left], before[left], row[left], gone, place[own], row[own])


@dataclass(frozen=True, slots=True)
class TermEdits:
    """The terms of added and removed documents."""

    edits: RowEdits
    stored: Rows
    lookups: Mapping[str, NDArray[Any]]  # of the added rows
    numbers: Rows  # the present row of each stored term, -1 for one that there is none of
    are_common: NDArray[np.bool_]  # of each stored term
    flipped: Rows  # stored terms that are common now and were not, or the other way


def find_terms(source: Source) -> TermEdits:
    """Find the added and removed terms; a term's place is its first chunk."""
    table = source.lookups
    is_new = source.chunks.origin < 0  # all other chunks have the terms that they had
    mine = np.flatnonzero(is_new[source.live.above["count"]])
    rows, above = source.live.rows["count"][mine], source.live.above["count"][mine]
    came = source.stored.take("count.term", rows)
    lost, _ = source.stored.rows_below("count", source.base.stored["chunk"][source.removed])
    touched, place = renumber(np.concatenate([came, source.stored.take("count.term", lost)]))
    in_came, in_went = place[: len(came)], place[len(came) :]
    row = take_or_default(table["term.rows"], touched)
    counts = []
    for name in ("n", "n_lower"):
        former = np.where(row >= 0, take_or_any(table[f"term.{name}"], row), 0)
        plus = np.bincount(in_came, source.stored.take(f"count.{name}", rows), len(touched))
        minus = np.bincount(in_went, source.stored.take(f"count.{name}", lost), len(touched))
        counts.append(former + plus.astype(np.int64) - minus.astype(np.int64))
    # Where each stands first: among what came, and among what stayed.
    chunk, count = (np.full(len(touched), _NONE) for _ in range(2))
    before = np.zeros(len(touched), dtype=np.int64)
    first = first_in_groups(in_came, len(touched))
    has = first >= 0
    chunk[has] = source.chunks.at[above[first[has]]]
    count[has] = rows[first[has]]
    boundary = insertion_places(table["term.chunk"], source.chunks_before)
    before[has] = boundary[above[first[has]]]
    there, stays, at = _kept_terms(source, touched, row)
    now = np.full(len(touched), _NONE)
    now[there] = source.chunks.to_present(stays)
    earlier = np.flatnonzero(now < chunk)
    chunk[earlier] = now[earlier]
    kept = np.searchsorted(there, earlier)
    count[earlier] = at[kept]
    before[earlier] = places_inside(table["term.chunk"], table["term.count"], stays[kept], at[kept])
    # All of them that are left come anew, each where it stands first.
    left = np.flatnonzero(chunk < _NONE)
    left = left[np.lexsort((count[left], chunk[left]))]
    n_before = len(source.base.stored["term"])
    edits = RowEdits.from_changes(n_before, np.sort(row[row >= 0]), before[left], row[left])
    numbers = np.full(max(int(touched.max(initial=-1)) + 1, len(table["term.rows"])), -1)
    numbers[: len(table["term.rows"])] = edits.to_present(table["term.rows"], followed=False)
    numbers[touched[left]] = edits.at
    were = np.zeros(len(numbers), dtype=bool)
    were[source.base.stored["term"]] = source.column("term.common")
    are = were.copy()
    are[touched] = is_common(*counts)
    flipped = np.flatnonzero(were != are)
    if source.whole is not None:
        are = is_common(*source.whole.written)
    firsts = {"n": counts[0], "n_lower": counts[1], "chunk": chunk, "count": count}
    lookups = {f"term.{name}": column[left] for name, column in firsts.items()}
    return TermEdits(edits, touched[left], lookups, numbers, are, flipped)


def _kept_terms(source: Source, terms: Rows, rows: Rows) -> tuple[Rows, Rows, Rows]:
    """Return the terms in kept chunks, with the first such chunk of each and its count there."""
    places = np.flatnonzero(rows >= 0)
    chunk = source.lookups["term.chunk"][rows[places]].astype(np.int64)
    count = source.lookups["term.count"][rows[places]].astype(np.int64)
    went = np.flatnonzero(are_in(chunk, source.removed))
    if len(went):
        link = source.base.links["chunk", "term"].whole
        chunk[went] = _first_rows(link, rows[places[went]], source.removed)
        stays = went[chunk[went] >= 0]
        below, owner = source.stored.rows_below("count", source.base.stored["chunk"][chunk[stays]])
        same = source.stored.take("count.term", below) == terms[places[stays]][owner]
        count[stays[owner[same]]] = below[same]
    left = chunk >= 0
    return places[left], chunk[left], count[left]


def _first_rows(link: csr_array, columns: Rows, but: Rows) -> Rows:
    """Return the first row of each column, ignoring the rows in `but`; -1 if none."""
    number = place_by_row(columns, link.shape[1])
    entries = np.flatnonzero(number[link.indices] >= 0)
    rows = np.searchsorted(link.indptr, entries, side="right") - 1
    stays = ~are_in(rows, but)
    first_rows = np.full(len(columns), -1, dtype=np.int64)
    first_rows[number[link.indices[entries[stays]]][::-1]] = rows[stays][::-1]
    return first_rows
