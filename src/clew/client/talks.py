"""What each call asks of a server: generators that yield requests and are sent their replies.

A talk knows nothing of sockets, threads and event loops, so it is written once for both clients.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from clew.asking.classify import Classification
from clew.asking.question import OPTIONS, Question, as_question, get_default, list_plain_options
from clew.client.uploads import Upload, upload_of
from clew.client.wire import ClientRequest, Pause, error_of, reading
from clew.errors import InputError
from clew.filters import Filter
from clew.index.plan import Plan
from clew.server.drawn import DrawnIndex, DrawnThread
from clew.server.errors import Refusal
from clew.server.jobs.queue import DONE, ENDED, FAILED, JobView
from clew.server.replies import (
    AboutServer,
    AliasView,
    CostLine,
    EvaluationView,
    IndexLine,
    MethodView,
    SpentLine,
)
from clew.server.views import DocumentLine, DocumentView, EntityLine, EntityView, IndexView, Listed
from clew.types import Answer, Document, Evidence, Scalar

T = TypeVar("T")

Talk = Generator[ClientRequest | Pause, Any, T]
Sent = str | Path | Document | Iterable[str | Path] | Iterable[Document]

_PART = 1_000  # of a list in one reply
_LOOK_S = (0.1, 2.0)  # between two looks at a job, at first and at last


def _quoted(name: str) -> str:
    """Return an id as one part of a path, its slashes with it."""
    return quote(name, safe="", errors="replace")


def _sent(
    verb: str,
    path: str,
    reply: type[T],
    *,
    query: Mapping[str, str | int] | None = None,
    body: Mapping[str, Any] | None = None,
    is_repeatable: bool = False,
) -> Talk[T]:
    found: T = yield ClientRequest(
        verb=verb,
        path=path,
        read=reading(reply),
        query=query or {},
        body=body,
        is_repeatable=is_repeatable,
    )
    return found


def _get(path: str, reply: type[T], **query: str | int) -> Talk[T]:
    given = {name: value for name, value in query.items() if value != ""}
    return _sent("GET", path, reply, query=given, is_repeatable=True)


def _listed(path: str, reply: type[T], **query: str) -> Talk[list[T]]:
    found: list[T] = []
    while True:
        listed: Any = Listed[reply]  # type: ignore[valid-type]  # a type that is a value
        part = yield from _get(path, listed, offset=len(found), limit=_PART, **query)
        found += part.items
        if not part.items or len(found) >= part.total:
            return found


def _filter(where: str | Filter | None) -> str:
    return "" if where is None else str(where)


# -- a server -------------------------------------------------------------------------------------


def about() -> Talk[AboutServer]:
    """Return the server's version, and what you may do and have spent."""
    return _get("", AboutServer)


def methods() -> Talk[list[MethodView]]:
    """Return the methods by which an index can be asked, with their parameters."""
    return _listed("/methods", MethodView)


def spent() -> Talk[list[SpentLine]]:
    """Return what models billed, by key and day."""
    return _listed("/spend", SpentLine)


def indexes() -> Talk[list[IndexLine]]:
    """Return the indexes that you may ask."""
    return _listed("/indexes", IndexLine)


def make(
    name: str,
    *,
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    embedder: str | None = None,
) -> Talk[IndexView]:
    """Make an empty index in the server's home."""
    options = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap, "embedder": embedder}
    body = {"name": name, **_given(options)}
    return _sent("POST", "/indexes", IndexView, body=body)


def drop(name: str) -> Talk[None]:
    """Delete an index that was made by `make`, with its files."""
    yield ClientRequest(verb="DELETE", path=f"/indexes/{_quoted(name)}", read=_nothing)


def jobs(*, index: str = "", kind: str = "", state: str = "") -> Talk[list[JobView]]:
    """Return the jobs, the newest first."""
    return _listed("/jobs", JobView, index=index, kind=kind, state=state)


def job(job_id: str) -> Talk[JobView]:
    """Return a job, with how far it is."""
    return _get(f"/jobs/{_quoted(job_id)}", JobView)


def cancel(job_id: str) -> Talk[JobView]:
    """End a job: one that waits at once, one that runs behind what it has at hand."""
    path = f"/jobs/{_quoted(job_id)}"
    return _sent("DELETE", path, JobView, is_repeatable=True)


