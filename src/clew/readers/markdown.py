"""Read Markdown: the text is the whole file; the body begins after the title.

The title is `title:` of YAML front matter, else the first heading, else the file name. A heading
counts as the title line only where nothing stands before it. What front matter says besides, in
YAML between `---` or in TOML between `+++`, is metadata, and labels with values in the body.
Pictures in `data:` addresses are no part of the text. The summary of `details` is a heading.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from clew.base.types import Document, Heading, Value
from clew.errors import UnreadableSource
from clew.readers.decode import text_of
from clew.readers.degenerate import drop_data_urls
from clew.readers.properties import properties
from clew.readers.titled import stem_title, without_title
from clew.readers.walk import File
from clew.text.normalize import collapse

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_TOML_MATTER = re.compile(
    r"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_KEY = re.compile(r"^[\w-]+[ \t]*[:=]", re.MULTILINE)
_TITLES = frozenset("title titel titre título titulo titolo タイトル 標題 标题".split())
_TITLE_KEY = re.compile(
    rf"^(?:{'|'.join(sorted(_TITLES))})(?::|[ \t]*=)(.*)", re.IGNORECASE | re.MULTILINE
)
_SUMMARY = re.compile(r"<summary\b[^>]*>(.{1,500}?)</summary>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_DEEPEST = 6  # the level of a summary
_MOST_MATTER = 1 << 16  # characters of front matter that are read
_DEEPEST_MATTER = 50  # levels of lists and mappings
_DEEP_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]+[ \t]*\.[ \t]*){{{_DEEPEST_MATTER}}}")
_NEWLINE = re.compile(r"\r\n?|\n")
_BLANK = re.compile(r"\s*")
_READ = 1_000  # characters of a heading that are looked at
_MAX_TITLE = 300  # characters; a longer heading is cut


def read(file: File) -> Iterator[Document]:
    """Yield a Markdown file as one document."""
    text = drop_data_urls(text_of(file))
    matter = _FRONT_MATTER.match(text) or _TOML_MATTER.match(text)
    if matter and matter[1].strip() and not _KEY.search(matter[1]):
        matter = None
    start = _skip_blank(text, matter.end() if matter else 0)
    if start == len(text):
        raise UnreadableSource(file.source, "is empty after its front matter")
    title, metadata = "", dict[str, Value]()
    if matter:
        title, metadata = read_front_matter(matter[1], is_toml=text.startswith("+"))
    pairs = list(_headings(text, start))
    first, first_end = pairs[0] if pairs else (Heading(len(text), 1, ""), start)
    body = _skip_blank(text, first_end)
    is_above = not text[start : first.start].strip()
    is_title_line = is_above and title in ("", first.title) and body < len(text)
    title = title or first.title or stem_title(file)
    shows_matter = bool(matter and metadata)
    if matter and shows_matter:
        start, is_title_line = matter.start(1), False
    listed = sorted(
        [*(heading for heading, _ in pairs), *_find_summaries(text, start)],
        key=lambda heading: heading.start,
    )
    yield Document(
        id=file.id,
        text=text,
        title=title,
        source=file.source,
        body_start=body if is_title_line else start,
        metadata=metadata,
        headings=tuple(listed if shows_matter else without_title(listed, title)),
    )


def headings(text: str) -> list[Heading]:
    """Return the headings of a Markdown text."""
    return [heading for heading, _ in _headings(text, 0)]


def _skip_space(text: str, start: int) -> int:
    blank = _BLANK.match(text, start)
    return blank.end() if blank else start


def _skip_blank(text: str, start: int) -> int:
    """Return the start of the first non-blank line from `start` on."""
    end = _skip_space(text, start)
    line = max(text.rfind("\n", start, end), text.rfind("\r", start, end)) + 1
    return end if end == len(text) else max(start, line)


def read_front_matter(matter: str, *, is_toml: bool = False) -> tuple[str, dict[str, Value]]:
    """Return the title and metadata in front matter; no metadata if it is invalid or too deep."""
    import yaml

    line = _TITLE_KEY.search(matter)
    title = line[1].strip(" \t\r\"'") if line else ""
    matter = matter[:_MOST_MATTER]
    with suppress(yaml.YAMLError, ValueError, RecursionError):
        read = _load_toml(matter) if is_toml else _load_yaml(matter)
        values = {str(name): value for name, value in read.items()}
        titles = [values.pop(name) for name in list(values) if name.casefold() in _TITLES]
        title = next((str(each) for each in titles if isinstance(each, str | int)), title)
        return collapse(title), properties(values.items())
    return collapse(title), {}


def _load_toml(matter: str) -> dict[str, Any]:
    """Return a table in TOML, empty if it has keys of so many parts that parsing takes minutes."""
    return {} if _DEEP_KEY.search(matter) else tomllib.loads(matter)


def _load_yaml(matter: str) -> dict[Any, Any]:
    """Return a mapping in YAML, empty for anything else.

    Not read are aliases, whose values could be repeated without end, and deep nesting, on which the
    parsers take quadratic time or overflow the stack.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for event in yaml.parse(matter, loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST_MATTER or isinstance(event, yaml.AliasEvent):
            return {}
    read = yaml.load(matter, loader)  # noqa: S506 -- safe in both
    return read if isinstance(read, dict) else {}


def _find_summaries(text: str, start: int) -> Iterator[Heading]:
    """Yield the range of the summary of each `details` element."""
    for match in _SUMMARY.finditer(text, start):
        if title := collapse(_TAG.sub("", match[1])):
            yield Heading(match.start(), _DEEPEST, title)


def _headings(text: str, start: int) -> Iterator[tuple[Heading, int]]:
    """Yield each heading outside lists and quotations, and its end."""
    parser = _parser()
    references: dict[str, Any] = {}  # addresses of links by their names
    tokens = _HeadingTokens()
    parser.block.parse(_NEWLINE.sub("\n", text[start:]), parser, references, tokens)
    lines = [start, *(newline.end() for newline in _NEWLINE.finditer(text, start)), len(text)]
    for opening, content in zip(tokens[::2], tokens[1::2], strict=True):
        begin, end = (lines[line] for line in opening.map or (0, 0))
        if title := _words(content.content, references):
            level = int(opening.tag.removeprefix("h"))
            yield Heading(_skip_space(text, begin), level, title), end


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


class _HeadingTokens(list["Token"]):
    """Parses only the headings outside lists and quotations.

    Those of a whole text would take some hundred times its memory.
    """

    def append(self, token: Token) -> None:
        is_heading = token.type == "heading_open" and token.level == 0
        is_content = token.type == "inline" and len(self) % 2 == 1
        if is_heading or is_content:
            super().append(token)


def _words(heading: str, references: dict[str, Any]) -> str:
    """Return a heading's text without Markdown and HTML markup."""
    parts: list[Token] = []
    parser = _parser()
    parser.inline.parse(heading[:_READ], parser, references, parts)
    return " ".join("".join(map(_render_token, parts)).split())[:_MAX_TITLE]


def _render_token(part: Token) -> str:
    if part.type in {"softbreak", "hardbreak"}:
        return " "
    if part.type == "image":
        return "".join(map(_render_token, part.children or []))
    return "" if part.type == "html_inline" else part.content
