"""Rebuild a damaged index in a folder from its stored texts.

All documents are indexed again, since that needs no knowledge of what was damaged. What an LLM made
of their chunks comes back from its recorded replies, whatever the model, and no LLM is asked.
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
from clew.base.types import GRAPH, IMPORTED_MARK, KINDS, SOURCES, Document, Skipped
from clew.errors import DamagedIndex, InputError, MissingExtra
from clew.index import adding
from clew.index import recipe as recipes
from clew.index.building import build_batch
from clew.index.choose import LEFT, PAID, PARSED, ReplyMemory, assign_packs, read_requested
from clew.index.extract import ExtractionCorpus, extract_by_llm, extract_by_rules, get_task
from clew.index.layers.chunks import cut_chunks, sentence_columns
from clew.index.origins import find_files, get_roots
from clew.index.store import schema
from clew.index.store.embedded import EmbeddedStore, replace_files
from clew.index.store.segmented import Store
from clew.models import Extractor, Models
from clew.models.ledger import Ledger
from clew.models.run import Meter
from clew.readers.roots import Roots
from clew.text.chunking import Chunking

_OWNERS = schema.parent_column("chunk")
_NOT_REMADE = [SOURCES.index(source) for source in ("recorded", PARSED)]
NOTE = "repair"  # what a store keeps under it: kinds of which chunks waited, until they do again


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What a repair did."""

    documents: list[str] = field(default_factory=list)  # ids of those indexed again, from the index
    reread: list[str] = field(default_factory=list)  # of those indexed again, from their files
    lost: list[str] = field(default_factory=list)  # of those that are gone: add or import them
    # Of those whose triples came from a file, or from a parse of an earlier version, and are gone.
    without_triples: list[str] = field(default_factory=list)
    paid: list[str] = field(default_factory=list)  # files with replies or vectors that were mended
    is_unsure: bool = False  # more may be lost than can be named


def rebuild_index(folder: Path, store: EmbeddedStore, models: Models, meter: Meter) -> Repaired:
    """Index all documents with readable texts again.

    Those whose texts are lost are read from their files, where these are still there. Subjects of
    an imported graph have no text, so they are lost. The damaged files go into the folder `damaged`
    of the index; `store` is closed.
    """
    recipes.check_recipe(store.recipe, recipes.build_model_recipe(models))
    store.lock()
    salvaged = store.salvage(adding.hash_content)
    documents = salvaged.documents.values()
    imported = [i.id for i, content in documents if content.startswith(IMPORTED_MARK)]
    texts = [each for each in documents if not each[1].startswith(IMPORTED_MARK)]
    recorded = _find_recorded(store)
    place = folder / "repaired"
    shutil.rmtree(place, ignore_errors=True)
    make_inner_folder(place)
    work = salvaged.work or {}
    waited = [kind for kind in KINDS if max(work.get(kind, {}).values(), default=LEFT) > LEFT]
    with EmbeddedStore.create(place, store.recipe) as new:
        for name, values in salvaged.notes.items():
            new.set_note(name, values)
        new.set_note(NOTE, {"waited": waited})
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
        without_triples=sorted(
            each.id for row, (each, _) in salvaged.documents.items() if row in (recorded or ())
        ),
        is_unsure=salvaged.is_unsure or recorded is None,
    )


def _find_recorded(store: EmbeddedStore) -> set[int] | None:
    """Return the stored rows of documents with triples of a file or a parse, or None if unknown."""
    with suppress(DamagedIndex), closing(store.view()) as view:
        chunks, kinds, sources, owners = (
            schema.concatenate_column(view.segments, name)
            for name in ("extraction.chunk", "extraction.kind", "extraction.source", _OWNERS)
        )
        is_recorded = (kinds == KINDS.index(GRAPH)) & np.isin(sources, _NOT_REMADE)
        return set(owners[chunks[is_recorded]].tolist())
    return None


def _commit_texts(texts: adding.Hashed, store: EmbeddedStore, models: Models, meter: Meter) -> None:
    for batch in adding.group_batches(texts):
        built = build_batch([document for document, _ in batch], store, models, meter)
        store.commit(built, [content for _, content in batch])


def _read_files(
    lost: Iterable[str], known: set[str], sentences: set[int], roots: Mapping[str, Path]
) -> Iterator[tuple[Document, str]]:
    """Yield the `lost` documents, with hashes, whose files still exist.

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
) -> None:
    """Restore extractions: recorded LLM replies, else `rules`.

    Recorded replies are taken of any model. Other chunks are left as they are where the ledger has
    any reply of the kind, unless some waited when the index was damaged: then the next `add` with
    an LLM chooses among them.
    """
    wanted, waited = read_requested(store), store.note(NOTE).get("waited", ())
    with closing(ExtractionCorpus(store, models)) as corpus:
        if rules is not None:
            extract_by_rules(corpus, rules)
        for kind in wanted.list_kinds():
            memory = ReplyMemory.from_llm(ledger, models.llm, wanted, corpus.listed)
            memories = [memory, *memory.list_others(kind)]
            rows = _choose_recorded(corpus, kind, memories, is_left=kind not in waited)
            for each in memories:
                extract_by_llm(corpus, None, get_task(corpus, kind), each, rows)
    store.set_note(NOTE, {})


def _choose_recorded(
    corpus: ExtractionCorpus, kind: str, memories: Sequence[ReplyMemory], *, is_left: bool
) -> frozenset[int]:
    """Queue the chunks with recorded replies, and return their rows."""

    def mark_known(kind: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        have = np.zeros(len(texts), dtype=np.bool_)
        for memory in memories:
            have |= memory.mark_known(kind, texts)
        return have

    undone = corpus.snapshot.are_texts() & ~np.isin(corpus.read_sources(kind), PAID)
    rows = np.flatnonzero(undone)
    is_known = mark_known(kind, [corpus.texts[row] for row in rows.tolist()])
    known = rows[is_known]
    packs = assign_packs(corpus.store, corpus.snapshot, known, corpus.texts, mark_known, kind)
    left = corpus.stored[rows[~is_known]].tolist() if is_left and len(known) else ()
    corpus.store.set_work(kind, {**dict.fromkeys(left, LEFT), **packs})
    return frozenset(known.tolist())
