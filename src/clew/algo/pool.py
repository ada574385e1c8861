"""Choose rows within a token budget, and group items by their sizes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def pool_rows(
    keywords: Iterable[int],
    postings: Callable[[int], Sequence[int]],
    n_tokens: NDArray[np.integer],
    limit: int,
) -> dict[int, int]:
    """Return the rows in the keywords' postings, and the first keyword of each.

    Postings are taken keyword by keyword, in order, until a new row does not fit into `limit`
    tokens; the first row is taken whatever its size. Repeated rows cost nothing. KET-RAG's keyword
    channel (Huang et al. 2025, arXiv:2502.09304, Algorithm 4).
    """
    first_keyword: dict[int, int] = {}
    used = 0
    for keyword in keywords:
        for row in postings(keyword):
            if row in first_keyword:
                continue
            if first_keyword and used + n_tokens[row] > limit:
                return first_keyword
            first_keyword[row] = keyword
            used += int(n_tokens[row])
    return first_keyword


def take_fitting(items: Iterable[T], cost: Callable[[T], int], limit: int) -> list[T]:
    """Return the longest prefix of `items` whose total cost is at most `limit`.

    No item is asked for beyond the first that does not fit.
    """
    prefix: list[T] = []
    for item in items:
        limit -= cost(item)
        if limit < 0:
            break
        prefix.append(item)
    return prefix


def group_by_size(
    items: Iterable[T], size_of: Callable[[T], int], enough: int
) -> Iterator[list[T]]:
    """Yield items in groups that end once their total size reaches `enough`."""
    group, size = list[T](), 0
    for item in items:
        group.append(item)
        size += size_of(item)
        if size >= enough:
            yield group
            group, size = [], 0
    if group:
        yield group
