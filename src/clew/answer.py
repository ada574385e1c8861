"""Context to an answer with citations: an LLM's words, or the best supporting sentences, quoted."""

from __future__ import annotations

import re
from dataclasses import replace

from clew.context import build_context
from clew.models import Models, Prompt
from clew.prompts import prompt
from clew.steps import bought, cover
from clew.text.sentences import sentence_spans
from clew.types import Answer, Citation, Context, DirectAnswer, Evidence, Passage

MAX_ANSWER_TOKENS = 512
QUOTED_PASSAGES = 5  # best passages from which sentences are quoted

_CITED = re.compile(r"\[(\d{1,3}(?:, ?\d{1,3})*)\]")  # [2], [2, 3]
_JOINTS = r"[\s,;]*(?:(?:and|or|&)\s*)?"  # "[2], [3] and [4]"
_CITATIONS = re.compile(rf"[\s,;]*{_CITED.pattern}(?:{_JOINTS}{_CITED.pattern})*")
_MARKER = re.compile(r"\bANSWER:", re.IGNORECASE)
WITHOUT_RETRIEVAL = frozenset({"zero_shot", "chain_of_thought"})


def answer(
    question: str,
    evidence: Evidence,
    models: Models,
    *,
    budget_tokens: int = 4_000,
    quotes: int = 4,
    max_tokens: int = MAX_ANSWER_TOKENS,
) -> Answer:
    """Answer `question` from `evidence`, which fills a context of at most `budget_tokens`.

    An answer that the evidence brings along is taken where the context holds its quote. Else, with
    an LLM, the answer is its own; without one, or when it gives none, the answer quotes the
    `quotes` sentences of the passages that support it best. `max_tokens` cap the LLM's reply: one
    that is cut off there is of no use.
    """
    context = build_context(evidence, budget_tokens=budget_tokens)
    given = evidence.answer
    if given is not None and (proof := _proof(given, context)):
        return _generated(question, given.text, (proof,), context, evidence)
    if evidence.hits and not context.passages:
        evidence = _noted(evidence, f"no passage fits a context of {budget_tokens} tokens")
    if models.llm is not None:
        reply = bought(models.llm, _prompt(question, context, evidence.method, max_tokens))
        text = after_marker(reply.text)
        if text and not reply.error:
            return _generated(question, text, _cited(reply.text, context), context, evidence)
        instead = ": quoted sentences instead" if context.passages else ""
        evidence = _noted(
            evidence, f"the LLM gave no answer ({reply.error or 'an empty reply'}){instead}"
        )
    citations = _supporting(question, context, models, quotes)
    if not citations and not evidence.notes:
        evidence = _noted(evidence, "nothing was found to quote")
    return Answer(
        question=question,
        text=" ".join(" ".join(c.quote.split()) for c in citations),
        kind="quoted" if citations else "none",
        citations=citations,
        context=context,
        evidence=evidence,
    )


def _generated(
    question: str,
    text: str,
    citations: tuple[Citation, ...],
    context: Context,
    evidence: Evidence,
) -> Answer:
    return Answer(
        question=question,
        text=text,
        kind="generated",
        citations=citations,
        context=context,
        evidence=evidence,
    )


def _proof(given: DirectAnswer, context: Context) -> Citation | None:
    """Return the range that proves an answer, None where no passage of the context has it."""
    for passage in context.passages:
        place = passage.text.find(given.quote) if passage.chunk_id == given.chunk_id else -1
        if place >= 0:
            start = passage.start + place
            return _citation(passage, start, start + len(given.quote))
    return None


def _noted(evidence: Evidence, note: str) -> Evidence:
    return replace(evidence, notes=(*evidence.notes, note))


def _prompt(question: str, context: Context, method: str, max_tokens: int) -> Prompt:
    """Return the one prompt that every retrieval method shares: the question after the context.

    Methods that retrieve nothing on purpose have prompts of their own.
    """
    if method in WITHOUT_RETRIEVAL:
        return prompt(method, question=question, max_tokens=max_tokens)
    found = context.text.strip() or "(no passage was found)"
    return prompt("short_answer", context=found, question=question, max_tokens=max_tokens)


def after_marker(reply: str) -> str:
    """Return what stands behind the last answer marker on its line, without citations.

    The whole reply where there is no marker. What joins citations to each other and to the words
    before them goes with them.
    """
    line = " ".join(_answer_line(reply).replace("**", "").split())
    return _CITATIONS.sub("", line).strip(" ,;")


def _answer_line(reply: str) -> str:
    *_, tail = _MARKER.split(reply)
    return tail if tail is reply else tail.strip().partition("\n")[0]


def _cited(reply: str, context: Context) -> tuple[Citation, ...]:
    """Return the passages whose numbers the answer line names, else those of the whole reply.

    Numbers of no passage are dropped.
    """
    by_number = {passage.number: passage for passage in context.passages}
    named = _CITED.findall(_answer_line(reply)) or _CITED.findall(reply)
    numbers = dict.fromkeys(int(n) for group in named for n in group.split(","))
    return tuple(
        _citation(by_number[n], by_number[n].start, by_number[n].end)
        for n in numbers
        if n in by_number
    )


def _citation(passage: Passage, start: int, end: int) -> Citation:
    return Citation(
        number=passage.number,
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        source=passage.source,
        start=start,
        end=end,
        quote=passage.text[start - passage.start : end - passage.start],
    )


def _supporting(
    question: str, context: Context, models: Models, quotes: int
) -> tuple[Citation, ...]:
    """Return the sentences of the first passages that together say most about the question.

    One is added at a time, whichever makes the chosen ones read best together, so that a sentence
    about the second half of a question is not crowded out by more of the first half.
    """
    spans = [
        (passage, passage.start + a, passage.start + b)
        for passage in context.passages[:QUOTED_PASSAGES]
        for a, b in sentence_spans(passage.text)
    ]
    texts = [_titled(p, p.text[a - p.start : b - p.start]) for p, a, b in spans]
    return tuple(_citation(*spans[i]) for i in cover(question, texts, models, quotes))


def _titled(passage: Passage, sentence: str) -> str:
    return f"{passage.title}\n{sentence}" if passage.title else sentence
