"""Search sorted arrays for values, and look up rows that may be missing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import match_sorted
from clew.algo.links import expand_ranges
from clew.index.generation.rows import Rows

BEHIND_ALL = np.iinfo(np.int64).max  # behind every chunk and place


def insertion_places(
    column: NDArray[Any], values: NDArray[np.integer], *, behind: bool = False
) -> Rows:
    """Return the insertion points of values in an ascending column."""
    own = values.astype(column.dtype, copy=False)  # else the whole column were copied
    return np.searchsorted(column, own, side="right" if behind else "left").astype(np.int64)


def rows_below(parents: NDArray[Any], rows: NDArray[np.integer]) -> Rows:
    """Return the positions in ascending `parents` that hold one of the given rows."""
    return expand_ranges(
        insertion_places(parents, rows), insertion_places(parents, rows, behind=True)
    )[1].astype(np.int64)


def places_inside(parents: NDArray[Any], ranks: NDArray[Any], rows: Rows, values: Rows) -> Rows:
    """Return the insertion points of values among `ranks`, ascending within each parent."""
    first, last = insertion_places(parents, rows), insertion_places(parents, rows, behind=True)
    while np.any(first < last):
        some = np.flatnonzero(first < last)
        middle = (first[some] + last[some]) // 2
        is_less = ranks[middle] < values[some]
        first[some[is_less]] = middle[is_less] + 1
        last[some[~is_less]] = middle[~is_less]
    return first


def are_in(values: NDArray[Any], among: Rows) -> NDArray[np.bool_]:
    """Mark the values that are in ascending `among`."""
    is_in = np.zeros(len(values), dtype=bool)
    is_in[match_sorted(among, values)[0]] = True
    return is_in


def take_or_default(table: NDArray[Any], rows: Rows, *, other: int | bool = -1) -> NDArray[Any]:
    """Return table[rows], with `other` where a row is out of bounds."""
    values = np.full(len(rows), other, dtype=bool if table.dtype == bool else np.int64)
    inside = (rows >= 0) & (rows < len(table))
    values[inside] = table[rows[inside]]
    return values


def take_or_any(column: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Return column[rows], with an arbitrary value where a row is -1."""
    return column[np.maximum(rows, 0)] if len(column) else np.zeros(len(rows), column.dtype)


def first_in_groups(groups: NDArray[np.integer], size: int) -> Rows:
    """Return the first position of each of `size` groups, -1 for an empty one."""
    first = np.full(size, -1, dtype=np.int64)
    first[groups[::-1]] = np.arange(len(groups))[::-1]
    return first
