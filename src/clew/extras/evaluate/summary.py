"""Summarize rows, one per question and setting, for a report.

A metric that does not apply to a question is absent from its row and from the means: recall
without supporting ids, coverage without answers, what a judge should have said and did not. A
question that failed has zeros instead.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from clew.base.types import Answer, Context, Evidence, Scalar, Usage
from clew.extras.evaluate.datasets import DatasetQuestion
from clew.extras.evaluate.stats import PairedTest, bootstrap_interval, paired_test, quantiles
from clew.models.run import MODEL_STAGES, ModelExchange

K = TypeVar("K", str, int)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The result of one question with one setting."""

    question_id: str
    question_digest: str = ""  # of the question as it was asked; empty in runs of older versions
    label: str  # of the setting
    type: str = ""
    hops: int | None = None
    document_ids: tuple[str, ...] = ()  # ranked, without repeats
    scores: Mapping[str, float]  # by metric, in the order of a report
    usage: Usage | None = None  # of the search; None where it failed
    context_tokens: int | None = None  # of the context that coverage looks into, as `usage`
    error: str = ""  # why the search failed
    notes: tuple[str, ...] = ()  # each once: what went another way than asked
    answer: str = ""
    answer_usage: Usage | None = None  # None where no answer was asked for, or it failed
    answer_error: str = ""
    judge_usage: Usage | None = None  # None where nothing was judged, or judging failed
    judge_error: str = ""
    unparsable: tuple[str, ...] = ()  # metrics for which no reply of the judge could be read
    recorded_tokens: int = 0  # of prompts and replies that a ledger had, without the judge's

    @property
    def is_failed(self) -> bool:
        """Whether search, answer or judge failed."""
        return bool(self.error or self.answer_error or self.judge_error)


