"""An index as its users have it: open, add, search, ask, show, remove.

The command line and the server call these same functions.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import partial, reduce, wraps
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar, Unpack
from weakref import WeakSet

from clew import index, loading, readers, steps
from clew import methods as retrieval
from clew.asking import answer as answering
from clew.asking import follow_up, support
from clew.calls import awaitable, checked
from clew.display.shown import Shown, paragraph, table
from clew.errors import AlreadyExists, InputError, NotAnIndex, RecipeMismatch, StoreError
from clew.filters import Filter, as_filter, match
from clew.generation import open_snapshot
from clew.index import AddReport, OnProgress, Settings, building, origins
from clew.index.choose import (
    CORE_SHARE,
    NOTE,
    EntityOptions,
    ExtractionOptions,
    Memory,
    Wanted,
    wished,
)
from clew.limits import LIMITS, ReadingLimits
from clew.models import is_checked, is_priced
from clew.models.budget import Budget
from clew.models.conversation import Conversation, recorded
from clew.models.ledger import Cost, Ledger
from clew.models.metered import Meter, metered
from clew.models.remembered import remembered
from clew.models.waiting import asking
from clew.progress import Progress
from clew.readers.inputs import Page, StandardInput, located
from clew.readers.part import ShardPart
from clew.readers.roots import Roots
from clew.readers.selection import Selection
from clew.runtime.closing import Closing
from clew.runtime.following import Follower
from clew.runtime.once import Once
from clew.runtime.private import make_folder
from clew.snapshot import Snapshot
from clew.stopping import Stop
from clew.store import opening, paid, sharded
from clew.text.analyze import VERSION as ANALYZER
from clew.text.counted import counted
from clew.text.keys import name_key
from clew.text.patterns import matching
from clew.types import Answer, Document, Evidence, Exchange, Scalar, Skipped, Usage
from clew.workers import open_workers, workers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clew.asking.answer import OnCitation
    from clew.index.building import Workers
    from clew.index.extract import Done, OnChunks
    from clew.index.graph import Imported
    from clew.index.repair import Repaired
    from clew.models import LLM, Embedder, Models
    from clew.models.prices import Price
    from clew.readers.walk import Columns
    from clew.store import Store
    from clew.store.backup import Backup
    from clew.store.check import Damage
    from clew.text.chunking import Chunking
    from clew.text.pieces import OnPiece
    from clew.types import Classified, EmbeddingEstimate, Plan
    from clew.views.export import Exported

    Source = str | Path | Document | Iterable[str | Path] | Iterable[Document]

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_METHOD = retrieval.DEFAULT
_DEFAULT_OF_GRAPHS = "auto"
CONTEXT_TOKENS = 4_000
_MOST_FILTERED = 8  # filters whose documents stay in memory
_FOLLOW_S = 0.25
_MADE_FOR = "methods"  # what a store keeps the methods under that an index is made for
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Added(Shown):
    """What `Index.add` did, and what it cost."""

    report: AddReport
    extracted: Done
    usage: Usage
    n_documents: int  # in the index now
    n_chunks: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query, and what was said before it."""

    query: str
    history: Sequence[Exchange] = ()


@checked
def open_index(
    folder: str | Path,
    *,
    models: Models | None = None,
    specs: loading.Specs | None = None,
    settings: Settings | None = None,
    prices: Mapping[str, Price] | None = None,
    store: str = "",
) -> Index:
    """Return the index in `folder`; it is made there by the first `add`.

    Instead of a folder it may be in PostgreSQL and object storage, of the address
    `postgresql://[USER@]HOST[:PORT]/DATABASE/INDEX`. A new one needs a place for its arrays behind
    that: `?objects=s3://BUCKET/PREFIX`, or a folder.

    Models come from `models`, else by name from `specs`, else as the index was built, else the
    defaults, which need no key and no download. `settings` decide how a new index is built.
    `prices` are dollars per million tokens, of prompts and of completions, by the LLM's name.
    Every reply of the LLM is recorded in the folder, and none is paid for twice.

    A new index is kept in the folder itself, or by the `store` of another package, NAME or
    NAME:PLACE, which the folder then names (docs/public.md).
    """
    return Index(opening.folder_of(folder), models, specs, settings, prices, store)


def _one_at_a_time(
    write: Callable[Concatenate[Index, P], T],
) -> Callable[Concatenate[Index, P], T]:
    """Let a method of `Index` that writes wait until no other thread writes by the same one."""

    @wraps(write)
    def waiting(self: Index, *given: P.args, **named: P.kwargs) -> T:
        with self._writing:
            return write(self, *given, **named)

    return waiting  # type: ignore[return-value]  # mypy tells the name `self` from none


_OPEN: WeakSet[Index] = WeakSet()
# What the parent of a forked process had open. To close its files here could hurt it, and a model's
# end would wait for threads that only the parent has, so it is kept as long as the process lives.
_INHERITED: list[object] = []


