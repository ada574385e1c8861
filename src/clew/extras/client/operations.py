"""The operations of a server, as generators that yield requests and receive replies.

An operation knows nothing of sockets, threads and event loops, so both clients share it.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from clew.answers.question import OPTIONS, Question, as_question
from clew.base.options import drop_defaults, plain_options
from clew.base.reports import Changes, Plan, Theme
from clew.base.types import Answer, Document, Evidence
from clew.errors import InputError
from clew.extras.client.requests import ClientRequest, Pause, collect_upload, make_error
from clew.extras.wire.about import AboutServer, MethodView, SpentLine
from clew.extras.wire.graphs import DrawnIndex, DrawnThread
from clew.extras.wire.indexes import (
    AliasView,
    CostLine,
    DocumentLine,
    DocumentView,
    EntityLine,
    EntityView,
    IndexLine,
    IndexView,
    Listed,
    VocabularyView,
)
from clew.extras.wire.jobs import DONE, ENDED, FAILED, JobView
from clew.extras.wire.refusals import Refusal
from clew.filters import Filter
from clew.index.options import AddOptions

T = TypeVar("T")

Operation = Generator[ClientRequest | Pause, Any, T]
Sent = str | Path | Document | Iterable[str | Path] | Iterable[Document]

_PART = 1_000  # of a list in one reply
_OF_DOCUMENT = ("id", "text", "title", "metadata")  # what is sent of it
_LOOK_S = (0.1, 2.0)  # between two looks at a job, at first and at last


def _quote_name(name: str) -> str:
    """Quote an id as one part of a path."""
    return quote(name, safe="", errors="replace")


def _send(verb: str, path: str, reply: type[T], **more: Any) -> Operation[T]:  # noqa: ANN401 -- of `ClientRequest`
    result: T = yield ClientRequest(verb=verb, path=path, reply=reply, **more)
    return result


def _get(path: str, reply: type[T], **query: str | int) -> Operation[T]:
    given = {name: value for name, value in query.items() if value != ""}
    return _send("GET", path, reply, query=given, is_repeatable=True)


def _list_all(path: str, reply: type[T], **query: str | int) -> Operation[list[T]]:
    items: list[T] = []
    while True:
        listed: Any = Listed[reply]  # type: ignore[valid-type]  # a type that is a value
        part = yield from _get(path, listed, offset=len(items), limit=_PART, **query)
        items += part.items
        if not part.items or len(items) >= part.total:
            return items


# -- a server -------------------------------------------------------------------------------------


def describe_server() -> Operation[AboutServer]:
    """Return the server's version, and your permissions and spending."""
    return _get("", AboutServer)


def list_methods() -> Operation[list[MethodView]]:
    """Return the methods by which an index can be asked, with their parameters."""
    return _list_all("/methods", MethodView)


def list_spending() -> Operation[list[SpentLine]]:
    """Return the models' costs by key and day."""
    return _list_all("/spend", SpentLine)


def list_indexes() -> Operation[list[IndexLine]]:
    """Return the indexes that you may ask."""
    return _list_all("/indexes", IndexLine)


def make_index(
    name: str,
    *,
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    embedder: str | None = None,
    title: str | None = None,
) -> Operation[IndexView]:
    """Create an empty index in the server's home; `title` is its display name."""
    sizes = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
    body = {"name": name, **sizes, "embedder": embedder, "title": title}
    return _send("POST", "/indexes", IndexView, body=body)


def drop_index(name: str) -> Operation[None]:
    """Delete an index that was created by `make`, with its files."""
    yield ClientRequest(verb="DELETE", path=f"/indexes/{_quote_name(name)}")


def list_jobs(*, index: str = "", kind: str = "", state: str = "") -> Operation[list[JobView]]:
    """Return the jobs, the newest first."""
    return _list_all("/jobs", JobView, index=index, kind=kind, state=state)


def read_job(job_id: str) -> Operation[JobView]:
    """Return a job with its progress."""
    return _get(f"/jobs/{_quote_name(job_id)}", JobView)


