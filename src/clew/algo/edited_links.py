"""Sparse links with edited rows and columns, read without rewriting what is stored."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo import ascending
from clew.algo.links import Entries, Link, Matrix, check_link, take_rows
from clew.algo.row_edits import RowEdits

_MAX_IN_MEMORY = 1 << 20  # entries of a link that is kept in memory
_MANY = 8  # rows to one that is read: of fewer, all are merged
_ALONE = 32  # reads of some rows that together take as long as to merge a link of 10,000 rows

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class FreshRows:
    """New entries for some rows of a link; all other rows keep the stored entries."""

    rows: Rows  # ascending
    entries: Entries  # (len(rows), n_b)

    def transpose(self, n_rows: int) -> "FreshRows":
        """Return the entries by column; the link has `n_rows` rows."""
        entries = self.entries
        rows = ascending.sort_distinct(entries.indices)
        order = np.argsort(entries.indices, kind="stable")
        ends = np.append(np.searchsorted(entries.indices[order], rows), len(order))
        columns = self.rows[entries.owners[order]]
        turned = Entries((len(rows), n_rows), ends, columns, entries.data[order])
        return FreshRows(rows.astype(np.int64), turned)

    def find(self, rows: NDArray[np.integer]) -> tuple[Rows, Rows]:
        """Return which of the rows are fresh, and their indices."""
        return ascending.match_sorted(self.rows, rows)

    def get_entries(self, row: int) -> "_Row | None":
        """Return the columns and weights of a fresh row, else None."""
        place = int(np.searchsorted(self.rows, row))
        if place == len(self.rows) or self.rows[place] != row:
            return None
        own = slice(self.entries.indptr[place], self.entries.indptr[place + 1])
        return self.entries.indices[own], self.entries.data[own]


class _Edited(Link):
    """A link after edits; kept in memory once read as a whole or, if small, some times in part."""

    def entries(self, row: int) -> "_Row":
        entries = self._keep_whole(1)
        if entries is None:
            return self._read_row(row)
        own = slice(entries.indptr[row], entries.indptr[row + 1])
        return entries.indices[own], entries.data[own]

    def entries_of(self, rows: NDArray[np.integer]) -> Entries:
        entries = self._keep_whole(len(rows))
        return self._read_rows(np.asarray(rows)) if entries is None else take_rows(entries, rows)

    @cached_property
    def all_entries(self) -> Entries:
        """The entries of the whole link."""
        return self._read_rows(np.arange(self.shape[0]))

    @cached_property
    def whole(self) -> Matrix:
        return self.all_entries.to_matrix()

    def _keep_whole(self, n_rows: int) -> Entries | None:
        """Return the whole link where it is in memory, or is now worth it to read so many rows."""
        if "all_entries" in self.__dict__:
            return self.all_entries
        is_worth_it = n_rows * _MANY > self.shape[0] or next(self._reads) >= _ALONE
        return self.all_entries if is_worth_it and self._has_few else None

    @cached_property
    def _reads(self) -> Iterator[int]:
        return count()

    @cached_property
    def _has_few(self) -> bool:
        return int(self.counts.sum()) <= _MAX_IN_MEMORY

    @abstractmethod
    def _read_row(self, row: int) -> "_Row":
        """Read the entries of one row from the stored link."""

    @abstractmethod
    def _read_rows(self, rows: NDArray[np.integer]) -> Entries:
        """Read the entries of several rows from the stored link."""


@dataclass(frozen=True)
class EditedLink(_Edited):
    """A stored link with edited rows and columns; `fresh` rows replace stored ones.

    Every added row is fresh. A removed column occurs only in fresh rows, unless it was replaced.
    """

    stored: Link
    row_edits: RowEdits
    column_edits: RowEdits
    fresh: FreshRows

    @property
    def shape(self) -> tuple[int, int]:
        return self.row_edits.size, self.column_edits.size

    def _read_row(self, row: int) -> "_Row":
        fresh = self.fresh.get_entries(row)
        if fresh is not None:
            return fresh
        columns, data = self.stored.entries(self.row_edits.former_row(row))
        return _sort_entries(self.column_edits.to_present(columns), data)

    def _read_rows(self, rows: NDArray[np.integer]) -> Entries:
        rows = rows.astype(np.int64)
        new, places = self.fresh.find(rows)
        former = self.row_edits.to_former(rows)
        former[new] = -1
        old = np.flatnonzero(former >= 0)
        entries = self.stored.entries_of(former[old])
        columns = self.column_edits.to_present(entries.indices)
        return _merge_entries(
            (old[entries.owners], columns, entries.data),
            _entries_at(new, self.fresh.entries, places),
            (len(rows), self.shape[1]),
            entries.indices.dtype,
        )

    @cached_property
    def counts(self) -> NDArray[np.integer]:
        new = np.zeros(len(self.row_edits.at), dtype=np.int64)
        counts = self.row_edits.apply(self.stored.counts, new)
        counts[self.fresh.rows] = self.fresh.entries.counts
        return counts


@dataclass(frozen=True)
class TransposedEdits(_Edited):
    """The transpose of an edited link; `stored` is the transpose of the stored link."""

    stored: Link
    edited: EditedLink

    @property
    def shape(self) -> tuple[int, int]:
        return self.edited.shape[::-1]

    def _read_row(self, row: int) -> "_Row":
        none = np.zeros(0, dtype=np.int32)
        columns, data = self._fresh_by_column.get_entries(row) or (none, none)
        former = self.edited.column_edits.former_row(row, followed=True)
        if former < 0:
            return columns, data
        stored, stored_data = self.stored.entries(former)
        rows, is_kept = self._map_kept(stored)
        together = np.concatenate([stored_data[is_kept], data])
        return _sort_entries(np.concatenate([rows[is_kept], columns]), together)

    def _read_rows(self, rows: NDArray[np.integer]) -> Entries:
        rows = rows.astype(np.int64)
        former = self.edited.column_edits.to_former(rows, followed=True)
        old = np.flatnonzero(former >= 0)
        stored = self.stored.entries_of(former[old])
        columns, is_kept = self._map_kept(stored.indices)
        owners = old[stored.owners]
        new, places = self._fresh_by_column.find(rows)
        return _merge_entries(
            (owners[is_kept], columns[is_kept], stored.data[is_kept]),
            _entries_at(new, self._fresh_by_column.entries, places),
            (len(rows), self.shape[1]),
            stored.indices.dtype,
        )

    def _map_kept(self, stored: NDArray[np.integer]) -> tuple[Rows, NDArray[np.bool_]]:
        """Renumber the columns of stored entries; also return which entries remain."""
        columns = self.edited.row_edits.to_present(stored, followed=False)
        is_kept = columns >= 0
        is_kept[self.edited.fresh.find(columns)[0]] = False  # these are other ones now
        return columns, is_kept

    @cached_property
    def counts(self) -> NDArray[np.integer]:
        return self.follow_counts(self.stored.counts)

    def follow_counts(self, stored: NDArray[np.integer], mark: int | None = None) -> Rows:
        """Return the number of entries of each row, from the counts of the stored rows.

        With a `mark` only those of entries whose weight has this bit.
        """
        edits, rows, fresh = self.edited.column_edits, self.edited.row_edits, self._fresh_by_column
        changed = rows.to_former(self.edited.fresh.rows)
        left = self.edited.stored.entries_of(np.concatenate([rows.gone, changed[changed >= 0]]))
        came_to, came = np.repeat(fresh.rows, fresh.entries.counts), fresh.entries.data
        gone_from, gone = left.indices, left.data
        if mark is not None:
            came_to, gone_from = came_to[came & mark > 0], gone_from[gone & mark > 0]
        former = np.array(stored, dtype=np.int64)
        np.subtract.at(former, gone_from, 1)
        moved = edits.origin >= 0
        followed = former[np.where(moved, edits.origin, 0)] if len(former) else 0
        counts = edits.apply(former, np.where(moved, followed, 0))
        np.add.at(counts, came_to, 1)
        return counts

    @cached_property
    def _fresh_by_column(self) -> FreshRows:
        return self.edited.fresh.transpose(self.shape[1])


def _sort_entries(columns: Rows, data: NDArray[Any]) -> "_Row":
    if len(columns) > 1 and np.any(columns[1:] < columns[:-1]):
        order = np.argsort(columns, kind="stable")
        return columns[order], data[order]
    return columns, data


_Row = tuple["NDArray[np.integer]", "NDArray[Any]"]
_Entries = tuple["NDArray[np.integer]", "NDArray[np.integer]", "NDArray[Any]"]


def _entries_at(rows: Rows, entries: Entries, places: Rows) -> _Entries:
    """Return the entries at some positions, for the given `rows`."""
    selected = take_rows(entries, places)
    return rows[selected.owners], selected.indices, selected.data


def _merge_entries(
    old: _Entries, new: _Entries, shape: tuple[int, int], index: np.dtype[Any]
) -> Entries:
    """Merge the entries of two disjoint sets of positions."""
    rows, columns = (np.concatenate([a, b]) for a, b in zip(old[:2], new[:2], strict=True))
    data = np.concatenate([old[2], new[2].astype(old[2].dtype, copy=False)])
    keys = rows.astype(np.int64) * shape[1] + columns
    if len(keys) and np.any(np.diff(keys) < 0):
        order = np.argsort(keys, kind="stable")
        rows, columns, data = rows[order], columns[order], data[order]
    indptr = np.zeros(shape[0] + 1, dtype=index)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    columns = columns.astype(index, copy=False)
    check_link(columns, indptr, *shape)
    return Entries(shape, indptr, columns, data)
