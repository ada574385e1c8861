"""Extract knowledge units, entities and triples from chunks, beyond their sentences.

By an LLM, by rules, or from a file that somebody's own extraction gave. A commit adds the rows of
some chunks and takes them off the list of what waits, so a run that stopped at any instant goes on
where its last commit ended; replies that came after it are in the ledger.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clew.algo.pool import group_by_size
from clew.base.display.shown import Shown
from clew.base.types import GRAPH, KINDS, SOURCES, UNITS, Described, Extraction, Skipped
from clew.errors import BudgetSpent, ClewError, InputError, ModelError
from clew.index.adding import finish_index
from clew.index.choose import (
    NOTE,
    NOTHING,
    ReplyMemory,
    Wanted,
    choose_chunks,
    count_waiting,
    read_requested,
    read_titled_texts,
    requeue_failed,
    requeue_graph,
    stored_chunk_numbers,
)
from clew.index.generation import open_snapshot
from clew.index.layers.extractions import (
    ChunkExtraction,
    build_graph_batch,
    build_statement_batch,
    split_extraction,
)
from clew.index.layers.graph_extraction import graph_prompt, read_graph
from clew.index.layers.graph_form import GraphForm
from clew.index.layers.salient import TermSettings, find_hints, statistical_terms
from clew.index.layers.units import read_units, units_prompt
from clew.index.recipe import LATE
from clew.index.snapshot.batch import Batch
from clew.index.store import schema
from clew.models import LLM, Deferred, Extractor, Models, Prompt, Reply
from clew.models.cooccurrence import Cooccurrence
from clew.models.recorded_llm import recorded
from clew.readers.triples import read_triples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.index.store.segmented import Store
    from clew.models.ledger import Ledger

_log = logging.getLogger(__name__)

OnChunks = Callable[[int, int], None]  # how many chunks are done with, of how many

_PROMPTS_AT_ONCE = 32  # in one commit
PLACED = "placed"  # what a store keeps under it: hashes of what a graph gave texts last
_CHUNKS_AT_ONCE = 256  # the same, where no prompt is needed


@dataclass(slots=True, eq=False, repr=False)
class ExtractionReport(Shown):
    """What a run extracted, in chunks, by kind."""

    llm: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    fallback: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    rules: int = 0
    recorded: int = 0
    waiting: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    dropped: int = 0  # items of an LLM's replies that could not be used
    skipped: list[Skipped] = field(default_factory=list)
    stopped: str = ""  # why the run ended although chunks wait
    batches: dict[str, int] = field(default_factory=dict)  # under way, their requests, ...
    bare: bool = False  # where a reply for triples is of no use, a chunk has none

    @property
    def n_chunks(self) -> int:
        by_llm = sum(self.llm.values()) + sum(self.fallback.values())
        return by_llm + self.rules + self.recorded

    def add(self, other: ExtractionReport) -> None:
        """Add what another run, or the run of another shard, extracted."""
        for name in ("llm", "fallback", "waiting", "batches"):
            counts, more = getattr(self, name), getattr(other, name)
            counts.update({key: counts.get(key, 0) + n for key, n in more.items()})
        self.rules += other.rules
        self.recorded += other.recorded
        self.dropped += other.dropped
        self.skipped += other.skipped
        self.stopped = self.stopped or other.stopped
        self.bare |= other.bare


def run_extractions(
    store: Store,
    models: Models,
    wanted: Wanted,
    *,
    ledger: Ledger | None = None,
    rules: Extractor | None = None,
    again: bool = False,
    on_progress: OnChunks | None = None,
) -> ExtractionReport:
    """Run the requested extractions on chunks that lack them, with several commits.

    `rules` extracts triples that are not wanted of an LLM. `again` asks once more for the
    chunks whose reply was of no use. Where the budget is spent the run ends and `stopped` says
    so; the same call goes on later. Without an LLM what waited for one goes on waiting. Raises
    InputError where something new needs an LLM and there is none, EndpointError after what came
    before it is committed.
    """
    before, with_llm = read_requested(store), models.llm is not None
    check_extraction(store, models, wanted)
    if wanted == before == Wanted():
        return ExtractionReport()
    if with_llm and "pagerank" in wanted.llm_choice(GRAPH):
        # Compacted now, it stays so, and so does the graph that the choice computes.
        finish_index(store)
    with closing(ExtractionCorpus(store, models, on_progress)) as corpus:
        _settle(corpus, wanted)
        memory = ReplyMemory.from_llm(ledger, models.llm, wanted, corpus.listed, again=again)
        work = {kind: store.work(kind) for kind in KINDS}
        choose_chunks(store, corpus.snapshot, wanted, memory.mark_known, with_llm=with_llm)
        if again and with_llm:
            if ledger is not None:
                ledger.forget_failed()
            requeue_failed(store, corpus.snapshot, wanted, memory.mark_known)
        with _restoring_settings(corpus, wanted, before, work):
            if wanted != before:
                store.set_note(NOTE, asdict(wanted))
            if rules is not None:
                extract_by_rules(corpus, rules)
            for kind in wanted.list_kinds() if with_llm else ():
                if not corpus.done.stopped:
                    extract_by_llm(corpus, models.llm, get_task(corpus, kind), memory)
    return _count_waiting(corpus)


def check_extraction(store: Store | None, models: Models, wanted: Wanted) -> None:
    """Raise the errors of an extraction's first step, before anything is paid for.

    Without a `store` it is one of a new index. Raises InputError where it needs an LLM and there is
    none, or a budget in dollars a price, and MissingExtra for a package of the tagger.
    """
    before = Wanted() if store is None else read_requested(store)
    if models.llm is None and wanted.needs_llm(before):
        raise InputError("this extraction needs an LLM: name one, as in --llm openai:MODEL@URL")
    if wanted == before == Wanted():
        return
    if models.llm is not None:
        models.llm.complete([])  # a package, or the price for a budget, may be missing
    _ = models.tagger.name  # of rules, and of chunks whose reply is of no use


@contextmanager
def _restoring_settings(
    corpus: ExtractionCorpus, wanted: Wanted, before: Wanted, work: Mapping[str, Mapping[int, int]]
) -> Iterator[None]:
    """Restore the settings `before`, and their `work`, if the block fails with nothing new."""
    try:
        yield
    except ClewError:
        if wanted != before and not corpus.done.n_chunks:
            for kind, packs in work.items():
                corpus.store.set_work(kind, packs, anew=True)
            _settle(corpus, before)
            corpus.store.set_note(NOTE, asdict(before))
        raise


def _settle(corpus: ExtractionCorpus, wanted: Wanted) -> None:
    """Store the term settings and the types of a schema in the recipe of the whole index."""
    corpus.form = wanted.form
    if wanted.triples != "llm":
        return
    recipe, none = corpus.store.recipe, dict.fromkeys(TermSettings().to_recipe())
    terms = wanted.terms.to_recipe() if wanted.terms else none
    more = {**schema.add_types(recipe, wanted.form.entity_types), **terms}
    if any(recipe.get(name) != value for name, value in more.items()):
        corpus.store.settle(more)


def _count_waiting(corpus: ExtractionCorpus) -> ExtractionReport:
    """Return the report of a finished run, with the chunks still waiting."""
    with closing(open_snapshot(corpus.store)) as snapshot:
        corpus.done.waiting.update(count_waiting(corpus.store, snapshot))
    return corpus.done


def extract_triples(
    store: Store, models: Models, chunk_ids: Sequence[str], *, ledger: Ledger | None = None
) -> ExtractionReport:
    """Extract entities and triples from some chunks by the LLM, leaving the others queued.

    What a method needs of the others is extracted when it is asked for. Raises InputError for an
    id that is no chunk's, and without an LLM; otherwise as `extract`.
    """
    if models.llm is None:
        raise InputError("this extraction needs an LLM: name one, as in --llm openai:MODEL@URL")
    with closing(ExtractionCorpus(store, models)) as corpus:
        rows = np.asarray(corpus.snapshot.layer("chunk").rows(chunk_ids), dtype=np.intp)
        if (rows < 0).any():
            unknown = chunk_ids[int(np.flatnonzero(rows < 0)[0])]
            raise InputError(f"the index has no chunk {unknown!r}: see 'clew show DOCUMENT'")
        memory = ReplyMemory.from_llm(ledger, models.llm, read_requested(store), corpus.listed)
        requeue_graph(store, corpus.snapshot, rows, memory.mark_known)
        extract_by_llm(corpus, models.llm, get_task(corpus, GRAPH), memory)
    return _count_waiting(corpus)


class ReadChunks:
    """Chunks as models read them, with title and section."""

    texts: Sequence[str]
    form: GraphForm  # what an LLM is asked for in their graphs

    @cached_property
    def hints(self) -> list[list[str]]:
        return find_hints(self.texts)

    @cached_property
    def listed(self) -> dict[str, list[str]]:
        """Return the statistical entities to relate by text; imported texts have none."""
        if self.form.terms is None:
            return {}
        texts = [self.texts[row] for row in self.rows_of_texts().tolist()]
        return dict(zip(texts, statistical_terms(texts, self.form.terms), strict=True))

    def find_names(self, row: int) -> Sequence[str]:
        """Return the names that a prompt proposes for a chunk: all others, or their spelling."""
        return self.listed[self.texts[row]] if self.form.terms else self.hints[row]

    def rows_of_texts(self) -> NDArray[np.intp]:
        """Return the rows of chunks that are texts, not imported graphs."""
        return np.arange(len(self.texts))


class ExtractionCorpus(ReadChunks):
    """The chunks of one generation, and the state of an extraction run over them.

    `on_progress` is told how many are done with, of how many.
    """

    def __init__(self, store: Store, models: Models, on_progress: OnChunks | None = None) -> None:
        store.lock()  # before rows are numbered: another process might compact
        self.store = store
        self.models = models
        self.done = ExtractionReport()
        self.tell: OnChunks = on_progress or (lambda _done, _total: None)
        self.form = read_requested(store).form
        self.snapshot = open_snapshot(store)
        self.stored = stored_chunk_numbers(self.snapshot)
        self.texts = read_titled_texts(self.snapshot)

    def rows_of_texts(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.snapshot.are_texts())

    def read_packs(self, kind: str) -> list[list[int]]:
        """Return the rows of each waiting pack, by pack number."""
        rows = {stored: row for row, stored in enumerate(self.stored.tolist())}
        waiting: dict[int, list[int]] = {}
        for stored, pack in self.store.work(kind).items():
            if pack >= 0 and stored in rows:
                waiting.setdefault(pack, []).append(rows[stored])
        return [sorted(waiting[pack]) for pack in sorted(waiting)]

    def read_sources(self, kind: str) -> NDArray[np.uint8]:
        """Return the source of each chunk's extraction, as an index into SOURCES."""
        return np.asarray(self.snapshot.layer("chunk").columns[kind])

    def close(self) -> None:
        self.snapshot.close()


