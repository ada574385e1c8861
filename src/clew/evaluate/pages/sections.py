"""What a page says of a report, as sections that `markup` writes as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.evaluate.figures.picture import PICTURE_SECTIONS, Picture
from clew.evaluate.tables import cells
from clew.evaluate.tables.cells import Rows
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.evaluate.report import Report

_DIGEST = 16  # letters of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with what stands below it: sentences, tables, a list, figures."""

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Rows, ...] = ()
    items: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.sentences or self.tables or self.items or self.pictures)


def sections(report: Report, pictures: Sequence[Picture] = (), remark: str = "") -> list[Section]:
    """Return the sections that have something to say; `remark` is said of the figures."""
    of = {key: tuple(p for p in pictures if p.section == key) for key in PICTURE_SECTIONS}
    metrics = cells.compared_metrics(report)
    summaries = report.summaries
    found = [
        _describe_measurement(report, remark),
        _means(report, "Ranking", cells.ranking_metrics(report), of["ranking"]),
        _means(report, "Contexts and answers", cells.ANSWER_METRICS, of["answers"]),
        Section(
            title="Against the first setting",
            tables=_drop_empty_tables(*(cells.tests(metric, summaries) for metric in metrics)),
        ),
        Section(
            title="By type of question",
            tables=_drop_empty_tables(*(cells.by_type(metric, summaries) for metric in metrics)),
        ),
        Section(
            title="By number of hops",
            tables=_drop_empty_tables(*(cells.by_hops(metric, summaries) for metric in metrics)),
        ),
        Section(title="Over parameters", pictures=of["grids"]),
        _cost(report, of["cost"]),
        _index(report),
        Section(
            title="Notes", items=(*cells.describe_left_out(report.dataset), *cells.notes(report))
        ),
        Section(title="How to read it", items=tuple(_reading(report))),
    ]
    return [section for section in found if not section.is_empty]


def _describe_measurement(report: Report, remark: str) -> Section:
    dataset = report.dataset
    questions = format_count(dataset.n_questions, "question")
    documents = format_count(dataset.n_documents, "document")
    settings = format_count(len(report.settings), "setting")
    said = [f"{dataset.name}: {questions} over {documents}, asked of {settings}."]
    if report.headline:
        said.append(f"Settings are compared by {report.headline}.")
    return Section(
        title="What was measured",
        sentences=(*said, *filter(None, [remark])),
        tables=(_facts(report),),
    )


def _facts(report: Report) -> Rows:
    """A row for each thing that another must know to measure the same."""
    scoring = report.scoring
    facts = {
        "format of the files": report.dataset.format,
        "digest of the questions": report.dataset.digest[:_DIGEST],
        "cut-offs": ", ".join(map(str, scoring.ks)),
        "tokens of a context, at most": f"{scoring.context_tokens:,}",
        "tokens of an answer, at most": f"{scoring.answer_tokens:,}",
        "seed of the resampling": str(scoring.seed),
        **{f"model, {name}": model for name, model in report.models.items()},
        **{f"version, {name}": version for name, version in report.versions.items()},
    }
    return [["what", "value"], *map(list, facts.items())]


def _means(
    report: Report, title: str, metrics: Sequence[str], pictures: tuple[Picture, ...]
) -> Section:
    said = cells.counts(metrics, report.summaries)
    return Section(
        title=title,
        sentences=(said,) if said else (),
        tables=_drop_empty_tables(cells.means(report, "setting", metrics)),
        pictures=pictures,
    )


def _cost(report: Report, pictures: tuple[Picture, ...]) -> Section:
    summaries = report.summaries
    spent = (cells.search_cost, cells.answer_cost, cells.judge_cost)
    tables = _drop_empty_tables(*(cost(summaries) for cost in spent))
    said = "Seconds are those of the median and the 95th percentile, the rest are means."
    return Section(
        title="Cost of a question",
        sentences=(said,) if tables else (),
        tables=tables,
        pictures=pictures,
    )


def _index(report: Report) -> Section:
    table = cells.index_cost(report.summaries)
    said = "What indexing cost is not known." if not table else ""
    return Section(
        title="Cost of indexing",
        sentences=(said,) if said else (),
        tables=_drop_empty_tables(table),
    )


def _reading(report: Report) -> Iterator[str]:
    """Say in three lines how to read the tables."""
    yield (
        "Scores lie between 0 and 1, and higher is better. A 95 % interval is where the mean would "
        f"lie for other questions of the same kind (bootstrap over questions, seed "
        f"{report.scoring.seed})."
    )
    yield (
        "A difference is told apart from chance where p < .05, by a paired sign-flip test over the "
        "questions that both settings have. Each setting is tested alone: of twenty that do not "
        "differ, one is told apart by chance."
    )
    yield "Seconds depend on the machine: compare them within one report only."


def _drop_empty_tables(*tables: Rows) -> tuple[Rows, ...]:
    return tuple(table for table in tables if table)
