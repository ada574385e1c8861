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


def mark_scripts(text: str, page: PdfTextPage) -> str:
    """Return the text of a page with its raised and lowered digits; each is one character still."""
    from pypdfium2.raw import FPDFText_GetFontSize

    characters = list(text)
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        start -= start > 0 and (text[start - 1].isalnum() or text[start - 1] in ")]")
        size = FPDFText_GetFontSize(page, start) if end > start + 1 else 0
        if not size or FPDFText_GetFontSize(page, end - 1) >= _SMALLER * size:
            continue
        inside = range(start + 1, end)
        first = next(i for i in inside if FPDFText_GetFontSize(page, i) < _SMALLER * size)
        rise = (_find_baseline(page, first) - _find_baseline(page, start)) / size
        if _RAISED < rise < 1:
            characters[first:end] = superscript(text[first:end])
        elif _LOWERED < -rise < 1:
            characters[first:end] = subscript(text[first:end])
    return "".join(characters)


def _find_baseline(page: PdfTextPage, i: int) -> float:
    from pypdfium2.raw import FPDFText_GetCharOrigin

    x, y = c_double(), c_double()
    FPDFText_GetCharOrigin(page, i, x, y)
    return y.value
