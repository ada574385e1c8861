"""Write a report as a page: Markdown, with its figures beside it.

What a report says may quote a dataset or an endpoint, so every text is escaped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from clew.base.display.visible import visible
from clew.errors import InputError, MissingExtra
from clew.extras.evaluate.figures import Picture
from clew.extras.evaluate.files import check_file
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.tables import cells
from clew.text.quantities import format_count

SUFFIXES = (".md",)
_DIGEST = 16  # letters of it
# What Markdown, also GitHub's, could take for more than text. An underscore within a word is one.
_SPECIAL = re.compile(
    r"[\\`*|~$]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|<(?=[A-Za-z/!?])|&(?=[#\w])"
    r"|(?<!\S)#|(?<!\w)@|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
_BLOCK_START = re.compile(r"^([-+=>\[]|\d+(?=[.)]))")  # of a list, a quotation, a box
_IN_BRACKETS = re.compile(rf"{_SPECIAL.pattern}|[\[\]]", re.IGNORECASE)


def write(report: Report, path: str | Path) -> None:
    """Write a report as `.md`, with its figures beside it as `<stem>-<name>.svg`.

    Without the extra `plots` the page has no figures, and says so. Equal reports give equal bytes.
    Raises InputError as `check_page` does, and where a file cannot be written.
    """
    check_page(path)
    file = Path(path)
    pictures, remark = list[Picture](), ""
    try:
        from clew.extras.evaluate.figures import report_figures

        pictures = report_figures.pictures(report)
    except MissingExtra as error:
        remark = f"Figures are left out: {error}"
    texts = {_name_file(file.stem, picture): picture.svg for picture in pictures}
    texts[file.name] = to_markdown(report, pictures, stem=file.stem, remark=remark)
    try:
        for name, text in texts.items():
            file.with_name(name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error


def check_page(path: str | Path) -> None:
    """Raise InputError early for a file that `write` could not write."""
    check_file(path, SUFFIXES, "a report")


def to_markdown(
    report: Report, pictures: Sequence[Picture] = (), *, stem: str = "", remark: str = ""
) -> str:
    """Return an evaluation report as Markdown under a heading, with links to `pictures`.

    The file of a picture is `<stem>-<name>.svg`. A `remark` on figures stands at the beginning.
    """
    summaries = report.summaries
    drawn = {
        key: [_format_link(stem, each) for each in pictures if each.section == key]
        for key in ("ranking", "answers", "cost")
    }
    metrics = cells.compared_metrics(report)
    costs, indexing = cells.question_costs(summaries), cells.index_cost(summaries)
    on_costs = "Seconds are those of the median and the 95th percentile, the rest are means."
    notes = (*cells.describe_left_out(report.dataset), *cells.notes(report))
    blocks = [
        f"# {_escape(f'Methods on {report.dataset.name}')}",
        *_describe_measurement(report, remark),
        *_format_means(report, "Ranking", cells.ranking_metrics(report), drawn["ranking"]),
        *_format_means(report, "Contexts and answers", cells.ANSWER_METRICS, drawn["answers"]),
        *format_section("Against the first setting", [cells.tests(m, summaries) for m in metrics]),
        *format_section("By type of question", [cells.by_type(m, summaries) for m in metrics]),
        *format_section("By number of hops", [cells.by_hops(m, summaries) for m in metrics]),
        *format_section(
            "Cost of a question", costs, [on_costs] if any(costs) else [], links=drawn["cost"]
        ),
        *format_section(
            "Cost of indexing", [indexing], [] if indexing else ["What indexing cost is not known."]
        ),
        *format_section("Notes", items=notes),
        *format_section("How to read it", items=_explain_tables(report)),
    ]
    return "\n\n".join(blocks) + "\n"


def format_section(
    title: str,
    tables: Iterable[cells.Rows] = (),
    sentences: Iterable[str] = (),
    items: Iterable[str] = (),
    links: Iterable[str] = (),
) -> list[str]:
    """Return a section as blocks of Markdown; nothing at all without a content."""
    bullets = "\n".join(f"- {_escape_line(item)}" for item in items)
    blocks = [
        *map(_escape_line, sentences),
        *(_format_table(rows) for rows in tables if rows),
        *filter(None, [bullets]),
        *links,
    ]
    return [f"## {_escape(title)}", *blocks] if blocks else []


def _describe_measurement(report: Report, remark: str) -> list[str]:
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
    table = [["what", "value"], *map(list, facts.items())]
    return format_section("What was measured", [table], filter(None, [*sentences, remark]))


def _format_means(
    report: Report, title: str, metrics: Sequence[str], links: Sequence[str]
) -> list[str]:
    note = cells.counts(metrics, report.summaries)
    table = cells.means(report, "setting", metrics)
    return format_section(title, [table], filter(None, [note]), links=links)


def _explain_tables(report: Report) -> Iterator[str]:
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


def _format_table(rows: cells.Rows) -> str:
    """Return rows, header first, as a table; all columns but the first are of numbers."""
    head, *body = (f"| {' | '.join(map(_escape, row))} |" for row in rows)
    return "\n".join([head, f"|---|{'---:|' * (len(rows[0]) - 1)}", *body])


def _format_link(stem: str, picture: Picture) -> str:
    return f"![{_escape(picture.title, _IN_BRACKETS)}]({quote(_name_file(stem, picture))})"


def _name_file(stem: str, picture: Picture) -> str:
    return f"{stem}-{picture.name}.svg"


def _escape(text: str, special: re.Pattern[str] = _SPECIAL) -> str:
    """Escape text for a Markdown heading or table cell."""
    return special.sub(r"\\\g<0>", visible(text).strip())


def _escape_line(text: str) -> str:
    """Escape text for a line of Markdown."""
    return _BLOCK_START.sub(
        lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", _escape(text)
    )
