"""Format answers, hits, paths and costs for a terminal, also while an answer is streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise, repeat
from math import fsum, log
from re import finditer
from typing import TYPE_CHECKING, Self

import click

from clew.base.display.columns import fit, width_of
from clew.base.display.visible import visible
from clew.base.runtime.lazy import compile_re
from clew.cli.plain import bold, count_more, dim, is_quiet, one_line, terminal_width, wrap_text
from clew.text.analyze import term_spans, terms
from clew.text.layout import ITEM
from clew.text.lines import file_place
from clew.text.quantities import format_count
from clew.text.sections import join_title, page_range
from clew.text.statements import statement_spans

if TYPE_CHECKING:
    from clew.base import types

_SHOWN_S = 0.005  # a stage that took less is left out
_QUOTE_LINES = 3
_THEMES_HEAD = "Themes that answer, each with a sentence of it"
_WITHOUT_ANSWER = {
    "partial": "Only a part of this is known. Nothing in this index says the rest.",
    "refused": "Nothing in this index answers this.",
    "none": "No answer: nothing was found that supports one.",
}
_MOST_NEAR = 3  # passages below a refusal
_MOST_OTHERS = 3  # places of further passages below an answer
_MOST_ROWS = 10  # of a table, of answers
_MOST_ITEMS = 25  # of a count or list
_MOST_NAMES = 3  # facts of an answer, documents that say the same
_HEADING = compile_re(r"\A#{1,6}\s+")
_ANEW = "(that reply cannot be used: trying another one, or quotes)"
_LINES = 2  # of a preview
_RAGGED = 10  # characters at the end of a line that words are too long for
_BEFORE = 40  # characters before a match, where its sentence is too long to be shown from the start

Spans = Sequence[tuple[int, int]]
Matches = Sequence[tuple[str, int, int]]  # terms of the query, and where they stand


def render_answer(answer: types.Answer, *, is_written: bool = False) -> str:
    """Return an answer with its citations and costs.

    Of one that was refused, the nearest passages. The text is left out where it `is_written`.
    """
    end = [*_render_notes(answer.evidence), *render_costs(answer.usage)]
    unsupported = [wrap_text(each, first="  ", rest="  ") for each in answer.unsupported]
    if unsupported:
        what = "" if answer.kind == "generated" else " what the LLM answered"
        unsupported = ["\n".join([bold(f"No source says{what}:"), *unsupported])]
    text = [] if is_written else list(_render_text(answer))
    if answer.kind == "refused":
        return "\n\n".join([*text, *unsupported, *_render_nearest(answer.evidence), *end])
    blocks = [*unsupported, *text, *render_citations(answer), *_render_others(answer)]
    return "\n\n".join([*blocks, *end])


def render_evidence(evidence: types.Evidence) -> str:
    """Return evidence as text: answers of a graph, tables, ranked hits, support and costs."""
    weights = weigh_terms(evidence.query, [each.text for each in evidence.hits])
    hits = (render_hit(*each, weights) for each in enumerate(evidence.hits, 1))
    counted = [] if evidence.counted is None else [_render_counted(evidence.counted)]
    tables = map(render_table, evidence.tables)
    blocks = [*counted, *_render_answers(evidence.graph), *tables, *hits]
    blocks = blocks or [f"Nothing in the index fits, as {evidence.method} sees it."]
    support = [] if evidence.support is None else [dim(f"support {evidence.support:.2f}")]
    return "\n\n".join([*blocks, *support, *_render_notes(evidence), *render_costs(evidence.usage)])


def render_hit(place: int, hit: types.Hit, weights: Mapping[str, float] | None = None) -> str:
    """Return a hit: its place, score, channel, section, source, pages and relevance.

    Below stands what of it weighs most; without weights of terms that is the beginning.
    """
    head = f"{place:>3}  {hit.score:.3f}  "
    indent = " " * len(head)
    channel = dim(f"({one_line(hit.channel)})") + "  " if hit.channel else ""
    above = one_line(join_title(hit.title, hit.section))
    title = f"{bold(above)}\n{indent}" if above else ""
    likely = "" if hit.relevance is None else f"relevance {hit.relevance:.2f}"
    pages = page_range(hit.page, hit.last_page)
    where = one_line(hit.place)
    place_line = dim("  ".join(filter(None, (where, pages, hit.apparatus, likely))))
    shown = cut_preview(hit.text, weights or {}, indent=indent)
    lines = [f"{head}{channel}{title}{place_line}", shown]
    if hit.also:
        same = f"also said in {_join_first(hit.also, _MOST_NAMES, ', ')}"
        lines.append(dim(wrap_text(same, first=indent, rest=indent, max_lines=2)))
    return "\n".join(lines)


def render_table(table: types.Table) -> str:
    """Return the first rows of a table below its name, a line each, with long cells cut."""
    rows = [tuple(map(one_line, row)) for row in (table.columns, *table.rows[:_MOST_ROWS])]
    widths = _column_widths([max(map(width_of, cells)) for cells in zip(*rows, strict=True)])
    lines = ["".join(map(_render_cell, row, widths)).rstrip() for row in rows]
    below = count_more(len(table.rows) - _MOST_ROWS)
    return "\n".join([bold(one_line(table.name)), *lines, *below])


def _render_answers(graph: types.EvidenceGraph | None) -> Iterator[str]:
    """Yield the first answers of a graph, each with its score and the facts that lead to it."""
    if graph is None or not graph.answers:
        return
    texts = {fact.id: fact.text for fact in graph.facts}
    lines = [
        _render_item(
            f"{each.score:.2f}", f"{one_line(each.text)}: ", [texts[fact] for fact in each.facts]
        )
        for each in graph.answers[:_MOST_ROWS]
    ]
    more = count_more(len(graph.answers) - _MOST_ROWS)
    yield "\n".join([bold(f"Answers ({len(graph.answers)})"), *lines, *more])


def render_citations(answer: types.Answer) -> Iterator[str]:
    """Yield each citation: its number, file and line, pages, section, and quote."""
    most = {"generated": _QUOTE_LINES, "counted": 1}.get(answer.kind)
    weights = weigh_terms(answer.evidence.query, [each.quote for each in answer.citations])
    last = {each.document_id: each for each in answer.citations}.values()  # of each document
    labels = answer.text.splitlines()[1:] if answer.kind == "counted" else []
    shown = answer.citations[: _MOST_ITEMS if labels else None]
    blocks = [
        "\n".join(
            [
                _render_citation(each, weights, most, label),
                *_render_figures(each),
                *_render_unread(each) * (each in last),
            ]
        )
        for each, label in zip(shown, chain(labels, repeat("")), strict=False)
    ]
    if left := len(answer.citations) - len(blocks):
        blocks.append(f"  ... and {left} more, which --json has")
    if blocks:
        yield ("\n" if most else "\n\n").join(blocks)


def render_costs(usage: types.Usage) -> Iterator[str]:
    """Yield the costs of a run as a line, unless --quiet was given."""
    if not is_quiet():
        shown = {stage: s for stage, s in usage.seconds.items() if s >= _SHOWN_S}
        stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in shown.items())
        yield dim(f"{render_usage(usage)}; {stages or 'hardly any time'}")


def render_usage(usage: types.Usage) -> str:
    """Return the costs of a run in tokens, calls and money."""
    text = format_count(usage.total_tokens, "token")
    text += f", {format_count(usage.llm_calls, 'LLM call')}"
    if usage.embedding_tokens:
        text += f", {format_count(usage.embedding_tokens, 'token')} embedded"
    if usage.llm_calls or usage.embedding_tokens:
        text += ", price unknown" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    if usage.recorded_calls:
        text += f", {usage.recorded_calls:,} answered from the ledger"
    return text


def _render_text(answer: types.Answer) -> Iterator[str]:
    if answer.kind in {"generated", "named"}:
        yield lay_out_prose(mark_citations(answer))
    elif answer.kind == "themes":
        of = {step.layer for path in answer.evidence.paths for step in path.steps[1:2]}
        head = "What each document says" if "document" in of else _THEMES_HEAD
        numbers: dict[str, list[str]] = {}
        for line, cited in zip(answer.text.splitlines(), answer.citations, strict=True):
            about = line.removesuffix(" ".join(cited.quote.split())).rstrip(": ")
            numbers.setdefault(about, []).append(f"[{cited.number}]")
        lines = [f"{' '.join(own)} {about}" for about, own in numbers.items()]
        wrapped = [wrap_text(line, first="  ", rest="      ") for line in lines]
        yield "\n".join([bold(head), *wrapped])
    elif answer.kind == "counted" and answer.short is not None:
        yield _render_counted(answer.short)
    elif answer.kind == "quoted":
        if answer.short is not None:
            yield _render_short(answer.short, answer.citations)
        if answer.is_unsure:
            from clew.base.types import UNSURE

            yield bold(UNSURE)
    else:
        yield _WITHOUT_ANSWER[answer.kind]


def _render_counted(counted: types.CountResult | types.ShortAnswer) -> str:
    return f"{bold(one_line(counted.text))}  {dim(one_line(counted.note))}"


def _render_short(short: types.ShortAnswer, citations: Sequence[types.Citation]) -> str:
    """Return a short answer with the numbers of its quotes, its probability and its note."""
    numbers = dict.fromkeys(f"[{citations[span.citation].number}]" for span in short.spans)
    about = ", ".join(filter(None, (short.note, f"probability {short.probability:.2f}")))
    return f"{bold(one_line(short.text))} {''.join(numbers)} {dim(f'({about})')}"


def _render_nearest(evidence: types.Evidence) -> Iterator[str]:
    """Yield the first hits as passages near to the question, without an answer."""
    if evidence.hits:
        weights = weigh_terms(evidence.query, [each.text for each in evidence.hits])
        yield bold("The nearest passages, which are no answer (--anyway answers from them)")
        yield from (render_hit(*each, weights) for each in enumerate(evidence.hits[:_MOST_NEAR], 1))


def _render_citation(
    cited: types.Citation, weights: Mapping[str, float], max_lines: int | None, label: str = ""
) -> str:
    """Return a citation: its number, label, file and line, pages, section, and quote.

    Those that weigh something are bold. Faint is what a quote that is not cut stands below, such as
    the header of a table.
    """
    head = f"  [{cited.number}] "
    indent = " " * len(head)
    place = click.style(one_line(cited.place), fg="cyan")
    pages = page_range(cited.page, cited.last_page)
    section = dim(one_line(cited.section)) if cited.section else ""
    quote = f'"{cited.quote.strip()}"'
    starts = [m.start() for m in finditer("\n", quote) if ITEM.match(quote, m.end())]
    cuts = pairwise([0, *(starts if max_lines is None else ()), len(quote)])  # an item a line
    parts = (wrap_text(quote[a:b], first=indent, rest=indent, max_lines=max_lines) for a, b in cuts)
    lines = [mark_terms("\n".join(parts), weights)]
    if max_lines is None and cited.before:
        lines.insert(0, dim(wrap_text(cited.before, first=indent, rest=indent, max_lines=_LINES)))
    named = bold(f"{one_line(cited.link)}:") if cited.link else ""
    words = filter(None, (one_line(label), named, place, pages, section))
    return "\n".join([f"{head}{'  '.join(words)}", *lines])


def _render_figures(cited: types.Citation) -> Iterator[str]:
    """Yield a line for each figure of a citation: its caption, file and page."""
    indent = " " * len(f"  [{cited.number}] ")
    for each in cited.figures:
        page = f", page {each.page}" if each.page else ""
        words = f"figure: {each.caption} ({cited.source or cited.document_id}{page})"
        yield dim(wrap_text(one_line(words), first=indent, rest=indent))


def _render_unread(cited: types.Citation) -> list[str]:
    """Return a note on unread parts of a cited document, if any."""
    if not cited.partly:
        return []
    indent = " " * len(f"  [{cited.number}] ")
    note = f"This document was read in part: {'; '.join(map(one_line, cited.partly))}"
    return [dim(wrap_text(note, first=indent, rest=indent, max_lines=_QUOTE_LINES))]


def _render_others(answer: types.Answer) -> Iterator[str]:
    """Yield the places of further relevant passages below quotes."""
    cited = {(each.document_id, each.chunk_id) for each in answer.citations}
    others = [p for p in answer.context.passages if (p.document_id, p.chunk_id) not in cited]
    named = (file_place(each.source or each.document_id, each.line) for each in others)
    places = list(dict.fromkeys(map(one_line, named)))[:_MOST_OTHERS]
    if answer.kind == "quoted" and places:
        yield dim(wrap_text(f"also: {', '.join(places)}", first="  ", rest="        "))


def _render_item(mark: str, head: str, texts: Sequence[str]) -> str:
    """Return `head` with the first texts that fit into two lines, at least one."""
    first = f"  {mark:<2}  "

    def lines(n: int, most: int | None = None) -> str:
        text = f"{head}{_join_first(texts, n, '; ')}"
        return wrap_text(text, first=first, rest=" " * len(first), max_lines=most)

    wanted = range(min(len(texts), _MOST_NAMES), 1, -1)
    return lines(next((n for n in wanted if lines(n).count("\n") < 2), 1), 2)


def _join_first(texts: Sequence[str], n: int, between: str) -> str:
    """Return the first `n` texts, and how many more there are."""
    others = f" and {len(texts) - n:,} more" if n < len(texts) else ""
    return f"{between.join(texts[:n])}{others}"


def _column_widths(wanted: Sequence[int]) -> list[int]:
    """Return the width of each column: the wanted one, or a fair share of the rest."""
    left = terminal_width() - 2 * len(wanted)
    widths = [0] * len(wanted)
    for place, column in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        widths[column] = min(wanted[column], max(left // (len(wanted) - place), 1))
        left -= widths[column]
    return widths


def _render_cell(text: str, width: int) -> str:
    return f"  {fit(text, width - 1)}…" if width_of(text) > width else f"  {fit(text, width)}"


def _render_notes(evidence: types.Evidence) -> Iterator[str]:
    if evidence.notes:
        yield "\n".join(wrap_text(n, first="Note: ", rest="      ") for n in evidence.notes)


class AnswerWriter:
    """Prints an answer's text while it is streamed, as `lay_out_prose` does the whole.

    One piece is always kept back: of an answer that is quoted, or that no LLM wrote, there is but
    one, and that is shown otherwise. As a block it ends the line where an error ends the answer.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._text = self._held = self._printed = ""  # what came, its last piece, what is printed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None and self._printed:
            click.echo()

    def __call__(self, piece: str | None) -> None:
        """Print a further piece; None restarts the text."""
        if piece is None:
            self._abandon()
            return
        self._text, self._held = self._text + self._held, piece
        whole, _, line = self._text.rpartition("\n")
        is_kept = line.lstrip().startswith("|") or self._text.count("```") % 2
        self._print(whole if is_kept else self._text[: self._text.rfind(" ") + 1])

    def cite(self, citation: types.Citation) -> None:
        """Print the number of a citation behind the text so far."""
        mark = f" [{citation.number}]"
        if not self._held.endswith(mark):
            self(mark)

    def finish(self, answer: types.Answer) -> bool:
        """Print the rest of an answer; return whether all of its text was printed."""
        if answer.kind != "generated" or not self._held:
            self._abandon()
            return False
        self._print(self._text + self._held if self._printed else mark_citations(answer))
        click.echo("\n")
        return True

    def _abandon(self) -> None:
        if self._printed:
            click.echo(f"\n{dim(_ANEW)}\n")
        self._reset()

    def _print(self, text: str) -> None:
        laid_out = lay_out_prose(text)
        click.echo(laid_out[len(self._printed) :], nl=False)
        self._printed = max(self._printed, laid_out, key=len)


