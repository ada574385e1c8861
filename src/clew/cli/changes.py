"""`clew changes`: what came, went and says something else between two states of an index."""

from __future__ import annotations

import re
from collections import Counter
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
    from clew.base.types import Changes, DocumentChange, IndexState

_MOST = 20  # of each list in the text form
_MOST_SENTENCES = 3  # of a document, that came and that went
_MARKS = {"came": "+", "went": "-", "changed": "~", "renamed": ">"}


@click.command("changes", cls=GroupedCommand)
@click.argument("states", required=False, default="", metavar="[A..B]")
@options.flag("--dated", "Dates are those by which documents hold, not those of writes.")
@options.where
@options.usual
def show_changes(
    opener: options.Opener,
    states: str,
    folder: Path,
    *,
    dated: bool,
    filters: Sequence[str],
    as_json: bool,
) -> None:
    """Show the differences between two states of an index.

    \b
      clew changes                         by the last write
      clew changes 12..                    since generation 12
      clew changes 2026-11-01..2026-11-15  by the writes of these days
      clew changes 2024..2025 --dated      documents that held in 2024 and in 2025
      clew changes old.clew..              since another index, such as a restored backup

    Documents are listed with the sentences that were added and removed, changed values with both
    sentences, and entities with their counts. What 'clew compact' erased can only be compared with
    a backup.
    """  # noqa: D301 -- click reads the backspace: these lines are not to be joined
    two = re.fullmatch(r"(.*?)\.\.(?![/\\])(.*)", states)  # and not the ".." of a path
    since, until = two.groups() if two else (states, "")
    with opener(folder) as index:
        changes = index.changes(
            since or None, until or None, dated=dated, where=options.join_filters(filters)
        )
    print_result(changes, _describe_changes(changes), as_json=as_json)


def _describe_changes(changes: Changes) -> Iterator[str]:
    yield f"From {_describe_state(changes.before)}"
    yield f"to {_describe_state(changes.after)}"
    if not changes.documents:
        yield "Nothing changed."
        return
    yield f"\n{bold('Documents')}  {_count(each.change for each in changes.documents)}"
    for document in changes.documents[:_MOST]:
        yield from _describe_document(document)
    yield from count_more(len(changes.documents) - _MOST)
    if changes.values:
        yield f"\n{bold('Other values')}  of the same thing, in two sentences each"
        for value in changes.values[:_MOST]:
            yield f"  {one_line(value.was)} -> {bold(one_line(value.now))}"
            for step, sign in ((value.before, "-"), (value.after, "+")):
                text = f'{sign} "{one_line(step.text)}" {one_line(step.place)}'
                yield wrap_text(text, first="    ", rest="      ", max_lines=3)
        yield from count_more(len(changes.values) - _MOST)
    if changes.entities:
        yield f"\n{bold('Entities')}  {_count(each.change for each in changes.entities)}"
        for entity in changes.entities[:_MOST]:
            said = f"+{entity.n_came} -{entity.n_went} {dim('sentences')}"
            yield f"  {_MARKS[entity.change]} {one_line(entity.name)}  {said}"
        yield from count_more(len(changes.entities) - _MOST)


def _describe_state(state: IndexState) -> str:
    when = f", written {state.written}" if state.written else ""
    where = f", where {one_line(state.where)}" if state.where else ""
    n = format_count(state.n_documents, "document")
    return f"{one_line(state.index)}, generation {state.generation:,}{when}{where}: {n}"


def _describe_document(document: DocumentChange) -> Iterator[str]:
    title = dim(one_line(document.title or document.former_id))
    yield f"  {_MARKS[document.change]} {one_line(document.id)}  {title}"
    for sign, sentences in (("-", document.went), ("+", document.came)):
        for each in sentences[:_MOST_SENTENCES]:
            text = f"{sign} {one_line(each.text)}"
            yield wrap_text(text, first="      ", rest="        ", max_lines=3)
        if len(sentences) > _MOST_SENTENCES:
            yield dim(f"      {sign} and {len(sentences) - _MOST_SENTENCES:,} more")


def _count(changes: Iterator[str]) -> str:
    counts = Counter(changes)
    return ", ".join(f"{counts[each]:,} {each}" for each in _MARKS if counts[each])
