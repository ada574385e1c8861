"""Lookup tables from stored rows to rows of a generation, which edits are derived from."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.index.generation.rows import Live, Rows, first_places, place_by_row

Table = Mapping[str, NDArray[Any]]
Keys = NDArray[np.uint64]


FIRST_STATEMENT = 2**31  # the code of the first stored statement: behind all sentences
# A statistical term (scripts without capitals) is an entity where it joins a few chunks.
_TERM_MIN_CHUNKS = 2
_TERM_MAX_SHARE = 0.05
_COMMON_WORD_SHARE = 0.5  # written in lower case more often than this: no name


def is_useful(df: NDArray[Any], n_chunks: int) -> NDArray[np.bool_]:
    """Mark the words of scripts without capitals that are names, by their chunk counts."""
    most = max(_TERM_MAX_SHARE * n_chunks, _TERM_MIN_CHUNKS)
    return np.asarray((df >= _TERM_MIN_CHUNKS) & (df <= most))


def is_common(n: NDArray[Any], n_lower: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the terms that are mostly lower case, so capitals at a sentence start mean nothing."""
    return np.asarray(n_lower > _COMMON_WORD_SHARE * n)


def unit_codes(sentences: NDArray[Any], statements: NDArray[Any]) -> Rows:
    """Return one code for each unit from its stored sentence or statement; the other is -1.

    They ascend where units of one chunk do.
    """
    codes = sentences.astype(np.int64)
    is_statement = np.flatnonzero(statements >= 0)
    codes[is_statement] = FIRST_STATEMENT + statements[is_statement]
    return codes


def triple_keys(subjects: NDArray[Any], relations: NDArray[Any], objects: NDArray[Any]) -> Keys:
    """Return one 64-bit hash of each triple, by stored entities (splitmix64's finaliser)."""
    mixed = np.zeros(len(subjects), dtype=np.uint64)
    for column in (subjects, objects, relations):
        key = column.astype(np.int64).astype(np.uint64)
        mixed = (mixed ^ key) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def occurrence_lookups(name: str, keys: Keys, chunks: Rows, codes: Rows) -> Table:
    """Return lookup tables of the occurrences of units, sentences or triples, grouped by key.

    They are in the order of their chunks, in each of which the codes ascend.
    """
    order = np.argsort(keys, kind="stable")
    small = np.int32 if codes.max(initial=0) < FIRST_STATEMENT else np.int64
    return {
        f"{name}.keys": keys[order],
        f"{name}.chunks": chunks[order].astype(np.int32),
        f"{name}.codes": codes[order].astype(small),
    }


def build_lookups(
    table: Table,
    live: Live,
    columns: Mapping[str, NDArray[Any]],
    stored: Mapping[str, Rows],
    terms: Rows,
    names: Mapping[int, int],
) -> dict[str, NDArray[Any]]:
    """Return the lookup tables of a generation; docs/format.md describes them.

    `terms` are the generation's rows of the terms that the live counts are of. `names` says in how
    many chunks the stored entities are that are words of scripts without capitals.
    """
    first = first_places(terms, len(stored["term"]))
    counts = live.rows["count"]
    sizes = [len(table["document.title_entity"]), len(table["extraction.chunk"])]
    place, row = _entity_firsts(columns, len(stored["entity"]))
    return {
        "sizes": np.array(sizes, dtype=np.int64),
        "entity.rows": _rows_of(stored["entity"]),
        "entity.place": place,
        "entity.first": row,
        "named.entities": np.array(list(names), dtype=np.int64),
        "named.df": np.array(list(names.values()), dtype=np.int64),
        "term.rows": _rows_of(stored["term"]),
        "term.n": sum_groups(terms, table["count.n"], counts, len(first)),
        "term.n_lower": sum_groups(terms, table["count.n_lower"], counts, len(first)),
        "term.chunk": live.above["count"][first].astype(np.int32),
        "term.count": counts[first].astype(np.int32),
    }


def _rows_of(stored: Rows) -> NDArray[np.int32]:
    return place_by_row(stored, int(stored.max(initial=-1)) + 1).astype(np.int32)


def sum_groups(groups: Rows, values: NDArray[Any], rows: Rows, size: int) -> NDArray[np.int64]:
    """Sum the values of each of `size` groups, given by `rows`."""
    sums = np.zeros(size, dtype=np.int64)
    for start in range(0, len(rows), _BATCH_SIZE):
        some = slice(start, start + _BATCH_SIZE)
        np.add.at(sums, groups[some], values[rows[some]])
    return sums


_BATCH_SIZE = 2**20  # values


def _entity_firsts(
    columns: Mapping[str, NDArray[Any]], n: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the first place of each of `n` entities (3 * document + kind), and its row.

    The kind is 0 for a title, 1 for a mention and 2 for a description.
    """
    place, row = np.full(n, np.iinfo(np.int32).max), np.zeros(n, dtype=np.int32)
    for how, (owners, documents) in enumerate(_iterate_naming(columns)):
        first = np.full(n, -1, dtype=np.int64)
        there = np.flatnonzero(owners >= 0)[::-1]
        first[owners[there]] = there
        has = np.flatnonzero(first >= 0)
        places = 3 * documents[first[has]].astype(np.int64) + how
        lower = places < place[has]
        place[has[lower]], row[has[lower]] = places[lower], first[has[lower]]
    row[place % 3 == 0] = 0
    return place.astype(np.int32), row


def _iterate_naming(
    columns: Mapping[str, NDArray[Any]],
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield the entities and documents of titles, mentions and descriptions."""
    titles, documents = columns["document.title_entity"], columns["chunk.document"]
    yield titles, np.arange(len(titles))
    yield columns["mention.entity"], documents[columns["unit.chunk"][columns["mention.unit"]]]
    yield columns["description.entity"], documents[columns["description.chunk"]]
