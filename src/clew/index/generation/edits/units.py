"""Find the units and mentions that were added and removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import match_sorted
from clew.algo.row_edits import RowEdits
from clew.base.types import LLM_MADE, TERM, UNITS
from clew.index.generation.edited import TooManyEdits
from clew.index.generation.edits.distinct import (
    DistinctEdits,
    KnownRows,
    Moves,
    Occurrences,
    find_moves,
)
from clew.index.generation.edits.search import (
    are_in,
    insertion_places,
    rows_below,
    take_or_any,
    take_or_default,
)
from clew.index.generation.edits.source import MOST_ROWS, Source
from clew.index.generation.edits.terms import TermEdits
from clew.index.generation.rows import Rows
from clew.index.store.columns import StoredColumns

_MENTION = ("entity", "term", "start", "end", "label")
FIRST_STATEMENT = 2**31  # the code of the first stored statement: behind all sentences
# A term (of a script without capitals, or perhaps two names) is one where it joins a few chunks.
_TERM_MIN_CHUNKS = 2
_TERM_MAX_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class StoredUnits:
    """Stored sentences and LLM-made statements as one sequence of codes.

    Codes ascend where the units of one chunk do.
    """

    stored: StoredColumns

    def are_statements(self, codes: Rows) -> NDArray[np.bool_]:
        return np.asarray(codes >= FIRST_STATEMENT)

    def keys(self, codes: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the hashes of the texts."""
        return self._take_both("sentence.key", "statement.key", codes).astype(np.uint64)

    def column(self, name: str, codes: Rows) -> NDArray[Any]:
        """Return the start or end column; a statement takes its chunk's range."""
        values = self._take_both(f"sentence.{name}", "statement.extraction", codes)
        is_statement = self.are_statements(codes)
        chunks = self.stored.take("extraction.chunk", values[is_statement])
        values[is_statement] = self.stored.take(f"chunk.{name}", chunks)
        return values

    def tokens(self, name: str, codes: Rows) -> NDArray[Any]:
        """Return the token offset of each sentence in its chunk, -1 for a statement."""
        tokens = np.full(len(codes), -1, dtype=np.int64)
        own = ~self.are_statements(codes)
        tokens[own] = self.stored.take(f"sentence.{name}", codes[own])
        return tokens

    def places(self, codes: Rows) -> Rows:
        """Return the index of each statement in its chunk, -1 for a sentence."""
        places = np.full(len(codes), -1, dtype=np.int64)
        statements = np.flatnonzero(self.are_statements(codes))
        rows = codes[statements] - FIRST_STATEMENT
        extractions = self.stored.take("statement.extraction", rows).astype(np.int64)
        beside, owner = self.stored.rows_below("statement", extractions)
        first = np.zeros(len(statements), dtype=np.int64)
        first[owner[::-1]] = beside[::-1]
        places[statements] = rows - first
        return places

    def mentions_of(
        self, codes: Rows, names: Sequence[str] = _MENTION
    ) -> tuple[Rows, dict[str, NDArray[Any]]]:
        """Return columns of the mentions in some units, in order, and each one's unit's index."""
        is_statement = self.are_statements(codes)
        own, other = np.flatnonzero(~is_statement), np.flatnonzero(is_statement)
        rows, in_own = self.stored.rows_below("mention", codes[own])
        more, in_other = self.stored.rows_below("statement_mention", codes[other] - FIRST_STATEMENT)
        place = np.concatenate([own[in_own], other[in_other]])
        order = np.argsort(place, kind="stable")
        columns = {}
        for name in names:
            of_sentences = self.stored.take(f"mention.{name}", rows)
            of_statements = self.stored.take(f"statement_mention.{name}", more)
            columns[name] = np.concatenate([of_sentences, of_statements])[order]
        return place[order], columns

    def mentions_with(self, column: str, values: Rows) -> tuple[Rows, Rows]:
        """Return the units of the stored mentions with one of some values, and that value."""
        codes, matched_values = [], []
        for layer, above in (("mention", "sentence"), ("statement_mention", "statement")):
            stored_values = self.stored.tail(f"{layer}.{column}", 0)
            last = max(stored_values.max(initial=-1), values.max(initial=-1))
            is_wanted = np.zeros(int(last) + 2, bool)
            is_wanted[values] = True  # the last one, which is that of -1, is not
            rows = np.flatnonzero(is_wanted[stored_values])
            parents = self.stored.take(f"{layer}.{above}", rows).astype(np.int64)
            codes.append(parents if layer == "mention" else FIRST_STATEMENT + parents)
            matched_values.append(stored_values[rows].astype(np.int64))
        return np.concatenate(codes), np.concatenate(matched_values)

    def _take_both(
        self, of_sentences: str, of_statements: str, codes: NDArray[Any]
    ) -> NDArray[Any]:
        codes, is_statement = codes.astype(np.int64), self.are_statements(codes)
        first = self.stored.take(of_sentences, codes[~is_statement])
        if not is_statement.any():
            return first
        second = self.stored.take(of_statements, codes[is_statement] - FIRST_STATEMENT)
        dtype = np.result_type(first, second) if len(first) else second.dtype
        values = np.empty(len(codes), dtype)
        values[~is_statement], values[is_statement] = first, second
        return values


