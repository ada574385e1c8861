"""Build an index: read documents, and commit their rows in batches.

A batch depends on its own documents only, and batches are cut from the documents that are new or
changed, in the order given. So a run that was killed goes on where its last commit ended and
leaves the same bytes as one that was not.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from clew.algo.pool import group_by_size
from clew.base.derived import CachedArrays
from clew.base.display.shown import Shown
from clew.base.runtime.arguments import SURROGATE
from clew.base.types import Document, Skipped
from clew.errors import InputError, MissingExtra, MissingLayer, ModelError, RecipeMismatch
from clew.index import generation
from clew.index.origins import find_gone, list_file_documents, refuse_replacing, store_unchanged
from clew.index.recipe import LATE, build_model_recipe, check_recipe
from clew.index.snapshot.batch import Batch
from clew.index.store.segmented import Store
from clew.models import Embedder, Models
from clew.models.run import Meter
from clew.progress import Progress
from clew.readers.metadata import values
from clew.stopping import Stop

if TYPE_CHECKING:
    from pathlib import Path

    from clew.index.building import Workers
    from clew.readers.roots import Roots
    from clew.readers.selection import Selection
    from clew.readers.unchanged import UnchangedFiles

_FEW = 64  # documents that are looked up one by one
_log = logging.getLogger(__name__)
_COMPACT_ABOVE = 0.25  # the share of an index that may be dead or in small segments
BATCH_CHARACTERS = 100_000  # about 25,000 tokens: some seconds of model time lost by a kill
AHEAD = 3  # batches for each worker: rows are made while names wait for the batches before

Hashed = list[tuple[Document, str]]  # documents with their content hashes
OnProgress = Callable[[int], None]  # told how many more documents are done with


@dataclass(slots=True, eq=False, repr=False)
class AddReport(Shown):
    """The result of adding documents."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)  # removed before; came back for nothing
    renamed: dict[str, str] = field(default_factory=dict)  # old ids to new ones, of equal content
    restated: list[str] = field(default_factory=list)  # other metadata, the same text
    n_unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    partly: dict[str, tuple[str, ...]] = field(default_factory=dict)  # ids of those not read whole
    gone: list[str] = field(default_factory=list)  # gone from a named folder, or left out now
    pruned: bool = False  # those that are gone were removed
    left_out: dict[str, int] = field(default_factory=dict)  # files and folders, by what names them
    stopped: bool = False  # it was asked to end before all was read

    @property
    def is_empty(self) -> bool:
        """Check whether no file was found or missing."""
        return not (self.skipped or self.gone) and self._has_read_nothing

    @property
    def is_skipped(self) -> bool:
        """Check whether there was input, but all of it was unreadable."""
        return bool(self.skipped) and not self.gone and self._has_read_nothing

    @property
    def _has_read_nothing(self) -> bool:
        read = (self.added, self.changed, self.restored, self.renamed, self.restated)
        return not (self.n_unchanged or any(read))


def add_documents(  # noqa: PLR0913 -- what is told and asked meanwhile, by name
    store: Store,
    items: Iterable[Document | Skipped],
    models: Models,
    *,
    gone: Callable[[], Iterable[str]] = tuple,
    read: dict[str, str] | None = None,
    meter: Meter | None = None,
    on_progress: OnProgress | None = None,
    stop: Stop | None = None,
    progress: Progress | None = None,
    workers: Workers | None = None,
) -> AddReport:
    """Add documents to the index with a commit per batch, and return the report.

    A document that is there with the same content costs nothing; one with other content is
    replaced. A new one with the content of one that `gone` returns, its file being there no more,
    is that one renamed, and costs nothing either. The ids of all documents go into `read`, with
    their content hashes. Where `stop` is asked for, the batch at hand is the last. `workers` make
    the rows where they are given, and the index is the same. Raises RecipeMismatch where it was
    not built with `models`.
    """
    meter = meter or Meter()
    check_recipe(store.recipe, build_model_recipe(models))
    progress, stop = progress or Progress(), stop or Stop()
    read = {} if read is None else read
    addition = _Addition(store, progress, on_progress or (lambda _: None), read)
    report = addition.report
    changed = addition.find_changed(itertools.takewhile(lambda _: not stop.is_asked, items))
    new = addition.apply_renames(changed, gone)
    groups = group_batches(addition.restore_removed(new))
    with stop.heeded():
        if workers is None:
            made = _build_batches(groups, store, models, meter, progress, stop)
        else:
            from clew.index.building import build_by_workers

            most = AHEAD * workers.n * BATCH_CHARACTERS
            made = build_by_workers(workers, groups, store, meter, stop, most=most)
        for batch, rows in made:
            with meter.stage("store"):
                store.commit(rows, [content for _, content in batch])
            for each, note in rows.notes:
                report.partly[each] = (*report.partly.get(each, ()), note)
            ids = [document.id for document, _ in batch]
            for each in ids:
                (report.changed if each in addition.known else report.added).append(each)
            _log.info("%d documents committed, the last of them %s", len(batch), ids[-1])
            addition.tell(ids)
    if addition.wordless:
        store.remove(addition.wordless)  # their old texts must not answer for them
    if addition.restated:
        store.lock()
        store.restate(*zip(*addition.restated.values(), strict=True))
        report.restated = list(addition.restated)
    report.stopped = stop.is_asked
    return report


