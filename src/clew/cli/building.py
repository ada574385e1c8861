"""`clew index`, `clew remove` and `clew compact`: what writes to an index."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.options import Opener, command_line, index_option, json_option
from clew.cli.plain import dim, echo_json, heading, one_line
from clew.cli.program import SKIPPED
from clew.cli.progress import documents_done
from clew.errors import InputError
from clew.types import Skipped

if TYPE_CHECKING:
    from clew.api import Added
    from clew.index import Settings


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@index_option("--into", "Folder of the index; made if it is not there.")
@click.option(
    "--chunk-size", type=click.IntRange(min=1), metavar="N", help="Tokens of a chunk, at most."
)
@click.option(
    "--chunk-overlap",
    type=click.IntRange(min=0),
    metavar="N",
    help="Tokens that a chunk repeats from the one before.",
)
@click.option(
    "--embedder",
    metavar="SPEC",
    help="minilm (default), sentence-transformers:NAME, static:FOLDER or openai:MODEL@URL.",
)
@click.option("--tagger", metavar="SPEC", help="rules (default), spacy or spacy:PIPELINE.")
@json_option
@click.pass_obj
def index(
    opener: Opener,
    *,
    paths: tuple[str, ...],
    folder: Path,
    chunk_size: int | None,
    chunk_overlap: int | None,
    embedder: str | None,
    tagger: str | None,
    as_json: bool,
) -> None:
    """Read files and folders into an index, or bring it up to date.

    What is there already and did not change costs nothing; a document that changed is replaced.
    Text, Markdown, HTML, JSON, JSON Lines, CSV and TSV are read as they are; PDF, Word and
    Parquet need an extra package, and the message names it.

    The size of chunks, the embedder and the tagger are settled when an index is made.
    """
    from clew.specs import Specs

    chosen = Specs(embedder=embedder, tagger=tagger)
    settings = _settings(chunk_size, chunk_overlap)
    with (
        opener(folder, specs=chosen, settings=settings) as opened,
        documents_done() as on_progress,
    ):
        added = opened.add(list(paths), on_progress=on_progress)
    warn_skipped(added.report.skipped)
    if as_json:
        echo_json({"index": str(folder), **asdict(added)})
    elif _n_seen(added):
        click.echo(_summary(added, folder))
    if not _n_seen(added):
        raise InputError(f"there is no file to index in {', '.join(map(repr, paths))}")
    if added.report.skipped:
        sys.exit(SKIPPED)


@click.command()
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...")
@index_option()
@json_option
@click.pass_obj
def remove(opener: Opener, documents: tuple[str, ...], folder: Path, *, as_json: bool) -> None:
    """Delete documents by id, with everything that only they supported.

    Nothing is deleted where an id is unknown. 'clew compact' erases what was deleted from disk.
    """
    with opener(folder) as opened:
        gone = opened.remove(documents)
    if as_json:
        echo_json({"index": str(folder), "removed": gone})
    else:
        click.echo(f"Removed {_count(len(gone), 'document')} from {one_line(str(folder))}.")


@click.command()
@index_option()
@json_option
@click.pass_obj
def compact(opener: Opener, folder: Path, *, as_json: bool) -> None:
    """Rewrite an index without what was deleted or replaced, and erase that."""
    with opener(folder) as opened:
        before = opened.show()["size_bytes"]
        opened.compact()
        after = opened.show()["size_bytes"]
    if as_json:
        echo_json({"index": str(folder), "size_bytes_before": before, "size_bytes": after})
    else:
        sizes = f"{before / 1e6:.1f} MB before, {after / 1e6:.1f} MB now"
        click.echo(f"{one_line(str(folder))}: {sizes}.")


def warn_skipped(skipped: Iterable[Skipped]) -> None:
    """Say on stderr what gave no document, a line each."""
    for each in skipped:
        click.echo(f"clew: skipped {one_line(str(each))}", err=True)


def added_lines(added: Added) -> list[str]:
    """Return what adding documents did and cost, a line each."""
    report, usage = added.report, added.usage
    done = {
        "added": len(report.added),
        "changed": len(report.changed),
        "restored": len(report.restored),
        "unchanged": report.n_unchanged,
        "skipped": len(report.skipped),
    }
    stages = sorted(usage.seconds.items(), key=lambda stage: -stage[1])
    shown = ", ".join(f"{name} {seconds:.1f}" for name, seconds in stages if seconds >= 0.05)
    cost = f"{usage.total_seconds:.1f} s" + (f" ({shown})" if shown else "")
    return [
        f"{_count(added.n_documents, 'document')}, {_count(added.n_chunks, 'chunk')}",
        ", ".join(f"{n:,} {what}" for what, n in done.items()),
        f"{cost}, {_count(usage.total_tokens, 'token')}",
    ]


def _settings(size: int | None, overlap: int | None) -> Settings | None:
    if size is None and overlap is None:
        return None
    from clew.index import Settings
    from clew.text.chunking import Chunking

    given = {"size": size, "overlap": overlap}
    return Settings(chunking=Chunking(**{k: v for k, v in given.items() if v is not None}))


def _n_seen(added: Added) -> int:
    report = added.report
    new = len(report.added) + len(report.changed) + len(report.restored)
    return new + report.n_unchanged + len(report.skipped)


def _summary(added: Added, folder: Path) -> str:
    holds, done, cost = added_lines(added)
    lines = [f"{heading(one_line(str(folder)))}: {holds}", f"  {done}", dim(f"  {cost}")]
    if added.n_documents:
        lines += ["", "Ask it:  " + command_line("clew ask", '"..."', folder=folder)]
    return "\n".join(lines)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
