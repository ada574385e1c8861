"""Store int32 columns in one or two bytes per number if their range allows it.

Nothing else says which are kept so: no column is of these types by itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDE_TYPE = np.dtype(np.int32)
_NARROW_TYPES = (np.dtype(np.int8), np.dtype(np.uint16), np.dtype(np.int16))


def narrow_type(low: int, high: int) -> np.dtype[Any]:
    """Return the narrowest integer type for numbers from `low` to `high`."""
    for kind in _NARROW_TYPES:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return kind
    return _WIDE_TYPE


def narrow(column: NDArray[Any]) -> NDArray[Any]:
    """Return an int32 column in the narrowest type; any other is unchanged."""
    if column.dtype != _WIDE_TYPE or column.ndim > 1:
        return column
    return column.astype(narrow_type(int(column.min(initial=0)), int(column.max(initial=0))))


def widen(column: NDArray[Any]) -> NDArray[Any]:
    """Undo `narrow` for a column or a part of it."""
    return column.astype(_WIDE_TYPE) if column.dtype in _NARROW_TYPES else column
