"""Questions to an index or shards, restricted to one caller.

A key may be bound to a filter. Then every function works on the documents that fulfil it, as if
the index held no others. Where documents came from is a path of the server's machine: who is no
admin gets their ids in its place.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew import Budget, Index, Snapshot
from clew.answers.askable import Askable
from clew.answers.pipeline import NO_LISTENERS, Listeners, Retrieved, retrieve_evidence
from clew.answers.question import Question
from clew.base.runtime import threads
from clew.base.types import Answer, Document, Evidence, Scalar, Usage
from clew.errors import InputError
from clew.extras.cluster.shards.index import Shards
from clew.extras.graphs import browse
from clew.extras.server import files, request_records, tracing
from clew.extras.server.callers import Caller
from clew.extras.wire.indexes import DocumentView, IndexView
from clew.extras.wire.refusals import Refusal, forbidden
from clew.filters import Filter, to_filter
from clew.filters.match import collect_fields
from clew.models.bound import bind_models
from clew.models.run import Meter, ModelRun

_SOURCE = "source"


@dataclass(slots=True)
class _MethodUsed:
    method: str = ""


@dataclass(frozen=True, slots=True)
class Scoped:
    """An index or shards, for one caller and one request."""

    name: str
    opened: Any  # of which routes take nothing that is not asked for through this class
    caller: Caller
    budget: Budget
    writer: Callable[[], AbstractContextManager[Index]]  # the same, opened for one write

    @property
    @abstractmethod
    def askable(self) -> Askable:
        """Return the index or shards to query."""

    @abstractmethod
    def narrow_filter(self, where: str | Filter | None = None) -> Filter | None:
        """Combine the filter of a request with the caller's own."""

    @abstractmethod
    def check_where(self, where: str | None) -> None:
        """Raise Refusal or InputError for a filter that is not allowed."""

    @abstractmethod
    def count_documents(self) -> tuple[int, int]:
        """Return the numbers of documents and chunks visible to the caller."""

    @abstractmethod
    def find_snapshot(self, document_id: str) -> Snapshot:
        """Return the snapshot with a document visible to the caller."""

    @abstractmethod
    def describe(self) -> IndexView:
        """Return the contents and settings of the index."""

    def _refuse_if_changed(self) -> AbstractContextManager[None]:
        """Raise Refusal 409 if the index changed during the block, as its error may leak data."""
        return nullcontext()

    def _compute(self) -> AbstractContextManager[None]:
        """Hold the process's compute lock in the block."""
        return threads.computing()

    @property
    def is_bound(self) -> bool:
        """Check whether the caller sees only some documents."""
        return bool(self.caller.where)

    def check_whole(self, what: str) -> None:
        """Raise Refusal 403 if the caller sees only some documents of the index."""
        if self.is_bound:
            raise forbidden(f"{what} covers the whole index, but your key only a part of it")

    def check_fields(self, names: Collection[str]) -> None:
        """Raise InputError for the field `source`, a path, unless the caller is an admin."""
        if _SOURCE in names and not self.caller.may("admin"):
            raise InputError("a filter by source needs a key of the scope 'admin': take the id")

    def find_document(self, document_id: str) -> Document | None:
        """Return a document, or None if it is not visible to the caller."""
        return files.find_document(self.find_snapshot(document_id), document_id)

    def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], Usage]:
        """Return the (n, d) document vectors of texts, and the usage of the embedder."""
        meter = Meter()
        models = bind_models(self.askable.models, ModelRun(meter=meter, budget=self.budget))
        with self._compute():
            return models.embedder.embed(texts, kind="document"), meter.usage

    def search(self, question: Question) -> Evidence:
        """Search as `Index.search` does."""
        return self.retrieve(question).evidence

    def retrieve(self, question: Question, whole: ModelRun | None = None) -> Retrieved:
        """Retrieve evidence, for an answer from several indexes if `whole` is the run of one."""
        with self.record_question("search") as record, self._refuse_if_changed():
            narrow, for_answer = self.narrow(question), whole is not None
            found = retrieve_evidence(narrow, self.askable, whole=whole, for_answer=for_answer)
            record.method = found.evidence.method
        return found._replace(evidence=self.hide_server(found.evidence, question.where))

    def ask(self, question: Question, listeners: Listeners = NO_LISTENERS) -> Answer:
        """Answer as `Index.ask` does."""

        def tell(evidence: Evidence) -> None:
            if listeners.on_evidence is not None:
                listeners.on_evidence(self.hide_server(evidence, question.where))

        with self.record_question("ask") as record, self._refuse_if_changed():
            answer = self.askable.ask(
                self.narrow(question),
                on_evidence=tell,
                on_text=listeners.on_text,
                on_citation=listeners.on_citation,
            )
            record.method = answer.evidence.method
        answer = replace(answer, evidence=self.hide_server(answer.evidence, question.where))
        if self.caller.may("admin"):
            return answer
        passages = hide_sources(answer.context.passages)
        return replace(
            answer,
            context=replace(answer.context, passages=passages),
            citations=hide_sources(answer.citations),
        )

    def narrow(self, question: Question) -> Question:
        """Restrict a question to the caller's documents and budget."""
        return replace(question, where=self.narrow_filter(question.where), budget=self.budget)

    @contextmanager
    def record_question(self, kind: str) -> Iterator[_MethodUsed]:
        """Record the block as a question, in a span and in the metrics."""
        record, began = _MethodUsed(), time.perf_counter()
        with tracing.open_span(kind, {"clew.index.adding": self.name}) as span, self._compute():
            yield record
            span.set_attribute("clew.method", record.method)
        seconds = time.perf_counter() - began
        request_records.find_record().questions.append((self.name, kind, record.method, seconds))

    def hide_server(self, evidence: Evidence, where: str | Filter | None) -> Evidence:
        """Return evidence without details that the caller may not know.

        It names the filter of the request, not the caller's own, and no paths of the server.
        """
        if self.is_bound:
            evidence = replace(evidence, where=str(where or ""))
        if not self.caller.may("admin"):
            paths = (replace(each, steps=hide_sources(each.steps)) for each in evidence.paths)
            hits = hide_sources(evidence.hits)
            evidence = replace(evidence, hits=hits, paths=tuple(paths))
        return evidence

    def document(self, document_id: str) -> DocumentView:
        """Return a document. Raises Refusal 404."""
        view = browse.view_document(self.find_snapshot(document_id), document_id)
        return view if self.caller.may("admin") else replace(view, source=view.id)

    def hide_models(self, recipe: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Return the recipe, with addresses of models only for admins."""
        if self.caller.may("admin"):
            return dict(recipe)
        return {
            name: value.partition("@")[0]
            if name.endswith("_spec") and isinstance(value, str)
            else value
            for name, value in recipe.items()
        }


def hide_sources(items: Iterable[Any]) -> tuple[Any, ...]:
    """Replace the paths of hits, steps, passages or citations by document ids."""
    return tuple(replace(each, source=each.document_id) for each in items)


def make_shards_refusal(name: str) -> Refusal:
    """Return the refusal for an operation that shards do not support."""
    why = f"{name!r} is sharded and only supports search and questions: serve a single shard"
    return Refusal(501, "in_shards", why)


@dataclass(frozen=True, slots=True)
class ScopedShards(Scoped):
    """Shards for one caller and one request; keys with a filter cannot use them."""

    opened: Shards

    @property
    def askable(self) -> Shards:
        return self.opened

    def _compute(self) -> AbstractContextManager[None]:
        """Wait for the shards in the block."""
        return nullcontext()

    def narrow_filter(self, where: str | Filter | None = None) -> Filter | None:
        """Return the filter of a request. Raises Refusal for a key with a filter."""
        if self.is_bound:
            raise make_shards_refusal(self.name)
        wanted = to_filter(where)
        if wanted is not None:
            self.check_fields({each.casefold() for each in collect_fields(wanted)})
        return wanted

    def check_where(self, where: str | None) -> None:
        self.askable.sizes(self.narrow_filter(where))

    def count_documents(self) -> tuple[int, int]:
        self.narrow_filter()
        return self.askable.sizes()

    def find_snapshot(self, document_id: str) -> Snapshot:
        """Return the snapshot of the shard with a document. Raises Refusal 404."""
        self.narrow_filter()
        snapshot = self.askable.holding(document_id)
        if snapshot is None:
            raise browse.make_missing_document(document_id)
        return snapshot

    def describe(self) -> IndexView:
        n_documents, n_chunks = self.count_documents()
        return IndexView(
            name=self.name,
            n_documents=n_documents,
            n_chunks=n_chunks,
            layers={},
            links={},
            recipe=self.hide_models(self.askable.recipe),
            fields=(),
            folder=str(self.askable.folder) if self.caller.may("admin") else None,
        )
