"""Turn a context into an answer with citations: an LLM's text, or the best supporting sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from clew.answers.context import format_context, move_to_front
from clew.answers.differences import add_difference
from clew.answers.how_to import quote_steps
from clew.answers.method import MAX_ANSWER_TOKENS
from clew.answers.question import MAX_QUOTES
from clew.answers.quotes import REST_UNKNOWN, Quote, compose_quote
from clew.answers.quotes import choose_quotes as chosen_quotes
from clew.answers.sentences import find_sentences
from clew.answers.short_answer import add_graph_answer, add_short_answer
from clew.answers.support import judge_quotes
from clew.base.types import (
    Answer,
    AnswerSpan,
    Citation,
    Context,
    CountedItem,
    CountResult,
    DirectAnswer,
    Document,
    Evidence,
    Figure,
    Passage,
    ShortAnswer,
    Step,
)
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models, Prompt, Reply
from clew.steps import reply_to
from clew.text.answer_line import find_answer_line
from clew.text.patterns import parse_range
from clew.text.pieces import OnPiece
from clew.text.prose import OnMarks, ProseStream, is_unknown, read_prose
from clew.text.statements import find_above

if TYPE_CHECKING:
    from clew.answers.citations import CitedRange
    from clew.answers.claims import StatementReader

OnCitation = Callable[[Citation], None]

_ESTIMATE = (
    "\n\nAn estimate by word matches, which nobody has checked: the material holds the answer with "
    "a probability of {:.2f}. Where you find that it does not, say so as asked below."
)
_LONGEST_ABOVE = 1_000  # characters of what a quote stands below
_OF_SUMMARY = 5  # statements of a document that is summed up, at least
_SURE = 0.5  # the least support of a short answer, and the highest that may ask for a first step
_RIGHT_OF_ROWS = 0.9  # totals of benchmarks/counts.py
# Prompts with a context, which a method or an evaluation names.
_READINGS = ("short_answer", "whole_answer", "long_answer")
_PROSE = "prose_answer"  # the one in place of these


def write_answer(  # noqa: PLR0913 -- one argument for each option
    question: str,
    context: Context,
    evidence: Evidence,
    models: Models,
    *,
    quotable: Context | None = None,
    snapshot: Snapshot | None = None,
    quotes: int = MAX_QUOTES,
    max_tokens: int = MAX_ANSWER_TOKENS,
    min_support: float = 0.0,
    style: str = "prose",
    verify: str = "meaning",
    on_text: OnPiece | None = None,
    on_citation: OnCitation | None = None,
) -> Answer:
    """Answer `question` from the `context` that was made of its `evidence`.

    An answer that the evidence brings along is taken where the context holds its quote. Else, with
    an LLM, the answer is its own; without one, or when it gives none, it is the names that a graph
    has for it, with the facts that lead there, or at most `quotes` quotes from the passages, with
    a short answer where one is likely enough; of a question about the whole, a line for each theme,
    of one about all of something, the total with a line for each item.
    Quotes are of the `quotable` context if that is another one. What the `snapshot` of the evidence
    stores is not embedded again for them.
    `max_tokens` cap the LLM's reply. An LLM that is told the evidence's support, which it is where
    `min_support` is above 0, may refuse; below that there are no quotes. By its `style` it writes
    prose, or a line that is as short as possible.

    `on_text` is told of the answer's text: piece by piece as an LLM writes prose, any other in one
    piece. The pieces since the last None are together that text. None says that what was told
    does not count: the reply broke off and is asked for again, or is of no use.

    `on_citation` is told of a citation once the text that it supports was told, where an LLM writes
    prose: so its number can stand there. With the None of `on_text` those that were told do not
    count either. The answer has all of them, first those that were told.
    """
    support = evidence.support if min_support > 0 else None  # as an LLM is told
    reader, unsupported = _make_reader(models), tuple[str, ...]()
    asked = _PROSE if style == "prose" and evidence.prompt in _READINGS else evidence.prompt
    refuses = support is not None
    begin = partial(_start_citing, on_citation, question, context, evidence, reader)
    writer = ProseStream(on_text or (lambda _: None), begin, len(context.passages), refuses=refuses)
    if evidence.hits and not context.passages:
        evidence = _add_note(
            evidence, f"no passage fits a context of {context.budget_tokens} tokens"
        )
    answer = _read_direct_answer(question, context, evidence)
    if answer is None and models.llm is not None and reader is not None:
        prompt = _build_prompt(question, context, asked, max_tokens, support)
        hear = writer.feed if on_text and asked == _PROSE else None
        reply = reply_to(models.llm, prompt, part="answer", on_text=hear)
        answer = _build_llm_answer(
            question, reply, asked, context, evidence, reader, refuses=refuses
        )
        verifier = models.llm if verify == "llm" else None
        instead = ": quoted sentences instead" if context.passages else ""
        answer, unsupported, fault = _accept_generated(answer, reply, verifier, min_support)
        evidence = _add_note(evidence, f"{fault}{instead}") if fault else evidence
    if answer is None:
        context = quotable or context
        answer = _build_special_answer(question, context, evidence, quotes)
    if answer is None:
        passages = context.passages
        sentences = find_sentences(passages, snapshot)
        best, features = chosen_quotes(question, sentences, passages, models, snapshot, most=quotes)
        evidence = judge_quotes(evidence, features)
        if _is_refused(evidence, min_support):
            known = [each._replace(link="") for each in best if each.resolves]
            answer = (
                _build_partial(question, known, context, evidence)
                if known and min_support <= _SURE
                else _build_refusal(question, context, evidence)
            )
        else:
            best, short = add_short_answer(question, best, passages, models, most=quotes)
            if short is None:
                best, short = add_graph_answer(
                    question, best, sentences, passages, evidence, snapshot
                )
            is_sure = not _is_refused(evidence, _SURE) and (
                short is not None or features is None or features.likely >= _SURE
            )
            note = ""
            if is_sure:
                best, note = add_difference(question, best, sentences, passages, evidence)
            if note or not is_sure:
                short = None
            evidence = _add_note(evidence, note) if note else evidence
            best, context = quote_steps(question, best, context, snapshot)
            answer = _build_quoted(question, best, context, evidence)
            answer = replace(answer, short=short, is_unsure=bool(best) and not is_sure)
    writer.end(answer.text)
    return replace(answer, unsupported=unsupported) if unsupported else answer


def _accept_generated(
    answer: Answer | None, reply: Reply, verifier: LLM | None, min_support: float
) -> tuple[Answer | None, tuple[str, ...], str]:
    """Return an LLM's answer if it may stand, else its unsupported sentences, and what is wrong."""
    if answer is None:
        return None, (), f"the LLM gave no answer ({reply.error or 'an empty reply'})"
    if verifier is not None and answer.kind != "refused" and answer.evidence.prompt in _READINGS:
        from clew.answers.claims import verify_by_llm

        answer = verify_by_llm(answer, verifier)
    if answer.kind != "none":
        return answer, (), ""
    if min_support <= 0:  # nothing is refused
        return replace(answer, kind="generated"), (), ""
    return None, answer.unsupported, "no source says what the LLM answered"


