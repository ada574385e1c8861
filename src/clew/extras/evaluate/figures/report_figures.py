"""The figures of a report page as SVG, with the sections that they belong to."""

from collections.abc import Callable, Iterator
from functools import partial

from matplotlib.figure import Figure

from clew.extras.evaluate.figures import Picture, canvas
from clew.extras.evaluate.figures.bars import bar_figure
from clew.extras.evaluate.figures.tradeoff import Point, front, tradeoff_figure
from clew.extras.evaluate.report import TESTED_ANSWER, Report
from clew.extras.evaluate.summary import Summary
from clew.extras.evaluate.tables.cells import compared_metrics

Cost = Callable[[Summary], float | None]


def pictures(report: Report) -> list[Picture]:
    """Return bars, and quality against cost and latency, of each compared metric."""
    figures: list[Picture] = []
    for metric in compared_metrics(report):
        figures += _bars(report, metric)
        figures += _costs(report, metric)
    return figures


def _bars(report: Report, metric: str) -> Iterator[Picture]:
    """Draw settings as bars, unless there is only one."""
    bars = [(s.label, s.estimates[metric]) for s in report.summaries if metric in s.estimates]
    if len(bars) < 2:
        return
    parts = (f"{label} {each.mean:.3f}" for label, each in bars)
    figure = bar_figure(bars, metric, canvas.make_title(report))
    about = f"Bars of {metric} with 95 % intervals: {', '.join(parts)}."
    section = "answers" if metric == TESTED_ANSWER else "ranking"
    yield _picture(figure, f"{_slug(metric)}-bars", section, f"{metric} by setting", about)


def _costs(report: Report, metric: str) -> Iterator[Picture]:
    """Plot `metric` against context size, model tokens, dollars and seconds."""
    answers = metric == TESTED_ANSWER
    unit = "a question with its answer" if answers else "a question"
    axes: tuple[tuple[str, str, Cost], ...] = (
        ("context", "tokens of the context", lambda s: s.context_tokens),
        ("tokens", f"tokens of an LLM, {unit}", partial(_sum_spent, "tokens", answers)),
        ("usd", f"dollars, {unit}", partial(_sum_spent, "cost_usd", answers)),
        ("seconds", f"median seconds, {unit}", partial(_sum_spent, "p50_s", answers)),
    )
    for name, axis, cost_of in axes:
        points = [
            Point(s.label, cost, s.estimates[metric])
            for s in report.summaries
            if metric in s.estimates and (cost := cost_of(s)) is not None
        ]
        if not any(point.cost for point in points):
            continue
        figure = tradeoff_figure(points, metric, axis, canvas.make_title(report))
        best = ", ".join(point.label for point in front(points))
        about = f"{metric} over {axis}; no other setting is both better and cheaper than: {best}."
        title = f"{metric} against {axis}"
        yield _picture(figure, f"{_slug(metric)}-{name}", "cost", title, about)


def _sum_spent(name: str, answers: bool, summary: Summary) -> float | None:  # noqa: FBT001
    """Return the cost of a search, including the answer if wanted; None if unknown."""
    spent = (summary.search, summary.answer) if answers else (summary.search,)
    costs = [cost for each in spent if (cost := getattr(each, name, None)) is not None]
    return sum(costs) if len(costs) == len(spent) else None


def _picture(figure: Figure, name: str, section: str, title: str, about: str) -> Picture:
    svg = canvas.svg_text(figure, title, about)
    return Picture(name=name, section=section, title=title, svg=svg)


def _slug(metric: str) -> str:
    """Return a metric as part of a file name: "recall@5" as "recall-5"."""
    return "".join(c if c.isalnum() else "-" for c in metric.lower())
