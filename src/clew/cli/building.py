"""The commands that write an index (`clew index`, `import`, `backup`, ...), and `clew plan`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew import plugins
from clew.base.display import columns
from clew.base.options import plain_options
from clew.cli import options
from clew.cli.plain import bold, dim, echo_json, is_verbose, one_line, print_result, say, wrap_text
from clew.cli.program import INTERRUPTED, SKIPPED, Failure, GroupedCommand
from clew.cli.progress import (
    describe_kept,
    handle_stop,
    report_interruption,
    show_count,
    show_progress,
)
from clew.cli.render import render_usage
from clew.errors import BudgetSpent, InputError, write_install
from clew.index.options import AddOptions, PlanOptions
from clew.text.languages import find_language
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.api import Added, Index
    from clew.base.reports import CostEstimate, EmbeddingEstimate, Plan
    from clew.base.types import Skipped, Usage
    from clew.index.adding import AddReport
    from clew.index.extract import ExtractionReport
    from clew.index.graph import GraphImport


_TRIPLES = "Methods bubble and agrag need triples: the same command with --triples cooccurrence"
_MOST_TITLES, _LONGEST_TITLE = 5, 40  # looked at for a question, and its characters
_MOST_READ = 100  # chunks looked at for their language
_MOST_PARTLY = 10  # documents that are named one by one
_MOST_SUMMED = 3  # skipped documents that a summary names
_MOST_SKIPPED = 20  # lines of a graph that are named one by one
_HOUR, _MINUTE = 3600, 60  # in seconds
_PLAN_HEAD = "setting for chunks calls prompt completion repairs dollars time".split()
_TELLING_FALLBACKS = 5  # chunks without one usable reply that make a model doubtful


@click.command("index", cls=GroupedCommand)
@click.argument("paths", nargs=-1, metavar="PATH...")
@options.index("Folder of the index; made if it is not there.", into=True)
@options.dataset_options
@options.build_options
@options.add_derived_options(AddOptions, "index", "adding")
@options.paid_options
@options.text(
    "--workers N|RAY",
    "Processes that make rows and vectors, 0 for one on each core, or a Ray cluster: ray, "
    "ray:HOST:PORT or ray://HOST:PORT. [default: 1]",
    default="1",
)
@options.number("--shards N", "Make a new index of N shards below FOLDER, searched as one.")
@options.text("--part I/N", "Only documents of shard I of N, from 0; any machine may fill one.")
@options.path("--vocabulary FILE", "CSV file of names, aliases and types; replaces an earlier one.")
@options.json
@click.pass_obj
def run_index(  # noqa: PLR0913 -- one argument for each group of options
    opener: options.Opener,
    *,
    paths: tuple[str, ...],
    folder: Path,
    dataset: options.DatasetOptions,
    build: options.HowToOpen,
    adding: Mapping[str, Any],
    paid: options.PaidModels,
    workers: str,
    shards: int | None,
    part: str | None,
    vocabulary: Path | None,
    as_json: bool,
) -> None:
    """Read files and folders into an index, or bring it up to date.

    A PATH is a file or a folder, - for standard input, or with --web a web address. It may also be
    a database whose rows --sql chooses, and with --web s3://BUCKET/FOLDER and the like, or
    sitemap+https://SITE: 'clew help documents' has them all.

    What is there already and did not change costs nothing; a document that changed is replaced.
    Text, Markdown, HTML, JSON, JSON Lines, CSV and TSV are read as they are; PDF and Parquet
    need an extra package, and the message names it. Of a folder all files are read but hidden
    ones, what programs leave there such as node_modules, and what .gitignore files name.

    With --units or --triples llm an LLM reads chunks, which costs tokens: 'clew plan' says how
    many. A budget is never exceeded. Where it ends, and after any crash, the same command goes on,
    and no reply is paid for twice.

    The size of chunks, the embedder and the tagger are settled when an index is made.
    """
    source, folder = dataset.choose(paths, folder)
    _take_vocabulary(vocabulary, ())  # one that cannot be taken is refused before anything is read
    if shards is not None:
        _make_shards(folder, shards)
    with options.open_any(opener, folder, **paid.join_build(build)) as opened:
        with report_interruption(opened), show_progress() as progress, handle_stop() as stop:
            added: Added = opened.add(
                paths[0] if len(paths) == 1 else source,
                **adding,
                budget=paid.budget,
                progress=progress,
                stop=stop,
                workers=workers,
                part=part,
            )
        _take_vocabulary(vocabulary, options.iterate_indexes(opened))
        line = suggest_question("ask", opened=opened, folder=folder) if added.n_documents else ""
        is_new = added.n_documents == len(added.report.added) > 0  # no document was there before
        triples = (i.snapshot().layer("triple") for i in options.iterate_indexes(opened))
        bare = is_new and not any(map(len, triples))
        foreign = _suggest_embedder(opened) if is_new else ""
    warn_skipped(added.report.skipped)
    warn_partly(added.report.partly)
    if as_json:
        echo_json({"index": options.index_name(folder), **added.to_dict()})
    elif part is not None or not added.report.is_empty:
        say("\n".join([*_summarize(added, folder), *(["", line] if line else [])]))
        if bare and adding["triples"] is None:
            say(_TRIPLES)
        if foreign:
            say(foreign)
    _end_run(added, paths if part is None else ())


def _take_vocabulary(path: Path | None, indexes: Iterable[Index]) -> None:
    """Replace the vocabulary of indexes by a list. Raises InputError if it is invalid."""
    from clew.index.vocabulary import read_vocabulary

    if path is not None:
        read_vocabulary(path)
        for each in indexes:
            each.take_vocabulary(path)


def _make_shards(folder: Path, n: int) -> None:
    """Create a folder of `n` shards, unless it exists with as many."""
    from clew.index.store import sharded

    if not sharded.is_home(folder):
        plugins.load("openers", sharded.SHARDS, "--shards").create(folder, n)
    elif (there := len(sharded.read_places(folder))) != n:
        held = format_count(there, "shard")
        raise InputError(f"{folder} has {held}, not {n}: leave --shards out")


def _end_run(added: Added, paths: Sequence[str]) -> None:
    """Exit with an error, or with the status for skipped files.

    Where none of the `paths` had a file, or none could be read, it is an error.
    """
    from clew.readers.sources import no_file, nothing_read

    report = added.report
    if report.stopped:
        raise Failure(describe_kept(added.n_documents), INTERRUPTED)
    if paths and report.is_empty:
        raise no_file(", ".join(map(repr, paths)), report.left_out)
    if paths and report.is_skipped:
        raise nothing_read(report.skipped)
    if added.extracted.stopped:
        raise BudgetSpent(added.extracted.stopped)
    if not all(each.unread for each in report.skipped):
        sys.exit(SKIPPED)


@click.command("plan", cls=GroupedCommand)
@click.argument("paths", nargs=-1, metavar="PATH...")
@options.index("Folder of the index: what its ledger has costs nothing.", into=True)
@options.dataset_options
@options.build_options
@options.add_derived_options(PlanOptions, "plan", "planned")
@options.priced_options
@options.json
@click.pass_obj
def run_plan(
    opener: options.Opener,
    *,
    paths: tuple[str, ...],
    folder: Path,
    dataset: options.DatasetOptions,
    build: options.HowToOpen,
    planned: Mapping[str, Any],
    paid: options.PaidModels,
    as_json: bool,
) -> None:
    """Estimate what indexing PATH... with an LLM would cost, for each setting.

    Nothing is sent to the LLM and nothing is written. Prompts are the real ones; what the LLM will
    answer is estimated, and the plan says from what.
    """
    source, folder = dataset.choose(paths, folder)
    with opener(folder, **paid.join_build(build)) as opened:
        plan = opened.plan(source, **planned)
    print_result(plan, _describe_plan(plan), as_json=as_json)


def _describe_plan(plan: Plan) -> Iterator[str]:
    counts = {"document": plan.n_documents, "chunk": plan.n_chunks, "token": plan.n_tokens}
    about = ", ".join(format_count(n, what) for what, n in counts.items())
    yield f"{bold(one_line(plan.model) or 'no LLM named')}: {about}"
    yield ""
    rows = columns.align([_PLAN_HEAD, *map(_estimate_cells, plan.estimates)], left=2)
    yield from (f"  {row}".rstrip() for row in rows)
    yield ""
    yield from (dim(wrap_text(note)) for note in _list_notes(plan))


def _list_notes(plan: Plan) -> Iterator[str]:
    """Yield notes on how to read the estimates."""
    whole = plan.estimates[-1]
    saved = 1 - whole.prompt_tokens / max(whole.unpacked_prompt_tokens, 1)
    counter = "the model itself" if plan.exact else "cl100k_base"
    yield f"Prompt tokens are counted by {counter}, on the prompts that would be sent."
    yield f"Completion tokens are estimated from {plan.basis}."
    if not plan.core_is_known:
        yield (
            "Which chunks are core is not known before they are indexed: a random sample of as many"
            " stands for them. A core may cost more: its chunks tend to be longer."
        )
    if saved > 0:
        yield f"Short chunks share a prompt: {saved:.0%} fewer prompt tokens for everything."
    if any(plan.n_known.values()):
        units, graph = plan.n_known["units"], plan.n_known["graph"]
        held = f"the units of {units:,} chunks and the triples of {graph:,}"
        yield f"The ledger has {held}, which cost nothing."
    if not whole.repair_tokens:
        yield "Repairs of replies that cannot be used come on top: none are known of."
    if plan.embedding is not None:
        yield _describe_vectors(plan.embedding)
    if whole.cost_usd is None:
        yield "The price is not known: give it with --price MODEL=IN,OUT."
    if plan.batch:
        yield "Dollars are those of batches, whose replies come within a day."
    elif whole.seconds is None:
        yield "The time is not known before some calls were made: index a few documents first."


def _describe_vectors(estimate: EmbeddingEstimate) -> str:
    price = "at a price that is not known: give it with --price MODEL=IN,0"
    if estimate.cost_usd is not None:
        price = f"for ~{estimate.cost_usd:,.4f} dollars"
    texts = format_count(estimate.n_texts - estimate.n_known, "text")
    others = f"; {estimate.n_known:,} others cost nothing" if estimate.n_known else ""
    return (
        f"Vectors by {one_line(estimate.model)} of chunks, sentences and names come on top:"
        f" ~{estimate.tokens:,} tokens of {texts} {price}{others}. Vectors of what an LLM will find"
        f" are not in this."
    )


def _estimate_cells(estimate: CostEstimate) -> tuple[str, ...]:
    return (
        estimate.setting,
        ", ".join(estimate.methods),
        f"{estimate.n_chunks:,}",
        f"{estimate.calls:,}",
        f"{estimate.prompt_tokens:,}",
        f"~{estimate.completion_tokens:,}",
        f"~{estimate.repair_tokens:,}" if estimate.repair_tokens else "0",
        "unknown" if estimate.cost_usd is None else f"~{estimate.cost_usd:,.4f}",
        "unknown" if estimate.seconds is None else f"~{_format_time(estimate.seconds)}",
    )


def _format_time(seconds: float) -> str:
    if seconds >= _HOUR:
        return f"{seconds / _HOUR:.1f} h"
    return f"{seconds / _MINUTE:.1f} min" if seconds >= _MINUTE else f"{seconds:.0f} s"


@click.command("import", cls=GroupedCommand)
@click.argument("path", type=click.Path(path_type=Path))
@options.index("Folder of the index; made if it is not there.", into=True)
@options.derive_option("limits", plain_options(AddOptions, "index")["limits"])
@options.build_options
@options.json
@click.pass_obj
def import_graph(
    opener: options.Opener,
    *,
    path: Path,
    folder: Path,
    limits: Sequence[str],
    build: options.HowToOpen,
    as_json: bool,
) -> None:
    """Take a knowledge graph, or what another system keeps, into an index.

    PATH is a folder of LightRAG, nano-graphrag or GraphRAG, GraphML (of Neo4j by APOC), a zip file
    of any of them, or a file of triples: TSV, CSV, JSON Lines, Parquet, N-Triples or Turtle.
    GraphRAG, Parquet and RDF need an extra package. No LLM reads anything.

    Texts that a system keeps become documents, and what it says of a text goes to that one. Of all
    else what it says of one subject becomes a document, PATH#SUBJECT, with a line for each triple.

    Read again, PATH is mirrored: what did not change costs nothing, and what is gone from it is
    removed. What cannot be used is named, and the rest is taken. After any crash the same command
    goes on.
    """
    from clew.limits import parse_limits

    with opener(folder, **build) as opened, show_count("indexing", "documents") as on_progress:
        done = opened.import_graph(path, limits=parse_limits(limits), on_progress=on_progress)
        layers = {name: len(layer) for name, layer in opened.snapshot().layers.items()}
        suggestion = suggest_question("ask", "--method", "paths", opened=opened, folder=folder)
    warn_skipped([each for each in done.skipped if each.unread])
    warn_partly({} if done.texts is None else done.texts.partly)
    problems = [each for each in done.skipped if not each.unread]
    _print_problems(problems, _MOST_SKIPPED)
    value = {"index": options.index_name(folder), **done.to_dict()}
    words = [*_summarize_graph(done, layers, folder), "", suggestion]
    print_result(value, words, as_json=as_json, is_news=True)
    if problems:
        sys.exit(SKIPPED)


@click.command("import-triples", cls=GroupedCommand)
@click.argument("file", type=click.Path(path_type=Path))
@options.usual
def import_triples(opener: options.Opener, file: Path, folder: Path, *, as_json: bool) -> None:
    """Take entities and triples of indexed documents from FILE, JSON lines.

    A line is {"id": DOCUMENT, "triples": [[SUBJECT, RELATION, OBJECT], ...]}. They replace what was
    extracted from these documents before. What cannot be read is named, and the rest is taken.
    """
    with opener(folder) as opened, show_count("extracting", "chunks") as on_chunks:
        done = opened.import_triples(file, on_chunks=on_chunks)
        layers = opened.show()["layers"]
    _print_problems(done.skipped)
    value = {"index": options.index_name(folder), **done.to_dict()}
    held = f"{format_count(layers['triple'], 'triple')} now in {options.display_name(folder)}"
    line = f"Triples of {format_count(done.recorded, 'chunk')} taken over; {held}."
    print_result(value, [line], as_json=as_json, is_news=True)
    if done.skipped:
        sys.exit(SKIPPED)


@click.command("edit", cls=GroupedCommand)
@click.argument("name")
@options.text("--name TEXT", "How it is to be shown.", "rename")
@options.text("--type TYPE", "What it is: person, place, ship; '' takes it back.", "type_")
@options.flag("--apart", "Never merge it by rules, nor propose that.")
@options.flag("--together", "Take --apart back.")
@options.usual
def edit_entity(
    opener: options.Opener,
    name: str,
    folder: Path,
    *,
    rename: str | None,
    type_: str | None,
    apart: bool,
    together: bool,
    as_json: bool,
) -> None:
    """Rename or retype the entity NAME, or keep it apart from others.

    What is said so is kept over updates, and comes before what texts, lists and extractions say.
    'clew show --vocabulary' lists it.
    """
    if (rename is None and type_ is None and not (apart or together)) or (apart and together):
        raise click.UsageError("give --name, --type, or one of --apart and --together")
    with opener(folder) as opened:
        is_apart = True if apart else False if together else None
        entry = opened.edit(name, rename=rename, type=type_, apart=is_apart)
    said = [entry.name, entry.type, "kept apart" if entry.apart else ""]
    what = ", ".join(filter(None, said)) or "nothing is said of it by hand any more"
    line = f"{one_line(name)}: {one_line(what)}"
    value = {"entity": name, "entry": asdict(entry)}
    print_result(value, [line], as_json=as_json, is_news=True)


@click.command("merge", cls=GroupedCommand)
@click.argument("name", required=False)
@click.argument("into", required=False)
@options.flag("--rules", "Merge what differs by an article or a legal form.")
@options.usual
def merge_names(
    opener: options.Opener,
    name: str | None,
    into: str | None,
    folder: Path,
    *,
    rules: bool,
    as_json: bool,
) -> None:
    """Let the entity NAME stand for the entity INTO; 'clew unmerge NAME' takes it back.

    'clew show --aliases' lists names that may be of one thing.
    """
    if rules == (name is not None) or (name is None) != (into is None):
        raise click.UsageError("give NAME and INTO, or --rules")
    with opener(folder) as opened:
        if name is None or into is None:
            names = opened.snapshot().layer("entity")
            keys = opened.merge_by_rules().items()  # told as they were written before
            pairs = [tuple(names.texts(names.rows(list(pair)))) for pair in keys]
        else:
            opened.merge(name, into)
            pairs = [(name, into)]
    merged = [{"name": one, "into": other} for one, other in pairs]
    lines = [f"{one_line(one)} stands for {one_line(other)} now." for one, other in pairs]
    value = {"index": options.index_name(folder), "merged": merged}
    lines = lines or ["No name differs from another by an article or a legal form alone."]
    print_result(value, lines, as_json=as_json, is_news=True)


@click.command("unmerge", cls=GroupedCommand)
@click.argument("name")
@options.usual
def unmerge_name(opener: options.Opener, name: str, folder: Path, *, as_json: bool) -> None:
    """Let the entity NAME, which stood for another, stand for itself again."""
    with opener(folder) as opened:
        opened.unmerge(name)
    value = {"index": options.index_name(folder), "unmerged": name}
    line = f"{one_line(name)} stands for itself again."
    print_result(value, [line], as_json=as_json, is_news=True)


@click.command("remove", cls=GroupedCommand)
@click.argument("documents", nargs=-1, metavar="[DOCUMENT]...")
@options.where
@options.flag("--dry-run", "Name what would be deleted, and delete nothing.")
@options.usual
def remove_documents(
    opener: options.Opener,
    documents: tuple[str, ...],
    folder: Path,
    *,
    filters: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Delete documents, with everything that only they supported.

    A DOCUMENT is an id, a folder of ids, or a pattern such as 'notes/*.md'. With --where, only
    those of them, or of all, that fulfil it. Nothing is deleted where one of them names nothing.
    'clew compact' erases what was deleted from disk.
    """
    if not (documents or filters):
        raise click.UsageError("give a DOCUMENT or --where FILTER")
    ids = [each.replace(os.sep, "/") for each in documents]  # on Windows as its shells write them
    with options.open_any(opener, folder) as opened:
        gone = opened.remove(ids, where=options.join_filters(filters), dry_run=dry_run)
    place, n = options.display_name(folder), format_count(len(gone), "document")
    if as_json:
        removed = [] if dry_run else gone
        echo_json({"index": options.index_name(folder), "removed": removed, "matched": gone})
    elif dry_run:
        click.echo("\n".join(map(one_line, gone)))
        say(f"{n} would be removed from {place}.", err=True)
    else:
        say(f"Removed {n} from {place}.")