def cancel_job(job_id: str) -> Operation[JobView]:
    """Cancel a job: a waiting one at once, a running one after its current step."""
    return _send("DELETE", f"/jobs/{_quote_name(job_id)}", JobView, is_repeatable=True)


def wait_for_job(job_id: str, *, seconds: float | None = None) -> Operation[JobView]:
    """Wait for a job; return it when it is done or the timeout expires.

    Raises the error with which it failed, and Refusal where it was cancelled.
    """
    pause, longest = _LOOK_S
    waited = 0.0
    while True:
        job = yield from read_job(job_id)
        if job.state in ENDED:
            return _check_done(job)
        if seconds is not None and waited >= seconds:
            return job
        left = math.inf if seconds is None else seconds - waited
        pause = min(pause * 1.5, longest, left)
        yield Pause(pause)
        waited += pause


def _check_done(job: JobView) -> JobView:
    if job.state == FAILED:
        error = (job.result or {}).get("error", {})
        raise make_error(error.get("code", "error"), error.get("message", "the job failed"))
    if job.state != DONE:
        sentence = f"the job {job.id} was cancelled: what it committed is kept"
        raise Refusal(409, "cancelled", sentence)
    return job


# -- an index: the first argument is its path -----------------------------------------------------


def describe_index(at: str, /) -> Operation[IndexView]:
    """Return the contents and settings of the index."""
    return _get(at, IndexView)


def list_costs(at: str, /) -> Operation[list[CostLine]]:
    """Return the cost of each write, newest first."""
    return _list_all(f"{at}/spend", CostLine)


def search(at: str, /, query: str | Question, **options: Any) -> Operation[Evidence]:  # noqa: ANN401 -- as `_make_body`
    """Return the chunks that a method finds for `query`, and why, as `Index.search` does.

    Options are those of `Index.search`, and `budget_tokens` and `budget_usd` for its budget.
    """
    body = _make_body(query, called="query", **options)
    return _send("POST", f"{at}/search", Evidence, body=body, is_repeatable=True)


def ask(at: str, /, question: str | Question, **options: Any) -> Operation[Answer]:  # noqa: ANN401 -- as `_make_body`
    """Answer `question` from what a method finds, with citations, as `Index.ask` does.

    Options are those of `Index.ask`, and `budget_tokens` and `budget_usd` for its budget.
    """
    return _send("POST", f"{at}/ask", Answer, body=_make_body(question, **options))


def hop(
    at: str, /, start: str, *, query: str = "", chunks: int = 5, where: str | Filter | None = None
) -> Operation[Evidence]:
    """Return the next passages from a passage, a document or an entity, as `Index.hop` does."""
    wanted = None if where is None else str(where)
    body = {"start": start, "query": query, "chunks": chunks, "where": wanted}
    return _send("POST", f"{at}/hop", Evidence, body=body, is_repeatable=True)


def request_answer_stream(at: str, /, question: str | Question, **options: Any) -> ClientRequest:  # noqa: ANN401 -- as `_make_body`
    """Return the request for a streamed answer, whose events the clients read."""
    body = {**_make_body(question, **options), "stream": True}
    return ClientRequest(verb="POST", path=f"{at}/ask", body=body)


def _make_body(
    text: str | Question,
    *,
    called: str = "question",
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    **options: Any,  # noqa: ANN401 -- fields of `Question`, and parameters of the method
) -> dict[str, Any]:
    """Return the body of a question, leaving defaults to the server."""
    values = {name: options.pop(name) for name in OPTIONS if name in options}
    if not isinstance(text, Question):
        values["parameters"] = options
        options = {}
    question = as_question(text, **values, **options)
    plain = {name: getattr(question, name) for name in plain_options(Question, "answer")}
    if question.budget is not None:
        budget_tokens, budget_usd = question.budget.tokens, question.budget.usd
    if question.method is not None and not isinstance(question.method, str):
        raise InputError(f"a server needs a method's name, not {question.method!r:.60}")
    return {
        called: question.text,
        "history": [each.to_dict() for each in question.history],
        **drop_defaults(OPTIONS, plain),
        "method": question.method,
        "where": None if question.where is None else str(question.where),
        "budget_tokens": budget_tokens,
        "budget_usd": budget_usd,
        "parameters": dict(question.parameters),
    }


