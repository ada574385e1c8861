"""Import a knowledge graph: triples become documents, or extractions of existing texts.

A file is mirrored: what it says of a subject replaces what it said of it before, and subjects that
are gone from it go from the index. A commit adds some subjects with all their rows, so a run that
stopped at any instant goes on where its last commit ended.
"""

import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from clew.algo.pool import group_by_size
from clew.base.display.shown import Shown
from clew.base.types import GRAPH, IMPORTED_MARK, SOURCES, Document, Extraction, Skipped, Usage
from clew.errors import InputError
from clew.index.adding import AddReport, OnProgress, add_documents
from clew.index.building import read_chunking
from clew.index.extract import PLACED, ExtractionCorpus
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch, split_extraction
from clew.index.layers.imported import Statements, build_imported_batch
from clew.index.layers.subjects import Subject, SubjectGraph
from clew.index.recipe import LATE, build_model_recipe, check_recipe
from clew.index.store.segmented import Store
from clew.models import Models, gives_tokens
from clew.models.run import Meter
from clew.readers.walk import File
from clew.text.normalize import entity_key

BATCH_TRIPLES = 4_000
_CHUNKS_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GraphImport(Shown):
    """The result of importing a graph; subjects are the documents made of its triples."""

    n_triples: int  # distinct ones that these documents have now
    n_added: int
    n_changed: int
    n_removed: int  # which the file has no more
    n_unchanged: int
    n_placed: int = 0  # triples that went to the texts they name
    n_unplaced: int = 0  # triples that named a text which the index lacks
    skipped: list[Skipped] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    system: str = ""  # of whose folder or file it is, such as "LightRAG"; none: a file of triples
    texts: AddReport | None = None  # what was done with the texts that the system keeps
    left: tuple[str, ...] = ()  # what the system keeps and is not taken


@dataclass(frozen=True, slots=True)
class StatedGraph:
    """A parsed graph file: its statements, and the lines that could not be used."""

    file: File
    stated: Statements
    skipped: list[Skipped]


def mirror_documents(
    store: Store,
    place: File,
    documents: Iterable[Document | Skipped],
    models: Models,
    *,
    meter: Meter | None = None,
    on_progress: OnProgress | None = None,
) -> AddReport:
    """Synchronize the index's texts from another system's folder with its present texts.

    What is gone from it is removed, unless a file of that name is there. Raises RecipeMismatch
    where the index was not built with `models`.
    """
    read: dict[str, str] = {}
    report = add_documents(
        store, documents, models, read=read, meter=meter, on_progress=on_progress
    )
    report.gone = [
        each
        for each, content in store.hashes().items()
        if each.startswith(f"{place.id}/")
        and each not in read
        and not content.startswith(IMPORTED_MARK)
        and not os.path.lexists(place.path / each.removeprefix(f"{place.id}/"))
    ]
    if report.gone:
        store.remove(report.gone)
        report.pruned = True
    return report


def import_graph(
    store: Store, read: StatedGraph, models: Models, *, on_progress: OnProgress | None = None
) -> GraphImport:
    """Synchronize the index with the statements of a graph file, with a commit per batch.

    What names a document that the index has goes to the chunks of that one, and replaces what was
    extracted from them before. `on_progress` is told how many more subjects are done with.
    Raises RecipeMismatch where the index was not built with `models`, and InputError where a text
    of the index has the id of a subject.
    """
    tell = on_progress or (lambda _: None)
    check_recipe(store.recipe, build_model_recipe(models))
    store.lock()  # what is done depends on what the store has now
    hashes = store.hashes()
    counts = read.stated.documents()
    n_named = sum(counts.values()) - counts.pop("", 0)
    texts = [i for i in counts if i in hashes and not hashes[i].startswith(IMPORTED_MARK)]
    graph = read.stated.to_graph(without=texts)
    ids = graph.ids(read.file.id)
    _check_ids(ids, read.file, hashes)
    _place_extractions(store, read.stated, texts, models)
    done: Counter[str] = Counter()
    changed = _find_changed(graph, read.file, hashes, done, tell)
    new = _restore_removed(changed, store, tell)
    for batch in group_by_size(new, _count_rows, BATCH_TRIPLES):
        _commit_subjects(store, graph, batch, models)
        tell(len(batch))
    gone = sorted(_find_subjects(read.file, hashes).difference(ids))
    if gone:
        store.remove(gone)
    n_placed = sum(counts[i] for i in texts)
    return GraphImport(
        n_triples=len(graph),
        n_added=done["added"],
        n_changed=done["changed"],
        n_removed=len(gone),
        n_unchanged=done["unchanged"],
        n_placed=n_placed,
        n_unplaced=n_named - n_placed,
        skipped=read.skipped,
    )


