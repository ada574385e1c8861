"""`clew eval papers`: a table of a paper beside what Clew measures of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.base.display.columns import align
from clew.cli import options
from clew.cli.plain import one_line, print_result, say
from clew.cli.progress import show_count
from clew.errors import InputError
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.api import Index
    from clew.base.types import CostEstimate
    from clew.extras.evaluate.datasets import Dataset
    from clew.extras.evaluate.papers import (
        IndexRecipe,
        MeasuredTable,
        OpenIndex,
        PaperColumn,
        PaperRow,
        PaperTable,
    )


@click.command("papers")
@click.argument("name", metavar="[TABLE]", required=False)
@click.argument("path", metavar="[DATASET]", required=False, type=click.Path(path_type=Path))
@options.several("--column NAME", "Only this column of the table, such as 'MuSiQue, low'", "chosen")
@options.several("--row NAME", "Only this row of the table, such as 'Clue-RAG, α = 1'", "systems")
@options.path("--corpus PATH", "File or folder of the documents, if not in the data set.")
@options.path("--triples FILE", "An LLM's triples for rows that need them: 'clew help triples'.")
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
    systems: tuple[str, ...],
    corpus: Path | None,
    triples: Path | None,
    limit: int | None,
    sample: int | None,
    into: Path | None,
    judge: str | None,
    only_plan: bool,
    paid: options.PaidModels,
    as_json: bool,
) -> None:
    """Measure the rows of a paper's TABLE on DATASET, and print them beside the paper's numbers.

    Without arguments the tables are listed, without DATASET the rows of one. Rows that need an LLM
    are measured with --llm; rows that cannot be measured say why. The cost is printed first. A
    second run continues the first, and pays for nothing twice.
    """
    from clew.extras.evaluate.datasets import load
    from clew.extras.evaluate.papers import find_columns, group_by_index, load_tables, measure_table

    tables = load_tables()
    if name is None:
        _print_tables(tables, as_json=as_json)
        return
    if name not in tables:
        raise InputError(f"there is no table {name!r}, only {', '.join(tables)}")
    table = tables[name].choose_rows(systems)
    if path is None:
        _print_rows(table, as_json=as_json)
        return
    dataset = load(path, limit=limit, sample=sample, corpus=corpus)
    columns = find_columns(table, dataset, chosen)
    folder = (into or Path("papers.clew")) / dataset.name  # of indexes that tables share

    def open_index(place: Path, chunking: Mapping[str, Any]) -> Index:
        from clew.index.recipe import PAPERS
        from clew.text.chunking import Chunking

        how = paid.choose_models()
        how["settings"] = replace(PAPERS, chunking=Chunking(**chunking))
        return opener(place, **how)

    groups = group_by_index(table, columns, paid.llm, triples)
    for line in _plan(table, groups, dataset, open_index, folder, paid):
        say(line, err=True)
    if only_plan:
        return
    with show_count("asking") as on_progress:
        measured = measure_table(
            table,
            columns,
            dataset,
            open_index,
            folder,
            folder / "runs" / name,
            llm=paid.llm,
            judge=judge,
            triples=triples,
            budget=paid.budget,
            on_progress=on_progress,
        )
    rows = list(_list_rows(table, columns, measured, paid.llm, triples))
    models = ", ".join(map(one_line, dict.fromkeys(measured.models.values())))
    here = f"Here: {format_count(len(dataset.questions), 'question')} of {dataset.name}, {models}."
    words = chain(_describe_cells(table, columns, rows), [here] if models else [])
    result = {"table": name, "models": measured.models, "rows": rows}
    print_result(result, words, as_json=as_json)


def _print_tables(tables: Mapping[str, PaperTable], *, as_json: bool) -> None:
    """Print a line for each table, and how many of the paper's rows it has."""
    about, lines = [], []
    for name, table in tables.items():
        n_rows = sum(not row.added for row in table.rows)
        head = {"name": name, "title": table.title, "address": table.address}
        about.append({**head, "rows": n_rows, "of": table.size})
        lines.append([*head.values(), f"{n_rows} of {table.size} rows"])
    print_result(about, align(lines, len(lines[0])), as_json=as_json)


