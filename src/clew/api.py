"""An index as its users have it: open, add, search, ask, show, remove.

The command line and the server call these same functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from clew import answer as answering
from clew import index, methods, readers, specs
from clew.errors import InputError
from clew.index import OnProgress, Report, Settings
from clew.models.metered import Meter, metered
from clew.store.embedded import EmbeddedStore
from clew.text.analyze import VERSION as ANALYZER
from clew.types import Answer, Document, Evidence, Scalar, Skipped, Snapshot, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from clew.models import Models

DEFAULT_METHOD = "clue"
_EMBEDDINGS = "embeddings.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What `Index.add` did, and what it cost."""

    report: Report
    usage: Usage
    n_documents: int  # in the index now
    n_chunks: int


def open_index(
    folder: str | Path,
    *,
    models: Models | None = None,
    specs: specs.Specs | None = None,
    settings: Settings | None = None,
) -> Index:
    """Return the index in `folder`; it is made there by the first `add`.

    Models come from `models`, else by name from `specs`, else as the index was built, else the
    defaults, which need no key and no download. `settings` decide how a new index is built.
    """
    return Index(Path(folder), models, specs, settings)


class Index:
    """An index in a folder. Nothing is loaded before it is needed; one thread at a time."""

    def __init__(
        self,
        folder: Path,
        models: Models | None = None,
        chosen: specs.Specs | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.folder = folder
        self._given = models
        self._specs = chosen or specs.Specs()
        self._settings = settings
        self._store: EmbeddedStore | None = None
        self._models: Models | None = None
        self._snapshot: Snapshot | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- write --------------------------------------------------------------------------------

    def add(
        self,
        source: str | Path | Document | Iterable[str | Path] | Iterable[Document],
        *,
        on_progress: OnProgress | None = None,
    ) -> Added:
        """Add files, folders or documents; what is there unchanged already costs nothing.

        A document of a known id with other content replaces the old one. Input that cannot be
        read is in the report's `skipped`, and the rest goes on. Raises RecipeMismatch where the
        index was built with other models or settings, IndexLocked while another process writes.
        """
        meter = Meter()
        items = iter(_items(source))
        first = list(islice(items, 1))
        if not first and not self._exists():
            raise InputError(f"there is no file to index in {_named(source)}")
        items = chain(first, items)
        store = self._writable()
        with meter.stage("read"):
            report = index.add(store, items, self.models, meter=meter, on_progress=on_progress)
        with meter.stage("store"):
            index.finish(store)
        snapshot = self.snapshot()
        return Added(
            report=report,
            usage=meter.usage(),
            n_documents=len(snapshot.layer("document")),
            n_chunks=len(snapshot.layer("chunk")),
        )

    def remove(self, ids: str | Sequence[str]) -> list[str]:
        """Delete documents by id, with everything that only they supported; return the ids.

        Raises InputError, and deletes nothing, where an id is not in the index.
        """
        ids = [ids] if isinstance(ids, str) else list(ids)
        store = self._existing()
        known = store.hashes()
        unknown = [i for i in ids if i not in known]
        if unknown:
            raise InputError(f"no document {unknown[0]!r} in {self.folder}: see 'clew show'")
        gone = store.remove(ids)
        index.finish(store)
        return gone

    def compact(self) -> None:
        """Rewrite the index without what was deleted or replaced, and erase that."""
        store = self._existing()
        if self._snapshot is not None:  # an open reader keeps deleted text on disk
            self._snapshot.close()
            self._snapshot = None
        store.compact()
        store.freeze()

    # -- read ---------------------------------------------------------------------------------

    def search(self, query: str, *, method: str = DEFAULT_METHOD, **parameters: Scalar) -> Evidence:
        """Return the chunks that a method finds for `query`, and why.

        `parameters` are the method's own, such as `chunks=5`; see `clew methods`. Raises
        InputError for an empty query or index, UnknownMethod, MissingLayer.
        """
        meter = Meter()
        retriever = build_method(method, parameters)
        _check_query(query)
        with meter.stage("open"):
            snapshot = self.snapshot()
            models = metered(self.models, meter)
        _check_layers(retriever.layers, snapshot)
        with meter.stage("search"):
            evidence = retriever.retrieve(query, snapshot, models)
        return replace(evidence, usage=meter.usage())

    def ask(
        self,
        question: str,
        *,
        method: str = DEFAULT_METHOD,
        budget_tokens: int = 4_000,
        **parameters: Scalar,
    ) -> Answer:
        """Answer `question` from what a method finds, with citations.

        The context holds at most `budget_tokens` tokens. Without an LLM the answer quotes the
        sentences that support it best.
        """
        evidence = self.search(question, method=method, **parameters)
        found = self.answer(evidence, budget_tokens=budget_tokens)
        return replace(found, usage=_together(evidence.usage, found.usage))

    def answer(self, evidence: Evidence, *, budget_tokens: int = 4_000) -> Answer:
        """Answer the query of `evidence`, which `search` gave; the usage is the answer's own."""
        meter = Meter()
        with meter.stage("answer"):
            found = answering.answer(
                evidence.query, evidence, metered(self.models, meter), budget_tokens=budget_tokens
            )
        return replace(found, usage=meter.usage())

    def show(self, name: str | None = None) -> dict[str, Any]:
        """Describe the index, or one document, chunk, unit or entity of it, as plain values.

        Raises InputError where nothing has that id or name.
        """
        from clew.shown import describe_index, describe_row

        if name is None:
            return describe_index(self._existing(), self.snapshot())
        return describe_row(self.snapshot(), name)

    def snapshot(self) -> Snapshot:
        """Return the newest generation of the index, opened once."""
        store = self._existing()
        if self._snapshot is None or self._snapshot.generation != store.generation:
            if self._snapshot is not None:
                self._snapshot.close()
            self._snapshot = store.snapshot()
        return self._snapshot

    @property
    def models(self) -> Models:
        """The models in use, loaded when they are first asked for.

        Raises RecipeMismatch where the index was built with another embedder.
        """
        if self._models is None:
            recipe: Mapping[str, Scalar] = {}
            if self._store is not None or self._exists():
                recipe = self._existing().recipe
            chosen = specs.from_recipe(self._specs, recipe)
            models = self._given or specs.load(chosen, cache=self.folder / _EMBEDDINGS)
            if recipe:
                wanted = {"analyzer": ANALYZER, "embedder": models.embedder.name}
                index.check_recipe(recipe, wanted)
            self._models = models
        return self._models

    def close(self) -> None:
        """Let go of files and locks."""
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
        if self._store is not None:
            self._store.close()
            self._store = None

    # -- the store ----------------------------------------------------------------------------

    def _exists(self) -> bool:
        return EmbeddedStore.exists(self.folder)

    def _existing(self) -> EmbeddedStore:
        if self._store is None:
            self._store = EmbeddedStore.open(self.folder)
        return self._store

    def _writable(self) -> EmbeddedStore:
        if self._store is None and not self._exists():
            settings = self._settings or Settings()
            if not self.folder.exists():
                self.folder.mkdir(parents=True)  # the embedder's cache is in it
            recipe = settings.recipe(self.models)
            if self._given is None:
                recipe["embedder_spec"] = self._specs.embedder or "minilm"
                recipe["tagger_spec"] = self._specs.tagger or "rules"
            self._store = EmbeddedStore.create(self.folder, recipe)
        store = self._existing()
        if self._settings is not None:
            index.check_recipe(store.recipe, self._settings.recipe(self.models))
        return store


def build_method(name: str, parameters: Mapping[str, Scalar]) -> methods.Method:
    """Return a method with its parameters. Raises UnknownMethod, InputError for a bad one."""
    kind = methods.load(name)
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for given, value in parameters.items():
        if given not in known:
            raise InputError(
                f"the method {name!r} has no parameter {given!r}: take one of {', '.join(known)}"
            )
        _check_value(name, given, value, known[given].default)
    return kind(**parameters)


def _check_value(method: str, parameter: str, value: Scalar, default: object) -> None:
    number = isinstance(default, float) and type(value) is int
    if type(value) is not type(default) and not number:
        raise InputError(
            f"{parameter} of the method {method!r} is of type {type(default).__name__}, "
            f"not {value!r}"
        )
    if isinstance(value, int | float) and not 0 <= value < math.inf:
        raise InputError(f"{parameter} of the method {method!r} cannot be {value!r}: 0 or more")


def _items(
    source: str | Path | Document | Iterable[str | Path] | Iterable[Document],
) -> Iterable[Document | Skipped]:
    """Return what `source` holds; documents are taken from it only as they are needed."""
    several = [source] if isinstance(source, str | Path | Document) else source
    items: Iterator[object] = iter(several)
    first = list(islice(items, 1))
    given = chain(first, items)
    if first and isinstance(first[0], Document):
        return (item if isinstance(item, Document) else _refuse(item) for item in given)
    return readers.read([i if isinstance(i, str | Path) else _refuse(i) for i in given])


def _named(source: object) -> str:
    """Return what was given to `add`, for a message."""
    if isinstance(source, list | tuple):
        return ", ".join(map(_named, source)) or "an empty list"
    return repr(str(source)) if isinstance(source, str | Path) else "what was given"


def _refuse(item: object) -> NoReturn:
    raise InputError(
        f"what is added is all paths or all documents (clew.types.Document), not {item!r:.80}"
    )


def _check_query(query: str) -> None:
    if not query.strip():
        raise InputError("the question is empty: ask something")


def _check_layers(layers: Iterable[str], snapshot: Snapshot) -> None:
    """Raise MissingLayer for a layer that the index lacks; one may be empty, but for chunks."""
    for layer in sorted(layers):
        if not len(snapshot.layer(layer)) and layer == "chunk":
            raise InputError("this index is empty: add documents first")


def _together(first: Usage, second: Usage) -> Usage:
    known = first.cost_usd is not None and second.cost_usd is not None
    seconds = dict(first.seconds)
    for stage, value in second.seconds.items():
        seconds[stage] = seconds.get(stage, 0.0) + value
    return Usage(
        llm_calls=first.llm_calls + second.llm_calls,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        cost_usd=(first.cost_usd or 0) + (second.cost_usd or 0) if known else None,
        seconds=seconds,
    )
