"""An open index: its store, its models, and the generation in use."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

from clew import methods as retrieval
from clew.answers.question import ExportOptions, Question
from clew.base.display.shown import paragraph, table
from clew.base.options import options_of
from clew.base.runtime import arguments
from clew.base.runtime.arguments import Kind
from clew.base.runtime.cached_values import Once
from clew.base.runtime.closing import Closing
from clew.base.runtime.private import make_folder
from clew.base.runtime.threads import follow
from clew.base.types import Document, Evidence
from clew.errors import InputError, StoreError
from clew.filters import to_filter
from clew.index import recipe as recipes
from clew.index.generation import GENERATION_ARRAYS, open_snapshot
from clew.index.recipe import Settings
from clew.index.snapshot import Snapshot
from clew.index.store import opening, paid
from clew.models import Models, is_checked, loading
from clew.models.bound import bind_models
from clew.models.run import ModelRun
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clew.filters import Filter
    from clew.index.store.segmented import Store
    from clew.models import LLM, Embedder
    from clew.models.budget import Budget
    from clew.models.ledger import Ledger
    from clew.models.prices import Price
    from clew.models.recorded_llm import RecordedLLM


_log = logging.getLogger(__name__)

Opened = TypeVar("Opened", bound="OpenIndex")
P = ParamSpec("P")
T = TypeVar("T")

_MOST_FILTERED = 8  # filters whose documents stay in memory
_FOLLOW_S = 0.25
MADE_FOR = "methods"  # what a store keeps the methods under that an index is made for

# What callers may give to the functions of an index, by the names of arguments.
_OF_KINDS: Mapping[Kind, str] = {
    arguments.PATH: "folder home path",
    arguments.TEXT: "name into spec query patterns start rename type",
    arguments.TEXTS: "chunk_ids",
    arguments.TEXT_OR_TEXTS: "ids",
    arguments.TRUTH: "processes dry_run dated apart",
    arguments.whole_numbers(0): "generation level",
    arguments.whole_numbers(1): "n_shards answer_tokens chunks most",
    arguments.number(0): "every_s",
    arguments.MAPPING: "prices",
    arguments.FUNCTION: "on_progress on_chunks on_text on_citation",
}
# What `where` may be is said where it is read.
checked = arguments.check_values(
    {
        **{
            name: each.kind
            for value in (Question, ExportOptions)
            for name, each in options_of(value).items()
        },
        **{name: kind for kind, names in _OF_KINDS.items() for name in names.split()},
        "source": Kind(
            lambda value: (
                isinstance(value, Document)
                or arguments.is_path(value)
                or arguments.are_several(value)
            ),
            "a path, a document, or a list of either",
        ),
        **dict.fromkeys(
            ("since", "until"),
            Kind(
                lambda value: arguments.is_path(value) or type(value) is int,
                "a generation, a date or a folder",
            ),
        ),
        "text": arguments.instance("a text", str, Question),
        "limits": arguments.instance_of("clew.limits:ReadingLimits", "a ReadingLimits"),
        "evidence": arguments.instance("the Evidence that a search gave", Evidence),
        "models": arguments.instance("a clew.Models", Models),
        "specs": arguments.instance("a clew.Specs", loading.Specs),
        "settings": arguments.instance("a clew.Settings", Settings),
        "llm": Kind(
            lambda value: hasattr(value, "complete") or hasattr(value, "ask"),
            "an LLM, such as load_llm gives",
        ),
    }
)


def one_at_a_time(
    write: Callable[Concatenate[Opened, P], T],
) -> Callable[Concatenate[Opened, P], T]:
    """Decorate a writing method so that only one thread at a time runs it.

    What it is given is checked before.
    """

    @checked
    @wraps(write)
    def waiting(self: Opened, *given: P.args, **keywords: P.kwargs) -> T:
        with self._writing:
            return write(self, *given, **keywords)

    return waiting  # type: ignore[return-value]  # mypy tells the name `self` from none


_OPEN: WeakSet[OpenIndex] = WeakSet()
# What the parent of a forked process had open. To close its files here could hurt it, and a model's
# end would wait for threads that only the parent has, so it is kept as long as the process lives.
_INHERITED: list[object] = []


def _after_fork() -> None:
    for opened in list(_OPEN):
        opened._reset_after_fork()  # noqa: SLF001 -- of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class OpenIndex(Closing):
    """The store, the models and the snapshots of an index in a folder, for all its threads.

    Nothing is loaded before it is needed.
    """

    def __init__(
        self,
        folder: Path,
        models: Models | None = None,
        chosen: loading.Specs | None = None,
        settings: Settings | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        if isinstance(folder, str):
            raise InputError(f"open an index with clew.open({folder!r}), not by calling the class")
        self.folder = folder
        self._prices = prices
        self._given = models
        self._specs = chosen or loading.Specs()
        self._settings = settings
        self._begin()
        _OPEN.add(self)

    def _begin(self) -> None:
        """Start with no open files, models or locks."""
        self._store: Store | None = None
        self._models: Models | None = None
        self._llms: dict[str, LLM] = {}  # by spec, those that are not in `_models`
        self._snapshot: Snapshot | None = None
        self._filtered: Once[Filter] = Once(_MOST_FILTERED)  # of that snapshot
        self._lock = threading.RLock()  # around what is opened or loaded
        self._writing = threading.RLock()  # held by the thread that writes
        self._catching_up = threading.Lock()  # held by the thread that opens a new generation
        self._end_following: Callable[[], None] | None = None

    def _reset_after_fork(self) -> None:
        """Reset in a forked child, which must not use its parent's files and locks."""
        _INHERITED.append((self._store, self._snapshot, self._models, self._llms))
        self._begin()

    @property
    def shown(self) -> str:
        """Return the index's name in messages: its folder, or its address without a password."""
        return opening.describe_place(self.folder)

    def __len__(self) -> int:
        store = self._find_store()
        return 0 if store is None else len(store.hashes())

    def __contains__(self, document_id: object) -> bool:
        if not isinstance(document_id, str) or not self._exists():
            return False
        return self.snapshot().layer("document").rows([document_id])[0] >= 0

    def __bool__(self) -> bool:
        """Return True: an index without documents is one, too."""
        return True

    def __repr__(self) -> str:
        try:
            size = format_count(len(self), "document") if self._exists() else "not made yet"
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

    # -- what is read -------------------------------------------------------------------------

    @checked
    def snapshot(self, where: str | Filter | None = None) -> Snapshot:
        """Return the newest generation of the index, opened once for all threads.

        It stays open as long as something refers to it, whatever is written meanwhile. With a
        filter it is of the documents that fulfil it, as if the index had never held others. Raises
        InputError for a filter that cannot be read, a field that no document has, and where no
        document fulfils it.
        """
        condition = to_filter(where)
        with self._lock:
            store = self._open_store()
            if self._snapshot is None or (
                self._end_following is None and self._snapshot.generation != store.generation
            ):
                self._snapshot, self._filtered = open_snapshot(store), Once(_MOST_FILTERED)
            snapshot, filtered = self._snapshot, self._filtered
        if condition is None:
            return snapshot
        from clew.filters import match

        return filtered.get(condition, lambda: match.select_documents(snapshot, condition))

    @checked
    def follow(self, every_s: float = _FOLLOW_S) -> None:
        """Follow new generations in the background, so that questions do not wait for them.

        It is looked for one every so many seconds. Until it is open, what reads is of the one
        before; `catch_up` waits for it. It ends with `close`.
        """
        with self._lock:
            if self._end_following is None:
                self._end_following = follow(self, OpenIndex._look, every_s)

    def _look(self) -> None:
        if self._snapshot is not None:
            self.catch_up()

    @checked
    def catch_up(self, generation: int = 0) -> int:
        """Use the newest generation from now on, and return it.

        Nothing is looked for where what is read is of a `generation`, or of a later one, already.
        Raises InputError where the index has no such generation yet.
        """
        held = self._snapshot
        if generation and held is not None and held.generation >= generation:
            return held.generation
        with self._catching_up:
            before = self._snapshot
            store = self._open_store()
            newest = store.generation
            if newest < generation:
                why = f"has generation {newest}, not {generation} yet: name one that it has"
                raise InputError(f"{self.shown} {why}")
            if before is None or before.generation != newest:
                snapshot = open_snapshot(store)
                if before is not None:
                    snapshot.prepare_as(before)
                with self._lock:
                    self._snapshot, self._filtered = snapshot, Once(_MOST_FILTERED)
                return snapshot.generation
            return newest

    @property
    def is_open(self) -> bool:
        """Return whether any opened resource is still held."""
        return self._snapshot is not None

    @checked
    def lock(self) -> None:
        """Become the index's only writer until it is closed. Raises IndexLocked."""
        self._open_store().lock()

    @property
    def generation(self) -> int:
        """Return the number of the generation in use, or of the newest one."""
        snapshot = self._snapshot
        return self._open_store().generation if snapshot is None else snapshot.generation

    # -- the models ---------------------------------------------------------------------------

    @property
    def models(self) -> Models:
        """Return the models, loaded on first access.

        Raises RecipeMismatch where the index was built with another embedder.
        """
        with self._lock:
            if self._models is None:
                store = self._store or self._find_store()
                self._models = recipes.record_models(
                    self._given,
                    self._specs,
                    {} if store is None else store.recipe,
                    self.folder,
                    self._prices,
                    exact=store is None and self._settings is not None and self._settings.is_exact,
                )
            return self._models

    @checked
    def load_llm(self, spec: str, *, budget: Budget | None = None) -> RecordedLLM:
        """Return the LLM of `spec`; its replies are recorded like those of the index's own LLM.

        It is loaded once. Raises InputError for a spec that names nothing.
        """
        with self._lock:
            llm = self.models.llm if spec == self._specs.llm else self._llms.get(spec)
            if llm is None:
                llm = loading.load_llm(spec, sampling=self._specs.sampling)
                self._llms[spec] = llm
        return self._record(llm, budget)

    @checked
    def reach_llm(self, llm: LLM) -> None:
        """Raise EndpointError if an LLM that will be needed does not respond.

        Where the ledger has replies of it, it may not be needed at all.
        """
        from clew.models.recorded_llm import RecordedLLM

        totals = self._ledger.totals() if self._ledger.exists() else {}
        known = {model for model, _ in totals}
        if isinstance(llm, RecordedLLM) and llm.name not in known:
            llm.reach()

    @property
    def _ledger(self) -> Ledger:
        from clew.models.ledger import Ledger

        return Ledger(opening.paid_place(self.folder, paid.CALLS))

    def _load_llm(self, budget: Budget | None) -> RecordedLLM | None:
        """Return only the LLM, as a plan needs no other model."""
        llm = None if self._given is None else self._given.llm
        if self._given is None and self._specs.llm:
            llm = loading.load_llm(self._specs.llm, sampling=self._specs.sampling)
        return None if llm is None else self._record(llm, budget)

    def _record(self, llm: LLM, budget: Budget | None) -> RecordedLLM:
        from clew.models.recorded_llm import recorded

        wording = self._specs.read_wording()
        return recorded(llm, self._ledger, budget, self._prices, wording)

    # -- the store ----------------------------------------------------------------------------

    def _exists(self) -> bool:
        return opening.exists(self.folder)

    def _make_folder(self) -> None:
        try:
            if not self.folder.exists():
                make_folder(self.folder)
        except OSError as error:
            why = error.strerror
            raise StoreError(f"{self.folder} cannot be created ({why}): choose another") from error

    def _find_store(self) -> Store | None:
        return self._open_store() if self._exists() else None

    def _open_store(self) -> Store:
        with self._lock:
            if self._store is None:
                self._store = opening.open_store(self.folder)
            return self._store

    def _check_embedder(self) -> None:
        embedder = self.models.embedder
        if is_checked(embedder):
            embedder.check()

    def _open_to_write(self, run: ModelRun) -> Store:
        """Return the store opened for writing, created if missing.

        An embedder may be asked for its dimension, which the run pays. Raises BudgetSpent, and
        RecipeMismatch where the index was built with other models or settings.
        """
        models = bind_models(self.models, run)
        self._check_embedder()  # before a folder is made
        if self._store is None and not self._exists():
            settings = self._settings or Settings()
            self._make_folder()  # the embedder's cache is in it
            recipe = settings.build_recipe(models)
            if self._given is None:
                recipe["embedder_spec"] = self._specs.embedder or "minilm"
                recipe["tagger_spec"] = self._specs.tagger or "rules"
            self._store = opening.create(self.folder, recipe)
        store = self._open_store()
        if self._settings is not None:
            recipes.check_recipe(store.recipe, self._settings.build_recipe(models))
        return store

    @contextmanager
    def _bill(self, kind: str, store: Store, run: ModelRun) -> Iterator[None]:
        """Record the cost of a block that changed the index or used an LLM, even if it failed."""
        from clew.models.ledger import Cost

        before = store.generation
        try:
            yield
        finally:
            now, usage = store.generation, run.meter.usage
            if now != before or usage.llm_calls or usage.embedding_tokens:
                cost = Cost(kind=kind, before=before, generation=now, usage=usage)
                _log.info(
                    "%s: generation %d to %d, %.1f s, %d LLM calls, %d tokens",
                    kind, before, now, usage.total_seconds, usage.llm_calls, usage.total_tokens,
                )  # fmt: skip
                with suppress(StoreError):  # the index does not need its ledger
                    self._ledger.bill(cost)
                    if now != before:
                        paid.record_paid_files(store, self.folder)

    def _finish_write(self, store: Store, run: ModelRun) -> None:
        with run.meter.stage("store"):
            self._renew(store, lambda: bind_models(self.models, run).embedder)

    def _renew(
        self,
        store: Store,
        embedder: Callable[[], Embedder] | None = None,
        *,
        compact: bool | None = None,
    ) -> None:
        """Finish a write: refresh the cached arrays in use."""
        from clew.index import adding

        made_for = store.note(MADE_FOR).get("methods", ())
        used = retrieval.find_arrays(set(store.cache.names()) - GENERATION_ARRAYS)
        arrays = {each.name: each for each in (*retrieval.list_needed_arrays(*made_for), *used)}
        cached = [arrays[name] for name in sorted(arrays)]
        embedder = embedder or (lambda: self.models.embedder)
        adding.finish_index(store, embedder, cached=cached, compact=compact)

    def close(self) -> None:
        """Close files and locks; running questions keep their generation until they end."""
        with self._lock:
            if self._end_following is not None:
                self._end_following()
                self._end_following = None
            self._snapshot = None
            if self._store is not None:
                self._store.close()
                self._store = None
