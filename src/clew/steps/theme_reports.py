"""Have an LLM write reports on themes.

A report's prompt contains only passages of its theme, so its reply stays in the ledger until these
change. It leaves out the theme's name, which changes with other themes.
"""

from collections.abc import Sequence
from itertools import chain, zip_longest

import numpy as np

from clew import steps
from clew.algo.pool import take_fitting
from clew.algo.topk import top_k
from clew.models import LLM
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import number_texts
from clew.models.prompts.quoted import quote_lines
from clew.steps.themes import Themes
from clew.text.normalize import collapse

REPORT_TOKENS = 300  # of a report, at most
_AROUND = 160  # tokens of a prompt beside its passages


def count_report_tokens(found: Themes, rows: Sequence[int], passage_tokens: int) -> int:
    """Estimate the tokens of the prompts for some reports."""
    sizes = np.asarray(found.snapshot.layer("chunk").columns["n_tokens"])
    of_themes = (int(sizes[found.chunks(row)].sum()) for row in rows)
    return sum(min(n, passage_tokens) + _AROUND for n in of_themes)


def _choose_passages(found: Themes, theme: int, limit: int) -> list[int]:
    """Return the chunks of a theme that fit a number of tokens, ascending.

    They are those nearest to its middle, of a theme with parts from each in turn.
    """
    layer = found.snapshot.layer("chunk")
    sizes = layer.columns["n_tokens"]
    parts = [_order_chunks(found, part) for part in found.children(theme) or [theme]]
    turns = chain.from_iterable(zip_longest(*parts))
    kept = take_fitting((c for c in turns if c is not None), lambda c: int(sizes[c]), limit)
    return sorted(kept) or parts[0][:1]


def _order_chunks(found: Themes, theme: int) -> list[int]:
    chunks = found.chunks(theme)
    vectors = found.snapshot.layer("chunk").vectors
    near = np.asarray(vectors[chunks] @ found.vectors[theme], dtype=np.float64)
    order: list[int] = chunks[top_k(near, len(chunks))].tolist()
    return order


def write_reports(
    llm: LLM, found: Themes, rows: Sequence[int], passage_tokens: int
) -> tuple[list[str], tuple[str, ...]]:
    """Return the report on each theme, "" if the LLM gives none, with notes."""
    layer = found.snapshot.layer("chunk")
    chosen = (layer.texts(_choose_passages(found, row, passage_tokens)) for row in rows)
    passages = (quote_lines(number_texts(texts)) for texts in chosen)
    prompts = [
        fill_prompt("theme_report", max_tokens=REPORT_TOKENS, passages=each) for each in passages
    ]
    replies = steps.replies_to(llm, prompts)
    missing = next((reply.error for reply in replies if reply.error), "")
    note = f"the LLM wrote no report on some themes ({missing}): their sentences instead"
    reports = ["" if reply.error else collapse(reply.text) for reply in replies]
    return reports, (note,) if missing else ()