def plan(
    at: str, /, documents: Iterable[Document] | None = None, *, core: float | None = None
) -> Operation[Plan]:
    """Estimate the cost of an extraction by the server's LLM, without spending anything."""
    body: dict[str, Any] = {"core": core}
    if documents is not None:
        body["documents"] = [{"id": d.id, "text": d.text, "title": d.title} for d in documents]
    return _send("POST", f"{at}/plan", Plan, body=body, is_repeatable=True)


# -- its documents --------------------------------------------------------------------------------


def list_documents(
    at: str, /, pattern: str = "", *, where: str | Filter | None = None, sort: str = ""
) -> Operation[list[DocumentLine]]:
    """Return all documents whose ids match a pattern and that fulfil a filter.

    They come in the order of "id", "title" or a field of the metadata, backwards behind a "-".
    """
    given = {"pattern": pattern, "where": "" if where is None else str(where), "sort": sort}
    return _list_all(f"{at}/documents", DocumentLine, **given)


def read_document(at: str, /, document_id: str) -> Operation[DocumentView]:
    """Return a document with its text, headings, pages and chunks."""
    return _get(f"{at}/documents/{_quote_name(document_id)}", DocumentView)


def download_document(at: str, /, document_id: str) -> Operation[bytes]:
    """Return a document's uploaded file, or else its text in UTF-8."""
    path = f"{at}/files/{_quote_name(document_id)}"
    return _send("GET", path, bytes, is_raw=True, is_repeatable=True)


def add_documents(
    at: str,
    /,
    source: Sent,
    *,
    wait: float | None = None,
    **options: Any,  # noqa: ANN401 -- as docs/guides/jobs.md has them
) -> Operation[JobView]:
    """Send files, folders or documents, and return the job that indexes them.

    With `wait` seconds it waits for the job, as `Client.wait` does. A file in a folder is named by
    the folder's name and its path in it. `exclude`, `gitignore` and `follow_links` select files as
    in `Index.add`; the other options are the job's. Raises InputError for what cannot be sent.
    """
    sent = plain_options(AddOptions, "send")
    selecting = {name: options.pop(name) for name in sent if name in options}
    items: list[Any] = [source] if isinstance(source, str | Path | Document) else list(source)
    if items and all(isinstance(each, Document) for each in items):
        for name in selecting:
            raise InputError(f"{name} applies to files, not to documents")
        documents = [{name: each.to_dict()[name] for name in _OF_DOCUMENT} for each in items]
        body, upload = {"documents": documents, "options": options}, None
    elif all(isinstance(each, str | Path) for each in items):
        body, upload = None, collect_upload(items, AddOptions(**selecting).select_files(), options)
    else:
        raise InputError("add needs paths or documents (clew.Document), not both")
    return _submit(f"{at}/documents", wait, body=body, upload=upload)


def remove_documents(
    at: str,
    /,
    ids: str | Sequence[str] = (),
    *,
    where: str | Filter | None = None,
    wait: float | None = None,
) -> Operation[JobView]:
    """Return the job that removes documents: by ids, folders of ids or patterns, and a filter."""
    patterns = [ids] if isinstance(ids, str) else list(ids)
    options = {"documents": patterns, "where": "" if where is None else str(where)}
    return start_job(at, "remove", wait=wait, **options)


def start_job(
    at: str,
    /,
    kind: str,
    *,
    wait: float | None = None,
    **options: Any,  # noqa: ANN401 -- as docs/guides/jobs.md has them
) -> Operation[JobView]:
    """Start a job: "index", "extract", "remove" or "compact"."""
    return _submit(f"{at}/jobs", wait, body={"kind": kind, "options": options})


def _submit(path: str, seconds: float | None, **content: Any) -> Operation[JobView]:  # noqa: ANN401 -- of `ClientRequest`
    job = yield from _send("POST", path, JobView, **content)
    if seconds is None:
        return job
    return (yield from wait_for_job(job.id, seconds=seconds))


