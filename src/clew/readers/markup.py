"""The headings of reStructuredText, Org, AsciiDoc and LaTeX.

A heading begins where its line does, or the line above it that is part of the markup. Those in code
and comments are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from clew.text.normalize import collapse
from clew.types import Heading

_RST = re.compile(
    r"^(?:(?P<over>([=\-~^\"'`#*+:.])\2{2,})[ \t]*\r?\n[ \t]*)?(?P<title>\S.*)\r?\n"
    r"(?P<under>([=\-~^\"'`#*+:.])\5{2,})[ \t]*$",
    re.MULTILINE,
)
_ORG = re.compile(r"^(\*+)[ \t]+(.+?)(?:[ \t]+:[\w@:]+:)?[ \t]*$", re.MULTILINE)
_ORG_CODE = re.compile(
    r"^[ \t]*#\+begin_.*?^[ \t]*#\+end_", re.MULTILINE | re.DOTALL | re.IGNORECASE
)
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S.*?)(?:[ \t]+=+)?[ \t]*$", re.MULTILINE)
_ASCIIDOC_CODE = re.compile(
    r"^(-{4,}|\.{4,}|/{4,}|\+{4,})[ \t]*$.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL
)
_COMMANDS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_LATEX = re.compile(
    rf"^[^%\n]*?(\\({'|'.join(_COMMANDS)})\*?(?:\[[^\]]*\])?\{{((?:[^{{}}]|\{{[^{{}}]*\}})*)\}})",
    re.MULTILINE,
)
_LATEX_CODE = re.compile(r"\\begin\{(verbatim|lstlisting)\}.*?\\end\{\1\}", re.DOTALL)
_LATEX_COMMENTS = re.compile(r"(?<!\\)%.*")
_LATEX_MARKS = re.compile(r"\\[a-zA-Z]+\*?|[{}$~\\]")


def headings(text: str, suffix: str) -> list[Heading]:
    """Return the headings of a text in the markup of a suffix; none where it has no such markup."""
    find = _FORMATS.get(suffix)
    return _ranked(find(text)) if find else []


def _restructured(text: str) -> Iterator[Heading]:
    styles: list[str] = []
    for found in _RST.finditer(text):
        title, over, under = found["title"].rstrip(), found["over"] or "", found["under"]
        too_short = len(under) < len(title)
        if too_short or (over and over != under):
            continue
        style = over[:1] + under[0]
        if style not in styles:
            styles.append(style)
        yield Heading(found.start(), styles.index(style) + 1, collapse(title))


def _org(text: str) -> Iterator[Heading]:
    for found in _outside(_ORG, _ORG_CODE, text):
        yield Heading(found.start(), len(found[1]), collapse(found[2]))


def _asciidoc(text: str) -> Iterator[Heading]:
    for found in _outside(_ASCIIDOC, _ASCIIDOC_CODE, text):
        yield Heading(found.start(), len(found[1]), collapse(found[2]))


def _latex(text: str) -> Iterator[Heading]:
    for found in _outside(_LATEX, _LATEX_CODE, text):
        title = without_commands(found[3])
        if title:
            yield Heading(found.start(1), _COMMANDS.index(found[2]) + 1, title)


def without_commands(title: str) -> str:
    """Return a title of LaTeX without its markup."""
    return collapse(_LATEX_MARKS.sub(" ", _LATEX_COMMENTS.sub("", title)))


def _outside(pattern: re.Pattern[str], code: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches that begin in no code."""
    blocks = [found.span() for found in code.finditer(text)]
    for found in pattern.finditer(text):
        while blocks and blocks[0][1] <= found.start():
            del blocks[0]
        if not blocks or found.start() < blocks[0][0]:
            yield found


def _ranked(found: Iterator[Heading]) -> list[Heading]:
    """Return headings whose widest level is 1, and the next one that is used 2."""
    listed = list(found)
    levels = sorted({heading.level for heading in listed})
    return [Heading(h.start, levels.index(h.level) + 1, h.title) for h in listed]


_FORMATS: dict[str, Callable[[str], Iterator[Heading]]] = {
    ".rst": _restructured,
    ".org": _org,
    ".adoc": _asciidoc,
    ".asciidoc": _asciidoc,
    ".tex": _latex,
}