def update_documents(  # noqa: PLR0913 -- what reading and looking for files need
    store: Store,
    items: Iterable[Document | Skipped],
    models: Models,
    *,
    roots: Roots,
    paths: Sequence[Path],
    selection: Selection,
    read: dict[str, str],
    unchanged: UnchangedFiles,
    prune: bool,
    **how: Any,  # noqa: ANN401 -- as `add_documents` takes it
) -> AddReport:
    """Add the documents of files below some paths, and remove those whose files are gone.

    These are reported, and removed where `prune` says so.
    """

    def find_unkept(*more: Any) -> list[str]:  # noqa: ANN401 -- as `find_gone` takes it
        ids = list_file_documents(store) if paths else ()
        return find_gone((e for e in ids if e not in unchanged.kept), roots, paths, *more)

    report = add_documents(store, items, models, gone=find_unkept, read=read, **how)
    report.n_unchanged += len(unchanged.kept)
    report.left_out = selection.counts()
    if paths and not report.stopped:
        report.gone = find_unkept(selection, {**read, **unchanged.kept}, report.skipped)
    store_unchanged(store, unchanged, read, report)
    if prune and report.gone:
        store.remove(report.gone)
        report.pruned = True
    return report


def _build_batches(
    groups: Iterable[Hashed],
    store: Store,
    models: Models,
    meter: Meter,
    progress: Progress,
    stop: Stop,
) -> Iterator[tuple[Hashed, Batch]]:
    """Yield batches with their rows, built lazily."""
    from clew.index.building import build_batch

    for batch in groups:
        if stop.is_asked:  # while it was read: nothing of it is paid for yet
            return
        store.lock()  # what is built refers to what the store has now
        # About how many characters are embedded: of chunks, sentences and names.
        n_read = sum(len(document.text) for document, _ in batch)
        progress.expect(n_read * (1.25 if store.recipe["vectors"] == LATE else 2.25))
        yield batch, build_batch([document for document, _ in batch], store, models, meter)


