"""Reports as tables of cells, header first, for text and for pages.

A cell is "-" where a setting has no such figure, such as the cost of one that failed everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from clew.extras.evaluate.datasets import About
from clew.extras.evaluate.report import TESTED_ANSWER, Report
from clew.extras.evaluate.summary import Group, Spending, Summary
from clew.text.quantities import format_count

Rows = list[list[str]]

ANSWER_METRICS = (
    "coverage",
    "coverage without yes/no",
    "evidence",
    "quoted",
    "EM",
    TESTED_ANSWER,
    "F1 hotpot",
    "F1 ket",
    "Acc",
    "ROUGE-L",
    "ROUGE-L precision",
    "judge",
    "graded",
    "correctness",
    "answer coverage",
    "faithfulness",
)
_INTERVAL = "95 % interval"
_ALPHA = 0.05
_MAX_NOTES = 3  # of a setting
_EMPTY = "-"


def ranking_metrics(report: Report) -> list[str]:
    """Return the ranking metrics, in report order."""
    at = [f"{metric}@{k}" for metric in ("recall", "all") for k in report.scoring.ks]
    return [*at, "nDCG@10", "MRR@10"]


def answer_metrics(report: Report) -> list[str]:
    """Return the context and answer metrics, without F1 rules that make no difference."""
    f1 = [_means_of(TESTED_ANSWER, summary) for summary in report.summaries]
    return [
        metric
        for metric in ANSWER_METRICS
        if not metric.startswith("F1")
        or metric == TESTED_ANSWER
        or [_means_of(metric, summary) for summary in report.summaries] != f1
    ]


def compared_metrics(report: Report) -> list[str]:
    """Return the metrics with intervals and paired tests, headline first."""
    have = {metric for summary in report.summaries for metric in summary.estimates}
    return list(dict.fromkeys(m for m in (report.headline, TESTED_ANSWER) if m in have))


def means(report: Report, title: str, metrics: Sequence[str]) -> Rows:
    """Return a row per setting and a column per metric, with intervals for compared metrics."""
    summaries = report.summaries
    shown = [m for m in metrics if any(m in s.estimates for s in summaries)]
    if not shown:
        return []
    compared = compared_metrics(report)
    columns = [[title, *(s.label for s in summaries)]]
    for metric in shown:
        estimates = [s.estimates.get(metric) for s in summaries]
        columns.append([metric, *(_EMPTY if e is None else f"{e.mean:.3f}" for e in estimates)])
        if metric in compared:
            intervals = (_EMPTY if e is None else _interval(e.low, e.high) for e in estimates)
            columns.append([_INTERVAL, *intervals])
    return [list(row) for row in zip(*columns, strict=True)]


def counts(metrics: Sequence[str], summaries: Sequence[Summary]) -> str:
    """Say how many questions the means of `metrics` cover; "" if none applies."""
    sizes: dict[str, list[str]] = {}
    for metric in metrics:
        ns = {s.estimates[metric].n for s in summaries if metric in s.estimates}
        if ns:
            size = " to ".join(str(n) for n in sorted({min(ns), max(ns)}))
            sizes.setdefault(size, []).append(metric)
    if not sizes:
        return ""
    usual, *others = sorted(sizes, key=lambda size: -len(sizes[size]))
    parts = [
        f"{usual} question{'' if usual == '1' else 's'}",
        *(f"{' and '.join(sizes[n])} over {n}" for n in others),
    ]
    return f"Means are over {', '.join(parts)}."


def tests(metric: str, summaries: Sequence[Summary]) -> Rows:
    """Return a row for each setting compared with the first one."""
    pairs = [(s.label, s.against_first[metric]) for s in summaries if metric in s.against_first]
    if not pairs:
        return []
    rows = [[f"{metric} minus {summaries[0].label}'s", "difference", _INTERVAL, "p", "p < .05"]]
    for label, test in pairs:
        verdict = "yes, higher" if test.difference > 0 else "yes, lower"
        verdict = "no" if test.p_value >= _ALPHA else verdict
        interval, p_value = _interval(test.low, test.high), f"{test.p_value:.4f}"
        rows.append([label, f"{test.difference:+.3f}", interval, p_value, verdict])
    return rows


def by_type(metric: str, summaries: Sequence[Summary]) -> Rows:
    """Return a row per setting and a column per question type."""
    return _groups(metric, [(s.label, s.by_type) for s in summaries])


def by_hops(metric: str, summaries: Sequence[Summary]) -> Rows:
    """Return a row per setting and a column per number of hops."""
    groups = ((s.label, {f"hops {n}": g for n, g in s.by_hops.items()}) for s in summaries)
    return _groups(metric, list(groups))


def question_costs(summaries: Sequence[Summary]) -> tuple[Rows, Rows, Rows]:
    """Return for each setting the costs of a search, of an answer without it, and of judging that.

    A search has the mean context size, too.
    """
    rows = _spending("search", [(s.label, s.search) for s in summaries])
    sizes = [s.context_tokens for s in summaries]
    column = ["context tokens", *(_EMPTY if size is None else f"{size:.0f}" for size in sizes)]
    return (
        [[*row, cell] for row, cell in zip(rows, column, strict=False)],
        _spending("answer", [(s.label, s.answer) for s in summaries]),
        _spending("judge", [(s.label, s.judge) for s in summaries]),
    )


def index_cost(summaries: Sequence[Summary]) -> Rows:
    """Return a row per figure and a column per searched index."""
    costs = [summary.index_cost for summary in summaries if summary.index_cost]
    users = {  # of equal costs, the settings that share an index
        ", ".join(s.label for s in summaries if s.index_cost == cost): cost for cost in costs
    }
    if not costs:
        return []
    names = dict.fromkeys(name for cost in costs for name in cost)
    rows = [[name, *(str(cost.get(name, _EMPTY)) for cost in users.values())] for name in names]
    return [["index", *(["all settings"] if len(users) == 1 else users)], *rows]


def describe_left_out(dataset: About) -> Iterator[str]:
    """Describe what the means leave out of the dataset."""
    for reason, n in dataset.left_out.items():
        yield f"questions of the file that are left out, {reason}: {n}"
    if dataset.n_without_gold:
        yield f"questions without supporting ids, not in the ranking: {dataset.n_without_gold}"
    if dataset.n_without_answers:
        yield f"questions without answers, not in the answers: {dataset.n_without_answers}"
    if dataset.unknown_ids:
        yield f"supporting ids that the corpus lacks, never found: {len(dataset.unknown_ids)}"
    if dataset.dropped_answers:
        yield f"answers that are empty once normalised, not used: {len(dataset.dropped_answers)}"


def notes(report: Report) -> Iterator[str]:
    """List the settings that failed, used a fallback, or have unknown parts."""
    for summary in report.summaries:
        yield from _failures(summary, report.dataset.n_questions)
        for note, n in islice(summary.notes.items(), _MAX_NOTES):
            yield f"{summary.label}: {note} ({format_count(n, 'question')})"
        if len(summary.notes) > _MAX_NOTES:
            yield f"{summary.label}: other notes, in the JSON: {len(summary.notes) - _MAX_NOTES}"
        stages = {"search": summary.search, "answer": summary.answer, "judge": summary.judge}
        recorded = {name: spent.recorded_calls for name, spent in stages.items() if spent}
        calls = " and ".join(f"{n} of {name}" for name, n in recorded.items() if n)
        if calls:
            yield f"{summary.label}: LLM calls that the ledger replied to, at no cost: {calls}"
    unknown = [s.label for s in report.summaries if s.search is None and not s.n_failed]
    if unknown:
        yield f"no cost is known of: {', '.join(unknown)}"


def _failures(summary: Summary, n_questions: int) -> Iterator[str]:
    parts = ((summary.n_failed, "searches"), (summary.n_failed_answers, "answers"))
    failed = " and ".join(f"{n} of {n_questions} {what}" for n, what in parts if n)
    if failed:
        yield f"{summary.label} failed in {failed}, scored 0; first: {summary.first_error}"
    if summary.n_failed_verdicts:
        reason = "" if failed else f"; first: {summary.first_error}"
        of = f"{summary.n_failed_verdicts} of {n_questions} answers"
        yield f"{summary.label}: the judge failed on {of}, not in its means{reason}"
    for metric, n in summary.unparsable.items():
        yield f"{summary.label}: replies of the judge that could not be read, {metric}: {n}"


def _means_of(metric: str, summary: Summary) -> float | None:
    estimate = summary.estimates.get(metric)
    return None if estimate is None else estimate.mean


def _groups(metric: str, settings: Sequence[tuple[str, Mapping[str, Group]]]) -> Rows:
    """Return a row per setting and a column per question group for which the metric is defined."""
    shown: dict[str, int] = {}
    for _, groups in settings:
        for name, group in groups.items():
            if metric in group.means:
                shown.setdefault(name, group.counts[metric])
    if not shown:
        return []
    header = [f"{metric} by group", *(f"{name} ({n})" for name, n in shown.items())]
    rows = [header]
    for label, groups in settings:
        means = (groups[n].means.get(metric) if n in groups else None for n in shown)
        rows.append([label, *(_EMPTY if mean is None else f"{mean:.3f}" for mean in means)])
    return rows


def _spending(stage: str, settings: Sequence[tuple[str, Spending | None]]) -> Rows:
    """Return the median and 95th percentile seconds and the mean cost of each setting."""
    if all(spent is None for _, spent in settings):
        return []
    columns = ["p50 s", "p95 s", "model p50 s", "model p95 s", "LLM calls", "tokens", "USD"]
    header = [f"{stage}, a question", *columns]
    rows = [header]
    for label, spent in settings:
        if spent is None:
            rows.append([label, *[_EMPTY] * len(columns)])
            continue
        seconds = (spent.p50_s, spent.p95_s, spent.model_p50_s, spent.model_p95_s)
        cost = "unknown" if spent.cost_usd is None else f"{spent.cost_usd:.5f}"
        calls, tokens = f"{spent.llm_calls:.1f}", f"{spent.tokens:.0f}"
        rows.append([label, *(f"{s:.3f}" for s in seconds), calls, tokens, cost])
    return rows


def _interval(low: float, high: float) -> str:
    return f"[{low:.3f}, {high:.3f}]"