@dataclass(frozen=True, slots=True)
class Found:
    """The context of a question, and the prompts sent to LLMs."""

    question: DatasetQuestion
    evidence: Evidence | None  # None where the search failed
    context: Context | None
    answer: Answer | None  # None where none was asked for, or it failed
    exchanges: tuple[ModelExchange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over n questions with its bootstrap interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The means over questions of one type or number of hops."""

    n: int
    means: Mapping[str, float]
    counts: Mapping[str, int]  # of the questions that a metric applies to


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The cost per question, over questions that did not fail."""

    p50_s: float
    p95_s: float
    model_p50_s: float  # the part spent in MODEL_STAGES
    model_p95_s: float
    llm_calls: float  # means per question, as the next two
    tokens: float
    cost_usd: float | None  # None: the price of a model is not known
    recorded_calls: int  # in all, that a ledger replied to, at no cost and in no time


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The results of one setting over all questions."""

    label: str
    n_failed: int
    n_failed_answers: int
    n_failed_verdicts: int
    first_error: str
    notes: Mapping[str, int]  # to how many questions each applies, the most frequent first
    estimates: Mapping[str, Estimate]  # by metric
    against_first: Mapping[str, PairedTest]  # by metric that both have; empty for the first
    by_type: Mapping[str, Group]
    by_hops: Mapping[int, Group]
    unparsable: Mapping[str, int]  # by metric, how many verdicts of the judge could not be read
    search: Spending | None  # None: every question failed
    answer: Spending | None
    judge: Spending | None
    context_tokens: float | None  # the mean, over the questions that did not fail
    index_cost: Mapping[str, Scalar]  # of the index that was searched, by name


Judge = Callable[[DatasetQuestion, Answer], "Verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The scores of one answer by metric, each from 0 to 1.

    A metric whose reply could not be read is in `unparsable`, and has no score unless its
    definition gives it one.
    """

    scores: Mapping[str, float]
    unparsable: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def model_seconds(usage: Usage) -> float:
    """Return the seconds that `usage` spent in models."""
    return math.fsum(s for stage, s in usage.seconds.items() if stage in MODEL_STAGES)


def summarize(
    rows: Sequence[Row],
    labels: Sequence[str],
    tested: Sequence[str],
    seed: int,
    index_costs: Mapping[str, Mapping[str, Scalar]] | None = None,
) -> list[Summary]:
    """Return a summary per setting; metrics in `tested` are compared with the first setting's.

    Every setting must have a row for the same questions. `index_costs` are by label.
    """
    of: dict[str, list[Row]] = {label: [] for label in labels}
    for row in rows:
        of[row.label].append(row)
    first, costs = of[labels[0]], index_costs or {}
    return [_summary(of[label], first, tested, seed, costs.get(label, {})) for label in labels]


def _summary(
    rows: Sequence[Row],
    first: Sequence[Row],
    tested: Sequence[str],
    seed: int,
    index_cost: Mapping[str, Scalar],
) -> Summary:
    errors = [row.error or row.answer_error or row.judge_error for row in rows]
    sizes = [row.context_tokens for row in rows if row.context_tokens is not None]
    return Summary(
        label=rows[0].label,
        n_failed=sum(bool(row.error) for row in rows),
        n_failed_answers=sum(bool(row.answer_error) for row in rows),
        n_failed_verdicts=sum(bool(row.judge_error) for row in rows),
        first_error=next(filter(None, errors), ""),
        notes=dict(Counter(note for row in rows for note in row.notes).most_common()),
        estimates={m: _estimate(_scores(rows, m), seed) for m in _metrics(rows)},
        against_first=_tests(rows, first, tested, seed),
        by_type=_groups(rows, lambda row: row.type or None),
        by_hops=_groups(rows, lambda row: row.hops),
        unparsable=dict(Counter(metric for row in rows for metric in row.unparsable)),
        search=_spending([row.usage for row in rows if row.usage is not None]),
        answer=_spending([row.answer_usage for row in rows if row.answer_usage is not None]),
        judge=_spending([row.judge_usage for row in rows if row.judge_usage is not None]),
        context_tokens=_mean(sizes) if sizes else None,
        index_cost=index_cost,
    )


def _tests(
    rows: Sequence[Row], first: Sequence[Row], tested: Sequence[str], seed: int
) -> dict[str, PairedTest]:
    """Compare with the first setting on the questions where both have the metric."""
    if rows[0].label == first[0].label:
        return {}
    theirs = {row.question_id: row.scores for row in first}
    pairs = {
        metric: [
            (row.scores[metric], theirs[row.question_id][metric])
            for row in rows
            if metric in row.scores and metric in theirs[row.question_id]
        ]
        for metric in tested
    }
    return {
        metric: paired_test([a for a, _ in both], [b for _, b in both], seed)
        for metric, both in pairs.items()
        if both
    }


def _metrics(rows: Sequence[Row]) -> list[str]:
    """Return the metrics of any row, in the order of the longest row."""
    longest = max(rows, key=lambda row: len(row.scores))
    return list(dict.fromkeys(m for row in (longest, *rows) for m in row.scores))


def _scores(rows: Sequence[Row], metric: str) -> list[float]:
    return [row.scores[metric] for row in rows if metric in row.scores]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _estimate(values: Sequence[float], seed: int) -> Estimate:
    low, high = bootstrap_interval(values, seed)
    return Estimate(mean=_mean(values), low=low, high=high, n=len(values))


def _groups(rows: Sequence[Row], key: Callable[[Row], K | None]) -> dict[K, Group]:
    """Group the rows that have a key, by ascending key."""
    members: dict[K, list[Row]] = {}
    for row in rows:
        value = key(row)
        if value is not None:
            members.setdefault(value, []).append(row)
    groups = {}
    for value, own in sorted(members.items()):
        scores = {metric: _scores(own, metric) for metric in _metrics(own)}
        groups[value] = Group(
            n=len(own),
            means={metric: _mean(values) for metric, values in scores.items()},
            counts={metric: len(values) for metric, values in scores.items()},
        )
    return groups


def _spending(usages: Sequence[Usage]) -> Spending | None:
    if not usages:
        return None
    p50, p95 = quantiles([usage.total_seconds for usage in usages], (0.5, 0.95))
    model_p50, model_p95 = quantiles([model_seconds(usage) for usage in usages], (0.5, 0.95))
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    return Spending(
        p50_s=p50,
        p95_s=p95,
        model_p50_s=model_p50,
        model_p95_s=model_p95,
        llm_calls=_mean([usage.llm_calls for usage in usages]),
        tokens=_mean([usage.total_tokens for usage in usages]),
        cost_usd=_mean(costs) if len(costs) == len(usages) else None,
        recorded_calls=sum(usage.recorded_calls for usage in usages),
    )
