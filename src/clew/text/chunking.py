"""Split a document into chunks: token windows that end at a sentence end if possible.

A window holds at most `size` tokens. It ends at the last sentence end in its second half, else
at the last white space there, else between two tokens (scripts without spaces). The next one
starts at the first sentence that begins in the last `overlap` tokens, so that sentences stay
whole, and inside a longer sentence at the first word there. The last window ends with the
document, and no window lies inside another.

Where headings are given, a window rather ends before one: the widest of the first three levels in
its second half. It never ends with a heading, and the next window begins with it, without overlap.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from clew.base.runtime import arguments
from clew.base.runtime.lazy import compile_re
from clew.errors import InputError
from clew.text import tokens
from clew.text.sections import Headed
from clew.text.sentences import NUPUNKT, Splitter, load_punkt
from clew.text.statements import Statement, find_statements

_TOP_LEVELS = 3  # levels of headings before which a window rather ends
_HEADING = compile_re(r"[\W_]*[^\n]*\n?")  # a heading's own line, whatever stands above its words
_WORD = compile_re(r"[^\W_]")
_SPACES = compile_re(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """The sizes of chunks. Profiles of papers are other values of the same fields."""

    size: int = 256  # tokens
    overlap: int = 32  # tokens
    subchunk_depth: int = 0  # how often chunks are halved into sub-chunks [τ of KET-RAG]
    splitter: Splitter = NUPUNKT  # what cuts sentences

    def __post_init__(self) -> None:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        splitter = values.pop("splitter")
        arguments.check_arguments(values, dict.fromkeys(values, arguments.WHOLE))
        if splitter not in get_args(Splitter):
            raise InputError(f"the sentence splitter must be nupunkt or nltk, not {splitter!r:.60}")
        if splitter == "nltk":
            load_punkt()  # what is missing is known before a document is read
        if self.size < 1 or not 0 <= self.overlap < self.size:
            raise InputError(
                f"chunks of {self.size} tokens cannot overlap by {self.overlap}: "
                "use a size of at least 1 and a smaller overlap"
            )
        if not 0 <= self.subchunk_depth < self.size.bit_length():
            raise InputError(
                f"chunks of {self.size} tokens cannot be halved {self.subchunk_depth} times: "
                f"use a sub-chunk depth of 0 to {self.size.bit_length() - 1}"
            )


class Window(NamedTuple):
    """A chunk: text[start:end], its tokens, and the statements inside it."""

    start: int
    end: int
    n_tokens: int
    statements: tuple[Statement, ...]

    @property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """Where its statements stand in the text."""
        return tuple((each.start, each.end) for each in self.statements)


class _TextToCut(NamedTuple):
    text: str
    sentences: list[Statement]  # at least one
    token_starts: NDArray[np.int64]  # (n,) characters, from the first sentence to the last
    headings: Sequence[Headed] = ()  # behind the first character of the first sentence


def cut_windows(
    text: str, start: int = 0, chunking: Chunking | None = None, headings: Sequence[Headed] = ()
) -> list[Window]:
    """Return the windows of text[start:], in order; none for a text without words.

    Every sentence lies wholly in at least one window, unless it is longer than half a window
    and begins where it no longer fits; such a sentence is cut at the window's edges. Only a
    window of one character may have more than `size` tokens.
    """
    chunking = chunking or Chunking()
    sentences = find_statements(text, start, chunking.splitter, headings)
    if not sentences:
        return []
    begin, end = sentences[0].start, sentences[-1].end
    inside = [heading for heading in headings if begin < heading.start < end]
    source = _TextToCut(text, sentences, tokens.token_starts(text[begin:end]) + begin, inside)
    windows = [_longest_window(source, begin, 0, chunking.size)]
    while (last := windows[-1]).end < end:
        begin = _next_start(source, last, chunking.overlap)
        window = _longest_window(source, begin, last.end, chunking.size)
        if window.end <= last.end:  # the overlap alone fills it
            window = _longest_window(source, _next_start(source, last, 0), last.end, chunking.size)
        windows.append(window)
    return windows


def _longest_window(source: _TextToCut, begin: int, previous: int, size: int) -> Window:
    """Return the longest window from `begin` that extends `previous`, if it fits.

    They are counted anew: at the edges of a piece, text has other tokens than inside the whole.
    """
    first = int(np.searchsorted(source.token_starts, begin))
    if first == len(source.token_starts) or source.token_starts[first] > begin:
        first -= 1  # the token around `begin`
    last = first + size
    while True:
        window = _make_window(source, begin, _best_cut(source, begin, previous, first, last))
        excess = window.n_tokens - size
        if excess <= 0 or last == first:
            return window
        last = max(min(last, len(source.token_starts)) - excess, first)


def _make_window(source: _TextToCut, start: int, end: int) -> Window:
    piece = source.text[start:end].rstrip()
    end, sentences = start + len(piece), source.sentences
    inside = []
    i = bisect_right(sentences, start, key=attrgetter("end"))
    while i < len(sentences) and (each := sentences[i]).start < end:
        inside.append(each._replace(start=max(each.start, start), end=min(each.end, end)))
        i += 1
    return Window(start, end, tokens.count(piece), tuple(inside))


def _best_cut(source: _TextToCut, begin: int, previous: int, first: int, last: int) -> int:
    """Return the best end of a window over the tokens `first` to `last`."""
    sentences, starts = source.sentences, source.token_starts
    if last >= len(starts):
        return sentences[-1].end
    limit = int(starts[last])
    least = max(int(starts[(first + last) // 2]), begin, previous)
    wide = [h for h in _headings(source, least, limit) if h.level <= _TOP_LEVELS]
    if wide:
        end = min(wide, key=lambda heading: (heading.level, -heading.start)).start
    else:
        end = _sentence_end(source, begin, least, limit)
    return _skip_headings_back(source, max(begin, previous), end)


def _sentence_end(source: _TextToCut, begin: int, least: int, limit: int) -> int:
    """Return the end of a sentence after `least`, else white space or `limit`."""
    text, sentences = source.text, source.sentences
    i = bisect_right(sentences, limit, key=attrgetter("end")) - 1
    if i >= 0 and sentences[i].end > least:
        return sentences[i].end
    space = max(text.rfind(c, least + 1, limit + 1) for c in " \n\t")
    return space if space > 0 else max(limit, begin + 1)


def _headings(source: _TextToCut, least: int, most: int) -> Sequence[Headed]:
    """Return the headings that begin after `least`, up to and including `most`."""
    first, last = (
        bisect_right(source.headings, place, key=lambda heading: heading.start)
        for place in (least, most)
    )
    return source.headings[first:last]


def _skip_headings_back(source: _TextToCut, least: int, end: int) -> int:
    """Return `end`, or the start of the headings directly before it."""
    for heading in reversed(_headings(source, least, end - 1)):
        line = _HEADING.match(source.text, heading.start, end)
        if line and _WORD.search(source.text, line.end(), end):
            break
        end = heading.start
    return end


def _next_start(source: _TextToCut, last: Window, overlap: int) -> int:
    """Return the start of the window after `last`."""
    text, sentences, end = source.text, source.sentences, last.end
    at_end = int(np.searchsorted(source.token_starts, end))
    earliest = end
    if overlap:
        i = max(at_end - overlap, 0)
        shared = i > 0 and source.token_starts[i] == source.token_starts[i - 1]
        overlapping = int(source.token_starts[i]) + shared  # no part of a character's tokens
        earliest = min(max(overlapping, last.start + 1), end)
    if headings := _headings(source, earliest - 1, _next_word(text, end)):
        return headings[-1].start
    i = bisect_left(sentences, earliest, key=attrgetter("start"))
    if i < len(sentences) and (sentences[i].start < end or sentences[i - 1].end <= end):
        return sentences[i].start
    space = _SPACES.search(text, earliest - 1, end)  # inside a sentence: overlap by words
    return _next_word(text, space.end() if space else earliest)


def _next_word(text: str, place: int) -> int:
    """Return the next position that is not white space."""
    while text[place].isspace():
        place += 1
    return place


def halve(text: str, start: int, end: int, depth: int, limit: int) -> list[tuple[int, int]]:
    """Return the contiguous (start, end) parts of text[start:end], in order.

    Huang et al. (2025), "KET-RAG", arXiv:2502.09304: keywords point at sub-chunks, while chunks
    stay the unit that a model reads. A short last chunk stays whole, not cut to pieces.

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
            "use a depth of at least 0 and a limit of at least 1"
        )
    if depth == 0:
        return [(start, end)] if start < end else []
    whole = text[start:end]
    begins = tokens.token_starts(whole)
    cuts = [start + int(begins[i]) for i in _halving_cuts(len(begins), depth, limit)]
    readable = end - len(whole.lstrip())
    parts = pairwise(sorted({start, *cuts, end}))
    starts = [a for a, b in parts if a > readable and text[a:b].strip()]
    return list(pairwise(sorted({start, *starts, end})))


def _halving_cuts(n_tokens: int, depth: int, limit: int) -> list[int]:
    """Return the tokens to cut before, ascending."""
    edges = [0, n_tokens]
    for i in range(1, depth + 1):
        long = [(a, b) for a, b in pairwise(edges) if b - a > max(limit / 2**i, 1)]
        edges = sorted([*edges, *(a + (b - a + 1) // 2 for a, b in long)])
    return edges[1:-1]
