"""Quote all steps of the list that answers a how-to question, not one of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.base.runtime.lazy import compile_re
from clew.text.numbered import find_item_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.answers.quotes import Quote
    from clew.base.types import Context
    from clew.index.snapshot import Snapshot

_LONGEST = 900  # characters of the steps that are quoted, in whole steps
_ASKS_HOW = compile_re(
    r"\W*(?:and |but )?(?:how (?:(?:do|can|should|must|would|could) (?:i|we|you|one|people)|to)\b"
    r"|(?:what|which)(?: are the)? steps\b|what (?:must|should|do|does|has|have) .+ (?:to )?do\b"
    r"|wie (?:\w+ )?(?:ich|man|wir)\b|comment (?:\w+ )?(?:je|on|\w+r)\b|cómo (?:se|\w+o)\b)",
    re.IGNORECASE,
)


def quote_steps(
    question: str, quotes: Sequence[Quote], context: Context, snapshot: Snapshot | None
) -> tuple[list[Quote], Context]:
    """Return the quotes with all steps in the first, where that is one of them or their lead-in.

    Returned with them is the context, whose passage is widened to the end of the list if need be.
    A question for one step by its number keeps that one.
    """
    is_asked = _ASKS_HOW.match(question) and not find_item_number(question)
    if not (quotes and is_asked and snapshot is not None):
        return list(quotes), context
    first, passage = quotes[0], quotes[0].passage
    row = snapshot.layer("document").rows([passage.document_id])[0]
    if row < 0:
        return list(quotes), context
    [document] = snapshot.documents([row])
    from clew.text.step_lists import find_steps

    span = find_steps(document.text, first.end - 1, document.headings, question, _LONGEST)
    if span is None or span[0] < passage.start - _LONGEST:
        return list(quotes), context
    start, end = min(passage.start, span[0]), max(passage.end, span[1])
    widened = replace(passage, start=start, end=end, text=document.text[start:end])
    passages = tuple(widened if each is passage else each for each in context.passages)
    others = [
        each._replace(passage=widened) if each.passage is passage else each
        for each in quotes[1:]
        if each.passage.document_id != passage.document_id or not span[0] <= each.start < span[1]
    ]
    steps = first._replace(passage=widened, start=span[0], end=span[1])
    return [steps, *others], replace(context, passages=passages)
