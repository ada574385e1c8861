"""Cut text into sentences by nupunkt's trained rules, inside paragraphs and list items.

The splitter sees one block at a time, so a heading, a list item or a table row is never glued
to the sentence behind it. A sentence longer than `MAX_CHARACTERS` is cut at white space: tables
and lists without a full stop would otherwise become one unit that no model can read.
"""

import re
from collections.abc import Iterator

MAX_CHARACTERS = 1_000

_BLOCK_BREAK = re.compile(
    r"\r?\n(?:[ \t]*\r?\n)+"  # blank line; the spaces before it are stripped later
    r"|\r?\n(?=[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|\||>))"  # heading, item, row
)
_AFTER_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t][^\n]*\n")
_WIDE_STOP = re.compile(r"[。！？｡]+[」』）”’\"]*|[؟۔।॥။።]+\s*")  # no space need follow these
_WORD = re.compile(r"[^\W_]")  # a letter or digit


def sentence_spans(text: str, start: int = 0) -> list[tuple[int, int]]:
    """Return the (start, end) characters of each sentence of text[start:], in order.

    White space is outside every span; pieces without a letter or digit are left out.
    """
    spans: list[tuple[int, int]] = []
    for block_start, block_end in _blocks(text, start):
        for a, b in _block_sentences(text[block_start:block_end]):
            spans.extend(_pieces(text, block_start + a, block_start + b))
    return spans


def _blocks(text: str, start: int) -> Iterator[tuple[int, int]]:
    previous = start
    for match in _BLOCK_BREAK.finditer(text, start):
        yield from _after_heading(text, previous, match.start())
        previous = match.end()
    yield from _after_heading(text, previous, len(text))


def _after_heading(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    heading = _AFTER_HEADING.match(text[start:end])
    if heading:
        yield start, start + heading.end()
        start += heading.end()
    yield start, end


def _block_sentences(block: str) -> Iterator[tuple[int, int]]:
    if not _WORD.search(block):
        return
    import nupunkt  # 0.06 s

    for a, b in nupunkt.sent_spans(block):
        previous = a
        for stop in _WIDE_STOP.finditer(block, a, b):
            yield previous, stop.end()
            previous = stop.end()
        yield previous, b


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > MAX_CHARACTERS:
        cut = max(text.rfind(c, start, start + MAX_CHARACTERS) for c in " \n\t")
        cut = cut if cut > start else start + MAX_CHARACTERS
        yield from _stripped(text, start, cut)
        start = cut
    yield from _stripped(text, start, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end = start + len(piece.strip())
    if _WORD.search(text, start, end):
        yield start, end