def _make_reader(models: Models) -> StatementReader | None:
    """Return what reads an LLM's sentences and those of passages, None where no LLM writes."""
    if models.llm is None or not models.writes:
        return None
    from clew.answers.claims import make_reader

    return make_reader(models)


def _start_citing(
    on_citation: OnCitation | None,
    question: str,
    context: Context,
    evidence: Evidence,
    reader: StatementReader | None,
) -> OnMarks:
    """Return a callback for an LLM's citation marks that reports the citations found."""
    if on_citation is None or reader is None:
        return lambda _claim, _marks: None
    from clew.answers.citations import CitationFinder

    citing = CitationFinder(question, context, reader)

    def hear(claim: str, marks: str) -> None:
        for each in citing.feed(claim, marks):
            on_citation(_cite_range(each, evidence))

    return hear


def _read_direct_answer(question: str, context: Context, evidence: Evidence) -> Answer | None:
    """Return the answer that the method itself found, or None if the context does not prove it.

    That is also what was computed of all rows of a table, which no LLM counts again.
    """
    if evidence.counted is not None:
        return _build_counted(question, evidence.counted, context, evidence)
    given = evidence.answer
    if given is not None and (proof := _find_proof(given, context, evidence)):
        cited = replace(proof, at=(len(given.text),))
        return _build_generated(question, given.text, (cited,), context, evidence)
    return None


