"""Make anew what is damaged in an index in a folder, from the texts that it holds.

What an LLM made of chunks comes back for those that had it before: which these were is read from
what is left of the index and noted, and where it is lost, those are meant whose reply is recorded.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew import readers
from clew.base.runtime.private import make_inner_folder
from clew.base.types import (
    FALLBACK,
    GRAPH,
    IMPORTED_MARK,
    KINDS,
    LLM_MADE,
    SOURCES,
    Document,
    Skipped,
)
from clew.errors import DamagedIndex, InputError, MissingExtra
from clew.index import adding
from clew.index import recipe as recipes
from clew.index.building import build_batch
from clew.index.choose import LEFT as LEFT_PACK
from clew.index.choose import ReplyMemory, assign_packs, read_wanted
from clew.index.extract import (
    ExtractionCorpus,
    ExtractionReport,
    extract_by_llm,
    extract_by_rules,
    get_task,
)
from clew.index.generation import compaction
from clew.index.layers.chunks import cut_chunks, sentence_columns
from clew.index.origins import find_files, get_roots
from clew.index.store import Store, schema
from clew.index.store.embedded import EmbeddedStore, replace_files
from clew.index.store.repair import StandIns
from clew.index.store.schema import Segment
from clew.models import Extractor, Models
from clew.models.ledger import Ledger
from clew.models.run import Meter
from clew.readers.roots import Roots
from clew.text.chunking import Chunking

NOTE = "repair"  # what a store keeps under it: what was decided, until it is done again
LEFT, WAITS, UNKNOWN = -1, -2, -3  # of a chunk that has no extraction

# By kind and document: of each chunk what made its extraction, a place in SOURCES, or one of these.
Decided = dict[str, dict[str, list[int]]]

_RECORDED = SOURCES.index("recorded")
_PAID = [LLM_MADE, FALLBACK, _RECORDED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What a repair did; every other document is as it was."""

    documents: list[str] = field(default_factory=list)  # ids of those indexed again, from the index
    reread: list[str] = field(default_factory=list)  # of those indexed again, from their files
    lost: list[str] = field(default_factory=list)  # of those that are gone: add or import them
    # Of those whose triples came from a file and are gone: import these again.
    without_triples: list[str] = field(default_factory=list)
    paid: list[str] = field(default_factory=list)  # files with replies or vectors that were mended
    is_unsure: bool = False  # more may be lost than can be named


def repair_index(store: EmbeddedStore, models: Models, meter: Meter) -> Repaired:
    """Index the documents again whose rows are damaged, and write all that is sound anew.

    Subjects of an imported graph have no text to be indexed again: damaged ones are removed. What
    was extracted is left to `recall_extractions`, for which it is noted what was decided. A process
    that is killed loses nothing, and the next one goes on.
    """
    recipes.check_recipe(store.recipe, recipes.build_model_recipe(models))
    store.lock()
    damage = store.stand_ins()
    if not damage.is_damaged:
        return Repaired()
    hashes = store.hashes()
    with closing(store.open_view(damage.segments)) as view:
        ids = {row: name for name, row in view.live_documents()}
        imported = {row for row in ids if hashes[ids[row]].startswith(IMPORTED_MARK)}
        is_bare = (damage.sources[GRAPH] == 0) | damage.lost[GRAPH]  # chunks without sound triples
        gone = imported & {*damage.documents.tolist(), *damage.owners[is_bare].tolist()}
        rows = [row for row in damage.documents.tolist() if row in ids and row not in imported]
        documents = view.documents(rows)
    texts = [(each, hashes[each.id]) for each in documents]
    work = {kind: store.work(kind) for kind in KINDS}
    touched = {row: ids[row] for row in {*rows, *damage.extracted} if row in ids.keys() - imported}
    decided, before = _read_decisions(damage, touched, work), store.note(NOTE)
    # What was noted by a repair that was killed stays.
    store.set_note(NOTE, {kind: {**decided[kind], **before.get(kind, {})} for kind in KINDS})
    _commit_texts(texts, store, models, meter)
    lost = [ids[row] for row in sorted(gone)]
    store.remove(lost)
    _rewrite_store(store, models)
    return Repaired(
        documents=[document.id for document, _ in texts],
        lost=lost,
        without_triples=_find_without_triples(damage, rows, ids),
    )


