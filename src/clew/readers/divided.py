"""Words that are divided at the end of a line are joined."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_HYPHEN = "\x02"  # PDFium's mark for one at the end of a line, and ours
_HYPHEN_WORDS = re.compile(r"\w+(?:[-\u2010]\w+)*")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")  # glyphs without a character
_DIVIDED = re.compile(r"(?<=\w)-\n(?=\w)")


def mark_divided_words(text: str) -> str:
    """Return a text in which each hyphen that divides a word between two lines is marked."""
    return _DIVIDED.sub(_HYPHEN, text)


def join_divided_words(texts: Sequence[str]) -> list[str]:
    """Return the pages with divided words joined.

    A hyphen stays where the text has it in the same word elsewhere, or where a capital or a digit
    follows: "built-in", "Mordell-Weil".
    """
    words = {
        word.casefold().replace("\u2010", "-")
        for text in texts
        if _HYPHEN in text
        for word in _HYPHEN_WORDS.findall(text)
    }

    def join_word(left: str, right: str) -> str:
        joined, compound = f"{left}{right}", f"{left}-{right}"
        if joined.casefold() in words or not (left and right):
            return joined if left and right else compound
        return joined if right[0].islower() and compound.casefold() not in words else compound

    return [_CONTROLS.sub("", _join_at_hyphens(text, join_word)) for text in texts]


def _join_at_hyphens(text: str, whole: Callable[[str, str], str]) -> str:
    """Return a text in which what stands on both sides of a hyphen is one, as `whole` says."""
    before, *pieces = text.split(_HYPHEN)
    parts = []
    for piece in pieces:
        left = next((i for i in range(len(before), 0, -1) if not _is_of_word(before[i - 1])), 0)
        right = next((i for i, c in enumerate(piece) if not _is_of_word(c)), len(piece))
        parts += [before[:left], whole(before[left:], piece[:right])]
        before = piece[right:]
    return "".join([*parts, before])


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"
