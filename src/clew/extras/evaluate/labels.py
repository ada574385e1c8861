"""Measure classification as AGRAG does (arXiv:2511.05549): texts get labels of similar texts.

The labels of what a method finds for a text are candidates, and an LLM takes one of them. Without
an LLM, and where it names no label, the first candidate is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from clew.algo.pool import take_fitting
from clew.answers import pipeline
from clew.answers.context import build_context, format_context
from clew.answers.question import Question
from clew.base.types import Document, Evidence
from clew.errors import BudgetSpent
from clew.extras.evaluate.datasets import Dataset, DatasetQuestion, choose_questions
from clew.extras.evaluate.formats.labelled import read_labelled
from clew.models import LLM, Prompt
from clew.models.prompts import fill_prompt
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.models.run import evaluating
from clew.steps import reply_to
from clew.text import tokens
from clew.text.normalize import collapse, label_key

if TYPE_CHECKING:
    from clew.api import Index
    from clew.extras.evaluate.settings import Setting
    from clew.models.budget import Budget

FORMAT = "labels"  # of such a data set
_CANDIDATES = 5
_MAX_REPLY_TOKENS = 256
_EXAMPLE_TOKENS = 60  # of the text that shows what a label means
_ALONE = "zero_shot"  # the method with which an LLM reads the names of all labels, and no text


def load_labelled(
    path: Path, limit: int | None = None, sample: int | None = None
) -> Dataset | None:
    """Return a data set whose questions are texts and their answers labels; None for another.

    Its corpus are the texts of `train`, its questions those of `test`. Labels with equal keys are
    one, as the first text spells it. Raises InputError for a line that is not as the layout has it,
    and a limit or a sample of nothing.
    """
    train, test = (read_labelled(path, split) for split in ("train", "test"))
    if not (train and test):
        return None
    names: dict[str, str] = {}  # by their keys
    for each in train:
        names.setdefault(label_key(_label(each)), _label(each))
    questions = [
        DatasetQuestion(
            id=each.id, text=each.text, answers=(_label(each),), type=FORMAT, supporting_ids=()
        )
        for each in test
    ]
    return Dataset(
        name=path.resolve().stem,
        corpus=tuple(
            replace(each, metadata={"label": names[label_key(_label(each))]}) for each in train
        ),
        questions=tuple(choose_questions(questions, path, None, limit, sample, 0)),
        document_ids=frozenset(each.id for each in train),
        format=FORMAT,
    )


def measure_labels(
    index: Index,
    dataset: Dataset,
    setting: Setting,
    context_tokens: int,
    budget: Budget | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    llm: LLM | None = None,
) -> dict[str, float]:
    """Return accuracy, macro recall and the share of replies of an LLM that are "out of set".

    Accuracy is the share of texts with the right label, and macro recall its mean over the right
    labels. An `llm` takes a label in place of the index's. Raises BudgetSpent and EndpointError.
    """
    assert isinstance(dataset.corpus, tuple)  # noqa: S101 -- as `load_labelled` makes it
    rights: dict[str, list[bool]] = {}
    n_outside = 0
    for i, text in enumerate(dataset.questions, 1):
        question = Question(
            text=pipeline.shorten_question(text.text),
            method=setting.method,
            parameters=setting.parameters,
            context_tokens=context_tokens,
            budget=budget,
        )
        with evaluating():  # in which a model that fails is an error
            found, is_outside = choose_label(question, index, dataset.corpus, llm)
        n_outside += is_outside
        if budget is not None and budget.refused:
            raise BudgetSpent(budget.refused)
        right = label_key(text.answers[0])
        rights.setdefault(right, []).append(label_key(found) == right)
        if on_progress is not None:
            on_progress(i, len(dataset.questions))
    every = [is_right for each in rights.values() for is_right in each]
    return {
        "accuracy": fmean(every),
        "macro recall": fmean(map(fmean, rights.values())),
        **({"out of set": n_outside / len(every)} if llm or index.models.llm else {}),
    }


def choose_label(
    question: Question, index: Index, texts: Sequence[Document], llm: LLM | None = None
) -> tuple[str, bool]:
    """Return the label of a text, and whether an LLM named none and the first candidate is taken.

    It is "" if nothing with a label was found and there is no LLM.
    """
    of_text = {each.id: _label(each) for each in texts}
    retrieved = pipeline.retrieve_evidence(question, index)
    evidence = retrieved.evidence
    found: dict[str, str] = {}  # the first text of each label
    for hit in evidence.hits:
        if hit.document_id in of_text:
            found.setdefault(of_text[hit.document_id], hit.text)
    candidates = list(found)[:_CANDIDATES]
    llm = llm or retrieved.models.llm
    if llm is None:
        return next(iter(candidates), ""), False
    examples = {of_text[each.id]: each.text for each in reversed(texts)}
    some = {name: found.get(name, examples[name]) for name in candidates or sorted(examples)}
    request = _build_prompt(question.text, some, evidence, retrieved.context_tokens)
    reply = reply_to(llm, request, part="answer")
    names = {label_key(name): name for name in examples}
    named = find_label(reply.text, names)
    return named or next(iter(some)), not named


def find_label(reply: str, names: Mapping[str, str]) -> str:
    """Return the label named in a reply, or "".

    A reply may have it alone on its last line, or behind a colon there.
    """
    line = reply.strip().rpartition("\n")[2]
    tried = map(label_key, (reply, line, line.rpartition(":")[2]))
    return next((names[key] for key in tried if key in names), "")


def _build_prompt(
    text: str, examples: Mapping[str, str], evidence: Evidence, budget_tokens: int
) -> Prompt:
    """Return the prompt with a text of each label; the text to classify takes half at most.

    The labels take what it leaves, or half of that where there are tables.
    """
    cut = tokens.truncate(text, budget_tokens // 2)
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


def _label(text: Document) -> str:
    return collapse(str(text.metadata["label"]))
