"""Find the triples that were added and removed, and their occurrences in chunks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.row_edits import RowEdits
from clew.index.generation.edits.distinct import DistinctEdits, KnownRows, Occurrences, find_moves
from clew.index.generation.edits.search import are_in, rows_below
from clew.index.generation.edits.source import Source
from clew.index.generation.rows import Rows, build_link

if TYPE_CHECKING:
    from clew.index.generation.edits.entities import EntityEdits


@dataclass(frozen=True, slots=True)
class TripleEdits:
    """The triples in added and removed chunks, with their occurrences."""

    distinct: DistinctEdits
    occurrences: RowEdits
    strength: NDArray[np.float32]
    chunks: csr_array  # the rows of the link from triples to chunks of those that came

    @property
    def edits(self) -> RowEdits:
        return self.distinct.edits


def find_triples(source: Source) -> TripleEdits:
    """Find the added and removed triples and occurrences."""
    rows, chunk = source.live.rows["triple"], source.live.chunks_of("triple")
    ends = (source.resolve(source.new_values(f"triple.{end}")) for end in ("subject", "object"))
    kept = np.not_equal(*ends) & _mark_valid(source, rows)
    rows, chunk = rows[kept], chunk[kept]
    stored = source.base.stored["triple"]
    known = KnownRows.from_source(source, "triple", stored)
    gone = rows_below(source.column("occurrence.chunk"), source.chunks.gone)
    lost = _keys(source, stored[np.unique(source.column("occurrence.triple")[gone])])
    came = Occurrences(_keys(source, rows), chunk, rows)
    moves = find_moves(known, source, source.chunks.gone, came, lost, always=True)
    distinct = DistinctEdits.from_moves(len(stored), moves)
    strength = source.stored.take("triple.strength", rows).astype(np.float32)
    edits = distinct.edits
    return TripleEdits(
        distinct=distinct,
        occurrences=source.edit_rows_below("occurrence", chunk),
        strength=strength,
        chunks=link_to_chunks(source, "triple", edits, distinct.of_came, chunk, strength),
    )


def _mark_valid(source: Source, rows: Rows) -> NDArray[np.bool_]:
    """Mark the stored triples that hold during the time that is asked for, if any, by their texts.

    A triple without dates may hold at any time.
    """
    dated, owner = source.stored.rows_below("validity", rows if source.during else rows[:0])
    first, last = (source.stored.take(f"validity.{name}", dated) for name in ("first", "last"))
    holds = (first <= _end(source.during)) & ((last == 0) | (_end(last) >= source.during))
    times, valid = (np.bincount(each, minlength=len(rows)) for each in (owner, owner[holds]))
    return np.asarray((times == 0) | (valid > 0))


def _end(days: Any) -> NDArray[Any]:  # noqa: ANN401 -- numbers of `read_day`, or one
    """Return the last day of each date, whose month or day may be open (0)."""
    return np.asarray(days + np.where(days % 10_000 == 0, 1231, np.where(days % 100 == 0, 31, 0)))


def _keys(source: Source, rows: Rows) -> NDArray[np.uint64]:
    """Return one 64-bit hash of each stored triple, by entities (splitmix64's finaliser)."""
    subjects, objects, relations = (
        source.stored.take(f"triple.{name}", rows) for name in ("subject", "object", "relation_key")
    )
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for column in (source.resolve(subjects), source.resolve(objects), relations):
        key = column.astype(np.int64).astype(np.uint64)
        mixed = (mixed ^ key) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def link_to_chunks(
    source: Source,
    layer: str,
    edits: RowEdits,
    rows: Rows,
    chunks: Rows,
    weights: NDArray[Any] | None = None,
) -> csr_array:
    """Return the added rows of a link from extracted rows to their chunks.

    `rows` are the present rows of what stands in `chunks`, which are numbered among those that
    came. Entries in kept chunks are those of the base.
    """
    shape = len(edits.at), source.chunks.size
    place = np.searchsorted(edits.at, rows)
    new = build_link(place, source.chunks.at[chunks], *shape, weights)
    old = np.flatnonzero(edits.origin >= 0)
    if not len(old):
        return new
    entries = source.base.links[layer, "chunk"].entries_of(edits.origin[old])
    stay = ~are_in(entries.indices, source.chunks.gone)
    rows = old[entries.owners[stay]]
    chunks = source.chunks.to_present(entries.indices[stay])
    more = new.tocoo()
    together = (
        np.concatenate([entries.data[stay], more.data]),
        (np.concatenate([rows, more.row]), np.concatenate([chunks, more.col])),
    )
    link = csr_array(together, shape=shape)
    link.sort_indices()
    return link


def triple_columns(
    source: Source, triples: TripleEdits, entities: "EntityEdits"
) -> dict[str, NDArray[Any]]:
    """Return the column values of added triples and occurrences."""
    stored = triples.distinct.code
    ends = {
        f"triple.{end}": entities.number(
            source.resolve(source.stored.take(f"triple.{end}", stored))
        )
        for end in ("subject", "object")
    }
    sums = np.asarray(triples.chunks.sum(axis=1, dtype=np.float64), dtype=np.float32)
    return ends | {
        "triple.chunk": triples.distinct.chunk,
        "triple.strength": sums,
        "occurrence.triple": triples.distinct.of_came,
        "occurrence.chunk": source.chunks.at[triples.distinct.came.chunk],
        "occurrence.strength": triples.strength,
    }
