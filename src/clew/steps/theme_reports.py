"""Have an LLM write reports on themes, and score their points for a question.

A report's prompt contains only passages of its theme, so its reply stays in the ledger until these
change. It leaves out the theme's name, which changes with other themes.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

import numpy as np

from clew import steps
from clew.algo.pool import take_fitting
from clew.algo.topk import top_k
from clew.errors import BudgetSpent
from clew.models import LLM, Prompt, Reply
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts, valid_places
from clew.models.prompts.quoted import quote_lines
from clew.steps.themes import Themes
from clew.text import tokens
from clew.text.normalize import collapse

REPORT_TOKENS = 300  # of a report, at most
_AROUND = 160  # tokens of a prompt beside its passages
_BATCH = 8_000  # tokens of the reports of one prompt, as in GraphRAG's experiments
_POINTS_TOKENS = 1_000
_POINTS = closed_schema(
    {
        "points": {
            "type": "array",
            "items": closed_schema(
                {
                    "text": {"type": "string"},
                    "report": {"type": "integer"},
                    "helpfulness": {"type": "integer"},
                }
            ),
        }
    }
)


def build_report_prompts(found: Themes, rows: Sequence[int], passage_tokens: int) -> list[Prompt]:
    """Return the prompt for a report on each theme, with a limit on the tokens of passages."""
    layer = found.snapshot.layer("chunk")
    chosen = (_choose_passages(found, row, passage_tokens) for row in rows)
    return [
        fill_prompt(
            "theme_report",
            max_tokens=REPORT_TOKENS,
            passages=quote_lines(number_texts(layer.texts(chunks))),
        )
        for chunks in chosen
    ]


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
    replies = _complete(llm, build_report_prompts(found, rows, passage_tokens))
    missing = next((reply.error for reply in replies if reply.error), "")
    note = f"the LLM wrote no report on some themes ({missing}): their sentences instead"
    reports = ["" if reply.error else collapse(reply.text) for reply in replies]
    return reports, (note,) if missing else ()


def score_points(
    llm: LLM, query: str, reports: Sequence[str]
) -> tuple[list[tuple[str, int, int]], tuple[str, ...]]:
    """Return points that help to answer a question, the position of each one's report, and scores.

    Most helpful first, without useless ones. Reports are read in batches, in a random order that is
    fixed for all questions.
    """
    order = np.random.default_rng(0).permutation(len(reports)).tolist()
    batches: list[list[int]] = []
    left = 0
    for place in order:
        size = tokens.count(reports[place])
        if not batches or size > left:
            batches.append([])
            left = _BATCH
        batches[-1].append(place)
        left -= size
    asked = [
        fill_prompt(
            "theme_points",
            schema=_POINTS,
            max_tokens=_POINTS_TOKENS,
            question=collapse(query),
            reports=quote_lines(number_texts([reports[place] for place in batch])),
        )
        for batch in batches
    ]
    replies = _complete(llm, asked)
    missing = next((reply.error for reply in replies if reply.error), "")
    points = chain.from_iterable(map(_read_points, replies, batches))
    best = sorted(points, key=lambda point: -point[2])
    return best, (f"the LLM scored no points of some reports ({missing})",) if missing else ()


def _read_points(reply: Reply, batch: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    for point in () if reply.error else reply.data["points"]:
        place = valid_places([point["report"]], len(batch))
        score = min(int(point["helpfulness"]), 100)
        if place and score > 0 and point["text"].strip():
            yield collapse(point["text"]), batch[place[0]], score


def _complete(llm: LLM, asked: Sequence[Prompt]) -> list[Reply]:
    """Return the replies to prompts; if the budget is spent, those already paid for."""
    if len(asked) > 1:
        try:
            return list(llm.complete(asked))
        except BudgetSpent:
            pass  # what was paid for is recorded, and comes back one by one
    return [steps.reply_to(llm, each) for each in asked]