class _KnownHashes:
    """The content hashes of stored documents: looked up singly if few, else read at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._few: dict[str, str | None] = {}

    def get(self, document_id: str) -> str | None:
        """Return the hash of a stored document, or None."""
        if document_id not in self._few:
            if len(self._few) >= _FEW:
                return self._all.get(document_id)
            self._few[document_id] = self._store.hashes([document_id]).get(document_id)
        return self._few[document_id]

    def __contains__(self, document_id: str) -> bool:
        return self.get(document_id) is not None

    @cached_property
    def _all(self) -> Mapping[str, str]:
        return self._store.hashes()


def finish_index(
    store: Store,
    embedder: Callable[[], Embedder] | None = None,
    *,
    cached: Iterable[CachedArrays] = (),
    compact: bool | None = None,
) -> None:
    """Finish a build: assemble the newest generation, and renew the arrays named in `cached`.

    It is compacted before where much of it is dead or scattered, or as `compact` says. Arrays that
    need an `embedder` that cannot be had, or vectors that the index lacks, are left to the first
    question that asks for them.
    """
    if compact is None:
        compact = generation.is_worth_compacting(store, _COMPACT_ABOVE)
    if compact:
        generation.compact(store)
    there = () if compact else store.cache.names()
    with closing(generation.open_snapshot(store)) as snapshot:
        wanted = cached if len(snapshot.layer("chunk")) else ()
        for each in (each for each in wanted if each.worth(snapshot)):
            with suppress(MissingExtra, MissingLayer, ModelError, RecipeMismatch):
                if each.edited and snapshot.base_arrays(each) is not None:
                    continue
                if each.lazy and each.name in there:
                    continue
                if not each.embeds:
                    snapshot.get(each)
                elif embedder is not None:
                    snapshot.get(each, embedder=embedder)
    store.sweep()


def _has_words(document: Document) -> bool:
    return any(c.isalnum() for c in document.text[document.body_start :])


class _Addition:
    """Documents being added to an index, and a report of those that need no new rows."""

    def __init__(
        self, store: Store, progress: Progress, on_progress: OnProgress, read: dict[str, str]
    ) -> None:
        self._store = store
        self._progress = progress
        self._on_progress = on_progress
        self._read = read  # ids, with content hashes
        self.known = _KnownHashes(store)
        self.report = AddReport()
        self.restated: dict[str, tuple[Document, str]] = {}  # whose metadata changed
        self.wordless: list[str] = []  # those that have no words any more

    def tell(self, document_ids: Collection[str]) -> None:
        """Report documents as done."""
        self._progress.settle(document_ids)
        self._on_progress(len(document_ids))

    def find_changed(self, items: Iterable[Document | Skipped]) -> Iterator[tuple[Document, str]]:
        """Yield new and changed documents with their content hashes; report the others."""
        hashes, skipped = self.known, self.report.skipped
        for item in items:
            if isinstance(item, Skipped):
                _log.debug("skipped %s", item)
                skipped.append(item)
                continue
            document = _replace_surrogates(item)
            if document.id in self._read:
                raise InputError(f"two documents have the id {document.id!r}: ids must differ")
            if document.partly:
                self.report.partly[document.id] = document.partly
            content = self._read[document.id] = hash_content(document)
            if hashes.get(document.id) == content:
                self.report.n_unchanged += 1
            elif document.id in hashes and (refused := refuse_replacing(self._store, document)):
                skipped.append(refused)
            elif get_rows_hash(hashes.get(document.id) or "") == get_rows_hash(content):
                self.restated[document.id] = replace(document, text=""), content
            elif _has_words(document):
                yield document, content
                continue
            else:
                if document.id in hashes:
                    self.wordless.append(document.id)
                source = document.source or document.id
                skipped.append(Skipped(source=source, reason="has no words to index"))
            self.tell([document.id])

    def apply_renames(
        self, documents: Iterator[tuple[Document, str]], find_gone: Callable[[], Iterable[str]]
    ) -> Iterator[tuple[Document, str]]:
        """Reuse the rows of documents that are gone for new ones of equal content; yield the rest.

        Of several that are gone the first is taken, and each once. They are looked for when a new
        document comes, which takes a look at every file.
        """
        for first in documents:
            if first[0].id in self.known:
                yield first
                continue
            rest = itertools.chain([first], documents)
            yield from self._rename(rest, gone) if (gone := sorted(find_gone())) else rest

    def _rename(
        self, documents: Iterable[tuple[Document, str]], gone: Sequence[str]
    ) -> Iterator[tuple[Document, str]]:
        for group in group_batches(documents):
            self._store.lock()  # what is read of the store now stays so
            hashes = self._store.hashes([*gone, *(document.id for document, _ in group)])
            old = dict[str, list[str]]()
            for each in gone:
                if each in hashes:
                    old.setdefault(get_rows_hash(hashes[each]), []).append(each)
            moved = {
                old[get_rows_hash(content)].pop(0): document
                for document, content in group
                if document.id not in hashes and old.get(get_rows_hash(content))
            }
            renamed = {each: moved[each].id for each in self._store.rename(moved)}
            self.report.renamed |= renamed
            done = set(renamed.values())
            self.tell(done)
            yield from (pair for pair in group if pair[0].id not in done)

    def restore_removed(
        self, documents: Iterable[tuple[Document, str]]
    ) -> Iterator[tuple[Document, str]]:
        """Restore documents whose removed rows are still stored; yield the rest.

        This comes before batches are cut, so that a resumed run cuts them at the same places.
        """
        for group in group_batches(documents):
            back = set(self._store.revive({each.id: content for each, content in group}))
            for document, content in group:
                if document.id in back:
                    self.report.restored.append(document.id)
                    self.tell([document.id])
                else:
                    yield document, content


def hash_content(document: Document) -> str:
    """Return a content hash: one hash of the data that rows depend on, and one of the rest.

    What is read of the text decides the rows. Metadata, pages, apparatus and figures are the rest.
    """
    headings = [(h.start, h.level, h.title) for h in document.headings]
    apparatus = [(a.start, a.end, a.kind) for a in document.apparatus]
    rows = [document.title, document.body_start, document.text, headings]
    rest = [dict(document.metadata), document.pages, apparatus]
    rest += [list(map(astuple, document.figures))] if document.figures else []
    return f"{_hash_values(rows)}{_AND}{_hash_values(rest)[:16]}"


def get_rows_hash(content: str) -> str:
    """Return the part of a content hash that covers the data of rows."""
    return content.partition(_AND)[0]


_AND = "-"


def has_new_rows(document: Document, content: str | None) -> bool:
    """Check whether a document needs new rows, given its stored hash `content`."""
    document = _replace_surrogates(document)
    same = content is not None and get_rows_hash(content) == get_rows_hash(hash_content(document))
    return _has_words(document) and not same


def _hash_values(values: object) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _replace_surrogates(document: Document) -> Document:
    """Return the document with lone surrogates, which cannot be encoded, as U+FFFD."""

    def mend(value: Any) -> Any:  # noqa: ANN401 -- of metadata
        if isinstance(value, tuple):
            return tuple(map(mend, value))
        return SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value

    fields = {name: mend(getattr(document, name)) for name in ("id", "text", "title", "source")}
    metadata = {mend(name): mend(value) for name, value in values(document.metadata).items()}
    headings = tuple(replace(each, title=mend(each.title)) for each in document.headings)
    return replace(document, metadata=metadata, headings=headings, **fields)


def group_batches(documents: Iterable[tuple[Document, str]]) -> Iterator[Hashed]:
    """Yield documents with their hashes in batches of one commit each."""
    return group_by_size(documents, lambda pair: len(pair[0].text), BATCH_CHARACTERS)
