"""Put segments together into the rows and links of one generation.

Rows come in the order of their documents' ids, whatever the order in which they were added, and
entities and terms in the order of first occurrence. So the arrays of an updated index are, byte
for byte, those of a fresh build of the same documents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.links import StoredLink, as_arrays, as_link
from clew.generation.lookups import can_be_edited, is_common, is_useful, lookups
from clew.generation.postings import Postings, Ranges
from clew.generation.rows import (
    Live,
    first_of_equal,
    follow,
    link,
    live_rows,
    number_entities,
    places,
    renumber,
)
from clew.once import Lazily, reading
from clew.store import schema
from clew.types import DATE, ENTITY_TYPES, IMPORTED, KINDS, LLM_MADE, TERM, UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.algo.links import Link
    from clew.generation.rows import Rows
    from clew.store.schema import Segment

    Table = Mapping[str, NDArray[Any]]
    Columns = dict[str, NDArray[Any]]

_ENTITY_COLUMNS = (
    "document.title_entity", "mention.entity", "statement_mention.entity",
    "triple.subject", "triple.object", "description.entity",
)  # fmt: skip


@dataclass(frozen=True)
class Assembly:
    """Small arrays that say what is where; vectors stay in the segments until they are asked for.

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
    _made: dict[str, Rows] = field(default_factory=dict)  # what `places` made

    def size(self, layer: str) -> int:
        """Return how many rows a layer has, or one of the two that a unit's are in."""
        known = self.sizes.get(layer)
        return len(self.stored[layer]) if known is None else known

    def places(self, layer: str, stored: Rows) -> Rows:
        """Return the row of each stored row of a layer, -1 where it has none."""
        found = np.full(len(stored), -1, dtype=np.int64)
        places = self._places(layer)
        known = stored < len(places)
        found[known] = places[stored[known]]
        return found

    def _places(self, layer: str) -> NDArray[np.integer]:
        if f"{layer}.rows" in self.lookups:
            return self.lookups[f"{layer}.rows"]
        if layer not in self._made:
            rows = self.stored[layer]
            self._made[layer] = places(rows, int(rows.max(initial=-1)) + 1)
        return self._made[layer]


def to_arrays(assembly: Assembly) -> dict[str, NDArray[Any]]:
    """Return an assembly as arrays by name, to be cached."""
    arrays: dict[str, NDArray[Any]] = {
        f"stored.{layer}": rows for layer, rows in assembly.stored.items()
    }
    arrays |= {f"column.{name}": column for name, column in assembly.columns.items()}
    arrays |= {f"lookup.{name}": found for name, found in assembly.lookups.items()}
    sizes = [len(rows) for _, rows in sorted(assembly.stored.items())]
    arrays["sizes"] = np.asarray(sizes, dtype=np.int64)
    for (a, b), found in assembly.links.items():
        parts = as_arrays(found.whole)
        arrays |= {f"link.{a}-{b}.{name}": part for name, part in parts.items()}
    return arrays


def from_arrays(arrays: Table) -> Assembly:
    """Return the assembly that `to_arrays` gave arrays of; each is read when it is asked for."""
    found = {}
    for name in arrays:
        if name.startswith("link.") and name.endswith(".indptr"):
            prefix = name.removesuffix("indptr")
            a, _, b = prefix.removeprefix("link.").removesuffix(".").partition("-")
            found[a, b] = partial(as_link, arrays, prefix)
    stored = under(arrays, "stored.")
    sizes = dict(zip(sorted(stored), arrays["sizes"].tolist(), strict=True))
    columns, lookups = under(arrays, "column."), under(arrays, "lookup.")
    return Assembly(stored, columns, Lazily(found), sizes, lookups)


def under(arrays: Table, prefix: str) -> Table:
    """Return the arrays whose names have a prefix, by the rest of their names."""
    read = reading(arrays, [name for name in arrays if name.startswith(prefix)])
    return Lazily({name.removeprefix(prefix): one for name, one in read.items()})