def _commit_texts(texts: adding.Hashed, store: EmbeddedStore, models: Models, meter: Meter) -> None:
    for batch in adding.group_batches(texts):
        built = build_batch([document for document, _ in batch], store, models, meter)
        store.commit(built, [content for _, content in batch])


def _find_without_triples(
    damage: StandIns, again: Iterable[int], ids: Mapping[int, str]
) -> list[str]:
    """Return the ids of documents whose triples were recorded in a file and are gone."""
    recorded = damage.sources[GRAPH] == _RECORDED
    gone = recorded & (damage.lost[GRAPH] | np.isin(damage.owners, [*again]))
    return sorted(ids[row] for row in {*damage.owners[gone].tolist()} if row in ids)


def _read_decisions(
    damage: StandIns | None,
    documents: Mapping[int, str],
    work: Mapping[str, Mapping[int, int]] | None,
) -> Decided:
    """Return what was decided of each chunk of some documents, by kind and by their ids.

    Where nothing is left of a document's chunks it has none here.
    """
    decisions: Decided = {kind: {name: [] for name in documents.values()} for kind in KINDS}
    if damage is None:
        return decisions
    none = UNKNOWN if damage.is_unsure or work is None else 0
    chunks = np.flatnonzero(np.isin(damage.owners, [*documents]))
    for kind in KINDS:
        for chunk in chunks.tolist():
            pack = (work or {}).get(kind, {}).get(chunk)
            code = int(damage.sources[kind][chunk]) or none
            if pack is not None:
                code = LEFT if pack < 0 else WAITS
            decisions[kind][documents[int(damage.owners[chunk])]].append(code)
    return decisions


def _rewrite_store(store: EmbeddedStore, models: Models) -> None:
    """Write all that is live as one segment, with the names that were lost embedded again."""
    damage = store.stand_ins()
    segments: list[Segment] = list(damage.segments)
    with closing(store.open_view(segments)) as view:
        if len(damage.unnamed):
            keys = view.keys("entity", damage.unnamed.tolist())
            vectors = models.embedder.embed(keys, kind="document")
            coded = schema.encode_array("name.vectors", vectors, store.recipe)
            segments.append({"name.entity": damage.unnamed, "name.vectors": coded})
        live = np.asarray([row for _, row in view.live_documents()], dtype=np.int64)
        compacted = compaction.compact_segments(segments, live)
    store.rewrite(compacted)


def rebuild_index(folder: Path, store: EmbeddedStore, models: Models, meter: Meter) -> Repaired:
    """Index all documents again whose texts can be read, where the database is damaged.

    Those whose texts are lost are read from their files, where these are still there. The damaged
    files go into the folder `damaged` of the index; `store` is closed.
    """
    recipes.check_recipe(store.recipe, recipes.build_model_recipe(models))
    store.lock()
    salvaged = store.salvage(adding.hash_content)
    documents = salvaged.documents.values()
    imported = [i.id for i, content in documents if content.startswith(IMPORTED_MARK)]
    texts = [each for each in documents if not each[1].startswith(IMPORTED_MARK)]
    place = folder / "repaired"
    shutil.rmtree(place, ignore_errors=True)
    make_inner_folder(place)
    ids = {row: each.id for row, (each, _) in salvaged.documents.items()}
    without_triples: list[str] = []
    with EmbeddedStore.create(place, store.recipe) as new:
        for name, values in salvaged.notes.items():
            new.set_note(name, values)
        damage = None
        with suppress(DamagedIndex):  # where the database does not say which segments there are
            damage = store.stand_ins()
        new.set_note(NOTE, _read_decisions(damage, ids, salvaged.work))
        if damage is not None:
            without_triples = _find_without_triples(damage, ids, ids)
        damage = None  # Windows moves no files that are mapped
        _commit_texts(texts, new, models, meter)
        sentences = store.sentence_keys() if salvaged.is_unsure else set()
        known = {document.id for document, _ in documents}
        read = list(_read_files(salvaged.lost, known, sentences, get_roots(new, folder)))
        _commit_texts(read, new, models, meter)
        if salvaged.vocabulary:
            new.set_vocabulary(salvaged.vocabulary)
    store.close()
    replace_files(folder, place)
    reread = [each.id for each, _ in read]
    return Repaired(
        documents=[each.id for each, _ in texts],
        reread=reread,
        lost=[*imported, *(each for each in salvaged.lost if each not in set(reread))],
        without_triples=without_triples,
        is_unsure=salvaged.is_unsure,
    )