def _build_special_answer(
    question: str, context: Context, evidence: Evidence, quotes: int
) -> Answer | None:
    """Return the answer of a method that finds themes or names rather than passages."""
    if evidence.whole:
        summary = _build_summary(question, context, evidence, max(quotes, _OF_SUMMARY))
        if answer := summary or _build_themes(question, context, evidence):
            return answer
    # Evidence of triples alone has no support, and nothing to quote.
    return _build_graph_answer(question, context, evidence) if evidence.support is None else None


def _build_quoted(
    question: str, quotes: Sequence[Quote], context: Context, evidence: Evidence
) -> Answer:
    first = list(dict.fromkeys(each.passage for each in quotes))
    context = move_to_front(context, first)
    numbered = dict(zip(first, context.passages, strict=False))
    citations = [
        replace(
            _build_citation(numbered[each.passage], each.start, each.end, evidence), link=each.link
        )
        for each in quotes
    ]
    texts = [compose_quote(each.quote, each.link) for each in citations]
    ends = accumulate(map(len, texts), lambda end, size: end + 1 + size)  # a line break between two
    citations = [replace(each, at=(end,)) for each, end in zip(citations, ends, strict=True)]
    if not citations and not evidence.notes:
        evidence = _add_note(evidence, "nothing was found to quote")
    return Answer(
        question=question,
        text="\n".join(texts),
        kind="quoted" if citations else "none",
        citations=tuple(citations),
        context=context,
        evidence=evidence,
    )


def _build_partial(
    question: str, known: Sequence[Quote], context: Context, evidence: Evidence
) -> Answer:
    """Return a partial answer: the quote that resolves a name of the question."""
    quoted = _build_quoted(question, known, context, evidence)
    return replace(quoted, kind="partial", text=f"{quoted.text}\n{REST_UNKNOWN}")


def _build_graph_answer(question: str, context: Context, evidence: Evidence) -> Answer | None:
    """Return the first answer entities of a graph, with the facts on their paths as citations.

    Those are as many as have the highest score. None where no passage has the words of a fact, as
    in a graph of texts, or where there are no such answers.
    """
    ranked = evidence.graph.answers if evidence.graph else ()
    best = [each for each in ranked if each.score >= ranked[0].score]
    facts = {} if evidence.graph is None else {fact.id: fact for fact in evidence.graph.facts}
    wanted = dict.fromkeys(fact for each in best for fact in each.facts)
    ends = list(accumulate((len(each.text) for each in best), lambda end, size: end + 2 + size))
    at = {
        wanted_id: tuple(e for e, each in zip(ends, best, strict=True) if wanted_id in each.facts)
        for wanted_id in wanted
    }
    citations = [
        _build_citation(
            passage,
            passage.start + place,
            passage.start + place + len(fact.text),
            evidence,
            at[fact.id],
        )
        for fact in map(facts.__getitem__, wanted)
        for passage in context.passages
        if passage.chunk_id in fact.chunk_ids and (place := passage.text.find(fact.text)) >= 0
    ]
    if not citations:
        return None
    return Answer(
        question=question,
        text=", ".join(each.text for each in best),
        kind="named",
        citations=tuple(citations),
        context=context,
        evidence=evidence,
    )


def _build_themes(question: str, context: Context, evidence: Evidence) -> Answer | None:
    """Return an answer with a line per relevant theme, or per sentence of compared documents.

    It has the name of the theme or document, what it covers or its id, and a quote.

    None where the context has no sentence of any.
    """
    places = {(p.document_id, p.start): p for p in reversed(context.passages)}
    lines: list[str] = []
    cited: list[tuple[Passage, Step]] = []
    represented: set[str] = set()
    for *_, theme, sentence in (path.steps for path in evidence.paths):
        passage = places.get((sentence.document_id, sentence.start))
        if passage is not None and theme.id not in represented:
            quote = " ".join(sentence.text.split())
            lines.append(f"{theme.text} ({theme.reason}): {quote}")
            cited.append((passage, sentence))
            if theme.layer == "theme":
                represented.add(theme.id)
    ends = accumulate(map(len, lines), lambda end, size: end + 1 + size)
    citations = tuple(
        _build_citation(passage, passage.start, sentence.end, evidence, (end,))
        for (passage, sentence), end in zip(cited, ends, strict=True)
    )
    if not citations:
        return None
    return Answer(
        question=question,
        text="\n".join(lines),
        kind="themes",
        citations=citations,
        context=context,
        evidence=evidence,
    )