# -- by an LLM ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitsTask:
    """Knowledge units; a chunk without any keeps its sentences."""

    corpus: ReadChunks
    kind: ClassVar[str] = UNITS

    def prompt(self, rows: Sequence[int], before: Sequence[Any] | None = None) -> Prompt:  # noqa: ARG002
        return units_prompt([self.corpus.texts[row] for row in rows])

    def read(self, part: object, row: int) -> tuple[str, ...]:
        return read_units({"1": part}, [self.corpus.texts[row]])[0]

    def fallback(self, row: int, models: Models) -> tuple[str, ...]:  # noqa: ARG002
        return ()  # its sentences are there

    def batch(
        self, extracted: Sequence[ChunkExtraction[Any]], models: Models, store: Store
    ) -> Batch:
        late, tokens = store.recipe["vectors"] == LATE, schema.token_type(store.recipe)
        unnamed = store.unnamed
        return build_statement_batch(extracted, models, unnamed, late=late, tokens=tokens)


@dataclass(frozen=True)
class GraphTask:
    """Entities and triples; a chunk without any gets those of its sentences.

    In a closed form it keeps its statistical entities only.
    """

    corpus: ReadChunks
    kind: ClassVar[str] = GRAPH

    def prompt(self, rows: Sequence[int], before: Sequence[Any] | None = None) -> Prompt:
        """Return the prompt for some chunks, or for what earlier replies missed.

        `before` are the parts that those gave.
        """
        corpus = self.corpus
        taken = before and [self.read(*each) for each in zip(before, rows, strict=True)]
        texts, names = [corpus.texts[r] for r in rows], [corpus.find_names(r) for r in rows]
        return graph_prompt(texts, names, taken, corpus.form)

    def read(self, part: Any, row: int) -> Extraction | None:  # noqa: ANN401 -- parsed JSON
        corpus = self.corpus
        texts, names = [corpus.texts[row]], [corpus.find_names(row)]
        return read_graph({"1": part}, texts, names, corpus.form)[0]

    def fallback(self, row: int, models: Models) -> Extraction:
        if self.corpus.form.is_closed:
            names = self.corpus.find_names(row) if self.corpus.form.terms else ()
            return Extraction(entities=tuple(Described(name=name) for name in names))
        return Cooccurrence(models.tagger).extract([self.corpus.texts[row]])[0]

    def batch(
        self, extracted: Sequence[ChunkExtraction[Any]], models: Models, store: Store
    ) -> Batch:
        types = schema.read_types(store.recipe)
        return build_graph_batch(extracted, models, store.unnamed, types)


