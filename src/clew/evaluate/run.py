"""Ask every question of every method and measure what comes back.

How searching and answering are done is the caller's affair: both are functions of
(question, method). Questions are the outer loop, so a slow moment of the machine meets all
methods alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clew.errors import ClewError, InputError
from clew.evaluate import metrics
from clew.evaluate.datasets import Dataset, Question
from clew.evaluate.metrics import YesNo
from clew.evaluate.report import Report
from clew.evaluate.summary import Row
from clew.types import Answer, Evidence

Search = Callable[[str, str], Evidence]
Respond = Callable[[str, str], Answer]
Progress = Callable[[int, int], None]  # done, total: a step is a question asked of a method


def evaluate(
    dataset: Dataset,
    search: Search,
    methods: Sequence[str],
    ks: Sequence[int] = (2, 5, 10),
    seed: int = 0,
    on_progress: Progress | None = None,
    *,
    answer: Respond | None = None,
    yes_no: YesNo = "plain",
) -> Report:
    """Return the metrics of `methods`, the first of which the others are compared with.

    `answer` is called right after `search` with the same question and method, so the caller may
    keep the evidence between the two; its usage is reported beside the search's, never added.
    A ClewError of either is counted and scores 0 on that question. `yes_no` is the rule of `f1`.
    Raises InputError without questions, and for methods or ks that are none, repeated or < 1.
    """
    _check(dataset, methods, ks)
    asked = _Asked(search, answer, tuple(sorted(ks)), yes_no)
    total = len(dataset.questions) * len(methods)
    rows: list[Row] = []
    for question in dataset.questions:
        for method in methods:
            rows.append(_row(question, method, asked))
            if on_progress is not None:
                on_progress(len(rows), total)
    return Report(
        dataset=dataset,
        methods=tuple(methods),
        ks=asked.ks,
        rows=tuple(rows),
        seed=seed,
        yes_no=yes_no,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    search: Search
    answer: Respond | None
    ks: tuple[int, ...]
    yes_no: YesNo


def _check(dataset: Dataset, methods: Sequence[str], ks: Sequence[int]) -> None:
    if not dataset.questions:
        raise InputError(f"the dataset {dataset.name!r} has no questions")
    if isinstance(methods, str) or not methods or len(set(methods)) < len(methods):
        raise InputError(f"methods must be a list of different names, but are {methods!r}")
    if not ks or min(ks) < 1 or len(set(ks)) < len(ks):
        raise InputError(f"ks must be different numbers of at least 1, but are {tuple(ks)}")


def _row(question: Question, method: str, asked: _Asked) -> Row:
    """Ask one question of one method; what fails is noted and scored as if nothing came."""
    evidence = response = None
    error = answer_error = ""
    try:
        evidence = asked.search(question.text, method)
    except ClewError as reason:
        error = _name(reason)
    if asked.answer is not None and not error:
        try:
            response = asked.answer(question.text, method)
        except ClewError as reason:
            answer_error = _name(reason)
    scores = _retrieval(question, evidence, asked.ks)
    if asked.answer is not None:
        scores |= _answer(question, response, asked.yes_no)
    return Row(
        question_id=question.id,
        method=method,
        type=question.type,
        hops=question.hops,
        document_ids=_documents(evidence),
        scores=scores,
        usage=evidence.usage if evidence else None,
        error=error,
        answer=response.text if response else "",
        answer_usage=response.usage if response else None,
        answer_error=answer_error,
    )


def _name(error: ClewError) -> str:
    return f"{type(error).__name__}: {error}"


def _documents(evidence: Evidence | None) -> tuple[str, ...]:
    return metrics.distinct(hit.document_id for hit in evidence.hits) if evidence else ()


def _retrieval(
    question: Question, evidence: Evidence | None, ks: tuple[int, ...]
) -> dict[str, float]:
    """Score the ranking where there is gold, and the texts of the hits where there are answers."""
    scores: dict[str, float] = {}
    ranked, gold = _documents(evidence), question.supporting_ids
    if gold:
        scores |= {f"recall@{k}": metrics.recall_at(ranked, gold, k) for k in ks}
        scores |= {f"all@{k}": metrics.all_at(ranked, gold, k) for k in ks}
        scores["nDCG@10"] = metrics.ndcg_at(ranked, gold, 10)
        scores["MRR"] = metrics.reciprocal_rank(ranked, gold)
    if question.answers:
        hits = evidence.hits[: ks[-1]] if evidence else ()
        covered = metrics.covered(question.answers, "\n".join(hit.text for hit in hits))
        scores["coverage"] = covered
        if not metrics.is_yes_no(question.answers):
            scores["coverage without yes/no"] = covered
    return scores


def _answer(question: Question, response: Answer | None, yes_no: YesNo) -> dict[str, float]:
    if not question.answers:
        return {}
    text = response.text if response else ""
    return {
        "EM": metrics.exact_match(text, question.answers),
        "F1": metrics.f1(text, question.answers, yes_no),
        "Acc": metrics.contains(text, question.answers),
    }
