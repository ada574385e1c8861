"""The layers of a generation, their columns and the links between them.

Everything that assembles, edits or opens a generation reads them from here. A new layer, column or
link is an entry, and a builder in `edits` unless its rows or values are those of the store.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np


class ColumnSchema(NamedTuple):
    """A column of numbers about the rows of a layer."""

    dtype: type[Any] = np.int32
    rows_of: str = ""  # the layer whose rows it holds: edits renumber these
    copied: bool = False  # from the stored column of the same name


class LayerSchema(NamedTuple):
    """One layer of a generation. Names of columns are without the layer's."""

    columns: Mapping[str, ColumnSchema] = MappingProxyType({})
    below_chunk: bool = False  # each stored row below a chunk is one row, and goes with the chunk
    stored: tuple[str, ...] | None = None  # arrays of stored rows, where not one of its own name

    def stored_names(self, own: str) -> tuple[str, ...]:
        """Return the names of the arrays of stored rows; `own` is the layer's."""
        return (own,) if self.stored is None else self.stored


_NUMBER, _COPIED = ColumnSchema(), ColumnSchema(copied=True)
_BYTE, _FLAG, _SUM = ColumnSchema(np.uint8), ColumnSchema(np.bool_), ColumnSchema(np.float32)
_CHUNK, _UNIT, _ENTITY, _MENTION, _TRIPLE, _DESCRIPTION = (
    ColumnSchema(rows_of=layer)
    for layer in ("chunk", "unit", "entity", "mention", "triple", "description")
)

LAYERS: Mapping[str, LayerSchema] = {
    "document": LayerSchema({"title_entity": _ENTITY}),
    "chunk": LayerSchema({
        "start": _COPIED, "end": _COPIED, "n_tokens": _COPIED,
        "document": ColumnSchema(rows_of="document"), "units": _BYTE, "graph": _BYTE,
    }),
    "unit": LayerSchema(  # distinct by text, where it stands first
        {
            "chunk": _CHUNK, "source": _BYTE, "place": _NUMBER, "start": _NUMBER, "end": _NUMBER,
            "first_token": _NUMBER, "last_token": _NUMBER,
        },
        stored=("unit.sentence", "unit.statement"),
    ),
    "mention": LayerSchema(  # with the unit
        {"unit": _UNIT, "entity": _ENTITY, "label": _BYTE, "start": _NUMBER, "end": _NUMBER},
        stored=(),
    ),
    "entity": LayerSchema({  # distinct by key, where a title, mention or description names it first
        "linkable": _FLAG, "extracted": _FLAG,
        "mention": _MENTION, "description": _DESCRIPTION,
    }),
    "term": LayerSchema({"common": _FLAG}),  # counted; where it stands first
    "triple": LayerSchema(  # distinct by entities and relation, where it was extracted first
        {"subject": _ENTITY, "object": _ENTITY, "chunk": _CHUNK, "strength": _SUM}
    ),
    "occurrence": LayerSchema({"triple": _TRIPLE, "chunk": _CHUNK, "strength": _SUM}),
    "description": LayerSchema(
        {"entity": _ENTITY, "chunk": _CHUNK, "type": ColumnSchema(np.uint8, copied=True)},
        below_chunk=True,
    ),
    "profile": LayerSchema(
        {"description": _DESCRIPTION, "entity": _ENTITY, "chunk": _CHUNK}, below_chunk=True
    ),
    "sentence": LayerSchema(  # distinct by text, where it is no unit
        {"chunk": _CHUNK, "start": _COPIED, "end": _COPIED}
    ),
    "subchunk": LayerSchema(
        {"chunk": _CHUNK, "start": _COPIED, "end": _COPIED, "n_tokens": _COPIED}, below_chunk=True
    ),
}  # fmt: skip

COLUMNS: Mapping[str, ColumnSchema] = {
    f"{layer}.{name}": column
    for layer, table in LAYERS.items()
    for name, column in table.columns.items()
}

# What each column belongs to, and the layer whose rows it holds, if any; stored rows are columns.
_STORED = {
    f"stored.{n}": layer for layer, table in LAYERS.items() for n in table.stored_names(layer)
}
LAYER_OF: Mapping[str, str] = _STORED | {name: name.partition(".")[0] for name in COLUMNS}
ROWS_OF = {name: column.rows_of for name, column in COLUMNS.items() if column.rows_of}

# (A, B) for the sparse matrix with a row for each row of A.
LINKS = (
    ("chunk", "unit"), ("unit", "entity"), ("document", "entity"), ("chunk", "term"),
    ("entity", "chunk"), ("triple", "chunk"), ("sentence", "term"), ("subchunk", "term"),
)  # fmt: skip

_NUMBERS, _KEYS = np.int32, np.uint64

# What edits are found by, as docs/format.md describes it.
LOOKUPS: Mapping[str, type[Any]] = {
    "sizes": np.int64,
    "entity.rows": _NUMBERS, "entity.place": _NUMBERS, "entity.first": _NUMBERS,
    "named.entities": np.int64, "named.df": np.int64,
    "term.rows": _NUMBERS, "term.capitals": np.int64,
    "term.chunk": _NUMBERS, "term.count": _NUMBERS,
    "unit.keys": _KEYS, "unit.chunks": _NUMBERS, "unit.codes": np.int64,
    "triple.keys": _KEYS, "triple.chunks": _NUMBERS, "triple.codes": _NUMBERS,
    "sentence.keys": _KEYS, "sentence.chunks": _NUMBERS, "sentence.codes": _NUMBERS,
}  # fmt: skip
