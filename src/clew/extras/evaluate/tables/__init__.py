"""Reports as tables of cells, and as aligned text."""

from collections.abc import Sequence

from clew.base.display.columns import align
from clew.base.display.visible import visible
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.tables import cells
from clew.text.quantities import format_count


def render(report: Report) -> str:
    """Return the report as text; scores are from 0 to 1."""
    dataset, summaries, headline = report.dataset, report.summaries, report.headline
    questions = format_count(dataset.n_questions, "question")
    documents = format_count(dataset.n_documents, "document")
    blocks = [
        [f"{dataset.name}: {questions}, {documents}"],
        _align_rows(cells.means(report, "ranking", cells.ranking_metrics(report))),
        _align_rows(cells.means(report, "answers", cells.answer_metrics(report))),
        *(_align_rows(cells.tests(m, summaries)) for m in cells.compared_metrics(report)),
        _align_rows(cells.by_type(headline, summaries)),
        _align_rows(cells.by_hops(headline, summaries)),
        *map(_align_rows, cells.question_costs(summaries)),
        [f"index {name}: {value}" for name, value in report.index_cost.items()],
        [*cells.describe_left_out(dataset), *cells.notes(report)],
    ]
    lines = "\n\n".join("\n".join(map(visible, block)) for block in blocks if block)
    return f"{lines}\n"


def _align_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    return align([list(map(visible, row)) for row in rows])
