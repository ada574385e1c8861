"""Sorted lists of rows are merged alike, whether they are dense or far apart."""

import numpy as np
import pytest

from clew.algo.ascending import merge_sums


def arrays(rows):
    return np.array(sorted(rows), dtype=np.int64), np.array(
        [float(v) for _, v in sorted(rows.items())]
    )


@pytest.mark.parametrize("apart", [1, 1_000_000])
@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ({0: 1, 3: 2}, {3: 4, 4: 8}, {0: 1, 3: 6, 4: 8}),
        ({}, {2: 4}, {2: 4}),
        ({2: 0}, {}, {2: 0}),
        ({}, {}, {}),
    ],
)
def test_rows_of_both_are_added(first, second, both, apart):
    given = [
        arrays({apart * row: value for row, value in each.items()}) for each in (first, second)
    ]
    rows, sums = merge_sums(*given)
    assert dict(zip(rows.tolist(), sums.tolist(), strict=True)) == {
        apart * row: float(value) for row, value in both.items()
    }
    assert (rows.dtype, sums.dtype) == (np.intp, np.float64)
