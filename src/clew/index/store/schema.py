"""The schema of the stored layers: parents and arrays.

Everything that moves rows (putting a generation together, compaction) reads it from here. A row
is a position in its columns, counted through all registered segments, oldest first. What is
extracted from a chunk comes later than it and may come again, so an extraction is a row below its
chunk, and its results are rows below that.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo import coding
from clew.algo.coding import narrow, widen
from clew.base.types import ENTITY_TYPES, Scalar
from clew.errors import InputError
from clew.index.snapshot.batch import Batch
from clew.index.store.segments import MappedSegment

Segment = Mapping[str, NDArray[Any]]


class LayerTable(NamedTuple):
    """The schema of one stored layer; column names omit the layer's name."""

    above: str  # the layer above, and the column that says which row of it a row belongs to
    columns: tuple[str, ...] = ()  # numbers about the row
    ragged: Mapping[str, str] = MappingProxyType({})  # a count to the array it cuts
    vectors: bool = False


# In this order: a layer stands behind the one above it.
TABLES: Mapping[str, LayerTable] = {
    "chunk": LayerTable(
        "document", ("start", "end", "n_tokens"), {"n_stored": "token.vectors"}, vectors=True
    ),
    "subchunk": LayerTable("chunk", ("start", "end", "n_tokens"), vectors=True),
    "sentence": LayerTable(
        "chunk",
        (
            *("start", "end", "key", "first_token", "last_token"),
            *("above_start", "above_end", "is_context"),
        ),
        vectors=True,
    ),
    "mention": LayerTable("sentence", ("entity", "start", "end", "label", "term")),
    "count": LayerTable("chunk", ("term", "n", "capitals")),
    "posting": LayerTable("chunk", ("term", "start")),
    "extraction": LayerTable("chunk", ("kind", "source")),
    "statement": LayerTable(
        "extraction",
        ("key",),
        {"n_bytes": "statement_text.bytes", "n_stored": "statement_token.vectors"},
        vectors=True,
    ),
    "statement_mention": LayerTable("statement", ("entity", "start", "end", "label", "term")),
    "triple": LayerTable(
        "extraction",
        ("subject", "object", "relation_key", "strength"),
        {"n_relation": "triple_relation.bytes", "n_description": "triple_description.bytes"},
        vectors=True,
    ),
    "validity": LayerTable("triple", ("first", "last", "stated")),  # of dated triples only
    "description": LayerTable(
        "extraction",
        ("entity", "type"),
        {"n_name": "description_name.bytes", "n_text": "description_text.bytes"},
    ),
    "profile": LayerTable("description", vectors=True),
}

# The layer whose rows a stored column holds. An extraction's chunk may be of an earlier commit.
REFERENCES = {
    **{f"{layer}.{t.above}": t.above for layer, t in TABLES.items() if layer != "extraction"},
    **{
        f"{layer}.{name}": "term" if name == "term" else "entity"
        for layer, t in TABLES.items()
        for name in t.columns
        if name in {"entity", "subject", "object", "term"}
    },
    "document.title_entity": "entity",  # -1: no title
    "name.entity": "entity",
}


LENGTH = 127  # of a token's vector in int8
DEFAULT_BITS: Mapping[str, int] = {"vector_bits": 8, "unit_bits": 4, "token_bits": 1}
_MOST_TYPES = 240  # of schemas: a byte tells them and others apart
_TOKENS = ("token.vectors", "statement_token.vectors")
_UNITS = ("sentence.vectors", "statement.vectors", "name.vectors")


def parent_column(layer: str) -> str:
    """Return the full name of a layer's parent column: chunk.document."""
    return f"{layer}.{TABLES[layer].above}"


def size_column(layer: str) -> str:
    """Return the column whose length is the number of rows of a layer or of documents."""
    return "document.title_entity" if layer == "document" else parent_column(layer)


def number_columns(layer: str) -> tuple[str, ...]:
    """Return the full names of a layer's number columns, the parent's first."""
    return parent_column(layer), *(f"{layer}.{name}" for name in TABLES[layer].columns)


