"""Markdown: the text is the whole file, and the body begins behind front matter and title.

The title is `title:` of YAML front matter, else the first heading, else the file name. A heading
counts as the title line only where nothing stands before it but front matter. What front matter
says besides, in YAML between `---` or in TOML between `+++`, is metadata. Pictures in `data:`
addresses are no part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from clew.errors import UnreadableSource
from clew.readers.decode import text_of
from clew.readers.degenerate import without_data
from clew.readers.titled import stem_title, without_title
from clew.readers.walk import File
from clew.types import Document, Heading, Value

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_TOML_MATTER = re.compile(
    r"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_KEY = re.compile(r"^[\w-]+[ \t]*[:=]", re.MULTILINE)
_TITLE_KEY = re.compile(
    r"^title(?::|[ \t]*=)[ \t]*(.*)((?:\n[ \t]+.*)*)", re.IGNORECASE | re.MULTILINE
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(\*{1,3}|`+)(?=\S)([^*`]+)(?<=\S)\1")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_RULE = re.compile(r" {0,3}(?:[-*_=][ \t]*)+")
_OTHER_BLOCK = re.compile(r" {4}|\t| {0,3}(?:[>|<]|[-+*][ \t]|\d+[.)][ \t])")
_NEWLINE = re.compile(r"\r\n?|\n")
_BLANK = re.compile(r"\s*")
_MAX_TITLE = 300  # characters; a longer heading is cut


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a Markdown file."""
    text = without_data(text_of(file))
    matter = _front_matter(text)
    start = _skip_blank(text, matter.end() if matter else 0)
    if start == len(text):
        raise UnreadableSource(file.source, "is empty behind its front matter")
    title = _key_title(matter[1]) if matter else ""
    found = list(_headings(text, start))
    metadata: Mapping[str, Value] = {}
    if matter:
        from clew.readers import front_matter  # with the parsers of YAML and TOML

        metadata = front_matter.values(matter[1], is_toml=text.startswith("+"))
    first, first_end = found[0] if found else (Heading(-1, 1, ""), start)
    body = _skip_blank(text, first_end)
    indent = len(text[start:]) - len(text[start:].lstrip(" "))
    is_title_line = (
        first.start == start + indent and title in ("", first.title) and body < len(text)
    )
    title = title or first.title or stem_title(file)
    yield Document(
        id=file.id,
        text=text,
        title=title,
        source=file.source,
        body_start=body if is_title_line else start,
        metadata=metadata,
        headings=tuple(without_title([heading for heading, _ in found], title)),
    )


def headings(text: str) -> list[Heading]:
    """Return the headings of a Markdown text."""
    return [heading for heading, _ in _headings(text, 0)]


def _front_matter(text: str) -> re.Match[str] | None:
    found = _FRONT_MATTER.match(text) or _TOML_MATTER.match(text)
    return found if found and (_KEY.search(found[1]) or not found[1].strip()) else None


def _skip_blank(text: str, start: int) -> int:
    """Return the start of the first line at or behind `start` that is not blank."""
    blank = _BLANK.match(text, start)
    end = blank.end() if blank else start
    line = max(text.rfind("\n", start, end), text.rfind("\r", start, end)) + 1
    return end if end == len(text) else max(start, line)


def _key_title(matter: str) -> str:
    found = _TITLE_KEY.search(matter)
    if not found:
        return ""
    value, more = found[1].strip(), found[2].strip()
    if value in ("", ">", "|", ">-", "|-"):
        value = more
    elif len(value) > 1 and value[0] == value[-1] == '"':
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
    elif len(value) > 1 and value[0] == value[-1] == "'":
        value = value[1:-1].replace("''", "'")
    else:
        value = f"{value.partition(' #')[0]} {more}"
    return " ".join(value.split())


def _headings(text: str, start: int) -> Iterator[tuple[Heading, int]]:
    """Yield each heading, and where it ends."""
    fence = ""
    paragraph = start  # where the paragraph that the line goes on with began
    above: list[str] | None = []  # its lines; None: in a list or another block, till a blank line
    for begin, end, line in _lines(text, start):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
        elif mark:
            fence, above = mark[1], []
        elif atx := _atx(line):
            level, title = atx
            yield Heading(begin + line.index("#"), level, _inline(title)), end
            above = []
        elif above and _UNDERLINE.fullmatch(line):
            level = 1 if "=" in line else 2
            yield Heading(paragraph, level, _inline(" ".join(above))), end
            above = []
        elif not line.strip() or _RULE.fullmatch(line):
            above = []
        elif above is None or (not above and _OTHER_BLOCK.match(line)):
            above = None
        else:
            paragraph = paragraph if above else begin + len(line) - len(line.lstrip())
            above.append(line.strip())


def _lines(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    while start < len(text):
        newline = _NEWLINE.search(text, start)
        end = newline.end() if newline else len(text)
        yield start, end, text[start:end].rstrip("\r\n")
        start = end


def _atx(line: str) -> tuple[int, str] | None:
    """Return the level and the words of a heading such as `## Words ##`, None if it is none."""
    content = line.lstrip(" ").rstrip()
    words = content.lstrip("#")
    level = len(content) - len(words)
    if not 1 <= level <= 6 or words[:1] not in (" ", "\t") or line.startswith("    "):
        return None
    closed = words.rstrip("#")
    title = (closed if closed[-1:] in (" ", "\t") else words).strip()
    return (level, title) if title else None


def _inline(heading: str) -> str:
    """Return a heading without the marks of links, emphasis and code."""
    words = _LINK.sub(r"\1", heading[:_MAX_TITLE])
    return " ".join(_EMPHASIS.sub(r"\2", words).split())
