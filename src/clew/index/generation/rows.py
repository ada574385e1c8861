"""Find the live rows of each layer from the live documents down; number and link them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clew.index.store.columns import StoredColumns, small_type
from clew.index.store.schema import TABLES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Live:
    """The live rows of the stored layers, in document-id order."""

    rows: dict[str, Rows] = field(default_factory=dict)  # stored rows by layer
    above: dict[str, Rows] = field(default_factory=dict)  # place of each row's parent in `rows`

    def chunks_of(self, layer: str) -> Rows:
        """Return the chunk of each live row of a layer below the chunks."""
        places, at = self.above[layer], TABLES[layer].above
        while at != "chunk":
            places, at = self.above[at][places], TABLES[at].above
        return places


@dataclass(frozen=True, slots=True)
class SomeRows:
    """A stored array of a layer that reads only the rows in use."""

    size: int
    read: Callable[[Rows], Rows]

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, rows: Any) -> Rows:  # noqa: ANN401 -- as of an array
        if isinstance(rows, slice):
            return self.read(np.arange(*rows.indices(self.size)))
        places = np.asarray(rows)
        if places.dtype == bool:
            return self.read(np.flatnonzero(places))
        stored_rows = self.read(places.reshape(-1).astype(np.int64))
        return stored_rows if places.ndim else stored_rows[0]


def follow_rows(
    stored: StoredColumns,
    live: Live,
    layers: Iterable[str] = TABLES,
    *,
    n_extractions: int | None = None,
) -> Live:
    """Add the live rows of `layers` below those in `live`, parents before children.

    An older extraction of the same chunk and kind is not live, nor are the rows below it. Of
    extractions the first `n_extractions` count, or all.
    """
    for layer in layers:
        above = live.rows[TABLES[layer].above]
        if layer == "extraction":  # which are not in the order of their chunks
            chunks = stored.tail("extraction.chunk", 0)[:n_extractions]
            rows, places = follow(chunks, above, stored.size("chunk"))
            newest = find_newest(places, stored.take("extraction.kind", rows))
            live.rows[layer], live.above[layer] = rows[newest], places[newest]
        else:
            live.rows[layer], live.above[layer] = stored.rows_below(layer, above)
    return live


_DENSITY = 8  # times as many numbers as rows: above that they are sorted


def follow(parent: NDArray[Any], parents: Rows, n_stored: int) -> tuple[Rows, Rows]:
    """Return the stored rows below `parents`, in the parents' order.

    `parent` holds the stored parent of each row. The second array holds each returned row's
    parent as a position in `parents`.
    """
    place = np.full(n_stored, -1, dtype=small_type(n_stored))
    place[parents] = np.arange(len(parents))
    position = take(place, parent)
    rows = np.flatnonzero(position >= 0).astype(small_type(len(parent)))
    if len(rows) < len(position):
        position = position[rows]
    if np.any(position[1:] < position[:-1]):
        order = np.argsort(position, kind="stable")
        rows, position = rows[order], position[order]
    return rows, position


_BATCH_SIZE = 2**18  # places: NumPy makes larger numbers of them


def take(values: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """Return values[places] without copying all of `places` at once."""
    taken = np.empty(len(places), dtype=values.dtype)
    for start in range(0, len(places), _BATCH_SIZE):
        taken[start : start + _BATCH_SIZE] = values[places[start : start + _BATCH_SIZE]]
    return taken


def find_newest(chunks: Rows, kinds: NDArray[Any]) -> Rows:
    """Return the newest extraction of each chunk and kind, ascending."""
    keys = chunks.astype(np.int64) * 256 + kinds
    _, first = np.unique(keys[::-1], return_index=True)
    return np.sort(len(keys) - 1 - first)


def first_occurrences(keys: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return the first index of each distinct key, in order, and each row's group."""
    n, is_whole = len(keys), keys.dtype.kind == "i" and len(keys) > 0
    if is_whole and keys.min() >= 0 and keys.max() <= _DENSITY * n:  # without sorting them
        places = first_places(keys, int(keys.max()) + 1)
        is_first = np.zeros(n, dtype=bool)
        is_first[places[places < n]] = True
        first = np.flatnonzero(is_first)
        places[keys[first]] = np.arange(len(first))
        return first, take(places, keys)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first[order].astype(np.int64), rank[inverse]


def first_places(rows: NDArray[Any], size: int) -> Rows:
    """Return the first index in `rows` of each of `size` numbers, len(rows) if absent."""
    n = len(rows)
    places = np.full(size, n, dtype=small_type(n))
    for start in range(0, n, _BATCH_SIZE)[::-1]:  # of equal numbers the last one written stays
        some = rows[start : start + _BATCH_SIZE][::-1]
        places[some] = np.arange(start + len(some) - 1, start - 1, -1)
    return places


def renumber(values: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return the distinct `values` by first occurrence, and the index of each value."""
    first, groups = first_occurrences(values)
    return values[first].astype(np.int64), groups


def place_by_row(rows: Rows, size: int | None = None) -> Rows:
    """Return the index in `rows` of each of `size` stored rows, or up to the last; -1 if absent."""
    places = np.full(int(rows.max(initial=-1)) + 1 if size is None else size, -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    return places


def index_type(n: int) -> type[np.signedinteger[Any]]:
    """Return the index type of a sparse matrix with no index above `n`."""
    return np.int32 if n < 2**31 else np.int64


def build_link(
    a: NDArray[Any], b: NDArray[Any], n_a: int, n_b: int, weights: NDArray[Any] | None = None
) -> csr_array:
    """Return the (n_a, n_b) link of the pairs; repeated pairs count once."""
    from scipy.sparse import csr_array

    data = np.ones(len(a), dtype=np.float32) if weights is None else weights.astype(np.float32)
    index = index_type(max(n_a, n_b, len(a)))
    if np.any(a[1:] < a[:-1]):
        pairs = csr_array((data, (a.astype(index), b.astype(index))), shape=(n_a, n_b))
    else:
        ends = np.cumsum(np.bincount(a, minlength=n_a), dtype=index)
        begins = np.concatenate([np.zeros(1, index), ends])
        pairs = csr_array((data, b.astype(index), begins), shape=(n_a, n_b))
    pairs.sum_duplicates()
    pairs.sort_indices()
    if weights is None:
        pairs.data[:] = 1.0
    return pairs
