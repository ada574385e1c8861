"""Context to an answer with citations: an LLM's words, or the best supporting sentences, quoted."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from clew.algo.topk import top_k
from clew.context import build_context
from clew.models import Models, Prompt
from clew.prompts import prompt
from clew.text.sentences import sentence_spans
from clew.types import Answer, Citation, Context, Evidence, Passage

MAX_ANSWER_TOKENS = 512

_CITED = re.compile(r"\[(\d{1,3}(?:, ?\d{1,3})*)\]")  # [2], [2, 3]
_MARKER = re.compile(r"\bANSWER:", re.IGNORECASE)
WITHOUT_RETRIEVAL = frozenset({"zero_shot", "chain_of_thought"})


def answer(
    question: str,
    evidence: Evidence,
    models: Models,
    *,
    budget_tokens: int = 4_000,
    quotes: int = 3,
) -> Answer:
    """Answer `question` from `evidence`, whose hits fill a context of at most `budget_tokens`.

    With an LLM the answer is its own; without one, or when it gives none, the answer quotes the
    `quotes` sentences of the context that support it best.
    """
    context = build_context(evidence, budget_tokens=budget_tokens)
    if evidence.hits and not context.passages:
        evidence = _noted(evidence, f"no passage fits a context of {budget_tokens} tokens")
    if models.llm is not None:
        [reply] = models.llm.complete([_prompt(question, context, evidence.method)])
        text = after_marker(reply.text)
        if text and not reply.error:
            return Answer(
                question=question,
                text=text,
                kind="generated",
                citations=_cited(reply.text, context),
                context=context,
                evidence=evidence,
            )
        instead = ": quoted sentences instead" if context.passages else ""
        evidence = _noted(
            evidence, f"the LLM gave no answer ({reply.error or 'an empty reply'}){instead}"
        )
    citations = _supporting(question, context, evidence, models, quotes)
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


def _noted(evidence: Evidence, note: str) -> Evidence:
    return replace(evidence, notes=(*evidence.notes, note))


def _prompt(question: str, context: Context, method: str) -> Prompt:
    """Return the one prompt that every retrieval method shares: the question after the context.

    Methods that retrieve nothing on purpose have prompts of their own.
    """
    if method in WITHOUT_RETRIEVAL:
        return prompt(method, question=question, max_tokens=MAX_ANSWER_TOKENS)
    passages = context.text or "(no passage was found)"
    return prompt("short_answer", context=passages, question=question, max_tokens=MAX_ANSWER_TOKENS)


def after_marker(reply: str) -> str:
    """Return what stands behind the last answer marker on its line, without citation numbers.

    The whole reply where there is no marker.
    """
    return " ".join(_CITED.sub("", _answer_line(reply)).replace("**", "").split())


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
    question: str,
    context: Context,
    evidence: Evidence,
    models: Models,
    quotes: int,
) -> tuple[Citation, ...]:
    """Return the best sentences of the context, those on the evidence's best paths first.

    A path is units that belong together, so its later ones count although they say little about
    the question by themselves; the rest of the room goes to the reranker's choice.
    """
    spans = [
        (passage, passage.start + a, passage.start + b)
        for passage in context.passages
        for a, b in sentence_spans(passage.text)
    ]
    if not spans:
        return ()
    texts = [p.text[a - p.start : b - p.start] for p, a, b in spans]
    on_path = _path_places(evidence)
    scores = models.reranker.score(
        question, [_titled(p, t) for (p, _, _), t in zip(spans, texts, strict=True)]
    )
    scores = np.asarray(scores, dtype=np.float64)
    first = [
        i for i in top_k(scores, len(spans)) if (spans[i][0].document_id, *spans[i][1:]) in on_path
    ]
    rest = [i for i in top_k(scores, len(spans)) if i not in set(first)]
    chosen = list(dict.fromkeys([*first[:quotes], *rest]))[:quotes]
    return tuple(_citation(*spans[i]) for i in chosen)


def _path_places(evidence: Evidence) -> set[tuple[str, int, int]]:
    """Return where the units of the best path stand."""
    best = evidence.paths[0].steps if evidence.paths else ()
    return {(s.document_id, s.start, s.end) for s in best if s.layer == "unit"}


def _titled(passage: Passage, sentence: str) -> str:
    return f"{passage.title}\n{sentence}" if passage.title else sentence