def is_useful(df: NDArray[Any], n_chunks: int) -> NDArray[np.bool_]:
    """Mark the terms that are names, by how many chunks have each."""
    most = max(_TERM_MAX_SHARE * n_chunks, _TERM_MIN_CHUNKS)
    return np.asarray((df >= _TERM_MIN_CHUNKS) & (df <= most))


@dataclass(frozen=True, slots=True)
class Names:
    """The stored entities with mentions that are terms, ascending.

    Such a term is a name where it joins a few chunks.
    """

    entities: Rows
    df: NDArray[np.int64]  # how many chunks each is in
    useful: NDArray[np.bool_]  # which of them are names now
    flipped: Rows  # those that are names now and were not, or the other way

    def are_useful(self, labels: NDArray[Any], entities: Rows) -> NDArray[np.bool_]:
        """Mark the mentions to keep, by their labels and stored entities."""
        is_useful = labels != TERM
        some = np.flatnonzero(~is_useful)
        is_useful[some] = self.useful[np.searchsorted(self.entities, entities[some])]
        return np.asarray(is_useful)


def find_names(
    source: Source, stored_units: StoredUnits, known_units: KnownRows, moves: Moves
) -> Names:
    """Find which terms are names after units were added and removed."""
    owner, columns = stored_units.mentions_of(moves.code, ("entity", "label"))
    entity, is_term = columns["entity"].astype(np.int64), columns["label"] == TERM
    before, df = source.lookups["named.entities"], source.lookups["named.df"]
    entities = np.union1d(before, entity[is_term])
    at = np.searchsorted(entities, before)
    counts = np.zeros(len(entities), dtype=np.int64)
    counts[at] = df
    if len(entities):
        gone = known_units.code[moves.gone].astype(np.int64)
        went = stored_units.mentions_of(gone, ("entity",))[1]["entity"]
        _, touched = match_sorted(entities, np.concatenate([entity, went]))
        changed = entities[np.unique(touched)]
        is_own = are_in(entity, changed)
        pairs = [(entity[is_own], moves.chunk[owner[is_own]])]
        if source.is_edited:
            former, names = stored_units.mentions_with("entity", changed)
            units = known_units.rows_of(stored_units.keys(former), former)
            stays = (units >= 0) & ~are_in(units, moves.gone)
            stands = source.column("unit.chunk")[units[stays]].astype(np.int64)
            pairs.append((names[stays], source.chunks.to_present(stands)))
        both = np.unique(np.concatenate([np.stack(pair) for pair in pairs], axis=1), axis=1)
        counts[np.searchsorted(entities, changed)] = np.bincount(
            np.searchsorted(changed, both[0]), minlength=len(changed)
        )
    n_chunks, whole = source.chunks.size, source.whole
    if whole is not None:
        counts, n_chunks = whole.mentioned[entities], whole.n_chunks
    useful = is_useful(counts, n_chunks)
    were = is_useful(df, source.chunks.n)
    return Names(entities, counts, useful, before[useful[at] != were])


@dataclass(frozen=True, slots=True)
class UnitEdits:
    """The added units, in order."""

    distinct: DistinctEdits
    known_rows: KnownRows
    stored_units: StoredUnits
    names: Names

    @property
    def edits(self) -> RowEdits:
        return self.distinct.edits


@dataclass(frozen=True, slots=True)
class MentionEdits:
    """The mentions of the added units, in order."""

    edits: RowEdits
    unit: Rows  # among the units that came
    entity: Rows  # stored
    own: NDArray[np.bool_]  # by a name of its own, not by an alias
    columns: Mapping[str, NDArray[Any]]  # start, end, label


def find_units(source: Source, terms: TermEdits) -> UnitEdits:
    """Find the units that were added or removed, or whose first chunk changed."""
    stored_units = StoredUnits(source.stored)
    former = source.base.stored["unit.sentence"]
    if source.has_statements:
        statements = source.base.stored["unit.statement"]
        former = np.where(statements >= 0, FIRST_STATEMENT + statements, former)
    known_rows = KnownRows.from_source(source, "unit", former)
    chunk, codes = _new_units(source)
    came = Occurrences(stored_units.keys(codes), chunk, codes)
    lost = rows_below(known_rows.chunk, source.chunks.gone)
    moves = find_moves(
        known_rows, source, source.chunks.gone, came, stored_units.keys(known_rows.code[lost])
    )
    names = find_names(source, stored_units, known_rows, moves)
    again = _find_renamed_units(source, stored_units, known_rows, terms, names)
    again = again[~are_in(again, moves.gone)]
    at = source.chunks.to_present(known_rows.chunk[again])
    moves = moves.add_returning(again, at, known_rows.code[again].astype(np.int64))
    if (
        source.is_edited
        and source.has_statements
        and not stored_units.are_statements(moves.code).any()
    ):
        were = np.flatnonzero(stored_units.are_statements(known_rows.code))
        if are_in(were, moves.gone).all():
            raise TooManyEdits  # perhaps sentences are no rows of their own any more
    distinct = DistinctEdits.from_moves(len(known_rows.chunk), moves)
    return UnitEdits(distinct, known_rows, stored_units, names)


