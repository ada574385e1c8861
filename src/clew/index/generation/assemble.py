"""Assemble the rows and links of one generation from its segments: as edits of an empty one."""

from collections.abc import Mapping, Sequence

import numpy as np

from clew.algo.links import StoredLink
from clew.algo.row_edits import RowEdits
from clew.index.generation.assembly import Assembly, IndexCounts
from clew.index.generation.edits import Edits
from clew.index.generation.edits.source import Source
from clew.index.generation.rows import Live, Rows, build_link, follow_rows
from clew.index.generation.schema import COLUMNS, LAYERS, LINKS, LOOKUPS
from clew.index.store.columns import StoredColumns
from clew.index.store.schema import TABLES, Segment

_ENTITY_COLUMNS = (
    "document.title_entity", "mention.entity", "statement_mention.entity",
    "triple.subject", "triple.object", "description.entity",
)  # fmt: skip


def assemble(
    segments: Sequence[Segment],
    documents: Rows,
    aliases: Mapping[int, int] | None = None,
    *,
    halved: bool = False,
    editable: bool = False,
    n_extractions: int | None = None,
    whole: IndexCounts | None = None,
    during: int = 0,
) -> Assembly:
    """Assemble the generation of live `documents`, given as stored rows in id order.

    `aliases` map stored entities to the ones that they stand for; `halved` says that chunks have
    sub-chunks, `editable` that there are to be lookups, if edits can be found at all, and
    `n_extractions` how many extractions count, if not all do. What is a name is decided by the
    `whole` index, where the documents are a part of it. Triples that do not hold `during` a day,
    month or year (a number of `read_day`) are left out.
    O(rows log rows); the vectors are not touched.
    """
    stored = StoredColumns(segments)
    none = np.zeros(0, dtype=np.int64)
    source = Source(
        base=_empty_assembly(halved=halved),
        stored=stored,
        added=documents,
        documents=RowEdits.from_changes(0, none, np.zeros(len(documents), dtype=np.int64)),
        targets=_alias_targets(stored, documents, aliases) if aliases else None,
        n_extractions=n_extractions,
        whole=whole,
        during=during,
    )
    edits = Edits.from_source(source)
    links = edits.links()
    return Assembly(
        columns=edits.columns(),
        links={pair: StoredLink.from_matrix(entries) for pair, entries in links.items()},
        lookups=edits.lookups() if editable and not aliases else {},
    )


def _empty_assembly(*, halved: bool) -> Assembly:
    """Return the generation without documents."""
    none = np.zeros(0, dtype=np.int64)
    nothing = build_link(none, none, 0, 0)
    layers = {name: layer for name, layer in LAYERS.items() if halved or name != "subchunk"}
    return Assembly(
        columns={
            f"stored.{name}": none for layer in layers for name in layers[layer].stored_names(layer)
        }
        | {name: np.zeros(0, dtype=column.dtype) for name, column in COLUMNS.items()},
        links={pair: StoredLink.from_matrix(nothing) for pair in LINKS},
        lookups={
            name: np.zeros(2 if name == "sizes" else 0, dtype=dtype)
            for name, dtype in LOOKUPS.items()
        },
    )


def _alias_targets(stored: StoredColumns, documents: Rows, aliases: Mapping[int, int]) -> Rows:
    """Return the stored entity that each stored entity is an alias of, by default itself.

    An alias for an entity that no live text has stands for itself. The last element is that of -1.
    """
    present = entities_of(stored, documents)
    target = np.arange(max(*present, *aliases, *aliases.values()) + 2)
    pairs = {a: b for a, b in aliases.items() if b in present}
    target[list(pairs)] = list(pairs.values())
    target[-1] = -1
    return target


def entities_of(stored: StoredColumns, documents: Rows) -> set[int]:
    """Return the stored entities in live `documents` and their extractions."""
    live = follow_rows(stored, Live({"document": documents}), TABLES)
    layers = ((name.partition(".")[0], name) for name in _ENTITY_COLUMNS)
    return {e for layer, name in layers for e in stored.take(name, live.rows[layer]).tolist()}
