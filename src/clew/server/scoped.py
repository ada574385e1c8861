"""An index as one caller sees it: the one way by which routes come to documents.

A key may be bound to a filter. Then every function here works on the documents that fulfil it, as
if the index held no others, and there is no function that gives the whole index. Where documents
came from is a path of the server's machine: who is no admin gets their ids in its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.asking.pipeline import Listeners
from clew.errors import InputError
from clew.filters import Filter, match, to_filter
from clew.server import drawn, files, noted, tracing, views
from clew.server.errors import Refusal, forbidden, not_found
from clew.shards import wire
from clew.shards.exchange import Request
from clew.shards.shard import GenerationChanged, reply_to_request
from clew.text.keys import name_key
from clew.views.describe import (
    describe_aliases,
    describe_layers,
    describe_links,
    describe_row,
    without_sources,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from clew.api import Index
    from clew.asking.classify import Classification
    from clew.asking.question import Question
    from clew.index.plan import Plan
    from clew.models.budget import Budget
    from clew.models.ledger import Cost
    from clew.server.callers import Caller
    from clew.shards import Shards
    from clew.types import Answer, Document, Evidence, Scalar, Snapshot

_SOURCE = "source"
_NOBODY = Listeners()


@dataclass(slots=True)
class _Asked:
    method: str = ""


@dataclass(frozen=True, slots=True)
class ScopedIndex:
    """One index, one caller, one request."""

    name: str
    opened: Index  # of which routes take nothing that is not asked for through this class
    caller: Caller
    budget: Budget
    writer: Callable[[], AbstractContextManager[Index]]  # the same, opened for one write

    @property
    def index(self) -> Index:
        """The index, at the generation that the request asks for, or a later one."""
        request = noted.current()
        if request is not None:
            if request.least:
                _catch_up(self.opened, request.least)
            request.read = None if self.is_bound else self.opened  # it tells of others' documents
        return self.opened

    @property
    def asked(self) -> Index | Shards:
        """What questions are asked of: the index."""
        return self.index

    def check(self, scope: str) -> None:
        """Raise a refusal where the caller lacks a scope."""
        self.caller.check(scope)

    @property
    def is_bound(self) -> bool:
        """Say whether the caller sees some of the documents only."""
        return bool(self.caller.where)

    def check_whole(self, what: str) -> None:
        """Raise a refusal where the caller sees some documents only: `what` tells of all."""
        if self.is_bound:
            raise forbidden(f"{what} of the whole index, of which your key sees a part")

    # -- what may be seen ---------------------------------------------------------------------

    def where(self, asked: str | Filter | None = None) -> Filter | None:
        """Return the filter of a request and the caller's own, both of which must hold.

        What is asked for is tried on the caller's documents first, so that no error tells of
        fields or values of others.
        """
        own, wanted = to_filter(self.caller.where), self._wanted(asked)
        if wanted is None or own is None:
            return own if wanted is None else wanted
        if not len(match.find_rows(self.snapshot(), wanted)):
            raise InputError(f"no document fulfils the filter {str(wanted)!r:.200}")
        return own & wanted

    def _wanted(self, asked: str | Filter | None) -> Filter | None:
        """Return the filter of a request, with its fields as the caller's documents call them."""
        wanted = to_filter(asked)
        if wanted is None:
            return None
        wanted = match.resolve_fields(self.snapshot(), wanted)
        self.check_fields(match.collect_fields(wanted))
        return wanted

    def check_fields(self, names: Collection[str]) -> None:
        """Raise InputError for a field by which the caller may not filter: it tells of paths."""
        if _SOURCE in names and not self.caller.may("admin"):
            raise InputError("a filter by source needs a key of the scope 'admin': take the id")

    def snapshot(self, asked: str | Filter | None = None) -> Snapshot:
        """Return the newest generation of the documents that the caller may see."""
        own = to_filter(self.caller.where)
        if asked is None or not str(asked).strip():
            if own is None:
                return self.index.snapshot()
            try:
                return self.index.snapshot(own)
            except InputError:
                # The sentence would name the filter, which is not the caller's to know.
                raise not_found("this index has no document that your key may see") from None
        with self._steady():
            return self.index.snapshot(self.where(asked))

    @contextmanager
    def _steady(self) -> Iterator[None]:
        """Tell nothing of an error that came of a write meanwhile: it may name other documents."""
        before = self.snapshot() if self.is_bound else None
        try:
            yield
        except InputError:
            if before is not None and self.snapshot() is not before:
                raise Refusal(
                    409, "index_changed", "the index was changed meanwhile: ask again"
                ) from None
            raise

    def check_where(self, asked: str | None) -> None:
        """Raise a refusal or InputError for a filter by which nothing may be asked."""
        self.snapshot(asked)

    def fulfil(self, wanted: Filter) -> bool:
        """Say whether a document that the caller sees fulfils a filter."""
        return bool(len(match.find_rows(self.snapshot(), wanted)))

    def sizes(self) -> tuple[int, int]:
        """Return how many documents the caller sees, and how many chunks."""
        seen = self.snapshot()
        return len(seen.document_layer), len(seen.layer("chunk"))

    def text_of(self, document_id: str) -> Document | None:
        """Return a document, None where the caller sees none of that id."""
        return _document_in(self.holding(document_id), document_id)

    # -- questions ----------------------------------------------------------------------------

    def search(self, question: Question) -> Evidence:
        """Do as `Index.search` does."""
        with self._asked("search") as asked, self._steady():
            found = self.asked.search(self._narrow(question))
            asked.method = found.method
        return self._own(found, question.where)

    def ask(self, question: Question, listeners: Listeners = _NOBODY) -> Answer:
        """Do as `Index.ask` does."""

        def tell(found: Evidence) -> None:
            if listeners.on_evidence is not None:
                listeners.on_evidence(self._own(found, question.where))

        with self._asked("ask") as asked, self._steady():
            found = self.asked.ask(
                self._narrow(question),
                on_evidence=tell,
                on_text=listeners.on_text,
                on_citation=listeners.on_citation,
            )
            asked.method = found.evidence.method
        found = replace(found, evidence=self._own(found.evidence, question.where))
        if self.caller.may("admin"):
            return found
        passages = _without_sources(found.context.passages)
        return replace(
            found,
            context=replace(found.context, passages=passages),
            citations=_without_sources(found.citations),
        )

    def _narrow(self, question: Question) -> Question:
        """Return a question of the documents that the caller sees, within the caller's budget."""
        return replace(question, where=self.where(question.where), budget=self.budget)

    def classify(
        self, question: Question, *, label: str, name_weight: float | None
    ) -> Classification:
        """Do as `Index.classify` does."""
        with self._asked("classify") as asked, self._steady():
            found = self.index.classify(
                self._narrow(question), label=label, name_weight=name_weight
            )
            asked.method = found.evidence.method
        return replace(found, evidence=self._own(found.evidence, question.where))

    @contextmanager
    def _asked(self, kind: str) -> Iterator[_Asked]:
        """Count the block as a question of the index, once it has an answer."""
        asked, began = _Asked(), time.perf_counter()
        with tracing.span(kind, {"clew.index": self.name}) as span:
            yield asked
            span.set_attribute("clew.method", asked.method)
        noted.of_question(self.name, kind, asked.method, time.perf_counter() - began)

    def _own(self, found: Evidence, where: str | Filter | None) -> Evidence:
        """Return evidence without what is not the caller's to know.

        It names the filter of the request, not the caller's own, and no paths of the server.
        """
        if self.is_bound:
            found = replace(found, where=str(where or ""))
        if not self.caller.may("admin"):
            paths = (replace(each, steps=_without_sources(each.steps)) for each in found.paths)
            hits = _without_sources(found.hits)
            found = replace(found, hits=hits, paths=tuple(paths))
        return found

    def plan(self, documents: Sequence[Document] | None, **given: Any) -> Plan:  # noqa: ANN401 -- as `Index.plan` takes them
        """Do as `Index.plan` does, for some documents or those of the index."""
        self.check_whole("a plan is")
        if documents is None:
            seen = self.snapshot()
            documents = seen.documents(range(len(seen.document_layer)))
        return self.index.plan(documents, budget=self.budget, **given)

    # -- documents ----------------------------------------------------------------------------

    def documents(
        self, *, pattern: str = "", where: str = "", sort: str = "", offset: int, limit: int
    ) -> views.Listed[views.DocumentLine]:
        """Return some of the documents, which are few or none where nothing fits."""
        seen, wanted = self.snapshot(), self._wanted(where)
        every = np.arange(len(seen.document_layer))
        rows = every if wanted is None else match.find_rows(seen, wanted)
        chosen = views.documents(seen, rows, pattern=pattern, sort=sort)
        lines = views.document_lines(seen, chosen[offset : offset + limit])
        return views.Listed(items=lines, total=len(chosen))

    def holding(self, document_id: str) -> Snapshot:  # noqa: ARG002 -- of shards it matters
        """Return the snapshot in which a document is, if the caller sees it."""
        return self.snapshot()

    def document(self, document_id: str) -> views.DocumentView:
        """Return a document. Raises a refusal, 404, where there is none."""
        found = views.document(self.holding(document_id), document_id)
        return found if self.caller.may("admin") else replace(found, source=found.id)

    def row(self, name: str) -> dict[str, Any]:
        """Describe a row as `Index.show` does. Raises a refusal, 404, where there is none."""
        try:
            found = describe_row(self.snapshot(), name)
        except InputError:
            raise not_found(f"this index has nothing called {name!r:.200}") from None
        return found if self.caller.may("admin") else without_sources(found)

    def remove(self, document_id: str, uploads: Path) -> files.Removal:
        """Delete a document, and the file that it came from below the folder of uploaded ones.

        Raises a refusal, 404, where there is none; InputError where that file has others, too; and
        IndexLocked.
        """
        self.check("write")
        if self.snapshot().layer("document").rows([document_id]) == [-1]:
            raise views.no_document(document_id)
        with self.writer() as index:
            removal = files.removal_of(index.snapshot(), uploads, [document_id])
            files.remove(index, uploads, removal)
        return removal

    # -- the graph ----------------------------------------------------------------------------

    def graph(self, limit: int) -> drawn.DrawnIndex:
        """Return the graph of the entities of most texts."""
        return drawn.index_graph(self.snapshot(), limit)

    def entities(self, find: str, *, offset: int, limit: int) -> views.Listed[views.EntityLine]:
        """Return some of the entities that are found, those of most texts first."""
        seen = self.snapshot()
        rows = views.find_entities(seen, find)
        lines = views.entity_lines(seen, rows[offset : offset + limit])
        return views.Listed(items=lines, total=len(rows))

    def entity(self, name: str, *, offset: int, limit: int) -> views.EntityView:
        """Return an entity with some of its texts. Raises a refusal, 404, where there is none."""
        return views.entity(self.snapshot(), name, offset=offset, limit=limit)

    def aliases(self) -> dict[str, Any]:
        """Return which names stand for others, and which may, as `Index.aliases` has them.

        Of a part of the index only what may: those that stand for others were merged by somebody
        who knew all documents.
        """
        if not self.is_bound:
            return self.index.aliases()
        return describe_aliases({}, self.snapshot())

    def merge(self, name: str, into: str) -> None:
        """Let a name stand for another one, as `Index.merge` does.

        Raises a refusal, 404, for a name that no entity has, and AlreadyExists where both are one.
        """
        self.check("write")
        for each in (name, into):
            views.entity_row(self.snapshot(), each)
        with self.writer() as index:
            index.merge(name, into)

    def unmerge(self, name: str) -> None:
        """Let a name stand for itself again, as `Index.unmerge` does.

        Raises a refusal, 404, for one that does so already.
        """
        self.check("write")
        if name_key(name) not in self.index.aliases()["merged"]:
            raise not_found(f"{name!r:.200} stands for no other entity")
        with self.writer() as index:
            index.unmerge(name)

    # -- the index ----------------------------------------------------------------------------

    def describe(self) -> views.IndexView:
        """Return what the index holds; how big it is and what it cost, to who sees all of it."""
        seen = self.snapshot()
        found = views.IndexView(
            name=self.name,
            n_documents=len(seen.layer("document")),
            n_chunks=len(seen.layer("chunk")),
            layers=describe_layers(seen),
            links=describe_links(seen),
            recipe=self._recipe(seen.recipe),
            fields=views.fields_of(seen),
        )
        if self.is_bound:
            return found
        whole = self.index.show()
        return replace(
            found,
            generation=whole["generation"],
            size_bytes=whole["size_bytes"],
            wasted=whole["wasted"],
            extraction=whole["extraction"],
            cost=None if isinstance(whole["cost"], str) else whole["cost"],
            folder=str(self.index.folder) if self.caller.may("admin") else None,
        )

    def _recipe(self, recipe: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Return what the index was built with: who is no admin is not told where models are."""
        if self.caller.may("admin"):
            return dict(recipe)
        return {
            name: value.partition("@")[0]
            if name.endswith("_spec") and isinstance(value, str)
            else value
            for name, value in recipe.items()
        }

    def backup(self, path: Path) -> None:
        """Write the newest generation to an archive, as `Index.backup` does."""
        self.check("admin")
        self.check_whole("a backup is")
        self.index.backup(path)

    def shard(self, sent: bytes) -> bytes:
        """Return what the index has for a part of a question of all shards, of which it is one.

        Raises InputError for what is no such part, and a refusal, 409, where the index was written
        to since the question began.
        """
        self.check("admin")
        self.check_whole("what a shard has is")
        request = wire.unpack(sent)
        if not isinstance(request, Request):
            raise InputError(f"a shard is asked for a part of a question, not {request!r:.60}")
        try:
            return wire.pack(reply_to_request(self.index, request))
        except GenerationChanged as error:
            raise Refusal(409, wire.MOVED, str(error)) from error

    def costs(self) -> list[Cost]:
        """Return what every write cost, the oldest first."""
        self.check_whole("costs are")
        return self.index.costs()


def _document_in(seen: Snapshot, document_id: str) -> Document | None:
    [row] = seen.document_layer.rows([document_id])
    return None if row < 0 else seen.documents([row])[0]


def _without_sources(found: Iterable[Any]) -> tuple[Any, ...]:
    """Return hits, steps, passages or citations with ids in place of paths of the server."""
    return tuple(replace(each, source=each.document_id) for each in found)


def _catch_up(index: Index, least: str) -> None:
    """Let an index be read at a generation at least. Raises a refusal, 400 or 412."""
    generation = noted.generation_of(least)
    try:
        index.catch_up(generation)
    except InputError as error:
        raise Refusal(412, "generation_missing", str(error)) from error
