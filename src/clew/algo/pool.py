"""Choose rows within a number of tokens."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def pooled(
    keywords: Iterable[int],
    postings: Callable[[int], Sequence[int]],
    n_tokens: NDArray[np.integer],
    limit: int,
) -> dict[int, int]:
    """Return the rows that the keywords' postings give, and the first keyword that gave each.

    Keywords are taken in order and each one's postings in theirs, until a new row does not fit
    into `limit` tokens any more; the first is taken whatever its size. A row is looked for among
    those taken before its size is, so one seen before ends nothing.

    KET-RAG's keyword channel (Huang et al. 2025, arXiv:2502.09304, Algorithm 4).
    """
    found: dict[int, int] = {}
    used = 0
    for keyword in keywords:
        for row in postings(keyword):
            if row in found:
                continue
            if found and used + n_tokens[row] > limit:
                return found
            found[row] = keyword
            used += int(n_tokens[row])
    return found


def fitting(rows: Iterable[int], cost: Callable[[int], int], limit: int) -> list[int]:
    """Return the longest beginning of `rows` whose costs together are at most `limit`."""
    chosen: list[int] = []
    for row in rows:
        limit -= cost(row)
        if limit < 0:
            break
        chosen.append(row)
    return chosen
