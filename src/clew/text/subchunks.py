"""Halve a chunk into smaller parts by tokens.

Huang et al. (2025), "KET-RAG", arXiv:2502.09304: keywords point at sub-chunks, while chunks stay
the unit that a model reads. A short last chunk stays whole instead of being cut to pieces.
"""

from itertools import pairwise

from clew.errors import InputError
from clew.text import tokens


def halve(text: str, start: int, end: int, depth: int, limit: int) -> list[tuple[int, int]]:
    """Return the (start, end) characters of the parts of text[start:end], in order, without gaps.

    Halving i = 1, 2, ... cuts each part of more than `limit` / 2^i tokens in two, the first with
    one token more where their number is odd. So none of at most `limit` tokens leaves a part
    above ⌈limit / 2^depth⌉. Tokens are those of the whole range, and a character of several
    goes with the last of them. An empty range has no parts.

    A part of white space alone is then joined to the one before it, or to the first that has
    something to read. So every part has, if the range has, and white space may take it above
    that bound.

    Raises InputError for a depth below 0 or a limit below 1.
    """
    if depth < 0 or limit < 1:
        raise InputError(
            f"cannot halve {depth} times from {limit} tokens: "
            "take a depth of at least 0 and a limit of at least 1"
        )
    if depth == 0:
        return [(start, end)] if start < end else []
    whole = text[start:end]
    begins = tokens.token_starts(whole)
    cuts = [start + int(begins[i]) for i in _cuts(len(begins), depth, limit)]
    readable = end - len(whole.lstrip())
    parts = pairwise(sorted({start, *cuts, end}))
    kept = [a for a, b in parts if a > readable and text[a:b].strip()]
    return list(pairwise(sorted({start, *kept, end})))


def _cuts(n_tokens: int, depth: int, limit: int) -> list[int]:
    """Return the tokens before which to cut, ascending."""
    edges = [0, n_tokens]
    for i in range(1, depth + 1):
        long = [(a, b) for a, b in pairwise(edges) if b - a > max(limit / 2**i, 1)]
        edges = sorted([*edges, *(a + (b - a + 1) // 2 for a, b in long)])
    return edges[1:-1]
