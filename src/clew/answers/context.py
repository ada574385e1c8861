"""Fit evidence into a context: tables and numbered passages within a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.pool import take_fitting
from clew.base.runtime import arguments
from clew.base.types import Context, Evidence, Hit, Passage, Table
from clew.errors import InputError
from clew.index.snapshot import Snapshot
from clew.text import blocks, tokens

if TYPE_CHECKING:
    from clew.models.prompts.quoted import QuotedBlock


@arguments.check_values(
    {
        "evidence": arguments.instance("the Evidence that a search gave", Evidence),
        "budget_tokens": arguments.WHOLE,
    }
)
def build_context(evidence: Evidence, *, budget_tokens: int = 4_000) -> Context:
    """Return a context of the first table rows and the first hits that fit completely.

    Evidence that fits is there whole. Else the tables get half of the budget, or what the hits
    leave of it if that is more. A table of which no row fits is left out, and a first hit that
    does not fit is cut. Numbers, titles, heads and line breaks count. `text` is made of the blocks
    of `clew.text.blocks`, so a method can fill a budget exactly.

    Raises InputError for a budget below 1.
    """
    if budget_tokens < 1:
        raise InputError(f"a context budget must be at least 1 token, not {budget_tokens}")
    passages, costs = _first_passages(evidence.hits, budget_tokens)
    room = max(budget_tokens // 2, budget_tokens - sum(costs))
    tables = _fit_tables(evidence.tables, room)
    left = budget_tokens - tokens.count("".join(map(_format_table, tables)))
    n_whole = len(take_fitting(range(len(costs)), costs.__getitem__, left))
    passages = passages[: max(n_whole, 1)]
    if passages and not n_whole:
        cut = _truncate_passage(passages[0], left)
        passages = [cut] if cut.text else []
    return _make_context(passages, tables, budget_tokens)


def build_counted_context(evidence: Evidence, budget: int, snapshot: Snapshot | None) -> Context:
    """Build the context as `build_context` does, for hits whose chunks are in a snapshot, if any.

    Nothing is counted where the stored counts of the chunks say that all of it fits.
    """
    if snapshot is None:
        return build_context(evidence, budget_tokens=budget)
    chunks = snapshot.layer("chunk")
    rows = chunks.rows([hit.chunk_id for hit in evidence.hits])
    sizes = np.asarray(chunks.columns["n_tokens"])[rows].tolist()
    if evidence.tables or sum(map(_count_at_most, evidence.hits, sizes)) > budget:
        return build_context(evidence, budget_tokens=budget)
    passages = [_build_passage(hit, number) for number, hit in enumerate(evidence.hits, 1)]
    return _make_context(passages, (), budget)


def _count_at_most(hit: Hit, n_tokens: int) -> int:
    """Return an upper bound of a hit's tokens as a passage, in a chunk of `n_tokens`."""
    around = blocks.format_passage(1, hit.head, "")
    return tokens.count_part_at_most(hit.text.strip(), n_tokens) + tokens.count_bytes(around)


def _make_context(
    passages: Sequence[Passage], tables: tuple[Table, ...], budget_tokens: int
) -> Context:
    text = _format_blocks(tables, passages)
    n_tokens: Any = partial(tokens.count, text)
    return Context(
        tables=tables,
        passages=tuple(passages),
        text=text,
        n_tokens=n_tokens,
        budget_tokens=budget_tokens,
    )


def move_to_front(context: Context, first: Iterable[Passage]) -> Context:
    """Return a context that begins with the given passages, renumbered."""
    ordered = list(dict.fromkeys([*first, *context.passages]))
    passages = [replace(each, number=number) for number, each in enumerate(ordered, 1)]
    return _make_context(passages, context.tables, context.budget_tokens)


def format_context(context: Context, plain: str) -> QuotedBlock:
    """Return a context as prompt text (`plain`) or as separate rows and passages.

    The text may be the beginning of the context's own; the pieces then have no more characters.
    Passages that imitate a prompt come last, with the numbers that they have.
    """
    from clew.models.prompts.quoted import Excerpt, QuotedBlock
    from clew.text.imitations import imitates

    pieces: list[Excerpt] = []
    for table in context.tables:
        marks = [blocks.format_table_head(table.name, table.columns), *[""] * (len(table.rows) - 1)]
        rows = (blocks.format_row(cells).rstrip() for cells in table.rows)
        pieces += map(Excerpt, marks, rows)
    passages = [Excerpt(f"[{p.number}] ", f"{p.head}\n{p.text.strip()}") for p in context.passages]
    pieces += sorted(passages, key=lambda passage: imitates(passage.text))
    ends = accumulate(len(piece.line) for piece in pieces)
    whole = [piece for piece, end in zip(pieces, ends, strict=True) if end <= len(plain)]
    return QuotedBlock(tuple(whole), plain)


def _format_blocks(tables: Iterable[Table], passages: Iterable[Passage]) -> str:
    parts = [blocks.format_passage(each.number, each.head, each.text) for each in passages]
    return "".join([*map(_format_table, tables), *parts])


def _first_passages(hits: Iterable[Hit], budget_tokens: int) -> tuple[list[Passage], list[int]]:
    """Return passages with their tokens, including the first one that exceeds the budget."""
    passages: list[Passage] = []
    costs: list[int] = []
    for number, hit in enumerate(hits, 1):
        passages.append(_build_passage(hit, number))
        costs.append(tokens.count(blocks.format_passage(number, hit.head, hit.text)))
        budget_tokens -= costs[-1]
        if budget_tokens < 0:
            break
    return passages, costs


def _fit_tables(tables: Iterable[Table], limit: int) -> tuple[Table, ...]:
    """Return the first rows of each table that together fit into `limit` tokens."""
    parts = []
    for table in tables:
        part = _truncate_table(table, limit)
        if part.rows:
            parts.append(part)
            limit -= tokens.count(_format_table(part))
    return tuple(parts)


def _truncate_table(table: Table, limit: int) -> Table:
    left = limit - blocks.count_table_tokens(table.name, table.columns)
    rows = take_fitting(
        range(len(table.rows)), lambda row: blocks.count_row_tokens(table.rows[row]), left
    )
    return replace(table, rows=table.rows[: len(rows)])


def _format_table(table: Table) -> str:
    return blocks.format_table(table.name, table.columns, table.rows)


def _build_passage(hit: Hit, number: int) -> Passage:
    return Passage(
        number=number,
        chunk_id=hit.chunk_id,
        document_id=hit.document_id,
        title=hit.title,
        source=hit.source,
        start=hit.start,
        end=hit.end,
        text=hit.text,
        section=hit.section,
        page=hit.page,
        last_page=hit.last_page,
        line=hit.line,
    )


def _truncate_passage(passage: Passage, limit: int) -> Passage:
    """Return the passage truncated to `limit`; its text is empty if nothing fits."""
    head, text = blocks.truncate_passage(passage.head, passage.text, limit)
    if not head:
        passage = replace(passage, title="", section="", page=None, last_page=None)
    return replace(passage, text=text, end=passage.start + len(text))