def _after_fork() -> None:
    for opened in list(_OPEN):
        opened._forked()  # noqa: SLF001 -- of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Index(Closing):
    """An index in a folder. Nothing is loaded before it is needed.

    Any number of threads may read it, and one of them at a time writes: others that want to wait.
    What reads sees one generation, the newest when it began. Models, generations and what is
    computed from them are made once for all threads. After a fork the child opens all anew.

    `len(index)` is how many documents it has, and `id in index` says whether one is there. What
    may take long has an awaitable of its name behind an a, such as `asearch`. To cancel that ends
    the waiting; what was begun goes on in its thread, and a write is made whole.
    """

    def __init__(
        self,
        folder: Path,
        models: Models | None = None,
        chosen: loading.Specs | None = None,
        settings: Settings | None = None,
        prices: Mapping[str, Price] | None = None,
        store: str = "",
    ) -> None:
        self.folder = folder
        self._kept_by = store
        self._prices = prices
        self._given = models
        self._specs = chosen or loading.Specs()
        self._settings = settings
        self._store: Store | None = None
        self._models: Models | None = None
        self._llms: dict[str, LLM] = {}  # by spec, those that are not in `_models`
        self._snapshot: Snapshot | None = None
        self._filtered: Once[Filter] = Once(_MOST_FILTERED)  # of that snapshot
        self._lock = threading.RLock()  # around what is opened or loaded
        self._writing = threading.RLock()  # held by the thread that writes
        self._catching_up = threading.Lock()  # held by the thread that opens a new generation
        self._follower: Follower | None = None
        _OPEN.add(self)

    def _forked(self) -> None:
        """Begin without files, models and locks: those of the parent are not for this process."""
        _INHERITED.append((self._store, self._snapshot, self._models, self._llms))
        self._store = self._snapshot = self._models = None
        self._filtered = Once(_MOST_FILTERED)
        self._llms = {}
        self._lock, self._writing = threading.RLock(), threading.RLock()
        self._catching_up, self._follower = threading.Lock(), None

    @property
    def shown(self) -> str:
        """What messages call the index: its folder, or its address without a password."""
        return opening.shown(self.folder)

    def __len__(self) -> int:
        return len(self._existing().hashes()) if self._exists() else 0

    def __contains__(self, document_id: object) -> bool:
        if not isinstance(document_id, str) or not self._exists():
            return False
        return self.snapshot().layer("document").rows([document_id])[0] >= 0

    def __bool__(self) -> bool:
        """Return True: an index without documents is one, too."""
        return True

    def __repr__(self) -> str:
        try:
            size = f"{counted(len(self), 'document')}" if self._exists() else "not made yet"
        except StoreError as error:
            size = f"{type(error).__name__}: {error}"
        return f"<Index {self.shown!r}: {size}>"

    def _repr_html_(self) -> str:
        """Show in a notebook what the index holds."""
        if not self._exists() or not len(self):
            return paragraph(repr(self))
        layers = self.snapshot().layers
        counts = [(name, f"{len(layer):,}") for name, layer in layers.items() if len(layer)]
        return paragraph(self.shown, strong=True) + table(("layer", "rows"), counts)

    # -- write --------------------------------------------------------------------------------

    @checked
    @_one_at_a_time
    def add(  # noqa: PLR0913 -- one argument for each option
        self,
        source: Source,
        *,
        name: str = "",
        prune: bool = False,
        exclude: Sequence[str] = (),
        limits: ReadingLimits = LIMITS,
        gitignore: bool = True,
        changed: Iterable[str | Path] | None = None,
        columns: Columns | None = None,
        web: bool = False,
        suffix: str = "",
        methods: Sequence[str] | None = None,
        budget: Budget | None = None,
        again: bool = False,
        part: str | ShardPart | None = None,
        on_progress: OnProgress | None = None,
        on_chunks: OnChunks | None = None,
        stop: Stop | None = None,
        progress: Progress | None = None,
        workers: int | str = 1,
        **extraction: Unpack[ExtractionOptions],
    ) -> Added:
        """Add files, folders or documents; what is there unchanged already costs nothing.

        A document of a known id with other content replaces the old one, unless that is another
        file's. The id of a file begins with the name of the folder that was named, with those of
        its parents where another folder of the index has it, or with `name`; the name of a folder
        that the index has says that it has moved. Input that cannot be read is in the report's
        `skipped`, and the rest goes on. `columns` say which fields of tables and records to take. A
        web page is read where `web` allows it, and called by its address; "-" is standard input,
        called `name` and of the format of `suffix`.

        Of folders all files are read but hidden ones, what programs leave there, what `.gitignore`
        files name unless `gitignore` is false, and what the patterns of `exclude` name, by id, by
        the path below the folder or by name; of `changed` files no others are. A file that is named
        itself is always read. Documents whose file is gone from a folder, or left out now, are in
        `gone`, and removed where `prune` is asked for; a new document that has the content of one
        whose file is gone takes its rows over (`renamed`). Then units (for a share of the
        tokens, in the chunks that have the most `value`) and `triples` (by an LLM of the share
        `core` of the chunks, chosen by `core_by`) are extracted from the chunks that lack them,
        triples of `entities` that the LLM names ("llm") or of "statistical" ones, whose rate is
        above `entity_threshold` and which have at most `entity_words` words, as the recipe keeps;
        as `clew.index.choose.Wanted` says; by default what was wanted last, and by an LLM only
        where this index was opened with one, within `budget`. `again` asks once more where the
        LLM's reply was of no use.

        What some methods need of the whole index is computed at their first question, cached, and
        renewed by every write from then on. For `methods` that are named here it is from now on;
        an empty list takes the names back.

        Another thread may `stop` it: what is whole then is committed, nothing is extracted or
        removed, and the report says `stopped`; the same call goes on later. A `progress` is
        written while it runs, for another thread to look at.

        `workers` make rows and vectors: so many processes, 0 for one on each core, or the address
        of a Ray cluster, "ray:HOST:PORT"; the index is the same to the byte. An LLM, and an
        embedder that is paid, are asked by this process, which keeps the ledger and the budget.

        Of a `part` such as "3/16" the documents are taken that belong in shard 3 of 16
        (`clew.shards.shard_of`), and the others are as if they were not there. An index remembers
        which part it is.

        Raises InputError for options that cannot be met, UnknownMethod, RecipeMismatch where the
        index was built with other models or settings, IndexLocked while another process writes,
        EndpointError.
        """
        from clew.index.extract import Done

        for each in methods or ():
            retrieval.load(each)
        workers = workers_of(workers)
        progress = progress or Progress()
        meter = progress.meter = Meter(progress=progress, budget=budget)
        progress.stage = "indexing"
        selection = Selection(exclude, gitignore=gitignore, changed=changed)
        own = self._part(None if part is None else ShardPart.of(part))
        roots = self._roots(source, name)
        stdin = StandardInput(name=name or StandardInput().name, suffix=suffix)
        read_files = partial(
            readers.read,
            roots=roots,
            selection=selection,
            columns=columns,
            limits=limits,
            web=web,
            stdin=stdin,
            progress=progress,
            times=True,
            part=own,
        )
        items, read, paths = _items(source, read_files), set[str](), _paths(source)
        strict = part is None and not paths  # the caller chose this very shard for them
        items = iter(items if own is None else own.taken(items, read, strict=strict))
        first = list(islice(items, 1))
        if not first and not self._exists() and changed is None and own is None:
            raise no_file(_named(source), selection.counts())
        items = chain(first, items)
        note = self._existing().note(NOTE) if self._exists() else {}
        wanted = wished(note, extraction)
        self._check_workers(workers)
        self._reach(wanted)
        store = self._writable(meter)
        if methods is not None:
            store.set_note(_MADE_FOR, {"methods": list(methods)})
        origins.remember(store, self.folder, roots.places, own)
        with self._billed("add", store, meter), self._workers(workers, store) as opened:
            with meter.stage("read"):
                gone = origins.gone(store.hashes(), roots, paths) if paths else []
                report = index.add(
                    store,
                    items,
                    self.models,
                    gone=gone,
                    read=read,
                    meter=meter,
                    on_progress=on_progress,
                    stop=stop,
                    progress=progress,
                    workers=opened,
                )
                report.left_out = selection.counts()
                if paths and not report.stopped:
                    report.gone = origins.gone(
                        store.hashes(), roots, paths, selection, read, report.skipped
                    )
                if prune and report.gone:
                    store.remove(report.gone)
                    report.pruned = True
            is_whole = changed is None and own is None and not report.stopped
            if paths and is_whole and report.is_empty:
                raise no_file(_named(source), report.left_out)  # before an LLM is paid
            try:
                extracted = Done()
                with meter.stage("extract"):
                    if not report.stopped:
                        extracted = self._extract(
                            store, wanted, budget, progress, on_chunks, again=again, workers=opened
                        )
            finally:
                progress.stage = "finishing"
                self._finish(store, meter)
        snapshot = self.snapshot()
        return Added(
            report=report,
            extracted=extracted,
            usage=meter.usage(),
            n_documents=len(snapshot.layer("document")),
            n_chunks=len(snapshot.layer("chunk")),
        )

    def _part(self, given: ShardPart | None) -> ShardPart | None:
        """Return the part of all documents that this index is: the one it remembers, if any.

        Raises InputError where another one is given, or it has documents of others.
        """
        store = self._existing() if self._exists() else None
        known = None if store is None else origins.part_of(store)
        if known is not None and given not in (None, known):
            raise InputError(f"{self.shown} is the part {known} of its shards, not {given}")
        if known is None and given is not None and store is not None:
            other = next((each for each in sorted(store.hashes()) if not given.has(each)), None)
            if other is not None:
                raise InputError(
                    f"{self.shown} has the document {other!r:.80}, which is not of the part"
                    f" {given}: name another index"
                )
        return known if given is None else given

    @contextmanager
    def _workers(self, spec: int | str, store: Store) -> Iterator[Workers | None]:
        """Open workers with the models of this index, for a block; None where it needs none."""
        if spec == 1 or is_priced(self.models.embedder):
            yield None
            return
        specs = loading.from_recipe(self._specs, store.recipe)
        opened = open_workers(spec, replace(specs, llm=None, reranker=None))
        try:
            yield opened
        finally:
            if opened is not None:
                opened.close()

    def _check_workers(self, spec: int | str) -> None:
        """Raise InputError where workers are wanted and cannot load the models."""
        if spec != 1 and not is_priced(self.models.embedder) and self._given is not None:
            raise InputError(
                "workers load models by name: open the index with 'specs', or add with 'workers=1'"
            )

    def _reach(self, wanted: Wanted) -> None:
        """Raise EndpointError where an LLM that will be needed does not answer.

        Where the ledger has replies the LLM may not be needed at all.
        """
        llm = self.models.llm
        has_replies = self._ledger.exists() and self._ledger.totals()
        if wanted.kinds() and isinstance(llm, Conversation) and not has_replies:
            llm.reach()

    def _roots(self, source: Source, name: str) -> Roots:
        """Return what the folders and files of this index are called, with a new name for one."""
        roots = Roots(origins.places(self._existing(), self.folder) if self._exists() else {})
        if name:
            if not isinstance(source, str | Path):
                raise InputError(f"one folder or file can be called {name!r}, not several: name it")
            place = located(source)
            if isinstance(place, Page):
                raise InputError(f"a web page is called by its address, not {name!r}")
            if isinstance(place, StandardInput):
                return roots
            if not os.path.lexists(place):
                raise InputError(f"there is no file or folder {str(source)!r}")
            roots.add(place, name)
        return roots

    @contextmanager
    def _billed(self, kind: str, store: Store, meter: Meter) -> Iterator[None]:
        """Write down what a block cost that changed the index or paid an LLM, whatever ended it."""
        before = store.generation
        try:
            yield
        finally:
            now, usage = store.generation, meter.usage()
            if now != before or usage.llm_calls or usage.embedding_tokens:
                cost = Cost(kind=kind, before=before, generation=now, usage=usage)
                _log.info(
                    "%s: generation %d to %d, %.1f s, %d LLM calls, %d tokens",
                    kind, before, now, usage.total_seconds, usage.llm_calls, usage.total_tokens,
                )  # fmt: skip
                with suppress(StoreError):  # the index does not need its ledger
                    self._ledger.bill(cost)
                    if now != before:
                        paid.note(store, self.folder)

    def _finish(self, store: Store, meter: Meter) -> None:
        with meter.stage("store"):
            self._renew(store, lambda: metered(self.models, meter).embedder)

    def _renew(
        self,
        store: Store,
        embedder: Callable[[], Embedder] | None = None,
        *,
        compact: bool | None = None,
    ) -> None:
        """Finish a write: renew the arrays that a question has needed, or a method for `add`."""
        used = set(store.cache.names())
        installed = set(retrieval.names())
        made_for = [name for name in store.note(_MADE_FOR).get("methods", ()) if name in installed]
        used |= {each.name for each in (retrieval.needs(*made_for) if made_for else ())}
        cached = [each for each in retrieval.needs() if each.name in used]
        index.finish(store, embedder or self._embedder, cached=cached, compact=compact)

    def _extract(
        self,
        store: Store,
        wanted: Wanted,
        budget: Budget | None,
        progress: Progress,
        on_chunks: OnChunks | None,
        *,
        again: bool,
        workers: Workers | None,
    ) -> Done:
        from clew.index.extract import extract

        progress.stage = "extracting"

        def tell(done: int, total: int) -> None:
            progress.chunks = done, total
            if on_chunks is not None:
                on_chunks(done, total)

        models = self._within(budget)
        rules = loading.load_extractor(wanted.triples, self.models.tagger)
        if workers is not None:
            from clew.workers.spread import spread_embedder, spread_extractor

            models = replace(models, embedder=spread_embedder(models.embedder, workers))
            rules = rules and spread_extractor(rules, wanted.triples, workers)
        return extract(
            store,
            metered(models, progress.meter),
            wanted,
            ledger=self._ledger,
            rules=rules,
            again=again,
            on_progress=tell,
        )

    @checked
    @_one_at_a_time
    def extract_triples(
        self,
        chunk_ids: Sequence[str],
        *,
        budget: Budget | None = None,
    ) -> Done:
        """Extract entities and triples by the LLM from some chunks, and from others later.

        Chunks that have theirs cost nothing. Raises InputError without an LLM, and for an id that
        is no chunk's.
        """
        from clew.index.extract import extract_triples

        store, meter = self._existing(), Meter()
        with self._billed("extract", store, meter):
            with meter.stage("extract"):
                models = metered(self._within(budget), meter)
                done = extract_triples(store, models, chunk_ids, ledger=self._ledger)
            self._finish(store, meter)
        return done

    @checked
    @_one_at_a_time
    def import_triples(self, path: str | Path, *, on_chunks: OnChunks | None = None) -> Done:
        """Take the entities and triples of documents in the index from a file of JSON lines.

        They replace what was extracted from these documents before. What cannot be used is in
        `skipped`; docs/guides/triples.md has the format.
        """
        from clew.index.extract import import_triples

        store, meter = self._existing(), Meter()
        with self._billed("import", store, meter):
            with meter.stage("extract"):
                done = import_triples(store, Path(path), metered(self.models, meter), on_chunks)
            self._finish(store, meter)
        return done

    @checked
    @_one_at_a_time
    def import_graph(
        self,
        path: str | Path,
        *,
        limits: ReadingLimits = LIMITS,
        on_progress: OnProgress | None = None,
    ) -> Imported:
        """Take a knowledge graph from a file: a document for each subject, and triples of texts.

        What the index has of that file becomes what the file states now; subjects that are gone
        from it are removed. A triple that names a document of the index goes to the chunks of that
        one. What cannot be used is in `skipped`, and the rest goes on; docs/guides/graphs.md has
        the formats, and `limits` what a line and a packed file may take. Raises InputError where
        there is no such file or no such format,
        UnreadableSource where nothing in it can be used, otherwise as `add`.
        """
        from clew.index import graph

        meter = Meter()
        with meter.stage("read"):
            read = graph.read(Path(path), limits)
        store = self._writable(meter)
        with self._billed("import", store, meter):
            try:
                with meter.stage("rows"):
                    imported = graph.import_graph(
                        store, read, self.models, meter=meter, on_progress=on_progress
                    )
            finally:
                self._finish(store, meter)
        return replace(imported, usage=meter.usage())

    @checked
    @_one_at_a_time
    def merge(self, name: str, into: str) -> None:
        """Let the entity called `name` stand for the one called `into`; `unmerge` takes it back.

        Nothing is done where it does already. Raises InputError where the index has no such entity,
        and AlreadyExists where both are one in another way.
        """
        rows = self.snapshot().layer("entity").rows([name_key(name), name_key(into)])
        missing = next((n for n, row in zip((name, into), rows, strict=True) if row < 0), None)
        if missing is not None:
            raise InputError(f"the index has no entity {missing!r}: see 'clew show {missing}'")
        if self._existing().aliases().get(name_key(name)) == name_key(into):
            return self._renew(self._existing())  # which a process that was killed did not
        if rows[0] == rows[1]:
            raise AlreadyExists(f"{name!r} and {into!r} are one entity already")
        return self._set_alias(name_key(name), name_key(into))

    @_one_at_a_time
    def merge_by_rules(self) -> dict[str, str]:
        """Merge names that differ by an article, "&" or a legal form; return which stand for which.

        `unmerge` takes each of them back.
        """
        from clew.layers.aliases import rule_merges

        store, layer = self._existing(), self.snapshot().layer("entity")
        keys = layer.ids(range(len(layer)))
        pairs = [sorted((keys[a], keys[b]), key=len) for a, b in rule_merges(keys)]
        targets = {longer: shorter for shorter, longer in pairs}
        if targets:
            store.set_aliases(targets)
            self._renew(store)
        return targets

    @checked
    @_one_at_a_time
    def unmerge(self, name: str) -> None:
        """Let an entity that stood for another stand for itself again."""
        if name_key(name) not in self._existing().aliases():
            raise InputError(f"{name!r} stands for no other entity: see 'clew show --aliases'")
        self._set_alias(name_key(name), None)

    def _set_alias(self, key: str, target: str | None) -> None:
        store = self._existing()
        store.set_aliases({key: target})
        self._renew(store)

    @checked
    @_one_at_a_time
    def remove(
        self,
        ids: str | Sequence[str] = (),
        *,
        where: str | Filter | None = None,
        dry_run: bool = False,
    ) -> list[str]:
        """Delete documents, with everything that only they supported; return their ids.

        Documents are named by id, by a folder of ids, or by a pattern such as `notes/*.md`, whose
        `*` crosses folders too; by a filter; or by both, where both name them. Nothing is deleted
        in a `dry_run`. Raises InputError, and deletes nothing, where one of these names no
        document, and where nothing is given.
        """
        store = self._existing()
        chosen = to_remove(ids, where, lambda patterns: self.documents(*patterns, where=where))
        if dry_run:
            return chosen
        gone = store.remove(chosen)
        self._renew(store)
        return gone

    @checked
    def documents(self, *patterns: str, where: str | Filter | None = None) -> list[str]:
        """Return the ids of all documents, or of those that ids, folders or patterns name.

        With a filter, only those that fulfil it, which may be none. Raises InputError where a
        pattern names no document, and for a filter as `snapshot`.
        """
        named = self._matching(patterns) if patterns else sorted(self._existing().hashes())
        chosen = as_filter(where)
        if chosen is None:
            return named
        fulfil = set(match.ids(self.snapshot(), chosen))
        return [each for each in named if each in fulfil]

    def _matching(self, patterns: Iterable[str]) -> list[str]:
        hashes = self._existing().hashes()
        known = sorted(hashes)
        chosen: dict[str, None] = {}
        for pattern in patterns:
            found = [pattern] if pattern in hashes else matching(pattern, known)
            if not found:
                raise InputError(f"no document {pattern!r} in {self.shown}: see 'clew list'")
            chosen.update(dict.fromkeys(found))
        return list(chosen)

    @_one_at_a_time
    def compact(self) -> None:
        """Rewrite the index without what was deleted or replaced, and erase that."""
        store = self._existing()
        with self._lock:  # an open reader keeps deleted text on disk
            self._snapshot = None
        self._renew(store, compact=True)

    # -- read ---------------------------------------------------------------------------------

    @checked
    def plan(  # noqa: PLR0913 -- one argument for each option
        self,
        source: Source,
        *,
        exclude: Sequence[str] = (),
        limits: ReadingLimits = LIMITS,
        gitignore: bool = True,
        columns: Columns | None = None,
        web: bool = False,
        suffix: str = "",
        core: float = CORE_SHARE,
        probe: int = 0,
        budget: Budget | None = None,
        **entities: Unpack[EntityOptions],
    ) -> Plan:
        """Return what each setting of the extraction by an LLM would cost for these documents.

        Triples are estimated for all chunks and for the share `core` of them: the real core where
        this index holds just these documents, else a random sample. They are triples of
        `entities` as `add` has them, by default of those that were wanted last. Files are those
        that `add` reads, with the same options.

        Nothing is written and no LLM is called, unless `probe` calls of each kind are to be made
        first, to estimate from; they are kept and not made again. What the ledger of this index
        has costs nothing. Raises InputError where there is nothing to plan for.
        """
        from clew.index import plan

        read_files = partial(
            readers.read,
            selection=Selection(exclude, gitignore=gitignore),
            columns=columns,
            limits=limits,
            web=web,
            stdin=StandardInput(suffix=suffix),
        )
        items = _items(source, read_files)
        documents = [item for item in items if isinstance(item, Document)]
        chunking = (self._settings or Settings()).chunking
        kept = self._existing().note(NOTE) if self._exists() else {}
        wanted = wished({**kept, "triples": "llm"}, entities)
        if self._exists():
            given, stored = chunking, building.chunking(self._existing().recipe)
            differ = (given.size, given.overlap) != (stored.size, stored.overlap)
            if self._settings is not None and differ:
                raise RecipeMismatch(
                    f"this index was built with chunks of {stored.size} tokens, {stored.overlap}"
                    f" of them from the one before, not {given.size} and {given.overlap}: plan for"
                    f" a new folder, or without these options"
                )
            chunking = stored
        corpus = plan.corpus(documents, chunking, wanted.terms)
        if not len(corpus.texts):
            raise InputError(f"there is nothing to plan for in {_named(source)}")
        if self._exists():
            corpus = plan.ranked(corpus, self.snapshot())
        llm = self._llm(budget)
        ledger = self._ledger if probe or self._ledger.exists() else None
        memory = Memory(ledger, llm.name if llm else "")
        if probe:
            if sharded.is_home(self.folder):  # whose ledgers are those of the shards
                raise NotAnIndex(sharded.why_not_one(self.folder))
            self._make_folder()  # of the ledger
        found = plan.plan(corpus, llm, memory, core=core, n_probes=probe)
        return replace(found, embedding=self._plan_vectors(documents, chunking))

    def _plan_vectors(
        self, documents: Sequence[Document], chunking: Chunking
    ) -> EmbeddingEstimate | None:
        """Return what the vectors of those documents would cost that are not here as they are."""
        from clew.index import plan

        store = self._existing() if self._exists() else None
        known = store.hashes([document.id for document in documents]) if store else {}
        new = [each for each in documents if index.has_new_rows(each, known.get(each.id))]
        return plan.embedding(new, chunking, self.models, store)

    @checked
    @asking()
    def search(
        self,
        query: str,
        *,
        method: str | retrieval.Method | None = None,
        context_tokens: int | None = None,
        where: str | Filter | None = None,
        history: Sequence[Exchange] = (),
        budget: Budget | None = None,
        exact: bool = False,
        **parameters: Scalar,
    ) -> Evidence:
        """Return the chunks that a method finds for `query`, and why.

        `method` is a name, or a method with its parameters, such as `Walk(chunks=5)`; `parameters`
        are those of the one that is named, such as `chunks=5`: see `clew methods`. By default it is
        `walk`, and `auto` where the index has an imported graph. A method that
        fills a context itself, by a parameter for tokens, fills one of `context_tokens` where these
        are given and its own are not. With `where`, a filter such as "date >= 2024", only documents
        that fulfil it are seen, as if the index held no others. Where `budget` leaves no room for
        an LLM's step, or nothing comes from the LLM, its LLM-free alternative is taken; the latter
        is not waited for where it cannot be reached. Where it is `exact`, what is nearest is
        looked for among all rows also in an index of more than 100,000 units, entities or triples,
        where a few could be missed else. The evidence's `support` and a hit's
        `relevance` are probabilities, which mean the same for all methods.

        A query that leans on the `history`, the turns of a conversation in their order, is read as
        one that stands by itself: by the LLM where there is one, else with names of the turns
        before. The evidence's `query` is the one that was searched for, and a note says so.

        Raises InputError for an empty query or index, and for a filter as `snapshot`;
        UnknownMethod, MissingLayer.
        """
        meter = Meter()
        chosen = self._default(meter) if method is None else method
        retriever = build_method(chosen, parameters, context_tokens)
        asked = _Asked(query, history)
        return self._found(asked, retriever, as_filter(where), budget, meter, exact=exact)[0]

    def _default(self, meter: Meter) -> str:
        """Return the method that is taken where none is named; it may open the index for that."""
        with meter.stage("open"):
            if not self._exists() or self.snapshot().are_texts().all():
                return DEFAULT_METHOD
        return _DEFAULT_OF_GRAPHS

    def _found(
        self,
        asked: _Asked,
        retriever: retrieval.Method,
        where: Filter | None,
        budget: Budget | None,
        meter: Meter,
        *,
        exact: bool,
    ) -> tuple[Evidence, Snapshot]:
        """Return what a method finds, and the generation in which it did."""
        check_query(asked.query)
        meter.budget = budget
        with meter.stage("open"):
            snapshot = self.snapshot(where)
            snapshot = snapshot.exactly() if exact else snapshot
            models = metered(remembered(self._within(budget)), meter)
        with meter.stage("search"):
            query, notes = follow_up.read(asked.query, asked.history, snapshot, models)
        evidence = found_in(snapshot, query, retriever, models, meter)
        return told(evidence, where, notes, meter), snapshot

    @checked
    @asking()
    def ask(  # noqa: PLR0913 -- one argument for each option
        self,
        question: str,
        *,
        method: str | retrieval.Method | None = None,
        context_tokens: int | None = None,
        where: str | Filter | None = None,
        history: Sequence[Exchange] = (),
        budget: Budget | None = None,
        min_support: float = support.THRESHOLD,
        exact: bool = False,
        on_evidence: Callable[[Evidence], None] | None = None,
        on_text: OnPiece | None = None,
        on_citation: OnCitation | None = None,
        **parameters: Scalar,
    ) -> Answer:
        """Answer `question` from what a method finds, with citations.

        The context holds at most `context_tokens` tokens, by default those that the method was
        told to fill, where it fills a context itself, else 4,000. Without an LLM, or where `budget`
        leaves no room for it, the answer is at most three quotes. Where the evidence's support is
        below `min_support`, 0 to 1, it is of the kind "refused" instead, and its context holds what
        is nearest; an LLM is told the support, and may refuse itself. 0 refuses nothing. `exact`
        and `history` are as for `search`; the answer's `question` is the one that was asked.

        `on_evidence` is told of the evidence as soon as it is found and judged; what it raises ends
        the question before an answer is paid for. `on_text` is told of the answer's text: piece by
        piece as an LLM writes it, any other in one piece, nothing of a refusal. The pieces since
        the last None are together the text of the answer. None says that what was told does not
        count, where a reply broke off and is asked for again, or is of no use. `on_citation` is
        told of a citation of an LLM's answer once the text that it supports was told, so that its
        number can stand there; None for the text is None for them. All are called in the thread
        that asks. What `on_text` raises is raised here, once the reply that is paid for
        is recorded.
        """
        meter = Meter()
        chosen = self._default(meter) if method is None else method
        size = context_size(chosen, parameters) if context_tokens is None else context_tokens
        retriever = build_method(chosen, parameters, size)
        asked = _Asked(question, history)
        evidence, snapshot = self._found(
            asked, retriever, as_filter(where), budget, meter, exact=exact
        )
        if on_evidence is not None:
            on_evidence(evidence)
        found = answered(
            evidence,
            snapshot,
            self._within(budget),
            context_tokens=size,
            min_support=min_support,
            on_text=on_text,
            on_citation=on_citation,
        )
        usage = together(evidence.usage, found.usage)
        return replace(found, question=question, usage=usage)

    @checked
    @asking()
    def answer(
        self,
        evidence: Evidence,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        answer_tokens: int = answering.MAX_ANSWER_TOKENS,
        llm: LLM | None = None,
        budget: Budget | None = None,
        min_support: float = 0.0,
        on_text: OnPiece | None = None,
        on_citation: OnCitation | None = None,
    ) -> Answer:
        """Answer the query of `evidence`, which `search` gave; the usage is the answer's own.

        `llm` writes in place of the index's, such as one of `load_llm`; its reply has at most
        `answer_tokens` tokens. Nothing is refused unless `min_support` is given, as to `ask`, and
        `on_text` and `on_citation` are as for `ask`.
        """
        models = self._within(budget)
        if llm is not None:
            models = replace(models, llm=recorded(llm, budget=budget))
        return answered(
            evidence,
            self.snapshot(evidence.where),
            models,
            context_tokens=context_tokens,
            answer_tokens=answer_tokens,
            min_support=min_support,
            on_text=on_text,
            on_citation=on_citation,
        )

    @checked
    @asking()
    def classify(
        self,
        text: str,
        *,
        label: str = "label",
        method: str | retrieval.Method = "hybrid",
        name_weight: float | None = None,
        context_tokens: int = CONTEXT_TOKENS,
        where: str | Filter | None = None,
        budget: Budget | None = None,
        **parameters: Scalar,
    ) -> Classified:
        """Return the label of `text`, one of those that documents have in the metadata `label`.

        Candidates are the labels of what a method finds for `text`, and those whose names fit it,
        which weigh `name_weight`, by default as much as they fit the labelled texts of the index.
        An LLM chooses among them, from at most `context_tokens` tokens; without one, or where
        `budget` leaves no room for it, the best candidate is taken. Raises InputError for an empty
        text and for an index without labels, otherwise as `search`.
        """
        from clew.asking import classify

        if not text.strip():
            raise InputError("the text is empty: there is nothing to classify")
        chosen = as_filter(where)
        classify.labels(self.snapshot(chosen), label)  # before anything is paid for
        retriever = build_method(method, parameters, context_tokens)
        evidence, snapshot = self._found(
            _Asked(text), retriever, chosen, budget, Meter(), exact=False
        )
        meter = Meter()
        with meter.stage("classify"):
            classified = classify.classify(
                text,
                evidence,
                snapshot,
                metered(self._within(budget), meter),
                column=label,
                name_weight=name_weight,
                budget_tokens=context_tokens,
            )
        return replace(classified, usage=together(evidence.usage, meter.usage()))

    @checked
    def show(self, name: str | None = None) -> dict[str, Any]:
        """Describe the index, or a row of it by its id or an entity by its name, as plain values.

        Raises InputError where nothing has that id or name.
        """
        from clew.views.describe import describe_index, describe_row

        if name is None:
            return describe_index(
                self.folder, self.shown, self._existing(), self.snapshot(), self.spent()
            )
        return describe_row(self.snapshot(), name)

    def spent(self) -> Usage | None:
        """Return what all writes of the index cost since it was made; None: it is not known.

        What a process spent that was killed is missing. It is not known of an index that another
        version of Clew made, or whose ledger is gone.
        """
        costs = self.costs()
        if not costs or costs[0].before:
            return None
        return reduce(together, (cost.usage for cost in costs))

    def costs(self) -> list[Cost]:
        """Return what each write of the index cost, the oldest first; none where it is not known.

        What a process spent that was killed is missing.
        """
        try:
            return self._ledger.costs() if self._ledger.exists() else []
        except StoreError:  # the index does not need its ledger
            return []

    @checked
    def backup(self, path: str | Path) -> Backup:
        """Write the newest generation to an archive, NAME.tar.gz or NAME.tar, while others write.

        With what was paid for: the ledger and the cached vectors. `clew.restore` makes an index of
        it. Raises InputError for a file that is there, or another ending, and where another store
        keeps the index; NotAnIndex; and StoreError where the archive cannot be written.
        """
        from clew.store.backup import write

        return write(self.folder, Path(path))

    def check(self) -> list[Damage]:
        """Look at every byte of an index, and of what was paid for; return what is damaged.

        Files that can be computed again are dropped if they are damaged. Of an index in PostgreSQL
        every object is downloaded. Raises NotAnIndex where there is no index, and InputError where
        another package's store keeps it.
        """
        return opening.damages(self.folder, index.content_hash)

    @checked
    @_one_at_a_time
    def repair(self, *, budget: Budget | None = None) -> Repaired:
        """Make anew what `check` finds damaged, from the texts that the index holds.

        Documents whose rows are damaged are indexed again; the others stay as they are, unless the
        database itself is damaged: all are indexed again then. What an LLM made of chunks comes
        back for those that had it, from its recorded replies, or is asked for again within
        `budget`. Documents whose texts are damaged, subjects of imported graphs and triples that
        came from a file cannot be made anew: the result names them. Of what was paid for, what can
        be read is kept. Raises DamagedIndex where not even the settings of the index can be read.
        """
        from clew.index import recall, repair
        from clew.store.database import FILE
        from clew.store.embedded import EmbeddedStore

        found = [each for each in self.check() if not each.is_cached]
        files = {each.file for each in found if not each.is_paid}
        if FILE in files and opening.named_in(self.folder) is None:
            self.close()
            self._store = EmbeddedStore.open_damaged(self.folder)
        store, meter = self._existing(), Meter(budget=budget)
        done = repair.Repaired()
        if not isinstance(store, EmbeddedStore):
            if found:
                raise InputError(opening.repairs_of(self.folder))
            return done
        mended = paid.mend(self.folder, {each.file for each in found if each.is_paid})
        if files:
            self._check_embedder()
        if FILE in files:
            done = repair.rebuild(self.folder, store, self.models, meter)
            self.close()
            store = self._existing()
        with self._billed("add", store, meter):
            if files and isinstance(store, EmbeddedStore) and FILE not in files:
                done = repair.repair(store, self.models, meter)
            if mended:
                paid.miss_no_more(store, self.folder)
            if files or store.note(recall.NOTE):
                wanted = Wanted.from_plain(store.note(NOTE))
                rules = loading.load_extractor(wanted.triples, self.models.tagger)
                with meter.stage("extract"):
                    models = metered(self._within(budget), meter)
                    recall.recall(store, models, ledger=self._ledger, rules=rules)
                self._finish(store, meter)
        return replace(done, paid=mended)

    def digest(self) -> str:
        """Return the SHA-256, in hex, of the ids and contents of all documents."""
        hashes = sorted(self._existing().hashes().items())
        rows = (f"{id_} {index.rows_hash(found)}" for id_, found in hashes)
        return sha256("\n".join(rows).encode()).hexdigest()

    @checked
    def export(
        self,
        path: str | Path,
        *,
        query: str | None = None,
        method: str | retrieval.Method = "bubble",
        where: str | Filter | None = None,
        budget: Budget | None = None,
        raw: bool = False,
        **parameters: Scalar,
    ) -> Exported:
        """Write the graph of the index to a file, or the one that a method finds for `query`.

        With a filter it is the graph of the documents that fulfil it. Characters that nobody sees
        are escaped in GraphML and tables, and a cell that a spreadsheet would take for a formula
        has an apostrophe before it; `raw` leaves both out.
        The suffix says the format: .graphml or .json, and for the whole graph also .jsonl and .tsv,
        which `import_graph` reads, and .parquet. Of an index without triples GraphML and JSON have
        the names that stand in one sentence. A file of that name is replaced when the new one is
        whole. Raises InputError where the file cannot be written or the method finds no graph,
        otherwise as `search`.
        """
        from clew.views import export

        target = export.target(path, whole=query is None, raw=raw)
        if query is None:
            snapshot = self.snapshot(where)
            export.check_triples(snapshot, target, whole=True)
            return target.write(export.index_graph(snapshot))
        evidence = self.search(
            query,
            method=method,
            context_tokens=None,
            where=where,
            history=(),
            budget=budget,
            exact=False,
            **parameters,
        )
        return target.write(export.evidence_graph(evidence))

    def hashes(self) -> Mapping[str, str]:
        """Return the content hash of every document by its id."""
        return self._existing().hashes()

    def alias_targets(self) -> Mapping[str, str]:
        """Return which entity key stands for which other one."""
        return self._existing().aliases()

    def aliases(self) -> dict[str, Any]:
        """Return which names stand for others, and pairs of names that may be of one thing."""
        from clew.views.describe import describe_aliases

        return describe_aliases(self._existing().aliases(), self.snapshot())

    @checked
    def snapshot(self, where: str | Filter | None = None) -> Snapshot:
        """Return the newest generation of the index, opened once for all threads.

        It stays open as long as something refers to it, whatever is written meanwhile. With a
        filter it is of the documents that fulfil it, as if the index had never held others. Raises
        InputError for a filter that cannot be read, a field that no document has, and where no
        document fulfils it.
        """
        chosen = as_filter(where)
        with self._lock:
            store = self._existing()
            if self._snapshot is None or (
                self._follower is None and self._snapshot.generation != store.generation
            ):
                self._snapshot, self._filtered = open_snapshot(store), Once(_MOST_FILTERED)
            snapshot, filtered = self._snapshot, self._filtered
        if chosen is None:
            return snapshot
        return filtered.get(chosen, lambda: _among(snapshot, chosen))

    @checked
    def follow(self, every_s: float = _FOLLOW_S) -> None:
        """Open new generations beside the questions from now on, which do not wait for them.

        It is looked for one every so many seconds. Until it is open, what reads is of the one
        before; `catch_up` waits for it. It ends with `close`.
        """
        with self._lock:
            if self._follower is None:
                self._follower = Follower(self, Index._look, every_s)

    def _look(self) -> None:
        if self._snapshot is not None:
            self.catch_up()

    @checked
    def catch_up(self, generation: int = 0) -> int:
        """Let what reads be of the newest generation from now on, and return that.

        Nothing is looked for where what is read is of a `generation`, or of a later one, already.
        Raises InputError where the index has no such generation yet.
        """
        held = self._snapshot
        if generation and held is not None and held.generation >= generation:
            return held.generation
        with self._catching_up:
            before = self._snapshot
            store = self._existing()
            newest = store.generation
            if newest < generation:
                raise InputError(
                    f"{self.shown} has generation {newest}, not {generation} yet: name one that it"
                    f" has"
                )
            if before is None or before.generation != newest:
                found = open_snapshot(store)
                if before is not None:
                    found.prepare_as(before)
                with self._lock:
                    self._snapshot, self._filtered = found, Once(_MOST_FILTERED)
                return found.generation
            return newest

    @property
    def is_open(self) -> bool:
        """Whether anything was read that is still held."""
        return self._snapshot is not None

    @property
    def generation(self) -> int:
        """The generation that what reads now is of; the newest, where none was read yet."""
        snapshot = self._snapshot
        return self._existing().generation if snapshot is None else snapshot.generation

    @property
    def models(self) -> Models:
        """The models in use, loaded when they are first asked for.

        Raises RecipeMismatch where the index was built with another embedder.
        """
        with self._lock:
            if self._models is None:
                self._models = self._recorded_models()
            return self._models

    def _recorded_models(self) -> Models:
        recipe: Mapping[str, Scalar] = {}
        if self._store is not None or self._exists():
            recipe = self._existing().recipe
        return recorded_models(self._given, self._specs, recipe, self.folder, self._prices)

    @checked
    def load_llm(self, spec: str, *, budget: Budget | None = None) -> Conversation:
        """Return the LLM that `spec` names; its replies are recorded as those of the index's own.

        It is loaded once. Raises InputError for a spec that names nothing.
        """
        with self._lock:
            llm = self.models.llm if spec == self._specs.llm else self._llms.get(spec)
            if llm is None:
                llm = self._llms[spec] = loading.load_llm(spec)
        return recorded(llm, self._ledger, budget, self._prices)

    def _embedder(self) -> Embedder:
        return self.models.embedder

    @property
    def _ledger(self) -> Ledger:
        return Ledger(opening.paid_in(self.folder, paid.CALLS))

    def _llm(self, budget: Budget | None) -> Conversation | None:
        """Return the LLM by itself: a plan needs no other model."""
        if self._given is not None:
            llm = self._given.llm
        else:
            llm = loading.load_llm(self._specs.llm) if self._specs.llm else None
        return None if llm is None else recorded(llm, self._ledger, budget, self._prices)

    def _within(self, budget: Budget | None) -> Models:
        return within(self.models, budget)

    def close(self) -> None:
        """Let go of files and locks; what still reads has its generation until it ends."""
        with self._lock:
            if self._follower is not None:
                self._follower.end()
                self._follower = None
            self._snapshot = None
            if self._store is not None:
                self._store.close()
                self._store = None

    # -- the same for an event loop -----------------------------------------------------------

    aadd = awaitable(add)
    aextract_triples = awaitable(extract_triples)
    aimport_triples = awaitable(import_triples)
    aimport_graph = awaitable(import_graph)
    aremove = awaitable(remove)
    acompact = awaitable(compact)
    aplan = awaitable(plan)
    asearch = awaitable(search)
    aask = awaitable(ask)
    aanswer = awaitable(answer)
    aclassify = awaitable(classify)
    aexport = awaitable(export)
    abackup = awaitable(backup)

    # -- the store ----------------------------------------------------------------------------

    def _exists(self) -> bool:
        return opening.exists(self.folder)

    def _make_folder(self) -> None:
        if self.folder.exists():
            return
        try:
            make_folder(self.folder)
        except OSError as error:
            raise StoreError(
                f"{self.folder} cannot be made ({error.strerror}): name another"
            ) from error

    def _existing(self) -> Store:
        with self._lock:
            if self._store is None:
                self._store = opening.open_store(self.folder)
            return self._store

    def _check_embedder(self) -> None:
        embedder = self.models.embedder
        if is_checked(embedder):
            embedder.check()

    def _writable(self, meter: Meter) -> Store:
        """Return the store for a write, made where there is none.

        An embedder may be asked for its dimension, which `meter` pays. Raises BudgetSpent, and
        RecipeMismatch where the index was built with other models or settings.
        """
        models = metered(self.models, meter)
        self._check_embedder()  # before a folder is made
        if self._store is None and not self._exists():
            settings = self._settings or Settings()
            self._make_folder()  # the embedder's cache is in it
            recipe = settings.recipe(models)
            if self._given is None:
                recipe["embedder_spec"] = self._specs.embedder or "minilm"
                recipe["tagger_spec"] = self._specs.tagger or "rules"
            self._store = opening.create(self.folder, recipe, self._kept_by)
        store = self._existing()
        if self._settings is not None:
            index.check_recipe(store.recipe, self._settings.recipe(models))
        return store


