"""`clew eval`: methods and their settings on a dataset, with what they cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.building import describe_added, warn_skipped
from clew.cli.comparing import compare_runs, print_report
from clew.cli.graph_questions import measure_graph_questions
from clew.cli.headings import GroupedCommand
from clew.cli.options import Opener, json_option, read_paid, split_list
from clew.cli.plain import one_line
from clew.cli.program import SKIPPED
from clew.cli.progress import show_progress, show_questions
from clew.cli.settings import (
    EvaluationOptions,
    build_protocol,
    check_combination,
    check_reports,
    evaluation_options,
)
from clew.cli.talk import say
from clew.errors import BudgetSpent, InputError, NotAnIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.api import Added, Index
    from clew.evaluate import Dataset
    from clew.evaluate.measure import Protocol
    from clew.evaluate.summary import Row
    from clew.models.budget import Budget


class EvaluationGroup(GroupedCommand):
    """Measures, unless its first word is that of another command."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 -- click's
    ) -> click.Context:
        for command in (compare_runs, measure_graph_questions):
            if args and args[0] == command.name:
                name = f"{info_name} {command.name}"
                return command.make_context(name, args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("eval", cls=EvaluationGroup)
@click.argument("path", metavar="DATASET", type=click.Path(path_type=Path))
@evaluation_options
@json_option
@click.pass_obj
def run_evaluation(
    opener: Opener, *, path: Path, options: EvaluationOptions, as_json: bool
) -> None:
    """Measure methods on DATASET: recall, nDCG and MRR with intervals, tests and costs.

    DATASET is a file or folder in the format of HotpotQA, 2WikiMultiHopQA, MuSiQue, GraphRAG-Bench
    or BEIR, or a folder with corpus.jsonl ({"id", "title", "text"} a line), or one folder of
    documents, and questions.jsonl ({"id", "question", "answers", "supporting_ids", "type",
    "hop_count", "split", "evidence"}). The corpus is indexed first; an index that is there is used
    again, and brought up to date.

    'clew eval graph QUESTIONS' asks about the knowledge graph of an index.

    'clew eval compare RUN...' puts runs that --runs wrote into one report. With --report, dense and
    bm25 are measured too.
    """
    from clew.evaluate import load
    from clew.evaluate.files import make_folder
    from clew.evaluate.measure import measure
    from clew.loading import Specs

    check_combination(options, as_json=as_json)
    check_reports(options.reports)
    bought = read_paid(
        options.llm,
        options.priced,
        options.budget_tokens,
        options.budget_usd,
        others=(options.answer_llm, options.judge),
    )
    asked = build_protocol(options)
    dataset = load(
        path,
        split=options.split,
        limit=options.limit,
        sample=options.sample,
        seed=options.seed,
        corpus=options.corpus,
    )
    if options.runs is not None:
        make_folder(options.runs)
    have = _choose_metrics(dataset, asked)
    shown = (
        () if options.plot is None else _choose_plotted(options.plot, options.metrics, have, asked)
    )
    peers = _read_peers(options.peers, dataset, asked)
    place = options.into or Path(f"{dataset.name}.clew")
    specs = Specs(llm=options.llm, reranker=options.reranker)
    with opener(place, specs=specs, prices=bought.prices) as index:
        added = _update_index(index, dataset, bought.budget)
        with show_questions() as on_progress:
            report = measure(
                index,
                dataset,
                asked,
                folder=options.runs,
                budget=bought.budget,
                on_progress=on_progress,
            )
    report = report.with_peers(peers)
    print_report(report, options.reports, as_json=as_json, with_rows=options.rows)
    if options.plot is not None:
        from clew.evaluate.figures.sensitivity import draw

        draw(report, options.plot, shown)
    if added.report.skipped or any(row.is_failed for row in report.rows):
        sys.exit(SKIPPED)


def _choose_metrics(dataset: Dataset, asked: Protocol) -> frozenset[str]:
    """Return the metrics that apply.

    Raises MissingExtra where one cannot be computed, so that nothing is indexed in vain.
    """
    from clew.evaluate.evaluation import measurable

    judged = () if asked.judge is None else asked.judged
    return measurable(dataset, asked.scoring, answers=asked.answers, judged=judged)


def _choose_plotted(
    plot: Path, metrics: str | None, have: frozenset[str], asked: Protocol
) -> Sequence[str]:
    """Return the metrics to plot, those named or else the main ones.

    Raises InputError or MissingExtra for what cannot be drawn.
    """
    from clew.evaluate.figures.sensitivity import check_figure
    from clew.evaluate.settings import main_metrics

    shown = main_metrics(have, asked.scoring.ks) if metrics is None else split_list(metrics)
    check_figure(plot, asked.settings, shown, have)
    return shown


def _read_peers(files: Sequence[Path], dataset: Dataset, asked: Protocol) -> dict[str, list[Row]]:
    """Return the rows of other systems, by label; InputError where two files have the same."""
    if not files:
        return {}
    from clew.evaluate.peers import load_peers

    peers: dict[str, list[Row]] = {}
    for file in files:
        found = load_peers(file, dataset, asked.scoring)
        twice = next((label for label in found if label in peers), None)
        if twice is not None:
            raise InputError(f"{file} has {twice!r}, as another file has: leave one out")
        peers |= found
    return peers


def _update_index(index: Index, dataset: Dataset, budget: Budget | None) -> Added:
    """Bring the corpus's index up to date; refuse one that holds anything else."""
    foreign = _find_foreign(index, dataset)
    if foreign:
        raise InputError(
            f"{index.folder} holds {foreign!r}, which {dataset.name} lacks: "
            "name another folder with --index"
        )
    with show_progress() as progress:
        added = index.add(dataset.corpus, budget=budget, progress=progress)
    warn_skipped(added.report.skipped)
    say(f"{one_line(str(index.folder))}: {'; '.join(describe_added(added))}", err=True)
    if added.extracted.stopped:
        raise BudgetSpent(added.extracted.stopped)
    return added


def _find_foreign(index: Index, dataset: Dataset) -> str | None:
    """Return the id of a document that the index holds and the corpus does not, if there is."""
    try:
        layer = index.snapshot().layer("document")
    except NotAnIndex:
        return None  # it will be made
    ids = layer.ids(range(len(layer)))
    return next((id_ for id_ in ids if id_ not in dataset.document_ids), None)
