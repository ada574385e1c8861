"""Detect text not worth indexing: encoded data, minified code, repeated lines."""

import re
from string import whitespace

_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{60,}={0,2}")  # a line of base64 or hexadecimal digits
_DUMPED = re.compile(
    r"(?:\b[0-9A-Fa-f]{2,8}[ \t:|]+){8,}"
)  # a line of a dump in hexadecimal digits
_DECIMAL = re.compile(r"[\d\s:|]+")  # a row of figures
_DATA = re.compile(r"(data:[\w.+-]+/[\w.+-]+;base64,)[A-Za-z0-9+/=]{200,}")
_MINIFIED = 400  # characters of a line of code, on average
_LEAST_LINES = 100  # of which all but one in fifty are equal
_MIN_DIGITS = 12  # kinds of characters in such a line; a rule of hyphens has one
_SAMPLE = 1 << 20
_MIN_LENGTH = 200  # characters; nothing is said of less


def explain_degenerate(text: str) -> str:
    """Return why a text is not worth indexing, or ""."""
    sample = text[:_SAMPLE]
    if len(sample) < _MIN_LENGTH:
        return ""
    if len(set(sample) - set(whitespace)) <= 1:
        return "holds no words: it repeats one character"
    runs = (match[0] for match in _ENCODED.finditer(sample))
    encoded = sum(len(run) for run in runs if len(set(run)) >= _MIN_DIGITS)
    if encoded * 2 > len(sample):
        return "holds no words: most of it is encoded data, such as base64"
    dumped = (match[0] for match in _DUMPED.finditer(sample))
    if sum(len(run) for run in dumped if not _DECIMAL.fullmatch(run)) * 2 > len(sample):
        return "holds no words: most of it is a dump of hexadecimal digits"
    lines = sample.splitlines()
    distinct = set(lines) if len(lines) >= _LEAST_LINES else set()
    if 0 < len(distinct) * 50 <= len(lines) and re.search(r"\w", sample):
        return "repeats the same few lines"
    return ""


def is_minified(code: str) -> bool:
    """Check whether source code is minified or generated."""
    sample = code[:_SAMPLE]
    return len(sample) > _MINIFIED * 10 and len(sample) > _MINIFIED * (sample.count("\n") + 1)


def drop_data_urls(text: str) -> str:
    """Return a text without data: URLs, such as embedded images in Markdown."""
    return _DATA.sub(r"\1", text) if ";base64," in text else text