def wait(job_id: str, *, seconds: float | None = None) -> Talk[JobView]:
    """Return a job once it is done, or as it is when the seconds are over.

    Raises the error with which it failed, and Refusal where it was cancelled.
    """
    pause, longest = _LOOK_S
    waited = 0.0
    while True:
        found = yield from _get(f"/jobs/{_quoted(job_id)}", JobView)
        if found.state in ENDED:
            return _done(found)
        if seconds is not None and waited >= seconds:
            return found
        pause = min(pause * 1.5, longest)
        if seconds is not None:
            pause = min(pause, seconds - waited)
        yield Pause(pause)
        waited += pause


def _done(found: JobView) -> JobView:
    if found.state == FAILED:
        error = (found.result or {}).get("error", {})
        raise error_of(error.get("code", "error"), error.get("message", "the job failed"))
    if found.state != DONE:
        sentence = f"the job {found.id} was cancelled: what it committed is kept"
        raise Refusal(409, "cancelled", sentence)
    return found


# -- an index: the first argument is its path -----------------------------------------------------


def describe(at: str, /) -> Talk[IndexView]:
    """Return what the index holds, and how it was built."""
    return _get(at, IndexView)


def costs(at: str, /) -> Talk[list[CostLine]]:
    """Return what each write cost, the newest first."""
    return _listed(f"{at}/spend", CostLine)


def search(at: str, /, query: str | Question, **options: Any) -> Talk[Evidence]:  # noqa: ANN401 -- as `_question`
    """Return the chunks that a method finds for `query`, and why, as `Index.search` does.

    Options are those of `Index.search`, and `budget_tokens` and `budget_usd` for its budget.
    """
    body = _question(query, **options)
    body["query"] = body.pop("question")
    return _sent("POST", f"{at}/search", Evidence, body=body, is_repeatable=True)


def ask(at: str, /, question: str | Question, **options: Any) -> Talk[Answer]:  # noqa: ANN401 -- as `_question`
    """Answer `question` from what a method finds, with citations, as `Index.ask` does.

    Options are those of `Index.ask`, and `budget_tokens` and `budget_usd` for its budget.
    """
    return _sent("POST", f"{at}/ask", Answer, body=_question(question, **options))


def answer_stream(at: str, /, question: str | Question, **options: Any) -> ClientRequest:  # noqa: ANN401 -- as `_question`
    """Return the request for an answer as it comes, whose events the clients read."""
    body = {**_question(question, **options), "stream": True}
    return ClientRequest(verb="POST", path=f"{at}/ask", read=_nothing, body=body)


def _question(
    text: str | Question,
    *,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    **options: Any,  # noqa: ANN401 -- fields of `Question`, and parameters of the method
) -> dict[str, Any]:
    """Return the body of a question: what differs from the defaults, which are the server's."""
    named = {name: options.pop(name) for name in OPTIONS if name in options}
    if not isinstance(text, Question):
        named["parameters"] = options
        options = {}
    question = as_question(text, **named, **options)
    plain = {name: getattr(question, name) for name in list_plain_options("answer")}
    if question.budget is not None:
        budget_tokens, budget_usd = question.budget.tokens, question.budget.usd
    return {
        "question": question.text,
        "history": [each.to_dict() for each in question.history],
        **{name: value for name, value in plain.items() if value != get_default(name)},
        **_asked(question.method, question.where, budget_tokens, budget_usd, question.parameters),
    }


def classify(
    at: str,
    /,
    text: str,
    *,
    label: str = "label",
    name_weight: float | None = None,
    method: str | None = None,
    where: str | Filter | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    **parameters: Scalar,
) -> Talk[Classification]:
    """Return the label of a text, and what spoke for it, as `Index.classify` does."""
    body = {
        "text": text,
        "label": label,
        **_given({"name_weight": name_weight}),
        **_asked(method, where, budget_tokens, budget_usd, parameters),
    }
    return _sent("POST", f"{at}/classify", Classification, body=body)


