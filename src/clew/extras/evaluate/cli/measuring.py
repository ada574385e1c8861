"""`clew eval`: measure methods and settings on a dataset, with their costs, or compare runs."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from clew.answers.question import OPTIONS
from clew.base.display.columns import align as align_columns
from clew.cli import options
from clew.cli.building import describe_added, warn_skipped
from clew.cli.plain import echo_json, one_line, print_result, say
from clew.cli.program import SKIPPED, GroupedCommand
from clew.cli.progress import show_count, show_progress
from clew.errors import BudgetSpent, InputError, NotAnIndex
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clew.api import Added, Index
    from clew.base.reports import CostEstimate
    from clew.base.types import Scalar
    from clew.extras.evaluate.datasets import Dataset
    from clew.extras.evaluate.measure import Protocol
    from clew.extras.evaluate.papers import (
        IndexRecipe,
        MeasuredTable,
        OpenIndex,
        PaperColumn,
        PaperModels,
        PaperRow,
        PaperTable,
    )
    from clew.extras.evaluate.report import Report
    from clew.models.budget import Budget


_PATH = click.Path(path_type=Path)
_REPORTED = ("dense", "bm25")  # what a written report always compares with


class EvaluationOptions(SimpleNamespace):
    """The options of `clew eval` as given, by name."""


report_option = options.several("--report FILE", "Also write a .md report", "reports", type=_PATH)
given_option = options.several(
    "--param METHOD.NAME=VALUE", "Method parameter, such as clue.depth=2", "given"
)
context_option = options.number(
    "--context-tokens N", "Tokens of context for coverage and answers.", default=4_000
)
evaluation_options = options.gather_options(
    [
        options.text(
            "--methods A,B,...",
            "The others are compared with the first.",
            "names",
            default="dense,bm25,hybrid,pagerank,clue,walk",
        ),
        given_option,
        options.several(
            "--grid METHOD.NAME=V1,V2,...",
            "Also measure these values, in all combinations",
            "grids",
        ),
        options.path("--index FOLDER", "Index of the corpus. [default: <data set>.clew]", "into"),
        options.text("--split S", "Only the questions of this split."),
        options.where,
        options.derive_option("exact", OPTIONS["exact"]),
        options.text("--limit N", "Only the first N questions.", type=int),
        options.text("--sample N", "Only N questions, drawn at random by --seed.", type=int),
        options.path("--corpus PATH", "File or folder of the documents, if not in the data set."),
        options.text("--ks K,...", "Cut-offs.", default="2,5,10"),
        context_option,
        options.flag("--answers", "Also answer, and measure EM, F1 and accuracy."),
        options.text("--answer-llm SPEC", "LLM that only writes the answers; implies --answers."),
        options.number("--answer-tokens N", "Tokens of an LLM's answer, at most. [default: 512]"),
        options.text("--judge SPEC", "LLM that judges the answers."),
        options.text(
            "--judge-metrics A,B,...",
            "Of judge, graded, correctness, answer coverage and faithfulness. [default: judge]",
            "judged",
        ),
        options.path("--runs FOLDER", "Write a file for each setting; continue an earlier run."),
        options.several("--published FILE", "Also score a peer's results", "published", type=_PATH),
        options.flag("--contexts", "With --runs, keep chunks, contexts, prompts and replies too."),
        report_option,
        options.path("--plot FILE", "Plot a grid of one or two parameters as .svg or .png."),
        options.text("--metrics A,B,...", "Metrics of the plot. [default: recall, coverage]"),
        options.flag("--rows", "Put each question's scores in the JSON too."),
        options.number("--concurrency N", "Questions asked at once.", default=1),
        options.reranker,
    ],
    "flags",
    EvaluationOptions,
)
evaluation_paid_options = options.gather_options(
    [
        options.number(
            "--seed N", "Seed of resampling, --sample and, if given, LLMs. [default: 0]", least=0
        ),
        *options.PAID_OPTIONS,
        *options.DRAWN_OPTIONS,
    ],
    "paid",
    dict,
)


@click.command("compare")
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=_PATH)
@options.text(
    "--baseline LABEL", "Baseline. [default: the first, of a folder the first by name]", default=""
)
@report_option
@options.json
def compare_runs(
    paths: tuple[Path, ...], *, baseline: str, reports: tuple[Path, ...], as_json: bool
) -> None:
    """Compare runs written by 'clew eval --runs', without running them again.

    RUN is a file, or a folder of such. All runs must be over the same questions and documents, and
    scored the same way. Settings of the same name are distinguished by their folders.
    """
    from clew.extras.evaluate.run_files import read_runs, report_of

    check_reports(reports)
    report = report_of(read_runs(paths), baseline)
    print_report(report, reports, as_json=as_json)


paper_options = options.gather_options(
    [
        options.several(
            "--column NAME", "Only this column of the table, such as 'MuSiQue, low'", "chosen"
        ),
        options.several(
            "--row NAME", "Only this row of the table, such as Clue-RAG-1.0", "systems"
        ),
        options.path("--corpus PATH", "File or folder of the documents, if not in the data set."),
        options.path(
            "--triples FILE", "An LLM's triples for rows that need them: 'clew help triples'."
        ),
        options.number("--limit N", "Only the first N questions."),
        options.number("--sample N", "Only N questions, drawn at random."),
        options.path("--into FOLDER", "Folder of indexes and runs. [default: papers.clew]"),
        options.embedder,
        options.tagger,
        options.splitter,
        options.reranker,
        options.text("--answer-llm SPEC", "LLM that only writes the answers."),
        options.text("--judge-llm SPEC", "LLM that judges them. [default: that writes them]"),
        options.number("--concurrency N", "Questions asked at once.", default=1),
        options.flag("--plan", "Say what it would cost, and stop.", "only_plan"),
    ],
    "flags",
    EvaluationOptions,
)


@click.command("papers")
@click.argument("name", metavar="[TABLE]", required=False)
@click.argument("path", metavar="[DATASET]", required=False, type=_PATH)
@paper_options
@options.paid_values
@options.json
@click.pass_obj
def measure_paper(
    opener: options.Opener,
    *,
    name: str | None,
    path: Path | None,
    flags: EvaluationOptions,
    paid: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Measure the rows of a paper's TABLE on DATASET, and print them beside the paper's numbers.

    Without arguments the tables are listed, without DATASET the rows of one and the paper's models.
    Rows that need an LLM are measured with --llm, and their answers are written by --answer-llm if
    that is named; rows that cannot be measured say why. The cost is printed first. A second run
    continues the first, also with more questions, rows, columns or models, and pays for nothing
    twice.
    """
    from clew.extras.evaluate.datasets import load
    from clew.extras.evaluate.papers import (
        PaperModels,
        find_columns,
        group_by_index,
        load_tables,
        measure_table,
    )

    tables = load_tables()
    if name is None:
        _print_tables(tables, as_json=as_json)
        return
    if name not in tables:
        raise InputError(f"there is no table {name!r}, only {', '.join(tables)}")
    table = tables[name].choose_rows(flags.systems)
    if path is None:
        _print_rows(table, as_json=as_json)
        return
    bought = options.read_paid(**paid, others=(flags.answer_llm, flags.judge_llm))
    models = PaperModels(
        llm=bought.llm,
        answer_llm=flags.answer_llm,
        judge_llm=flags.judge_llm,
        triples=flags.triples,
    )
    dataset = load(path, limit=flags.limit, sample=flags.sample, corpus=flags.corpus)
    columns = find_columns(table, dataset, flags.chosen)
    folder = _name_folder(flags, dataset)
    open_index = _make_opener(opener, flags, bought)
    groups = group_by_index(table, columns, models)
    estimate = partial(
        _estimate, dataset=dataset, open_index=open_index, folder=folder, budget=bought.budget
    )
    for line in _plan(table, groups, dataset, estimate, models):
        say(line, err=True)
    if flags.only_plan:
        return
    with show_count("asking") as on_progress:
        measured = measure_table(
            table,
            columns,
            dataset,
            open_index,
            folder,
            models=models,
            concurrency=flags.concurrency,
            budget=bought.budget,
            on_progress=on_progress,
        )
    rows = list(_list_rows(table, columns, measured, models))
    shown = ", ".join(map(one_line, dict.fromkeys(filter(None, measured.models.values()))))
    here = f"Here: {format_count(len(dataset.questions), 'question')} of {dataset.name}, {shown}."
    words = chain(_describe_cells(table, columns, rows), [here] if shown else [])
    result = {"table": name, "models": measured.models, "rows": rows}
    print_result(result, words, as_json=as_json)


