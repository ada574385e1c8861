"""Split a block of text into sentences by nupunkt's model.

A sentence longer than `MAX_CHARACTERS` is cut at white space: a text without a full stop would
otherwise become one unit that no model can read.

The splitter reads a word to its end for each mark in it, which takes the square of its length. A
word of more than `_LONGEST_WORD` characters is therefore shown to it in parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Literal

from clew.base.runtime.lazy import compile_re, needs
from clew.errors import InputError
from clew.text.languages import ABBREVIATION, COUNTED, ORDINAL

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktTokenizer

Splitter = Literal["nupunkt", "nltk"]
NUPUNKT: Splitter = "nupunkt"
MAX_CHARACTERS = 1_000

# No space need follow these; what is quoted may go on with a particle.
_WIDE_STOP = compile_re(
    r"(?:[。！？｡]|(?<=[^\W\dA-Za-zＡ-Ｚａ-ｚ_])．)+(?![」』）”’\"]+[とっ、])[」』）”’\"]*|[؟۔।॥။።]+\s*"
)
_WORD = compile_re(r"[^\W_]")  # a letter or digit
_LONGEST_WORD = 2_000
_LONG_WORD = compile_re(rf"(?<!\S)\S{{{_LONGEST_WORD + 1},}}")


@cache
def load_punkt() -> PunktTokenizer:
    """Return NLTK's English splitter. Raises MissingExtra without NLTK, InputError without data."""
    with needs("nltk", "nltk", "sentences as NLTK cuts them"):
        from nltk.tokenize.punkt import PunktTokenizer
    try:
        return PunktTokenizer("english")
    except LookupError as error:
        raise InputError(
            "NLTK's splitter lacks data: download it with 'python -m nltk.downloader punkt_tab', "
            "or name in NLTK_DATA a folder that has tokenizers/punkt_tab"
        ) from error


def split_prose(
    text: str, start: int, end: int, splitter: Splitter = NUPUNKT
) -> Iterator[tuple[int, int]]:
    """Yield the sentences of text[start:end], which is one block.

    "nltk" cuts as NLTK's `sent_tokenize` does, English by its data, and no rule is added. Raises as
    `load_punkt`.
    """
    split = _block_sentences if splitter == NUPUNKT else load_punkt().span_tokenize
    for a, b in split(text[start:end]):
        yield from split_pieces(text, start + a, start + b)


def has_word(text: str, start: int, end: int) -> bool:
    """Check whether text[start:end] has a letter or digit."""
    return _WORD.search(text, start, end) is not None


def _block_sentences(block: str) -> Iterator[tuple[int, int]]:
    if not _WORD.search(block):
        return
    for a, b in _join_abbreviated(block, _split(block)):
        previous = a
        for stop in _WIDE_STOP.finditer(block, a, b):
            yield previous, stop.end()
            previous = stop.end()
        yield previous, b


def _join_abbreviated(block: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join spans that were split after an abbreviation or an ordinal."""
    open_: tuple[int, int] | None = None
    for start, end in spans:
        if open_ is not None and not _goes_on(block, open_, start):
            yield open_
            open_ = None
        open_ = (start if open_ is None else open_[0], end)
    if open_ is not None:
        yield open_


def _goes_on(block: str, span: tuple[int, int], start: int) -> bool:
    """Check whether the sentence of a span continues at `start`, after its dot."""
    tail = block[max(span[0], span[1] - 20) : span[1]].rstrip()
    if not tail.endswith("."):
        return False
    if ABBREVIATION.search(tail) or block[start : start + 1].islower():
        return True
    return bool(ORDINAL.search(tail) and COUNTED.match(block, start))


def _split(block: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a block, except for cuts inside a long word."""
    import nupunkt  # 0.06 s

    start = 0
    open_: tuple[int, int] | None = None  # what ends at a cut: it may go on behind it
    for end in [*_cuts(block), len(block)]:
        spans = [(start + a, start + b) for a, b in nupunkt.sent_spans(block[start:end])]
        if open_ is not None:
            spans[:1] = [(open_[0], spans[0][1] if spans else open_[1])]
        open_ = spans.pop() if spans and end < len(block) else None
        yield from spans
        start = end


def _cuts(block: str) -> Iterator[int]:
    """Yield the places at which long words are cut, ascending."""
    if len(block) > _LONGEST_WORD:
        for word in _LONG_WORD.finditer(block):
            yield from range(word.start() + _LONGEST_WORD, word.end(), _LONGEST_WORD)


def split_pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield text[start:end], cut at white space into at most `MAX_CHARACTERS` each."""
    while end - start > MAX_CHARACTERS:
        cut = max(text.rfind(c, start, start + MAX_CHARACTERS) for c in " \n\t")
        cut = cut if cut > start else start + MAX_CHARACTERS
        yield from _strip_span(text, start, cut)
        start = cut
    yield from _strip_span(text, start, end)


def _strip_span(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end = start + len(piece.strip())
    if _WORD.search(text, start, end):
        yield start, end
