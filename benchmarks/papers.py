"""Papers' tables beside what `clew eval papers` measures here without an LLM.

Each table is measured on the data sets of MEASURED by the column that is of such questions, with
the chunks that the paper has and an LLM's recorded triples where a data set has them. What an LLM
would cost is the plan's estimate at the list price of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import clew
from benchmarks.marks import Table
from clew.base.reports import CostEstimate
from clew.cli.progress import show_count
from clew.evaluate import Dataset
from clew.extras.evaluate.formats.labelled import FORMAT as LABELS
from clew.extras.evaluate.papers import (
    PaperColumn,
    PaperModels,
    PaperRow,
    PaperTable,
    describe_rows,
    format_value,
    load_tables,
    measure_table,
)
from clew.index.recipe import Settings
from clew.models.loading import KEY_VARIABLE, Specs
from clew.text.chunking import Chunking

MEASURED = {
    "hotpotqa_train100": "HotpotQA",
    "musique_train100": "MuSiQue",
    "2wiki_rkendev500": "2Wiki",
}
PRICED = "openai:gpt-4o-mini"
COVERAGE, RECALL = "coverage", "recall@5"  # shown where the paper prints it; else the latter
# What an LLM is asked for, for the rows of the tables.
_PAID: Mapping[str, Mapping[str, Any]] = {
    "units of half the tokens": {"units": 0.5},
    "units of all chunks": {"units": 1.0},
    "triples of 0.8 of the chunks": {"triples": "llm", "core": 0.8},
    "triples of all chunks": {"triples": "llm", "core": 1.0},
}

Cells = dict[tuple[str, str, str], str]  # what is shown, by table, row and column of the page


def measure(dataset: Dataset, folder: Path, triples: Path | None) -> Cells:
    """Return what each row of each table gives on a data set, and what an LLM would cost."""
    cells = {("cost", name, MEASURED[dataset.name]): cost for name, cost in _plan(dataset, folder)}
    for key, table in load_tables().items():
        columns = _choose_columns(table, MEASURED[dataset.name])
        click.echo(f"{dataset.name}, {key}: {len(columns)} columns", err=True)
        with show_count("asking") as progress:
            measured = measure_table(
                table,
                list(columns.values()),
                dataset,
                _open_index,
                folder / dataset.name,
                models=PaperModels(triples=triples),
                on_progress=progress,
            )
        metric = _metric(table)
        for head, column in columns.items():
            for row in table.rows:
                value = measured.cells.get((row.name, column.name), {}).get(metric)
                cells[key, row.name, head] = format_value(table, metric, value)
    return cells


def _open_index(place: Path, chunking: Mapping[str, Any]) -> AbstractContextManager[clew.Index]:
    """Open an index with these chunks, and vectors by default: exact ones take thrice the time."""
    return clew.open(place, settings=Settings(chunking=Chunking(**chunking)))


def _plan(dataset: Dataset, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what an LLM would cost for each extraction, one chunk a passage."""
    os.environ.setdefault(KEY_VARIABLE, "none")  # nothing is asked
    settings = Settings(chunking=Chunking(size=8192, overlap=0))
    place = folder / f"{dataset.name}.plan"  # which is not made
    with clew.open(place, settings=settings, specs=Specs(llm=PRICED)) as index:
        estimates = index.plan(dataset.corpus).estimates
    for name, wanted in _PAID.items():
        for each in estimates:
            if wanted.items() <= each.options.items():
                yield name, _describe_cost(each)
                break


def _describe_cost(cost: CostEstimate) -> str:
    tokens = f"{cost.prompt_tokens:,} + ~{cost.completion_tokens:,} tokens"
    return tokens if cost.cost_usd is None else f"{tokens}, ~${cost.cost_usd:.2f}"


def _choose_columns(table: PaperTable, name: str) -> dict[str, PaperColumn]:
    """Return a column for each index that a table needs, by its heading on the page.

    Columns of a data set's questions are asked all questions, without their types.
    """
    fit = [each for each in table.columns if each.format not in ("", LABELS)]
    named = [each for each in fit if name in each.name] or fit[-1:]
    chosen: dict[str, PaperColumn] = {}
    for column in named:
        *_, suffix = column.name.rpartition(", ") if name in column.name else ("",)
        cost = suffix if suffix in {"low", "high"} else ""
        chosen[f"{_metric(table)} here: {', '.join(filter(None, (name, cost)))}"] = replace(
            column, type="", prompt=""
        )
    return chosen


def _metric(table: PaperTable) -> str:
    return COVERAGE if COVERAGE in table.metrics else RECALL


def page_tables(cells: Cells) -> dict[str, Table]:
    """Return the tables of docs/results/papers.md, by the name of their marks."""
    if not cells:
        return {}
    made = {
        f"papers, {key}": _make_table(key, table, cells) for key, table in load_tables().items()
    }
    rows = [
        (name, *(cells.get(("cost", name, each), "-") for each in MEASURED.values()))
        for name in _PAID
    ]
    return {**made, "papers, cost": Table(("an LLM extracts", *MEASURED.values()), tuple(rows))}


def _make_table(key: str, table: PaperTable, cells: Cells) -> Table:
    here = [
        head
        for name in MEASURED.values()
        for head in _choose_columns(table, name)
        if any((key, row.name, head) in cells for row in table.rows)
    ]
    rows = []
    for row, about in zip(table.rows, describe_rows(table), strict=True):
        by = ", ".join(filter(None, (about["by"], about["needs"])))
        printed = (_join_printed(table, row, column) for column in table.columns)
        rows.append((row.name, by, *printed, *(cells.get((key, row.name, h), "-") for h in here)))
    heads = (f"{each.name}: {'/'.join(table.metrics_of(each))}" for each in table.columns)
    return Table(("row", "measured by", *heads, *here), tuple(rows))


def _join_printed(table: PaperTable, row: PaperRow, column: PaperColumn) -> str:
    """Return a row's printed numbers in a column."""
    numbers = zip(table.metrics_of(column), table.get_printed(row, column), strict=True)
    return "/".join(format_value(table, metric, n) for metric, n in numbers)
