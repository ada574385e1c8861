"""Commands that show an index: `clew show`, `list`, `themes`, `changes`, `export` and `methods`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.answers.question import ExportOptions
from clew.cli import options
from clew.cli.plain import align, bold, count_more, dim, one_line, print_result, wrap_text
from clew.cli.program import GroupedCommand
from clew.errors import InputError
from clew.text.lines import file_place
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.api import Index
    from clew.base.reports import Changes, DocumentChange, IndexState, Theme
    from clew.base.types import VocabularyEntry
    from clew.index.store.check import Damage

_MOST_DOCUMENTS, _MOST_PROPOSALS, _MOST_THEMES = 20, 50, 20  # in the text form
_MOST_QUOTED = 2  # sentences of a theme
_GROUPS = {
    "own": "Clew's own",
    "paper": "Of papers",
    "baseline": "To compare with",
    "package": "Of other packages",
}
_UNTOUCHED = {"units": "sentences only", "graph": "without triples"}  # chunks that nothing read
_MOST_CHANGES = 20  # of each list in the text form
_MOST_SENTENCES = 3  # of a document, that came and that went
_MARKS = {"came": "+", "went": "-", "changed": "~", "renamed": ">"}


@click.command("show", cls=GroupedCommand)
@click.argument("name", required=False, metavar="[ID|NAME]")
@options.flag("--aliases", "List names that may mean the same thing.")
@options.flag("--vocabulary", "List what was set by hand or by a vocabulary.", "said")
@options.usual
def show_index(
    opener: options.Opener,
    name: str | None,
    folder: Path,
    *,
    aliases: bool,
    said: bool,
    as_json: bool,
) -> None:
    """Describe an index, a row or theme by its id, or an entity by its name.

    With --aliases and a NAME, only names that may mean the same as NAME are listed.
    """
    if said:
        if aliases or name is not None:
            raise click.UsageError("--vocabulary lists all: give it alone")
        with opener(folder) as index:
            entries = index.vocabulary()
        print_result(entries, _describe_vocabulary(entries), as_json=as_json)
        return
    with opener(folder) as index:
        description = _find_aliases(index, name) if aliases else index.show(name)
    describe_named = _describe_index if name is None else _describe_values
    describe = _describe_aliases if aliases else describe_named
    print_result(description, describe(description), as_json=as_json)


@click.command("export", cls=GroupedCommand)
@click.argument("file", type=click.Path(path_type=Path))
@options.add_derived_options(ExportOptions, "export", "exporting")
@options.where
@options.index()
@options.json
@click.pass_obj
def export_graph(
    opener: options.Opener,
    file: Path,
    folder: Path,
    *,
    exporting: Mapping[str, Any],
    filters: Sequence[str],
    as_json: bool,
) -> None:
    """Write the graph of an index to FILE.

    FILE ends with .graphml, .json (node-link), .jsonl, .tsv, .parquet or .cypher (Neo4j). 'clew
    import' reads .graphml, .jsonl, .tsv and .parquet. An existing FILE is replaced. Without
    triples, .graphml and .json contain names that share a sentence; the other formats need triples,
    which 'clew index PATH --triples cooccurrence' extracts without an LLM.
    """
    with opener(folder) as index:
        exported = index.export(file, where=options.join_filters(filters), **exporting)
    nodes = format_count(exported.n_nodes, "node")
    edges = format_count(exported.n_edges, "edge")
    joined = exported.edges_are == "sentences"
    instead = ": no triples, so names that stand in one sentence" if joined else ""
    line = f"{one_line(exported.file)} has {nodes} and {edges}{instead}"
    print_result(exported, [line], as_json=as_json, is_news=True)


@click.command("check", cls=GroupedCommand)
@options.index()
@options.json
@click.pass_obj
def check_index(opener: options.Opener, folder: Path, *, as_json: bool) -> None:
    """Verify every byte of an index, and list damage and the affected documents.

    Every file has checksums, including recorded replies and paid vectors. Damaged cached arrays are
    dropped, and computed again by the next question. The exit status is 1 for any other damage.
    """
    with opener(folder) as index:
        damages = index.check()
    value = {"index": options.index_name(folder), "damages": damages}
    print_result(value, _describe_damage(damages, folder), as_json=as_json)
    if not all(each.is_cached for each in damages):
        sys.exit(1)


def _describe_damage(found: Sequence[Damage], folder: Path) -> Iterator[str]:
    """Yield the damage, and what can be done about it."""
    if not found:
        yield f"{options.display_name(folder)}: no damage, all checksums match."
    for each in found:
        yield f"{bold(one_line(each.file))}  {one_line(each.what)}"
        if each.is_cached:
            yield "  dropped: it will be computed again"
        yield from _list_documents(each.documents)
    if not all(each.is_cached or each.is_paid for each in found):
        yield (
            "Restore the index from a backup, or index its documents into a new folder, where its "
            "calls.sqlite and embeddings.sqlite, copied first, keep what was paid for."
        )


def _list_documents(names: Sequence[str]) -> Iterator[str]:
    yield from (f"  {one_line(name)}" for name in names[:_MOST_DOCUMENTS])
    yield from count_more(len(names) - _MOST_DOCUMENTS)


@click.command("methods")
@click.argument("name", required=False)
@options.json
def show_methods(name: str | None, *, as_json: bool) -> None:
    """Show the retrieval methods, or one with its parameters and their defaults."""
    from clew import methods as known
    from clew.views.describe import describe_method

    kinds = [describe_method(each) for each in ([name] if name else known.names())]
    words = _describe_method(kinds[0]) if name else _describe_groups(kinds)
    print_result(kinds[0] if name else kinds, words, as_json=as_json)


def _describe_groups(described: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a block for each group of methods, with common column widths."""
    from clew import methods as known

    by_name = {each["name"]: each for each in described}
    width = max(len(_mark_default(each)) for each in described)
    for group, names in known.group_names().items():
        rows = [(_mark_default(by_name[n]).ljust(width), by_name[n]["summary"]) for n in names]
        if rows:
            yield f"{bold(_GROUPS[group])}\n{align(rows)}\n"
    yield "Parameters:  clew methods NAME"