Task = UnitsTask | GraphTask  # one kind of extraction by an LLM


def get_task(corpus: ReadChunks, kind: str) -> Task:
    """Return the LLM task for a kind of extraction in this index."""
    return UnitsTask(corpus) if kind == UNITS else GraphTask(corpus)


def extract_by_llm(
    corpus: ExtractionCorpus, llm: LLM | None, task: Task, memory: ReplyMemory
) -> None:
    """Extract from queued packs until the budget is spent."""
    packs = memory.split_packs(corpus.read_packs(task.kind))
    done, total, ready = corpus.done, sum(map(len, packs)), 0
    done.bare = corpus.form.is_closed
    for begin in range(0, len(packs), _PROMPTS_AT_ONCE):
        group = packs[begin : begin + _PROMPTS_AT_ONCE]
        made, stop = _get_parts(llm, task, memory, group, done)
        extracted = []
        for row, part in made.items():
            gave: Any = None if part is NOTHING else task.read(part, row)
            (done.llm if gave else done.fallback)[task.kind] += 1
            content = gave or task.fallback(row, corpus.models)
            source = "llm" if gave else "fallback"
            extracted.append(ChunkExtraction(int(corpus.stored[row]), source, content))
        if extracted:
            corpus.store.commit(task.batch(extracted, corpus.models, corpus.store), ())
        ready += len(extracted)
        _log.info("%s of %d of %d chunks committed", task.kind, ready, total)
        corpus.tell(ready, total)
        if isinstance(stop, BudgetSpent):
            done.stopped = str(stop)
            return
        if stop is not None:
            raise stop


