"""Answers, hits, threads and costs as text for people."""

from __future__ import annotations

from collections.abc import Iterator

import click

from clew.cli.plain import dim, heading, one_line, wrapped
from clew.types import Answer, Citation, Evidence, Hit, Path, Step, Usage

_SHOWN_S = 0.005  # a stage that took less is left out
_QUOTE_LINES = 3
_DECIMALS = 6  # scores that agree to these are equal; of equal paths the longest is drawn


def answer(found: Answer) -> str:
    """Return an answer, its citations, the thread that led there, and what it cost."""
    blocks = [
        *_answer_text(found),
        *citations(found),
        *_thread_block(found.evidence),
        *_notes(found.evidence),
        dim(ledger(found.usage)),
    ]
    return "\n\n".join(blocks)


def search(found: Evidence) -> str:
    """Return the hits in order, and what they cost."""
    blocks = [hit(each, place) for place, each in enumerate(found.hits, 1)]
    blocks = blocks or [f"Nothing in the index fits, as {found.method} sees it."]
    return "\n\n".join([*blocks, *_notes(found), dim(ledger(found.usage))])


def hit(found: Hit, place: int) -> str:
    """Return a hit: its place, score and source, and the first lines of its text."""
    head = f"{place:>3}  {found.score:.3f}  "
    indent = " " * len(head)
    title = f"{heading(one_line(found.title))}\n{indent}" if found.title else ""
    place_line = dim(f"{one_line(found.source)}:{found.start}-{found.end}")
    return f"{head}{title}{place_line}\n" + wrapped(
        found.text, first=indent, rest=indent, max_lines=2
    )


def citations(found: Answer) -> Iterator[str]:
    """Yield each citation: its number, file and character range, and what stands there."""
    generated = found.kind == "generated"
    if found.citations:
        yield "\n".join(_citation(each, shortened=generated) for each in found.citations)


def thread(path: Path) -> str:
    """Return a path drawn as a thread, a stop a line, each with the reason to go there."""
    marks = ["┌", *["├"] * (len(path.steps) - 2), "└"][: len(path.steps)]
    return "\n".join(_stop(*each) for each in zip(path.steps, marks, strict=True))


def ledger(usage: Usage) -> str:
    """Return what a run cost, in one line."""
    shown = {stage: s for stage, s in usage.seconds.items() if s >= _SHOWN_S}
    stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in shown.items())
    return f"{spent(usage)}; {stages or 'no time worth naming'}"


def spent(usage: Usage) -> str:
    """Return what a run cost in tokens, calls and money."""
    calls = f"{usage.llm_calls:,} LLM call{'' if usage.llm_calls == 1 else 's'}"
    said = f"{usage.total_tokens:,} token{'' if usage.total_tokens == 1 else 's'}, {calls}"
    if usage.llm_calls:
        said += ", price unknown" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    if usage.recorded_calls:
        said += f", {usage.recorded_calls:,} answered from the ledger"
    return said


def _answer_text(found: Answer) -> Iterator[str]:
    if found.kind == "generated":
        yield wrapped(found.text or "(the LLM gave an empty answer)")
    elif found.kind == "quoted":
        yield heading("The sentences that support an answer best")
    else:
        yield "No answer: nothing was found that supports one."


def _citation(cited: Citation, *, shortened: bool) -> str:
    head = f"  [{cited.number}] "
    indent = " " * len(head)
    place = click.style(f"{one_line(cited.source)}:{cited.start}-{cited.end}", fg="cyan")
    lines = _QUOTE_LINES if shortened else None
    return f"{head}{place}\n" + wrapped(
        f'"{cited.quote.strip()}"', first=indent, rest=indent, max_lines=lines
    )


def _thread_block(evidence: Evidence) -> Iterator[str]:
    if evidence.paths:
        best = max(evidence.paths, key=lambda path: (round(path.score, _DECIMALS), len(path.steps)))
        yield f"{heading('The thread')}\n{thread(best)}"


def _stop(step: Step, mark: str) -> str:
    layer = "question" if step.layer == "query" else step.layer
    below = f"  {' ' if mark == '└' else '│'} {'':<10}"
    first = f"  {mark} {layer:<10}"
    place = f"{one_line(step.document_id)}:{step.start}-{step.end}" if step.document_id else ""
    reason = f"({one_line(step.reason)})" if step.reason else ""
    where = " ".join(part for part in (place, reason) if part)
    if layer == "chunk":
        return first + dim(where)
    if layer == "unit":
        return wrapped(f'"{step.text}"', first=first, rest=below) + f"\n{below}{dim(where)}"
    return wrapped(step.text, first=first, rest=below) + (f"  {dim(where)}" if where else "")


def _notes(evidence: Evidence) -> Iterator[str]:
    if evidence.notes:
        yield "\n".join(wrapped(n, first="Note: ", rest="      ") for n in evidence.notes)
