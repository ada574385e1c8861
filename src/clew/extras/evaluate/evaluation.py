"""Ask every question with every setting, and score the results.

How searching, answering and judging are done is the caller's affair: they are functions. Questions
are the outer loop, so a slow moment of the machine meets all settings alike.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple, TypeVar

from clew.answers.context import build_context
from clew.base.types import Answer, Citation, Context, Evidence
from clew.errors import BudgetSpent, ClewError, InputError
from clew.extras.evaluate import metrics
from clew.extras.evaluate.datasets import Dataset, DatasetQuestion
from clew.extras.evaluate.evidence_coverage import evidence_coverage, passages_of
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.settings import Scoring, Setting
from clew.extras.evaluate.summary import Found, Judge, Row
from clew.models.run import ModelExchange, evaluating
from clew.text import tokens

Search = Callable[[str, Setting], Evidence]
Respond = Callable[[str, Setting], Answer]
Progress = Callable[[int, int], None]  # done, total: a step is a question asked of a setting
OnFound = Callable[[Row, Found], None]

A = TypeVar("A")
T = TypeVar("T")

_EMPTY_CONTEXT = Context(passages=(), text="", n_tokens=0, budget_tokens=0)


def evaluate(  # noqa: PLR0913 -- one argument for each function that takes part
    dataset: Dataset,
    search: Search,
    settings: Sequence[Setting],
    scoring: Scoring | None = None,
    on_progress: Progress | None = None,
    *,
    answer: Respond | None = None,
    judge: Judge | None = None,
    recorded: Mapping[tuple[str, str], Row] | None = None,
    on_row: Callable[[Row], None] | None = None,
    on_found: OnFound | None = None,
    concurrency: int = 1,
) -> Report:
    """Return the metrics of `settings`; the first is the baseline of comparisons.

    `answer` is called right after `search` with the same question and setting, so the caller may
    keep the evidence between the two; its usage is reported beside the search's, never added.
    `judge` is then called with the question and its answer, an empty one where none came. A
    ClewError of search or answer is counted and scores 0 on that question; one of the judge is
    counted, and the question is left out of what it judges. Coverage looks into the context that
    an answer would be made from.

    Rows in `recorded`, by label and question id, are taken over; `on_row` is given every other
    one, in order, and before it `on_found` what the question was given. Of `concurrency` above 1 so
    many questions are asked at once, each in a thread. Raises InputError without questions, for
    settings that are none or share a label, and for a scoring that makes no sense; BudgetSpent ends
    the evaluation.
    """
    scoring = scoring or Scoring()
    _check(dataset, settings, scoring)
    if concurrency < 1:
        raise InputError(f"concurrency must be at least 1, not {concurrency}")
    scoring = replace(scoring, ks=tuple(sorted(scoring.ks)))
    functions = _Functions(search, answer, judge, scoring)
    rows_before = recorded or {}
    pairs = [(question, setting) for question in dataset.questions for setting in settings]

    def measure_one(each: tuple[DatasetQuestion, Setting]) -> tuple[Row, Found | None]:
        question, setting = each
        row = rows_before.get((setting.label, question.id))
        if row is not None:
            return row, None
        with evaluating() as exchanges:
            row, found = _row(question, setting, functions)
        row = replace(row, recorded_tokens=_count_recorded(exchanges))
        return row, replace(found, exchanges=tuple(exchanges))

    rows: list[Row] = []
    for row, found in _map_at_once(measure_one, pairs, concurrency):
        if found is not None:
            if on_found is not None:
                on_found(row, found)
            if on_row is not None:
                on_row(row)
        rows.append(row)
        if on_progress is not None:
            on_progress(len(rows), len(pairs))
    return Report(
        dataset=dataset.about, settings=tuple(settings), scoring=functions.scoring, rows=tuple(rows)
    )


def _count_recorded(exchanges: Sequence[ModelExchange]) -> int:
    """Return the tokens of prompts and replies that a ledger had, without those of a judge."""
    texts = (
        text
        for each in exchanges
        if each.reply.recorded and not each.prompt.name.startswith("judge_")
        for text in (each.prompt.system, each.prompt.user, each.reply.text)
    )
    return sum(map(tokens.count, texts))


def _map_at_once(function: Callable[[A], T], values: Sequence[A], at_once: int) -> Iterator[T]:
    """Map a function in parallel, in order; an error cancels the remaining calls."""
    if at_once == 1:
        yield from map(function, values)
        return
    with ThreadPoolExecutor(at_once) as pool:
        try:
            yield from pool.map(function, values)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def measurable(
    dataset: Dataset, scoring: Scoring, *, answers: bool, judged: Sequence[str] = ()
) -> frozenset[str]:
    """Return the metrics that apply to some question, including those of `answers`.

    `judged` are those that a judge of these answers gives.
    """
    return frozenset(
        metric
        for question in dataset.questions
        for metric in (
            *score_retrieval(question, (), _EMPTY_CONTEXT, scoring.ks),
            *(score_answer(question, "") if answers else ()),
            *(score_quotes(question, ()) if answers else ()),
            *(m for m in judged if answers and (question.answers or m == "faithfulness")),
        )
    )


def score_retrieval(
    question: DatasetQuestion, ranked: Sequence[str], context: Context | None, ks: Sequence[int]
) -> dict[str, float]:
    """Score ranked documents against gold documents, and the context against gold evidence.

    Without a context nothing is said of coverage.
    """
    scores: dict[str, float] = {}
    if question.supporting_ids:
        scores |= metrics.ranking(ranked, question.supporting_ids, ks)
    if context is None:
        return scores
    if question.answers:
        covered = metrics.contains(context.text, question.answers)
        scores["coverage"] = covered
        if not metrics.is_yes_no(question.answers):
            scores["coverage without yes/no"] = covered
    if question.evidence:
        scores["evidence"] = evidence_coverage(question.evidence, passages_of(context))
    return scores


def score_answer(question: DatasetQuestion, text: str) -> dict[str, float]:
    """Score an answer against the gold answers, if there are any."""
    return metrics.answer_scores(text, question.answers) if question.answers else {}


def score_quotes(question: DatasetQuestion, citations: Sequence[Citation]) -> dict[str, float]:
    """Score quotes against gold answers that can occur in a text, so not yes or no."""
    if not question.answers or metrics.is_yes_no(question.answers):
        return {}
    cited = " ".join(citation.quote for citation in citations)
    return {"quoted": metrics.contains(cited, question.answers)}


class _Functions(NamedTuple):
    search: Search
    answer: Respond | None
    judge: Judge | None
    scoring: Scoring


def _check(dataset: Dataset, settings: Sequence[Setting], scoring: Scoring) -> None:
    if not dataset.questions:
        raise InputError(f"the dataset {dataset.name!r} has no questions")
    labels = [setting.label for setting in settings]
    if not labels or len(set(labels)) < len(labels):
        raise InputError(f"settings must be a list with distinct labels, but are {labels}")
    ks = scoring.ks
    if not ks or min(ks) < 1 or len(set(ks)) < len(ks):
        raise InputError(f"ks must be different numbers of at least 1, but are {ks}")
    for name in ("context_tokens", "answer_tokens"):
        value = getattr(scoring, name)
        if value < 1:
            raise InputError(f"{name} must be at least 1, but is {value}")


def _row(question: DatasetQuestion, setting: Setting, functions: _Functions) -> tuple[Row, Found]:
    """Ask one question with one setting; a failure is noted and scored as an empty result."""
    scoring = functions.scoring
    evidence, error = _try_to_ask(lambda: functions.search(question.text, setting))
    response, answer_error = None, ""
    if functions.answer is not None and evidence is not None:
        respond = functions.answer
        response, answer_error = _try_to_ask(lambda: respond(question.text, setting))
    ranked = metrics.distinct(hit.document_id for hit in evidence.hits) if evidence else ()
    context = build_context(evidence, budget_tokens=scoring.context_tokens) if evidence else None
    text = response.text if response else ""
    shown = (evidence, response.evidence if response else None)
    notes = metrics.distinct(note for each in shown if each for note in each.notes)
    scores = score_retrieval(question, ranked, context or _EMPTY_CONTEXT, scoring.ks)
    if functions.answer is not None:
        scores |= score_answer(question, text)
        scores |= score_quotes(question, response.citations if response else ())
    verdict, judge_error = None, ""
    if functions.judge is not None and functions.answer is not None:
        judge, judged = functions.judge, response or _no_answer(question)
        verdict, judge_error = _try_to_ask(lambda: judge(question, judged))
    row = Row(
        question_id=question.id,
        question_digest=question.digest,
        label=setting.label,
        type=question.type,
        hops=question.hops,
        document_ids=ranked,
        scores=scores | (dict(verdict.scores) if verdict else {}),
        usage=evidence.usage if evidence else None,
        context_tokens=context.n_tokens if context else None,
        error=error,
        notes=notes,
        answer=text,
        answer_usage=response.usage if response else None,
        answer_error=answer_error,
        judge_usage=verdict.usage if verdict else None,
        judge_error=judge_error,
        unparsable=verdict.unparsable if verdict else (),
    )
    return row, Found(question, evidence, context, response)


def _no_answer(question: DatasetQuestion) -> Answer:
    return Answer(
        question=question.text,
        text="",
        kind="none",
        citations=(),
        context=_EMPTY_CONTEXT,
        evidence=Evidence(query=question.text, method=""),
    )


def _try_to_ask(ask: Callable[[], T]) -> tuple[T | None, str]:
    """Return the result of `ask` or its error; an exhausted budget ends the run."""
    try:
        return ask(), ""
    except BudgetSpent:
        raise
    except ClewError as reason:
        return None, f"{type(reason).__name__}: {reason}"