def to_remove(
    ids: str | Sequence[str], where: str | Filter | None, named: Callable[[list[str]], list[T]]
) -> list[T]:
    """Return what `named` gives for the patterns of documents that are to be removed.

    Raises InputError where nothing is given, and where nothing is found.
    """
    patterns = [ids] if isinstance(ids, str) else list(ids)
    if not patterns and as_filter(where) is None:
        raise InputError("name the documents to remove, by ids, patterns or a filter")
    chosen = named(patterns)
    if not any(chosen):
        raise InputError("no document has one of these names and fulfils the filter")
    return chosen


def found_in(
    snapshot: Snapshot, query: str, retriever: retrieval.Method, models: Models, meter: Meter
) -> Evidence:
    """Return what a method finds in a snapshot, judged. Raises MissingLayer, InputError."""
    _check_layers(retriever.layers, snapshot)
    with meter.stage("search"):
        evidence = retriever.retrieve(query, snapshot, models)
        if retriever.layers:  # else it retrieves nothing on purpose
            evidence = steps.apparatus_behind(snapshot, evidence)
            evidence = support.judged(evidence, snapshot, models)
    return evidence


def told(
    evidence: Evidence, where: Filter | None, notes: tuple[str, ...], meter: Meter
) -> Evidence:
    """Return evidence with what is told beside it: the filter, notes before its own, the cost."""
    evidence = replace(
        evidence,
        where="" if where is None else str(where),
        notes=(*notes, *evidence.notes),
        usage=meter.usage(),
    )
    _log.info(
        "%s found %d chunks in %.3f s",
        evidence.method,
        len(evidence.hits),
        evidence.usage.total_seconds,
    )
    return evidence


