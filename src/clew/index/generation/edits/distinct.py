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
    BEHIND_ALL,
    are_in,
    first_in_groups,
    insertion_places,
    places_inside,
    take_or_any,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.index.generation.edits.source import Source
    from clew.index.generation.rows import Rows


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
    def from_source(cls, source: Source, layer: str, code: NDArray[Any]) -> KnownRows:
        occurrences = (source.lookups[f"{layer}.{name}"] for name in ("keys", "chunks", "codes"))
        return cls(source.column(f"{layer}.chunk"), code, *occurrences)

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
    came: Occurrences

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
    came: Occurrences
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
        return cls(edits, moves.chunk[order], moves.code[order], before, moves.came, of_came)


def find_moves(
    known: KnownRows,
    source: Source,
    gone: Rows,
    came: Occurrences,
    lost: NDArray[np.uint64],
    *,
    always: bool = False,
) -> Moves:
    """Find rows added or removed with chunks, and rows whose first occurrence moved.

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
    now = np.where(firsts >= 0, source.chunks.to_present(former), BEHIND_ALL)
    new = first_in_groups(group[: len(came.keys)], n)
    here = np.where(
        new >= 0, take_or_any(source.chunks.at, take_or_any(came.chunk, new)), BEHIND_ALL
    )
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
    left = np.flatnonzero(moved & (chunk < BEHIND_ALL))
    place = np.full(n, -1, dtype=np.int64)
    place[left] = np.arange(len(left))
    own = group[: len(came.keys)]
    went = row[moved]
    gone = np.sort(went[went >= 0])
    return Moves(chunk[left], code[left], before[left], row[left], gone, place[own], row[own], came)
