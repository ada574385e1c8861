"""An index restricted to one caller; every route uses this class."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clew import Index, Snapshot
from clew.api.adding import Added
from clew.base.reports import Changes, Plan, Theme
from clew.base.types import Document, Evidence, VocabularyEntry
from clew.errors import AlreadyExists, InputError
from clew.extras.cluster.shards.shard import GenerationChanged, reply_to_bytes
from clew.extras.graphs import browse, index_graph
from clew.extras.server import files, request_records
from clew.extras.server.scoped_questions import Scoped, hide_sources
from clew.extras.wire.graphs import DrawnIndex
from clew.extras.wire.indexes import DocumentLine, EntityLine, EntityView, IndexView, Listed
from clew.extras.wire.names import GENERATION_HEADER, SHARD_MOVED
from clew.extras.wire.refusals import Refusal, no_such_resource
from clew.filters import Filter, match, to_filter
from clew.models.ledger import Cost
from clew.text.dates import parse_period
from clew.text.keys import name_key
from clew.views import describe


@dataclass(frozen=True, slots=True)
class ScopedIndex(Scoped):
    """An index for one caller and one request."""

    opened: Index

    @property
    def index(self) -> Index:
        """Return the index, at the generation named by the request or a later one.

        A caller who sees a part of the index gets the newest one, and is told of none: they count
        writes of others' documents.
        """
        request = request_records.find_record()
        if self.is_bound:
            return self.opened
        if request.least:
            generation = request_records.parse_number(GENERATION_HEADER, request.least)
            try:
                self.opened.catch_up(generation)
            except InputError:
                sentence = "this index has not come to that generation: try again later"
                raise Refusal(412, "generation_missing", sentence) from None
        request.read = self.opened
        return self.opened

    @property
    def askable(self) -> Index:
        return self.index

    # -- what may be seen ---------------------------------------------------------------------

    def narrow_filter(self, where: str | Filter | None = None) -> Filter | None:
        """Combine the filter of a request with the caller's own.

        What is asked for is tried on the caller's documents first, so that no error tells of
        fields or values of others.
        """
        own, wanted = to_filter(self.caller.where), self._read_filter(where)
        if wanted is None or own is None:
            return own if wanted is None else wanted
        if not len(match.find_rows(self.snapshot(), wanted)):
            raise InputError(f"no document matches the filter {str(wanted)!r:.200}")
        return own & wanted

    def _read_filter(self, where: str | Filter | None) -> Filter | None:
        """Return the filter of a request, with field names resolved for the caller's documents."""
        wanted = to_filter(where)
        if wanted is None:
            return None
        wanted = match.resolve_fields(self.snapshot(), wanted)
        self.check_fields(match.collect_fields(wanted))
        return wanted

    def snapshot(self, where: str | Filter | None = None) -> Snapshot:
        """Return the newest generation of the documents visible to the caller."""
        own = to_filter(self.caller.where)
        if where is None or not str(where).strip():
            if own is None:
                return self.index.snapshot()
            try:
                return self.index.snapshot(own)
            except InputError:
                # The sentence would name the filter, which is not the caller's to know.
                raise no_such_resource("this index has no document that your key may see") from None
        with self._refuse_if_changed():
            return self.index.snapshot(self.narrow_filter(where))

    @contextmanager
    def _refuse_if_changed(self) -> Iterator[None]:
        """Raise Refusal 409 if the index changed during the block, as its error may leak data."""
        before = self.snapshot() if self.is_bound else None
        try:
            yield
        except InputError:
            if before is not None and self.snapshot() is not before:
                raise Refusal(
                    409, "index_changed", "the index was changed meanwhile: ask again"
                ) from None
            raise

    def check_where(self, where: str | None) -> None:
        self.snapshot(where)

    def count_documents(self) -> tuple[int, int]:
        seen = self.snapshot()
        return len(seen.document_layer), len(seen.layer("chunk"))

    # -- questions ----------------------------------------------------------------------------

    def hop(self, start: str, *, query: str, chunks: int, where: str | None = None) -> Evidence:
        """Return `Index.hop` for the caller."""
        with self.record_question("hop") as record, self._refuse_if_changed():
            record.method = "hop"
            wanted = self.narrow_filter(where)
            evidence = self.index.hop(start, query=query, chunks=chunks, where=wanted)
        return self.hide_server(evidence, where)

    def plan(self, documents: Sequence[Document] | None, **given: Any) -> Plan:  # noqa: ANN401 -- as `Index.plan` takes them
        """Return `Index.plan` for some documents, or for those of the index."""
        self.check_whole("a plan is")
        if documents is None:
            seen = self.snapshot()
            documents = seen.documents(range(len(seen.document_layer)))
        return self.index.plan(documents, budget=self.budget, **given)

    # -- documents ----------------------------------------------------------------------------

    def documents(
        self, *, pattern: str = "", where: str = "", sort: str = "", offset: int, limit: int
    ) -> Listed[DocumentLine]:
        """Return a page of the documents that match."""
        seen, wanted = self.snapshot(), self._read_filter(where)
        every = np.arange(len(seen.document_layer))
        rows = every if wanted is None else match.find_rows(seen, wanted)
        matches = browse.select_documents(seen, rows, pattern=pattern, sort=sort)
        lines = browse.view_document_lines(seen, matches[offset : offset + limit])
        return Listed(items=lines, total=len(matches))

    def find_snapshot(self, document_id: str) -> Snapshot:  # noqa: ARG002 -- of shards it matters
        return self.snapshot()

    def row(self, name: str) -> dict[str, Any]:
        """Describe a row as `Index.show` does. Raises Refusal 404."""
        try:
            view = describe.describe_row(self.snapshot(), name)
        except InputError:
            raise no_such_resource(f"this index has no row or entity {name!r:.200}") from None
        return view if self.caller.may("admin") else describe.without_sources(view)

    def put(
        self, document_id: str, make: Callable[[Document | None], Document], uploads: Path
    ) -> Added:
        """Add a document given as text, or replace one that was given so.

        `make` gets the document that has the id, if any, and nobody writes meanwhile. Raises
        AlreadyExists where a file has that id, and IndexLocked.
        """
        self.caller.check("write")
        self.check_whole("a document is of")
        with self.writer() as index:
            known = files.find_document(index.snapshot(), document_id)
            of_file = files.find_upload_id([document_id], uploads, self.name)
            if of_file or (known is not None and known.source):
                raise AlreadyExists(f"{document_id!r:.200} is read from a file: change that file")
            return index.add([make(known)], budget=self.budget)

    def remove(self, document_id: str, uploads: Path) -> files.Removal:
        """Delete a document and its uploaded file.

        Raises a refusal, 404, where there is none; InputError where that file has others, too; and
        IndexLocked.
        """
        self.caller.check("write")
        if self.snapshot().layer("document").rows([document_id]) == [-1]:
            raise browse.make_missing_document(document_id)
        with self.writer() as index:
            removal = files.plan_removal(index.snapshot(), uploads, [document_id])
            files.remove_documents(index, uploads, removal)
        return removal

    # -- the graph ----------------------------------------------------------------------------

    def graph(self, limit: int) -> DrawnIndex:
        """Return the graph of the most mentioned entities."""
        return index_graph.draw_index(self.snapshot(), limit)

    def entities(
        self,
        find: str,
        type: str = "",  # noqa: A002 -- as in a request
        *,
        offset: int,
        limit: int,
    ) -> Listed[EntityLine]:
        """Return a page of the matching entities, most mentioned first."""
        seen = self.snapshot()
        rows = browse.find_entities(seen, find, type)
        lines = browse.view_entity_lines(seen, rows[offset : offset + limit])
        return Listed(items=lines, total=len(rows))

    def entity(self, name: str, *, offset: int, limit: int) -> EntityView:
        """Return an entity with some of its texts. Raises Refusal 404."""
        view = browse.view_entity(self.snapshot(), name, offset=offset, limit=limit)
        return replace(view, entry=VocabularyEntry()) if self.is_bound else view

    def themes(
        self, level: int = 0, *, parent: str = "", where: str = "", offset: int = 0, limit: int
    ) -> Listed[Theme]:
        """Return a page of a level's themes or a theme's parts, largest first.

        Raises a refusal, 404, where there is no such theme.
        """
        with self._compute():
            listed = browse.page_themes(self.snapshot(where), level, parent, offset, limit)
        if self.caller.may("admin"):
            return listed
        hidden = (replace(each, sentences=hide_sources(each.sentences)) for each in listed.items)
        return replace(listed, items=tuple(hidden))

    def changes(
        self, *, since: str, until: str, dated: bool = False, where: str = "", limit: int
    ) -> Changes:
        """Return `Index.changes` for two states of this index.

        Of a part of the index these are named by dates: generations tell of others' writes.
        """
        self.snapshot()  # where nothing may be seen, no filter is named
        for text in filter(None, (since, until)):
            if not text.isdecimal() and parse_period(text) is None:
                raise InputError(f"{text!r:.100} is neither a generation nor a date: name one")
        if self.is_bound and parse_period(since) is None:
            raise InputError("your key is limited to a part of this index: give a date")
        wanted = self.narrow_filter(where)
        with self._compute():
            try:
                found = self.index.changes(
                    since or None, until or None, dated=dated, where=wanted, most=limit
                )
            except InputError:
                if not self.is_bound:
                    raise
                raise InputError("the state at that time was erased: give a later date") from None
        if self.caller.may("admin"):
            return found
        shown: dict[str, Any] = {"index": self.name, "where": where}
        shown |= {"generation": 0, "written": ""} if self.is_bound else {}
        return replace(
            found,
            before=replace(found.before, **shown),
            after=replace(found.after, **shown),
            documents=tuple(
                replace(each, came=hide_sources(each.came), went=hide_sources(each.went))
                for each in found.documents
            ),
            values=tuple(
                replace(each, before=old, after=new)
                for each in found.values
                for old, new in [hide_sources((each.before, each.after))]
            ),
        )

    def aliases(self) -> dict[str, Any]:
        """Return merged names and possible aliases, as `Index.aliases`.

        Of a part of the index only what may: those that stand for others were merged by somebody
        who knew all documents.
        """
        if not self.is_bound:
            return self.index.aliases()
        return describe.describe_aliases({}, self.snapshot())

    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        """Return the vocabulary, or nothing if the caller sees only a part of the index."""
        self.snapshot()  # a key that sees nothing is told so
        return {} if self.is_bound else self.index.vocabulary()

    def edit(self, name: str, **said: Any) -> None:  # noqa: ANN401 -- as `Index.edit` takes them
        """Edit an entity as `Index.edit` does. Raises Refusal 404."""
        self.caller.check("write")
        browse.find_entity(self.snapshot(), name)
        with self.writer() as index:
            index.edit(name, **said)

    def merge(self, name: str, into: str) -> None:
        """Merge a name into another, as `Index.merge` does.

        Raises a refusal, 404, for a name that no entity has, and AlreadyExists where both are one.
        """
        self.caller.check("write")
        for each in (name, into):
            browse.find_entity(self.snapshot(), each)
        with self.writer() as index:
            index.merge(name, into)

    def unmerge(self, name: str) -> None:
        """Undo a merge, as `Index.unmerge` does.

        Raises a refusal, 404, for one that does so already.
        """
        self.caller.check("write")
        if name_key(name) not in self.index.aliases()["merged"]:
            raise no_such_resource(f"{name!r:.200} is not merged into another entity")
        with self.writer() as index:
            index.unmerge(name)

    # -- the index ----------------------------------------------------------------------------

    def describe(self) -> IndexView:
        """Describe the index; size and cost only to callers who see all of it."""
        seen = self.snapshot()
        view = IndexView(
            name=self.name,
            n_documents=len(seen.layer("document")),
            n_chunks=len(seen.layer("chunk")),
            layers=describe.describe_layers(seen),
            links=describe.describe_links(seen),
            recipe=self.hide_models(seen.recipe),
            fields=seen.get(browse.FIELDS),
        )
        if self.is_bound:
            return view
        whole = self.index.show()
        rest = {name: whole[name] for name in ("generation", "size_bytes", "wasted", "extraction")}
        return replace(
            view,
            **rest,
            cost=None if isinstance(whole["cost"], str) else whole["cost"],
            folder=str(self.index.folder) if self.caller.may("admin") else None,
        )

    def backup(self, path: Path) -> None:
        """Write the newest generation to an archive, as `Index.backup` does."""
        self.caller.check("admin")
        self.check_whole("a backup is")
        self.index.backup(path)

    def shard(self, sent: bytes) -> bytes:
        """Return this shard's reply to a request of a sharded question.

        Raises InputError for what is no such part, and a refusal, 409, where the index was written
        to since the question began.
        """
        self.caller.check("admin")
        self.check_whole("what a shard has is")
        try:
            return reply_to_bytes(self.index, sent)
        except GenerationChanged as error:
            raise Refusal(409, SHARD_MOVED, str(error)) from error

    def costs(self) -> list[Cost]:
        """Return the cost of each write, oldest first."""
        self.check_whole("costs are")
        return self.index.costs()
