"""Find the terms that were added and removed, and those that became common words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.algo.row_edits import RowEdits
from clew.generation.edits.search import (
    are_in,
    first_in_groups,
    insertion_places,
    places_inside,
    take_or_any,
    take_or_default,
)
from clew.generation.lookups import is_common
from clew.generation.rows import place_by_row

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.generation.edits.source import Source
    from clew.generation.rows import Rows

_NONE = np.iinfo(np.int64).max  # behind every place


@dataclass(frozen=True, slots=True)
class TermEdits:
    """The terms of added and removed documents."""

    edits: RowEdits
    stored: Rows
    common: NDArray[np.bool_]
    numbers: Rows  # the present row of each stored term, -1 for one that there is none of
    are_common: NDArray[np.bool_]  # of each stored term
    flipped: Rows  # stored terms that are common now and were not, or the other way


def find_terms(source: Source) -> TermEdits:
    """Find the added and removed terms; a term's place is its first chunk."""
    table = source.lookups
    new = np.flatnonzero(source.chunks.origin < 0)  # all others have the terms that they had
    mine = np.flatnonzero(are_in(source.live.above["count"], new))
    rows, above = source.live.rows["count"][mine], source.live.above["count"][mine]
    came = source.new_values("count.term")[mine].astype(np.int64)
    lost, _ = source.stored.rows_below("count", source.base.stored["chunk"][source.removed])
    went = source.stored.take("count.term", lost).astype(np.int64)
    touched, place = np.unique(np.concatenate([came, went]), return_inverse=True)
    in_came, in_went = place[: len(came)], place[len(came) :]
    row = take_or_default(table["term.rows"], touched)
    counts = {}
    for name in ("n", "n_lower"):
        former = np.where(row >= 0, take_or_any(table[f"term.{name}"], row), 0)
        plus = np.bincount(in_came, source.new_values(f"count.{name}")[mine], len(touched))
        minus = np.bincount(in_went, source.stored.take(f"count.{name}", lost), len(touched))
        counts[name] = former + plus.astype(np.int64) - minus.astype(np.int64)
    common = is_common(counts["n"], counts["n_lower"])
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
    are[touched] = common
    return TermEdits(edits, touched[left], common[left], numbers, are, np.flatnonzero(were != are))


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
