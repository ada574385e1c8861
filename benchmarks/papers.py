"""Papers' tables as far as they can be measured here: each row on two sets of 100 questions.

Rows are measured on the indexes of the other results, of which one has an LLM's recorded triples. A
small LLM, where one is named, answers a few questions by the rows that are nothing without one: all
that it shows is that these run from end to end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import clew
from benchmarks.marks import Table
from clew.cli.progress import show_count
from clew.evaluate import Dataset, Report, Scoring, Setting
from clew.extras.evaluate.measure import Protocol
from clew.extras.evaluate.measure import measure as run
from clew.extras.evaluate.papers import (
    OWN,
    PaperRow,
    PaperTable,
    describe_rows,
    explain_missing,
    load_tables,
)

MEASURED = {"hotpotqa_train100": "HotpotQA", "musique_train100": "MuSiQue"}
_ANSWERED = 3  # questions, by a small LLM
_F1 = "F1"  # of these, in place of a data set
_SHORT = Scoring(context_tokens=300, answer_tokens=64)
_COVERAGE = "coverage"  # shown where the paper prints it; else `OWN`

Cells = dict[tuple[str, str, str], str]  # what is shown, by table, row and data set


def measure(index: clew.Index, dataset: Dataset, runs: Path, triples: Path | None) -> Cells:
    """Return what each row of each table gives on a data set, whose index has the `triples`."""
    cells: Cells = {}
    for key, table in load_tables().items():
        rows = [row for row in table.rows if not explain_missing(row, None, triples)]
        scoring = Scoring(context_tokens=table.context_tokens)
        report = _run(
            index, dataset, Protocol(settings=_settings(rows), scoring=scoring), runs / key
        )
        metric = _metric(table)
        column = MEASURED[dataset.name]
        cells |= {(key, row, column): f"{n:.3f}" for row, n in _read(report, metric)}
    return cells


def answer(index: clew.Index, dataset: Dataset, runs: Path) -> Cells:
    """Return F1 of the rows that do nothing without an LLM, by that of the index."""
    few = replace(dataset, questions=dataset.questions[:_ANSWERED])
    cells: Cells = {}
    for key, table in load_tables().items():
        rows = [row for row in table.rows if row.asks]
        if rows:
            asked = Protocol(settings=_settings(rows), scoring=_SHORT, answers=True)
            report = _run(index, few, asked, runs / f"{key}, answers")
            cells |= {(key, row, _F1): f"F1 {n:.2f}" for row, n in _read(report, "F1 plain")}
    return cells


def _settings(rows: list[PaperRow]) -> tuple[Setting, ...]:
    return tuple(row.setting for row in rows)


def _run(index: clew.Index, dataset: Dataset, protocol: Protocol, folder: Path) -> Report:
    with show_count("asking") as progress:
        return run(index, dataset, protocol, folder=folder, on_progress=progress)


def _read(report: Report, metric: str) -> Iterator[tuple[str, float]]:
    """Yield each row of a report and its mean."""
    for summary in report.summaries:
        if metric in summary.estimates:
            yield summary.label, summary.estimates[metric].mean


def page_tables(cells: Cells) -> dict[str, Table]:
    """Return the tables of docs/results/papers.md, by the name of their marks."""
    return {
        f"papers, {key}": _make_table(key, table, cells)
        for key, table in load_tables().items()
        if any(each == key for each, _, _ in cells)
    }


def _metric(table: PaperTable) -> str:
    return _COVERAGE if _COVERAGE in table.metrics else OWN


def _make_table(key: str, table: PaperTable, cells: Cells) -> Table:
    rows = []
    for row, about in zip(table.rows, describe_rows(table), strict=True):
        numbers = "/".join(cells.get((key, row.name, each), "–") for each in MEASURED.values())
        shown = cells.get((key, row.name, _F1), numbers)
        by = ", ".join(filter(None, (about["by"], about["needs"])))
        name = f"{row.name} (+)" if row.added else row.name
        rows.append((name, by, "known" if row.printed else "unknown", shown))
    measured = f"{_metric(table)}: {'/'.join(MEASURED.values())}"
    return Table(("row", "measured by", "paper's numbers", measured), tuple(rows))
