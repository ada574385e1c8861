"""Context to an answer with citations: an LLM's words, or the best supporting sentences, quoted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from clew.asking.citations import CitationFinder, CitedRange, find_citations
from clew.asking.context import format_context
from clew.asking.question import MAX_QUOTES
from clew.asking.quotes import Quote, choose_quotes
from clew.models import Models, Prompt, Reply
from clew.prompts import fill_prompt
from clew.snapshot import Snapshot
from clew.steps import reply_to
from clew.text.answer_line import AnswerText, OnMarks, extract_answer, find_answer_line, is_word
from clew.text.pieces import OnPiece
from clew.types import Answer, Citation, Context, Document, Evidence, Passage

OnCitation = Callable[[Citation], None]
MAX_ANSWER_TOKENS = 512

_UNKNOWN = "unknown"  # what the prompt has an LLM write that finds no answer
_ESTIMATE = (
    "\n\nAn estimate by word matches, which nobody has checked: the material holds the answer with "
    "a probability of {:.2f}. Where you find that it does not, say so as asked below."
)
_READING = "short_answer"  # the prompt that every method shares which retrieves


def write_answer(  # noqa: PLR0913 -- one argument for each option
    question: str,
    context: Context,
    evidence: Evidence,
    models: Models,
    *,
    snapshot: Snapshot | None = None,
    quotes: int = MAX_QUOTES,
    max_tokens: int = MAX_ANSWER_TOKENS,
    min_support: float = 0.0,
    on_text: OnPiece | None = None,
    on_citation: OnCitation | None = None,
) -> Answer:
    """Answer `question` from the `context` that was made of its `evidence`.

    An answer that the evidence brings along is taken where the context holds its quote. Else, with
    an LLM, the answer is its own; without one, or when it gives none, it is the names that a graph
    has for it, with the facts that lead there, or at most `quotes` quotes from the passages. What
    the `snapshot` of the evidence stores is not embedded again for them.
    `max_tokens` cap the LLM's reply: one that is cut off there is of no use. An LLM that is told
    the evidence's support, which it is where `min_support` is above 0, may refuse; below
    that there are no quotes.

    `on_text` is told of the answer's text: piece by piece as an LLM writes it, any other in one
    piece. The pieces since the last None are together that text. None says that what was told
    does not count: the reply broke off and is asked for again, or is of no use.

    `on_citation` is told of a citation once the text that it supports was told, where an LLM writes
    it: so its number can stand there. With the None of `on_text` those that were told do not count
    either. The answer has all of them, first those that were told.
    """
    support = evidence.support if min_support > 0 else None  # as an LLM is told
    on_marks = on_citation and _citation_listener(on_citation, question, context, evidence)
    told = None
    if on_text is not None:
        told = AnswerText(on_text, "" if support is None else _UNKNOWN, on_marks)
    if evidence.hits and not context.passages:
        evidence = _add_note(
            evidence, f"no passage fits a context of {context.budget_tokens} tokens"
        )
    found = _take_own_answer(question, context, evidence)
    if found is None and models.llm is not None:
        asked = _build_prompt(question, context, evidence.prompt, max_tokens, support)
        hear = None if told is None else told.feed
        reply = reply_to(models.llm, asked, part="answer", on_text=hear)
        found = _build_llm_answer(
            question, reply, context, evidence, may_refuse=support is not None
        )
        instead = ": quoted sentences instead" if context.passages else ""
        note = f"the LLM gave no answer ({reply.error or 'an empty reply'}){instead}"
        evidence = evidence if found else _add_note(evidence, note)
    if found is None and evidence.support is not None and evidence.support < min_support:
        found = _build_answer("refused", question, context, evidence)
    found = found or _build_named(question, context, evidence)
    if found is None:
        chosen = choose_quotes(question, context.passages, models, snapshot, most=quotes)
        found = _build_quoted(question, chosen, context, evidence)
    if told is not None:
        told.end(found.text)
    return found


def _citation_listener(
    on_citation: OnCitation, question: str, context: Context, evidence: Evidence
) -> OnMarks:
    """Return a listener to an LLM's marks that passes on the citations found so far."""
    citing = CitationFinder(question, context)

    def hear(claim: str, marks: str | None) -> None:
        nonlocal citing
        if marks is None:
            citing = CitationFinder(question, context)
            return
        for each in citing.feed(claim, marks):
            on_citation(_cite_range(each, evidence))

    return hear


def _take_own_answer(question: str, context: Context, evidence: Evidence) -> Answer | None:
    """Return the answer that the evidence has, None where no passage of the context proves it."""
    given = evidence.answer
    if given is None:
        return None
    for passage in context.passages:
        place = passage.text.find(given.quote) if passage.chunk_id == given.chunk_id else -1
        if place >= 0:
            start = passage.start + place
            end, at = start + len(given.quote), (len(given.text),)
            proof = _build_citation(passage, start, end, evidence, at)
            return _build_answer("generated", question, context, evidence, given.text, [proof])
    return None


def _build_quoted(
    question: str, chosen: Sequence[Quote], context: Context, evidence: Evidence
) -> Answer:
    citations = [_build_citation(each.passage, each.start, each.end, evidence) for each in chosen]
    said = [" ".join(each.quote.split()) for each in citations]
    ends = accumulate(map(len, said), lambda end, size: end + 1 + size)  # a blank between two
    citations = [replace(each, at=(end,)) for each, end in zip(citations, ends, strict=True)]
    if not citations and not evidence.notes:
        evidence = _add_note(evidence, "nothing was found to quote")
    kind = "quoted" if citations else "none"
    return _build_answer(kind, question, context, evidence, " ".join(said), citations)


