"""Superscripts and subscripts of a PDF: digits that are smaller than what they follow, and shifted.

A PDF says nothing of them, so that 10³ would be read as 103 and the note of 1987² as 19872.
"""

from __future__ import annotations

import re
from ctypes import c_double
from typing import TYPE_CHECKING

from clew.readers.scripts import subscript, superscript

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_DIGITS = re.compile(r"[+\-−]?\d+")
_SMALLER = 0.9  # of the size of what they follow, at most
_RAISED, _LOWERED = 0.15, 0.05  # of that size, at least, and once that size at most
_LEVEL = 0.01


def mark_scripts(text: str, page: PdfTextPage) -> str:
    """Return the text of a page with its raised and lowered digits; each is one character still."""
    from pypdfium2.raw import FPDFText_GetFontSize

    pieces, done = [], 0
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        if start and (text[start - 1].isalnum() or text[start - 1] in ")]"):
            start -= 1
        if start == end - 1:
            continue
        size = FPDFText_GetFontSize(page, start)
        if FPDFText_GetFontSize(page, end - 1) < _SMALLER * size:
            inside = range(start + 1, end)
            first = next(i for i in inside if FPDFText_GetFontSize(page, i) < _SMALLER * size)
            pieces += [text[done:first], _shift(text, page, start, first, end)]
            done = end
    return "".join([*pieces, text[done:]])


def _shift(text: str, page: PdfTextPage, before: int, first: int, end: int) -> str:
    """Return text[first:end] as it stands to the character before it."""
    from pypdfium2.raw import FPDFText_GetFontSize

    size = FPDFText_GetFontSize(page, before)
    base, own, last = (_baseline(page, i) / size for i in (before, first, end - 1))
    if abs(last - own) <= _LEVEL and _RAISED < own - base < 1:
        return superscript(text[first:end])
    is_lowered = abs(last - own) <= _LEVEL and _LOWERED < base - own < 1
    return subscript(text[first:end]) if is_lowered else text[first:end]


def _baseline(page: PdfTextPage, i: int) -> float:
    from pypdfium2.raw import FPDFText_GetCharOrigin

    x, y = c_double(), c_double()
    FPDFText_GetCharOrigin(page, i, x, y)
    return y.value