def _mark_default(method: Mapping[str, Any]) -> str:
    return f"{method['name']} (default)" if method["default"] else method["name"]


def _describe_method(method: Mapping[str, Any]) -> Iterator[str]:
    yield bold(_mark_default(method))
    for part in filter(None, (method["summary"], method["description"])):
        yield wrap_text(part, first="  ", rest="  ") + "\n"
    yield dim(f"  needs the layers: {', '.join(method['layers']) or 'none'}")
    rows = [
        (
            each["name"],
            _format_value(each["default"]),
            "; ".join(filter(None, (each["description"], " or ".join(each["choices"])))),
        )
        for each in method["parameters"]
    ]
    yield f"\n{bold('Parameters')} and their defaults\n{align(rows)}"


def _find_aliases(index: Index, name: str | None) -> dict[str, Any]:
    """Return the merged names and possible aliases, of one name if given."""
    from clew.text.keys import name_key

    names = index.aliases()
    if name is None:
        return names
    key = name_key(name)
    merged = {one: other for one, other in names["merged"].items() if key in {one, other}}
    if not merged and index.snapshot().layer("entity").rows([key]) == [-1]:
        holds = "see 'clew show' for what the index holds"
        raise InputError(f"the index has no entity {name!r}: {holds}")
    ends = {*merged, *merged.values()}
    return {
        "merged": merged,
        "names": {one: written for one, written in names["names"].items() if one in ends},
        "proposed": [
            each for each in names["proposed"] if key in map(name_key, (each["name"], each["into"]))
        ],
    }


