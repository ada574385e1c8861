"""Counts, lists and amounts over the whole index, from rows of tables.

Each total lists its items with their places. Other questions are answered by the default method.
How questions are read: docs/guides/answers.md.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clew import methods, steps
from clew.base.types import CountResult, Document, Evidence, Hit, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.data_tables import gather_tables
from clew.steps.table_counts import read_table
from clew.text.counting import read_count_question

_QUOTED = 200  # items, at most, whose rows are hits


@dataclass(frozen=True, slots=True, kw_only=True)
class CountSearch:
    """Answers counting questions over the whole index; others by the default method."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity", "term"})
    needs: ClassVar = steps.LEXICAL
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned where nothing is counted

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "chunks")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        evidence = find_counted(query, snapshot)
        if evidence is None:
            kind = methods.load(methods.DEFAULT)
            bound = methods.get_limits(kind).chunks
            evidence = kind(**{bound: self.chunks}).retrieve(query, snapshot, models)
        return replace(evidence, method="counts")


def find_counted(query: str, snapshot: Snapshot) -> Evidence | None:
    """Return what a question asks of all there is, with the rows that have the items.

    None if no table answers, or if the snapshot is only a part of the index. Of several tables that
    answer, the one that explains most of the question is taken.
    """
    question = read_count_question(query)
    if question is None or snapshot.totals is not None:
        return None
    results = (read_table(question, table) for table in gather_tables(snapshot, query))
    best = max(filter(None, results), key=lambda each: each.score, default=None)
    if best is None:
        return None
    hits = _build_hits(snapshot, best.counted)
    return Evidence(query=query, method="counts", hits=hits, counted=best.counted)


def _build_hits(snapshot: Snapshot, counted: CountResult) -> tuple[Hit, ...]:
    """Return the rows of the first items."""
    ranges = dict.fromkeys((i.document_id, i.start, i.end) for i in counted.items[:_QUOTED])
    documents = snapshot.layer("document").rows([each[0] for each in ranges])
    columns = snapshot.layer("chunk").columns
    rows = []
    for document, (_, start, _end) in zip(documents, ranges, strict=True):
        first, last = np.searchsorted(columns["document"], [document, document + 1])
        inside = np.searchsorted(columns["start"][first:last], start, side="right") - 1
        rows.append(int(first + max(inside, 0)))
    hits = steps.hits(snapshot, rows, 1 / np.arange(1, len(rows) + 1))
    parts = zip(hits, snapshot.documents(documents), ranges, strict=True)
    return tuple(_cut_hit(hit, document, *place[1:]) for hit, document, place in parts)


def _cut_hit(hit: Hit, document: Document, start: int, end: int) -> Hit:
    page, last_page = document.pages_of(start, end)
    return replace(
        hit,
        start=start,
        end=end,
        text=document.text[start:end],
        page=page,
        last_page=last_page,
        line=document.line_at(start),
    )


METHOD = CountSearch
