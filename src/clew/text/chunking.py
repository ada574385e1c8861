"""Cut a document into chunks: token windows that end where a sentence does, if one does.

A window holds at most `size` tokens. It ends at the last sentence end in its second half, else
at the last white space, else between two tokens (scripts without spaces). The next one starts at
the first sentence that begins in the last `overlap` tokens, so that sentences stay whole. The
last window ends with the document, and nothing follows it.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError
from clew.text import tokens
from clew.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """How documents are cut. Paper profiles are other values of the same two numbers."""

    size: int = 256  # tokens
    overlap: int = 32  # tokens

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 <= self.overlap < self.size:
            raise InputError(
                f"chunks of {self.size} tokens cannot overlap by {self.overlap}: "
                "take a size of at least 1 and an overlap below it"
            )


@dataclass(frozen=True, slots=True)
class Window:
    """One chunk: text[start:end], its tokens, and the sentences inside it."""

    start: int
    end: int
    n_tokens: int
    sentences: tuple[tuple[int, int], ...]


def chunk(text: str, start: int = 0, chunking: Chunking | None = None) -> list[Window]:
    """Return the windows of text[start:], in order; none where there is no word.

    Every sentence lies wholly in at least one window, unless it is longer than a window or
    begins in one with no room left for it; such a sentence is cut at the window's edges.
    """
    chunking = chunking or Chunking()
    sentences = sentence_spans(text, start)
    if not sentences:
        return []
    begin, end = sentences[0][0], sentences[-1][1]
    token_starts = tokens.starts(text[begin:end]) + begin
    windows = []
    while True:
        first = int(np.searchsorted(token_starts, begin))
        last = first + chunking.size
        if last >= len(token_starts):
            windows.append(_window(text, begin, end, sentences))
            return windows
        cut = _cut(text, begin, token_starts, first, last, sentences)
        windows.append(_window(text, begin, cut, sentences))
        begin = _next_start(text, begin, cut, token_starts, chunking.overlap, sentences)


def _window(text: str, start: int, end: int, sentences: list[tuple[int, int]]) -> Window:
    piece = text[start:end]
    end -= len(piece) - len(piece.rstrip())
    inside = []
    i = bisect_right(sentences, start, key=lambda span: span[1])
    while i < len(sentences) and sentences[i][0] < end:
        inside.append((max(sentences[i][0], start), min(sentences[i][1], end)))
        i += 1
    return Window(start, end, tokens.count(text[start:end]), tuple(inside))


def _cut(
    text: str,
    begin: int,
    token_starts: NDArray[np.int64],
    first: int,
    last: int,
    sentences: list[tuple[int, int]],
) -> int:
    limit, middle = int(token_starts[last]), int(token_starts[(first + last) // 2])
    i = bisect_right(sentences, limit, key=lambda span: span[1]) - 1
    if i >= 0 and sentences[i][1] > middle:
        return sentences[i][1]
    return _last_space(text, middle, limit) or max(limit, begin + 1)


def _next_start(
    text: str,
    begin: int,
    cut: int,
    token_starts: NDArray[np.int64],
    overlap: int,
    sentences: list[tuple[int, int]],
) -> int:
    at_cut = int(np.searchsorted(token_starts, cut))
    earliest = min(max(int(token_starts[at_cut - min(overlap, at_cut)]), begin + 1), cut)
    if not overlap:
        earliest = cut
    i = bisect_left(sentences, earliest, key=lambda span: span[0])
    if i < len(sentences) and sentences[i][0] < cut:
        return sentences[i][0]
    if sentences[i - 1][1] > cut:  # the cut is inside a sentence: overlap by words
        start = (_last_space(text, earliest, cut) if overlap else 0) or earliest
        while text[start].isspace():
            start += 1
        return start
    return sentences[i][0]


def _last_space(text: str, start: int, end: int) -> int:
    """Return the place of the last white space in text[start:end], 0 where there is none."""
    return max(text.rfind(c, start, end) for c in " \n\t") if end > start else 0