def _name_folder(flags: EvaluationOptions, dataset: Dataset) -> Path:
    """Return the folder of the indexes of a data set by these models, which tables share."""
    from clew.extras.evaluate.run_files import safe_name

    named = [each for each in (flags.embedder, flags.tagger, flags.splitter) if each]
    folder: Path = (flags.into or Path("papers.clew")) / dataset.name
    return folder / safe_name(" ".join(named)) if named else folder


def _make_opener(
    opener: options.Opener, flags: EvaluationOptions, bought: options.PaidModels
) -> OpenIndex:
    """Return a function that opens an index in a folder with some arguments of `Chunking`."""

    def open_index(place: Path, chunking: Mapping[str, Any]) -> Index:
        from clew.index.recipe import PAPERS
        from clew.text.chunking import Chunking

        cut = {**chunking, **({"splitter": flags.splitter} if flags.splitter else {})}
        specs = replace(
            bought.name_models(flags.reranker), embedder=flags.embedder, tagger=flags.tagger
        )
        settings = replace(PAPERS, chunking=Chunking(**cut))
        return opener(place, specs=specs, prices=bought.prices, settings=settings)

    return open_index


class EvaluationGroup(GroupedCommand):
    """A command group that measures unless its first word is a subcommand."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:  # noqa: ANN401 -- click's
        commands = {each.name: each for each in (compare_runs, measure_paper)}
        command = commands.get(args[0]) if args else None
        if command is not None:
            name = f"{info_name} {command.name}"
            return command.make_context(name, args[1:], *more, **extra)
        return super().make_context(info_name, args, *more, **extra)


@click.command("eval", cls=EvaluationGroup)
@click.argument("path", metavar="DATASET", type=_PATH)
@evaluation_options
@evaluation_paid_options
@options.json
@click.pass_obj
def run_evaluation(
    opener: options.Opener,
    *,
    path: Path,
    flags: EvaluationOptions,
    paid: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Measure methods on DATASET: recall, nDCG and MRR with intervals, tests and costs.

    DATASET is a file or folder in the format of HotpotQA, 2WikiMultiHopQA, MuSiQue, GraphRAG-Bench
    or BEIR, or a folder with corpus.jsonl ({"id", "title", "text"} a line), or one folder of
    documents, and questions.jsonl ({"id", "question", "answers", "supporting_ids", "type",
    "hop_count", "split", "evidence", "gold_sure"}). The corpus is indexed first; an existing index
    is updated.

    'clew eval papers' measures the rows of papers' tables.

    'clew eval compare RUN...' puts runs that --runs wrote into one report. With --report, dense and
    bm25 are measured too.
    """
    from clew.extras.evaluate.datasets import load
    from clew.extras.evaluate.evaluation import measurable
    from clew.extras.evaluate.files import make_folder
    from clew.extras.evaluate.measure import check_before, measure
    from clew.extras.evaluate.published import add_published, read_published

    check_combination(flags, paid, as_json=as_json)
    check_reports(flags.reports)
    bought, seed = options.read_paid(**paid, others=(flags.answer_llm, flags.judge)), paid["seed"]
    protocol = build_protocol(flags, seed or 0)
    dataset = load(
        path,
        split=flags.split,
        limit=flags.limit,
        sample=flags.sample,
        seed=seed or 0,
        corpus=flags.corpus,
    )
    published = read_published(flags.published, dataset, protocol.scoring.ks)
    if flags.runs is not None:
        make_folder(flags.runs)
    judged = () if protocol.judge is None else protocol.judged
    have = measurable(dataset, protocol.scoring, answers=protocol.answers, judged=judged)
    shown = () if flags.plot is None else _choose_plotted(flags.plot, flags.metrics, have, protocol)
    place = flags.into or Path(f"{dataset.name}.clew")
    with opener(place, **bought.choose_models(flags.reranker)) as index:
        check_before(index, protocol, bought.budget)
        added = _update_index(index, dataset, bought.budget)
        with show_count("asking") as tell:
            report = measure(
                index,
                dataset,
                protocol,
                folder=flags.runs,
                contexts=flags.contexts,
                concurrency=flags.concurrency,
                budget=bought.budget,
                on_progress=tell,
            )
    report = add_published(report, published)
    print_report(report, flags.reports, as_json=as_json, with_rows=flags.rows)
    if flags.plot is not None:
        from clew.extras.evaluate.figures.sensitivity import draw

        draw(report, flags.plot, shown)
    if added.report.skipped or any(row.is_failed for row in report.rows):
        sys.exit(SKIPPED)