def recorded_models(
    given: Models | None,
    specs: loading.Specs,
    recipe: Mapping[str, Scalar],
    folder: Path,
    prices: Mapping[str, Price] | None,
) -> Models:
    """Return the `given` models, else those of an index in `folder`; their LLM is recorded there.

    Raises RecipeMismatch where the index was built with another embedder.
    """
    models = given or loading.load_models(
        loading.from_recipe(specs, recipe),
        cache=opening.paid_in(folder, paid.EMBEDDINGS),
        prices=prices,
    )
    if models.llm is not None:
        ledger = Ledger(opening.paid_in(folder, paid.CALLS))
        models = replace(models, llm=recorded(models.llm, ledger, prices=prices))
    if recipe:
        index.check_recipe(recipe, {"analyzer": ANALYZER, "embedder": models.embedder.name})
    return models


def within(models: Models, budget: Budget | None) -> Models:
    """Return models, their LLM bounded by `budget`."""
    if models.llm is None or budget is None:
        return models
    return replace(models, llm=recorded(models.llm, budget=budget))


def answered(
    evidence: Evidence,
    snapshot: Snapshot,
    models: Models,
    *,
    context_tokens: int,
    answer_tokens: int = answering.MAX_ANSWER_TOKENS,
    min_support: float,
    on_text: OnPiece | None = None,
    on_citation: OnCitation | None = None,
) -> Answer:
    """Return the answer from evidence that was found in a snapshot; see `Index.answer`."""
    meter = Meter()
    with meter.stage("answer"):
        found = answering.answer(
            evidence.query,
            evidence,
            metered(models, meter),
            snapshot=snapshot,
            budget_tokens=context_tokens,
            max_tokens=answer_tokens,
            min_support=min_support,
            on_text=on_text,
            on_citation=on_citation,
        )
        found = answering.placed(found, snapshot)
    return replace(found, usage=meter.usage())