def mark_citations(answer: types.Answer) -> str:
    """Return an answer's text with its citation numbers inserted."""
    text = answer.text
    marks = dict.fromkeys((at, each.number) for each in answer.citations for at in each.at)
    for at, number in sorted(marks, key=lambda mark: mark[0])[::-1]:
        text = f"{text[:at]} [{number}]{text[at:]}"
    return text


def lay_out_prose(text: str) -> str:
    """Return Markdown as lines for a terminal: wrapped, but for code and rows of tables.

    An item is indented below its mark; the marks of bold words and headings are left out.
    """
    lines, is_code = [], False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        if is_code or is_fence or line.lstrip().startswith("|"):
            lines.append(visible(line.expandtabs(4)))
        else:
            item = ITEM.match(line)
            head = item[0] if item else line[: len(line) - len(line.lstrip())]
            body = _HEADING.sub("", line[len(head) :]).replace("**", "")
            lines.append(wrap_text(body, first=head, rest=" " * len(head)))
        is_code ^= is_fence
    return "\n".join(lines)


# -- the part of a hit's text that says most about the query ------------------------------------


def weigh_terms(query: str, texts: Sequence[str]) -> dict[str, float]:
    """Return the query's terms found in the texts, weighted by rarity."""
    term_sets = [{*terms(text)} for text in texts]
    counts = {term: sum(term in each for each in term_sets) for term in terms(query)}
    return {term: log(1 + len(texts) / count) for term, count in counts.items() if count}


