"""Assemble the rows and links of one generation from its segments.

Rows come in the order of their documents' ids, whatever the order in which they were added, and
entities and terms in the order of first occurrence. So the arrays of an updated index are, byte
for byte, those of a fresh build of the same documents.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import Column, Link, StoredLink, link_from_arrays, link_to_arrays, open_column
from clew.algo.narrow import narrow, widen
from clew.base.runtime.cached_values import Lazily
from clew.base.types import DATE, ENTITY_TYPES, IMPORTED, KINDS, LLM_MADE, TERM, UNITS
from clew.index.generation.lookups import (
    build_lookups,
    is_common,
    is_useful,
    occurrence_lookups,
    sum_groups,
    triple_keys,
    unit_codes,
)
from clew.index.generation.postings import Postings, Ranges
from clew.index.generation.rows import (
    Live,
    Rows,
    build_link,
    first_occurrences,
    follow,
    live_rows,
    number_entities,
    place_by_row,
    renumber,
    small_type,
    take,
)
from clew.index.store import schema
from clew.index.store.schema import Segment

Table = Mapping[str, NDArray[Any]]
Columns = dict[str, NDArray[Any]]


_ENTITY_COLUMNS = (
    "document.title_entity", "mention.entity", "statement_mention.entity",
    "triple.subject", "triple.object", "description.entity",
)  # fmt: skip


@dataclass(frozen=True)
class Assembly:
    """The rows and links of a generation as small arrays; vectors stay in the segments.

    `stored` maps a row of this generation's layers to the row in the store. A unit is a stored
    sentence ("unit.sentence") or a stored statement ("unit.statement"), and -1 in the other's
    array; an occurrence is a stored triple. There is no "sentence" where the units are the
    sentences, nor a "subchunk" where no chunk is halved: these layers are others' rows.
    """

    stored: Mapping[str, Rows]
    columns: Mapping[str, NDArray[Any]]
    links: Mapping[tuple[str, str], Link]
    sizes: Mapping[str, int] = field(default_factory=dict)  # of `stored`, where that is not read
    lookups: Table = field(default_factory=dict)  # to find edits with, none where none are
    arrays: Table | None = None  # that all of these are read from, where they are cached
    _made: dict[str, Rows] = field(default_factory=dict)  # what `places` made
    _read: dict[str, Column] = field(default_factory=dict)  # of these arrays
    _readers: dict[tuple[str, str], Callable[[int], int]] = field(default_factory=dict)

    def size(self, layer: str) -> int:
        """Return the number of rows of a layer."""
        n_rows = self.sizes.get(layer)
        return len(self.stored[layer]) if n_rows is None else n_rows

    def stored_rows(self, layer: str, rows: Rows) -> Rows:
        """Return the stored rows of some rows of a layer, without reading the others."""
        return self._column("stored", self.stored, layer)[rows]

    def values(self, name: str, rows: Rows) -> NDArray[Any]:
        """Return the values of some rows of a column, without reading the others."""
        return widen(self._column("column", self.columns, name)[rows])

    def value(self, name: str, row: int) -> int:
        """Return a row of a column."""
        return self._open_reader("column", name)(row)

    def numbers(self, name: str, rows: Iterable[int]) -> list[int]:
        """Return the values of a few rows; faster than `values` for up to a hundred rows."""
        return list(map(self._open_reader("column", name), rows))

    def stored_row(self, layer: str, row: int) -> int:
        """Return the stored row of a row of a layer."""
        return self._open_reader("stored", layer)(row)

    def _open_reader(self, kind: str, name: str) -> Callable[[int], int]:
        key = kind, name
        if key not in self._readers:
            self._readers[key] = self.make_reader(kind, name)
        return self._readers[key]

    def make_reader(self, kind: str, name: str) -> Callable[[int], int]:
        """Return a function from a row to its value in a column, or to its stored row."""
        table = self.columns if kind == "column" else self.stored
        return self._column(kind, table, name).get

    def _column(self, kind: str, table: Table, name: str) -> Column:
        key = f"{kind}.{name}"
        if key not in self._read:
            self._read[key] = (
                Column.from_array(table[name])
                if self.arrays is None
                else open_column(self.arrays, key)
            )
        return self._read[key]

    def places(self, layer: str, stored: Rows) -> Rows:
        """Return the row of each stored row of a layer, -1 where it has none."""
        rows = np.full(len(stored), -1, dtype=np.int64)
        places = self._places(layer)
        inside = stored < len(places)
        rows[inside] = places[stored[inside]]
        return rows

    def _places(self, layer: str) -> NDArray[np.integer] | Column:
        if f"{layer}.rows" in self.lookups:
            return self._column("lookup", self.lookups, f"{layer}.rows")
        if layer not in self._made:
            rows = self.stored[layer]
            self._made[layer] = place_by_row(rows, int(rows.max(initial=-1)) + 1)
        return self._made[layer]


def to_arrays(assembly: Assembly) -> dict[str, NDArray[Any]]:
    """Return an assembly as arrays by name, to be cached."""
    arrays: Columns = {f"stored.{layer}": rows for layer, rows in assembly.stored.items()}
    arrays |= {f"column.{name}": narrow(column) for name, column in assembly.columns.items()}
    arrays |= {f"lookup.{name}": array for name, array in assembly.lookups.items()}
    sizes = [len(assembly.stored[layer]) for layer in sorted(assembly.stored)]
    arrays["sizes"] = np.asarray(sizes, dtype=np.int64)
    for (a, b), link in assembly.links.items():
        parts = link_to_arrays(link.whole)
        arrays |= {f"link.{a}-{b}.{name}": part for name, part in parts.items()}
    return arrays


def from_arrays(arrays: Table) -> Assembly:
    """Return the assembly that `to_arrays` stored; each array is read on access."""
    links = {}
    for name in arrays:
        if name.startswith("link.") and name.endswith(".indptr"):
            prefix = name.removesuffix("indptr")
            a, _, b = prefix.removeprefix("link.").removesuffix(".").partition("-")
            links[a, b] = partial(link_from_arrays, arrays, prefix)
    stored = select_prefix(arrays, "stored.")
    sizes = dict(zip(sorted(stored), arrays["sizes"].tolist(), strict=True))
    columns, lookups = select_prefix(arrays, "column."), select_prefix(arrays, "lookup.")
    return Assembly(stored, columns, Lazily(links), sizes, lookups, arrays)


def select_prefix(arrays: Table, prefix: str) -> Table:
    """Return the arrays whose names start with a prefix, keyed without it."""
    selected = [name for name in arrays if name.startswith(prefix)]
    return Lazily({n.removeprefix(prefix): partial(_read_wide, arrays, n) for n in selected})


def _read_wide(arrays: Table, name: str) -> NDArray[Any]:
    """Return a column widened to int32, read-only like a mapped one."""
    column = widen(arrays[name])
    column.flags.writeable = False
    return column


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """Counts over a whole index by stored row, for an assembly that holds only a part of it."""

    n_chunks: int
    written: NDArray[np.int64]  # (2, n_terms) how often terms are written, and in lower case
    mentioned: NDArray[np.int64]  # (n_entities,) how many chunks mention each


def assemble(
    segments: Sequence[Segment],
    documents: Rows,
    aliases: Mapping[int, int] | None = None,
    *,
    halved: bool = False,
    editable: bool = False,
    n_extractions: int | None = None,
    whole: IndexCounts | None = None,
) -> Assembly:
    """Assemble the generation of live `documents`, given as stored rows in id order.

    `aliases` are stored entities that are another one; `halved` says that chunks have sub-chunks,
    `editable` that there are to be lookups, if edits can be found at all, and `n_extractions` how
    many extractions count, if not all do. What is a name is decided by the `whole` index, where
    the documents are a part of it.
    O(rows log rows); the vectors are not touched.
    """
    table = schema.OpenColumns(segments)
    target = _alias_targets(table, documents, aliases or {})
    live = live_rows(table, documents, _LAYERS, n_extractions=n_extractions)
    units = _units(table, live)
    common = _common_terms(table, live, whole)
    mentions, names = _keep_names(
        _mentions(table, units), units, common, len(live.rows["chunk"]), whole
    )
    written = table["description.entity"][live.rows["description"]]
    described, described_chunk = target[written], live.chunks_of("description")
    entities = take(target, mentions["entity"])
    mentions["own"] = mentions["entity"] == entities
    titles = table["document.title_entity"][documents].astype(np.int64)
    entity_rows, numbers, titles = number_entities(
        np.concatenate([entities, described]),
        np.concatenate([take(units.chunk, mentions["unit"]), described_chunk]),
        live.above["chunk"],
        np.where(titles >= 0, target[titles], -1),
    )
    own_descriptions = written == described
    mentions["entity"], described = np.split(numbers, [len(entities)])
    del entities, numbers  # each is as large as any other array

    columns = _chunk_columns(table, live)
    columns |= _unit_columns(table, live, units)
    columns |= _mention_columns(table, mentions) | _description_columns(table, live, described)
    columns |= _entity_columns(columns, len(entity_rows), titles)
    columns["entity.mention"] = _first_places(mentions["entity"], mentions["own"], len(entity_rows))
    columns["entity.description"] = _first_places(described, own_descriptions, len(entity_rows))
    columns["document.title_entity"] = titles.astype(np.int32)
    term_rows, terms = renumber(take(table["count.term"], live.rows["count"]))
    columns["term.common"] = common[term_rows]
    triple_rows, triple_columns, occurrences = _triples(table, live, target, entity_rows)
    columns |= triple_columns

    n_chunks, n_entities = len(live.rows["chunk"]), len(entity_rows)
    titled = np.flatnonzero(titles >= 0)
    counts = take(table["count.n"], live.rows["count"])
    matrices = {
        ("chunk", "unit"): build_link(units.pairs[0], units.pairs[1], n_chunks, len(units.chunk)),
        ("unit", "entity"): build_link(
            mentions["unit"], mentions["entity"], len(units.chunk), n_entities
        ),
        ("document", "entity"): build_link(titled, titles[titled], len(documents), n_entities),
        ("chunk", "term"): build_link(live.above["count"], terms, n_chunks, len(term_rows), counts),
        ("entity", "chunk"): build_link(described, described_chunk, n_entities, n_chunks),
        ("triple", "chunk"): build_link(
            columns["occurrence.triple"],
            columns["occurrence.chunk"],
            len(triple_rows),
            n_chunks,
            columns["occurrence.strength"],
        ),
    }
    links = {pair: StoredLink.from_matrix(matrix) for pair, matrix in matrices.items()}
    del mentions, matrices, counts
    stored = {
        "document": documents,
        "chunk": live.rows["chunk"],
        "unit.sentence": units.sentence,
        "unit.statement": units.statement,
        "entity": entity_rows,
        "term": term_rows,
        "triple": triple_rows,
        "description": live.rows["description"],
        "profile": live.rows["profile"],
        "occurrence": occurrences,
    }
    all_lookups: Columns = {}
    if editable and not aliases:
        all_lookups = build_lookups(table, live, columns, stored, terms, names)
        chunks = columns["occurrence.chunk"]
        all_lookups |= _collect_occurrences(table, live, units, occurrences, chunks)
    if not halved:
        del live.rows["count"], live.above["count"], terms
    postings = Postings.from_table(table, live, term_rows)
    parts = [Assembly(stored, columns, links), _sentences(table, live, units, postings)]
    if halved:
        parts.append(_subchunks(table, live, postings, terms))
    stored = {name: rows for part in parts for name, rows in part.stored.items()}
    return Assembly(
        stored={name: rows.astype(np.int64, copy=False) for name, rows in stored.items()},
        columns={name: column for part in parts for name, column in part.columns.items()},
        links={pair: one for part in parts for pair, one in part.links.items()},
        lookups=all_lookups,
    )


def _collect_occurrences(
    table: Table, live: Live, units: "_Units", occurrences: Rows, chunks: NDArray[Any]
) -> Columns:
    """Return lookups of all occurrences of units, sentences and triples, grouped by equality."""
    ends = (table[f"triple.{name}"][occurrences] for name in ("subject", "relation_key", "object"))
    lookups = {
        **occurrence_lookups("unit", units.keys, units.pairs[0], units.codes),
        **occurrence_lookups("triple", triple_keys(*ends), chunks, occurrences),
    }
    if units.made:
        rows, above = live.rows["sentence"], live.above["sentence"]
        keys = table["sentence.key"][rows].astype(np.uint64)
        lookups |= occurrence_lookups("sentence", keys, above, rows)
    return lookups


_LAYERS = (
    "chunk", "subchunk", "sentence", "count", "extraction", "statement", "triple", "description",
    "profile",
)  # fmt: skip


def _alias_targets(table: Table, documents: Rows, aliases: Mapping[int, int]) -> Rows:
    """Return the stored entity that each stored entity is an alias of, by default itself.

    An alias for an entity that no live text has stands for itself.
    """
    sizes = (int(table[name].max(initial=-1)) for name in _ENTITY_COLUMNS)
    n_stored = max(*sizes, *aliases, *aliases.values(), 0) + 2
    target = np.arange(n_stored, dtype=small_type(n_stored))
    if aliases:
        present = entities_of(table, documents)
        pairs = {a: b for a, b in aliases.items() if b in present}
        target[list(pairs)] = list(pairs.values())
    return target


def entities_of(table: Table, documents: Rows) -> set[int]:
    """Return the stored entities in live `documents` and their extractions."""
    live = live_rows(table, documents)
    layers = ((name.partition(".")[0], name) for name in _ENTITY_COLUMNS)
    return {e for layer, name in layers for e in table[name][live.rows[layer]].tolist()}


# -- units and their mentions ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Units:
    """The distinct units, in order of first occurrence."""

    sentence: Rows  # the stored sentence that it was first written as, -1 for a statement
    statement: Rows  # the stored statement, -1 for a sentence
    chunk: Rows  # where it stands first
    source: NDArray[np.uint8]
    place: NDArray[np.int32]  # of a statement among its chunk's
    pairs: tuple[Rows, Rows]  # (chunk, unit) of every occurrence
    keys: NDArray[np.uint64]  # of every occurrence
    codes: Rows
    made: bool  # some chunk has statements in place of its sentences


def _units(table: Table, live: Live) -> _Units:
    """Return the statements of chunks that have any, and the sentences of all other chunks."""
    made_by = _sources(table, live, UNITS)
    stays = made_by[live.above["sentence"]] != LLM_MADE
    sentences, statements = live.rows["sentence"][stays], live.rows["statement"]
    chunk = np.concatenate([live.above["sentence"][stays], live.chunks_of("statement")])
    order = np.argsort(chunk, kind="stable")
    pair = table["sentence.key"][sentences], table["statement.key"][statements]
    keys = np.concatenate([each.astype(np.uint64) for each in pair])[order]  # both might be float
    first, groups = first_occurrences(keys)
    rows = order[first]
    none = np.full(max(len(sentences), len(statements)), -1, dtype=np.int64)
    place = _places_in_group(live.above["statement"])
    written = np.concatenate([sentences, none[: len(statements)]])
    made = np.concatenate([none[: len(sentences)], statements])
    return _Units(
        sentence=written[rows],
        statement=made[rows],
        chunk=chunk[rows],
        source=np.where(rows < len(sentences), made_by[chunk[rows]], LLM_MADE).astype(np.uint8),
        place=np.concatenate([none[: len(sentences)], place])[rows].astype(np.int32),
        pairs=(chunk[order], groups),
        keys=keys,
        codes=unit_codes(written, made)[order],
        made=bool(len(statements)) or not stays.all(),
    )


def _sources(table: Table, live: Live, kind: str) -> NDArray[np.uint8]:
    """Return the source of each live chunk's extraction of a kind, or 0."""
    rows = live.rows["extraction"]
    mine = table["extraction.kind"][rows] == KINDS.index(kind)
    made_by = np.zeros(len(live.rows["chunk"]), dtype=np.uint8)
    made_by[live.above["extraction"][mine]] = table["extraction.source"][rows[mine]]
    return made_by


