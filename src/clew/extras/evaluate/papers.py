"""The tables of four papers: printed numbers, and the same rows measured by Clew.

`papers.json` has them: the columns, with the data set and the index that each is of, and the rows,
each with a method of Clew and what an LLM extracts for it, or the reason why it is `missing`. A row
without `printed` numbers is one that the paper has in a figure only.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib.resources import files
from itertools import product
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clew.base.types import Scalar, Usage
from clew.errors import InputError
from clew.extras.evaluate import labels
from clew.extras.evaluate.formats.labelled import FORMAT as LABELS
from clew.extras.evaluate.llm_judge import METRICS as JUDGED
from clew.extras.evaluate.measure import Protocol, measure
from clew.extras.evaluate.settings import Scoring, Setting

if TYPE_CHECKING:
    from clew.api import Index
    from clew.extras.evaluate.datasets import Dataset
    from clew.extras.evaluate.evaluation import Progress
    from clew.extras.evaluate.report import Report
    from clew.extras.evaluate.summary import Row
    from clew.models.budget import Budget

RECORDED = "recorded"  # triples of a file, in the recipe of an index
# Measured of every row, beside what the paper prints.
OWN = ("recall@5", "index tokens", "index USD", "question tokens", "question USD")
_LABELLED = {"accuracy", "macro recall", "out of set"}
_ANSWERED = {"EM", "Acc", "F1 plain", "F1 hotpot", "F1 ket", "ROUGE-L", *JUDGED, *_LABELLED}
_SHARES = {"coverage", *_ANSWERED}  # printed in a scale
_CALLS, _VECTORS = "calls.sqlite", "embeddings.sqlite"  # what was paid for, in an index
_WHOLE = "triples.whole"  # a file in an index that has all triples of a file


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperColumn:
    """A column of a paper's table: its dataset and metrics."""

    name: str
    format: str = ""  # of the data set; empty: nothing that is measured, as a mean of others
    type: str = ""  # of the questions; empty: all
    metrics: tuple[str, ...] = ()  # empty: those of the table
    prompt: str = ""  # for answers, in place of the short one
    index: Mapping[str, int] = field(default_factory=dict)  # arguments of `Chunking`


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A system in a table: the method that measures it, or why none does."""

    name: str
    printed: tuple[float | None, ...] = ()  # for each column a number for each metric
    method: str = ""
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    extraction: Mapping[str, Scalar] = field(default_factory=dict)  # arguments of `Index.add`
    index: Mapping[str, int] = field(default_factory=dict)  # instead of the column's
    asks: bool = False  # it is nothing but an LLM that answers
    missing: str = ""

    @property
    def setting(self) -> Setting:
        """The method with its parameters, under one label in all tables."""
        return Setting(self.method, self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """A table as published."""

    title: str
    address: str
    setup: str  # models and sizes of the paper
    metrics: tuple[str, ...]
    scale: int  # what a perfect score is printed as
    columns: tuple[PaperColumn, ...]
    rows: tuple[PaperRow, ...]
    context_tokens: int = 4_000
    models: Mapping[str, str] = field(default_factory=dict)  # the paper's, by the option's name

    def metrics_of(self, column: PaperColumn) -> tuple[str, ...]:
        """Return the metrics that a column has numbers for."""
        return column.metrics or self.metrics

    def get_printed(self, row: PaperRow, column: PaperColumn) -> tuple[float | None, ...]:
        """Return a cell's printed numbers, for each metric."""
        sizes = [len(self.metrics_of(each)) for each in self.columns]
        place = self.columns.index(column)
        start = sum(sizes[:place])
        return row.printed[start : start + sizes[place]] or (None,) * sizes[place]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperModels:
    """The LLMs that a table is measured with, by their specs, and an LLM's `triples` in a file."""

    llm: str | None = None  # extracts, and helps methods to search
    answer_llm: str | None = None  # writes the answers; else `llm` does
    judge_llm: str | None = None  # judges them; else the one that writes does
    triples: Path | None = None  # in place of those that an LLM would extract

    @property
    def reader(self) -> str | None:
        """The LLM that writes the answers."""
        return self.answer_llm or self.llm

    def explain_missing(self, row: PaperRow) -> str:
        """Return the reason why a row cannot be measured, empty if it can."""
        if row.missing:
            return row.missing
        if row.asks and self.reader is None:
            return "an LLM does all of it: name one with --llm"
        wanted = {"units", "triples"} & row.extraction.keys()
        if self.llm is None and wanted and (self.triples is None or wanted != {"triples"}):
            return "an LLM extracts its graph or units: name one with --llm"
        return ""


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
        wanted = {name: v for name, v in self.extraction if name != "core"}
        if wanted.get("triples") == RECORDED or not wanted:
            return None
        return self.chunking, *({**wanted, "units": True} if "units" in wanted else wanted).items()

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
    """Yield each row's method, or why it has none, and what it needs."""
    for row in table.rows:
        parameters = " ".join(f"{name}={value}" for name, value in row.parameters.items())
        extracted = " ".join(f"{name}={value}" for name, value in row.extraction.items())
        yield {
            "row": row.name,
            "by": row.missing or f"{row.method} {parameters}".strip(),
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
            if not column.format:
                raise InputError(f"{column.name} of {table.title} is no data set: name another")
            if (column.format == LABELS) != (dataset.format == LABELS):
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


def group_by_index(
    table: PaperTable, columns: Sequence[PaperColumn], models: PaperModels
) -> dict[IndexRecipe, list[PaperRow]]:
    """Group the measurable rows by the index that they need, cheapest first."""
    groups: dict[IndexRecipe, list[PaperRow]] = {}
    for column in columns:
        for row in table.rows:
            if not models.explain_missing(row):
                rows = groups.setdefault(recipe_of(column, row, models.triples), [])
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
    """Measured cells of a table by (row, column), by metric and in the paper's scale."""

    cells: Mapping[tuple[str, str], Mapping[str, float]]
    models: Mapping[str, str]  # names by role, such as "embedder"


OpenIndex = Callable[[Path, Mapping[str, int]], AbstractContextManager["Index"]]
Means = Mapping[str, Mapping[str, float]]  # by the label of a setting, and by metric


def measure_table(  # noqa: PLR0913 -- one argument for each option
    table: PaperTable,
    columns: Sequence[PaperColumn],
    dataset: Dataset,
    open_index: OpenIndex,
    folder: Path,
    *,
    models: PaperModels,
    concurrency: int = 1,
    budget: Budget | None = None,
    on_progress: Progress | None = None,
) -> MeasuredTable:
    """Measure the cells that can be measured.

    Each index has a folder below `folder`, and each setting the file of its run below `runs` there,
    which tables share, so that a second call goes on where the first one ended. An index takes over
    what others paid for. `open_index` takes the folder and the arguments of `Chunking`. Raises
    InputError, BudgetSpent, EndpointError.
    """
    cells: dict[tuple[str, str], dict[str, float]] = {}
    names: Mapping[str, str] = {}
    made: dict[IndexRecipe, Path] = {}
    for recipe, rows in group_by_index(table, columns, models).items():
        place = folder / recipe.folder
        _copy_paid(made, recipe, place)
        made[recipe] = place
        settings = {row.setting.label: row.setting for row in rows}
        mine = [c for c in columns if any(recipe_of(c, r, models.triples) == recipe for r in rows)]
        with open_index(place, dict(recipe.chunking)) as index:
            _build(index, dataset, recipe, models.triples, budget)
            costs = _count_index(index, recipe)
            for asked, some in _divide(dataset, mine):
                report = measure(
                    index,
                    asked,
                    _make_protocol(table, [*settings.values()], some, models),
                    folder=folder / "runs" / recipe.folder / some[0].type,
                    concurrency=concurrency,
                    budget=budget,
                    on_progress=on_progress,
                )
                found, names = _read_report(asked, report, index.spent()), report.models
                for row, column in product(rows, some):
                    if recipe_of(column, row, models.triples) == recipe:
                        means = _scale(table, found[row.setting.label])
                        cells[row.name, column.name] = {**costs, **means}
    return MeasuredTable(cells, names)


def _build(
    index: Index, dataset: Dataset, recipe: IndexRecipe, triples: Path | None, budget: Budget | None
) -> None:
    """Bring an index up to date, with the triples of a file if its recipe says so."""
    extraction: dict[str, Any] = dict(recipe.extraction)
    is_recorded = extraction.get("triples") == RECORDED
    index.add(dataset.corpus, budget=budget, **({} if is_recorded else extraction))
    whole = index.folder / _WHOLE
    if is_recorded and not whole.exists():
        index.import_triples(str(triples))
        whole.touch()


def _divide(
    dataset: Dataset, columns: Sequence[PaperColumn]
) -> Iterator[tuple[Dataset, list[PaperColumn]]]:
    """Yield the questions of each type that columns are of, with these columns."""
    for type_ in dict.fromkeys(column.type for column in columns):
        questions = tuple(q for q in dataset.questions if type_ in ("", q.type))
        if questions:
            yield replace(dataset, questions=questions), [c for c in columns if c.type == type_]


def _copy_paid(made: Mapping[IndexRecipe, Path], recipe: IndexRecipe, place: Path) -> None:
    """Start a new index from one with the same chunks and no extraction.

    It has the replies and vectors that others of the table paid for. What these cost counts for it
    too if they are of the same extraction from fewer chunks.
    """
    from clew.models.ledger import Ledger

    if place.exists() or not made:
        return
    new = place.with_name(f"{place.name}.new")  # an index only once it is whole
    shutil.rmtree(new, ignore_errors=True)
    plain = made.get(replace(recipe, extraction=()))
    if plain is not None:
        shutil.copytree(plain, new)
    new.mkdir(parents=True, exist_ok=True)
    last = [*made.values()][-1]
    smaller = [each for other, each in made.items() if recipe.paid and other.paid == recipe.paid]
    for name, sources in ((_CALLS, smaller), (_VECTORS, [last])):
        if sources and (sources[-1] / name).exists():
            shutil.copy2(sources[-1] / name, new / name)
    if (last / _CALLS).exists():
        Ledger(last / _CALLS).copy(new / _CALLS, lambda keys: [True] * len(keys))
    new.rename(place)


def _make_protocol(
    table: PaperTable,
    settings: Sequence[Setting],
    columns: Sequence[PaperColumn],
    models: PaperModels,
) -> Protocol:
    wanted = {metric for column in columns for metric in table.metrics_of(column)}
    costs_answers = not wanted <= _SHARES  # where what is printed is a cost
    answers = models.reader is not None and bool(wanted & _ANSWERED or costs_answers)
    answers |= columns[0].format == LABELS  # the first candidate, without an LLM
    judged = tuple(metric for metric in JUDGED if metric in wanted) if answers else ()
    return Protocol(
        settings=tuple(settings),
        scoring=Scoring(context_tokens=table.context_tokens),
        answers=answers,
        answer_llm=models.answer_llm if answers else None,
        prompt=columns[0].prompt,
        judge=(models.judge_llm or models.reader) if judged else None,
        judged=judged or ("judge",),
    )


def _read_report(dataset: Dataset, report: Report, spent: Usage | None) -> Means:
    """Return the mean of each metric and what questions cost, by the label of the setting."""
    found: dict[str, dict[str, float]] = {}
    for each in report.summaries:
        rows = [row for row in report.rows if row.label == each.label]
        means = {metric: estimate.mean for metric, estimate in each.estimates.items()}
        if dataset.format == LABELS:
            by_llm = "answer" in report.models
            means |= labels.count_right(dataset.questions, rows, by_llm=by_llm)
        found[each.label] = means | _count_questions(rows, spent)
    return found


def _count_questions(rows: Sequence[Row], spent: Usage | None) -> dict[str, float]:
    """Return what questions cost; where `spent` is known, also what index and questions do."""
    usages = [each for row in rows for each in (row.usage, row.answer_usage) if each is not None]
    total, n = reduce(add, usages, Usage()), len(rows)
    tokens = total.total_tokens + sum(row.recorded_tokens for row in rows)
    whole = total + (spent or Usage())
    both = {
        "prompt tokens, thousands": whole.prompt_tokens / 1_000,
        "completion tokens, thousands": whole.completion_tokens / 1_000,
    }
    return {
        "question tokens": tokens / n,
        "tokens of 100 questions": 100 * tokens / n,
        **({} if total.cost_usd is None else {"question USD": total.cost_usd / n}),
        "question seconds": total.total_seconds / n,
        "question minutes": total.total_seconds / 60,
        **({} if spent is None else both),
    }


def _count_index(index: Index, recipe: IndexRecipe) -> dict[str, float]:
    """Return the sizes of an index, and what it cost where that is known."""
    layers, spent = index.snapshot().layers, index.spent()
    sizes = {"texts": "chunk", "units": "unit", "entities": "entity"}
    counts: dict[str, float] = {name: len(layers[layer]) for name, layer in sizes.items()}
    if spent is None or dict(recipe.extraction).get("triples") == RECORDED:
        return counts
    usd = {} if spent.cost_usd is None else {"index USD": spent.cost_usd}
    minutes = {"index minutes": spent.total_seconds / 60}
    return {**counts, "index tokens": spent.total_tokens, **usd, **minutes}


def _scale(table: PaperTable, means: Mapping[str, float]) -> dict[str, float]:
    """Return means as the paper prints them."""
    return {name: n * table.scale if name in _SHARES else n for name, n in means.items()}


def format_value(table: PaperTable, metric: str, value: float | None) -> str:
    """Return a number as the table has its metric: a share, dollars, or a count."""
    if value is None:
        return "-"
    if metric in _SHARES:
        return f"{value:.{2 if table.scale > 1 else 3}f}"
    if metric.startswith("recall"):
        return f"{value:.3f}"
    if metric.endswith("USD"):
        return f"{value:.{4 if 0 < value < 0.01 else 2}f}"
    return f"{value:,.0f}" if value >= 1_000 else f"{round(value, 2)}"
