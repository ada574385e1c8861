"""Measure classification as AGRAG does (arXiv:2511.05549): texts get labels of similar texts.

The labels of what a method finds for a text are candidates, and an LLM takes one of them. Without
an LLM, and where it names no label, the first candidate is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

from clew.algo.pool import take_fitting
from clew.answers.context import build_context, format_context
from clew.base.types import Answer, Document, Evidence
from clew.extras.evaluate.datasets import DatasetQuestion
from clew.extras.evaluate.formats.labelled import label_of
from clew.models import Models, Prompt
from clew.models.bound import bind_models
from clew.models.prompts import fill_prompt
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.models.run import start_question_run
from clew.steps import reply_to
from clew.text import tokens
from clew.text.normalize import collapse, label_key

if TYPE_CHECKING:
    from clew.extras.evaluate.summary import Row
    from clew.models.budget import Budget

OUTSIDE = "the LLM named no label: the first candidate is taken"  # a note
_CANDIDATES = 5
_MAX_REPLY_TOKENS = 256
_EXAMPLE_TOKENS = 60  # of the text that shows what a label means
_ALONE = "zero_shot"  # the method with which an LLM reads the names of all labels, and no text


def choose_label(
    evidence: Evidence,
    texts: Sequence[Document],
    models: Models,
    context_tokens: int,
    budget: Budget | None = None,
) -> Answer:
    """Answer with the label of the text that evidence was found for.

    It is "" if nothing with a label was found and there is no LLM.
    """
    run = start_question_run(budget)
    llm = bind_models(models, run).llm
    of_text = {each.id: label_of(each) for each in texts}
    found: dict[str, str] = {}  # the first text of each label
    for hit in evidence.hits:
        if hit.document_id in of_text:
            found.setdefault(of_text[hit.document_id], hit.text)
    candidates = list(found)[:_CANDIDATES]
    label, notes = next(iter(candidates), ""), evidence.notes
    if llm is not None:
        examples = {of_text[each.id]: each.text for each in reversed(texts)}
        some = {name: found.get(name, examples[name]) for name in candidates or sorted(examples)}
        with run.meter.stage("answer"):
            reply = reply_to(llm, _build_prompt(some, evidence, context_tokens), part="answer")
        named = find_label(reply.text, {label_key(name): name for name in examples})
        label, notes = named or next(iter(some)), (*notes, *([] if named else [OUTSIDE]))
    return Answer(
        question=evidence.query,
        text=label,
        kind="none" if llm is None else "generated",
        citations=(),
        context=build_context(replace(evidence, hits=()), budget_tokens=1),
        evidence=replace(evidence, notes=notes),
        usage=run.meter.usage,
    )


def count_right(
    questions: Sequence[DatasetQuestion], rows: Sequence[Row], *, by_llm: bool
) -> dict[str, float]:
    """Return accuracy, macro recall and, if an LLM answered, the share of replies "out of set".

    Accuracy is the share of texts with the right label, and macro recall its mean over the right
    labels.
    """
    given = {row.question_id: label_key(row.answer) for row in rows}
    rights: dict[str, list[bool]] = {}
    for text in (question for question in questions if question.answers):
        right = label_key(text.answers[0])
        rights.setdefault(right, []).append(given[text.id] == right)
    outside = {"out of set": fmean(OUTSIDE in row.notes for row in rows)} if by_llm else {}
    return {
        "accuracy": fmean(chain.from_iterable(rights.values())),
        "macro recall": fmean(map(fmean, rights.values())),
        **outside,
    }


def find_label(reply: str, names: Mapping[str, str]) -> str:
    """Return the label named in a reply, or "".

    A reply may have it alone on its last line, or behind a colon there.
    """
    line = reply.strip().rpartition("\n")[2]
    tried = map(label_key, (reply, line, line.rpartition(":")[2]))
    return next((names[key] for key in tried if key in names), "")


def _build_prompt(examples: Mapping[str, str], evidence: Evidence, budget_tokens: int) -> Prompt:
    """Return the prompt with a text of each label; the text to classify takes half at most.

    The labels take what it leaves, or half of that where there are tables.
    """
    cut = tokens.truncate(evidence.query, budget_tokens // 2)
    left = budget_tokens - tokens.count(cut)
    room = left // 2 if evidence.tables else left
    size = 0 if evidence.method == _ALONE else min(room // (2 * len(examples)), _EXAMPLE_TOKENS)
    lines = [
        f"{name}: {tokens.truncate(collapse(example), size)}" if size else name
        for name, example in examples.items()
    ]
    fit = take_fitting(lines, lambda line: tokens.count(f"- {line}\n"), room)
    left -= sum(tokens.count(f"- {line}\n") for line in fit)
    context = build_context(replace(evidence, hits=()), budget_tokens=max(left, 1))
    return fill_prompt(
        "classify",
        candidates=quote_lines([Excerpt("- ", line) for line in fit]),
        facts=format_context(context, context.text.strip() or "(none)"),
        text=cut.strip(),
        max_tokens=_MAX_REPLY_TOKENS,
    )