def _get_parts(
    llm: LLM | None,
    task: Task,
    memory: ReplyMemory,
    group: Sequence[Sequence[int]],
    done: ExtractionReport,
) -> tuple[dict[int, Any], BudgetSpent | ModelError | None]:
    """Return the recorded or new extraction of each row, and the error that stopped the LLM.

    A row that got no reply is left out; one whose reply is of no use has NOTHING. What a reply
    gives is kept by the thread that received it, so that a text is known whatever comes next.
    """
    rows, read_texts = [row for pack in group for row in pack], task.corpus.texts
    texts = [read_texts[row] for row in rows]
    by_text = dict(zip(texts, memory.get_parts(task.kind, texts), strict=True))
    packs: list[Sequence[int]] = []
    coming: set[str] = set()
    for pack in group:
        missing = {text for row in pack if by_text[text := read_texts[row]] is None}
        if missing - coming:
            packs.append(pack)
            coming |= missing
    stop, before = None, None
    for n_left in range(memory.count_gleanings(task.kind), -1, -1):
        made, ended, stop = _ask_round(llm, task, memory, packs, before, done, is_last=not n_left)
        for i in ended:
            for row, part in zip(packs[i], made[i], strict=True):
                by_text[read_texts[row]] = by_text[read_texts[row]] or part
        open_packs = sorted(made.keys() - ended)
        if stop is not None or not open_packs:
            break
        packs, before = [packs[i] for i in open_packs], [made[i] for i in open_packs]
    parts = {row: by_text[text] for row, text in zip(rows, texts, strict=True)}
    return {row: part for row, part in parts.items() if part is not None}, stop


def _ask_round(
    llm: LLM | None,
    task: Task,
    memory: ReplyMemory,
    packs: Sequence[Sequence[int]],
    before: Sequence[Sequence[Any]] | None,
    done: ExtractionReport,
    *,
    is_last: bool,
) -> tuple[dict[int, list[Any]], set[int], BudgetSpent | ModelError | None]:
    """Ask about packs once; with `before`, ask for what is missing there.

    Return the parts of each pack that got a reply, which packs are done with, and what stopped the
    LLM. A pack is done with in the last round, or where a round gave it nothing new.
    """
    texts = [[task.corpus.texts[row] for row in pack] for pack in packs]
    given = [None if before is None else before[i] for i in range(len(packs))]
    prompts = [memory.word(task.prompt(*each)) for each in zip(packs, given, strict=True)]
    made: dict[int, list[Any]] = {}
    ended: set[int] = set()
    dropped: list[int] = []

    def keep(i: int, reply: Reply) -> None:
        dropped.append(reply.dropped)
        made[i] = memory.read_parts(task.kind, reply, texts[i], given[i])
        if is_last or made[i] == given[i] or not any(made[i]):
            first = prompts[i] if before is None else memory.word(task.prompt(packs[i]))
            memory.keep(task.kind, first, made[i], texts[i])
            ended.add(i)

    stop = complete_prompts(llm, prompts, keep)
    done.dropped += sum(dropped)
    return made, ended, stop


