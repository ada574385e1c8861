"""Clean the lines of pages: join hyphenated words, drop running heads and page numbers.

    1 | Chapter 2: Vectors          9     dropped: page 8 has the same line with an 8
    2 | In particular a constant is       kept
    3 | simply repeated.                  kept

A line is looked at where no line of text stands between it and the edge of its page. It is dropped
where its number counts on from those of nearby pages, or where its words stand at the same edge of
two nearby pages as well.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence

_NUMBER = re.compile(r"^(\d{1,4}|[ivxlc]{1,7})(?:\s|$)|(?:^|\s)(\d{1,4}|[ivxlc]{1,7})$")
_NEAR = 6  # pages: heads of left and of right pages differ, and chapters may be short
_DEPTH = 2  # lines of a head or foot
_TIMES = 3  # equal lines make a head
_MAX_HEAD = 120  # characters
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_HYPHEN = "\x02"  # PDFium's mark for one at the end of a line, and ours
_HYPHEN_WORDS = re.compile(r"\w+(?:[-\u2010]\w+)*")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")  # glyphs without a character
_DIVIDED = re.compile(r"(?<=\w)-\n(?=\w)")


def without_running_heads(pages: Sequence[str]) -> list[str]:
    """Return the text of each page without running heads, running feet and page numbers.

    Pages that would all be empty stay as they are.
    """
    lines = [_strip_lines(page.split("\n")) for page in pages]
    for edge in (0, -1):
        for _ in range(_DEPTH):
            dropped = _find_repeated([page[edge] if page else "" for page in lines])
            for number in dropped:
                del lines[number][edge]
                lines[number] = _strip_lines(lines[number])
    is_all_heads = not any(map(any, lines))
    return list(pages) if is_all_heads else ["\n".join(page) for page in lines]


def _strip_lines(lines: list[str]) -> list[str]:
    """Return lines without white space at their ends, and without blank ones at the edges."""
    return "\n".join(line.rstrip() for line in lines).strip("\n").split("\n")


def _find_repeated(edge: list[str]) -> list[int]:
    """Return the pages whose edge line repeats those of other pages, or is a page number."""
    by_words: dict[str, list[int]] = defaultdict(list)
    by_offset: dict[int, list[int]] = defaultdict(list)
    for page, line in enumerate(edge):
        if line and len(line) <= _MAX_HEAD:
            words, number = _parts(line.strip())
            if words:
                by_words[words].append(page)
            if number is not None:
                by_offset[number - page].append(page)
    counted = min(_TIMES, max(len(edge), 2))  # a file of two pages has two numbers
    repeated = {page for pages in by_words.values() for page in _select_near(pages, _TIMES)}
    repeated.update(page for pages in by_offset.values() for page in _select_near(pages, counted))
    return sorted(repeated)


def _parts(line: str) -> tuple[str, int | None]:
    """Split a line into its text and its page number."""
    match = _NUMBER.search(line)
    if match is None:
        return line, None
    return (line[: match.start()] + line[match.end() :]).strip(" \t|/-"), _value(
        match[1] or match[2]
    )


def _value(number: str) -> int:
    if number.isdecimal():
        return int(number)
    digits = [_ROMAN[digit] for digit in number]
    return sum(
        -digit if digit < max(digits[place:]) else digit for place, digit in enumerate(digits)
    )


def _select_near(pages: list[int], times: int) -> list[int]:
    """Return the pages that have at least `times` of the given pages nearby, in order."""
    return [
        page
        for page in pages
        if bisect_right(pages, page + _NEAR) - bisect_left(pages, page - _NEAR) >= times
    ]


def mark_divided_words(text: str) -> str:
    """Return a text with a mark at each hyphen that divides a word across lines."""
    return _DIVIDED.sub(_HYPHEN, text)


def join_divided_words(texts: Sequence[str]) -> list[str]:
    """Return the pages with hyphenated words joined.

    A hyphen stays where the text has it in the same word elsewhere, or where a capital or a digit
    follows: "built-in", "Mordell-Weil".
    """
    words = {
        word.casefold().replace("\u2010", "-")
        for text in texts
        if _HYPHEN in text
        for word in _HYPHEN_WORDS.findall(text)
    }

    def join_word(left: str, right: str) -> str:
        joined, compound = f"{left}{right}", f"{left}-{right}"
        if joined.casefold() in words or not (left and right):
            return joined if left and right else compound
        return joined if right[0].islower() and compound.casefold() not in words else compound

    return [_CONTROLS.sub("", _join_at_hyphens(text, join_word)) for text in texts]


def _join_at_hyphens(text: str, whole: Callable[[str, str], str]) -> str:
    """Return a text with the parts around each marked hyphen joined, spelled as `whole` decides."""
    before, *pieces = text.split(_HYPHEN)
    parts = []
    for piece in pieces:
        left = next((i for i in range(len(before), 0, -1) if not _is_of_word(before[i - 1])), 0)
        right = next((i for i, c in enumerate(piece) if not _is_of_word(c)), len(piece))
        parts += [before[:left], whole(before[left:], piece[:right])]
        before = piece[right:]
    return "".join([*parts, before])


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"