def plan(
    at: str, /, documents: Iterable[Document] | None = None, *, core: float | None = None
) -> Talk[Plan]:
    """Return what an extraction by the server's LLM would cost; nothing is spent."""
    body: dict[str, Any] = _given({"core": core})
    if documents is not None:
        body["documents"] = [{"id": d.id, "text": d.text, "title": d.title} for d in documents]
    return _sent("POST", f"{at}/plan", Plan, body=body, is_repeatable=True)


def _asked(
    method: object,
    where: str | Filter | None,
    budget_tokens: int | None,
    budget_usd: float | None,
    parameters: Mapping[str, Scalar],
) -> dict[str, Any]:
    if method is not None and not isinstance(method, str):
        raise InputError(f"a server takes a method by its name, not {method!r:.60}")
    options = {
        "method": method,
        "where": None if where is None else str(where),
        "budget_tokens": budget_tokens,
        "budget_usd": budget_usd,
    }
    return {**_given(options), "parameters": dict(parameters)}


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


# -- its documents --------------------------------------------------------------------------------


def documents(
    at: str, /, pattern: str = "", *, where: str | Filter | None = None, sort: str = ""
) -> Talk[list[DocumentLine]]:
    """Return the documents whose ids a pattern names and that fulfil a filter, all of them.

    They come in the order of "id", "title" or a field of the metadata, backwards behind a "-".
    """
    given = {"pattern": pattern, "where": _filter(where), "sort": sort}
    return _listed(f"{at}/documents", DocumentLine, **given)


def document(at: str, /, document_id: str) -> Talk[DocumentView]:
    """Return a document with its text, headings, pages and chunks."""
    return _get(f"{at}/documents/{_quoted(document_id)}", DocumentView)


def download(at: str, /, document_id: str) -> Talk[bytes]:
    """Return the file that was uploaded for a document, else its text in UTF-8."""
    path = f"{at}/files/{_quoted(document_id)}"
    found: bytes = yield ClientRequest(
        verb="GET", path=path, read=_nothing, is_raw=True, is_repeatable=True
    )
    return found


def add(
    at: str,
    /,
    source: Sent,
    *,
    exclude: Sequence[str] = (),
    wait: float | None = None,
    **options: Any,  # noqa: ANN401 -- as docs/guides/jobs.md has them
) -> Talk[JobView]:
    """Send files, folders or documents, and return the job that indexes them.

    With `wait` it is waited for, as by `Client.wait`; `math.inf` is as long as it takes. A file
    below a folder is called by its path there, behind the folder's name, and hidden files and what
    `.gitignore` files name stay here, as by `Index.add`. Raises InputError for what cannot be sent.
    """
    items: list[Any] = [source] if isinstance(source, str | Path | Document) else list(source)
    if items and all(isinstance(each, Document) for each in items):
        if exclude:
            raise InputError("exclude names files that stay here, and these are documents")
        body = {"documents": [_as_sent(each) for each in items], "options": options}
        request = _adding(at, body=body)
    elif all(isinstance(each, str | Path) for each in items):
        request = _adding(at, upload=upload_of(items, exclude, options))
    else:
        raise InputError("what is added is all paths or all documents (clew.Document)")
    return _submitted(request, wait)


def _adding(
    at: str, *, body: Mapping[str, Any] | None = None, upload: Upload | None = None
) -> ClientRequest:
    path, read = f"{at}/documents", reading(JobView)
    return ClientRequest(verb="POST", path=path, read=read, body=body, upload=upload)


def _as_sent(document: Any) -> dict[str, Any]:  # noqa: ANN401 -- a Document
    found = document.to_dict()
    return {name: found[name] for name in ("id", "text", "title", "metadata")}


def remove(
    at: str,
    /,
    ids: str | Sequence[str] = (),
    *,
    where: str | Filter | None = None,
    wait: float | None = None,
) -> Talk[JobView]:
    """Return the job that removes documents: by ids, folders of ids or patterns, and a filter."""
    named = [ids] if isinstance(ids, str) else list(ids)
    options = {"documents": named, "where": _filter(where)}
    return start(at, "remove", wait=wait, **options)


