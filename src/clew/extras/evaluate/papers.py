"""The tables of four papers: published numbers, and the same rows measured by Clew.

`papers.json` has them: the columns, with the data set and the index that each is of, and the rows,
each with a method of Clew and what an LLM extracts for it, or the reason why it is `missing`. Rows
without `printed` numbers are those whose numbers are not known to us. Numbers of other papers'
tables are not put in their place: these had other models and passages.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clew.base.types import Scalar
from clew.errors import InputError
from clew.extras.evaluate import labels
from clew.extras.evaluate.llm_judge import METRICS as JUDGED
from clew.extras.evaluate.measure import Protocol, measure
from clew.extras.evaluate.settings import Scoring, Setting

if TYPE_CHECKING:
    from clew.api import Index
    from clew.extras.evaluate.datasets import Dataset
    from clew.extras.evaluate.evaluation import Progress
    from clew.extras.evaluate.report import Report
    from clew.models.budget import Budget

RECORDED = "recorded"  # triples of a file, in the recipe of an index
OWN = "recall@5"  # measured of every row, beside what the paper prints
_ANSWERED = {"EM", "Acc", "F1 plain", "F1 hotpot", "F1 ket", "ROUGE-L", *JUDGED}
_PAID_FILES = ("calls.sqlite", "embeddings.sqlite")


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperColumn:
    """A column of a paper's table: its dataset and metrics."""

    name: str
    format: str  # of the data set
    type: str = ""  # of the questions; empty: all
    metrics: tuple[str, ...] = ()  # empty: those of the table
    index: Mapping[str, int] = field(default_factory=dict)  # arguments of `Chunking`


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A system in a table: the method that measures it, or why none does."""

    name: str
    printed: tuple[tuple[float, ...], ...] = ()  # for each column a number for each metric
    method: str = ""
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    extraction: Mapping[str, Scalar] = field(default_factory=dict)  # arguments of `Index.add`
    index: Mapping[str, int] = field(default_factory=dict)  # instead of the column's
    asks: bool = False  # it does nothing without an LLM
    added: bool = False  # such tables have it; not known to be a row of this one
    missing: str = ""

    @property
    def setting(self) -> Setting:
        """The method with its parameters, labelled by the row's name."""
        return Setting(self.method, self.parameters, name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """A table as published."""

    title: str
    address: str
    setup: str  # models and sizes of the paper
    metrics: tuple[str, ...]
    scale: int  # what a perfect score is printed as
    size: int  # rows that the paper has
    columns: tuple[PaperColumn, ...]
    rows: tuple[PaperRow, ...]
    context_tokens: int = 4_000

    def metrics_of(self, column: PaperColumn) -> tuple[str, ...]:
        """Return the metrics that a column has numbers for."""
        return column.metrics or self.metrics

    def choose_rows(self, names: Sequence[str]) -> PaperTable:
        """Return the table restricted to rows by name, or unchanged without names.

        Raises InputError for a name that no row has.
        """
        unknown = sorted(set(names) - {row.name for row in self.rows})
        if unknown:
            have = "; ".join(row.name for row in self.rows)
            raise InputError(f"{self.title} has no row {unknown[0]!r}, only {have}")
        rows = tuple(row for row in self.rows if not names or row.name in names)
        return replace(self, rows=rows)


@dataclass(frozen=True, slots=True)
class IndexRecipe:
    """How to build an index for a table: its chunks, and what an LLM extracts."""

    chunking: tuple[tuple[str, int], ...]
    extraction: tuple[tuple[str, Scalar], ...]

    @property
    def share(self) -> float:
        """What an LLM reads: nothing, or a share of the chunks for units or triples."""
        wanted: dict[str, Any] = dict(self.extraction)
        return float(wanted.get("units", 0) + 2 * wanted.get("core", 0))

    @property
    def paid(self) -> tuple[object, ...] | None:
        """The kind of extraction to pay an LLM for, or None; larger shares include smaller ones."""
        wanted = dict(self.extraction)
        if wanted.get("triples") == RECORDED or not wanted:
            return None
        return self.chunking, "units" in wanted, "triples" in wanted, wanted.get("entities")

    @property
    def folder(self) -> str:
        """The folder name, such as "size=150-units=0.5"."""
        parts = [f"{name}={value}" for name, value in (*self.chunking, *self.extraction)]
        return "-".join(parts) or "plain"


def load_tables() -> dict[str, PaperTable]:
    """Return the tables by name, such as "ket-2"."""
    text = files("clew.extras.evaluate").joinpath("papers.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, PaperTable])


def describe_rows(table: PaperTable) -> Iterator[dict[str, str]]:
    """Yield each row's method, whether its published numbers are known, and its needs."""
    for row in table.rows:
        parameters = " ".join(f"{name}={value}" for name, value in row.parameters.items())
        extracted = " ".join(f"{name}={value}" for name, value in row.extraction.items())
        printed = "no row of it that we know" if row.added else "not known to us"
        yield {
            "row": row.name,
            "by": row.missing or f"{row.method} {parameters}".strip(),
            "printed": "known" if row.printed else printed,
            "needs": extracted or ("an LLM" if row.asks else ""),
        }


def find_columns(
    table: PaperTable, dataset: Dataset, names: Sequence[str] = ()
) -> tuple[PaperColumn, ...]:
    """Return the columns of a dataset, found by its format or by name.

    Raises InputError where there is none, and for a name that no column has.
    """
    unknown = sorted(set(names) - {column.name for column in table.columns})
    if unknown:
        have = "; ".join(column.name for column in table.columns)
        raise InputError(f"{table.title} has no column {unknown[0]!r}, only {have}")
    if names:
        columns = tuple(column for column in table.columns if column.name in names)
        for column in columns:
            if (column.format == labels.FORMAT) != (dataset.format == labels.FORMAT):
                raise InputError(
                    f"{column.name} is of the format {column.format}, and {dataset.name} of the"
                    f" format {dataset.format}: name a data set of the former"
                )
        return columns
    fit = tuple(column for column in table.columns if column.format == dataset.format)
    if not fit:
        have = "; ".join(column.name for column in table.columns)
        raise InputError(
            f"{dataset.name} is of the format {dataset.format}: choose with --column a column of "
            f"{table.title}: {have}"
        )
    return fit


def explain_missing(row: PaperRow, llm: str | None, triples: Path | None = None) -> str:
    """Return why a row cannot be measured, or nothing if it can.

    An LLM's `triples` in a file do where no LLM is named.
    """
    if row.missing or llm is not None:
        return row.missing
    if row.asks:
        return "an LLM does all of it: name one with --llm"
    wanted = {"units", "triples"} & row.extraction.keys()
    if wanted and not (triples is not None and wanted == {"triples"}):
        return "an LLM extracts its graph or units: name one with --llm"
    return ""


def group_by_index(
    table: PaperTable, columns: Sequence[PaperColumn], llm: str | None, triples: Path | None = None
) -> dict[IndexRecipe, list[PaperRow]]:
    """Group the measurable rows by the index that they need, cheapest first."""
    groups: dict[IndexRecipe, list[PaperRow]] = {}
    for column in columns:
        for row in table.rows:
            if not explain_missing(row, llm, triples):
                rows = groups.setdefault(recipe_of(column, row, triples), [])
                rows += [row] if row not in rows else []
    return dict(sorted(groups.items(), key=lambda item: (item[0].share, item[0].extraction)))


def recipe_of(column: PaperColumn, row: PaperRow, triples: Path | None = None) -> IndexRecipe:
    """Return the recipe of a cell's index; `triples` replace an LLM's extraction."""
    extraction: Mapping[str, Scalar] = row.extraction
    if triples is not None and "triples" in extraction:
        extraction = {"triples": RECORDED}
    chunking = {**column.index, **(row.index if column.index else {})}
    return IndexRecipe(
        tuple((name, n) for name, n in chunking.items() if n or name == "overlap"),
        tuple(extraction.items()),
    )


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """Measured cells of a table by (row, column), in the paper's scale."""

    cells: Mapping[tuple[str, str], tuple[float | None, ...]]  # for each metric, and `OWN`
    models: Mapping[str, str]  # names by role, such as "embedder"


OpenIndex = Callable[[Path, Mapping[str, int]], AbstractContextManager["Index"]]


def measure_table(  # noqa: PLR0913 -- one argument for each option
    table: PaperTable,
    columns: Sequence[PaperColumn],
    dataset: Dataset,
    open_index: OpenIndex,
    folder: Path,
    runs: Path,
    *,
    llm: str | None = None,
    judge: str | None = None,
    triples: Path | None = None,
    budget: Budget | None = None,
    on_progress: Progress | None = None,
) -> MeasuredTable:
    """Measure the cells that can be measured.

    Each index has a folder below `folder`, and each row the file of its run below `runs`, so that a
    second call goes on where the first one ended. An index takes over what others paid for.
    Columns of labels have no such files, and only the ledger tells what was paid for. `open_index`
    takes the folder and the arguments of `Chunking`. `triples` of a file, in the
    format of docs/guides/triples.md, are read in place of those that an LLM would extract. Raises
    InputError, BudgetSpent, EndpointError.
    """
    cells: dict[tuple[str, str], tuple[float | None, ...]] = {}
    models: Mapping[str, str] = {}
    made: dict[IndexRecipe, Path] = {}
    for recipe, rows in group_by_index(table, columns, llm, triples).items():
        place = folder / recipe.folder
        _copy_base_index(made, recipe, place)
        made[recipe] = place
        mine = [c for c in columns if any(recipe_of(c, row, triples) == recipe for row in rows)]
        with open_index(place, dict(recipe.chunking)) as index:
            extraction: dict[str, Any] = dict(recipe.extraction)
            if extraction.get("triples") == RECORDED:
                index.add(dataset.corpus, budget=budget)
                if not len(index.snapshot().layer("triple")):
                    index.import_triples(str(triples))
            else:
                index.add(dataset.corpus, budget=budget, **extraction)
            if dataset.format == labels.FORMAT:
                for row in rows:
                    shares = labels.measure_labels(
                        index, dataset, row.setting, table.context_tokens, budget, on_progress
                    )
                    cells |= {(row.name, column.name): (*shares, None) for column in mine}
                models = {"embedder": index.models.embedder.name, "llm": llm or ""}
                continue
            report = measure(
                index,
                dataset,
                _make_protocol(table, rows, mine, llm, judge),
                folder=runs / recipe.folder,
                budget=budget,
                on_progress=on_progress,
            )
        for row in rows:
            for column in mine:
                if recipe_of(column, row, triples) == recipe:
                    cells[row.name, column.name] = tuple(_read_cell(table, report, row, column))
        models = report.models
    return MeasuredTable(cells, models)


def _copy_base_index(made: Mapping[IndexRecipe, Path], recipe: IndexRecipe, place: Path) -> None:
    """Start a new index from one with the same chunks and no extraction.

    It has the replies and vectors that others of the table paid for.
    """
    if place.exists() or not made:
        return
    plain = made.get(replace(recipe, extraction=()))
    if plain is not None:
        shutil.copytree(plain, place)
    place.mkdir(parents=True, exist_ok=True)
    before = [*made.values()][-1]
    for name in _PAID_FILES:
        if (before / name).exists():
            shutil.copy2(before / name, place / name)


def _make_protocol(
    table: PaperTable,
    rows: Sequence[PaperRow],
    columns: Sequence[PaperColumn],
    llm: str | None,
    judge: str | None,
) -> Protocol:
    wanted = {metric for column in columns for metric in table.metrics_of(column)}
    judged = tuple(metric for metric in JUDGED if metric in wanted) if llm is not None else ()
    return Protocol(
        settings=tuple(row.setting for row in rows),
        scoring=Scoring(context_tokens=table.context_tokens),
        answers=llm is not None and bool(wanted & _ANSWERED),
        judge=(judge or llm) if judged else None,
        judged=judged or ("judge",),
    )


def _read_cell(
    table: PaperTable, report: Report, row: PaperRow, column: PaperColumn
) -> Iterator[float | None]:
    """Yield the mean of each metric of a cell, and of `OWN`; None if not measured."""
    summary = next(each for each in report.summaries if each.label == row.name)
    means: Mapping[str, float] = {name: each.mean for name, each in summary.estimates.items()}
    if column.type:
        group = summary.by_type.get(column.type)
        means = {} if group is None else group.means
    for metric in table.metrics_of(column):
        mean = means.get(metric)
        yield None if mean is None else mean * table.scale
    yield means.get(OWN)
