"""`clew eval`: methods on a dataset, with what they cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.building import added_lines, warn_skipped
from clew.cli.options import (
    Opener,
    json_option,
    llm_option,
    method_parameters,
    reranker_option,
)
from clew.cli.plain import echo_json, one_line
from clew.cli.program import SKIPPED
from clew.cli.progress import documents_done, questions_asked
from clew.errors import InputError, NotAnIndex
from clew.types import Document

if TYPE_CHECKING:
    from clew.api import Added, Index
    from clew.evaluate import Dataset, Report
    from clew.types import Answer, Evidence, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be measured."""

    methods: Mapping[str, Mapping[str, Scalar]]  # by name, with their parameters
    ks: tuple[int, ...]
    answers: bool
    seed: int


@click.command("eval")
@click.argument("folder", metavar="DATASET", type=click.Path(path_type=Path))
@click.option(
    "--methods",
    "names",
    default="dense,bm25,hybrid,pagerank,clue",
    show_default=True,
    metavar="A,B,...",
    help="The others are compared with the first.",
)
@click.option(
    "--index",
    "into",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the corpus's index. [default: <name of the dataset>.clew]",
)
@click.option("--split", metavar="S", help="Only the questions of this split.")
@click.option("--limit", type=int, metavar="N", help="Only the first N questions.")
@click.option("--ks", default="2,5,10", show_default=True, metavar="K,...", help="Cut-offs.")
@click.option(
    "--param",
    "given",
    multiple=True,
    metavar="METHOD.NAME=VALUE",
    help="Parameter of a method, such as clue.depth=2; may be repeated.",
)
@click.option("--answers", is_flag=True, help="Also answer, and measure EM, F1 and accuracy.")
@click.option("--seed", default=0, show_default=True, help="Of the resampling.")
@click.option("--rows", is_flag=True, help="Put each question's scores in the JSON too.")
@llm_option
@reranker_option
@json_option
@click.pass_obj
def evaluation(  # noqa: PLR0913 -- one argument for each option
    opener: Opener,
    *,
    folder: Path,
    names: str,
    into: Path | None,
    split: str | None,
    limit: int | None,
    ks: str,
    given: tuple[str, ...],
    llm: str | None,
    reranker: str | None,
    seed: int,
    answers: bool,
    rows: bool,
    as_json: bool,
) -> None:
    """Measure methods on DATASET: recall, nDCG and MRR with intervals, tests and costs.

    DATASET is a folder with corpus.jsonl ({"id", "title", "text"} a line) and questions.jsonl
    ({"id", "question", "answers", "supporting_ids", "type", "hop_count", "split"}). In place of
    corpus.jsonl there may be one folder of documents. The corpus is indexed first; an index that
    is there is used again, and brought up to date.
    """
    from clew.evaluate import load, render
    from clew.specs import Specs

    if rows and not as_json:
        raise click.UsageError("--rows goes with --json.")
    asked = _asked(names, ks, given, answers=answers, seed=seed)
    dataset = load(folder, split=split, limit=limit)
    place = into or Path(f"{dataset.name}.clew")
    with opener(place, specs=Specs(llm=llm, reranker=reranker)) as index:
        added = _indexed(index, dataset)
        report = _measured(index, dataset, asked)
    report = replace(report, index_cost=index_cost(added))
    if as_json:
        echo_json(report.to_json(with_rows=rows))
    else:
        click.echo(render(report), nl=False)
    if added.report.skipped:
        sys.exit(SKIPPED)


def index_cost(added: Added) -> dict[str, Scalar]:
    """Return what indexing cost, by name."""
    usage = added.usage
    return {
        "documents": added.n_documents,
        "chunks": added.n_chunks,
        "unchanged": added.report.n_unchanged,
        "tokens": usage.total_tokens,
        "seconds": round(usage.total_seconds, 3),
        **{f"seconds, {stage}": round(s, 3) for stage, s in usage.seconds.items()},
    }


def _asked(names: str, ks: str, given: Sequence[str], *, answers: bool, seed: int) -> Asked:
    """Return what the options ask for. Raises InputError, so that nothing is indexed in vain."""
    from clew.api import build_method

    methods = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not methods:
        raise InputError("--methods names no method: see 'clew methods'")
    cuts = _numbers(ks)
    parameters = {}
    for name in methods:
        mine = method_parameters(name, _settings_of(name, given))
        parameters[name] = {"chunks": max(cuts), **mine}
        build_method(name, parameters[name])
    for setting in given:
        method, dot, _ = setting.partition(".")
        if not dot or method not in parameters:
            have = ", ".join(parameters)
            raise InputError(
                f"--param takes METHOD.NAME=VALUE with a method of {have}, not {setting!r}"
            )
    return Asked(methods=parameters, ks=cuts, answers=answers, seed=seed)


def _settings_of(method: str, given: Sequence[str]) -> list[str]:
    prefix = f"{method}."
    return [setting.removeprefix(prefix) for setting in given if setting.startswith(prefix)]


def _numbers(ks: str) -> tuple[int, ...]:
    try:
        cuts = tuple(int(k) for k in ks.split(","))
    except ValueError:
        cuts = ()
    if not cuts or min(cuts) < 1 or len(set(cuts)) < len(cuts):
        raise InputError(f"--ks takes different whole numbers from 1, such as 2,5,10, not {ks!r}")
    return cuts


def _indexed(index: Index, dataset: Dataset) -> Added:
    """Bring the corpus's index up to date; refuse one that holds anything else."""
    foreign = _foreign(index, dataset)
    if foreign:
        raise InputError(
            f"{index.folder} holds {foreign!r}, which {dataset.corpus_path} lacks: "
            "name another folder with --index"
        )
    with documents_done() as (on_progress, _):
        added = index.add(dataset.corpus_path, on_progress=on_progress)
    warn_skipped(added.report.skipped)
    click.echo(f"{one_line(str(index.folder))}: {'; '.join(added_lines(added))}", err=True)
    return added


def _foreign(index: Index, dataset: Dataset) -> str | None:
    """Return the id of a document that the index holds and the corpus does not, if there is."""
    from clew import readers

    try:
        layer = index.snapshot().layer("document")
    except NotAnIndex:
        return None  # it will be made
    items = readers.read([dataset.corpus_path])
    ids = {item.id for item in items if isinstance(item, Document)}
    return next((i for i in layer.ids(range(len(layer))) if i not in ids), None)


def _measured(index: Index, dataset: Dataset, asked: Asked) -> Report:
    """Ask every question of every method."""
    from clew.evaluate import evaluate

    found: dict[tuple[str, str], Evidence] = {}

    def search(question: str, method: str) -> Evidence:
        evidence = index.search(question, method=method, budget=None, **asked.methods[method])
        found.clear()
        found[question, method] = evidence
        return evidence

    def answer(question: str, method: str) -> Answer:
        return index.answer(found[question, method])

    with questions_asked() as on_progress:
        return evaluate(
            dataset,
            search,
            list(asked.methods),
            asked.ks,
            asked.seed,
            on_progress,
            answer=answer if asked.answers else None,
        )