def assemble(
    segments: Sequence[Segment],
    documents: Rows,
    aliases: Mapping[int, int] | None = None,
    *,
    halved: bool = False,
    editable: bool = False,
) -> Assembly:
    """Return the generation of live `documents`, stored rows in the order of their ids.

    `aliases` are stored entities that are another one; `halved` says that chunks have sub-chunks,
    and `editable` that there are to be lookups, if edits can be found at all.
    O(rows log rows); the vectors are not touched.
    """
    table = schema.table(segments)
    target = _targets(table, documents, aliases or {})
    live = live_rows(table, documents, _LAYERS)
    units = _units(table, live)
    counts = {name: table[f"count.{name}"][live.rows["count"]] for name in ("term", "n", "n_lower")}
    mentions, named = _named(_mentions(table, units), units, counts, len(live.rows["chunk"]))
    written = table["description.entity"][live.rows["description"]]
    described, described_chunk = target[written], live.chunks_of("description")
    mentions["own"] = mentions["entity"] == target[mentions["entity"]]
    titles = table["document.title_entity"][documents].astype(np.int64)
    entity_rows, numbers, titles = number_entities(
        np.concatenate([target[mentions["entity"]], described]),
        np.concatenate([units.chunk[mentions["unit"]], described_chunk]),
        live.above["chunk"],
        np.where(titles >= 0, target[titles], -1),
    )
    own_descriptions = written == described
    mentions["entity"], described = np.split(numbers, [len(mentions["entity"])])
    term_rows, terms = renumber(counts["term"])

    columns = _chunk_columns(table, live)
    columns |= _unit_columns(table, live, units)
    columns |= _mention_columns(table, mentions)
    columns |= _description_columns(table, live, described)
    columns |= _entity_columns(columns, len(entity_rows), titles)
    columns["entity.mention"] = _first(mentions["entity"], mentions["own"], len(entity_rows))
    columns["entity.description"] = _first(described, own_descriptions, len(entity_rows))
    columns["document.title_entity"] = titles.astype(np.int32)
    n_lower = np.bincount(terms, weights=counts["n_lower"], minlength=len(term_rows))
    n_all = np.bincount(terms, weights=counts["n"], minlength=len(term_rows))
    columns["term.common"] = is_common(n_all, n_lower)
    triple_rows, triple_columns, occurrences = _triples(table, live, target, entity_rows)
    columns |= triple_columns

    n_chunks, n_entities = len(live.rows["chunk"]), len(entity_rows)
    titled = np.flatnonzero(titles >= 0)
    matrices = {
        ("chunk", "unit"): link(units.pairs[0], units.pairs[1], n_chunks, len(units.chunk)),
        ("unit", "entity"): link(
            mentions["unit"], mentions["entity"], len(units.chunk), n_entities
        ),
        ("document", "entity"): link(titled, titles[titled], len(documents), n_entities),
        ("chunk", "term"): link(live.above["count"], terms, n_chunks, len(term_rows), counts["n"]),
        ("entity", "chunk"): link(described, described_chunk, n_entities, n_chunks),
        ("triple", "chunk"): link(
            columns["occurrence.triple"],
            columns["occurrence.chunk"],
            len(triple_rows),
            n_chunks,
            columns["occurrence.strength"],
        ),
    }
    links = {pair: StoredLink.of(matrix) for pair, matrix in matrices.items()}
    del mentions, numbers, matrices  # which may be most of the memory
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
    found: Table = {}
    if editable and can_be_edited(table, with_aliases=bool(aliases)):
        found = lookups(table, live, columns, stored, terms, named)
    counts.clear()
    postings = Postings.of(table, live, term_rows)
    parts = [Assembly(stored, columns, links), _sentences(table, live, units, postings)]
    if halved:
        parts.append(_subchunks(table, live, postings, terms))
    return Assembly(
        stored={name: rows for part in parts for name, rows in part.stored.items()},
        columns={name: column for part in parts for name, column in part.columns.items()},
        links={pair: one for part in parts for pair, one in part.links.items()},
        lookups=found,
    )


_LAYERS = (
    "chunk", "subchunk", "sentence", "count", "extraction", "statement", "triple", "description",
    "profile",
)  # fmt: skip


def _targets(table: Table, documents: Rows, aliases: Mapping[int, int]) -> Rows:
    """Return for each stored entity the one it stands for, which is mostly itself.

    An alias for an entity that no live text has stands for itself.
    """
    sizes = (int(table[name].max(initial=-1)) for name in _ENTITY_COLUMNS)
    target = np.arange(max(*sizes, *aliases, *aliases.values(), 0) + 2)
    if aliases:
        present = _entities_of(table, documents)
        pairs = {a: b for a, b in aliases.items() if b in present}
        target[list(pairs)] = list(pairs.values())
    return target


def entities_of(segments: Sequence[Segment], documents: Rows) -> set[int]:
    """Return the stored entities that live `documents`, or what was extracted of them, have."""
    return _entities_of(schema.table(segments), documents)


def _entities_of(table: Table, documents: Rows) -> set[int]:
    live = live_rows(table, documents)
    layers = ((name.partition(".")[0], name) for name in _ENTITY_COLUMNS)
    return {e for layer, name in layers for e in table[name][live.rows[layer]].tolist()}


# -- units and their mentions ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Units:
    """Distinct units, by first occurrence."""

    sentence: Rows  # the stored sentence that it was first written as, -1 for a statement
    statement: Rows  # the stored statement, -1 for a sentence
    chunk: Rows  # where it stands first
    source: NDArray[np.uint8]
    place: NDArray[np.int32]  # of a statement among its chunk's
    pairs: tuple[Rows, Rows]  # (chunk, unit) of every occurrence
    made: bool  # some chunk has statements in place of its sentences


