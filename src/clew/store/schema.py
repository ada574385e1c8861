"""The stored layers: what hangs on what, and which arrays a row has.

Everything that moves rows (putting a generation together, compaction) reads it from here. A row
is a position in its columns, counted through all registered segments, oldest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Segment = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One stored layer. Names of columns are without the layer's."""

    parent: str  # the column that says which row of the layer above this row belongs to
    above: str  # that layer
    columns: tuple[str, ...] = ()  # numbers about the row
    ragged: Mapping[str, str] = field(default_factory=dict)  # a count to the array it cuts
    vectors: bool = False


# In this order: a layer stands behind the one above it.
TABLES: Mapping[str, Table] = {
    "chunk": Table(
        parent="document",
        above="document",
        columns=("start", "end", "n_tokens"),
        ragged={"n_stored": "token.vectors"},
        vectors=True,
    ),
    "subchunk": Table(
        parent="chunk",
        above="chunk",
        columns=("start", "end", "n_tokens"),
        vectors=True,
    ),
    "sentence": Table(
        parent="chunk",
        above="chunk",
        columns=("start", "end", "key", "first_token", "last_token"),
        vectors=True,
    ),
    "mention": Table(
        parent="sentence",
        above="sentence",
        columns=("entity", "start", "end", "label", "term"),
    ),
    "count": Table(parent="chunk", above="chunk", columns=("term", "n", "n_lower")),
    "posting": Table(parent="chunk", above="chunk", columns=("term", "start")),
    "extraction": Table(parent="chunk", above="chunk", columns=("kind", "source")),
    "statement": Table(
        parent="extraction",
        above="extraction",
        columns=("key",),
        ragged={"n_bytes": "statement_text.bytes", "n_stored": "statement_token.vectors"},
        vectors=True,
    ),
    "statement_mention": Table(
        parent="statement",
        above="statement",
        columns=("entity", "start", "end", "label", "term"),
    ),
    "triple": Table(
        parent="extraction",
        above="extraction",
        columns=("subject", "object", "relation_key", "strength"),
        ragged={"n_relation": "triple_relation.bytes", "n_description": "triple_description.bytes"},
        vectors=True,
    ),
    "description": Table(
        parent="extraction",
        above="extraction",
        columns=("entity", "type"),
        ragged={"n_name": "description_name.bytes", "n_text": "description_text.bytes"},
    ),
    "profile": Table(parent="description", above="description", vectors=True),
}


def parent_column(layer: str) -> str:
    """Return the full name of a layer's parent column: chunk.document."""
    return f"{layer}.{TABLES[layer].parent}"


def numbers(layer: str) -> tuple[str, ...]:
    """Return the full names of a layer's columns of numbers, its parent's first."""
    return parent_column(layer), *(f"{layer}.{name}" for name in TABLES[layer].columns)


def counts(arrays: Mapping[str, Any]) -> dict[str, int]:
    """Return how many rows of each layer a segment's arrays hold, where there are any."""
    found = {layer: arrays.get(parent_column(layer)) for layer in TABLES}
    return {k: int(v.shape[0]) for k, v in found.items() if v is not None and v.shape[0]}


def concatenated(segments: Sequence[Segment], name: str) -> NDArray[Any]:
    """Return a column of all segments end to end; empty where none has it."""
    parts = [segment[name] for segment in segments if name in segment]
    if len(parts) == 1:
        return np.asarray(parts[0])
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def table(segments: Sequence[Segment]) -> dict[str, NDArray[Any]]:
    """Return every column of numbers, of all segments end to end."""
    names = ["document.title_entity", *(name for layer in TABLES for name in numbers(layer))]
    return {name: concatenated(segments, name) for name in names}
