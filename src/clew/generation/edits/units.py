"""Which units and mentions came and went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.row_edits import RowEdits
from clew.generation.edits.names import Names, find_names
from clew.generation.edits.search import are_in, below, inside, looked_up, stand, taken
from clew.generation.edits.source import MOST_UNITS, TooManyEdits
from clew.generation.rows import first_of_equal, places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clew.generation.edits.source import Source
    from clew.generation.edits.terms import TermEdits
    from clew.generation.rows import Rows

_NONE = np.iinfo(np.int64).max  # behind every place


@dataclass(frozen=True, slots=True)
class UnitEdits:
    """The units that came, in order."""

    edits: RowEdits
    chunk: Rows  # the present row of the chunk that each is first in
    sentence: Rows  # the stored sentence
    before: Rows  # the former unit before which each stands
    of_sentence: Rows  # the present unit of each live sentence that came
    names: Names


@dataclass(frozen=True, slots=True)
class MentionEdits:
    """The mentions of the units that came, in order."""

    edits: RowEdits
    before: Rows
    unit: Rows  # among the units that came
    entity: Rows  # stored
    columns: Mapping[str, NDArray[Any]]  # start, end, label


def find_units(source: Source, terms: TermEdits) -> UnitEdits:
    """Return which units came and went: also those that are first in another chunk now."""
    table, live = source.came.table, source.came.live
    chunks, sentences = source.column("unit.chunk"), source.base.stored["unit.sentence"]
    rows, above = live.rows["sentence"], live.above["sentence"]
    first, groups = first_of_equal(table["sentence.key"][rows].astype(np.uint64))
    keys = table["sentence.key"][rows[first]].astype(np.uint64)
    known = _known_units(source, keys)
    # UnitEdits that lost the chunk that they were first in, and the next one that has them.
    lost = below(chunks, source.chunks.gone)
    following = np.full(len(lost), -1, dtype=np.int64)
    if len(lost):
        whole = source.base.links["chunk", "unit"].whole
        following = source.first_rows(whole, lost, source.chunks.gone)
    stands = np.where(known >= 0, taken(chunks, known).astype(np.int64), -1)
    is_lost = are_in(known, lost)
    stands[is_lost] = following[np.searchsorted(lost, known[is_lost])]
    stands_now = np.where(stands >= 0, source.chunks.now(np.maximum(stands, 0)), _NONE)
    here = source.chunks.at[above[first]]
    moves = here < stands_now  # it is first in what came
    boundary = stand(chunks, source.chunks.before)
    parts = [
        (
            here[moves],
            source.came.starts["sentence"] + rows[first[moves]],
            boundary[above[first[moves]]],
            known[moves],
        )
    ]
    # Those that are first in another chunk that stays, and those whose names changed.
    other = np.flatnonzero((following >= 0) & ~are_in(lost, np.sort(known[moves])))
    found = _same_sentences(source, following[other], lost[other])
    at = following[other]
    parts.append((source.chunks.now(at), found, inside(chunks, sentences, at, found), lost[other]))
    gone = np.unique(np.concatenate([lost, known[moves][known[moves] >= 0]]))
    came, written = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    names = find_names(source, came, written, gone)
    changed = _renamed_units(source, terms, names)
    changed = changed[~are_in(changed, gone)]
    at, stored = chunks[changed].astype(np.int64), sentences[changed]
    parts.append((source.chunks.now(at), stored, inside(chunks, sentences, at, stored), changed))
    chunk, stored, before, origin = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.lexsort((stored, chunk))
    chunk, stored, before, origin = (each[order] for each in (chunk, stored, before, origin))
    gone = np.unique(np.concatenate([lost, origin[origin >= 0]]))
    edits = RowEdits.of(len(chunks), gone, before, origin)
    unit = edits.now(np.maximum(known, 0))
    own = np.flatnonzero(stored >= source.came.starts["sentence"])
    placed = np.full(len(first), -1, dtype=np.int64)
    number = places(stored[own] - source.came.starts["sentence"], len(table["sentence.chunk"]))
    placed[moves] = edits.at[own[number[rows[first[moves]]]]]
    of_sentence = np.where(moves, placed, unit)[groups]
    return UnitEdits(edits, chunk, stored, before, of_sentence, names)


def _known_units(source: Source, keys: NDArray[np.uint64]) -> Rows:
    """Return the former unit of each key, -1 for none."""
    known = source.lookups["unit.keys"]
    at = np.searchsorted(known, keys)
    found = np.flatnonzero(at < len(known))
    found = found[known[at[found]] == keys[found]]
    units = np.full(len(keys), -1, dtype=np.int64)
    units[found] = source.lookups["unit.rows"][at[found]]
    return units


def _same_sentences(source: Source, chunks: Rows, units: Rows) -> Rows:
    """Return the stored sentence of each chunk that has the key of a former unit."""
    rows, owner = source.stored.below("sentence", source.base.stored["chunk"][chunks])
    wanted = source.stored.take("sentence.key", source.base.stored["unit.sentence"][units])
    same = source.stored.take("sentence.key", rows) == wanted[owner]
    found = np.empty(len(chunks), dtype=np.int64)
    found[owner[same][::-1]] = rows[same][::-1]
    return found


def _renamed_units(source: Source, terms: TermEdits, names: Names) -> Rows:
    """Return the former units with a word that is a name now and was none, or so."""
    known = terms.flipped < len(source.lookups["term.rows"])
    mentions = np.concatenate(
        [
            source.former_mentions("term", terms.flipped[known]),
            source.former_mentions("entity", names.flipped),
        ]
    )
    if not len(mentions):
        return mentions
    units = source.units_of(mentions)
    if len(units) > MOST_UNITS:
        raise TooManyEdits
    return np.unique(units[units >= 0])


def find_mentions(source: Source, terms: TermEdits, units: UnitEdits) -> MentionEdits:
    """Return the mentions of the units that came and went."""
    unit, columns = source.mentions_of(units.sentence)
    term = columns["term"].astype(np.int64)
    kept = (term < 0) | ~looked_up(terms.are_common, term, other=False)
    kept &= units.names.are_useful(columns["label"], columns["entity"].astype(np.int64))
    unit, columns = unit[kept], {name: column[kept] for name, column in columns.items()}
    former = source.column("mention.unit")
    gone = below(former, units.edits.gone)
    before = stand(former, units.before)[unit]
    entity = columns.pop("entity").astype(np.int64)
    return MentionEdits(RowEdits.of(len(former), gone, before), before, unit, entity, columns)
