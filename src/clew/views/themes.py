"""Themes as plain values, and a report of all themes as Markdown or HTML."""

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from clew.base.display.visible import visible
from clew.base.runtime.lazy import compile_re
from clew.base.types import Theme
from clew.errors import InputError
from clew.index.snapshot import Snapshot
from clew.steps.theme_descriptions import describe_coverage, describe_themes
from clew.steps.themes import themes
from clew.text.quantities import format_count

_SUFFIXES = (".md", ".html")
_MARKS = compile_re(r"([\\`*_{}\[\]<>#|!~])")  # what Markdown obeys
_MAX_DOCUMENTS = 10
_STYLE = "body{max-width:50em;margin:2em auto;padding:0 1em;font:16px/1.5 sans-serif}"


def list_themes(snapshot: Snapshot, level: int = 0, most: int | None = None) -> tuple[Theme, ...]:
    """Return the themes of a level, largest first, with undivided ones of the level above."""
    return tuple(describe_themes(snapshot, themes(snapshot).of_level(level)[:most]))


def find_theme(snapshot: Snapshot, name: str) -> Theme | None:
    """Return a theme by its id, or None."""
    row = themes(snapshot).find(name)
    return None if row < 0 else describe_themes(snapshot, [row])[0]


def write_report(snapshot: Snapshot, path: Path, title: str) -> int:
    """Write a report of all themes of an index to a file; return the number of themes.

    All texts from documents are escaped. Raises InputError for another suffix, or if the file
    cannot be written.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"a report of themes ends with .md or .html, and {path} does not")
    levels = themes(snapshot)
    rows = [row for row in range(len(levels)) if levels.sizes[row]]
    described = dict(
        zip((levels.ids[row] for row in rows), describe_themes(snapshot, rows), strict=True)
    )
    text = "\n".join(_describe_index(described, title))
    if path.suffix.lower() == ".html":
        from markdown_it import MarkdownIt

        body = MarkdownIt("commonmark", {"html": False}).render(text)
        head = (
            f'<meta charset="utf-8"><title>{escape(visible(title))}</title><style>{_STYLE}</style>'
        )
        text = f"<!doctype html>\n<html><head>{head}</head><body>\n{body}</body></html>\n"
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    return len(described)


def _describe_index(described: Mapping[str, Theme], title: str) -> Iterator[str]:
    yield f"# {_plain(title)}"
    yield ""
    top = [theme for theme in described.values() if not theme.parent]
    yield f"{format_count(len(described), 'theme')}, {len(top):,} at the top."
    yield ""
    for theme in top:
        yield f"- {_plain(theme.name)}: {describe_coverage(theme)}"
    for theme in top:
        yield from _describe_theme(described, theme)


def _describe_theme(described: Mapping[str, Theme], theme: Theme) -> Iterator[str]:
    yield ""
    yield f"{'#' * min(theme.level + 2, 6)} {_plain(theme.name)}"
    yield ""
    yield f"{describe_coverage(theme)}. `{theme.id}`"
    for sentence in theme.sentences:
        yield ""
        yield f"> {_plain(sentence.text)} ({_plain(sentence.place)})"
    yield ""
    for relation in theme.relations:
        verb = f" – {_plain(relation.relation)} –" if relation.relation else " –"
        yield f"- {_plain(relation.subject)}{verb} {_plain(relation.object)} ({relation.count:,})"
    more = len(theme.documents) - _MAX_DOCUMENTS
    yield ""
    names = ", ".join(map(_plain, theme.documents[:_MAX_DOCUMENTS]))
    yield f"In {names}{f' and {more:,} more' if more > 0 else ''}."
    for child in theme.children:
        yield from _describe_theme(described, described[child])


def _plain(text: str) -> str:
    return _MARKS.sub(r"\\\1", visible(" ".join(text.split())))