def cut_preview(text: str, weights: Mapping[str, float], *, indent: str) -> str:
    """Return two lines of `text` around its most relevant sentence, with the terms in bold.

    An ellipsis stands for what is before. A text without any of these terms is shown from its
    start.
    """
    shown = one_line(text)
    matches = [match for match in term_spans(shown) if match[0] in weights]
    room = _LINES * (max(terminal_width() - len(indent), 20) - _RAGGED)  # in columns
    room = room * len(shown) // max(width_of(shown), 1)  # in characters
    start = 0
    if matches and len(shown) > room:
        sentences = _find_sentences(text)

        def weigh(start: int) -> float:
            """Return the weight of the terms in the whole sentences that fit from a start."""
            ends = [end for _, end in sentences if start < end <= start + room]
            most = max(ends, default=start + room)
            words = {term for term, begin, end in matches if start <= begin and end <= most}
            return fsum(weights[term] for term in words)

        starts = _find_starts(shown, sentences, matches, room)
        start = max(starts, key=lambda start: (weigh(start), -start))  # the earliest of equals
    preview = f"… {shown[start:]}" if start else shown
    return mark_terms(wrap_text(preview, first=indent, rest=indent, max_lines=_LINES), weights)


def _find_sentences(text: str) -> list[tuple[int, int]]:
    """Return the ranges of the sentences in a text on one line."""
    spans = [  # a dot behind what is before a sentence keeps the space between
        (len(one_line(f"{text[:start]}.")) - 1, len(one_line(text[:end])))
        for start, end in statement_spans(text)
    ]
    return [(0, spans[0][1]), *spans[1:]] if spans else []


def _find_starts(shown: str, sentences: Spans, matches: Matches, room: int) -> Iterator[int]:
    """Yield candidate starts of a preview: 0, sentences with a match, and points before matches."""
    yield 0
    for begin, end in sentences:
        places = [place for _, place, _ in matches if begin <= place < end]
        if places:
            yield begin
        if end - begin > room:
            for place in places:
                if place > begin + _BEFORE:
                    space = shown.find(" ", place - _BEFORE, place)
                    yield space + 1 if space >= 0 else place - _BEFORE


def mark_terms(lines: str, weights: Mapping[str, float]) -> str:
    """Return lines with some terms in bold; overlapping terms are merged."""
    spans: list[tuple[int, int]] = []
    for term, start, end in term_spans(lines):
        if term in weights:
            overlaps = bool(spans) and start < spans[-1][1]
            spans.append((spans.pop()[0] if overlaps else start, end))
    for start, end in reversed(spans):
        lines = f"{lines[:start]}{click.style(lines[start:end], bold=True)}{lines[end:]}"
    return lines