def restore(source: str | Path, folder: str | Path) -> Backup:
    """Make an index in a new folder from an archive that `Index.backup` wrote.

    Every byte is looked at before the folder is there. Raises InputError for what is no whole
    backup, for a folder that is there and not empty, and for an index that is damaged.
    """
    from clew.store.backup import unpacked
    from clew.store.check import damages

    with unpacked(Path(source), Path(folder)) as (place, found):
        for each in damages(place, index.content_hash):
            if each.is_paid and not (place / each.file).exists():
                continue  # as it was when the backup was made
            raise InputError(
                f"{source} holds a damaged index ({each.file}: {each.what}): it was so when the"
                f" backup was made; take another, or mend that index with 'clew check --repair'"
            )
    return found


def _among(snapshot: Snapshot, chosen: Filter) -> Snapshot:
    """Return the snapshot of the documents that fulfil a filter."""
    rows = match.rows(snapshot, chosen)
    if not len(rows):
        raise InputError(f"no document fulfils the filter {str(chosen)!r:.200}: see 'clew list'")
    if len(rows) == len(snapshot.document_layer) or snapshot.among is None:
        return snapshot
    return snapshot.among(rows)


def build_method(
    name: str | retrieval.Method,
    parameters: Mapping[str, Scalar],
    context_tokens: int | None = None,
) -> retrieval.Method:
    """Return a method with its parameters. Raises UnknownMethod, InputError for a bad one.

    A method that is given as such has its parameters already.
    """
    if not isinstance(name, str):
        if parameters:
            raise InputError(f"{next(iter(parameters))} is a parameter: give it to the method")
        return _checked_method(name)
    kind = retrieval.load(name)
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    bounding = retrieval.limits(kind).tokens
    if context_tokens is not None and bounding:
        parameters = {bounding: context_tokens, **parameters}
    for given, value in parameters.items():
        if given not in known:
            raise InputError(
                f"the method {name!r} has no parameter {given!r}: take one of {', '.join(known)}"
            )
        _check_type(name, given, value, known[given].default)
    method = kind(**parameters)  # which knows its own limits
    for given, value in parameters.items():
        if isinstance(value, int | float) and not 0 <= value < math.inf:
            limit = "at least 0" if value < 0 else "a finite number"
            raise InputError(f"{given} of the method {name!r} is {limit}, not {value}")
    return method


