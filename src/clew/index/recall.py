"""Extract once more, behind a repair, what chunks had before, from recorded replies.

Which chunks were chosen is not decided again: it was noted of the documents that were damaged, as
far as it could be read. Where it could not, a chunk whose reply is recorded was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clew.index.choose import LEFT as LEFT_PACK
from clew.index.choose import ReplyMemory, assign_packs, read_wanted
from clew.index.extract import (
    ExtractionCorpus,
    ExtractionReport,
    extract_by_llm,
    extract_by_rules,
    get_task,
)
from clew.types import FALLBACK, LLM_MADE, SOURCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.models import Extractor, Models
    from clew.models.ledger import Ledger
    from clew.store import Store

NOTE = "repair"  # what a store keeps under it: what was decided, until it is done again
LEFT, WAITS, UNKNOWN = -1, -2, -3  # of a chunk that has no extraction

# By kind and document: of each chunk what made its extraction, a place in SOURCES, or one of these.
Decided = dict[str, dict[str, list[int]]]

_PAID = [LLM_MADE, FALLBACK, SOURCES.index("recorded")]


def recall_extractions(
    store: Store, models: Models, *, ledger: Ledger, rules: Extractor | None = None
) -> ExtractionReport:
    """Extract from the chunks that were chosen before a repair, and from no other ones.

    Recorded replies are taken of any model. What is not recorded is asked of the LLM, if there is
    one; it waits where there is none, or the budget is spent. `rules` extract triples where these
    are not wanted of an LLM.
    """
    wanted, decided, done = read_wanted(store), store.note(NOTE), ExtractionReport()
    recorded = replace(models, llm=None)
    with closing(ExtractionCorpus(store)) as corpus:
        if rules is not None:
            extract_by_rules(corpus, models, rules, wanted.triples, done)
        for kind in wanted.list_kinds():
            name = models.llm.name if models.llm is not None else ""
            memory = corpus.remember(ReplyMemory(ledger, name))
            memories = [memory, *memory.list_others(kind)]
            rows = _requeue_decided(corpus, kind, decided.get(kind, {}), memories)
            task = get_task(corpus, kind)
            for each in memories:
                extract_by_llm(corpus, recorded, task, each, done, among=rows)
            if models.llm is not None:
                extract_by_llm(corpus, models, task, memory, done, among=rows)
    if decided:
        store.set_note(NOTE, {})
    return done


def _requeue_decided(
    corpus: ExtractionCorpus,
    kind: str,
    decided: Mapping[str, Sequence[int]],
    memories: Sequence[ReplyMemory],
) -> frozenset[int]:
    """Let chunks wait that were chosen, leave those that were left, and return the former's rows.

    Those that waited before wait again, and are not among them.
    """
    store, snapshot, work = corpus.store, corpus.snapshot, corpus.store.work(kind)
    undone = snapshot.are_texts() & ~np.isin(corpus.read_sources(kind), _PAID)
    undone &= ~np.isin(corpus.stored, list(work))
    rows = np.flatnonzero(undone)
    if not len(rows):
        return frozenset()

    def mark_known(kind: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        have = np.zeros(len(texts), dtype=np.bool_)
        for memory in memories:
            have |= memory.mark_known(kind, texts)
        return have

    have = mark_known(kind, [corpus.texts[row] for row in rows.tolist()])
    codes = _decided_codes(corpus, rows, decided)
    is_recorded = bool(memories[0].list_others(kind)) or bool(have.any())
    chosen = np.isin(codes, (LLM_MADE, FALLBACK)) | (have & np.isin(codes, (0, UNKNOWN)))
    left = (codes == LEFT) | ((codes == UNKNOWN) & ~have & is_recorded)
    store.set_work(kind, {int(corpus.stored[row]): LEFT_PACK for row in rows[left]})
    for some in (rows[chosen], rows[codes == WAITS]):
        packs = assign_packs(store, snapshot, some, corpus.texts, mark_known, kind)
        store.set_work(kind, packs)
    return frozenset(rows[chosen].tolist())


def _decided_codes(
    corpus: ExtractionCorpus, rows: NDArray[np.intp], decided: Mapping[str, Sequence[int]]
) -> NDArray[np.int64]:
    """Return the decisions on some chunks, 0 where none is recorded.

    Of a document that had another number of chunks, as far as could be read, nothing is known.
    """
    owners = corpus.snapshot.layer("chunk").columns["document"]
    firsts = np.searchsorted(owners, np.arange(int(owners[-1]) + 2))
    ids = corpus.snapshot.layer("document").ids(owners[rows].tolist())
    codes = np.zeros(len(rows), dtype=np.int64)
    for i, (row, name) in enumerate(zip(rows.tolist(), ids, strict=True)):
        if name in decided:
            first, behind = firsts[owners[row]], firsts[owners[row] + 1]
            is_known = len(decided[name]) == behind - first
            codes[i] = decided[name][row - first] if is_known else UNKNOWN
    return codes
