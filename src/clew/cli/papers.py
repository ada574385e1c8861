"""`clew eval papers`: a table of a paper beside what Clew measures of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli import options
from clew.cli.plain import one_line
from clew.cli.progress import show_questions
from clew.cli.talk import print_result, say
from clew.display.columns import align
from clew.errors import InputError
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.api import Index
    from clew.evaluate import Dataset
    from clew.evaluate.papers import IndexRecipe, MeasuredTable, OpenIndex, PaperColumn, PaperTable


@click.command("papers")
@click.argument("name", metavar="[TABLE]", required=False)
@click.argument("path", metavar="[DATASET]", required=False, type=click.Path(path_type=Path))
@options.several("--column NAME", "Only this column of the table, such as 'MuSiQue, low'", "chosen")
@options.path(
    "--corpus PATH", "File or folder of the documents, where it is not the dataset's own."
)
@options.number("--limit N", "Only the first N questions.")
@options.number("--sample N", "Only N questions, drawn at random.")
@options.path("--into FOLDER", "Folder of indexes and runs. [default: papers.clew]", "into")
@options.text("--judge SPEC", "LLM that judges answers. [default: that of --llm]")
@options.flag("--plan", "Say what it would cost, and stop.", "only_plan")
@options.paid_options
@options.json
@click.pass_obj
def measure_paper(  # noqa: PLR0913 -- one argument for each option
    opener: options.Opener,
    *,
    name: str | None,
    path: Path | None,
    chosen: tuple[str, ...],
    corpus: Path | None,
    limit: int | None,
    sample: int | None,
    into: Path | None,
    judge: str | None,
    only_plan: bool,
    paid: options.PaidModels,
    as_json: bool,
) -> None:
    """Measure the rows of a paper's TABLE on DATASET, and print them beside the paper's numbers.

    Without arguments the tables are listed. Rows that need an LLM are measured with --llm; the
    others say why they are not. What it costs is said first. A second run goes on where the first
    one ended, and pays for nothing twice.
    """
    from clew.evaluate import load
    from clew.evaluate.papers import find_columns, load_tables, measure_table

    tables = load_tables()
    if name is None:
        about = [
            {"name": key, "title": table.title, "rows": len(table.rows), "address": table.address}
            for key, table in tables.items()
        ]
        print_result(
            about, align([[*map(str, each.values())] for each in about], 2), as_json=as_json
        )
        return
    if name not in tables:
        raise InputError(f"there is no table {name!r}, only {', '.join(tables)}")
    if path is None:
        raise InputError(f"name a dataset for {name}: {tables[name].setup}")
    table = tables[name]
    dataset = load(path, limit=limit, sample=sample, corpus=corpus)
    columns = find_columns(table, dataset, chosen)
    folder = (into or Path("papers.clew")) / f"{name}-{dataset.name}"

    def open_index(place: Path, chunking: Mapping[str, Any]) -> Index:
        from clew.index import PAPERS
        from clew.text.chunking import Chunking

        how = paid.choose_models()
        how["settings"] = replace(PAPERS, chunking=Chunking(**chunking))
        return opener(place, **how)

    for line in _plan(table, columns, dataset, open_index, folder, paid):
        say(line, err=True)
    if only_plan:
        return
    with show_questions() as on_progress:
        measured = measure_table(
            table,
            columns,
            dataset,
            open_index,
            folder,
            llm=paid.llm,
            judge=judge,
            budget=paid.budget,
            on_progress=on_progress,
        )
    rows = list(_list_rows(table, columns, measured, paid.llm))
    models = ", ".join(map(one_line, dict.fromkeys(measured.models.values())))
    words = chain(_describe_rows(table, columns, rows), [f"Here: {models}."] if models else [])
    result = {"table": name, "models": measured.models, "rows": rows}
    print_result(result, words, as_json=as_json)


def _plan(
    table: PaperTable,
    columns: Sequence[PaperColumn],
    dataset: Dataset,
    open_index: OpenIndex,
    folder: Path,
    paid: options.PaidModels,
) -> Iterator[str]:
    """Yield what will be measured, by which indexes, and what an LLM will be asked for."""
    from clew.evaluate.papers import explain_missing, group_by_index

    groups = group_by_index(table, columns, paid.llm)
    n_rows = sum(not explain_missing(table, row, columns, paid.llm) for row in table.rows)
    yield (
        f"{table.title}: {n_rows} of {format_count(len(table.rows), 'row')} on {dataset.name}, "
        f"{format_count(len(dataset.questions), 'question')}, "
        f"{len(groups)} {'index' if len(groups) == 1 else 'indexes'}"
    )
    for recipe, rows in groups.items():
        names = ", ".join(row.name for row in rows)
        yield f"  {one_line(recipe.folder)}: {one_line(names)}"
        if recipe.extraction:
            yield f"    {_estimate(recipe, dataset, open_index, folder, paid)}"
    if paid.llm is not None and groups:
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
    paid: options.PaidModels,
) -> str:
    """Return what the extraction of an index would cost, before the ledger of others."""
    wanted = dict(recipe.extraction)
    planned: dict[str, Any] = {name: wanted[name] for name in ("entities",) if name in wanted}
    if wanted.get("core", 1) != 1:
        planned["core"] = wanted["core"]
    with open_index(folder / recipe.folder, dict(recipe.chunking)) as index:
        found = index.plan(dataset.corpus, budget=paid.budget, **planned)
    cost = next(each for each in found.estimates if wanted.items() <= each.options.items())
    price = "at a price that is not known" if cost.cost_usd is None else f"~${cost.cost_usd:,.2f}"
    return (
        f"{format_count(cost.calls, 'call')}, {cost.prompt_tokens:,} + "
        f"~{cost.completion_tokens:,} tokens, {price}, less what indexes above have paid for"
    )


def _list_rows(
    table: PaperTable, columns: Sequence[PaperColumn], measured: MeasuredTable, llm: str | None
) -> Iterator[dict[str, object]]:
    """Yield each row as plain data: printed and measured by column and metric, or why not."""
    from clew.evaluate.papers import explain_missing

    for row in table.rows:
        numbers = {}
        for place, column in enumerate(table.columns):
            if column in columns:
                metrics = table.metrics_of(column)
                here = measured.cells.get((row.name, column.name), (None,) * len(metrics))
                numbers[column.name] = {
                    metric: {"printed": printed, "measured": found}
                    for metric, printed, found in zip(
                        metrics, row.printed[place], here, strict=True
                    )
                }
        missing = explain_missing(table, row, columns, llm)
        yield {"row": row.name, "method": row.method, "missing": missing, "columns": numbers}


def _describe_rows(
    table: PaperTable, columns: Sequence[PaperColumn], rows: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a block for each column: what is printed, and what is measured here."""
    for column in columns:
        metrics = table.metrics_of(column)
        head = [column.name, *(word for metric in metrics for word in (metric, "here"))]
        lines = [head]
        for row in rows:
            numbers = row["columns"][column.name]
            line = [row["row"]]
            for metric in metrics:
                line += [_format(table, numbers[metric][key]) for key in ("printed", "measured")]
            lines.append(line)
        yield from align(lines)
        yield ""
    for reason in dict.fromkeys(row["missing"] for row in rows if row["missing"]):
        names = ", ".join(row["row"] for row in rows if row["missing"] == reason)
        yield f"{names}: {reason}."
    yield f"Printed: {table.setup} ({table.address})."


def _format(table: PaperTable, value: float | None) -> str:
    return "-" if value is None else f"{value:.{2 if table.scale > 1 else 3}f}"
