"""Counts, lists and amounts over the whole index, from rows of tables and from sentences.

Each total has its items, and each item its place. What it does not know how to count is retrieved
as by default. How questions are read: docs/guides/answers.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clew import methods, steps
from clew.models import Models
from clew.snapshot import Snapshot
from clew.steps.grids import gather_grids
from clew.steps.table_counts import TableResult, read_table
from clew.steps.text_counts import TextItem, read_texts
from clew.text.counting import CountQuestion, read_count_question
from clew.text.quantities import format_count
from clew.types import Counted, CountedItem, Evidence, Hit, Limits

_QUOTED = 200  # items, at most, whose rows are hits


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a question asks of all there is, counted; else the default method's evidence."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity", "term"})
    needs: ClassVar = (*steps.LEXICAL, steps.MENTIONED)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned where nothing is counted

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "chunks")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        counted = count_all(query, snapshot, models)
        if counted is None:
            kind = methods.load(methods.DEFAULT)
            bound = methods.get_limits(kind).chunks
            return kind(**{bound: self.chunks}).retrieve(query, snapshot, models)
        hits = _build_hits(snapshot, counted.items)
        return Evidence(query=query, method="counts", hits=hits, counted=counted)


def count_all(query: str, snapshot: Snapshot, models: Models) -> Counted | None:
    """Return what a question asks of all there is, None where neither tables nor texts tell."""
    question = read_count_question(query)
    if question is None:
        return None

    def near(words: Sequence[str], others: Sequence[str]) -> NDArray[np.floating]:
        vectors = models.embedder.embed([*words, *others], kind="query")
        return np.asarray(vectors[: len(words)] @ vectors[len(words) :].T)

    results = [
        result
        for grid in gather_grids(snapshot, query)
        if (result := read_table(question, grid, near)) is not None
    ]
    if results:
        best = max(results, key=lambda each: each.score)
        return _of_table(snapshot, best, is_exact=snapshot.totals is None)
    texts = read_texts(question, snapshot)
    return _of_texts(snapshot, texts, question) if texts else None


def _of_table(snapshot: Snapshot, result: TableResult, *, is_exact: bool) -> Counted:
    ids = snapshot.layer("document").ids([row.document for row in result.rows])
    items = tuple(
        CountedItem(label=label, document_id=id_, start=row.start, end=row.end)
        for label, id_, row in zip(result.labels, ids, result.rows, strict=True)
    )
    n_rows = format_count(len(result.grid.rows), "row")
    files = {row.document for row in result.grid.rows}
    where = f"of {n_rows} in {format_count(len(files), 'document')}"
    note = "; ".join(filter(None, (where, result.note)))
    text = result.text if is_exact else f"at least {result.text}"
    return Counted(text=text, kind=result.kind, is_exact=is_exact, note=note, items=items)


def _of_texts(snapshot: Snapshot, found: Sequence[TextItem], question: CountQuestion) -> Counted:
    ids = snapshot.layer("document").ids([each.document for each in found])
    items = tuple(
        CountedItem(label=each.label, document_id=id_, start=each.start, end=each.end)
        for each, id_ in zip(found, ids, strict=True)
    )
    n = len({item.document_id for item in items})
    note = f"found in {format_count(n, 'document')}; there may be more"
    if question.operation == "list":
        text = ", ".join(item.label for item in items)
        return Counted(text=text, kind="list", is_exact=False, note=note, items=items)
    text = f"at least {len(items)}"
    return Counted(text=text, kind="count", is_exact=False, note=note, items=items)


def _build_hits(snapshot: Snapshot, items: Sequence[CountedItem]) -> tuple[Hit, ...]:
    """Return the ranges of the first items as parts of their chunks, each once."""
    ranges = dict.fromkeys((item.document_id, item.start, item.end) for item in items[:_QUOTED])
    documents = snapshot.layer("document").rows([each[0] for each in ranges])
    chunks = snapshot.layer("chunk")
    owners, starts = chunks.columns["document"], chunks.columns["start"]
    rows = []
    for document, (_, start, _end) in zip(documents, ranges, strict=True):
        first, last = np.searchsorted(owners, [document, document + 1])
        inside = np.searchsorted(starts[first:last], start, side="right") - 1
        rows.append(int(first + max(inside, 0)))
    whole = steps.hits(snapshot, rows, 1 / np.arange(1, len(rows) + 1))
    read = snapshot.documents(documents)
    hits = []
    for hit, document_, (_, start, end) in zip(whole, read, ranges, strict=True):
        page, last_page = document_.pages_of(start, end)
        part = replace(
            hit, start=start, end=end, text=document_.text[start:end], page=page,
            last_page=last_page, line=document_.line_at(start),
        )  # fmt: skip
        hits.append(part)
    return tuple(hits)


METHOD = Counts
GROUP = "own"
