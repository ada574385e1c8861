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
from clew.snapshot import TRANSPOSED_LINKS, Snapshot
from clew.steps.data_tables import gather_tables
from clew.steps.table_counts import TableResult, read_table
from clew.steps.text_counts import TextItem, read_texts
from clew.text.counting import CountQuestion, read_count_question
from clew.text.normalize import collapse
from clew.text.quantities import format_count
from clew.types import CountedItem, CountResult, Document, Evidence, Hit, Limits

_QUOTED = 200  # items, at most, whose rows are hits


@dataclass(frozen=True, slots=True, kw_only=True)
class CountSearch:
    """What a question asks of all there is, counted; else the default method's evidence."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity", "term"})
    needs: ClassVar = (*steps.LEXICAL, TRANSPOSED_LINKS["entity", "unit"])
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned where nothing is counted

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "chunks")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        evidence = find_counted(query, snapshot, models)
        if evidence is None:
            kind = methods.load(methods.DEFAULT)
            bound = methods.get_limits(kind).chunks
            evidence = kind(**{bound: self.chunks}).retrieve(query, snapshot, models)
        return replace(evidence, method="counts")


def find_counted(query: str, snapshot: Snapshot, models: Models) -> Evidence | None:
    """Return what a question asks of all there is, with the rows or chunks that have the items.

    None where neither tables nor texts tell, and of a snapshot that is a part of what there is.
    """
    counted = count_all(query, snapshot, models) if snapshot.totals is None else None
    if counted is None:
        return None
    hits = _build_hits(snapshot, counted)
    return Evidence(query=query, method="counts", hits=hits, counted=counted)


def count_all(query: str, snapshot: Snapshot, models: Models) -> CountResult | None:
    """Return what a question asks of all there is, None where neither tables nor texts tell."""
    question = read_count_question(query)
    if question is None:
        return None

    def compare_words(words: Sequence[str], others: Sequence[str]) -> NDArray[np.floating]:
        vectors = models.embedder.embed([*words, *others], kind="query")
        return np.asarray(vectors[: len(words)] @ vectors[len(words) :].T)

    results = [
        result
        for table in gather_tables(snapshot, query)
        if (result := read_table(question, table, compare_words)) is not None
    ]
    best = max(results, key=lambda each: each.score, default=None)
    texts = () if best is not None and best.is_sure else read_texts(question, snapshot)
    if best is not None and len(best.rows) >= len(texts):
        return _of_table(best)
    return _of_texts(snapshot, texts, question) if texts else None


def _of_table(result: TableResult) -> CountResult:
    items = tuple(
        CountedItem(
            label=collapse(label), document_id=row.document_id, start=row.start, end=row.end
        )
        for label, row in zip(result.labels, result.rows, strict=True)
    )
    files = result.table.files
    where = files[0] if len(files) == 1 else format_count(len(files), "file")
    note = f"{format_count(len(result.table.rows), 'row')} in {where}"
    note = "; ".join(filter(None, (result.note, f"of {note}")))
    return CountResult(text=result.text, kind=result.kind, is_exact=True, note=note, items=items)


def _of_texts(
    snapshot: Snapshot, found: Sequence[TextItem], question: CountQuestion
) -> CountResult:
    ids = snapshot.layer("document").ids([each.document for each in found])
    items = tuple(
        CountedItem(label=collapse(each.label), document_id=id_, start=each.start, end=each.end)
        for each, id_ in zip(found, ids, strict=True)
    )
    n = len({item.document_id for item in items})
    note = f"found in {format_count(n, 'document')}; there may be more"
    if question.operation == "list":
        text = ", ".join(item.label for item in items)
        return CountResult(text=text, kind="list", is_exact=False, note=note, items=items)
    text = f"at least {len(items)}"
    return CountResult(text=text, kind="count", is_exact=False, note=note, items=items)


def _build_hits(snapshot: Snapshot, counted: CountResult) -> tuple[Hit, ...]:
    """Return the rows of the first items, or the chunks around their sentences, each once."""
    ranges = dict.fromkeys((i.document_id, i.start, i.end) for i in counted.items[:_QUOTED])
    documents = snapshot.layer("document").rows([each[0] for each in ranges])
    columns = snapshot.layer("chunk").columns
    rows = []
    for document, (_, start, _end) in zip(documents, ranges, strict=True):
        first, last = np.searchsorted(columns["document"], [document, document + 1])
        inside = np.searchsorted(columns["start"][first:last], start, side="right") - 1
        rows.append(int(first + max(inside, 0)))
    if not counted.is_exact:
        rows = list(dict.fromkeys(rows))
    hits = steps.hits(snapshot, rows, 1 / np.arange(1, len(rows) + 1))
    if not counted.is_exact:
        return hits
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
