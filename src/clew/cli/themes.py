"""`clew themes`: what the documents of an index are about as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli import options
from clew.cli.plain import bold, count_more, dim, one_line, wrap_text
from clew.cli.program import GroupedCommand
from clew.cli.talk import print_result
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.types import Theme

_MOST = 20  # in the text form
_QUOTED = 2  # sentences of each there


@click.command("themes", cls=GroupedCommand)
@options.number("--level N", "0 for the widest themes, 1 for their parts.", least=0, default=0)
@options.path("--report FILE", "Write all themes to FILE, .md or .html.", "report")
@options.where
@options.usual
def show_themes(
    opener: options.Opener,
    folder: Path,
    *,
    level: int,
    report: Path | None,
    filters: Sequence[str],
    as_json: bool,
) -> None:
    """Show what the documents are about: their themes, the largest first.

    A theme has its most telling names and words, sentences that represent it, and how much it
    covers. 'clew show theme:3' has all of one: its parts, documents and relations. No LLM is
    needed.
    """
    with opener(folder) as index:
        where = options.join_filters(filters)
        if report is not None:
            n = index.report_themes(report, where=where)
            line = f"{one_line(str(report))} has {format_count(n, 'theme')}"
            value = {"file": str(report), "n_themes": n}
            print_result(value, [line], as_json=as_json, is_news=True)
            return
        themes = index.themes(level, where=where)
    print_result(themes, _describe_themes(themes), as_json=as_json)


def _describe_themes(themes: Sequence[Theme]) -> Iterator[str]:
    from clew.steps.theme_descriptions import describe_coverage

    for theme in themes[:_MOST]:
        yield f"{bold(one_line(theme.name))}  {dim(theme.id)}"
        parts = f"; {format_count(len(theme.children), 'part')}" if theme.children else ""
        yield f"  {describe_coverage(theme)}{parts}"
        for sentence in theme.sentences[:_QUOTED]:
            quote = f'"{one_line(sentence.text)}" {one_line(sentence.place)}'
            yield wrap_text(quote, first="    ", rest="    ", max_lines=3)
    yield from count_more(len(themes) - _MOST)
