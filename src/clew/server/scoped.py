"""An index as one caller sees it; every route goes through this class.

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
from clew.server import drawing, files, request_records, snapshot_views, tracing
from clew.shards import wire
from clew.shards.exchange import Request
from clew.shards.shard import Moved, replied
from clew.text.keys import name_key
from clew.views.describe import (
    describe_aliases,
    describe_layers,
    describe_links,
    describe_row,
    without_sources,
)
from clew.wire.graphs import DrawnIndex
from clew.wire.indexes import DocumentLine, DocumentView, EntityLine, EntityView, IndexView, Listed
from clew.wire.refusals import Refusal, forbidden, no_such_resource

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from clew.api import Index
    from clew.asking.question import Question
    from clew.models.budget import Budget
    from clew.models.ledger import Cost
    from clew.server.callers import Caller
    from clew.shards import Shards
    from clew.snapshot import Snapshot
    from clew.types import Answer, Classified, Document, Evidence, Plan, Scalar

_SOURCE = "source"
_NOBODY = Listeners()


@dataclass(slots=True)
class _MethodUsed:
    method: str = ""


@dataclass(frozen=True, slots=True)
class ScopedIndex:
    """An index for one caller and one request."""

    name: str
    opened: Index  # of which routes take nothing that is not asked for through this class
    caller: Caller
    budget: Budget
    writer: Callable[[], AbstractContextManager[Index]]  # the same, opened for one write

    @property
    def index(self) -> Index:
        """The index, at the generation that the request names or a later one."""
        request = request_records.find_record()
        if request is not None:
            if request.least:
                _catch_up(self.opened, request.least)
            request.read = None if self.is_bound else self.opened  # it tells of others' documents
        return self.opened

    @property
    def askable(self) -> Index | Shards:
        """The index, to search and ask."""
        return self.index

    def check(self, scope: str) -> None:
        """Raise Refusal 403 where the caller lacks a scope."""
        self.caller.check(scope)

    @property
    def is_bound(self) -> bool:
        """Say whether the caller sees some of the documents only."""
        return bool(self.caller.where)

    def check_whole(self, what: str) -> None:
        """Raise Refusal 403 where the caller sees only some documents of the index."""
        if self.is_bound:
            raise forbidden(f"{what} of the whole index, of which your key sees a part")

    # -- what may be seen ---------------------------------------------------------------------

    def narrow_filter(self, asked: str | Filter | None = None) -> Filter | None:
        """Combine the filter of a request with the caller's own.

        What is asked for is tried on the caller's documents first, so that no error tells of
        fields or values of others.
        """
        own, wanted = to_filter(self.caller.where), self._read_filter(asked)
        if wanted is None or own is None:
            return own if wanted is None else wanted
        if not len(match.find_rows(self.snapshot(), wanted)):
            raise InputError(f"no document fulfils the filter {str(wanted)!r:.200}")
        return own & wanted

    def _read_filter(self, asked: str | Filter | None) -> Filter | None:
        """Return the filter of a request, with its fields as the caller's documents call them."""
        wanted = to_filter(asked)
        if wanted is None:
            return None
        wanted = match.resolve_fields(self.snapshot(), wanted)
        self.check_fields(match.collect_fields(wanted))
        return wanted

    def check_fields(self, names: Collection[str]) -> None:
        """Raise InputError for `source`, a path, where the caller is no admin."""
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
                raise no_such_resource("this index has no document that your key may see") from None
        with self._refuse_if_changed():
            return self.index.snapshot(self.narrow_filter(asked))

    @contextmanager
    def _refuse_if_changed(self) -> Iterator[None]:
        """Refuse with 409 where an error came of a write during the block: it may leak."""
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

    def has_match(self, wanted: Filter) -> bool:
        """Say whether a document that the caller sees fulfils a filter."""
        return bool(len(match.find_rows(self.snapshot(), wanted)))

    def count_documents(self) -> tuple[int, int]:
        """Return how many documents the caller sees, and how many chunks."""
        seen = self.snapshot()
        return len(seen.document_layer), len(seen.layer("chunk"))

    def find_document(self, document_id: str) -> Document | None:
        """Return a document, or None where the caller sees none of that id."""
        return files.find_document(self.find_snapshot(document_id), document_id)

    # -- questions ----------------------------------------------------------------------------

    def search(self, question: Question) -> Evidence:
        """Do as `Index.search` does."""
        with self._record_question("search") as asked, self._refuse_if_changed():
            found = self.askable.search(self._narrow(question))
            asked.method = found.method
        return self._hide_server(found, question.where)

    def ask(self, question: Question, listeners: Listeners = _NOBODY) -> Answer:
        """Do as `Index.ask` does."""

        def tell(found: Evidence) -> None:
            if listeners.on_evidence is not None:
                listeners.on_evidence(self._hide_server(found, question.where))

        with self._record_question("ask") as asked, self._refuse_if_changed():
            found = self.askable.ask(
                self._narrow(question),
                on_evidence=tell,
                on_text=listeners.on_text,
                on_citation=listeners.on_citation,
            )
            asked.method = found.evidence.method
        found = replace(found, evidence=self._hide_server(found.evidence, question.where))
        if self.caller.may("admin"):
            return found
        passages = _hide_sources(found.context.passages)
        return replace(
            found,
            context=replace(found.context, passages=passages),
            citations=_hide_sources(found.citations),
        )

    def _narrow(self, question: Question) -> Question:
        """Return a question of the documents that the caller sees, within the caller's budget."""
        return replace(question, where=self.narrow_filter(question.where), budget=self.budget)

    def classify(self, question: Question, *, label: str, name_weight: float | None) -> Classified:
        """Do as `Index.classify` does."""
        with self._record_question("classify") as asked, self._refuse_if_changed():
            found = self.index.classify(
                self._narrow(question), label=label, name_weight=name_weight
            )
            asked.method = found.evidence.method
        return replace(found, evidence=self._hide_server(found.evidence, question.where))

    @contextmanager
    def _record_question(self, kind: str) -> Iterator[_MethodUsed]:
        """Record the block as a question, in a span and for the metrics."""
        asked, began = _MethodUsed(), time.perf_counter()
        with tracing.open_span(kind, {"clew.index": self.name}) as span:
            yield asked
            span.set_attribute("clew.method", asked.method)
        request_records.record_question(self.name, kind, asked.method, time.perf_counter() - began)

    def _hide_server(self, found: Evidence, where: str | Filter | None) -> Evidence:
        """Return evidence without what is not the caller's to know.

        It names the filter of the request, not the caller's own, and no paths of the server.
        """
        if self.is_bound:
            found = replace(found, where=str(where or ""))
        if not self.caller.may("admin"):
            paths = (replace(each, steps=_hide_sources(each.steps)) for each in found.paths)
            hits = _hide_sources(found.hits)
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
    ) -> Listed[DocumentLine]:
        """Return some of the documents, which are few or none where nothing fits."""
        seen, wanted = self.snapshot(), self._read_filter(where)
        every = np.arange(len(seen.document_layer))
        rows = every if wanted is None else match.find_rows(seen, wanted)
        chosen = snapshot_views.select_documents(seen, rows, pattern=pattern, sort=sort)
        lines = snapshot_views.view_document_lines(seen, chosen[offset : offset + limit])
        return Listed(items=lines, total=len(chosen))

    def find_snapshot(self, document_id: str) -> Snapshot:  # noqa: ARG002 -- of shards it matters
        """Return the snapshot in which a document is, if the caller sees it."""
        return self.snapshot()

    def document(self, document_id: str) -> DocumentView:
        """Return a document. Raises a refusal, 404, where there is none."""
        found = snapshot_views.view_document(self.find_snapshot(document_id), document_id)
        return found if self.caller.may("admin") else replace(found, source=found.id)

    def row(self, name: str) -> dict[str, Any]:
        """Describe a row as `Index.show` does. Raises a refusal, 404, where there is none."""
        try:
            found = describe_row(self.snapshot(), name)
        except InputError:
            raise no_such_resource(f"this index has nothing called {name!r:.200}") from None
        return found if self.caller.may("admin") else without_sources(found)

    def remove(self, document_id: str, uploads: Path) -> files.Removal:
        """Delete a document, and the file that it came from below the folder of uploaded ones.

        Raises a refusal, 404, where there is none; InputError where that file has others, too; and
        IndexLocked.
        """
        self.check("write")
        if self.snapshot().layer("document").rows([document_id]) == [-1]:
            raise snapshot_views.make_missing_document(document_id)
        with self.writer() as index:
            removal = files.plan_removal(index.snapshot(), uploads, [document_id])
            files.remove_documents(index, uploads, removal)
        return removal

    # -- the graph ----------------------------------------------------------------------------

    def graph(self, limit: int) -> DrawnIndex:
        """Return the graph of the entities of most texts."""
        return drawing.draw_index(self.snapshot(), limit)

    def entities(self, find: str, *, offset: int, limit: int) -> Listed[EntityLine]:
        """Return some of the entities that are found, those of most texts first."""
        seen = self.snapshot()
        rows = snapshot_views.find_entities(seen, find)
        lines = snapshot_views.view_entity_lines(seen, rows[offset : offset + limit])
        return Listed(items=lines, total=len(rows))

    def entity(self, name: str, *, offset: int, limit: int) -> EntityView:
        """Return an entity with some of its texts. Raises a refusal, 404, where there is none."""
        return snapshot_views.view_entity(self.snapshot(), name, offset=offset, limit=limit)

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
            snapshot_views.find_entity(self.snapshot(), each)
        with self.writer() as index:
            index.merge(name, into)

    def unmerge(self, name: str) -> None:
        """Let a name stand for itself again, as `Index.unmerge` does.

        Raises a refusal, 404, for one that does so already.
        """
        self.check("write")
        if name_key(name) not in self.index.aliases()["merged"]:
            raise no_such_resource(f"{name!r:.200} stands for no other entity")
        with self.writer() as index:
            index.unmerge(name)

    # -- the index ----------------------------------------------------------------------------

    def describe(self) -> IndexView:
        """Describe the index; size and cost only to callers who see all of it."""
        seen = self.snapshot()
        found = IndexView(
            name=self.name,
            n_documents=len(seen.layer("document")),
            n_chunks=len(seen.layer("chunk")),
            layers=describe_layers(seen),
            links=describe_links(seen),
            recipe=self._recipe(seen.recipe),
            fields=snapshot_views.view_fields(seen),
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
        """Return the recipe; addresses of models only to admins."""
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
        request = wire.unpacked(sent)
        if not isinstance(request, Request):
            raise InputError(f"a shard is asked for a part of a question, not {request!r:.60}")
        try:
            return wire.packed(replied(self.index, request))
        except Moved as error:
            raise Refusal(409, wire.MOVED, str(error)) from error

    def costs(self) -> list[Cost]:
        """Return what every write cost, the oldest first."""
        self.check_whole("costs are")
        return self.index.costs()


def _hide_sources(found: Iterable[Any]) -> tuple[Any, ...]:
    """Replace the paths of hits, steps, passages or citations by document ids."""
    return tuple(replace(each, source=each.document_id) for each in found)


def _catch_up(index: Index, least: str) -> None:
    """Update an index to a generation, or a later one. Raises Refusal 400 or 412."""
    generation = request_records.parse_generation(least)
    try:
        index.catch_up(generation)
    except InputError as error:
        raise Refusal(412, "generation_missing", str(error)) from error