def _new_units(source: Source) -> tuple[Rows, Rows]:
    """Return the units of added chunks: the index of the chunk, and the code."""
    live = source.live
    is_kept, statements = source.has_own_units, live.rows["statement"]
    if not source.has_statements and (len(statements) or not is_kept.all()):
        raise TooManyEdits  # sentences are rows of their own from now on
    sentences = live.rows["sentence"][is_kept]
    chunk = np.concatenate([live.above["sentence"][is_kept], live.chunks_of("statement")])
    codes = np.concatenate([sentences, FIRST_STATEMENT + statements.astype(np.int64)])
    order = np.argsort(chunk, kind="stable")
    return chunk[order], codes[order]


def _find_renamed_units(
    source: Source, stored_units: StoredUnits, known_rows: KnownRows, terms: TermEdits, names: Names
) -> Rows:
    """Find the former units with a word that became a name or stopped being one."""
    n_known = len(source.lookups["term.rows"])
    flipped = {"term": terms.flipped[terms.flipped < n_known], "entity": names.flipped}
    mentions = [stored_units.mentions_with(*each) for each in flipped.items() if len(each[1])]
    if not mentions:
        return np.zeros(0, dtype=np.int64)
    codes = np.unique(np.concatenate([codes for codes, _ in mentions]))
    units = known_rows.rows_of(stored_units.keys(codes), codes)
    if len(units) > MOST_ROWS:
        raise TooManyEdits
    return np.unique(units[units >= 0])


def find_mentions(source: Source, terms: TermEdits, units: UnitEdits) -> MentionEdits:
    """Find the added and removed mentions of units."""
    unit, columns = units.stored_units.mentions_of(units.distinct.code)
    term = columns.pop("term").astype(np.int64)
    stays = (term < 0) | ~take_or_default(terms.are_common, term, other=False)
    stays &= units.names.are_useful(columns["label"], columns["entity"].astype(np.int64))
    unit, columns = unit[stays], {name: column[stays] for name, column in columns.items()}
    former = source.column("mention.unit")
    gone = rows_below(former, units.edits.gone)
    before = insertion_places(former, units.distinct.before)[unit]
    written = columns.pop("entity")
    entity = source.resolve(written)
    edits = RowEdits.from_changes(len(former), gone, before)
    return MentionEdits(edits, unit, entity, entity == written, columns)


def unit_columns(source: Source, units: UnitEdits) -> dict[str, NDArray[Any]]:
    """Return the column values of the added units."""
    stored_units, chunks = units.stored_units, units.distinct.chunk
    codes = units.distinct.code
    is_statement = stored_units.are_statements(codes)
    former = source.chunks.to_former(chunks)
    made_by = take_or_any(source.column("chunk.units"), former)
    new = np.flatnonzero(former < 0)
    came = np.searchsorted(source.chunks.at, chunks[new])
    made_by[new] = source.extraction_sources(UNITS)[came]
    columns: dict[str, NDArray[Any]] = {
        "unit.chunk": chunks,
        "unit.source": np.where(is_statement, LLM_MADE, made_by),
        "unit.place": stored_units.places(codes),
        "unit.start": stored_units.column("start", codes),
        "unit.end": stored_units.column("end", codes),
    }
    for name in ("first_token", "last_token"):
        n_known = sum(source.stored.sizes(f"sentence.{name}"))
        has_tokens = units.edits.size > 0 and n_known == source.stored.size("sentence")
        if source.is_edited and has_tokens != (f"unit.{name}" in source.base.columns):
            raise TooManyEdits
        if has_tokens:
            columns[f"unit.{name}"] = stored_units.tokens(name, codes)
    return columns


def find_sentences(source: Source) -> DistinctEdits:
    """Find the sentences added and removed with documents, where they are not the units.

    It does not matter what was extracted from them.
    """
    stored = source.base.stored["sentence"]
    known_rows = KnownRows.from_source(source, "sentence", stored)
    stored_units, above = StoredUnits(source.stored), source.live.above["sentence"]
    new = np.flatnonzero(source.chunks.origin[above] < 0)
    codes = source.live.rows["sentence"][new]
    came = Occurrences(stored_units.keys(codes), above[new], codes)
    lost = stored_units.keys(stored[rows_below(known_rows.chunk, source.removed)])
    moves = find_moves(known_rows, source, source.removed, came, lost)
    return DistinctEdits.from_moves(len(stored), moves)
