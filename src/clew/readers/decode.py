"""Bytes to text: by the byte order mark, else UTF-8, else the best guess of charset-normalizer.

UTF-16 is seen without a mark, too, where most characters are Latin. Newlines stay as they stand and
a byte order mark is dropped. A file with NUL bytes, or with more than one control character in
twenty, is taken for a binary file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from charset_normalizer import from_bytes

from clew.errors import UnreadableSource
from clew.readers.walk import File

SURROGATE = re.compile("[\ud800-\udfff]")  # no character: what is left of a byte or half a pair

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\a\b\t\n\v\f\r\x1b")) + b"\x7f"
_SAMPLE_BYTES = 1 << 20
_SNIFFED_BYTES = 1 << 16
_USUAL = "cp1252"  # taken where nothing speaks more for another encoding
_UTF_16_BYTES = 1 << 12  # enough to see it by


def replace_surrogates(text: str) -> str:
    """Return text that any encoding can write: JSON can hold halves of surrogate pairs."""
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def text_of(file: File) -> str:
    """Return the whole text of a file.

    Raises UnreadableSource if it is binary, in no known encoding, or has nothing but white space.
    """
    data = file.path.read_bytes()
    encoding = _encoding(data, file)
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise _undecodable(file, encoding) from None
    if not text.strip():
        raise UnreadableSource(file.source, "is empty")
    return text


def refuse_binary(file: File) -> None:
    """Raise UnreadableSource where the beginning of a file is not that of a text."""
    with file.path.open("rb") as stream:
        sample = stream.read(_SNIFFED_BYTES)
    _encoding(sample, file, whole=False, guess=False)


class Lines:
    """The lines of an open text file. Raises UnreadableSource at one that is too long."""

    def __init__(self, file: File, stream: TextIO) -> None:
        self._file = file
        self._stream = stream
        self._n_read = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")

    def readline(self) -> str:
        """Return the next line, nothing at the end."""
        self._n_read += 1
        limits = self._file.limits
        line = self._stream.readline(limits.line_characters + 1)
        if len(line) > limits.line_characters:
            reason = f"has {limits.more_than('line_characters', 'characters')}"
            raise UnreadableSource(self._file.source, reason, self._n_read)
        return line


@contextmanager
def open_text(file: File, *, guess: bool) -> Iterator[Lines]:
    """Open a text file for reading line by line; its first megabyte decides on the encoding.

    Without `guess` it is UTF-8 if it has no byte order mark. Bytes that do not fit the encoding
    come as lone surrogates, so that a line can be refused alone.
    Raises UnreadableSource if the file is binary, or in UTF-16 or UTF-32 that is broken.
    """
    with file.path.open("rb") as stream:
        sample = stream.read(_SAMPLE_BYTES)
    encoding = _encoding(sample, file, whole=len(sample) < _SAMPLE_BYTES, guess=guess)
    try:
        with file.path.open(encoding=encoding, errors="surrogateescape", newline="") as lines:
            yield Lines(file, lines)
    except UnicodeDecodeError:
        raise _undecodable(file, encoding) from None


def _encoding(data: bytes, file: File, *, whole: bool = True, guess: bool = True) -> str:
    marked = (encoding for mark, encoding in _MARKS if data.startswith(mark))
    encoding = next(marked, "") or _guess_utf_16(data)
    plain = data.decode(encoding, "replace").encode() if encoding else data
    controls = len(plain) - len(plain.translate(None, _CONTROLS))
    if b"\0" in plain or controls * 20 > len(plain):
        raise UnreadableSource(file.source, "looks like a binary file")
    if encoding or not guess:
        return encoding or "utf-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError:
        return _guess(data, file)
    return "utf-8"


def _guess_utf_16(data: bytes) -> str:
    """Return which UTF-16 a text without mark is in: of Latin characters, every other byte is 0."""
    sample = data[:_UTF_16_BYTES]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    most, least = max(even, odd), min(even, odd)
    if len(data) < 4 or most * 4 < len(sample) or least * 20 > most:
        return ""
    return "utf-16-be" if most == even else "utf-16-le"


def _guess(data: bytes, file: File) -> str:
    found = from_bytes(data)
    best = found.best()
    if best is None:
        raise UnreadableSource(
            file.source, "is in an encoding that cannot be recognised; save it as UTF-8"
        )
    usual = any(each.encoding == _USUAL and each.chaos <= best.chaos for each in found)
    return _USUAL if usual else best.encoding


def _undecodable(file: File, encoding: str) -> UnreadableSource:
    name = encoding.removesuffix("-sig").upper()
    return UnreadableSource(file.source, f"is not valid {name} text; save it as UTF-8")
