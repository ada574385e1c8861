"""Edits of rows: which were removed and added, and the new numbers of the rest."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

_BULK_SHARE = 8  # the share of all rows, one in so many, above which the numbers of all are made


def drop_disordered(rows: NDArray[np.integer]) -> Rows:
    """Replace the fewest former row numbers by -1 so that the others ascend."""
    ordered = rows.astype(np.int64)
    at = np.flatnonzero(ordered >= 0)
    if np.all(np.diff(ordered[at]) > 0):
        return ordered
    lowest: list[int] = []  # of the longest ascents so far, by length, the lowest last number
    lengths = []
    for row in ordered[at].tolist():
        place = bisect_left(lowest, row)
        lowest[place : place + 1] = [row]
        lengths.append(place + 1)
    length, above = len(lowest), np.iinfo(np.int64).max
    for place, own in zip(at[::-1].tolist(), reversed(lengths), strict=True):
        if own == length and ordered[place] < above:
            length, above = length - 1, int(ordered[place])
        else:
            ordered[place] = -1
    return ordered


@dataclass(frozen=True)
class RowEdits:
    """Edits of `n` rows: some removed, some added, the rest in their old order.

    A row that is another one now, or stands elsewhere, is one that went and one that came.
    """

    n: int  # rows before
    gone: Rows  # that went, ascending
    at: Rows  # that came, ascending, in the numbers of now
    origin: Rows  # of each that came the row that went in its place, -1 for one that is new

    @classmethod
    def from_changes(
        cls, n: int, gone: Rows, before: Rows, origin: Rows | None = None
    ) -> "RowEdits":
        """Return the edits that insert rows before ascending rows of `n`; n is the end."""
        at = before - np.searchsorted(gone, before) + np.arange(len(before))
        new = np.full(len(at), -1, dtype=np.int64) if origin is None else origin
        return cls(n, gone, at, new)

    @property
    def size(self) -> int:
        """The number of present rows."""
        return self.n - len(self.gone) + len(self.at)

    @cached_property
    def before(self) -> Rows:
        """The kept former row that each added row is inserted before; n is the end."""
        return self._insertion_places + np.searchsorted(
            self._n_gone_before, self._insertion_places, side="right"
        )

    def to_present(self, rows: NDArray[np.integer], *, followed: bool = True) -> Rows:
        """Map former rows to present rows, -1 for removed ones.

        Where it is `followed`, one that came in place of another has that one's number.
        """
        if len(rows) * _BULK_SHARE > self.n:
            numbers = self._all_present_rows if followed else self._kept_present_rows
            return np.asarray(numbers[rows])  # of which the last one is -1
        gone = np.searchsorted(self.gone, rows)
        positions = rows - gone
        present = positions + np.searchsorted(self._insertion_places, positions, side="right")
        went = np.searchsorted(self.gone, rows, side="right") > gone
        if went.any():
            present[went] = self._successors[gone[went]] if followed else -1
        present[rows < 0] = -1
        return present.astype(np.int64, copy=False)

    def to_former(self, rows: NDArray[np.integer], *, followed: bool = False) -> Rows:
        """Map present rows to former rows, -1 for added ones.

        Where it is `followed`, one that came in place of another has that one's number.
        """
        came = np.searchsorted(self.at, rows)
        positions = rows - came
        former = positions + np.searchsorted(self._n_gone_before, positions, side="right")
        is_new = np.searchsorted(self.at, rows, side="right") > came
        if is_new.any():
            former[is_new] = self.origin[came[is_new]] if followed else -1
        return former.astype(np.int64, copy=False)

    def present_row(self, row: int) -> int:
        """Map one former row as `to_present` does with `follow`, ten times as fast."""
        if row < 0:
            return -1
        gone, places, *_ = self._as_lists
        place = bisect_left(gone, row)
        if place < len(gone) and gone[place] == row:
            return int(self._successors[place])
        return row - place + bisect_right(places, row - place)

    def former_row(self, row: int, *, followed: bool = False) -> int:
        """Map one present row as `to_former` does."""
        place, former = self.find_row(row)
        return int(self.origin[place]) if followed and former < 0 else former

    def find_row(self, row: int) -> tuple[int, int]:
        """Return the number of added rows before a present row, and its former row.

        That is -1 where it came itself: the first number is its place among those then.
        """
        _, _, n_gone_before, at = self._as_lists
        place = bisect_left(at, row)
        if place < len(at) and at[place] == row:
            return place, -1
        return place, row - place + bisect_right(n_gone_before, row - place)

    @cached_property
    def _as_lists(self) -> tuple[list[int], ...]:
        """The removed rows, both arrays of insertion points, and the added rows, as lists."""
        arrays = (self.gone, self._insertion_places, self._n_gone_before, self.at)
        return tuple(rows.tolist() for rows in arrays)

    def apply(self, former: NDArray[Any], came: NDArray[Any]) -> NDArray[Any]:
        """Merge former values and new values into those of all present rows."""
        values = np.empty((self.size, *former.shape[1:]), dtype=former.dtype)
        is_new = np.zeros(self.size, dtype=bool)
        is_new[self.at] = True
        values[~is_new] = np.delete(former, self.gone, axis=0)
        values[is_new] = came
        return values

    @cached_property
    def _insertion_places(self) -> Rows:
        """The index among the kept rows that each added row is inserted before."""
        return self.at - np.arange(len(self.at))

    @cached_property
    def _n_gone_before(self) -> Rows:
        """The number of kept rows before each removed row."""
        return self.gone - np.arange(len(self.gone))

    @cached_property
    def _successors(self) -> Rows:
        """The present row that replaces each removed row, -1 for none."""
        successors = np.full(len(self.gone), -1, dtype=np.int64)
        moved = np.flatnonzero(self.origin >= 0)
        successors[np.searchsorted(self.gone, self.origin[moved])] = self.at[moved]
        return successors

    @cached_property
    def _kept_present_rows(self) -> Rows:
        """Return `to_present` without replacements, for all former rows and -1."""
        present = np.full(self.n + 1, -1, dtype=np.int64)
        is_kept = np.ones(self.n + 1, dtype=bool)
        is_kept[self.gone], is_kept[-1] = False, False
        present[is_kept] = np.delete(np.arange(self.size), self.at)
        return present

    @cached_property
    def _all_present_rows(self) -> Rows:
        present = self._kept_present_rows.copy()
        present[self.gone] = self._successors
        return present