def _build_named(question: str, context: Context, evidence: Evidence) -> Answer | None:
    """Return the first answers of a graph by name, with the facts on the way to them as citations.

    Those are as many as have the highest score. None where no passage has the words of a fact, as
    in a graph of texts, or where there are no such answers.
    """
    if evidence.graph is None:
        return None
    ranked = evidence.graph.answers
    best = [each for each in ranked if each.score >= ranked[0].score]
    facts = {fact.id: fact for fact in evidence.graph.facts}
    ends = accumulate((len(each.text) for each in best), lambda end, size: end + 2 + size)
    at: dict[str, list[int]] = {}  # where the names stand that each fact leads to
    for each, end in zip(best, ends, strict=True):
        for fact_id in dict.fromkeys(each.facts):
            at.setdefault(fact_id, []).append(end)
    citations = []
    for fact_id, places in at.items():
        fact = facts[fact_id]
        for passage in context.passages:
            place = passage.text.find(fact.text) if passage.chunk_id in fact.chunk_ids else -1
            start = passage.start + place
            if place >= 0:
                end = start + len(fact.text)
                citations.append(_build_citation(passage, start, end, evidence, tuple(places)))
    if not citations:
        return None
    names = ", ".join(each.text for each in best)
    return _build_answer("named", question, context, evidence, names, citations)


def _build_answer(
    kind: str,
    question: str,
    context: Context,
    evidence: Evidence,
    text: str = "",
    citations: Sequence[Citation] = (),
) -> Answer:
    return Answer(
        question=question,
        text=text,
        kind=kind,
        citations=tuple(citations),
        context=context,
        evidence=evidence,
    )


def _add_note(evidence: Evidence, note: str) -> Evidence:
    return replace(evidence, notes=(*evidence.notes, note))


def _build_prompt(
    question: str, context: Context, name: str, max_tokens: int, support: float | None
) -> Prompt:
    """Return the one prompt that every retrieval method shares: the question after the context.

    It says what the `support` is where that is given. Evidence of a method that retrieves nothing
    on purpose names another prompt.
    """
    if name != _READING:
        return fill_prompt(name, question=question, max_tokens=max_tokens)
    found = format_context(context, context.text.strip() or "(no passage was found)")
    estimate = "" if support is None else _ESTIMATE.format(support)
    return fill_prompt(
        _READING, context=found, estimate=estimate, question=question, max_tokens=max_tokens
    )


def _build_llm_answer(
    question: str, reply: Reply, context: Context, evidence: Evidence, *, may_refuse: bool
) -> Answer | None:
    """Return an LLM's answer with the passages that hold it, and the sentences that none holds.

    A prompt without a context asks for neither. None for a reply of no use.
    """
    text = extract_answer(reply.text)
    if not text or reply.error:
        return None
    if may_refuse and is_word(text, _UNKNOWN):
        return _build_answer("refused", question, context, evidence)
    if evidence.prompt != _READING:
        return _build_answer("generated", question, context, evidence, text)
    found = find_citations(question, find_answer_line(reply.text), reply.text, context)
    for note in found.notes:
        evidence = _add_note(evidence, note)
    citations = [_cite_range(each, evidence) for each in found.ranges]
    answered = _build_answer("generated", question, context, evidence, text, citations)
    return replace(answered, unsupported=found.unsupported)


def locate_citations(found: Answer, snapshot: Snapshot) -> Answer:
    """Return an answer whose citations have the section, pages and line of their own ranges.

    They had those of their passages, which may be longer.
    """
    rows = snapshot.layer("document").rows([each.document_id for each in found.citations])
    citations = tuple(
        locate_citation(snapshot.documents([row])[0], citation) if row >= 0 else citation
        for citation, row in zip(found.citations, rows, strict=True)
    )
    return replace(found, citations=citations)


def locate_citation(document: Document, citation: Citation) -> Citation:
    """Return a citation of a document with the section and pages of its range."""
    page, last_page = document.pages_of(citation.start, citation.end)
    return replace(
        citation,
        section=document.section_at(citation.start),
        page=page,
        last_page=last_page,
        line=document.line_at(citation.start),
    )


def _cite_range(found: CitedRange, evidence: Evidence) -> Citation:
    passage = found.passage
    start, end = passage.start + found.start, passage.start + found.end
    return _build_citation(passage, start, end, evidence, found.at)


def _build_citation(
    passage: Passage, start: int, end: int, evidence: Evidence, at: tuple[int, ...] = ()
) -> Citation:
    return Citation(
        number=passage.number,
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        source=passage.source,
        start=start,
        end=end,
        quote=passage.text[start - passage.start : end - passage.start],
        path=_find_path(passage, evidence),
        section=passage.section,
        page=passage.page,
        last_page=passage.last_page,
        line=passage.line if start == passage.start else None,
        at=at,
    )


def _find_path(passage: Passage, evidence: Evidence) -> int | None:
    """Return the place of the first path that ends in a passage, None where no path does."""
    for place, path in enumerate(evidence.paths):
        last = path.steps[-1]
        if (last.document_id, last.start) == (passage.document_id, passage.start):
            return place
    return None
