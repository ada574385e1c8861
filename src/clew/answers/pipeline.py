"""The stages from a question to its answer, in the order in which they run.

    understand   the question as one that stands by itself          answers.follow_up
    retrieve     the chunks that a method finds in a snapshot       methods
    judge        how probably they answer the question              answers.support
    context      as many of them as fit into so many tokens         answers.context
    answer       in an LLM's words, or in quotes                    answers.answer, answers.quotes
    cite         where in the documents each citation stands        answers.citations

An index and shards differ in the snapshot that they give for a question: see `Askable`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from clew import steps
from clew.answers import support
from clew.answers.method import (
    CONTEXT_TOKENS,
    MAX_ANSWER_TOKENS,
    build_method,
    choose_context_tokens,
    widen,
)
from clew.answers.question import MOST_CHARACTERS, MOST_TOKENS
from clew.errors import InputError
from clew.filters import to_filter
from clew.models.bound import bind_models
from clew.models.run import ModelRun, start_question_run
from clew.text import tokens
from clew.text.counting import may_count
from clew.text.questions import is_remark

if TYPE_CHECKING:
    from clew.answers.answer import OnCitation
    from clew.answers.askable import Askable
    from clew.answers.question import Question
    from clew.base.types import Answer, Evidence
    from clew.index.snapshot import Snapshot
    from clew.methods import Method
    from clew.models import Models
    from clew.models.run import Meter
    from clew.text.pieces import OnPiece

_log = logging.getLogger(__name__)


class Listeners(NamedTuple):
    """Callbacks for partial results of an answer, called in the thread that asks."""

    on_evidence: Callable[[Evidence], None] | None = None
    on_text: OnPiece | None = None
    on_citation: OnCitation | None = None


NO_LISTENERS = Listeners()


class Retrieved(NamedTuple):
    """The evidence for a question, with the snapshot and models used."""

    evidence: Evidence
    snapshot: Snapshot
    models: Models  # bound to the run
    run: ModelRun
    context_tokens: int  # of an answer
    n_quotable: int | None = None  # hits of these that are quoted; more fill an LLM's context


def retrieve_evidence(
    question: Question,
    source: Askable,
    *,
    models: Models | None = None,
    whole: ModelRun | None = None,
    for_answer: bool = False,
) -> Retrieved:
    """Resolve a question, retrieve evidence for it, and rate its support.

    A method that fills a context by itself fills that of the answer, where there is to be one.
    So does any other but a paper's, if an LLM is to write it and nobody says how many chunks.
    `models` take the place of the source's, and `whole` is the run of a question of which this is
    a part.
    Raises InputError for a question that is too long.
    """
    check_length(question.text)
    run = start_question_run(question.budget, whole=whole)
    meter = run.meter
    where = to_filter(question.where)
    with meter.stage(source.opening):
        name = source.choose_method(question.text) if question.method is None else question.method
    context_tokens = question.context_tokens or choose_context_tokens(name, question.parameters)
    filled = context_tokens if for_answer else question.context_tokens
    method = build_method(name, question.parameters, filled)
    with meter.stage(source.opening):
        models = bind_models(models or source.models, run)
        snapshot = source.snapshot_for(question, method, models)
    text, notes = question.text, tuple[str, ...]()
    if question.history:
        from clew.answers.follow_up import resolve_question

        with meter.stage("search"):
            text, notes = resolve_question(text, question.history, snapshot, models)
        alone = replace(question, text=text, history=())
        with meter.stage(source.opening):
            snapshot = source.snapshot_for(alone, method, models)
    evidence = None
    if question.method is None and may_count(text):
        from clew.methods.counts import find_counted

        with meter.stage("search"):
            evidence = find_counted(text, snapshot)
    n_quotable = None
    if evidence is None:
        if for_answer and models.llm is not None and models.writes:
            method, n_quotable = widen(name, question.parameters, method, snapshot, context_tokens)
        evidence = run_method(text, method, snapshot, models, meter)
        n_quotable = None if evidence.whole else n_quotable
    evidence = source.note_missing(evidence, snapshot)
    evidence = replace(
        evidence,
        where="" if where is None else str(where),
        notes=(*notes, *evidence.notes),
        usage=meter.usage,
    )
    _log.info(
        "%s found %d chunks in %.3f s",
        evidence.method,
        len(evidence.hits),
        evidence.usage.total_seconds,
    )
    return Retrieved(evidence, snapshot, models, run, context_tokens, n_quotable)


def check_length(text: str) -> None:
    """Raise InputError for a question of too many tokens or characters."""
    if shorten_question(text) != text:
        raise InputError(
            f"a question has at most {MOST_TOKENS:,} tokens and {MOST_CHARACTERS:,} characters:"
            f" shorten this one, of {len(text):,} characters"
        )


def shorten_question(text: str) -> str:
    """Return the beginning of a text, short enough for a question."""
    if len(text.encode()) <= MOST_TOKENS:  # as a token has a byte at least: counting loads much
        return text
    return tokens.truncate(text[:MOST_CHARACTERS], MOST_TOKENS)


def run_method(
    text: str, method: Method, snapshot: Snapshot, models: Models, meter: Meter
) -> Evidence:
    """Return the evidence a method finds, with its support. Raises MissingLayer, InputError."""
    for layer in sorted(method.layers):
        if not len(snapshot.layer(layer)) and layer == "chunk":
            raise InputError("this index is empty: add documents first")
    with meter.stage("search"):
        evidence = method.retrieve(text, snapshot, models)
        if method.layers and not (evidence.whole or evidence.counted):  # else nothing is retrieved
            evidence = steps.apparatus_behind(snapshot, evidence)
            evidence = support.judge_evidence(evidence, snapshot, models)
    return evidence


def answer_question(
    question: Question, source: Askable, listeners: Listeners, models: Models | None = None
) -> Answer:
    """Retrieve evidence for a question and answer from it, with `models` or the source's own.

    A text that asks nothing, such as thanks, is not searched for.
    """
    if is_remark(question.text):
        from clew.answers.answer import build_remark_answer

        _ = source.generation  # without an index it fails as for any question
        remark = build_remark_answer(question.text)
        if listeners.on_evidence is not None:
            listeners.on_evidence(remark.evidence)
        return remark
    retrieved = retrieve_evidence(question, source, models=models, for_answer=True)
    if listeners.on_evidence is not None:
        listeners.on_evidence(retrieved.evidence)
    answer = answer_from(
        retrieved.evidence,
        retrieved.snapshot,
        retrieved.models,
        replace(question, context_tokens=retrieved.context_tokens),
        listeners,
        whole=retrieved.run,
        n_quotable=retrieved.n_quotable,
    )
    return replace(answer, question=question.text, usage=retrieved.evidence.usage + answer.usage)


def answer_from(
    evidence: Evidence,
    snapshot: Snapshot | None,
    models: Models,
    question: Question,
    listeners: Listeners,
    answer_tokens: int = MAX_ANSWER_TOKENS,
    *,
    whole: ModelRun | None = None,
    n_quotable: int | None = None,
) -> Answer:
    """Fit evidence into a context, answer from it, and locate each citation in its document.

    The evidence's query is answered, with the options of the `question`.

    Without a `snapshot`, for evidence of several indexes, citations keep the places of their
    passages. The usage is the answer's own. `whole` is the run of a question of which this is a
    part. With `n_quotable` the first hits alone are quoted, and an LLM's context begins with those
    that would be: the answer most probably rests on these.
    """
    from clew.answers.answer import locate_citations, write_answer  # which a search does without
    from clew.answers.context import build_counted_context
    from clew.answers.quotes import put_quotable_first

    run = start_question_run(question.budget, whole=whole)
    meter = run.meter
    models = bind_models(models, run)
    with meter.stage("answer"):
        budget = question.context_tokens or CONTEXT_TOKENS
        first = replace(evidence, hits=evidence.hits[:n_quotable])
        read = context = build_counted_context(first, budget, snapshot)
        if n_quotable is not None:
            first = put_quotable_first(evidence, context.passages, models, snapshot)
            read = build_counted_context(first, budget, snapshot)
        answer = write_answer(
            evidence.query,
            read,
            evidence,
            models,
            quotable=context,
            snapshot=snapshot,
            max_tokens=answer_tokens,
            min_support=question.min_support,
            quotes=question.quotes,
            style=question.style,
            verify=question.verify,
            on_text=listeners.on_text,
            on_citation=listeners.on_citation,
        )
        if snapshot is not None:
            answer = locate_citations(answer, snapshot)
    return replace(answer, usage=meter.usage)
