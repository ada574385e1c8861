"""Add, remove and extract from documents: the writing methods of `Index`."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from clew import methods as retrieval
from clew import plugins
from clew.api.opened import MADE_FOR, OpenIndex, checked, one_at_a_time
from clew.base.display.shown import Shown
from clew.base.options import with_options
from clew.base.types import Document, Skipped, Usage
from clew.errors import InputError, UnreadableSource
from clew.filters import to_filter
from clew.index import recipe as recipes
from clew.index.options import AddOptions, PlanOptions
from clew.limits import LIMITS, ReadingLimits
from clew.models import is_priced, loading
from clew.models.bound import bind_models
from clew.models.run import Meter, ModelRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clew.base.reports import Plan
    from clew.filters import Filter
    from clew.index.adding import AddReport, OnProgress
    from clew.index.building import Workers
    from clew.index.choose import Wanted
    from clew.index.extract import ExtractionReport, OnChunks
    from clew.index.graph import GraphImport
    from clew.index.options import ReadOptions
    from clew.index.store.segmented import Store
    from clew.models import LLM, OpenAIChat
    from clew.models.budget import Budget
    from clew.models.recorded_llm import RecordedLLM
    from clew.progress import Progress
    from clew.readers.sources import Source


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Added(Shown):
    """The result of `Index.add`, with its cost."""

    report: AddReport
    extracted: ExtractionReport
    usage: Usage
    n_documents: int  # in the index now
    n_chunks: int


def _parse_workers(spec: int | str) -> int | str:
    """Return a checked worker spec: 1 for none, else one that a plug-in can open."""
    if not isinstance(spec, int | str):
        raise InputError(f"'workers' must be a number or a cluster address, not {spec!r:.60}")
    is_one = spec in (1, "1") and not isinstance(spec, bool)
    checked: int | str = 1 if is_one else _find_workers(spec).parse_workers(spec)
    return checked


def _find_workers(spec: int | str) -> Any:  # noqa: ANN401 -- a module of a package
    """Return the plug-in that parses and opens workers. Raises InputError if there is none."""
    kind = str(spec).partition(":")[0]
    is_known = kind in plugins.find_registered("workers")
    return plugins.load("workers", kind if is_known else "processes", "'workers'")


def _load_describer() -> Any:  # noqa: ANN401 -- a module of a package
    return plugins.load("readers", "figure_descriptions", "'describe_figures'")


class Adding(OpenIndex):
    """The methods of an index that add and remove documents."""

    @one_at_a_time
    @with_options(AddOptions)
    def add(self, source: Source, options: AddOptions) -> Added:
        """Add files, folders or documents; unchanged ones cost nothing.

            index.add("docs", exclude=["drafts"]).report.added

        A document of a known id with other content replaces the old one, unless that is another
        file's. The id of a file begins with the name of the folder that was given, with those of
        its parents where another folder of the index has it. Documents whose file is gone are in
        the report's `gone`; one with the content of such a document takes its rows over
        (`renamed`). Input that cannot be read is in `skipped`, and the rest goes on.

        Args:
            source: A path, a `Document`, or several of one kind; "-" is standard input.
            options: Those of `AddOptions`.

        Returns:
            The report, what was extracted, and what it cost.

        Raises:
            InputError: An option cannot be met, there is nothing to add, or nothing of what is to
                make a new index can be read.
            UnknownMethod: There is no method of a name in `methods`.
            RecipeMismatch: The index was built with other models or settings.
            IndexLocked: Another process writes.
            EndpointError: An LLM that is needed does not answer.
        """
        from clew.index import adding, choose, extract, origins
        from clew.progress import Progress
        from clew.readers import inputs, part, sources

        for each in options.methods or ():
            retrieval.load(each)
        workers = _parse_workers(options.workers)
        progress = options.progress or Progress()
        meter = progress.meter = Meter(progress=progress)
        run = ModelRun(meter=meter, budget=options.budget)
        progress.stage = "indexing"
        selection = options.select_files(options.changed)
        former = self._find_store()
        wished = None if options.part is None else part.ShardPart.parse_part(options.part)
        own = origins.choose_part(former, wished, self.shown)
        roots = origins.name_roots(former, self.folder, source, options.name)
        unchanged = origins.get_unchanged(former, options)
        read_files = partial(
            self._read_files,
            options,
            roots=roots,
            selection=selection,
            stdin=inputs.StandardInput(name=options.name or "stdin", suffix=options.suffix),
            progress=progress,
            times=True,
            part=own,
            unchanged=unchanged,
        )
        items, read = sources.items_of(source, read_files), dict[str, str]()
        paths = sources.paths_of(source)
        strict = wished is None and not paths  # the caller chose this very shard for them
        items = iter(items if own is None else own.take_documents(items, read, strict=strict))
        first = list(islice(items, 1))
        if not self._exists() and options.changed is None and own is None:
            first = sources.find_document(chain(first, items), source, selection.counts)
        items = chain(first, items)
        wanted = choose.merge_requested(self._read_note(choose.NOTE), options.extraction)
        if self._given is not None and self._needs_workers(workers):
            raise InputError(
                "workers load models by name: open the index with 'specs', or add with 'workers=1'"
            )
        self._check_wanted(wanted, options)
        store = self._open_to_write(run)
        items = self._describe_figures(items, store, options, run)
        if options.methods is not None:
            store.set_note(MADE_FOR, {"methods": list(options.methods)})
        origins.store_roots(store, self.folder, roots.places, own)
        with self._bill("add", store, run), self._open_workers(workers, store) as opened:
            with meter.stage("read"):
                report = adding.update_documents(
                    store,
                    items,
                    bind_models(self.models, run),
                    roots=roots,
                    paths=paths,
                    selection=selection,
                    read=read,
                    unchanged=unchanged,
                    prune=options.prune,
                    meter=meter,
                    on_progress=options.on_progress,
                    stop=options.stop,
                    progress=progress,
                    workers=opened,
                )
            is_whole = options.changed is None and own is None and not report.stopped
            if paths and is_whole and report.is_empty:
                raise sources.no_file(
                    sources.describe_source(source), report.left_out
                )  # before an LLM is paid
            try:
                extracted = extract.ExtractionReport()
                with meter.stage("extract"):
                    if not report.stopped:
                        extracted = self._extract(store, wanted, options, run, progress)
            finally:
                progress.stage = "finishing"
                self._finish_write(store, run)
        snapshot = self.snapshot()
        return Added(
            report=report,
            extracted=extracted,
            usage=meter.usage,
            n_documents=len(snapshot.layer("document")),
            n_chunks=len(snapshot.layer("chunk")),
        )

    def _read_files(
        self,
        options: ReadOptions,
        paths: Iterable[str | Path],
        **more: Any,  # noqa: ANN401 -- of `readers.read`
    ) -> Iterator[Document | Skipped]:
        """Read files by the options; files indexed with OCR before are read with OCR again."""
        from clew import readers
        from clew.index import origins

        return readers.read(
            paths,
            columns=options.columns,
            limits=options.limits,
            web=options.web,
            ocr=options.ocr,
            sql=options.sql,
            find_known=origins.find_recognized(self.snapshot) if self._exists() else None,
            **more,
        )

    def _describe_figures(
        self, items: Iterator[Document | Skipped], store: Store, options: AddOptions, run: ModelRun
    ) -> Iterator[Document | Skipped]:
        """Yield documents with the descriptions of figures that were or are asked for."""
        from clew.index import origins

        if options.describe_figures:
            store.set_note(origins.DESCRIBED, {"model": self.models.llm and self.models.llm.name})
        model, llm = store.note(origins.DESCRIBED).get("model"), None
        if model is None:
            return items
        if options.describe_figures:
            llm = bind_models(self.models, run).llm
        figures = _load_describer()
        described: Iterator[Document | Skipped]
        wording = self._specs.read_wording()
        described = figures.describe_figures(items, model, llm, self._ledger, wording)
        return described

    @contextmanager
    def _open_workers(self, spec: int | str, store: Store) -> Iterator[Workers | None]:
        """Open workers with this index's models for a block; None if the spec needs none."""
        if not self._needs_workers(spec):
            yield None
            return
        specs = recipes.from_recipe(self._specs, store.recipe)
        models = replace(specs, llm=None, reranker=None, reader=None)
        opened = _find_workers(spec).open_workers(spec, models)
        with nullcontext() if opened is None else closing(opened):
            yield opened

    def _read_note(self, name: str) -> Mapping[str, Any]:
        store = self._find_store()
        return {} if store is None else store.note(name)

    def _needs_workers(self, spec: int | str) -> bool:
        return spec != 1 and not is_priced(self.models.embedder)

    def _check_wanted(self, wanted: Wanted, options: AddOptions) -> None:
        """Fail early: raise what would end the extraction anyway, such as EndpointError."""
        from clew.index.extract import check_extraction
        from clew.models.recorded_llm import BATCHES

        models = bind_models(self.models, ModelRun(budget=options.budget))
        check_extraction(self._find_store(), models, wanted)
        llm = self.models.llm
        if options.wait and not options.batch:
            raise InputError("only batches are waited for: ask for 'batch' with 'wait'")
        if options.batch and not hasattr(getattr(llm, "chat", None), "open_batches"):
            raise InputError("'batch' needs an LLM behind an endpoint, as in --llm openai:MODEL")
        if options.describe_figures:
            _load_describer().check_reader(llm)
        if llm is None or not (wanted.list_kinds() or options.describe_figures):
            return
        jobs = () if options.batch else self._read_note(BATCHES).values()
        if any(job["model"] == llm.name for job in jobs):
            raise InputError(
                "requests of this index are in batches that are paid for: collect their replies"
                " by 'batch' first, as with --batch --wait"
            )
        self.reach_llm(llm)

    def _extract(
        self, store: Store, wanted: Wanted, options: AddOptions, run: ModelRun, progress: Progress
    ) -> ExtractionReport:
        from clew.index.extract import run_extractions

        progress.stage = "extracting"

        def tell(done: int, total: int) -> None:
            progress.chunks = done, total

        models, llm = self.models, cast("RecordedLLM", self.models.llm)
        rules = loading.load_extractor(wanted.triples, self.models.tagger)

        def run_with(llm: LLM | None, again: bool) -> ExtractionReport:  # noqa: FBT001
            return run_extractions(
                store,
                bind_models(replace(models, llm=llm), run),
                wanted,
                ledger=self._ledger,
                rules=rules,
                again=again,
                on_progress=tell,
            )

        if not options.batch:
            return run_with(llm, options.again)
        from clew.models.budget import Budget

        batches = cast("OpenAIChat", llm.chat).open_batches(
            llm=llm,
            store=store,
            ledger=self._ledger,
            meter=run.meter,
            budget=options.budget or llm.budget or Budget(),
            again=options.again,
        )
        done: ExtractionReport = batches.extract(run_with, progress, wait=options.wait)
        return done

    @one_at_a_time
    def extract_triples(
        self, chunk_ids: Sequence[str], *, budget: Budget | None = None
    ) -> ExtractionReport:
        """Extract entities and triples from some chunks with the LLM; later calls do the rest.

        Chunks that have theirs cost nothing. Raises InputError without an LLM, and for an id that
        is no chunk's.
        """
        from clew.index.extract import extract_triples

        store, run = self._open_store(), ModelRun(budget=budget)
        with self._bill("extract", store, run):
            with run.meter.stage("extract"):
                models = bind_models(self.models, run)
                done = extract_triples(store, models, chunk_ids, ledger=self._ledger)
            self._finish_write(store, run)
        return done

    @one_at_a_time
    def import_triples(
        self, path: str | Path, *, on_chunks: OnChunks | None = None
    ) -> ExtractionReport:
        """Import entities and triples of indexed documents from a JSON Lines file.

        They replace what was extracted from these documents before. What cannot be used is in
        `skipped`; docs/guides/triples.md has the format.
        """
        from clew.index.extract import import_triples

        store, run = self._open_store(), ModelRun()
        with self._bill("import", store, run):
            with run.meter.stage("extract"):
                done = import_triples(store, Path(path), bind_models(self.models, run), on_chunks)
            self._finish_write(store, run)
        return done

    @one_at_a_time
    def import_graph(
        self,
        path: str | Path,
        *,
        limits: ReadingLimits = LIMITS,
        on_progress: OnProgress | None = None,
    ) -> GraphImport:
        """Import a knowledge graph from a file, or another system's index from a folder.

        What the index has of it becomes what it states now: a document for each subject, which is
        removed where it is gone. A triple that names a document of the index goes to the chunks of
        that one. The texts of LightRAG and GraphRAG become documents first. What cannot be used is
        in `skipped`, what is not taken in `left`, and the rest goes on; docs/guides/graphs.md has
        the formats, and `limits` what a line and a packed file may take. Raises InputError where
        there is no such path or no such format, UnreadableSource where nothing in it can be used,
        otherwise as `add`.
        """
        from clew.index import graph, origins

        graphs = plugins.load("graphs", "files", "'import'")
        run = ModelRun()
        meter = run.meter
        roots = origins.name_roots(self._find_store(), self.folder, path, "")
        if not os.path.lexists(path):
            raise InputError(f"there is no file or folder {str(path)!r}")
        with graphs.open_system(Path(path), roots, limits) as opened:
            if opened is None:
                with meter.stage("read"):
                    read = graphs.read_statements(Path(path), limits)
            else:
                with meter.stage("read"):
                    place, system = opened
                    documents = list(system.documents)
                    read = graphs.gather_statements(place, system.statements)
                if not (len(read.stated) or any(isinstance(each, Document) for each in documents)):
                    why = f": {read.skipped[0]}" if read.skipped else ""
                    raise UnreadableSource(place.source, f"holds nothing that can be used{why}")
            store = self._open_to_write(run)
            with self._bill("import", store, run):
                try:
                    models = bind_models(self.models, run)
                    texts = None
                    if opened is not None:
                        origins.store_roots(store, self.folder, roots.places, None)
                        origins.record_imported(store, place.id)
                        texts = graph.mirror_documents(
                            store, place, documents, models, meter=meter, on_progress=on_progress
                        )
                    with meter.stage("rows"):
                        imported = graph.import_graph(store, read, models, on_progress=on_progress)
                finally:
                    self._finish_write(store, run)
        if opened is not None:
            skipped = [*(texts.skipped if texts else ()), *imported.skipped]
            imported = replace(
                imported, system=system.name, texts=texts, left=system.left, skipped=skipped
            )
        return replace(imported, usage=meter.usage)

    @checked
    @with_options(PlanOptions)
    def plan(self, source: Source, options: PlanOptions) -> Plan:
        """Return the estimated cost of each LLM extraction setting for these documents.

            index.plan("docs").estimates

        Triples are estimated for all chunks and for the share `core` of them: the real core where
        this index holds just these documents, else a random sample. Nothing is written, and what
        the ledger of this index has costs nothing.

        What is left out of the graph's options is as it was wanted last. Raises InputError where
        there is nothing to plan for.

        Args:
            source: What is read, as by `add`.
            options: Those of `PlanOptions`.
        """
        from clew.index import plan
        from clew.index.choose import NOTE, ReplyMemory, merge_requested
        from clew.readers import inputs, sources

        read_files = partial(
            self._read_files,
            options,
            selection=options.select_files(),
            stdin=inputs.StandardInput(suffix=options.suffix),
        )
        items = sources.items_of(source, read_files)
        documents = [item for item in items if isinstance(item, Document)]
        store = self._find_store()
        chunking = plan.choose_chunking(store, self._settings)
        wanted = merge_requested({**self._read_note(NOTE), "triples": "llm"}, options.extraction)
        corpus = plan.build_corpus(documents, chunking, wanted.form)
        if not len(corpus.texts):
            raise InputError(
                f"there are no documents to plan for in {sources.describe_source(source)}"
            )
        if store is not None:
            corpus = plan.rank_corpus(corpus, self.snapshot())
        llm = self._load_llm(options.budget)
        ledger = self._ledger if self._ledger.exists() else None
        memory = ReplyMemory.from_llm(ledger, llm, wanted, corpus.listed)
        estimate = plan.plan_extraction(corpus, llm, memory, core=options.core)
        if options.batch:
            estimate = plan.price_batches(estimate, llm.price if llm else None)
        if options.describe_figures:
            estimate = _load_describer().add_estimate(estimate, documents, llm, ledger)
        vectors = plan.estimate_embedding(documents, chunking, self.models, store)
        return replace(estimate, embedding=vectors)

    @checked
    def documents(self, *patterns: str, where: str | Filter | None = None) -> list[str]:
        """Return the ids of all documents, or of those matching ids, folders or patterns.

        With a filter, only those that fulfil it, which may be none. Raises InputError where a
        pattern names no document, and for a filter as `snapshot`.
        """
        ids = self._match_ids(patterns) if patterns else sorted(self._open_store().hashes())
        condition = to_filter(where)
        if condition is None:
            return ids
        from clew.filters import match

        fulfil = set(match.find_ids(self.snapshot(), condition))
        return [each for each in ids if each in fulfil]

    def _match_ids(self, patterns: Iterable[str]) -> list[str]:
        from clew.text.patterns import match_ids

        hashes = self._open_store().hashes()
        all_ids = sorted(hashes)
        ids: dict[str, None] = {}
        for pattern in patterns:
            matches = [pattern] if pattern in hashes else match_ids(pattern, all_ids)
            if not matches:
                raise InputError(f"no document {pattern!r} in {self.shown}: see 'clew list'")
            ids.update(dict.fromkeys(matches))
        return list(ids)

    @one_at_a_time
    def remove(
        self,
        ids: str | Sequence[str] = (),
        *,
        where: str | Filter | None = None,
        dry_run: bool = False,
    ) -> list[str]:
        """Delete documents, with everything that only they support; return their ids.

        Documents are named by id, by a folder of ids, or by a pattern such as `notes/*.md`, whose
        `*` crosses folders too; by a filter; or by both, where both name them. Nothing is deleted
        in a `dry_run`. Raises InputError, and deletes nothing, where one of these names no
        document, and where nothing is given.
        """
        store = self._open_store()
        matches = to_remove(ids, where, lambda patterns: self.documents(*patterns, where=where))
        if dry_run:
            return matches
        gone = store.remove(matches)
        self._renew(store)
        return gone


def to_remove(
    ids: str | Sequence[str], where: str | Filter | None, find: Callable[[list[str]], list[T]]
) -> list[T]:
    """Return the documents to remove: those that `find` gives for the patterns.

    Raises InputError where nothing is given, and where nothing is found.
    """
    patterns = [ids] if isinstance(ids, str) else list(ids)
    if not patterns and to_filter(where) is None:
        raise InputError("name the documents to remove, by ids, patterns or a filter")
    matches = find(patterns)
    if not any(matches):
        raise InputError("no document has one of these names and matches the filter")
    return matches