def count_rows(arrays: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of rows of each layer in a segment, without empty layers."""
    parents = {layer: arrays.get(parent_column(layer)) for layer in TABLES}
    return {k: int(v.shape[0]) for k, v in parents.items() if v is not None and v.shape[0]}


def count_rows_unread(arrays: MappedSegment) -> dict[str, int]:
    """Return the number of rows of each layer from a file's header."""
    parents = {layer: name for layer in TABLES if (name := parent_column(layer)) in arrays}
    return {layer: n for layer, name in parents.items() if (n := arrays.length(name))}


def concatenate_column(segments: Sequence[Segment], name: str) -> NDArray[Any]:
    """Return a column concatenated over all segments, empty if none has it."""
    parts = [widen(segment[name]) for segment in segments if name in segment]
    if len(parts) == 1:
        return np.asarray(parts[0])
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def vector_bits(name: str, recipe: Mapping[str, Scalar]) -> int:
    """Return the bits per component with which an array of vectors is written."""
    kind = "token_bits" if name in _TOKENS else "unit_bits" if name in _UNITS else "vector_bits"
    return read_number(recipe, kind)


def is_exact(recipe: Mapping[str, Scalar]) -> bool:
    """Check whether some vectors of an index are stored unquantized."""
    return any(recipe.get(kind) == coding.FLOAT32 for kind in DEFAULT_BITS)


def token_type(recipe: Mapping[str, Scalar]) -> type[np.generic]:
    """Return the type of token vectors before coding."""
    return np.float32 if recipe["token_bits"] == coding.FLOAT32 else np.int8


def read_number(recipe: Mapping[str, Scalar], name: str) -> int:
    """Return an integer setting of a recipe."""
    number = recipe[name]
    assert isinstance(number, int)  # noqa: S101 -- as settings check, and an embedder has it
    return number


def read_types(recipe: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Return the names of the entity types of an index, by their stored numbers."""
    return (*ENTITY_TYPES, *filter(None, str(recipe.get("entity_types", "")).split(",")))


def add_types(recipe: Mapping[str, Scalar], names: Iterable[str]) -> dict[str, Scalar]:
    """Return the setting of a recipe that names further types. Raises InputError for too many."""
    own = list(dict.fromkeys([*read_types(recipe), *names]))[len(ENTITY_TYPES) :]
    if len(own) > _MOST_TYPES:
        raise InputError(f"an index has at most {_MOST_TYPES} types of schemas: use a new folder")
    return {"entity_types": ",".join(own)} if own else {}


def encode_array(name: str, array: NDArray[Any], recipe: Mapping[str, Scalar]) -> NDArray[Any]:
    """Return an array in stored form; vectors are quantized as `recipe` says."""
    if not name.endswith(".vectors") or array.dtype == np.uint8:  # coded already
        return array
    if array.dtype == np.int8:  # tokens as a batch has them
        array = array / np.float32(LENGTH)
    return coding.encode(array, vector_bits(name, recipe))


def place_batch(
    batch: Batch,
    keys: Mapping[str, Sequence[int]],
    first: Mapping[str, int],
    recipe: Mapping[str, Scalar],
) -> dict[str, NDArray[Any]]:
    """Return the columns of a batch with references converted to stored rows.

    `keys` are the rows of the batch's entities and terms; `first` says of each other layer, and of
    documents, how many rows there were before, none where it says nothing. Vectors are coded as the
    `recipe` says.
    """
    rows = {table: np.asarray(numbers, np.int32) for table, numbers in keys.items()}
    arrays: dict[str, NDArray[Any]] = {}
    for name, column in batch.columns.items():
        layer = REFERENCES.get(name)
        if name == "extraction.chunk" and batch.documents:
            layer = "chunk"
        if layer in rows:
            with_none = np.append(rows[layer], np.int32(-1))  # the last one is for -1
            stored = with_none[column.astype(np.int64)]
        elif layer is not None:
            stored = (column.astype(np.int64) + first.get(layer, 0)).astype(np.int32)
        else:
            stored = encode_array(name, column, recipe)
        arrays[name] = narrow(stored)
    return arrays
