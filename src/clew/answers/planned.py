"""Estimate the cost of a question with an LLM by counting its prompts, without calling it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clew.answers import pipeline
from clew.answers.claims import VERDICT_TOKENS
from clew.base.types import QuestionPlan
from clew.errors import BudgetSpent, InputError
from clew.models.budget import Budget
from clew.models.prices import cost_usd
from clew.models.recorded_llm import RecordedLLM, recorded
from clew.text import tokens

if TYPE_CHECKING:
    from clew.answers.askable import Askable
    from clew.answers.question import Question
    from clew.models import Prompt, Reply

_AROUND = 8  # tokens of a prompt beside its words


@dataclass(frozen=True)
class _UnpaidLLM(RecordedLLM):
    """A stand-in LLM that replies from the ledger only, and records the other prompts."""

    budget: Budget | None = field(default_factory=lambda: Budget(tokens=0))
    missing: dict[tuple[str, str], Prompt] = field(default_factory=dict)

    def complete(self, prompts: Sequence[Prompt], **listeners: Any) -> list[Reply]:  # noqa: ANN401
        try:
            return super().complete(prompts, **listeners)
        except BudgetSpent:
            if len(prompts) == 1:
                self.missing.setdefault((prompts[0].system, prompts[0].user), prompts[0])
            raise


def plan_question(question: Question, source: Askable) -> QuestionPlan:
    """Return the estimated cost of a question, as far as its prompts can be known in advance.

    What one reply would add to later prompts is counted as if it had its most tokens. Raises
    InputError without an LLM.
    """
    models = source.models
    if models.llm is None:
        raise InputError("without an LLM a question costs nothing: name one with --llm")
    llm = recorded(models.llm)
    unpaid = _UnpaidLLM(
        llm.chat, ledger=llm.ledger, prices=llm.prices, repairs=llm.repairs, wording=llm.wording
    )
    question = replace(question, budget=None)
    answer = pipeline.answer_question(
        question, source, pipeline.NO_LISTENERS, replace(models, llm=unpaid)
    )
    missing = list(unpaid.missing.values())
    if (
        question.verify == "llm" and missing and missing[-1].part == "answer"
    ):  # of much the same text
        missing.append(replace(missing[-1], max_tokens=VERDICT_TOKENS))
    completion = sum(prompt.max_tokens for prompt in missing)
    later = sum(prompt.max_tokens for prompt in missing[:-1])
    prompts = sum(_count_tokens(llm, prompt) for prompt in missing) + later
    return QuestionPlan(
        question=question.text,
        method=answer.evidence.method,
        model=llm.name,
        calls=len(missing),
        n_known=answer.usage.recorded_calls,
        prompt_tokens=prompts,
        completion_tokens=completion,
        cost_usd=cost_usd(llm.price, prompts, completion),
    )


def _count_tokens(llm: RecordedLLM, prompt: Prompt) -> int:
    counted = llm.chat.count_tokens(prompt)
    if counted is not None:
        return counted
    return sum(tokens.count(part) + _AROUND for part in filter(None, (prompt.system, prompt.user)))