# -- its graph ------------------------------------------------------------------------------------


def read_row(at: str, /, name: str) -> Operation[dict[str, Any]]:
    """Return a row with its neighbours, as `Index.show` does."""
    return _get(f"{at}/rows/{_quote_name(name)}", dict[str, Any])


def find_entities(
    at: str,
    /,
    find: str = "",
    *,
    type: str = "",  # noqa: A002 -- as the server calls it
) -> Operation[list[EntityLine]]:
    """Return the entities of a type whose names contain `find`, most mentioned first."""
    return _list_all(f"{at}/entities", EntityLine, find=find, type=type)


def read_entity(
    at: str, /, name: str, *, offset: int = 0, limit: int = 100
) -> Operation[EntityView]:
    """Return an entity with its neighbours, and some of its texts."""
    path = f"{at}/entities/{_quote_name(name)}"
    return _get(path, EntityView, offset=offset, limit=limit)


def read_themes(
    at: str, /, level: int = 0, *, parent: str = "", where: str = ""
) -> Operation[list[Theme]]:
    """Return the themes of a level or the parts of `parent`, largest first.

    Level 0 has the widest.
    """
    return _list_all(f"{at}/themes", Theme, level=level, parent=parent, where=where)


def read_changes(
    at: str,
    /,
    since: int | str = "",
    until: int | str = "",
    *,
    dated: bool = False,
    where: str = "",
    limit: int = 1_000,
) -> Operation[Changes]:
    """Return the diff between two states of the index, as `Index.changes`."""
    query = {"since": since, "until": until, "dated": str(dated).lower()}
    return _get(f"{at}/changes", Changes, **query, where=where, limit=limit)


def read_graph(at: str, /, *, limit: int = 1_000) -> Operation[DrawnIndex]:
    """Return the most mentioned entities and their links, with positions to draw them at."""
    return _get(f"{at}/graph", DrawnIndex, limit=limit)


def draw_question(
    at: str,
    /,
    query: str | Question,
    **options: Any,  # noqa: ANN401 -- as `_make_body`
) -> Operation[DrawnThread]:
    """Return a method's results for a question as a graph, with reasons and positions."""
    body = _make_body(query, called="query", **options)
    return _send("POST", f"{at}/graph", DrawnThread, body=body, is_repeatable=True)


def read_aliases(at: str, /) -> Operation[AliasView]:
    """Return the aliases, and pairs of names that may be aliases."""
    return _get(f"{at}/aliases", AliasView)


def merge_names(at: str, /, name: str, into: str) -> Operation[AliasView]:
    """Make a name an alias of another one."""
    return _send("POST", f"{at}/aliases", AliasView, body={"name": name, "into": into})


def unmerge_name(at: str, /, name: str) -> Operation[AliasView]:
    """Stop a name from being an alias."""
    return _send("DELETE", f"{at}/aliases", AliasView, query={"name": name})


def read_vocabulary(at: str, /) -> Operation[VocabularyView]:
    """Return the types, names and notes of entities that were set by hand or by a list."""
    return _get(f"{at}/vocabulary", VocabularyView)


def edit_entity(
    at: str,
    /,
    name: str,
    *,
    rename: str | None = None,
    type: str | None = None,  # noqa: A002 -- as `Index.edit` calls it
    apart: bool | None = None,
) -> Operation[VocabularyView]:
    """Set an entity's type, name or note by hand, as `Index.edit` does."""
    body = {"entity": name, "name": rename, "type": type, "apart": apart}
    return _send("POST", f"{at}/vocabulary", VocabularyView, body=body)


def request_job_stream(job_id: str, after: int = 0) -> ClientRequest:
    """Return the request for a job's events after a number."""
    path = f"/jobs/{_quote_name(job_id)}/events"
    return ClientRequest(verb="GET", path=path, query={"after": after})


def make_index_path(name: str) -> str:
    """Return the path of an index. Raises InputError for an invalid name."""
    if not name or not isinstance(name, str):
        raise InputError(f"an index on a server is given by name, not {name!r:.60}")
    return f"/indexes/{_quote_name(name)}"
