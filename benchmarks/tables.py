"""Reports as the tables of `docs/results`: one function for each kind, one `Table` from each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from benchmarks.marks import Table
from clew.base.types import Scalar
from clew.evaluate import Report
from clew.extras.evaluate.summary import Estimate, Summary

_RANKING = ("recall@2", "recall@5", "coverage", "evidence")
_ANSWERS = ("EM", "F1 plain", "Acc", "ROUGE-L")
_WITH_INTERVALS = ("recall@5", "evidence", "F1 plain")
_NONE = "–"
_FEWEST = 50  # questions of a type that has a column


def quality(report: Report, labels: Collection[str]) -> Table:
    """A row per setting named: means, interval, test against the first setting, what it took."""
    shown = _known(report, _RANKING)
    header = ["method"]
    for metric in shown:
        header += [metric, "95 %"] if metric in _WITH_INTERVALS else [metric]
    first = report.summaries[0].label
    header += [f"p against {first}", "s p50"]
    rows = [
        [s.label, *_means(s, shown), _p(s, report.headline), _seconds(s)]
        for s in report.summaries
        if s.label in labels
    ]
    return _table(header, rows)


def by_type(report: Report, labels: Collection[str]) -> Table | None:
    """A row per setting named, a column per type, of the metric compared by.

    None where fewer than two types have the questions by which settings could be told apart.
    """
    metric, first = report.headline, report.summaries[0]
    counts = {name: group.counts.get(metric, 0) for name, group in first.by_type.items()}
    types = [name for name, n in counts.items() if n >= _FEWEST]
    rows = [
        [s.label, *(_score(s.by_type[name].means[metric]) for name in types)]
        for s in report.summaries
        if s.label in labels
    ]
    header = ["method", *(f"{name} ({counts[name]})" for name in types)]
    return _table(header, rows) if len(types) > 1 else None


def answers(report: Report) -> Table:
    """A row per setting: how right its answers are, and what they were made from."""
    shown = [*_known(report, ("coverage",)), *_known(report, _ANSWERS)]
    header = ["method"]
    for metric in shown:
        header += [metric, "95 %"] if metric in _WITH_INTERVALS else [metric]
    header += [f"p against {report.summaries[0].label}", "context tokens"]
    rows = [[s.label, *_means(s, shown), _p(s, "F1 plain"), _size(s)] for s in report.summaries]
    return _table(header, rows)


def ablations(named: Sequence[tuple[str, str]], reports: Mapping[str, Report]) -> Table:
    """A row per (name, label), and of each report recall@5 and coverage.

    The intervals are those of the figure.
    """
    return _recall_and_coverage("ablation", named, reports)


def sensitivity(
    figures: Mapping[str, Sequence[tuple[str, str]]], reports: Mapping[str, Report]
) -> Table:
    """A row per figure and value, and of each report recall@5 and coverage.

    The intervals are those of the figure.
    """
    named = [
        (f"{of} = {value}", label) for of, values in figures.items() for value, label in values
    ]
    return _recall_and_coverage("parameter", named, reports)


def _recall_and_coverage(
    first: str, named: Sequence[tuple[str, str]], reports: Mapping[str, Report]
) -> Table:
    header = [first]
    for dataset in reports:
        header += [f"{dataset}: recall@5", "coverage"]
    of = [{s.label: s.estimates for s in report.summaries} for report in reports.values()]
    rows = [
        [name, *(_score(each[label][m].mean) for each in of for m in ("recall@5", "coverage"))]
        for name, label in named
    ]
    return _table(header, rows)


def matrix(reports: Mapping[str, Report], labels: Sequence[str], metric: str) -> Table:
    """A row per report, a column per setting, one metric in the cells."""
    rows = []
    for name, report in reports.items():
        of = {s.label: s.estimates for s in report.summaries}
        if any(metric in each for each in of.values()):
            rows.append([name, *(_score(of[label][metric].mean) for label in labels)])
    return replace(_table([metric, *labels], rows), partial=True)


def ranking(reports: Mapping[str, Report], labels: Sequence[str]) -> Table:
    """A row per setting, the best of the first report first: recall@5 of each, and seconds."""
    of = {name: {s.label: s for s in report.summaries} for name, report in reports.items()}
    first = next(iter(of.values()))
    header = ["method"]
    for name in of:
        header += [name, "95 %"]
    rows = []
    for label in sorted(labels, key=lambda label: -first[label].estimates["recall@5"].mean):
        cells = [cell for each in of.values() for cell in _means(each[label], ["recall@5"])]
        rows.append([label, *cells, _seconds(first[label])])
    return _table([*header, "s p50"], rows)


def index_costs(reports: Mapping[str, Report]) -> Table:
    """A row per index: its size, and how long making it took."""
    names = ("documents", "chunks", "triples", "seconds")
    rows = [
        [name, *(_amount(report.index_cost.get(each, _NONE)) for each in names)]
        for name, report in reports.items()
    ]
    return replace(_table(["index", *names], rows), partial=True)


def _amount(value: Scalar) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _known(report: Report, metrics: Sequence[str]) -> list[str]:
    return [m for m in metrics if any(m in s.estimates for s in report.summaries)]


def _means(summary: Summary, metrics: Sequence[str]) -> list[str]:
    cells = []
    for metric in metrics:
        estimate = summary.estimates.get(metric)
        if metric in _WITH_INTERVALS:
            cells += _with_interval(estimate)
        else:
            cells.append(_NONE if estimate is None else _score(estimate.mean))
    return cells


def _with_interval(estimate: Estimate | None) -> list[str]:
    if estimate is None:
        return [_NONE, _NONE]
    return [_score(estimate.mean), f"{estimate.low:.3f}–{estimate.high:.3f}"]


def _p(summary: Summary, metric: str) -> str:
    test = summary.against_first.get(metric)
    return _NONE if test is None else f"{test.p_value:.4f}"


def _seconds(summary: Summary) -> str:
    return _NONE if summary.search is None else f"{summary.search.p50_s:.3f}"


def _size(summary: Summary) -> str:
    return _NONE if summary.context_tokens is None else f"{summary.context_tokens:.0f}"


def _score(value: float) -> str:
    return f"{value:.3f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table whose columns have different names, by which its cells are found."""
    seen: dict[str, int] = {}
    names = []
    for name in header:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return Table(tuple(names), tuple(map(tuple, rows)))