def print_report(
    report: Report, files: Sequence[Path], *, as_json: bool, with_rows: bool = False
) -> None:
    """Print a report, and write it to the files."""
    from clew.extras.evaluate.tables import render

    if as_json:
        echo_json(report.to_json(with_rows=with_rows))
    else:
        click.echo(render(report), nl=False)
    if files:
        from clew.extras.evaluate.page import write

        for file in files:
            write(report, file)


def _choose_plotted(
    plot: Path, metrics: str | None, have: frozenset[str], setup: Protocol
) -> Sequence[str]:
    """Return the metrics to plot: the named ones, else the main ones.

    Raises InputError or MissingExtra for what cannot be drawn.
    """
    from clew.extras.evaluate.figures.sensitivity import check_figure
    from clew.extras.evaluate.settings import main_metrics

    shown = main_metrics(have, setup.scoring.ks) if metrics is None else options.split_list(metrics)
    check_figure(plot, setup.settings, shown, have)
    return shown


def _update_index(index: Index, dataset: Dataset, budget: Budget | None) -> Added:
    """Update the corpus's index; refuse an index with other documents."""
    with suppress(NotAnIndex):  # it will be made
        layer = index.snapshot().layer("document")
        ids = layer.ids(range(len(layer)))
        foreign = next((id_ for id_ in ids if id_ not in dataset.document_ids), None)
        if foreign is not None:
            raise InputError(
                f"{index.folder} holds {foreign!r}, not in {dataset.name}: name another --index"
            )
    with show_progress() as progress:
        added = index.add(dataset.corpus, budget=budget, progress=progress)
    warn_skipped(added.report.skipped)
    say(f"{one_line(str(index.folder))}: {'; '.join(describe_added(added))}", err=True)
    if added.extracted.stopped:
        raise BudgetSpent(added.extracted.stopped)
    return added