@click.command("compact", cls=GroupedCommand)
@options.usual
def compact_index(opener: options.Opener, folder: Path, *, as_json: bool) -> None:
    """Rewrite an index without what was deleted or replaced, and erase that."""
    before = after = 0
    with options.open_any(opener, folder) as opened:
        for each in options.iterate_indexes(opened):
            before += each.show()["size_bytes"]
            each.compact()
            after += each.show()["size_bytes"]
    name = options.index_name(folder)
    line = f"{one_line(name)}: {before / 1e6:.1f} MB before, {after / 1e6:.1f} MB now."
    value = {"index": name, "size_bytes_before": before, "size_bytes": after}
    print_result(value, [line], as_json=as_json, is_news=True)


@click.command("backup", cls=GroupedCommand)
@click.argument("file", type=click.Path(path_type=Path))
@options.usual
def backup_index(opener: options.Opener, file: Path, folder: Path, *, as_json: bool) -> None:
    """Write an index to FILE, an archive that ends in .tar.gz or .tar.

    It is the newest generation, with what was paid for. Others may ask and write meanwhile. A FILE
    that is there is never overwritten, and one that is not whole is never there.
    """
    with opener(folder) as index:
        report = index.backup(file)
    documents, size = format_count(report.n_documents, "document"), report.n_bytes / 1e6
    line = f"{one_line(report.path)} has generation {report.generation} with {documents}"
    print_result(report, [f"{line} ({size:,.1f} MB)"], as_json=as_json, is_news=True)


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@options.index("Folder of the index; it must not be there, or be empty.", into=True)
@options.json
def restore_index(file: Path, folder: Path, *, as_json: bool) -> None:
    """Make an index of FILE, which 'clew backup' wrote, once every byte of it is verified."""
    from clew.api import restore as restored

    report = restored(file, folder)
    documents, place = format_count(report.n_documents, "document"), options.display_name(folder)
    line = f"{place} is checked and has generation {report.generation} with {documents}"
    print_result(report, [line], as_json=as_json, is_news=True)


