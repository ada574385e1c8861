"""An LLM as judge of answers: five metrics from the prompts `judge_*`.

docs/guides/evaluate.md says what each is. `graded` is AGRAG's ACC as its paper has it
(arXiv:2511.05549). Correctness, answer coverage and faithfulness are those of GraphRAG-Bench (Xiang
et al. 2025, arXiv:2506.05690) as its code has them, where they are called accuracy, coverage and
faithfulness. Correctness is 3/4 of the F1 of the answer's statements with the right answer's, and
1/4 of their texts' cosine, brought to [0, 1]. The LLM says yes or no to the number of each
statement. The schema of its reply fixes these numbers, so it can pass over none, reword none and
add none. Scores depend on the LLM: those of two are never to be compared.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from clew.answers.context import format_context
from clew.base.types import Answer
from clew.errors import InputError
from clew.extras.evaluate.datasets import DatasetQuestion
from clew.extras.evaluate.summary import Verdict
from clew.models import LLM, Embedder, Prompt, Reply
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts, reply_schema
from clew.models.prompts.quoted import Excerpt, QuotedBlock, quote_lines
from clew.models.recorded_llm import recorded
from clew.models.run import ModelRun, default_run
from clew.text.normalize import collapse

METRICS = ("judge", "graded", "correctness", "answer coverage", "faithfulness")
MAX_CHARACTERS = 3_000  # of an answer, given or right, that are read
MAX_CONTEXT_CHARACTERS = 10_000

_STATEMENTS_SHARE = 0.75  # of correctness; the rest is the cosine's
_STATEMENTS_TOKENS = 1_536
_BASE_TOKENS = 32  # of a verdict, or of a reply without its statements
_STATEMENT_TOKENS = 16  # tokens more for each statement

_YES_NO = {"type": "string", "enum": ["yes", "no"]}
_VERDICT = closed_schema({"verdict": {"type": "string", "enum": ["correct", "incorrect"]}})
_GRADES = {"full": 1.0, "partial": 0.5, "none": 0.0}
_GRADE_SCHEMA = closed_schema({"grade": {"type": "string", "enum": [*_GRADES]}})
_STATEMENTS = closed_schema({"statements": {"type": "array", "items": {"type": "string"}}})


_VERDICTS = {"judge": ("judge_verdict", _VERDICT), "graded": ("judge_grade", _GRADE_SCHEMA)}


@dataclass(frozen=True, slots=True)
class LLMJudge:
    """A `Judge` that asks an LLM, in at most two rounds per answer.

    An answer without text scores 0 and is not shown to the LLM. Metrics that compare with a right
    answer do not apply where none is known; those that need a single one take the first. Raises
    InputError for metrics that are none, and as the LLM does: BudgetSpent, EndpointError.
    """

    llm: LLM
    embedder: Embedder  # of the cosine in correctness
    metrics: tuple[str, ...] = ("judge",)  # some of METRICS

    def __post_init__(self) -> None:
        if not self.metrics or not set(self.metrics).issubset(METRICS):
            names, given = ", ".join(METRICS), ", ".join(self.metrics)
            raise InputError(
                f"a judge's metrics must be some of {names}, but are {given or 'none'}"
            )

    def __call__(self, question: DatasetQuestion, answer: Answer) -> Verdict:
        case = _Case(
            question=collapse(question.text),
            right=tuple(_read(text) for text in question.answers),
            given=_read(answer.text),
            context=format_context(
                answer.context, answer.context.text.strip()[:MAX_CONTEXT_CHARACTERS]
            ),
        )
        wanted = [m for m in METRICS if m in self.metrics and (case.right or m == "faithfulness")]
        if not case.given:
            return Verdict(scores=dict.fromkeys(wanted, 0.0))
        run = default_run()
        first = self._ask(_first_round(case, wanted), run)
        stated = _AnswerStatements(_statements(first.get("given")), _statements(first.get("right")))
        replies = {**first, **self._ask(_second_round(case, stated, wanted), run)}
        marks = {metric: _mark(metric, case, stated, replies) for metric in wanted}
        if "correctness" in marks:
            mark, share = marks["correctness"], _STATEMENTS_SHARE
            with run.meter.stage("embed"):
                given, right = self.embedder.embed([case.given, case.right[0]], kind="query")
            nearness = min(max((float(given @ right) + 1) / 2, 0.0), 1.0)
            whole = share * (mark.score or 0.0) + (1 - share) * nearness
            marks["correctness"] = _Mark(whole, mark.is_unparsable)
        return Verdict(
            scores={m: mark.score for m, mark in marks.items() if mark.score is not None},
            unparsable=tuple(m for m, mark in marks.items() if mark.is_unparsable),
            usage=run.meter.usage,
        )

    def _ask(self, requests: Mapping[str, Prompt], run: ModelRun) -> dict[str, Reply]:
        if not requests:
            return {}
        replies = replace(recorded(self.llm), run=run).complete(list(requests.values()))
        return dict(zip(requests, replies, strict=True))


class _Case(NamedTuple):
    """A case to judge, as the LLM sees it."""

    question: str
    right: tuple[str, ...]
    given: str
    context: QuotedBlock


class _AnswerStatements(NamedTuple):
    """The statements of the answer and of the gold answer; None if unreadable."""

    given: list[str] | None
    right: list[str] | None


class _Mark(NamedTuple):
    score: float | None  # None: it does not count
    is_unparsable: bool = False


def _read(text: str) -> str:
    return collapse(text)[:MAX_CHARACTERS].rstrip()


# -- what is asked --------------------------------------------------------------------------------


def _first_round(case: _Case, wanted: Collection[str]) -> dict[str, Prompt]:
    """Return the requests for a verdict and for statements, as needed."""
    prompts: dict[str, Prompt] = {}
    for metric, (name, schema) in _VERDICTS.items():
        if metric not in wanted:
            continue
        prompts[metric] = fill_prompt(
            name,
            schema=schema,
            max_tokens=_BASE_TOKENS,
            question=case.question,
            right=quote_lines([Excerpt("- ", text) for text in case.right], none=""),
            answer=case.given,
        )
    if "correctness" in wanted or ("faithfulness" in wanted and case.context.plain):
        prompts["given"] = _statements_prompt(case.question, case.given)
    if "correctness" in wanted or "answer coverage" in wanted:
        prompts["right"] = _statements_prompt(case.question, case.right[0])
    return prompts


def _statements_prompt(question: str, answer: str) -> Prompt:
    return fill_prompt(
        "judge_statements",
        schema=_STATEMENTS,
        max_tokens=_STATEMENTS_TOKENS,
        question=question,
        answer=answer,
    )


def _second_round(
    case: _Case, stated: _AnswerStatements, wanted: Collection[str]
) -> dict[str, Prompt]:
    """Return the requests that compare statements, if there are any to compare."""
    prompts: dict[str, Prompt] = {}
    if "correctness" in wanted and stated.given and stated.right:
        given, right = len(stated.given), len(stated.right)
        both = {"answer": reply_schema(given, _YES_NO), "right": reply_schema(right, _YES_NO)}
        prompts["correctness"] = fill_prompt(
            "judge_correctness",
            schema=closed_schema(both),
            max_tokens=_reply_tokens(given + right),
            question=case.question,
            given=_list_statements(stated.given),
            right=_list_statements(stated.right),
        )
    if "answer coverage" in wanted and stated.right:
        prompts["answer coverage"] = fill_prompt(
            "judge_coverage",
            schema=reply_schema(len(stated.right), _YES_NO),
            max_tokens=_reply_tokens(len(stated.right)),
            question=case.question,
            facts=_list_statements(stated.right),
            answer=case.given,
        )
    if "faithfulness" in wanted and stated.given and case.context.plain:
        prompts["faithfulness"] = fill_prompt(
            "judge_faithfulness",
            schema=reply_schema(len(stated.given), _YES_NO),
            max_tokens=_reply_tokens(len(stated.given)),
            statements=_list_statements(stated.given),
            context=case.context,
        )
    return prompts


def _reply_tokens(n_statements: int) -> int:
    return _BASE_TOKENS + _STATEMENT_TOKENS * n_statements


def _list_statements(statements: Sequence[str]) -> QuotedBlock:
    return quote_lines(number_texts(statements))


# -- what the replies come to ---------------------------------------------------------------------


def _statements(reply: Reply | None) -> list[str] | None:
    """Return the distinct statements of a reply; None if it cannot be parsed."""
    if reply is None or reply.error:
        return None
    return list(dict.fromkeys(filter(None, map(collapse, reply.data["statements"]))))


def _mark(
    metric: str, case: _Case, stated: _AnswerStatements, replies: Mapping[str, Reply]
) -> _Mark:
    reply = replies.get(metric)
    if metric == "judge":
        is_read = not replies["judge"].error
        is_right = is_read and replies["judge"].data["verdict"] == "correct"
        return _Mark(float(is_right), is_unparsable=not is_read)
    if metric == "graded":
        is_read = not replies["graded"].error
        grade = _GRADES[replies["graded"].data["grade"]] if is_read else 0.0
        return _Mark(grade, is_unparsable=not is_read)
    if metric == "correctness":
        return _overlap(stated, reply)
    if metric == "answer coverage":
        return _share(reply)
    return _share(reply) if case.context.plain else _Mark(0.0)


def _overlap(stated: _AnswerStatements, reply: Reply | None) -> _Mark:
    """Return the F1 of two lists of statements: 1 if both are empty, 0 if unknown."""
    if stated.given is None or stated.right is None or (reply is not None and reply.error):
        return _Mark(0.0, is_unparsable=True)
    if reply is None:
        return _Mark(float(not stated.given and not stated.right))
    n_right, n_said = _count_yes(reply.data["answer"]), _count_yes(reply.data["right"])
    n_missing = len(stated.right) - n_said
    return _Mark(2 * n_right / (n_right + len(stated.given) + n_missing))


def _share(reply: Reply | None) -> _Mark:
    """Return the share of statements judged yes; nothing if unknown."""
    if reply is None or reply.error:
        return _Mark(None, is_unparsable=True)
    return _Mark(_count_yes(reply.data) / len(reply.data))


def _count_yes(data: Mapping[str, str]) -> int:
    return sum(verdict == "yes" for verdict in data.values())