def _units(table: Table, live: Live) -> _Units:
    """Return the statements of chunks that have some, the sentences of all others."""
    made_by = _sources(table, live, UNITS)
    kept = made_by[live.above["sentence"]] != LLM_MADE
    sentences, statements = live.rows["sentence"][kept], live.rows["statement"]
    chunk = np.concatenate([live.above["sentence"][kept], live.chunks_of("statement")])
    order = np.argsort(chunk, kind="stable")
    keys = np.concatenate([table["sentence.key"][sentences], table["statement.key"][statements]])
    first, groups = first_of_equal(keys.astype(np.uint64)[order])
    chosen = order[first]
    none = np.full(max(len(sentences), len(statements)), -1, dtype=np.int64)
    place = _places_in_group(live.above["statement"])
    return _Units(
        sentence=np.concatenate([sentences, none[: len(statements)]])[chosen],
        statement=np.concatenate([none[: len(sentences)], statements])[chosen],
        chunk=chunk[chosen],
        source=np.where(chosen < len(sentences), made_by[chunk[chosen]], LLM_MADE).astype(np.uint8),
        place=np.concatenate([none[: len(sentences)], place])[chosen].astype(np.int32),
        pairs=(chunk[order], groups),
        made=bool(len(statements)) or not kept.all(),
    )


def _sources(table: Table, live: Live, kind: str) -> NDArray[np.uint8]:
    """Return what made each live chunk's extraction of a kind, 0 where there is none."""
    rows = live.rows["extraction"]
    mine = table["extraction.kind"][rows] == KINDS.index(kind)
    made_by = np.zeros(len(live.rows["chunk"]), dtype=np.uint8)
    made_by[live.above["extraction"][mine]] = table["extraction.source"][rows[mine]]
    return made_by


def _places_in_group(groups: Rows) -> Rows:
    """Return 0, 1, 2, ... inside each run of equal values."""
    if not len(groups):
        return groups
    begins = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    return np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))


def _mentions(table: Table, units: _Units) -> Columns:
    """Return the units' mentions, unit after unit: who, how, and the row in the store.

    Rows of statements' mentions follow those of sentences'.
    """
    parts: list[Columns] = []
    first = 0
    for layer, above, owners in (
        ("mention", "sentence", units.sentence),
        ("statement_mention", "statement", units.statement),
    ):
        own = np.flatnonzero(owners >= 0)
        n_above = len(table[schema.parent_column(above)])
        parents = table[schema.parent_column(layer)]
        rows, position = follow(parents, owners[own], n_above)
        names = ("entity", "label", "term")
        parts.append({name: table[f"{layer}.{name}"][rows] for name in names})
        parts[-1] |= {"unit": own[position], "row": first + rows}
        first += len(parents)
    together = {name: np.concatenate([part.pop(name) for part in parts]) for name in [*parts[0]]}
    if np.any(np.diff(together["unit"]) < 0):
        order = np.argsort(together["unit"], kind="stable")
        together = {name: column[order] for name, column in together.items()}
    return together


def _written(table: Table, mentions: Columns, name: str) -> NDArray[Any]:
    """Return a column of mentions by their rows in the store."""
    columns = (table[f"{layer}.{name}"] for layer in ("mention", "statement_mention"))
    own, made = columns
    return (np.concatenate([own, made]) if len(made) else own)[mentions["row"]]


def _named(
    mentions: Columns, units: _Units, counts: Columns, n_chunks: int
) -> tuple[Columns, dict[int, int]]:
    """Return the mentions that name something, as the whole index sees it.

    And in how many chunks the entities are that are statistical terms.
    """
    terms = _statistical_terms(mentions, units)
    useful = is_useful(np.array(list(terms.values())), n_chunks)
    dropped = [entity for entity, is_kept in zip(terms, useful, strict=True) if not is_kept]
    keep = (mentions["label"] != TERM) | ~np.isin(mentions["entity"], dropped)
    keep &= ~_is_common_word(mentions["term"], counts["term"], counts["n"], counts["n_lower"])
    return {name: column[keep] for name, column in mentions.items()}, terms


def _statistical_terms(mentions: Columns, units: _Units) -> dict[int, int]:
    """Return in how many chunks each entity is that some mention has as a statistical term."""
    entities = mentions["entity"]
    found = np.unique(entities[mentions["label"] == TERM]).astype(np.int64)
    if not len(found):
        return {}
    some = np.isin(entities, found)
    chunks = units.chunk[mentions["unit"][some]]
    pairs = np.unique(np.stack([entities[some].astype(np.int64), chunks]), axis=1)
    df = np.bincount(np.searchsorted(found, pairs[0]), minlength=len(found))
    return dict(zip(found.tolist(), df.tolist(), strict=True))


