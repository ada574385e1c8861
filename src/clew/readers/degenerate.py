"""Text that has no words, although it is text: encoded data, or one character again and again."""

from __future__ import annotations

import re
from string import whitespace

_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{60,}={0,2}")  # a line of base64 or hexadecimal digits
_MIN_DIGITS = 12  # kinds of characters in such a line; a rule of hyphens has one
_SAMPLE = 1 << 20
_MIN_LENGTH = 200  # characters; nothing is said of less


def why_degenerate(text: str) -> str:
    """Return the reason why a text is not worth indexing, or "" if there is none."""
    sample = text[:_SAMPLE]
    if len(sample) < _MIN_LENGTH:
        return ""
    if len(set(sample) - set(whitespace)) <= 1:
        return "holds no words: the same character again and again"
    runs = (found[0] for found in _ENCODED.finditer(sample))
    encoded = sum(len(run) for run in runs if len(set(run)) >= _MIN_DIGITS)
    if encoded * 2 > len(sample):
        return "holds no words: most of it is encoded data, such as base64"
    return ""
