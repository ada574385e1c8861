"""Superscripts and subscripts in plain text, so that 10³ does not become 103.

Digits and signs become the characters that Unicode has for them; other characters stay on the line
where letters alone stand raised, as in "1st", and follow "^" or "_" where they hold a digit or
belong to a formula.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter

_SUPERSCRIPTS = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_SUBSCRIPTS = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_TERM = re.compile(r"\w+(?:\.\d+)?|\([^()]*\)")
_ACCENTS = "′″‴¯ˉˆ^~˜˙¨→"
_VARIABLES = frozenset("nxykijmt")  # of an exponent; other letters are those of "1st" and "Mlle"


def superscript(text: str) -> str:
    """Return a text in superscript characters.

    >>> superscript("3"), superscript("st"), superscript("2n/3"), superscript("[1]")
    ('³', 'st', '^(2n/3)', '[1]')
    """
    return _shift(text, _SUPERSCRIPTS, "^")


def subscript(text: str) -> str:
    """Return a text in subscript characters.

    >>> subscript("2"), subscript("max"), subscript("1,2")
    ('₂', 'max', '_(1,2)')
    """
    return _shift(text, _SUBSCRIPTS, "_")


def join_shifted(pieces: Iterable[tuple[str, str]]) -> str:
    """Join pieces marked as "super", "sub" or "".

    >>> join_shifted([("10", ""), ("-", "super"), ("6", "super"), (" m", "")])
    '10⁻⁶ m'
    """
    shift = {"super": superscript, "sub": subscript}
    runs = (
        (kind, "".join(text for text, _ in run)) for kind, run in groupby(pieces, itemgetter(1))
    )
    return "".join(shift[kind](text) if kind in shift else text for kind, text in runs)


def write_formula(marks: str, parts: Sequence[str]) -> str:
    """Return a formula from its parts; marks "^" and "_" raise and lower a part.

    >>> write_formula("^", ["x+1", "2"]), write_formula("_^", ["x", "i", "T"])
    ('(x+1)²', 'x_i^T')
    >>> write_formula("/", ["a", "b+1"]), write_formula("/", ["1", "2"])
    ('a/(b+1)', '1/2')
    """
    written = "".join(map(enclose, parts[:1]))
    for mark, part in zip(marks, parts[1:], strict=False):
        shifted = {"^": superscript, "_": subscript}.get(mark, str)(part)
        is_own = shifted != part or not part.strip(_ACCENTS)  # needs no mark
        written += shifted if is_own else f"{mark}{enclose(part)}"
    return written


def enclose(formula: str) -> str:
    """Return a part of a formula, in parentheses if it has several terms."""
    is_one = len(formula) < 2 or _TERM.fullmatch(formula)
    return formula if is_one else f"({formula})"


def _shift(text: str, table: dict[int, int], mark: str) -> str:
    words = text.strip()
    if not words or words[0] == "[":  # a reference such as [1] is set apart already
        return text
    if all(ord(character) in table for character in words):
        return words.translate(table)
    if any(map(str.isdigit, words)) or (mark == "^" and words in _VARIABLES):
        return f"{mark}{words}" if words.isalnum() else f"{mark}({words})"
    return text