def warn_skipped(skipped: Sequence[Skipped]) -> None:
    """Print skipped inputs to stderr, a line each, and how many files have no reader."""
    from clew.readers.pictures import PICTURES

    for each in skipped:
        if is_verbose() or not each.unread:
            say(f"clew: skipped {one_line(str(each))}", err=True)
    counts = Counter(each.unread for each in skipped if each.unread)
    if counts and not is_verbose():
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        kinds = ", ".join(f"{n:,} {one_line(suffix)}" for suffix, n in ordered)
        files = f"{format_count(counts.total(), 'file')} that no reader takes"
        hint = ", --ocr reads pictures" if counts.keys() & {*PICTURES} else ""
        say(f"clew: skipped {files}: {kinds} (--verbose names them{hint})", err=True)


def warn_partly(partly: Mapping[str, Sequence[str]]) -> None:
    """Print partly read documents to stderr, a line each, and how many more there are.

    With --verbose all are named.
    """
    shown = list(partly.items())[: None if is_verbose() else _MOST_PARTLY]
    for each, notes in shown:
        say(f"clew: read in part {one_line(each)}: {one_line('; '.join(notes))}", err=True)
    if len(partly) > len(shown):
        more = format_count(len(partly) - len(shown), "more document")
        say(f"clew: read in part {more}: 'clew list' says why", err=True)