def check_combination(
    flags: EvaluationOptions, paid: Mapping[str, object], *, as_json: bool
) -> None:
    """Raise UsageError for an option that requires another one."""
    answers = flags.answers or flags.answer_llm is not None
    capped = flags.answer_tokens is not None
    bounded = paid["budget_tokens"] is not None or paid["budget_usd"] is not None
    llms = any((paid["llm"], flags.answer_llm, flags.judge))
    for given, needed, sentence in (
        (flags.contexts, flags.runs is not None, "--contexts goes with --runs."),
        (flags.rows, as_json, "--rows goes with --json."),
        (flags.metrics is not None, flags.plot is not None, "--metrics goes with --plot."),
        (flags.judge is not None, answers, "--judge needs --answers or --answer-llm."),
        (flags.judged is not None, flags.judge is not None, "--judge-metrics goes with --judge."),
        (capped, answers, "--answer-tokens needs --answers or --answer-llm."),
        (bounded, llms, "A budget needs an LLM: --llm, --answer-llm or --judge."),
    ):
        if given and not needed:
            raise click.UsageError(sentence)
    if flags.runs is not None and flags.runs.exists() and not flags.runs.is_dir():
        raise InputError(f"--runs takes a folder, and {flags.runs} is a file: name another one")


def check_reports(files: Sequence[Path]) -> None:
    """Raise InputError for a report that could not be written, before anything is measured."""
    if files:
        from clew.extras.evaluate.page import check_page

        for file in files:
            check_page(file)


def build_protocol(flags: EvaluationOptions, seed: int) -> Protocol:
    """Return the evaluation protocol. Raises InputError before anything is indexed."""
    from clew.extras.evaluate.measure import Protocol, check_protocol
    from clew.extras.evaluate.settings import Scoring, Setting, grid

    names = options.split_list(flags.names)
    if not names:
        raise InputError("--methods names no method: see 'clew methods'")
    if len(names) < sum(bool(part.strip()) for part in flags.names.split(",")):
        raise InputError(f"--methods takes different methods, not {flags.names!r}")
    names += [name for name in _REPORTED if flags.reports and name not in names]
    varied = _parse_grids(flags.grids)
    methods = list(dict.fromkeys((*names, *varied)))
    check_given(flags.given, methods, varied)
    settings = [Setting(name) for name in names]
    settings += [each for method, values in varied.items() for each in grid(method, values)]
    capped = {} if flags.answer_tokens is None else {"answer_tokens": flags.answer_tokens}
    protocol = Protocol(
        settings=tuple(settings),
        scoring=Scoring(
            ks=_parse_cuts(flags.ks), context_tokens=flags.context_tokens, seed=seed, **capped
        ),
        common={name: method_settings(name, flags.given) for name in methods},
        answers=flags.answers or flags.answer_llm is not None,
        answer_llm=flags.answer_llm,
        judge=flags.judge,
        judged=("judge",) if flags.judged is None else tuple(options.split_list(flags.judged)),
        where=options.join_filters(flags.filters),
        exact=flags.exact,
    )
    check_protocol(protocol)
    # Of a method that is also a value of a grid, the row of the grid stands in its place.
    distinct = {protocol.build(each): each for each in protocol.settings}
    return replace(protocol, settings=tuple(distinct.values()))