def _build_summary(question: str, context: Context, evidence: Evidence, most: int) -> Answer | None:
    """Return the statements of the one document that is summed up as quotes, None for themes."""
    about = {(path.steps[1].layer, path.steps[1].id) for path in evidence.paths}
    if [layer for layer, _ in about] != ["document"]:
        return None
    ends = {(p.steps[-1].document_id, p.steps[-1].start): p.steps[-1].end for p in evidence.paths}
    quotes = [
        Quote(passage, passage.start, ends[passage.document_id, passage.start])
        for passage in context.passages
        if (passage.document_id, passage.start) in ends
    ]
    return _build_quoted(question, quotes[:most], context, evidence) if quotes else None


def _build_counted(
    question: str, counted: CountResult, context: Context, evidence: Evidence
) -> Answer:
    """Return a total with a line for each counted item in the context, and its quote.

    The evidence has all items; a note says how many the context has no room for.
    """
    lines = [f"{counted.text} ({counted.note})"]
    citations: list[Citation] = []
    spans: list[AnswerSpan] = []
    end = len(lines[0])
    of_document: dict[str, list[Passage]] = {}
    for each in context.passages:
        of_document.setdefault(each.document_id, []).append(each)
    for item in counted.items:
        passage = _find_item_passage(of_document.get(item.document_id, ()), item)
        if passage is None:
            continue
        lines.append(item.label)
        end += 1 + len(item.label)
        cited = _build_citation(passage, item.start, item.end, evidence, (end,))
        citations.append(cited)
        span = AnswerSpan(
            citation=len(spans),
            document_id=item.document_id,
            start=item.start,
            end=item.end,
            text=cited.quote,
        )
        spans.append(span)
    if left := len(counted.items) - len(spans):
        note = f"{left} of {len(counted.items)} items are not quoted: a larger context has room"
        evidence = _add_note(evidence, note)
    short = ShortAnswer(
        text=counted.text,
        kind=counted.kind,
        probability=_RIGHT_OF_ROWS,
        spans=tuple(spans),
        note=counted.note,
    )
    return Answer(
        question=question,
        text="\n".join(lines),
        kind="counted",
        citations=tuple(citations),
        context=context,
        evidence=evidence,
        short=short,
    )


def _find_item_passage(passages: Sequence[Passage], item: CountedItem) -> Passage | None:
    """Return the passage that contains an item of its document, or None if it did not fit."""
    return next((p for p in passages if p.start <= item.start and item.end <= p.end), None)


def _build_generated(
    question: str, text: str, citations: tuple[Citation, ...], context: Context, evidence: Evidence
) -> Answer:
    return Answer(
        question=question,
        text=text,
        kind="generated",
        citations=citations,
        context=context,
        evidence=evidence,
    )


def _is_refused(evidence: Evidence, min_support: float) -> bool:
    return evidence.support is not None and evidence.support < min_support


def _build_refusal(question: str, context: Context, evidence: Evidence) -> Answer:
    return Answer(
        question=question, text="", kind="refused", citations=(), context=context, evidence=evidence
    )


def build_remark_answer(text: str) -> Answer:
    """Return an answer without evidence to a text that asks nothing, such as thanks."""
    evidence = Evidence(query=text, method="", notes=("this asks nothing: ask a question",))
    context = Context(passages=(), text="", n_tokens=0, budget_tokens=0)
    return Answer(
        question=text, text="", kind="none", citations=(), context=context, evidence=evidence
    )


def _find_proof(given: DirectAnswer, context: Context, evidence: Evidence) -> Citation | None:
    """Return the range that proves an answer, or None if no passage of the context contains it."""
    for passage in context.passages:
        place = passage.text.find(given.quote) if passage.chunk_id == given.chunk_id else -1
        if place >= 0:
            start = passage.start + place
            return _build_citation(passage, start, start + len(given.quote), evidence)
    return None