def _is_common_word(
    mention_terms: NDArray[Any],
    terms: NDArray[Any],
    counts: NDArray[Any],
    lower_counts: NDArray[Any],
) -> NDArray[np.bool_]:
    """Say which mentions are words that only begin a sentence: mostly written in lower case."""
    doubtful = mention_terms >= 0
    if not doubtful.any():
        return np.asarray(doubtful)
    size = int(max(mention_terms.max(), terms.max(initial=0))) + 1
    n = np.bincount(terms, weights=counts, minlength=size)
    n_lower = np.bincount(terms, weights=lower_counts, minlength=size)
    common = is_common(n, n_lower)
    return np.asarray(doubtful & common[np.maximum(mention_terms, 0)])


# -- sentences and sub-chunks ---------------------------------------------------------------------


def _sentences(table: Table, live: Live, units: _Units, postings: Postings) -> Assembly:
    """Return the distinct sentences of all chunks, by first occurrence, with their terms.

    Only the terms where the units are these sentences.
    """
    if not units.made:
        ranges = Ranges.of(table, "sentence", units.sentence, units.chunk)
        return Assembly(
            {}, {}, {("sentence", "term"): StoredLink.of(postings.sentence_terms(ranges))}
        )
    first, _ = first_of_equal(table["sentence.key"][live.rows["sentence"]])
    rows, chunk = live.rows["sentence"][first], live.above["sentence"][first]
    ranges = Ranges.of(table, "sentence", rows, chunk)
    return Assembly(
        {"sentence": rows},
        ranges.columns("sentence"),
        {("sentence", "term"): StoredLink.of(postings.sentence_terms(ranges))},
    )


def _subchunks(table: Table, live: Live, postings: Postings, terms: Rows) -> Assembly:
    """Return the parts of chunks with their terms; `terms` are those that the counts are of."""
    rows = live.rows["subchunk"]
    ranges = Ranges.of(table, "subchunk", rows, live.above["subchunk"])
    n_tokens = {"subchunk.n_tokens": table["subchunk.n_tokens"][rows]}
    found = postings.subchunk_terms(ranges, live.above["count"], terms)
    return Assembly(
        {"subchunk": rows},
        ranges.columns("subchunk") | n_tokens,
        {("subchunk", "term"): StoredLink.of(found)},
    )


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
    """Return the units' columns. A statement has its chunk's range, and no tokens of it."""
    is_sentence = units.sentence >= 0
    chunks = live.rows["chunk"][units.chunk]
    columns: Columns = {
        "unit.chunk": units.chunk.astype(np.int32),
        "unit.source": units.source,
        "unit.place": units.place,
    }
    for name in ("start", "end"):
        of_sentence = table[f"sentence.{name}"][units.sentence]
        of_chunk = table[f"chunk.{name}"][chunks]
        columns[f"unit.{name}"] = np.where(is_sentence, of_sentence, of_chunk)
    for name in ("first_token", "last_token"):
        column = table[f"sentence.{name}"]
        if len(chunks) and len(column) == len(table["sentence.chunk"]):  # it has token vectors
            columns[f"unit.{name}"] = np.where(is_sentence, column[units.sentence], -1)
    return columns


def _mention_columns(table: Table, mentions: Columns) -> Columns:
    types = {"unit": np.int32, "entity": np.int32, "label": np.uint8}
    columns = {f"mention.{name}": mentions[name].astype(kind) for name, kind in types.items()}
    written = {f"mention.{n}": _written(table, mentions, n) for n in ("start", "end")}
    return columns | {name: column.astype(np.int32) for name, column in written.items()}


def _description_columns(table: Table, live: Live, entities: Rows) -> Columns:
    """Return the columns of descriptions, and of the profiles that some of them have."""
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
    """Return what is known of each entity.

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


def _first(values: NDArray[Any], own: NDArray[np.bool_], size: int) -> NDArray[np.int32]:
    """Return where each of `size` values first stands, under its own name if it does, else -1."""
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
    numbers = places(entities, len(target))
    subjects, objects = (
        numbers[target[table[f"triple.{end}"][rows]]] for end in ("subject", "object")
    )
    two = subjects != objects
    rows, chunk, subjects, objects = rows[two], chunk[two], subjects[two], objects[two]
    keys = np.stack([subjects, objects, table["triple.relation_key"][rows].astype(np.int64)])
    first, groups = first_of_equal(_mixed(keys.astype(np.uint64)))
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


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one 64-bit hash for each column of (k, n) keys (splitmix64's finaliser)."""
    mixed = np.zeros(keys.shape[1], dtype=np.uint64)
    for key in keys:
        mixed = (mixed ^ key) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