def complete_prompts(
    llm: LLM | None, prompts: Sequence[Prompt], keep: Callable[[int, Reply], None]
) -> BudgetSpent | ModelError | None:
    """Call `keep` with each reply by prompt position; return the error that stopped the LLM.

    A prompt that waits in a batch has no reply yet, as if the run had ended before.
    """
    if llm is None or not prompts:
        return None
    try:
        recorded(llm).complete(prompts, on_reply=keep)
    except (BudgetSpent, ModelError) as stop:
        return stop
    except Deferred:
        return None
    return None


# -- without one ----------------------------------------------------------------------------------


def extract_by_rules(corpus: ExtractionCorpus, rules: Extractor) -> None:
    """Extract triples by rules from the chunks without triples."""
    rows = np.flatnonzero(corpus.read_sources(GRAPH) == SOURCES.index("none")).tolist()
    for begin in range(0, len(rows), _CHUNKS_AT_ONCE):
        block = rows[begin : begin + _CHUNKS_AT_ONCE]
        extractions = rules.extract([corpus.texts[row] for row in block])
        _commit_graph(corpus, "cooccurrence", dict(zip(block, extractions, strict=True)))
        corpus.done.rules += len(block)
        corpus.tell(corpus.done.rules, len(rows))


def _commit_graph(corpus: ExtractionCorpus, source: str, parts: Mapping[int, Extraction]) -> None:
    stored = corpus.stored
    extracted = [ChunkExtraction(int(stored[row]), source, each) for row, each in parts.items()]
    corpus.store.commit(build_graph_batch(extracted, corpus.models, corpus.store.unnamed), ())


def import_triples(
    store: Store, path: Path, models: Models, on_progress: OnChunks | None = None
) -> ExtractionReport:
    """Import entities and triples of indexed documents from a file of one line per document.

    They replace what was extracted from those documents' chunks. Lines about other documents are
    in `skipped`, with what cannot be read.
    """
    with closing(ExtractionCorpus(store, models, on_progress)) as corpus:
        by_document = _read_recorded(corpus, path)
        total = sum(len(rows) for rows, _ in by_document)
        for block in group_by_size(by_document, lambda each: len(each[0]), _CHUNKS_AT_ONCE):
            extractions: dict[int, Extraction] = {}
            for rows, extraction in block:
                pieces = split_extraction(extraction, [corpus.texts[row] for row in rows])
                extractions |= dict(zip(rows, pieces, strict=True))
            _commit_graph(corpus, "recorded", extractions)
            corpus.done.recorded += len(extractions)
            corpus.tell(corpus.done.recorded, total)
    if store.note(PLACED):
        store.set_note(PLACED, {})
    return corpus.done


def _read_recorded(corpus: ExtractionCorpus, path: Path) -> list[tuple[list[int], Extraction]]:
    """Return the chunk rows and the combined extraction of each document in a file."""
    owners = corpus.snapshot.layer("chunk").columns["document"]
    begins = np.searchsorted(owners, np.arange(len(corpus.snapshot.layer("document")) + 1))
    extractions: dict[int, list[Extraction]] = {}
    for line in read_triples(path):
        if isinstance(line, Skipped):
            corpus.done.skipped.append(line)
            continue
        [row] = corpus.snapshot.layer("document").rows([line.document_id])
        if row < 0:
            reason = f"the index has no document {line.document_id!r}"
            corpus.done.skipped.append(Skipped(source=str(path), reason=reason, line=line.line))
        else:
            extractions.setdefault(row, []).append(line.extraction)
    return [
        (list(range(int(begins[row]), int(begins[row + 1]))), _merge_extractions(extractions[row]))
        for row in sorted(extractions)
        if begins[row + 1] > begins[row]
    ]


def _merge_extractions(extractions: Sequence[Extraction]) -> Extraction:
    return Extraction(
        entities=tuple(entity for each in extractions for entity in each.entities),
        triples=tuple(triple for each in extractions for triple in each.triples),
    )