def _add_note(evidence: Evidence, note: str) -> Evidence:
    return replace(evidence, notes=(*evidence.notes, note))


def _build_prompt(
    question: str, context: Context, name: str, max_tokens: int, support: float | None
) -> Prompt:
    """Return the prompt shared by all retrieval methods: the context, then the question.

    It says what the `support` is where that is given. Evidence of a method that retrieves nothing
    on purpose names another prompt.
    """
    from clew.models.prompts import fill_prompt

    if name not in {*_READINGS, _PROSE}:
        return fill_prompt(name, question=question, max_tokens=max_tokens)
    text = format_context(context, context.text.strip() or "(no passage was found)")
    estimate = "" if support is None else _ESTIMATE.format(support)
    return fill_prompt(
        name, context=text, estimate=estimate, question=question, max_tokens=max_tokens
    )


def _build_llm_answer(
    question: str,
    reply: Reply,
    prompt: str,
    context: Context,
    evidence: Evidence,
    reader: StatementReader,
    *,
    refuses: bool,
) -> Answer | None:
    """Return an LLM's answer with the passages that support it, and its unsupported sentences.

    A `prompt` without a context asks for neither. The kind is "none" where nothing supports any
    sentence. None for a reply of no use.
    """
    written = reply.text if prompt == _PROSE else find_answer_line(reply.text)
    parts = read_prose(written, len(context.passages))
    text = "".join(claim for claim, _ in parts).rstrip()
    if reply.error or not text:
        return None
    if refuses and is_unknown(written):
        return _build_refusal(question, context, evidence)
    if prompt not in {*_READINGS, _PROSE}:
        return _build_generated(question, text, (), context, evidence)
    from clew.answers.citations import find_citations

    result = find_citations(question, parts, context, reader)
    for note in result.notes:
        evidence = _add_note(evidence, note)
    citations = tuple(_cite_range(each, evidence) for each in result.ranges)
    answered = _build_generated(question, text, citations, context, evidence)
    kind = "none" if result.unsupported and not result.n_supported else "generated"
    return replace(answered, kind=kind, unsupported=result.unsupported)


def locate_citations(answer: Answer, snapshot: Snapshot) -> Answer:
    """Return the answer with section, pages and line of each citation.

    They had those of their passages, which may be longer.
    """
    layer = snapshot.layer("document")
    rows = layer.rows([citation.document_id for citation in answer.citations])
    citations: list[Citation] = []
    shown: set[Figure] = set()  # with the first citation that has them
    for citation, row in zip(answer.citations, rows, strict=True):
        if row >= 0:
            citation = locate_citation(snapshot.documents([row])[0], citation)  # noqa: PLW2901
        figures = tuple(each for each in citation.figures if each not in shown)
        citations.append(replace(citation, figures=figures))
        shown.update(figures)
    return replace(answer, citations=tuple(citations))


def locate_citation(document: Document, citation: Citation) -> Citation:
    """Return a citation with its section, pages, line and surrounding text in the document.

    It gets the notes on what of the document was not read.
    """
    page, last_page = document.pages_of(citation.start, citation.end)
    section = document.section_at(citation.start)
    line = document.line_at(citation.start)
    above = find_above(document.text, citation.start, document.headings, document.body_start) or (
        0,
        0,
    )
    chunk = (parse_range(citation.chunk_id) or ("", 0, 0))[1:]
    return replace(
        citation,
        section=section,
        page=page,
        last_page=last_page,
        line=line,
        before=document.text[slice(*above)][:_LONGEST_ABOVE].strip(),
        partly=document.partly,
        figures=document.figures_at(citation.start, citation.end, chunk),
    )


def _cite_range(span: CitedRange, evidence: Evidence) -> Citation:
    passage = span.passage
    start, end = passage.start + span.start, passage.start + span.end
    return _build_citation(passage, start, end, evidence, span.at)


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
    """Return the index of the first path that ends in a passage, or None."""
    for place, path in enumerate(evidence.paths):
        last = path.steps[-1]
        if (last.document_id, last.start) == (passage.document_id, passage.start):
            return place
    return None
