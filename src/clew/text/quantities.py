"""Format counts with their nouns, and numbers as ranges."""

from collections.abc import Sequence


def format_count(n: int, what: str) -> str:
    """Return a number with its noun, given in the singular: "1 triple", "2,000 entities"."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n:,} {what if n == 1 else many}"


def join_numbers(numbers: Sequence[int]) -> str:
    """Join ascending numbers, consecutive ones as ranges.

    >>> join_numbers([2, 3, 4, 7])
    '2-4, 7'
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ", ".join("-".join(map(str, ends)) for ends in ranges)