def context_size(method: str | retrieval.Method, parameters: Mapping[str, Scalar]) -> int:
    """Return the tokens of a context: those that the method was told to fill, if it fills one."""
    if isinstance(method, str):
        own = parameters.get(retrieval.limits(retrieval.load(method)).tokens)
    else:
        own = getattr(method, retrieval.limits(type(method)).tokens, None)
    return own if isinstance(own, int) else CONTEXT_TOKENS


def _checked_method(method: retrieval.Method) -> retrieval.Method:
    if callable(getattr(method, "retrieve", None)) and hasattr(method, "layers"):
        return method
    raise InputError(
        f"a method is a name or has `layers` and a `retrieve`, not {method!r:.60}: see clew.methods"
    )


def _check_type(method: str, parameter: str, value: Scalar, default: object) -> None:
    number = isinstance(default, float) and type(value) is int
    if type(value) is not type(default) and not number:
        raise InputError(
            f"{parameter} of the method {method!r} is {_TYPES[type(default)]}, not {value!r}"
        )


def _items(
    source: Source, read: Callable[[list[str | Path]], Iterable[Document | Skipped]]
) -> Iterable[Document | Skipped]:
    """Return what `source` holds; documents are taken from it only as they are needed."""
    several = [source] if isinstance(source, str | Path | Document) else source
    items: Iterator[object] = iter(several)
    first = list(islice(items, 1))
    given = chain(first, items)
    if first and isinstance(first[0], Document):
        return map(_document, given)
    paths = [i if isinstance(i, str | Path) else _refuse(i) for i in given]
    return read(paths)


