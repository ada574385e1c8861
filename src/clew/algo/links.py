"""Sparse links between two layers, of which only the rows in use are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from clew.algo.coding import narrow, widen
from clew.errors import DamagedIndex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

Matrix: TypeAlias = "csr_array[Any, tuple[int, int]]"


def neighbours(link: Matrix | Entries | Link, row: int) -> NDArray[np.integer]:
    """Return the columns of the stored entries of a row; they ascend in a sorted link."""
    if hasattr(link, "row"):
        return link.row(row)
    return link.indices[link.indptr[row] : link.indptr[row + 1]]


def entry_rows(matrix: Matrix) -> NDArray[np.intp]:
    """Return the row of each stored entry of a matrix."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def replace_data(matrix: Matrix, data: NDArray[Any]) -> Matrix:
    """Return a matrix with other data for its stored entries."""
    from scipy.sparse import csr_array

    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def expand_ranges(firsts: NDArray[Any], lasts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return all numbers of the ranges [firsts[i], lasts[i]), and the i of each."""
    lengths = lasts - firsts
    return np.repeat(np.arange(len(lengths)), lengths), _join_ranges(firsts, lengths)[0]


def _join_ranges(
    firsts: NDArray[Any], lengths: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all numbers of the ranges, and the offset of each range among them and the end."""
    ends = count_ends(lengths)
    places = (firsts - ends[:-1]).repeat(lengths)
    places += np.arange(len(places))
    return places, ends


class ReadRanges(Protocol):
    """A function that returns an array of which only some ranges will be read."""

    def __call__(self, starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[Any]: ...


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of some rows, row after row; ten times as fast to build as SciPy's matrix."""

    shape: tuple[int, int]
    indptr: NDArray[np.integer]  # (n_rows + 1,) where those of each row begin
    indices: NDArray[np.integer]  # the column of each, ascending in a row
    data: NDArray[Any]

    @classmethod
    def from_matrix(cls, matrix: Matrix) -> Entries:
        """Return the entries of a matrix in memory."""
        return cls((matrix.shape[0], matrix.shape[1]), matrix.indptr, matrix.indices, matrix.data)

    @property
    def counts(self) -> NDArray[np.integer]:
        """Return the (n_rows,) numbers of entries per row."""
        return self.indptr[1:] - self.indptr[:-1]

    @property
    def owners(self) -> NDArray[np.intp]:
        """Return the row of each entry."""
        return np.repeat(np.arange(self.shape[0]), self.counts)

    def split_rows(self) -> list[list[int]]:
        """Return a list of the column numbers of each row."""
        ends, columns = self.indptr.tolist(), self.indices.tolist()
        return [columns[start:end] for start, end in pairwise(ends)]

    def sum_rows(self) -> NDArray[np.float64]:
        """Return the (n_rows,) sums of the data of each row."""
        sums = np.zeros(self.shape[0])
        some = np.flatnonzero(self.counts)
        if len(some):
            sums[some] = np.add.reduceat(self.data, self.indptr[some])
        return sums

    def to_matrix(self) -> Matrix:
        from scipy.sparse import csr_array  # which takes longer to load than numpy

        return csr_array((self.data, self.indices, self.indptr), shape=self.shape)


def take_rows(matrix: Matrix | Entries, rows: NDArray[np.integer]) -> Entries:
    """Return the entries of some rows of a matrix, or of entries, in memory."""
    starts = matrix.indptr[rows]
    counts = matrix.indptr[rows + 1] - starts
    places, ends = _join_ranges(starts, counts)
    indices, data = matrix.indices.take(places), matrix.data.take(places)
    return Entries((len(rows), matrix.shape[1]), ends, indices, data)


def count_ends(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the offsets of groups of the given `counts`: one more than there are groups."""
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    counts.cumsum(out=ends[1:])
    return ends


class Link(Protocol):
    """A sparse (n_a, n_b) link; each row's entries have ascending columns."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def row(self, row: int) -> NDArray[np.integer]:
        """Return the columns of the entries of a row, ascending."""
        return self.entries(row)[0]

    def entries(self, row: int) -> tuple[NDArray[np.integer], NDArray[Any]]:
        """Return the columns of the entries of a row, ascending, and their weights."""
        ...

    def entries_of(self, rows: NDArray[np.integer]) -> Entries:
        """Return the entries of some rows. O(these)."""
        ...

    @property
    def counts(self) -> NDArray[np.integer]:
        """The (n_a,) number of entries of each row."""
        ...

    def counts_of(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the (len(rows),) numbers of entries of some rows."""
        return np.asarray(self.counts[rows])

    @property
    def all_entries(self) -> Entries:
        """The entries of the whole link."""
        return Entries.from_matrix(self.whole)

    @property
    def whole(self) -> Matrix:
        """The whole link as a matrix."""
        ...


@dataclass(frozen=True)
class StoredLink:
    """A link stored in arrays, of which only the rows in use are read."""

    shape: tuple[int, int]
    indptr: NDArray[np.integer]  # (n_a + 1,) where the entries of each row begin
    indices: ReadRanges  # the column of each entry
    data: ReadRanges  # the weight of each entry
    weights: np.dtype[Any] | None = None  # their type, where they are kept in another one

    @classmethod
    def from_matrix(cls, matrix: Matrix | Entries) -> StoredLink:
        """Wrap a matrix in memory."""
        n_a, n_b = matrix.shape
        return cls((n_a, n_b), matrix.indptr, lambda *_: matrix.indices, lambda *_: matrix.data)

    def row(self, row: int) -> NDArray[np.integer]:
        start, stop = self.indptr[row], self.indptr[row + 1]
        return widen(self.indices(start[None], stop[None])[start:stop])

    def entries(self, row: int) -> tuple[NDArray[np.integer], NDArray[Any]]:
        start, stop = self.indptr[row], self.indptr[row + 1]
        data = self.data(start[None], stop[None])[start:stop]
        return self.row(row), self._weights(data)

    def entries_of(self, rows: NDArray[np.integer]) -> Entries:
        rows = np.asarray(rows, dtype=np.intp)
        starts, stops = self.indptr[rows], self.indptr[rows + 1]
        places, ends = _join_ranges(starts, stops - starts)
        indices = widen(self.indices(starts, stops).take(places))
        data = self._weights(self.data(starts, stops).take(places))
        check_link(indices, ends, len(rows), self.shape[1])
        return Entries((len(rows), self.shape[1]), ends.astype(indices.dtype), indices, data)

    @property
    def counts(self) -> NDArray[np.integer]:
        return np.diff(self.indptr)

    def counts_of(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.asarray(self.indptr[rows + 1] - self.indptr[rows])

    @cached_property
    def all_entries(self) -> Entries:
        """The entries of the whole link, as they are stored."""
        ends = self.indptr[:1], self.indptr[-1:]
        indices, data = widen(self.indices(*ends)), self._weights(self.data(*ends))
        check_link(indices, self.indptr, *self.shape)
        if self.weights is not None:
            data.flags.writeable = False  # as what is mapped
        return Entries(self.shape, self.indptr, indices, data)

    @cached_property
    def whole(self) -> Matrix:
        return self.all_entries.to_matrix()

    def _weights(self, data: NDArray[Any]) -> NDArray[Any]:
        return data if self.weights is None else data.astype(self.weights)


def check_link(indices: NDArray[Any], indptr: NDArray[Any], n_a: int, n_b: int) -> None:
    """Raise DamagedIndex for an index out of bounds, which compiled code would not check."""
    sound = len(indptr) == n_a + 1 and indptr[0] == 0 and indptr[-1] == len(indices)
    sound = sound and not (indptr[1:] < indptr[:-1]).any()
    if not sound or (len(indices) and not 0 <= indices.min() <= indices.max() < n_b):
        raise DamagedIndex("a cached link leaves its bounds: delete the folder 'cached'")


_WEIGHTS = np.dtype(np.float32)
_COUNTS, _MOST_COUNTED = np.dtype(np.uint8), 255  # they hold the weights of most links


def link_to_arrays(link: Matrix | Entries) -> dict[str, NDArray[Any]]:
    """Return a link as arrays by name, to be cached.

    Places are narrowed. Weights of float32 that are whole numbers up to 255 are `counts` of a byte
    each, not `data`.
    """
    parts = {name: narrow(getattr(link, name)) for name in ("indptr", "indices")}
    weights = {"data": link.data}
    if link.data.dtype == _WEIGHTS and np.all((link.data >= 0) & (link.data <= _MOST_COUNTED)):
        counts = link.data.astype(_COUNTS)
        weights = {"counts": counts} if np.array_equal(counts, link.data) else weights
    return {**parts, **weights, "shape": np.asarray(link.shape)}


def link_from_arrays(arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> StoredLink:
    """Open the link that `link_to_arrays` stored; rows are read on access.

    `prefix` stands before the arrays' names.
    """
    n_a, n_b = arrays[f"{prefix}shape"].tolist()
    indptr, indices = widen(arrays[f"{prefix}indptr"]), open_ranges(arrays, f"{prefix}indices")
    if f"{prefix}counts" in arrays:
        counts = open_ranges(arrays, f"{prefix}counts")
        return StoredLink((n_a, n_b), indptr, indices, counts, _WEIGHTS)
    return StoredLink((n_a, n_b), indptr, indices, open_ranges(arrays, f"{prefix}data"))


@dataclass(frozen=True, slots=True)
class Column:
    """A number array of which only the rows in use are read."""

    ranges: ReadRanges
    array: NDArray[Any] | None = None  # all of it, where that is in memory

    @classmethod
    def from_array(cls, array: NDArray[Any]) -> Column:
        """Wrap an array in memory."""
        return cls(lambda *_: array, array)

    def __len__(self) -> int:
        none = np.zeros(0, dtype=np.int64)
        return len(self.ranges(none, none))

    def __getitem__(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        array = self.ranges(rows, rows + 1) if self.array is None else self.array
        return np.asarray(array[rows])

    def get(self, row: int) -> int:
        """Return the value in one row."""
        return int(self[np.array([row])][0] if self.array is None else self.array[row])

    @property
    def whole(self) -> NDArray[Any]:
        """The whole array."""
        ends = np.array([0, len(self)])
        return self.ranges(ends[:1], ends[1:])


_SMALL = 1 << 25  # bytes of an array that is read as a whole


def open_column(arrays: Mapping[str, NDArray[Any]], name: str) -> Column:
    """Open an array as a column; a large one is read by rows."""
    read, none = open_ranges(arrays, name), np.zeros(0, dtype=np.int64)
    return Column(read) if read(none, none).nbytes > _SMALL else Column.from_array(arrays[name])


def open_ranges(arrays: Mapping[str, NDArray[Any]], name: str) -> ReadRanges:
    """Return a function that reads an array; it verifies only the ranges read, if possible."""
    verify = getattr(arrays, "verify_ranges", None)
    if verify is None:
        return lambda *_: arrays[name]
    return partial(verify, name)
