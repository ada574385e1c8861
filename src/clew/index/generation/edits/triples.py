"""Find the triples that were added and removed, and their occurrences in chunks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.links import Link
from clew.algo.row_edits import RowEdits
from clew.index.generation.edits.distinct import DistinctEdits, KnownRows, Occurrences, find_moves
from clew.index.generation.edits.search import are_in, rows_below
from clew.index.generation.edits.source import Source
from clew.index.generation.lookups import triple_keys
from clew.index.generation.rows import Rows, build_link

if TYPE_CHECKING:
    from clew.index.generation.edits.entities import EntityEdits


@dataclass(frozen=True, slots=True)
class TripleEdits:
    """The triples in added and removed chunks, with their occurrences."""

    distinct: DistinctEdits
    occurrences: RowEdits
    came: Occurrences
    strength: NDArray[np.float32]
    chunks: csr_array  # the rows of the link from triples to chunks of those that came

    @property
    def edits(self) -> RowEdits:
        return self.distinct.edits


def find_triples(source: Source) -> TripleEdits:
    """Find the added and removed triples and occurrences."""
    rows, chunk = source.live.rows["triple"], source.live.chunks_of("triple")
    ends = (source.resolve(source.new_values(f"triple.{end}")) for end in ("subject", "object"))
    two = np.not_equal(*ends)
    rows, chunk = rows[two], chunk[two]
    stored = source.base.stored["triple"]
    known = KnownRows.from_lookups("triple", source.lookups, source.column("triple.chunk"), stored)
    gone = rows_below(source.column("occurrence.chunk"), source.chunks.gone)
    lost = _keys(source, stored[np.unique(source.column("occurrence.triple")[gone])])
    came = Occurrences(_keys(source, rows), chunk, rows)
    moves = find_moves(known, source, source.chunks.gone, came, lost, always=True)
    distinct = DistinctEdits.from_moves(len(stored), moves)
    strength = source.stored.take("triple.strength", rows).astype(np.float32)
    place = np.searchsorted(distinct.edits.at, distinct.of_came)
    shape = len(distinct.edits.at), source.chunks.size
    new = build_link(place, source.chunks.at[chunk], *shape, strength)
    former = source.base.links["triple", "chunk"]
    return TripleEdits(
        distinct=distinct,
        occurrences=source.edit_rows_below("occurrence", chunk),
        came=came,
        strength=strength,
        chunks=merge_entries(source, former, distinct.edits.origin, new),
    )


def _keys(source: Source, rows: Rows) -> NDArray[np.uint64]:
    subjects, relations, objects = (
        source.stored.take(f"triple.{name}", rows) for name in ("subject", "relation_key", "object")
    )
    return triple_keys(source.resolve(subjects), relations, source.resolve(objects))


def merge_entries(source: Source, former: Link, origin: Rows, new: csr_array) -> csr_array:
    """Merge a link's entries in kept chunks with the new entries.

    `origin` is the former row of each, -1 for one that is new.
    """
    old = np.flatnonzero(origin >= 0)
    if not len(old):
        return new
    entries = former.rows(origin[old]).tocoo()
    stay = ~are_in(entries.col, source.chunks.gone)
    rows, chunks = old[entries.row[stay]], source.chunks.to_present(entries.col[stay])
    more = new.tocoo()
    together = (
        np.concatenate([entries.data[stay], more.data]),
        (np.concatenate([rows, more.row]), np.concatenate([chunks, more.col])),
    )
    link = csr_array(together, shape=new.shape)
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
        "occurrence.chunk": source.chunks.at[triples.came.chunk],
        "occurrence.strength": triples.strength,
    }