def _print_rows(table: PaperTable, *, as_json: bool) -> None:
    """Print a line for each row of a table."""
    from clew.extras.evaluate.papers import describe_rows

    about = list(describe_rows(table))
    heads = ["row", "measured by", "paper's numbers", "an LLM extracts"]
    lines = align([heads, *([*each.values()] for each in about)], len(heads))
    print_result(about, chain(lines, ["", f"{table.setup}."]), as_json=as_json)


def _plan(
    table: PaperTable,
    groups: Mapping[IndexRecipe, Sequence[PaperRow]],
    dataset: Dataset,
    open_index: OpenIndex,
    folder: Path,
    paid: options.PaidModels,
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
            cost = _estimate(recipe, dataset, open_index, folder, paid)
            yield f"    {_describe_cost([cost])}"
            costs.setdefault(recipe.paid, []).append(cost)
    if costs:
        whole = [max(each, key=lambda cost: cost.prompt_tokens) for each in costs.values()]
        yield (
            f"  all indexes: {_describe_cost(whole)}, as each uses what was paid for another,"
            " and a prompt that is not full for each"
        )
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
) -> CostEstimate:
    """Return what the extraction of an index would cost by itself."""
    wanted = dict(recipe.extraction)
    planned: dict[str, Any] = {name: wanted[name] for name in ("entities",) if name in wanted}
    if wanted.get("core", 1) != 1:
        planned["core"] = wanted["core"]
    with open_index(folder / recipe.folder, dict(recipe.chunking)) as index:
        plan = index.plan(dataset.corpus, budget=paid.budget, **planned)
    return next(each for each in plan.estimates if wanted.items() <= each.options.items())


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
    table: PaperTable,
    columns: Sequence[PaperColumn],
    measured: MeasuredTable,
    llm: str | None,
    triples: Path | None,
) -> Iterator[dict[str, object]]:
    """Yield each row as plain data: printed and measured by column and metric, or why not."""
    from clew.extras.evaluate.papers import OWN, explain_missing

    for row in table.rows:
        numbers = {}
        for place, column in enumerate(table.columns):
            if column in columns:
                metrics = (*table.metrics_of(column), OWN)
                here = measured.cells.get((row.name, column.name), (None,) * len(metrics))
                there = (*row.printed[place], None) if row.printed else (None,) * len(metrics)
                numbers[column.name] = {
                    metric: {"printed": printed, "measured": value}
                    for metric, printed, value in zip(metrics, there, here, strict=True)
                }
        missing = explain_missing(row, llm, triples)
        yield {
            "row": row.name,
            "method": row.method,
            "known": bool(row.printed),
            "added": row.added,
            "missing": missing,
            "columns": numbers,
        }


def _describe_cells(
    table: PaperTable, columns: Sequence[PaperColumn], rows: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a block for each column: what is printed, and what is measured here."""
    from clew.extras.evaluate.papers import OWN

    for column in columns:
        metrics = table.metrics_of(column)
        head = [column.name, *(word for metric in metrics for word in (metric, "here"))]
        lines = [[*head, f"{OWN} here"]]
        for row in rows:
            numbers = row["columns"][column.name]
            line = [f"{row['row']} *" if row["added"] else row["row"]]
            for metric in metrics:
                line += [_format(table, numbers[metric][key]) for key in ("printed", "measured")]
            value = numbers[OWN]["measured"]
            lines.append([*line, "-" if value is None else f"{value:.3f}"])
        yield from align(lines)
        yield ""
    for reason in dict.fromkeys(row["missing"] for row in rows if row["missing"]):
        names = ", ".join(row["row"] for row in rows if row["missing"] == reason)
        yield f"{names}: {reason}."
    unknown = [row["row"] for row in rows if not row["known"] and not row["added"]]
    if unknown:
        yield f"{', '.join(unknown)}: the paper's numbers are not known to us."
    if any(row["added"] for row in rows):
        yield "*: such tables have it; not known to be a row of this one."
    yield f"Printed: {table.setup} ({table.address})."
    yield "Other questions, passages and models than the paper's: only the order of rows compares."


def _format(table: PaperTable, value: float | None) -> str:
    return "-" if value is None else f"{value:.{2 if table.scale > 1 else 3}f}"
