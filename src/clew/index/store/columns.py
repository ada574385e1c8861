"""Read some rows of stored columns without loading whole columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.coding import widen
from clew.algo.links import expand_ranges
from clew.index.store.schema import Segment, parent_column, size_column
from clew.index.store.segments import MappedSegment

Rows = NDArray[np.int64]

_FEW = 2**18  # rows: so many numbers are about the block of a segment that is checked at once

_BULK_SHARE = 16  # of a column; where more is searched for, all of it is read


@dataclass(frozen=True, slots=True)
class StoredColumns:
    """The concatenated columns of all segments, read lazily."""

    segments: Sequence[Segment]
    _places_by_name: dict[str, list[tuple[Segment, int, int]]] = field(
        default_factory=dict, repr=False
    )

    def size(self, layer: str) -> int:
        """Return the number of stored rows of a layer, dead ones included."""
        return sum(self.sizes(size_column(layer)))

    def sizes(self, name: str) -> list[int]:
        """Return the number of rows of a column in each segment that has it."""
        return [end - begin for _, begin, end in self._places(name)]

    def tail(self, name: str, start: int) -> NDArray[Any]:
        """Return a column from one row on."""
        parts = [
            widen(_read_part(segment, name, max(start - begin, 0), end - begin))
            for segment, begin, end in self._places(name)
            if end > start
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)

    def take(self, name: str, rows: Rows) -> NDArray[Any]:
        """Return some rows of a column."""
        taken: NDArray[Any] | None = None
        least, most = (rows.min(), rows.max()) if len(rows) else (0, -1)
        for segment, begin, end in self._places(name):
            if begin <= least and most < end:
                return widen(_read_rows(segment, name, rows - begin))
            mine = np.flatnonzero((rows >= begin) & (rows < end))
            if taken is None or len(mine):
                values = widen(_read_rows(segment, name, rows[mine] - begin))
                if taken is None:
                    taken = np.zeros((len(rows), *values.shape[1:]), dtype=values.dtype)
                taken[mine] = values
        return np.zeros(len(rows), dtype=np.int32) if taken is None else taken

    def rows_below(self, layer: str, parents: Rows) -> tuple[Rows, Rows]:
        """Return the rows of a layer below given parents, and the index of each one's parent.

        In the order of the parents, which may not be those of another extraction. O(log n) each.
        """
        name = parent_column(layer)
        rows, owners = [], []
        for segment, begin, end in self._places(name):
            if begin == end:
                continue
            ends = np.array([0, end - begin - 1])
            least, most = _verify_ranges(segment, name, ends, ends + 1)[ends].tolist()
            some = np.flatnonzero((parents >= least) & (parents <= most))
            if not len(some):
                continue
            both = np.concatenate([parents[some], parents[some] + 1])
            first, last = _search_sorted(segment, name, both).reshape(2, -1)
            owner, local = expand_ranges(first, last)
            rows.append((begin + local).astype(small_type(end)))
            owners.append(some[owner].astype(small_type(len(parents))))
        children, owner = (
            np.concatenate(each or [np.zeros(0, np.int32)]) for each in (rows, owners)
        )
        if np.any(owner[1:] < owner[:-1]):
            order = np.argsort(owner, kind="stable")
            children, owner = children[order], owner[order]
        return children, owner

    def _places(self, name: str) -> list[tuple[Segment, int, int]]:
        """Return the segments with a column, with their row ranges in it."""
        if name not in self._places_by_name:
            places, begin = [], 0
            for segment in self.segments:
                if name in segment:
                    end = begin + _count_rows(segment, name)
                    places.append((segment, begin, end))
                    begin = end
            self._places_by_name[name] = places
        return self._places_by_name[name]


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """An array of a segment, read and verified only in the rows in use."""

    segment: Segment
    name: str

    def __len__(self) -> int:
        return _count_rows(self.segment, self.name)

    def part(self, start: int, stop: int) -> NDArray[Any]:
        return _read_part(self.segment, self.name, start, stop)

    def take(self, rows: Rows) -> NDArray[Any]:
        return _read_rows(self.segment, self.name, rows)


def _count_rows(segment: Segment, name: str) -> int:
    return segment.length(name) if isinstance(segment, MappedSegment) else len(segment[name])


def _read_part(segment: Segment, name: str, start: int, stop: int) -> NDArray[Any]:
    if isinstance(segment, MappedSegment):
        return segment.part(name, start, stop)
    return segment[name][start:stop]


def _read_rows(segment: Segment, name: str, rows: Rows) -> NDArray[Any]:
    is_bulk = len(rows) * _BULK_SHARE > _count_rows(segment, name)
    column = segment[name] if is_bulk else _verify_ranges(segment, name, rows, rows + 1)
    return column.take(rows, axis=0)  # of rows of bytes in half the time of an index


def _verify_ranges(segment: Segment, name: str, starts: Rows, stops: Rows) -> NDArray[Any]:
    if isinstance(segment, MappedSegment):
        return segment.verify_ranges(name, starts, stops)
    return segment[name]


def _search_sorted(segment: Segment, name: str, values: Rows) -> Rows:
    """Return the insertion points of values in an ascending column, by binary search on disk."""
    length = _count_rows(segment, name)
    if length <= max(_FEW, _BULK_SHARE * len(values)):
        column = widen(_read_part(segment, name, 0, length))
        return np.searchsorted(column, values.astype(column.dtype)).astype(np.int64)
    first = np.zeros(len(values), dtype=np.int64)
    last = np.full(len(values), length, dtype=np.int64)
    while np.any(first < last):
        open_ = np.flatnonzero(first < last)
        middle = (first[open_] + last[open_]) // 2
        is_less = _verify_ranges(segment, name, middle, middle + 1)[middle] < values[open_]
        first[open_[is_less]] = middle[is_less] + 1
        last[open_[~is_less]] = middle[~is_less]
    return first


def small_type(n: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type for numbers up to `n` and sums of two."""
    return np.int32 if n < 2**30 else np.int64
