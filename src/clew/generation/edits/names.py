"""Find the words of scripts without capitals that are names now: they join a few chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.generation.edits.search import are_in
from clew.generation.lookups import is_useful
from clew.types import TERM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.generation.edits.distinct import KnownRows, Moves
    from clew.generation.edits.source import Source
    from clew.generation.edits.stored_units import StoredUnits
    from clew.generation.rows import Rows


@dataclass(frozen=True, slots=True)
class Names:
    """The stored entities that some mention is such a word of, ascending."""

    entities: Rows
    useful: NDArray[np.bool_]  # which of them are names now
    flipped: Rows  # those that are names now and were not, or the other way

    def are_useful(self, labels: NDArray[Any], entities: Rows) -> NDArray[np.bool_]:
        """Say which mentions, by their labels and stored entities, are not to be dropped."""
        is_useful = labels != TERM
        some = np.flatnonzero(~is_useful)
        is_useful[some] = self.useful[np.searchsorted(self.entities, entities[some])]
        return np.asarray(is_useful)


def find_names(
    source: Source, stored_units: StoredUnits, known_units: KnownRows, moves: Moves
) -> Names:
    """Return which such words are names after some units came and went."""
    owner, columns = stored_units.mentions_of(moves.code)
    entity, is_term = columns["entity"].astype(np.int64), columns["label"] == TERM
    known, df = source.lookups["named.entities"], source.lookups["named.df"]
    entities = np.union1d(known, entity[is_term])
    at = np.searchsorted(entities, known)
    counts = np.zeros(len(entities), dtype=np.int64)
    counts[at] = df
    if len(entities):
        _, went = stored_units.mentions_of(known_units.code[moves.gone].astype(np.int64))
        touched = np.union1d(entity, went["entity"])
        changed = entities[are_in(entities, touched)]
        is_own = are_in(entity, changed)
        pairs = [(entity[is_own], moves.chunk[owner[is_own]])]
        former, named = stored_units.mentions_with("entity", changed)
        units = known_units.rows_of(stored_units.keys(former), former)
        kept = (units >= 0) & ~are_in(units, moves.gone)
        stands = source.column("unit.chunk")[units[kept]].astype(np.int64)
        pairs.append((named[kept], source.chunks.to_present(stands)))
        both = np.unique(np.concatenate([np.stack(pair) for pair in pairs], axis=1), axis=1)
        counts[np.searchsorted(entities, changed)] = np.bincount(
            np.searchsorted(changed, both[0]), minlength=len(changed)
        )
    useful = is_useful(counts, source.chunks.size)
    were = is_useful(df, source.chunks.n)
    return Names(entities, useful, known[useful[at] != were])