def _paths(source: Source) -> list[Path]:
    """Return the paths that were given to `add`; documents, pages and standard input are none."""
    several = [source] if isinstance(source, str | Path | Document) else source
    if not isinstance(several, list | tuple):
        return []
    found = [located(each) for each in several if isinstance(each, str | Path)]
    return [each for each in found if isinstance(each, Path)]


def _named(source: object) -> str:
    """Return what was given to `add`, for a message."""
    if isinstance(source, list | tuple):
        return ", ".join(map(_named, source)) or "an empty list"
    return repr(str(source)) if isinstance(source, str | Path) else "what was given"


def no_file(named: str, left_out: Mapping[str, int]) -> InputError:
    """Return the error for input without a file to index, where so many were left out."""
    why = " but what is excluded or in a .gitignore file; see --no-gitignore" if left_out else ""
    return InputError(f"there is no file to index in {named}{why}")


def _document(item: object) -> Document:
    if not isinstance(item, Document):
        _refuse(item)
    if not (isinstance(item.id, str) and item.id and isinstance(item.text, str)):
        raise InputError(f"a document has an id and a text, both of them texts, not {item!r:.80}")
    if not (isinstance(item.title, str) and isinstance(item.metadata, Mapping)):
        raise InputError(f"the title of {item.id!r:.60} is a text, and its metadata a mapping")
    return item


def _refuse(item: object) -> NoReturn:
    raise InputError(
        f"what is added is all paths or all documents (clew.types.Document), not {item!r:.80}"
    )


def check_query(query: str) -> None:
    """Raise InputError for a query that asks nothing."""
    if not query.strip():
        raise InputError("the question is empty: ask something")


def _check_layers(layers: Iterable[str], snapshot: Snapshot) -> None:
    """Raise MissingLayer for a layer that the index lacks; one may be empty, but for chunks."""
    for layer in sorted(layers):
        if not len(snapshot.layer(layer)) and layer == "chunk":
            raise InputError("this index is empty: add documents first")


def together(first: Usage, second: Usage) -> Usage:
    """Return what two runs cost."""
    known = first.cost_usd is not None and second.cost_usd is not None
    seconds = dict(first.seconds)
    for stage, value in second.seconds.items():
        seconds[stage] = seconds.get(stage, 0.0) + value
    return Usage(
        llm_calls=first.llm_calls + second.llm_calls,
        recorded_calls=first.recorded_calls + second.recorded_calls,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        cost_usd=(first.cost_usd or 0) + (second.cost_usd or 0) if known else None,
        embedding_tokens=first.embedding_tokens + second.embedding_tokens,
        seconds=seconds,
    )
