"""The headings of reStructuredText, Org, AsciiDoc, LaTeX, wikis and underlined plain text.

A heading begins where its line does, or the line above it that is part of the markup. Those in code
and comments are none.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from clew.base.types import Heading
from clew.text.normalize import collapse

_RST = re.compile(
    r"^(?:(?P<over>([=\-~^\"'`#*+:.])\2{2,})[ \t]*\r?\n[ \t]*)?(?P<title>\S.*)\r?\n"
    r"(?P<under>([=\-~^\"'`#*+:.])\5{2,})[ \t\r]*$",
    re.MULTILINE,
)
_WIKI = re.compile(r"^(={2,6})[ \t]+(\S.*?)(?<![ \t])[ \t]++\1[ \t\r]*$", re.MULTILINE)
_UNDERLINED = re.compile(
    r"(?:\A|^[ \t]*\r?\n)(?P<title>\S[^\n]*?)(?<![ \t])[ \t]*+\r?\n"
    r"(?P<under>([=~*-])\3{2,})[ \t\r]*$",
    re.MULTILINE,
)
_UNEVEN = 2  # characters that a line under a title may be longer or shorter
_ORG = re.compile(r"^(\*+)[ \t]+(.+)$", re.MULTILINE)
_ORG_TAGS = re.compile(r":[\w@:]+:")
_ORG_CODE = re.compile(
    r"^[ \t]*#\+(?:begin(?P<opens>_)|end(?P<closes>_))", re.MULTILINE | re.IGNORECASE
)
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S.*)$", re.MULTILINE)
_ASCIIDOC_END = re.compile(r"=+")
_ASCIIDOC_CODE = re.compile(
    r"^(?P<opens>(?P<closes>-{4,}|\.{4,}|/{4,}|\+{4,}))[ \t]*$", re.MULTILINE
)
_COMMANDS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_LATEX = re.compile(
    rf"^[^%\n]*?(\\({'|'.join(_COMMANDS)})\*?(?:\[[^\]]{{0,300}}\])?"
    r"\{((?:[^{}]|\{[^{}]*\})*)\})",
    re.MULTILINE,
)
_LATEX_CODE = re.compile(
    r"\\(?:begin\{(?P<opens>verbatim|lstlisting)\}|end\{(?P<closes>verbatim|lstlisting)\})"
)
_NONE = (sys.maxsize, sys.maxsize)  # a block behind every text
_LATEX_COMMENTS = re.compile(r"(?<!\\)%.*")
_LATEX_MARKS = re.compile(r"\\[a-zA-Z]+\*?|[{}$~\\]")


def headings(text: str, suffix: str) -> list[Heading]:
    """Return the headings of a text by its suffix, none for unsupported ones."""
    find = _FORMATS.get(suffix)
    listed = list(find(text)) if find else []
    levels = sorted({heading.level for heading in listed})
    ranks = {level: rank for rank, level in enumerate(levels, 1)}  # the widest that is used is 1
    return [Heading(h.start, ranks[h.level], h.title) for h in listed]


def _find_rst_headings(text: str) -> Iterator[Heading]:
    styles: list[str] = []
    for match in _RST.finditer(text):
        title, over, under = match["title"].rstrip(), match["over"] or "", match["under"]
        too_short = len(under) < len(title)
        if too_short or (over and over != under):
            continue
        style = over[:1] + under[0]
        if style not in styles:
            styles.append(style)
        yield Heading(match.start(), styles.index(style) + 1, collapse(title))


def _find_plain_headings(text: str) -> Iterator[Heading]:
    """Yield the headings of a wiki's text, or else the underlined lines that follow a blank one.

    DokuWiki and Zim mark the widest heading with the most equals signs.
    """
    wiki = list(_WIKI.finditer(text))
    for match in wiki:
        yield Heading(match.start(), -len(match[1]), collapse(match[2]))
    styles: list[str] = []
    for match in () if wiki else _UNDERLINED.finditer(text):
        if abs(len(match["title"]) - len(match["under"])) <= _UNEVEN:
            styles += [match[3]] * (match[3] not in styles)
            yield Heading(match.start("title"), styles.index(match[3]), collapse(match["title"]))


def _find_counted_headings(
    heading: re.Pattern[str], code: re.Pattern[str], ending: re.Pattern[str], text: str
) -> Iterator[Heading]:
    """Yield headings with counted marks; a trailing word like `ending` is dropped."""
    for match in _match_outside(heading, code, text):
        title = match[2].rstrip(" \t")
        space = max(title.rfind(" "), title.rfind("\t"))
        if space >= 0 and ending.fullmatch(title, space + 1):
            title = title[:space]
        yield Heading(match.start(), len(match[1]), collapse(title))


def _latex(text: str) -> Iterator[Heading]:
    for match in _match_outside(_LATEX, _LATEX_CODE, text):
        title = without_commands(match[3])
        if title:
            yield Heading(match.start(1), _COMMANDS.index(match[2]) + 1, title)


def without_commands(title: str) -> str:
    """Return a LaTeX title without commands."""
    return collapse(_LATEX_MARKS.sub(" ", _LATEX_COMMENTS.sub("", title)))


def _match_outside(
    pattern: re.Pattern[str], code: re.Pattern[str], text: str
) -> Iterator[re.Match[str]]:
    """Yield the matches that do not begin inside code."""
    blocks = _blocks(list(code.finditer(text)))
    start, end = next(blocks, _NONE)
    for match in pattern.finditer(text):
        while end <= match.start():
            start, end = next(blocks, _NONE)
        if match.start() < start:
            yield match


def _blocks(marks: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of code between opening and closing marks."""
    closing: dict[str, int] = {}  # the next mark that closes what a mark opens
    ends: list[int | None] = []
    for i in range(len(marks) - 1, -1, -1):
        opens, closes = marks[i]["opens"], marks[i]["closes"]
        ends.append(closing.get(opens) if opens else None)
        if closes:
            closing[closes] = i
    ends.reverse()
    i = 0
    while i < len(marks):
        end = ends[i]
        if end is not None:
            yield marks[i].start(), marks[end].end()
            i = end
        i += 1


_find_asciidoc = partial(_find_counted_headings, _ASCIIDOC, _ASCIIDOC_CODE, _ASCIIDOC_END)
_FORMATS: dict[str, Callable[[str], Iterator[Heading]]] = {
    ".rst": _find_rst_headings,
    **dict.fromkeys((".txt", ".info", ""), _find_plain_headings),
    ".org": partial(_find_counted_headings, _ORG, _ORG_CODE, _ORG_TAGS),
    **dict.fromkeys((".adoc", ".asciidoc"), _find_asciidoc),
    ".tex": _latex,
}