def check_given(
    given: Sequence[str], methods: Sequence[str], varied: Mapping[str, Mapping[str, object]]
) -> None:
    """Raise InputError for a --param of an unmeasured method, or one that a grid varies."""
    for text in given:
        name, _, _ = text.partition("=")
        method, dot, parameter = name.partition(".")
        if not dot or method not in methods:
            known = ", ".join(methods)
            raise InputError(f"--param takes METHOD.NAME=VALUE, METHOD of {known}, not {text!r}")
        if parameter in varied.get(method, ()):
            raise InputError(f"--param and --grid both set {name}: choose one of them")


def method_settings(method: str, given: Sequence[str]) -> dict[str, Scalar]:
    """Return the parameters that --param sets in all rows of a method."""
    prefix = f"{method}."
    mine = [text.removeprefix(prefix) for text in given if text.startswith(prefix)]
    return options.parse_parameters(method, mine)


def _parse_grids(grids: Sequence[str]) -> dict[str, dict[str, list[Scalar]]]:
    """Return the values that --grid names, by method and parameter."""
    varied: dict[str, dict[str, list[Scalar]]] = {}
    for text in grids:
        name, _, values = text.partition("=")
        method, _, parameter = name.partition(".")
        texts = [value.strip() for value in values.split(",")]
        if not (method and parameter and all(texts)):
            raise InputError(f"--grid takes METHOD.NAME=V1,V2,..., not {text!r}")
        parsed = (options.parse_parameters(method, [f"{parameter}={each}"]) for each in texts)
        typed = [values[parameter] for values in parsed]
        if len(set(typed)) < len(typed):
            raise InputError(f"--grid takes different values, not {text!r}")
        if parameter in varied.setdefault(method, {}):
            raise InputError(f"--grid names {name} twice: give all its values together")
        varied[method][parameter] = typed
    return varied


def _parse_cuts(ks: str) -> tuple[int, ...]:
    try:
        cuts = tuple(int(k) for k in ks.split(","))
    except ValueError:
        cuts = ()
    if not cuts or min(cuts) < 1 or len(set(cuts)) < len(cuts):
        raise InputError(f"--ks takes different whole numbers from 1, such as 2,5,10, not {ks!r}")
    return cuts


# -- tables of papers ----------------------------------------------------------------------------


def _print_tables(tables: Mapping[str, PaperTable], *, as_json: bool) -> None:
    """Print a line for each table."""
    about, lines = [], []
    for name, table in tables.items():
        head = {"name": name, "title": table.title, "address": table.address}
        about.append({**head, "rows": len(table.rows)})
        lines.append([*head.values(), format_count(len(table.rows), "row")])
    print_result(about, align_columns(lines, len(lines[0])), as_json=as_json)


def _print_rows(table: PaperTable, *, as_json: bool) -> None:
    """Print a line for each row of a table, and the paper's models as options."""
    from clew.extras.evaluate.papers import describe_rows

    about = list(describe_rows(table))
    heads = ["row", "measured by", "needs"]
    lines = align_columns([heads, *([*each.values()] for each in about)], len(heads))
    named = " ".join(f"--{name} {spec}" for name, spec in table.models.items())
    end = ["", f"{table.setup}.", f"With the paper's models: {named}", "Columns:"]
    columns = (f"  {column.name}" for column in table.columns)
    print_result(about, chain(lines, end, columns), as_json=as_json)


