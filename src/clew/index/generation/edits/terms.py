"""Find the terms that were added and removed, and link them to the texts that they stand in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.ascending import match_sorted
from clew.algo.row_edits import RowEdits
from clew.index.generation.edits.search import (
    BEHIND_ALL,
    are_in,
    first_in_groups,
    insertion_places,
    places_inside,
    take_or_any,
    take_or_default,
)
from clew.index.generation.postings import Postings, Ranges
from clew.index.generation.rows import build_link, index_type, place_by_row, renumber, take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.index.generation.edits.distinct import DistinctEdits
    from clew.index.generation.edits.source import Source
    from clew.index.generation.rows import Rows


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
    former = np.where(row >= 0, take_or_any(table["term.capitals"], row), 0)
    plus = np.bincount(in_came, source.stored.take("count.capitals", rows), len(touched))
    minus = np.bincount(in_went, source.stored.take("count.capitals", lost), len(touched))
    capitals = former + plus.astype(np.int64) - minus.astype(np.int64)
    # Where each stands first: among what came, and among what stayed.
    chunk, count = (np.full(len(touched), BEHIND_ALL) for _ in range(2))
    before = np.zeros(len(touched), dtype=np.int64)
    first = first_in_groups(in_came, len(touched))
    has = first >= 0
    chunk[has] = source.chunks.at[above[first[has]]]
    count[has] = rows[first[has]]
    boundary = insertion_places(table["term.chunk"], source.chunks_before)
    before[has] = boundary[above[first[has]]]
    there, stays, at = _kept_terms(source, touched, row)
    now = np.full(len(touched), BEHIND_ALL)
    now[there] = source.chunks.to_present(stays)
    earlier = np.flatnonzero(now < chunk)
    chunk[earlier] = now[earlier]
    kept = np.searchsorted(there, earlier)
    count[earlier] = at[kept]
    before[earlier] = places_inside(table["term.chunk"], table["term.count"], stays[kept], at[kept])
    # All of them that are left come anew, each where it stands first.
    left = np.flatnonzero(chunk < BEHIND_ALL)
    left = left[np.lexsort((count[left], chunk[left]))]
    n_before = len(source.base.stored["term"])
    edits = RowEdits.from_changes(n_before, np.sort(row[row >= 0]), before[left], row[left])
    numbers = np.full(max(int(touched.max(initial=-1)) + 1, len(table["term.rows"])), -1)
    numbers[: len(table["term.rows"])] = edits.to_present(table["term.rows"], followed=False)
    numbers[touched[left]] = edits.at
    were = np.zeros(len(numbers), dtype=bool)
    were[source.base.stored["term"]] = source.column("term.common")
    are = were.copy()
    are[touched] = capitals <= 0
    flipped = np.flatnonzero(were != are)
    if source.whole is not None:
        are = source.whole.capitals <= 0
    firsts = {"capitals": capitals, "chunk": chunk, "count": count}
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


def link_terms(
    source: Source, terms: TermEdits, sentences: DistinctEdits
) -> dict[tuple[str, str], csr_array]:
    """Return the added rows of the links to terms, from chunks and ranges of them."""
    live = source.live
    above, numbers = live.above["count"], terms.numbers[source.new_values("count.term")]
    counts = source.new_values("count.n")
    n_chunks, n_terms = len(live.rows["chunk"]), terms.edits.size
    links = {("chunk", "term"): build_link(above, numbers, n_chunks, n_terms, counts)}
    rows, chunk = source.stored.rows_below("posting", live.rows["chunk"])
    term = take(terms.numbers.astype(index_type(n_terms)), source.stored.take("posting.term", rows))
    postings = Postings(chunk, term, source.stored.take("posting.start", rows), n_terms)
    if source.is_halved:
        parts = _open_ranges(source, "subchunk", live.rows["subchunk"], live.above["subchunk"])
        links["subchunk", "term"] = postings.subchunk_terms(parts, above, numbers)
    del live.rows["count"], live.above["count"]  # which take much memory, and are used up
    links["sentence", "term"] = _link_sentences(source, terms, sentences, postings)
    return links


def _link_sentences(
    source: Source, terms: TermEdits, sentences: DistinctEdits, postings: Postings
) -> csr_array:
    """Return the terms of the added sentences; those of moved ones are in the base."""
    rows = sentences.code
    came = source.live.rows["sentence"]
    order = np.argsort(came)
    new, place = match_sorted(came[order], rows)
    old = np.delete(np.arange(len(rows)), new)
    chunk = source.live.above["sentence"][order[place]]
    ascending = np.argsort(chunk, kind="stable")
    new, chunk = new[ascending], chunk[ascending]
    entries = postings.sentence_terms(_open_ranges(source, "sentence", rows[new], chunk))
    if not len(old):
        return entries
    own = entries.tocoo()
    former = source.base.links["sentence", "term"].entries_of(sentences.edits.origin[old])
    columns = terms.edits.to_present(former.indices)
    row = np.concatenate([new[own.row], old[former.owners]])
    return build_link(row, np.concatenate([own.col, columns]), len(rows), terms.edits.size)


def _open_ranges(source: Source, layer: str, rows: Rows, chunk: Rows) -> Ranges:
    start, end = (source.stored.take(f"{layer}.{name}", rows) for name in ("start", "end"))
    return Ranges(chunk, start, end)
