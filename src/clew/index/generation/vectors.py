"""The stored vectors of a layer, read only in the rows in use."""

import math
import os
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo import coding
from clew.index.generation.rows import Rows, SomeRows
from clew.index.store.columns import StoredColumn

_PARALLEL_ROWS = 200_000  # rows; of more, threads share the products
_MAX_THREADS = 4
_SMALL = 1 << 26  # bytes: of fewer, the codes of all rows are kept in the order of these
_BLOCK = 1_024  # rows that are compared at once: more do not stay in a core's cache
_AT_ONCE = 16_384  # rows whose codes are read at once


class StoredVectors:
    """(n, d) vectors: row i is stored row `rows[i]` of concatenated arrays, or zero for -1.

    Each is coded in `bits` a number, and products are made of the codes as they are stored. Once as
    many rows were read as there are, few codes are kept, so that no more is looked up for a row.
    """

    def __init__(
        self, parts: Sequence[StoredColumn], rows: Rows | SomeRows, *, dimension: int, bits: int
    ) -> None:
        self._parts = parts
        self._ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        self._rows = rows
        self._dimension = dimension
        self._bits = bits
        self._width = coding.code_width(dimension, bits)
        is_small = 0 < self._width * len(rows) <= _SMALL
        self._unread = len(rows) if is_small else math.inf  # rows to be read before all are kept
        self._codes: NDArray[Any] | None = None  # of all rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self._rows), self._dimension

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:  # noqa: ANN401 -- as of an array
        if self._codes is not None:
            codes = self._codes[rows]
            return self._decode(codes) if codes.ndim == 2 else self._decode(codes[None])[0]
        stored = self._rows[rows]
        self._keep_codes(stored.size)
        vectors = self._decode(self._gather(np.atleast_1d(stored)))
        return vectors if stored.ndim else vectors[0]

    def __matmul__(self, other: NDArray[Any]) -> NDArray[Any]:
        return self._products(slice(None), len(self), other)

    def products(self, rows: NDArray[np.integer], other: NDArray[Any]) -> NDArray[Any]:
        """Return self[rows] @ other."""
        return self._products(rows, len(rows), other)

    def _products(
        self, rows: NDArray[np.integer] | slice, n: int, other: NDArray[Any]
    ) -> NDArray[Any]:
        self._keep_codes(n)
        if self._codes is not None:
            places = self._codes if isinstance(rows, slice) else self._codes.take(rows, axis=0)
        else:
            stored = self._rows[rows]
            places = self._gather(stored) if n <= _AT_ONCE else stored
        blocks = [places[i : i + _BLOCK] for i in range(0, max(n, 1), _BLOCK)]
        multiply = partial(self._multiply_blocks, other=np.asarray(other, dtype=np.float32))
        if n <= _PARALLEL_ROWS:
            return np.concatenate(multiply(blocks))
        from concurrent.futures import ThreadPoolExecutor  # which few indexes need

        n_threads = min(_MAX_THREADS, os.cpu_count() or 1)
        size = -(-len(blocks) // n_threads)
        shares = [blocks[i : i + size] for i in range(0, len(blocks), size)]
        with ThreadPoolExecutor(n_threads) as pool:
            return np.concatenate(
                [product for share in pool.map(multiply, shares) for product in share]
            )

    def _multiply_blocks(
        self, blocks: Sequence[NDArray[Any]], other: NDArray[np.float32]
    ) -> list[NDArray[Any]]:
        """Return the products of blocks of codes, or of stored rows."""
        codes = (each if each.dtype == np.uint8 else self._gather(each) for each in blocks)
        return [coding.multiply_codes(each, other, self._bits) for each in codes]

    def _keep_codes(self, n: int) -> None:
        """Keep the codes of all rows in memory if they are few and often read."""
        if self._codes is None:
            self._unread -= n
            if self._unread <= 0:
                self._codes = self._gather(self._rows[:])

    def __array__(  # as NumPy calls it
        self,
        dtype: np.dtype[Any] | None = None,
        copy: bool | None = None,  # noqa: FBT001
    ) -> NDArray[Any]:
        """Return all rows, which may not fit into memory."""
        if copy is False:
            raise ValueError("stored vectors are read into an array, which is a copy")
        return self[:].astype(dtype or self.dtype, copy=False)

    def _gather(self, stored: Rows) -> NDArray[np.uint8]:
        """Return the codes in stored rows, zero for -1."""
        if len(stored) and stored[0] >= 0 and np.all(np.diff(stored) == 1):  # neighbours
            i = int(np.searchsorted(self._ends, stored[0], side="right"))
            if stored[-1] < self._ends[i]:  # nothing need be copied
                begin = int(self._ends[i]) - len(self._parts[i])
                return self._parts[i].part(int(stored[0]) - begin, int(stored[-1]) + 1 - begin)
        if len(self._parts) == 1 and stored.min(initial=0) >= 0:
            return self._parts[0].take(stored)
        out = np.zeros((len(stored), self._width), np.uint8)
        order = np.argsort(stored, kind="stable")
        ascending = stored[order]
        places = np.searchsorted(ascending, np.append(0, self._ends)).tolist()
        for part, end, (first, last) in zip(self._parts, self._ends, pairwise(places), strict=True):
            if last > first:
                out[order[first:last]] = part.take(ascending[first:last] - (end - len(part)))
        return out

    def _decode(self, rows: NDArray[np.uint8]) -> NDArray[np.float32]:
        return coding.decode(rows, self._dimension, self._bits)
