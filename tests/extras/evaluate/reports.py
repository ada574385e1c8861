"""Reports that are written by hand, so that a test knows every number in them."""

from collections.abc import Mapping

from clew.base.types import Usage
from clew.extras.evaluate.datasets import About
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.settings import Scoring, Setting
from clew.extras.evaluate.summary import Estimate, Row

Scores = Mapping[str, float]


def about(n_questions, **more):
    given = {
        "name": "capitals", "n_questions": n_questions, "n_documents": 7, "n_without_gold": 0,
        "n_without_answers": 0, "unknown_ids": (), "dropped_answers": (),
        "digest": "0123456789abcdef0123",
    }  # fmt: skip
    return About(**{**given, **more})


def rows(label, scores, seconds=0.5, **more):
    """Return a row for each question, all at the same cost."""
    usage = Usage(seconds={"embed": seconds / 2, "rank": seconds / 2}, prompt_tokens=10)
    given = {"usage": usage, "context_tokens": 200, "type": "bridge", "hops": 2, **more}
    return [
        Row(question_id=f"q{number}", label=label, scores=each, **given)
        for number, each in enumerate(scores)
    ]


def report(settings, measured, **more):
    given = {
        "dataset": about(len(measured[0])),
        "scoring": Scoring(),
        "rows": tuple(row for each in measured for row in each),
    }
    return Report(settings=tuple(settings), **{**given, **more})


def simple(*labels, **more):
    """Return a report of methods, of which each is better and slower than the one before."""
    measured = [
        rows(label, _scores(number, len(labels)), 0.1 * (number + 1), context_tokens=100 + number)
        for number, label in enumerate(labels)
    ]
    return report([Setting(label) for label in labels], measured, **more)


def estimate(mean):
    return Estimate(mean=mean, low=mean - 0.1, high=mean + 0.05, n=20)


def _scores(number, n):
    share = (number + 1) / n
    return [
        {"recall@2": share / 2, "recall@5": share * q, "MRR@10": share, "coverage": float(q > 0.5)}
        for q in (0.25, 0.5, 0.75, 1.0)
    ]
