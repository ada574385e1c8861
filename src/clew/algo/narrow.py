"""Columns of int32 in one or two bytes a number, where their numbers allow it.

Nothing else says which are kept so: no column is of these types by itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDE = np.dtype(np.int32)
_NARROW = (np.dtype(np.int8), np.dtype(np.uint16), np.dtype(np.int16))


def narrow_type(low: int, high: int) -> np.dtype[Any]:
    """Return the narrowest type of a column of int32 with numbers from `low` to `high`."""
    for kind in _NARROW:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return kind
    return _WIDE


def narrow(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column as it is kept; only one of int32 may have another type there."""
    if column.dtype != _WIDE or column.ndim > 1:
        return column
    return column.astype(narrow_type(int(column.min(initial=0)), int(column.max(initial=0))))


def widen(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column, or some of it, as it was before `narrow`."""
    return column.astype(_WIDE) if column.dtype in _NARROW else column