def _plan(
    table: PaperTable,
    groups: Mapping[IndexRecipe, Sequence[PaperRow]],
    dataset: Dataset,
    estimate: Callable[[IndexRecipe], CostEstimate],
    models: PaperModels,
) -> Iterator[str]:
    """Yield what will be measured, by which indexes, and what an LLM will be asked for."""
    n_rows = len({row.name for rows in groups.values() for row in rows})
    yield (
        f"{table.title}: {n_rows} of {format_count(len(table.rows), 'row')} on {dataset.name}, "
        f"{format_count(len(dataset.questions), 'question')}, "
        f"{len(groups)} {'index' if len(groups) == 1 else 'indexes'}"
    )
    costs: dict[object, list[CostEstimate]] = {}
    for recipe, rows in groups.items():
        names = ", ".join(row.name for row in rows)
        yield f"  {one_line(recipe.folder)}: {one_line(names)}"
        if recipe.paid is not None:
            cost = estimate(recipe)
            yield f"    {_describe_cost([cost])}"
            costs.setdefault(recipe.paid, []).append(cost)
    if costs:
        whole = [max(each, key=lambda cost: cost.prompt_tokens) for each in costs.values()]
        yield (
            f"  all indexes: {_describe_cost(whole)}, as each uses what was paid for another,"
            " and a prompt that is not full for each"
        )
    if models.reader is not None and groups:
        n_answers = len(dataset.questions) * sum(map(len, groups.values()))
        yield (
            f"  {format_count(n_answers, 'answer')} of at most {table.context_tokens:,} tokens of "
            "context each, and what methods ask the LLM while they search"
        )


def _estimate(
    recipe: IndexRecipe,
    dataset: Dataset,
    open_index: OpenIndex,
    folder: Path,
    budget: Budget | None,
) -> CostEstimate:
    """Return the estimated cost of an index's extraction."""
    wanted = dict(recipe.extraction)
    shares = {name: wanted.pop(name) for name in ("units", "triples", "core") if name in wanted}
    planned: dict[str, Any] = {name: v for name, v in wanted.items() if name.startswith("entit")}
    if shares.get("core", 1) != 1:
        planned["core"] = shares["core"]
    with open_index(folder / recipe.folder, dict(recipe.chunking)) as index:
        plan = index.plan(dataset.corpus, budget=budget, **planned)
    return next(each for each in plan.estimates if shares.items() <= each.options.items())


def _describe_cost(costs: Sequence[CostEstimate]) -> str:
    usd = [cost.cost_usd for cost in costs]
    prices = [each for each in usd if each is not None]
    price = f"~${sum(prices):,.2f}" if len(prices) == len(usd) else "at a price that is not known"
    return (
        f"{format_count(sum(cost.calls for cost in costs), 'call')}, "
        f"{sum(cost.prompt_tokens for cost in costs):,} + "
        f"~{sum(cost.completion_tokens for cost in costs):,} tokens, {price}"
    )


def _list_rows(
    table: PaperTable, columns: Sequence[PaperColumn], measured: MeasuredTable, models: PaperModels
) -> Iterator[dict[str, object]]:
    """Yield each row as plain data: printed and measured by column and metric, or why not."""
    from clew.extras.evaluate.papers import OWN

    for row in table.rows:
        numbers = {}
        for column in columns:
            here = measured.cells.get((row.name, column.name), {})
            there = dict(zip(table.metrics_of(column), table.get_printed(row, column), strict=True))
            numbers[column.name] = {
                metric: {"printed": there.get(metric), "measured": here.get(metric)}
                for metric in dict.fromkeys((*there, *OWN))
            }
        missing = models.explain_missing(row)
        yield {"row": row.name, "method": row.method, "missing": missing, "columns": numbers}


def _describe_cells(
    table: PaperTable, columns: Sequence[PaperColumn], rows: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a block for each column: its published and measured values."""
    from clew.extras.evaluate.papers import OWN, format_value

    for column in columns:
        metrics = table.metrics_of(column)
        own = [metric for metric in OWN if metric not in metrics]
        head = [column.name, *(word for metric in metrics for word in (metric, "here"))]
        lines = [[*head, *(f"{metric} here" for metric in own)]]
        for row in rows:
            numbers = row["columns"][column.name]
            line = [row["row"]]
            for metric in metrics:
                pair = numbers[metric]
                line += [format_value(table, metric, pair[key]) for key in ("printed", "measured")]
            line += [format_value(table, metric, numbers[metric]["measured"]) for metric in own]
            lines.append(line)
        yield from align_columns(lines)
        yield ""
    for reason in dict.fromkeys(row["missing"] for row in rows if row["missing"]):
        names = ", ".join(row["row"] for row in rows if row["missing"] == reason)
        yield f"{names}: {reason}."
    yield f"Printed: {table.setup} ({table.address})."
    yield "Dollars here, and tokens of indexes, leave out what was paid for in another row."
    yield "Other questions, passages and models than the paper's: only the order of rows compares."
