"""Build the sections of a report page, for `markup` to write."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clew.extras.evaluate.figures import PICTURE_SECTIONS, Picture
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.tables import cells
from clew.extras.evaluate.tables.cells import Rows
from clew.text.quantities import format_count

_DIGEST = 16  # letters of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with its content: sentences, tables, a list, figures."""

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Rows, ...] = ()
    items: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()


def sections(report: Report, pictures: Sequence[Picture] = (), remark: str = "") -> list[Section]:
    """Return the non-empty sections; `remark` is a note on the figures."""
    of = {key: tuple(p for p in pictures if p.section == key) for key in PICTURE_SECTIONS}
    metrics = cells.compared_metrics(report)
    summaries, indexing = report.summaries, cells.index_cost(report.summaries)
    by_metric = {
        "Against the first setting": cells.tests,
        "By type of question": cells.by_type,
        "By number of hops": cells.by_hops,
    }
    blocks = [
        _describe_measurement(report, remark),
        _means(report, "Ranking", cells.ranking_metrics(report), of["ranking"]),
        _means(report, "Contexts and answers", cells.ANSWER_METRICS, of["answers"]),
        *(
            Section(title=title, tables=_drop_empty_tables(*(table(m, summaries) for m in metrics)))
            for title, table in by_metric.items()
        ),
        _cost(report, of["cost"]),
        Section(
            title="Cost of indexing",
            sentences=() if indexing else ("What indexing cost is not known.",),
            tables=_drop_empty_tables(indexing),
        ),
        Section(
            title="Notes", items=(*cells.describe_left_out(report.dataset), *cells.notes(report))
        ),
        Section(title="How to read it", items=tuple(_reading(report))),
    ]
    return [each for each in blocks if each.sentences or each.tables or each.items or each.pictures]


def _describe_measurement(report: Report, remark: str) -> Section:
    dataset, scoring = report.dataset, report.scoring
    questions = format_count(dataset.n_questions, "question")
    documents = format_count(dataset.n_documents, "document")
    settings = format_count(len(report.settings), "setting")
    sentences = [f"{dataset.name}: {questions} over {documents}, asked of {settings}."]
    if report.headline:
        sentences.append(f"Settings are compared by {report.headline}.")
    facts = {  # what another must know to measure the same
        "format of the files": dataset.format,
        "digest of the questions": dataset.digest[:_DIGEST],
        "cut-offs": ", ".join(map(str, scoring.ks)),
        "tokens of a context, at most": f"{scoring.context_tokens:,}",
        "tokens of an answer, at most": f"{scoring.answer_tokens:,}",
        "seed of the resampling": str(scoring.seed),
        **{f"model, {name}": model for name, model in report.models.items()},
        **{f"version, {name}": version for name, version in report.versions.items()},
    }
    return Section(
        title="What was measured",
        sentences=(*sentences, *filter(None, [remark])),
        tables=([["what", "value"], *map(list, facts.items())],),
    )


def _means(
    report: Report, title: str, metrics: Sequence[str], pictures: tuple[Picture, ...]
) -> Section:
    note = cells.counts(metrics, report.summaries)
    return Section(
        title=title,
        sentences=(note,) if note else (),
        tables=_drop_empty_tables(cells.means(report, "setting", metrics)),
        pictures=pictures,
    )


def _cost(report: Report, pictures: tuple[Picture, ...]) -> Section:
    tables = _drop_empty_tables(*cells.question_costs(report.summaries))
    note = "Seconds are those of the median and the 95th percentile, the rest are means."
    return Section(
        title="Cost of a question",
        sentences=(note,) if tables else (),
        tables=tables,
        pictures=pictures,
    )


def _reading(report: Report) -> Iterator[str]:
    """Explain in three lines how to read the tables."""
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
