"""What finds the rows of a generation by what they are made from, so that it can be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clew.generation.rows import firsts, places
from clew.store.schema import parent_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clew.generation.rows import Live, Rows

    Table = Mapping[str, NDArray[Any]]

LAYERS = ("chunk", "subchunk", "sentence", "mention", "count", "posting")  # below documents
# A statistical term (scripts without capitals) is an entity where it joins a few chunks.
_TERM_MIN_CHUNKS = 2
_TERM_MAX_SHARE = 0.05
_COMMON_WORD_SHARE = 0.5  # written in lower case more often than this: no name


def is_useful(df: NDArray[Any], n_chunks: int) -> NDArray[np.bool_]:
    """Say which words of scripts without capitals are names, by how many chunks they are in."""
    most = max(_TERM_MAX_SHARE * n_chunks, _TERM_MIN_CHUNKS)
    return np.asarray((df >= _TERM_MIN_CHUNKS) & (df <= most))


def is_common(n: NDArray[Any], n_lower: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which terms are words that only begin a sentence, by how often they are written."""
    return np.asarray(n_lower > _COMMON_WORD_SHARE * n)


def can_be_edited(table: Table, *, with_aliases: bool) -> bool:
    """Say whether `find_edits` is for a generation: one without extractions and aliases."""
    return not with_aliases and not len(table["extraction.chunk"])


def lookups(
    table: Table,
    live: Live,
    columns: Mapping[str, NDArray[Any]],
    stored: Mapping[str, Rows],
    terms: Rows,
    named: Mapping[int, int],
) -> dict[str, NDArray[Any]]:
    """Return the lookups of a generation; docs/format.md says what each is.

    `terms` are the generation's rows of the terms that the live counts are of. `named` says in how
    many chunks the stored entities are that are words of scripts without capitals.
    """
    keys = table["sentence.key"][stored["unit.sentence"]]
    by_key = np.argsort(keys, kind="stable")
    first = firsts(terms, len(stored["term"]))
    counts = live.rows["count"]
    n, n_lower = (
        _sums(terms, table[f"count.{name}"], counts, len(first)) for name in ("n", "n_lower")
    )
    sizes = [len(table["document.title_entity"])]
    sizes += [len(table[parent_column(layer)]) for layer in LAYERS]
    return {
        "sizes": np.array(sizes, dtype=np.int64),
        "unit.keys": keys[by_key],
        "unit.rows": by_key.astype(np.int32),
        "entity.rows": _rows_of(stored["entity"]),
        "entity.place": _entity_places(columns, len(stored["entity"])),
        "named.entities": np.array(list(named), dtype=np.int64),
        "named.df": np.array(list(named.values()), dtype=np.int64),
        "term.rows": _rows_of(stored["term"]),
        "term.n": n,
        "term.n_lower": n_lower,
        "term.chunk": live.above["count"][first].astype(np.int32),
        "term.count": counts[first].astype(np.int32),
    }


def _rows_of(stored: Rows) -> NDArray[np.int32]:
    return places(stored, int(stored.max(initial=-1)) + 1).astype(np.int32)


def _sums(groups: Rows, values: NDArray[Any], rows: Rows, size: int) -> NDArray[np.int64]:
    """Return the sum of the values in some rows for each of `size` groups."""
    found = np.zeros(size, dtype=np.int64)
    for start in range(0, len(rows), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        np.add.at(found, groups[some], values[rows[some]])
    return found


_AT_ONCE = 2**20  # values


def _entity_places(columns: Mapping[str, NDArray[Any]], n: int) -> NDArray[np.int32]:
    """Return twice the document that an entity is first in, and one more if not in its title."""
    none = np.iinfo(np.int32).max
    found = np.full(n, none, dtype=np.int64)
    mentions = columns["entity.mention"]
    named = np.flatnonzero(mentions >= 0)
    chunks = columns["unit.chunk"][columns["mention.unit"][mentions[named]]]
    found[named] = 2 * columns["chunk.document"][chunks].astype(np.int64) + 1
    titles = columns["document.title_entity"]
    titled = np.flatnonzero(titles >= 0)[::-1]
    first = np.full(n, none, dtype=np.int64)
    first[titles[titled]] = 2 * titled
    return np.minimum(found, first).astype(np.int32)