def _find_subjects(file: File, hashes: Mapping[str, str]) -> set[str]:
    """Return the ids of the subjects indexed from a file.

    A key has a "#" only where it has no letter; another id with one is of a file like "a#b.tsv".
    """
    prefix = f"{file.id}#"
    marked = (i for i in hashes if i.startswith(prefix) and hashes[i].startswith(IMPORTED_MARK))
    keys = {i: i.removeprefix(prefix) for i in marked}
    return {i for i, key in keys.items() if "#" not in key or not entity_key(key)}


def _check_ids(ids: Sequence[str], file: File, hashes: Mapping[str, str]) -> None:
    """Raise InputError if an imported id is that of a text in the index."""
    text = next((i for i in ids if i in hashes and not hashes[i].startswith(IMPORTED_MARK)), None)
    if text is not None:
        raise InputError(f"{text!r} is already the id of a text: rename {file.source}")


def _find_changed(
    graph: SubjectGraph, file: File, hashes: Mapping[str, str], done: Counter[str], tell: OnProgress
) -> Iterator[Subject]:
    """Yield new and changed subjects, counting all."""
    for subject in graph.subjects(file.id, file.source):
        old = hashes.get(subject.document.id)
        if old == _hash_subject(subject):
            done["unchanged"] += 1
            tell(1)
        else:
            done["changed" if old else "added"] += 1
            yield subject


def _restore_removed(
    subjects: Iterable[Subject], store: Store, tell: OnProgress
) -> Iterator[Subject]:
    """Restore subjects whose removed rows are still stored; yield the rest.

    This comes before batches are cut, so that a resumed run cuts them at the same places.
    """
    for group in group_by_size(subjects, _count_rows, BATCH_TRIPLES):
        back = set(store.revive({subject.document.id: _hash_subject(subject) for subject in group}))
        tell(len(back))
        yield from (subject for subject in group if subject.document.id not in back)


def _count_rows(subject: Subject) -> int:
    return max(len(subject.rows), 1)


def _hash_subject(subject: Subject) -> str:
    return IMPORTED_MARK + subject.content


def _commit_subjects(
    store: Store, graph: SubjectGraph, subjects: Sequence[Subject], models: Models
) -> None:
    recipe = store.recipe
    batch = build_imported_batch(
        graph,
        subjects,
        read_chunking(recipe),
        models.embedder,
        store.unnamed,
        late=recipe["vectors"] == LATE and gives_tokens(models.embedder),
    )
    store.commit(batch, [_hash_subject(subject) for subject in subjects])


# -- triples of texts -----------------------------------------------------------------------------


def _place_extractions(
    store: Store, stated: Statements, ids: Sequence[str], models: Models
) -> None:
    """Assign statements about a text to its chunks, with several commits.

    A text that was given the same last, and nothing else since, is left as it is.
    """
    if not ids:
        return
    hashes = store.hashes()
    placed = {own: mark for own, mark in store.note(PLACED).items() if own in hashes}
    with closing(ExtractionCorpus(store, models)) as corpus:
        recorded = _find_recorded(corpus, ids)
        changed = []
        for own, extraction in stated.iterate_documents(ids):
            said = f"{hashes[own]} {extraction!r}".encode(errors="surrogatepass")
            mark = hashlib.sha256(said).hexdigest()[:16]
            if placed.get(own) != mark or own not in recorded:
                placed[own] = mark
                changed.append((own, extraction))
        parts = (_split_extraction(corpus, *each) for each in changed)
        for group in group_by_size(filter(None, parts), len, _CHUNKS_AT_ONCE):
            extracted = list(itertools.chain.from_iterable(group))
            store.commit(build_graph_batch(extracted, models, store.unnamed), ())
    if changed:
        store.set_note(PLACED, placed)


def _find_recorded(corpus: ExtractionCorpus, ids: Sequence[str]) -> set[str]:
    """Return the documents whose chunks all have an extraction from a file."""
    chunks = corpus.snapshot.layer("chunk")
    others = np.flatnonzero(chunks.columns[GRAPH] != SOURCES.index("recorded"))
    rows = np.asarray(corpus.snapshot.layer("document").rows(ids))
    is_other = np.isin(rows, chunks.columns["document"][others])
    return {own for own, other in zip(ids, is_other.tolist(), strict=True) if not other}


def _split_extraction(
    corpus: ExtractionCorpus, document_id: str, extraction: Extraction
) -> list[ChunkExtraction[Extraction]]:
    """Split a document's extraction into the parts for its chunks."""
    owners = corpus.snapshot.layer("chunk").columns["document"]
    [row] = corpus.snapshot.layer("document").rows([document_id])
    chunks = range(*np.searchsorted(owners, [row, row + 1]).tolist())
    parts = split_extraction(extraction, corpus.snapshot.titled_texts(chunks))
    return [
        ChunkExtraction(int(corpus.stored[chunk]), "recorded", part)
        for chunk, part in zip(chunks, parts, strict=True)
    ]