@click.command("list", cls=GroupedCommand)
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@options.choice("--sort id|title|size", "Sort order; size: the largest first.", default="id")
@options.where
@options.usual
def list_documents(
    opener: options.Opener,
    patterns: tuple[str, ...],
    folder: Path,
    *,
    sort: str,
    filters: Sequence[str],
    as_json: bool,
) -> None:
    """List the documents of an index: id, characters and title.

    A PATTERN is an id, a folder of ids, or a pattern such as 'notes/*.md'.
    """
    with options.open_any(opener, folder) as opened:
        ids = opened.documents(*patterns, where=options.join_filters(filters))
        layers = (each.snapshot().document_layer for each in options.iterate_indexes(opened))
        rows: list[dict[str, Any]] = [
            {
                "id": d.id,
                "characters": len(d.text),
                "title": d.title,
                "source": d.source,
                "metadata": dict(d.metadata),
                "partly": d.partly,
            }
            for layer in layers
            for d in layer.documents([row for row in layer.rows(ids) if row >= 0])
        ]
    rows.sort(key=_ORDERS[sort])
    lines = chain.from_iterable(map(_describe_document, rows))
    value = {"index": options.index_name(folder), "documents": rows}
    print_result(value, lines, as_json=as_json)


def _describe_document(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the line of a document, followed by notes on its unread parts."""
    yield f"{row['characters']:>9,}  {one_line(row['id'])}  {one_line(row['title'])}".rstrip()
    for note in row["partly"]:
        yield dim(f"{'':11}read in part: {one_line(note)}")


_ORDERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "id": lambda row: row["id"],
    "title": lambda row: (row["title"], row["id"]),
    "size": lambda row: (-row["characters"], row["id"]),
}


def _describe_vocabulary(entries: Mapping[str, VocabularyEntry]) -> Iterator[str]:
    rows = [
        (
            one_line(entry.name or key),
            one_line(entry.type),
            f"stands for {one_line(entry.target)}" if entry.target else "",
            "kept apart" if entry.apart else "",
            "of a list" if entry.listed else "by hand",
        )
        for key, entry in entries.items()
    ]
    yield align(rows) if rows else "Nothing was set: use 'clew edit NAME'."


def _describe_aliases(aliases: Mapping[str, Any]) -> Iterator[str]:
    names, proposed = aliases["names"], aliases["proposed"]
    for one, other in aliases["merged"].items():
        yield one_line(f"{names[one]} stands for {names[other]}")
    if aliases["merged"] and proposed:
        yield ""
    if proposed:
        yield bold("Names that may mean the same thing") + ":  clew merge NAME INTO"
        yield align(
            [
                (f"{pair['name']} -> {pair['into']}", f"{pair['score']:.2f}", pair["reason"])
                for pair in proposed[:_MOST_PROPOSALS]
            ]
        )
    yield from count_more(len(proposed) - _MOST_PROPOSALS)
    if not (aliases["merged"] or proposed):
        yield "No two names look as if they meant the same thing."


def _describe_index(description: Mapping[str, Any]) -> Iterator[str]:
    """Yield the description of an index, without empty values."""
    documents, extraction = description["documents"], dict(description["extraction"])
    wanted = dict(extraction["wanted"])
    if "random" not in {wanted.get("value"), wanted.get("core_by")}:
        wanted.pop("seed", None)
    if wanted.get("entities") == "llm":
        wanted = {name: v for name, v in wanted.items() if not name.startswith("entit")}
    if not wanted.get("gleanings"):
        wanted.pop("gleanings", None)
    kinds = {
        {"graph": "triples"}.get(kind, kind): {
            untouched if by == "none" else by: n for by, n in extraction[kind].items()
        }
        for kind, untouched in _UNTOUCHED.items()
    }
    advice = ": 'clew compact' erases them" if description["wasted"] else ""
    shown = {
        **description,
        "wasted": f"{description['wasted']:.1%} of the rows{advice}",
        "extraction": {"wanted": wanted, **kinds},
        "documents": documents[:_MOST_DOCUMENTS],
    }
    yield from _describe_values(shown)
    yield from count_more(len(documents) - _MOST_DOCUMENTS)


def _describe_values(description: Mapping[str, Any], indent: str = "") -> list[str]:
    """Return plain values as lines: scalars first, then lists and groups."""
    single = {k: v for k, v in description.items() if not isinstance(v, list | Mapping)}
    lines = []
    if single:
        rows = [(_to_words(name), _format_value(value)) for name, value in single.items()]
        lines.append(align(rows, indent=indent))
    for name, value in description.items():
        if name not in single and value:
            title = f"{indent}{bold(_to_words(name))}"
            lines += [*([""] if lines else []), title, *_describe_items(value, indent + "  ")]
    return lines


def _describe_items(values: Mapping[str, Any] | list[Any], indent: str) -> list[str]:
    if isinstance(values, Mapping):
        return _describe_values(values, indent)
    lines = []
    for value in values:
        if isinstance(value, Mapping):
            *ids, text = value.values()
            if "line" in value:
                ids = [value["id"], file_place(value["source"] or value["document"], value["line"])]
            lines.append(indent + dim(" ".join(one_line(str(i)) for i in ids)))
            lines.append(wrap_text(str(text), first=f"{indent}  ", rest=f"{indent}  "))
        else:
            lines.append(wrap_text(str(value), first=indent, rest=f"{indent}  "))
    return lines


def _to_words(name: str) -> str:
    return one_line(name.removeprefix("n_").replace("_", " "))


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


@click.command("themes", cls=GroupedCommand)
@options.number("--level N", "0 for the widest themes, 1 for their parts.", least=0, default=0)
@options.where
@options.usual
def show_themes(
    opener: options.Opener, folder: Path, *, level: int, filters: Sequence[str], as_json: bool
) -> None:
    """Show what the documents are about: their themes, the largest first.

    A theme is shown with its most characteristic names and words, representative sentences, and its
    share of the documents. 'clew show theme:3' adds its parts, documents and relations. No LLM is
    needed.
    """
    with opener(folder) as index:
        themes = index.themes(level, where=options.join_filters(filters))
    print_result(themes, _describe_themes(themes), as_json=as_json)


def _describe_themes(themes: Sequence[Theme]) -> Iterator[str]:
    from clew.steps.theme_descriptions import describe_coverage

    for theme in themes[:_MOST_THEMES]:
        yield f"{bold(one_line(theme.name))}  {dim(theme.id)}"
        parts = f"; {format_count(len(theme.children), 'part')}" if theme.children else ""
        yield f"  {describe_coverage(theme)}{parts}"
        for sentence in theme.sentences[:_MOST_QUOTED]:
            quote = f'"{one_line(sentence.text)}" {one_line(sentence.place)}'
            yield wrap_text(quote, first="    ", rest="    ", max_lines=3)
    yield from count_more(len(themes) - _MOST_THEMES)


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
    for document in changes.documents[:_MOST_CHANGES]:
        yield from _describe_change(document)
    yield from count_more(len(changes.documents) - _MOST_CHANGES)
    if changes.values:
        yield f"\n{bold('Other values')}  of the same thing, in two sentences each"
        for value in changes.values[:_MOST_CHANGES]:
            yield f"  {one_line(value.was)} -> {bold(one_line(value.now))}"
            for step, sign in ((value.before, "-"), (value.after, "+")):
                text = f'{sign} "{one_line(step.text)}" {one_line(step.place)}'
                yield wrap_text(text, first="    ", rest="      ", max_lines=3)
        yield from count_more(len(changes.values) - _MOST_CHANGES)
    if changes.entities:
        yield f"\n{bold('Entities')}  {_count(each.change for each in changes.entities)}"
        for entity in changes.entities[:_MOST_CHANGES]:
            said = f"+{entity.n_came} -{entity.n_went} {dim('sentences')}"
            yield f"  {_MARKS[entity.change]} {one_line(entity.name)}  {said}"
        yield from count_more(len(changes.entities) - _MOST_CHANGES)


def _describe_state(state: IndexState) -> str:
    when = f", written {state.written}" if state.written else ""
    where = f", where {one_line(state.where)}" if state.where else ""
    n = format_count(state.n_documents, "document")
    return f"{one_line(state.index)}, generation {state.generation:,}{when}{where}: {n}"


def _describe_change(document: DocumentChange) -> Iterator[str]:
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
