"""Lists of a prompt: short lines, and the places of those that a reply names."""

from __future__ import annotations

from collections.abc import Iterable

from clew.text import tokens
from clew.text.normalize import collapse

_LINE_TOKENS = 40


def short(text: str) -> str:
    """Return the beginning of an entity's or triple's text, as one line of at most 40 tokens."""
    return tokens.truncate(collapse(text), _LINE_TOKENS)


def places(numbers: Iterable[float], n: int) -> list[int]:
    """Return the places, from 0, of the numbers 1 to `n`, each once; there are no others.

    JSON may write a whole number as 2.0.
    """
    return [int(number) - 1 for number in dict.fromkeys(numbers) if 1 <= number <= n]