def start(
    at: str,
    /,
    kind: str,
    *,
    wait: float | None = None,
    **options: Any,  # noqa: ANN401 -- as docs/guides/jobs.md has them
) -> Talk[JobView]:
    """Return a job that was started: "index", "extract", "remove" or "compact"."""
    body = {"kind": kind, "options": options}
    request = ClientRequest(verb="POST", path=f"{at}/jobs", read=reading(JobView), body=body)
    return _submitted(request, wait)


def evaluate(
    at: str,
    /,
    questions: Sequence[Mapping[str, Any]],
    *,
    wait: float | None = None,
    **options: Any,  # noqa: ANN401 -- as docs/guides/jobs.md has them
) -> Talk[JobView]:
    """Return the job that measures methods on questions; `evaluation` has its report."""
    body = {"questions": list(map(dict, questions)), **options}
    path = f"{at}/evaluations"
    request = ClientRequest(verb="POST", path=path, read=reading(JobView), body=body)
    return _submitted(request, wait)


def evaluations(at: str, /) -> Talk[list[JobView]]:
    """Return the evaluations of the index, the newest first."""
    return _listed(f"{at}/evaluations", JobView)


def evaluation(at: str, /, job_id: str, *, rows: bool = False) -> Talk[EvaluationView]:
    """Return an evaluation with its report; with `rows` also what each question gave."""
    query = {"rows": "true"} if rows else {}
    return _get(f"{at}/evaluations/{_quoted(job_id)}", EvaluationView, **query)


def _submitted(request: ClientRequest, seconds: float | None) -> Talk[JobView]:
    found: JobView = yield request
    if seconds is None:
        return found
    ended = yield from wait(found.id, seconds=seconds)
    return ended


# -- its graph ------------------------------------------------------------------------------------


def show(at: str, /, name: str) -> Talk[dict[str, Any]]:
    """Return a row with its neighbours, as `Index.show` does."""
    return _get(f"{at}/rows/{_quoted(name)}", dict[str, Any])


def entities(at: str, /, find: str = "") -> Talk[list[EntityLine]]:
    """Return the entities whose names hold `find`, those of most texts first."""
    return _listed(f"{at}/entities", EntityLine, find=find)


def entity(at: str, /, name: str, *, offset: int = 0, limit: int = 100) -> Talk[EntityView]:
    """Return an entity with its neighbours, and some of its texts."""
    path = f"{at}/entities/{_quoted(name)}"
    return _get(path, EntityView, offset=offset, limit=limit)


def graph(at: str, /, *, limit: int = 1_000) -> Talk[DrawnIndex]:
    """Return the entities of most texts and their links, with places to draw them at."""
    return _get(f"{at}/graph", DrawnIndex, limit=limit)


def question_graph(
    at: str,
    /,
    query: str | Question,
    **options: Any,  # noqa: ANN401 -- as `_question`
) -> Talk[DrawnThread]:
    """Return what a method finds for a question as a graph, with reasons and places."""
    body = _question(query, **options)
    body["query"] = body.pop("question")
    path = f"{at}/graph"
    return _sent("POST", path, DrawnThread, body=body, is_repeatable=True)


def aliases(at: str, /) -> Talk[AliasView]:
    """Return which names stand for others, and which may."""
    return _get(f"{at}/aliases", AliasView)


def merge(at: str, /, name: str, into: str) -> Talk[AliasView]:
    """Let a name stand for another one."""
    body, path = {"name": name, "into": into}, f"{at}/aliases"
    return _sent("POST", path, AliasView, body=body)


def unmerge(at: str, /, name: str) -> Talk[AliasView]:
    """Let a name stand for itself again."""
    path = f"{at}/aliases"
    return _sent("DELETE", path, AliasView, query={"name": name})


def _nothing(_value: object) -> None:
    return None


def job_stream(job_id: str, after: int = 0) -> ClientRequest:
    """Return the request for what a job tells behind an event."""
    path = f"/jobs/{_quoted(job_id)}/events"
    return ClientRequest(verb="GET", path=path, read=_nothing, query={"after": after})


def index_path(name: str) -> str:
    """Return the path of an index. Raises InputError for what is no name."""
    if not name or not isinstance(name, str):
        raise InputError(f"an index of a server has a name, not {name!r:.60}")
    return f"/indexes/{_quoted(name)}"
