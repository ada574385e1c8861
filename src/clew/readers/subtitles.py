"""Subtitles (.srt, .vtt): the text is what is said, a cue a line; numbers, times and marks go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from clew.readers.decode import text_of
from clew.readers.titled import make_document
from clew.readers.walk import File
from clew.types import Document

_TIMES = re.compile(r"(?:\d+:)?\d+:\d+[.,]\d+[ \t]+-->")
_MARKS = re.compile(r"</?[^<>]*>|\{\\[^{}]*\}")
_BLANK = re.compile(r"(?:(?<![ \t])[ \t]*+\n){2,}")


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a file of subtitles."""
    blocks = _BLANK.split(text_of(file).replace("\r\n", "\n").replace("\r", "\n"))
    cues = []
    for block in blocks:  # one without times, such as a header or a comment, says nothing
        lines = [line.strip() for line in block.strip().split("\n")]
        place = next((n for n, line in enumerate(lines) if _TIMES.match(line)), len(lines))
        words = _MARKS.sub("", " ".join(lines[place + 1 :]))
        cues.append(" ".join(unescape(words).split()))
    yield make_document(file, ["\n".join(filter(None, cues))], "")
