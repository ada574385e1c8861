"""The results of an evaluation as plain data; `tables` and `pages` format them for people."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from clew.base.types import Scalar, Usage
from clew.extras.evaluate.datasets import About
from clew.extras.evaluate.settings import Scoring, Setting, main_metrics
from clew.extras.evaluate.summary import Row, Summary, model_seconds, summarize

TESTED_ANSWER = "F1 plain"  # the metric by which answers are compared with the first setting's


@dataclass(frozen=True, kw_only=True)
class Report:
    """The rows of an evaluation, and how they were measured.

    What stands below `rows` is the caller's to give: `dataclasses.replace(report, index_cost=...)`.
    """

    dataset: About
    settings: tuple[Setting, ...]
    scoring: Scoring  # its ks ascending
    rows: tuple[Row, ...]
    index_cost: Mapping[str, Scalar] = field(default_factory=dict)
    index_costs: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)  # by label,
    # of settings that do not share one index
    models: Mapping[str, str] = field(default_factory=dict)  # names by what they do
    versions: Mapping[str, str] = field(default_factory=dict)  # of Clew and what it stands on

    @cached_property
    def headline(self) -> str:
        """The metric to compare settings by, and "" if none applies."""
        have = {metric for row in self.rows for metric in row.scores}
        return next(iter(main_metrics(have, self.scoring.ks)), "")

    @cached_property
    def summaries(self) -> list[Summary]:
        """The summary of each setting, in their order."""
        tested = [metric for metric in (self.headline, TESTED_ANSWER) if metric]
        searched = {row.label for row in self.rows if row.usage is not None or row.error}
        costs = {label: self.index_costs.get(label, self.index_cost) for label in searched}
        labels = [setting.label for setting in self.settings]
        return summarize(self.rows, labels, tested, self.scoring.seed, costs)

    def to_json(self, *, with_rows: bool = False) -> dict[str, Any]:
        """Return plain data with a fixed key order; equal reports give equal bytes."""
        data: dict[str, Any] = {
            "dataset": {
                "name": self.dataset.name,
                "format": self.dataset.format,
                "questions": self.dataset.n_questions,
                "documents": self.dataset.n_documents,
                "digest": self.dataset.digest,
                "questions_without_supporting_ids": self.dataset.n_without_gold,
                "questions_without_answers": self.dataset.n_without_answers,
                "unknown_supporting_ids": list(self.dataset.unknown_ids),
                "dropped_answers": list(self.dataset.dropped_answers),
                "left_out": dict(self.dataset.left_out),
            },
            "settings": {
                "ks": list(self.scoring.ks),
                "context_tokens": self.scoring.context_tokens,
                "answer_tokens": self.scoring.answer_tokens,
                "seed": self.scoring.seed,
            },
            "models": dict(self.models),
            "versions": dict(self.versions),
            "headline": self.headline,
            "index_cost": dict(self.index_cost),
            "methods": {
                summary.label: _setting(setting, summary)
                for setting, summary in zip(self.settings, self.summaries, strict=True)
            },
        }
        if with_rows:
            data["rows"] = [_row(row) for row in self.rows]
        return data


def _setting(setting: Setting, summary: Summary) -> dict[str, Any]:
    return {
        "method": setting.method,
        "parameters": dict(setting.parameters),
        "failed": summary.n_failed,
        "failed_answers": summary.n_failed_answers,
        "failed_verdicts": summary.n_failed_verdicts,
        "first_error": summary.first_error,
        "notes": dict(summary.notes),
        "metrics": {metric: asdict(value) for metric, value in summary.estimates.items()},
        "against_first": {m: test._asdict() for m, test in summary.against_first.items()},
        "by_type": {value: asdict(group) for value, group in summary.by_type.items()},
        "by_hops": {str(value): asdict(group) for value, group in summary.by_hops.items()},
        "unparsable": dict(summary.unparsable),
        "search": summary.search and asdict(summary.search),
        "answer": summary.answer and asdict(summary.answer),
        "judge": summary.judge and asdict(summary.judge),
        "context_tokens": summary.context_tokens,
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "question_id": row.question_id,
        "method": row.label,
        "type": row.type,
        "hops": row.hops,
        "document_ids": list(row.document_ids),
        "scores": dict(row.scores),
        "search": _usage(row.usage),
        "context_tokens": row.context_tokens,
        "error": row.error,
        "notes": list(row.notes),
        "answer": row.answer,
        "answering": _usage(row.answer_usage),
        "answer_error": row.answer_error,
        "judging": _usage(row.judge_usage),
        "judge_error": row.judge_error,
        "unparsable": list(row.unparsable),
    }


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    return {
        "seconds": usage.total_seconds,
        "model_seconds": model_seconds(usage),
        "llm_calls": usage.llm_calls,
        "tokens": usage.total_tokens,
        "cost_usd": usage.cost_usd,
    }