def _read_files(
    lost: Iterable[str], known: set[str], sentences: set[int], roots: Mapping[str, Path]
) -> Iterator[tuple[Document, str]]:
    """Yield documents that are `lost`, with their hashes, as far as their files are still there.

    Where not all of these can be named, others that are not `known` count as well, if the index has
    most of their `sentences`.
    """
    wanted, read = set(lost), set(known)
    likely = [place for each in sorted(wanted) for place in find_files(each, roots)]
    for path in [*dict.fromkeys(likely), *roots.values()]:  # a record may have any id
        if not (wanted or sentences):
            return
        with suppress(InputError, MissingExtra):  # then its documents are lost
            for item in readers.read([path], Roots(roots)):
                if isinstance(item, Skipped) or item.id in read:
                    continue
                if item.id in wanted or _has_most(sentences, item):
                    wanted.discard(item.id)
                    read.add(item.id)
                    yield item, adding.hash_content(item)


def _has_most(sentences: set[int], document: Document) -> bool:
    if not sentences:
        return False
    keys = sentence_columns(cut_chunks([document], Chunking()))["sentence.key"].tolist()
    return 2 * sum(key in sentences for key in keys) > len(keys)


# -- and what was extracted -----------------------------------------------------------------------


def recall_extractions(
    store: Store, models: Models, *, ledger: Ledger, rules: Extractor | None = None
) -> ExtractionReport:
    """Extract from the chunks that were chosen before a repair, and from no other ones.

    Recorded replies are taken of any model. What is not recorded is asked of the LLM, if there is
    one; it waits where there is none, or the budget is spent. `rules` extract triples where these
    are not wanted of an LLM.
    """
    wanted, decided = read_wanted(store), store.note(NOTE)
    with closing(ExtractionCorpus(store, models)) as corpus:
        if rules is not None:
            extract_by_rules(corpus, rules, wanted.triples)
        for kind in wanted.list_kinds():
            memory = ReplyMemory.from_llm(ledger, models.llm, gleanings=wanted.gleanings)
            memory = corpus.remember(memory)
            memories = [memory, *memory.list_others(kind)]
            rows = _requeue_decided(corpus, kind, decided.get(kind, {}), memories)
            task = get_task(corpus, kind)
            for each in memories:
                extract_by_llm(corpus, None, task, each, rows)
            if models.llm is not None:
                extract_by_llm(corpus, models.llm, task, memory, rows)
    if decided:
        store.set_note(NOTE, {})
    return corpus.done


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
    again = np.isin(codes, (LLM_MADE, FALLBACK)) | (have & np.isin(codes, (0, UNKNOWN)))
    left = (codes == LEFT) | ((codes == UNKNOWN) & ~have & is_recorded)
    store.set_work(kind, {int(corpus.stored[row]): LEFT_PACK for row in rows[left]})
    for some in (rows[again], rows[codes == WAITS]):
        packs = assign_packs(store, snapshot, some, corpus.texts, mark_known, kind)
        store.set_work(kind, packs)
    return frozenset(rows[again].tolist())


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