def _places_in_group(groups: Rows) -> Rows:
    """Number the elements of each run of equal values from 0."""
    if not len(groups):
        return groups
    begins = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    return np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))


def _mentions(table: Table, units: _Units) -> Columns:
    """Return the units' mentions in unit order: entity, label and stored row.

    Rows of statements' mentions follow those of sentences'.
    """
    parts: list[Columns] = []
    first = 0
    for layer, owners in (("mention", units.sentence), ("statement_mention", units.statement)):
        own = np.flatnonzero(owners >= 0)
        n_above = len(table[schema.parent_column(schema.TABLES[layer].above)])
        parents = table[schema.parent_column(layer)]
        rows, position = follow(parents, owners[own], n_above)
        part = {name: take(table[f"{layer}.{name}"], rows) for name in ("entity", "label", "term")}
        part["unit"] = take(own.astype(small_type(len(owners))), position)
        part["row"] = first + rows
        parts.append(part)
        first += len(parents)
    together = {name: _concatenate([part.pop(name) for part in parts]) for name in [*parts[0]]}
    if np.any(together["unit"][1:] < together["unit"][:-1]):
        order = np.argsort(together["unit"], kind="stable")
        together = {name: column[order] for name, column in together.items()}
    return together


def _concatenate(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate arrays, without a copy if only one is not empty."""
    some = [part for part in parts if len(part)]
    return some[0] if len(some) == 1 else np.concatenate(parts)


def _keep_names(
    mentions: Columns,
    units: _Units,
    common: NDArray[np.bool_],
    n_chunks: int,
    whole: IndexCounts | None,
) -> tuple[Columns, dict[int, int]]:
    """Keep the mentions that are names by the counts of the whole index.

    `common` marks the stored terms that are mostly written in lower case. Also return the number
    of chunks of each entity that is a statistical term.
    """
    terms = _statistical_terms(mentions, units)
    if whole is not None:
        terms = {entity: int(whole.mentioned[entity]) for entity in terms}
        n_chunks = whole.n_chunks
    useful = is_useful(np.array(list(terms.values())), n_chunks)
    dropped = [entity for entity, is_kept in zip(terms, useful, strict=True) if not is_kept]
    keep = (mentions["label"] != TERM) | ~np.isin(mentions["entity"], dropped)
    doubtful = np.flatnonzero(mentions["term"] >= 0)  # words that may only begin a sentence
    keep[doubtful] &= ~common[mentions.pop("term")[doubtful]]
    if keep.all():
        return mentions, terms
    return {name: mentions.pop(name)[keep] for name in [*mentions]}, terms


def _statistical_terms(mentions: Columns, units: _Units) -> dict[int, int]:
    """Return the number of chunks of each entity that some mention has as a statistical term."""
    entities = mentions["entity"]
    term_entities = np.unique(entities[mentions["label"] == TERM]).astype(np.int64)
    if not len(term_entities):
        return {}
    some = np.isin(entities, term_entities)
    chunks = units.chunk[mentions["unit"][some]]
    pairs = np.unique(np.stack([entities[some].astype(np.int64), chunks]), axis=1)
    df = np.bincount(np.searchsorted(term_entities, pairs[0]), minlength=len(term_entities))
    return dict(zip(term_entities.tolist(), df.tolist(), strict=True))


def _common_terms(table: Table, live: Live, whole: IndexCounts | None) -> NDArray[np.bool_]:
    """Mark the stored terms that are mostly written in lower case."""
    if whole is not None:
        return is_common(*whole.written)
    size = max(int(table[name].max(initial=-1)) for name in _TERM_COLUMNS) + 1
    rows = live.rows["count"]
    terms = take(table["count.term"], rows)
    written = (sum_groups(terms, table[f"count.{n}"], rows, size) for n in ("n", "n_lower"))
    return is_common(*written)


_TERM_COLUMNS = ("count.term", "mention.term", "statement_mention.term")


# -- sentences and sub-chunks ---------------------------------------------------------------------


def _sentences(table: Table, live: Live, units: _Units, postings: Postings) -> Assembly:
    """Return the distinct sentences with their terms, or only those that are units."""
    rows, chunk = units.sentence, units.chunk
    if units.made:
        first, _ = first_occurrences(table["sentence.key"][live.rows["sentence"]])
        rows, chunk = live.rows["sentence"][first], live.above["sentence"][first]
    ranges = Ranges.from_table(table, "sentence", rows, chunk)
    link = StoredLink.from_matrix(postings.sentence_terms(ranges))
    return Assembly(
        {"sentence": rows} if units.made else {},
        ranges.columns("sentence") if units.made else {},
        {("sentence", "term"): link},
    )


def _subchunks(table: Table, live: Live, postings: Postings, terms: Rows) -> Assembly:
    """Return the sub-chunks with their terms; `terms` are the stored rows of the counts."""
    rows = live.rows["subchunk"]
    ranges = Ranges.from_table(table, "subchunk", rows, live.above["subchunk"])
    n_tokens = {"subchunk.n_tokens": table["subchunk.n_tokens"][rows]}
    link = StoredLink.from_matrix(postings.subchunk_terms(ranges, live.above["count"], terms))
    columns = ranges.columns("subchunk") | n_tokens
    return Assembly({"subchunk": rows}, columns, {("subchunk", "term"): link})


# -- columns --------------------------------------------------------------------------------------


def _chunk_columns(table: Table, live: Live) -> Columns:
    chunks = live.rows["chunk"]
    columns: Columns = {
        f"chunk.{name}": table[f"chunk.{name}"][chunks] for name in ("start", "end", "n_tokens")
    }
    columns["chunk.document"] = live.above["chunk"].astype(np.int32)
    for kind in KINDS:
        columns[f"chunk.{kind}"] = _sources(table, live, kind)
    return columns


def _unit_columns(table: Table, live: Live, units: _Units) -> Columns:
    """Return the units' columns. A statement takes its chunk's range and has no tokens."""
    is_sentence = units.sentence >= 0
    chunks = live.rows["chunk"][units.chunk]
    columns: Columns = {
        "unit.chunk": units.chunk.astype(np.int32),
        "unit.source": units.source,
        "unit.place": units.place,
    }
    for name in ("start", "end"):
        own = table[f"sentence.{name}"][units.sentence]
        columns[f"unit.{name}"] = np.where(is_sentence, own, table[f"chunk.{name}"][chunks])
    for name in ("first_token", "last_token"):
        column = table[f"sentence.{name}"]
        if len(chunks) and len(column) == len(table["sentence.chunk"]):  # it has token vectors
            columns[f"unit.{name}"] = np.where(is_sentence, column[units.sentence], -1)
    return columns


def _mention_columns(table: Table, mentions: Columns) -> Columns:
    columns = {name: mentions[name] for name in ("unit", "entity", "label")}
    for name in ("start", "end"):
        both = [table[f"{layer}.{name}"] for layer in ("mention", "statement_mention")]
        columns[name] = take(_concatenate(both), mentions["row"])
    return {
        f"mention.{name}": column.astype(np.uint8 if name == "label" else np.int32, copy=False)
        for name, column in columns.items()
    }


def _description_columns(table: Table, live: Live, entities: Rows) -> Columns:
    """Return the columns of descriptions and of profiles (descriptions with a text)."""
    entity = entities.astype(np.int32)
    chunk = live.chunks_of("description").astype(np.int32)
    profiled = live.above["profile"]
    return {
        "description.entity": entity,
        "description.chunk": chunk,
        "description.type": table["description.type"][live.rows["description"]].astype(np.uint8),
        "profile.description": profiled.astype(np.int32),
        "profile.entity": entity[profiled],
        "profile.chunk": chunk[profiled],
    }


def _entity_columns(columns: Columns, n_entities: int, titles: Rows) -> Columns:
    """Return the columns of the entities.

    It is linkable where a text or a title names it with anything but a date, or an imported graph
    has it, and extracted where some extraction has it.
    """
    entities, labels = columns["mention.entity"], columns["mention.label"]
    described, types = columns["description.entity"], columns["description.type"]
    linkable = np.zeros(n_entities, dtype=bool)
    linkable[entities[labels != DATE]] = True
    linkable[titles[titles >= 0]] = True
    made_by = columns["chunk.graph"][columns["description.chunk"]]
    linkable[described[made_by == IMPORTED]] = True
    extracted = np.zeros(n_entities, dtype=bool)
    extracted[described] = True
    votes = np.zeros((n_entities, len(ENTITY_TYPES)), dtype=np.int32)
    np.add.at(votes, (described, types), 1)
    votes[:, 0] = 0  # "other" is no vote
    return {
        "entity.linkable": linkable,
        "entity.extracted": extracted,
        "entity.type": votes.argmax(axis=1).astype(np.uint8),
    }


def _first_places(values: NDArray[Any], own: NDArray[np.bool_], size: int) -> NDArray[np.int32]:
    """Return the first place of each number, preferring its own name over an alias; -1 if none."""
    first = np.full(size, -1, dtype=np.int32)
    for rows in (np.arange(len(values)), np.flatnonzero(own)):
        first[values[rows[::-1]]] = rows[::-1]
    return first


# -- triples --------------------------------------------------------------------------------------


def _triples(table: Table, live: Live, target: Rows, entities: Rows) -> tuple[Rows, Columns, Rows]:
    """Return the stored row of each distinct triple, the triples' columns, and all occurrences.

    Triples of one subject, relation and object are one, wherever they were extracted. One whose
    ends were merged into one entity says nothing.
    """
    rows, chunk = live.rows["triple"], live.chunks_of("triple")
    numbers = place_by_row(entities, len(target))
    subjects, objects = (
        numbers[target[table[f"triple.{end}"][rows]]] for end in ("subject", "object")
    )
    two = subjects != objects
    rows, chunk, subjects, objects = rows[two], chunk[two], subjects[two], objects[two]
    keys = triple_keys(subjects, table["triple.relation_key"][rows], objects)
    first, groups = first_occurrences(keys)
    strength = table["triple.strength"][rows].astype(np.float32)
    columns: Columns = {
        "triple.subject": subjects[first].astype(np.int32),
        "triple.object": objects[first].astype(np.int32),
        "triple.chunk": chunk[first].astype(np.int32),
        "triple.strength": np.bincount(groups, strength, len(first)).astype(np.float32),
        "occurrence.triple": groups.astype(np.int32),
        "occurrence.chunk": chunk.astype(np.int32),
        "occurrence.strength": strength,
    }
    return rows[first], columns, rows
