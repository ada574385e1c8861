"""Evidence to a context: numbered passages that fit a token budget together."""

from __future__ import annotations

from dataclasses import replace

from clew.errors import InputError
from clew.text import tokens
from clew.types import Context, Evidence, Hit, Passage

_SEPARATOR = "\n\n"


def build_context(evidence: Evidence, *, budget_tokens: int = 4_000) -> Context:
    """Return the hits in order, as many as fit whole; a first one that does not fit is cut.

    Numbers, titles and separators count. Raises InputError for a budget below 1.
    """
    if budget_tokens < 1:
        raise InputError(f"a context budget is at least 1 token, not {budget_tokens}")
    passages: list[Passage] = []
    text = ""
    for hit in evidence.hits:
        passage = _passage(hit, len(passages) + 1)
        longer = text + (_SEPARATOR if text else "") + written(passage)
        if tokens.count(longer) > budget_tokens:
            if not passages and (cut := _shortened(passage, budget_tokens)).text:
                passages, text = [cut], written(cut)
            break
        passages.append(passage)
        text = longer
    return Context(
        passages=tuple(passages),
        text=text,
        n_tokens=tokens.count(text),
        budget_tokens=budget_tokens,
    )


def written(passage: Passage) -> str:
    """Return a passage as it stands in a context."""
    title = f" {' '.join(passage.title.split())}" if passage.title else ""
    return f"[{passage.number}]{title}\n{passage.text}"


def _passage(hit: Hit, number: int) -> Passage:
    return Passage(
        number=number,
        chunk_id=hit.chunk_id,
        document_id=hit.document_id,
        title=hit.title,
        source=hit.source,
        start=hit.start,
        end=hit.end,
        text=hit.text,
    )


def _shortened(passage: Passage, budget_tokens: int) -> Passage:
    """Return the passage cut so that it fits alone; its text is empty where not even that does.

    A title that would take more than half of the budget is left out.
    """
    if 2 * tokens.count(passage.title) > budget_tokens:
        passage = replace(passage, title="")
    text = passage.text
    while text:
        over = tokens.count(written(replace(passage, text=text))) - budget_tokens
        if over <= 0:
            break
        text = tokens.truncate(text, max(tokens.count(text) - over, 0))
    return replace(passage, text=text, end=passage.start + len(text))
