"""Follow stored rows from the live documents downwards; number and link what is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.store.schema import TABLES, parent_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Live:
    """The live rows of stored layers, in the order of their documents' ids."""

    rows: dict[str, Rows] = field(default_factory=dict)  # stored rows by layer
    above: dict[str, Rows] = field(default_factory=dict)  # place of each row's parent in `rows`

    def chunks_of(self, layer: str) -> Rows:
        """Return, for each live row of a layer below the chunks, the place of its chunk."""
        places, at = self.above[layer], TABLES[layer].above
        while at != "chunk":
            places, at = self.above[at][places], TABLES[at].above
        return places


def live_rows(
    table: Mapping[str, NDArray[Any]],
    documents: Rows,
    layers: Iterable[str] = TABLES,
    *,
    n_extractions: int | None = None,
) -> Live:
    """Return the live rows of `layers`, which stand behind the layers above them.

    An older extraction of the same chunk and kind is not live, nor is what hangs on it. Where
    `n_extractions` is given those behind so many are not live either.
    """
    live = Live({"document": documents})
    for layer in layers:
        above = TABLES[layer].above
        n_above = len(table[_size_column(above)])
        rows, places = follow(table[parent_column(layer)], live.rows[above], n_above)
        if layer == "extraction":
            if n_extractions is not None:
                known = rows < n_extractions
                rows, places = rows[known], places[known]
            newest = newest_of(places, table["extraction.kind"][rows])
            rows, places = rows[newest], places[newest]
        live.rows[layer], live.above[layer] = rows, places
    return live


def _size_column(layer: str) -> str:
    return "document.title_entity" if layer == "document" else parent_column(layer)


_DENSE = 8  # times as many numbers as rows: above that they are sorted


def follow(parent: NDArray[Any], parents: Rows, n_stored: int) -> tuple[Rows, Rows]:
    """Return the stored rows whose parent is one of `parents`, in the parents' order.

    `parent` holds the stored parent of each row. The second array holds each returned row's
    parent as a position in `parents`.
    """
    place = np.full(n_stored, -1, dtype=np.int64)
    place[parents] = np.arange(len(parents))
    position = place[parent.astype(np.int64)]
    rows = np.flatnonzero(position >= 0)
    if len(rows) and np.any(np.diff(position[rows]) < 0):
        rows = rows[np.argsort(position[rows], kind="stable")]
    return rows, position[rows]


def newest_of(chunks: Rows, kinds: NDArray[Any]) -> Rows:
    """Return which extractions, oldest first, are the last of a chunk and a kind, ascending."""
    keys = chunks * 256 + kinds
    _, first = np.unique(keys[::-1], return_index=True)
    return np.sort(len(keys) - 1 - first)


def first_of_equal(keys: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return where each distinct key first stands, in that order, and each row's group."""
    if (
        keys.dtype.kind == "i"
        and len(keys)
        and keys.min() >= 0
        and keys.max() <= _DENSE * len(keys)
    ):
        return _first_of_rows(keys)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first[order].astype(np.int64), rank[inverse]


def _first_of_rows(rows: Rows) -> tuple[Rows, Rows]:
    """Do so for numbers that are not much above how many there are, without sorting them."""
    found = np.empty(int(rows.max()) + 1, dtype=np.int64)
    found[rows[::-1]] = np.arange(len(rows))[::-1]  # of equal numbers the last one written stays
    first = np.flatnonzero(found[rows] == np.arange(len(rows)))
    found[rows[first]] = np.arange(len(first))
    return first, found[rows]


def renumber(values: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return the distinct `values` by first occurrence, and each value's place among them."""
    first, groups = first_of_equal(values)
    return values[first].astype(np.int64), groups


def number_entities(
    entities: NDArray[Any], chunks: Rows, chunk_document: Rows, titles: NDArray[Any]
) -> tuple[Rows, Rows, Rows]:
    """Number entities by first occurrence, a document's title before its text.

    `chunks` holds the chunk of each occurrence. Occurrences in one document count in the order
    given. Returns the stored row of each entity, and both inputs in the new numbers.
    """
    titled = np.flatnonzero(titles >= 0)
    place = np.concatenate([2 * titled, 2 * chunk_document[chunks] + 1])
    values = np.concatenate([titles[titled], entities]).astype(np.int64)
    order = np.argsort(place, kind="stable")
    rows, groups = renumber(values[order])
    numbers = np.empty(len(values), dtype=np.int64)
    numbers[order] = groups
    new_titles = np.full(len(titles), -1, dtype=np.int64)
    new_titles[titled] = numbers[: len(titled)]
    return rows, numbers[len(titled) :], new_titles


def places(rows: Rows, size: int) -> Rows:
    """Return the place of each of `size` stored rows in `rows`, -1 for one that is not there."""
    found = np.full(size, -1, dtype=np.int64)
    found[rows] = np.arange(len(rows))
    return found


def link(
    a: NDArray[Any],
    b: NDArray[Any],
    n_a: int,
    n_b: int,
    weights: NDArray[Any] | None = None,
) -> csr_array:
    """Return the (n_a, n_b) link of the pairs; a repeated pair is one of weight 1."""
    data = np.ones(len(a), dtype=np.float32) if weights is None else weights.astype(np.float32)
    index: type[Any] = np.int32 if max(n_a, n_b, len(a)) < 2**31 else np.int64
    pairs = csr_array((data, (a.astype(index), b.astype(index))), shape=(n_a, n_b))
    pairs.sum_duplicates()
    pairs.sort_indices()
    if weights is None:
        pairs.data[:] = 1.0
    return pairs


def stacked(blocks: Sequence[csr_array]) -> csr_array:
    """Return links with the same columns as one, the rows of each behind those before."""
    if len(blocks) == 1:
        return blocks[0]
    n_entries = sum(block.nnz for block in blocks)
    shape = sum(block.shape[0] for block in blocks), blocks[0].shape[1]
    index: type[Any] = np.int32 if max(*shape, n_entries) < 2**31 else np.int64
    ends = np.cumsum([0, *(block.nnz for block in blocks)])
    begins = (b.indptr[:-1].astype(index) + index(e) for b, e in zip(blocks, ends, strict=False))
    return csr_array(
        (
            np.concatenate([block.data for block in blocks]),
            np.concatenate([block.indices.astype(index, copy=False) for block in blocks]),
            np.concatenate([*begins, ends[-1:].astype(index)]),
        ),
        shape=shape,
    )