def _print_problems(problems: Sequence[Skipped], most: int | None = None) -> None:
    """Print unusable lines to stderr, at most `most`."""
    for each in problems[:most]:
        say(f"clew: {one_line(str(each))}", err=True)
    if most is not None and len(problems) > most:
        say(f"clew: and {len(problems) - most:,} more", err=True)


def describe_added(added: Added) -> list[str]:
    """Return the result and cost of adding documents, a line each."""
    return [
        f"{format_count(added.n_documents, 'document')}, {format_count(added.n_chunks, 'chunk')}",
        _count(_count_report(added.report)),
        _describe_cost(added.usage),
        *_describe_extracted(added.extracted),
    ]


def _count_report(report: AddReport) -> dict[str, int]:
    """Return the number of documents added, updated, etc., by name."""
    return {
        "added": len(report.added),
        "changed": len(report.changed),
        "restored": len(report.restored),
        **({"with other metadata": len(report.restated)} if report.restated else {}),
        **({"renamed": len(report.renamed)} if report.renamed else {}),
        "unchanged": report.n_unchanged,
        "skipped": len(report.skipped),
        **({"read in part": len(report.partly)} if report.partly else {}),
    }


def _count(done: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {what}" for what, n in done.items())


def _describe_cost(usage: Usage) -> str:
    stages = sorted(usage.seconds.items(), key=lambda stage: -stage[1])
    shown = ", ".join(f"{name} {seconds:.1f}" for name, seconds in stages if seconds >= 0.05)
    stated = f" ({shown})" if shown else ""
    return f"{usage.total_seconds:.1f} s{stated}, {render_usage(usage)}"


def _describe_extracted(done: ExtractionReport) -> Iterator[str]:
    """Yield the extracted and pending counts, a line for each kind."""
    for kind, what in (("units", "knowledge units"), ("graph", "triples")):
        counts = list(_count_extracted(done, kind))
        if counts:
            yield f"{what}: {', '.join(counts)}"
    if n := done.batches.get("requests"):
        under_way = (
            f"{format_count(n, 'request')} in batches, {done.batches['answered']:,} answered"
        )
        yield f"{under_way}: the same command again collects the replies"
    if done.dropped:
        yield f"{format_count(done.dropped, 'item')} of the LLM's replies left out, being unusable"
    if not any(done.llm.values()) and sum(done.fallback.values()) >= _TELLING_FALLBACKS:
        yield "No reply of this model was usable: see docs/guides/llm.md"


def _count_extracted(done: ExtractionReport, kind: str) -> Iterator[str]:
    n_llm, n_fallback, n_waiting = done.llm[kind], done.fallback[kind], done.waiting[kind]
    if n_llm or n_fallback:
        yield f"{format_count(n_llm, 'chunk')} by the LLM"
    if n_fallback:
        instead = {"units": "sentences", "graph": "co-occurrence"}[kind]
        has = "got none" if kind == "graph" and done.bare else f"fell back to {instead}"
        yield f"{n_fallback:,} {has}, its replies being unusable ('--retry' asks again)"
    if kind == "graph" and done.rules:
        yield f"{format_count(done.rules, 'chunk')} by rules"
    if n_waiting:
        yield f"{format_count(n_waiting, 'chunk')} waiting"


def suggest_question(*words: str, opened: options.Opened, folder: Path) -> str:
    """Return a line that suggests a first question about one of the titles."""
    layers = (index.snapshot().document_layer for index in options.iterate_indexes(opened))
    first = (d.title for each in layers for d in each.documents(range(len(each))[:_MOST_TITLES]))
    fitting = (t for t in first if len(t) <= _LONGEST_TITLE and any(map(str.isalpha, t)))
    about = next(fitting, "")
    question = f"What is known about {about}?" if about else "What is this about?"
    return f"Ask it:  {options.command_line(*words, question, folder=folder)}"


def _summarize(added: Added, folder: Path) -> Iterator[str]:
    holds, done, cost, *more = describe_added(added)
    yield f"{bold(options.display_name(folder))}: {holds}"
    yield from (f"  {line}" for line in (done, *more))
    yield dim(f"  {cost}")
    report, n = added.report, len(added.report.gone)
    problems = [each for each in report.skipped if not each.unread]
    yield from (f"  skipped: {one_line(str(each))}" for each in problems[:_MOST_SUMMED])
    if len(problems) > _MOST_SUMMED:
        yield f"  skipped: {len(problems) - _MOST_SUMMED:,} more, named above"
    if report.left_out:
        reasons = {"exclude": "--exclude", "gitignore": ".gitignore, see --no-gitignore"}
        parts = (f"{count:,} by {reasons[why]}" for why, count in report.left_out.items())
        yield f"  files and folders left out: {', '.join(parts)}"
    if n:
        there = "no longer there or left out" if report.left_out else "no longer there"
        done = "removed" if report.pruned else f"--prune removes {'it' if n == 1 else 'them'}"
        yield f"  {format_count(n, 'document')} {there}: {done}"


def _suggest_embedder(opened: options.Opened) -> str:
    """Return a better embedder if most texts are in a language the current one lacks, else None."""
    snapshot = next(iter(options.iterate_indexes(opened))).snapshot()
    chunks = snapshot.layer("chunk")
    rows = range(0, len(chunks), max(1, len(chunks) // _MOST_READ))
    languages = Counter(map(find_language, chunks.texts(list(rows))))
    language, n = languages.most_common(1)[0] if languages else (None, 0)
    is_default = str(snapshot.recipe.get("embedder_spec", "minilm")).startswith("minilm")
    if language in {None, "English"} or 2 * n < len(rows) or not is_default:
        return ""
    return (
        f"Most of it is {language}, and its embedder was trained on English: for such texts index"
        f" with --embedder multilingual ({write_install('multilingual')})"
    )


def _summarize_graph(done: GraphImport, layers: Mapping[str, int], folder: Path) -> Iterator[str]:
    held = ", ".join(format_count(layers[each], each) for each in ("triple", "entity", "document"))
    yield f"{bold(options.display_name(folder))}: {held}"
    if done.texts is not None:
        counts = {**_count_report(done.texts), "removed": len(done.texts.gone)}
        if any(counts.values()):
            yield f"  texts of {done.system}: {_count(counts)}"
    subjects = {
        "added": done.n_added,
        "changed": done.n_changed,
        "removed": done.n_removed,
        "unchanged": done.n_unchanged,
    }
    if any(subjects.values()) or not done.n_placed:
        yield f"  subjects: {_count(subjects)}"
    if done.n_placed:
        yield f"  {format_count(done.n_placed, 'triple')} went to texts of the index"
    if done.n_unplaced:
        yield f"  {format_count(done.n_unplaced, 'triple')} named texts that the index lacks"
    if done.left:
        yield f"  not taken: {', '.join(done.left)}"
    problems = [each for each in done.skipped if not each.unread]
    if problems:
        counted = format_count(len(problems), "problem")
        yield f"  {counted} in {one_line(problems[0].source)}"
    yield dim(f"  {_describe_cost(done.usage)}")
