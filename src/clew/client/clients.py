"""The two clients: one waits, one is awaited. Both run `clew.client.operations`.

This is the one module that opens a connection to a server of Clew.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
import time
import weakref
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from clew.client import operations
from clew.client.events import MOST_BYTES, AnswerEvent, read_answer_event, read_job_event
from clew.client.operations import Operation
from clew.client.requests import Address, ClientRequest, Pause, find_index, may_send_again, pause_s
from clew.errors import ClewError, InputError, MissingExtra
from clew.runtime.closing import Closing
from clew.types import Answer, Evidence
from clew.wire.names import GENERATION_HEADER

try:
    import httpx2
except ImportError as error:
    raise MissingExtra("httpx2", "client", "a client of a server") from error

if TYPE_CHECKING:
    from types import TracebackType

    from clew.text.pieces import OnPiece
    from clew.wire.jobs import JobEvent, JobView

    OnEvidence = Callable[[Evidence], None]

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound="_BaseClient")

TIMEOUT_S = 120.0  # without a byte; an LLM may take its time
_CONNECT_S = 5.0
_ATTEMPTS = 4


def _make_method(operation: Callable[P, Operation[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return an operation of a server as a method of the client."""

    @wraps(operation)
    def method(self: Client, *given: P.args, **named: P.kwargs) -> T:
        return self.run(operation(*given, **named))

    _sign(method, operation)
    return method  # type: ignore[return-value]  # mypy tells the name `self` from none


def _make_awaited_method(
    operation: Callable[P, Operation[T]],
) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return the same as a method that is awaited."""

    @wraps(operation)
    async def method(self: AsyncClient, *given: P.args, **named: P.kwargs) -> T:
        return await self.run(operation(*given, **named))

    _sign(method, operation)
    return method  # type: ignore[return-value]  # mypy tells the name `self` from none


def _make_index_method(
    operation: Callable[Concatenate[str, P], Operation[T]],
) -> Callable[Concatenate[ServedIndex, P], T]:
    """Return an operation of an index as a method of the index."""

    @wraps(operation)
    def method(self: ServedIndex, *given: P.args, **named: P.kwargs) -> T:
        return self.client.run(operation(self.path, *given, **named))

    _sign(method, operation, of_index=True)
    return method  # type: ignore[return-value]  # mypy tells the name `self` from none


def _make_awaited_index_method(
    operation: Callable[Concatenate[str, P], Operation[T]],
) -> Callable[Concatenate[AsyncServedIndex, P], Awaitable[T]]:
    """Return the same as a method that is awaited."""

    @wraps(operation)
    async def method(self: AsyncServedIndex, *given: P.args, **named: P.kwargs) -> T:
        return await self.client.run(operation(self.path, *given, **named))

    _sign(method, operation, of_index=True)
    return method  # type: ignore[return-value]  # mypy tells the name `self` from none


def _sign(method: Any, operation: Callable[..., Any], *, of_index: bool = False) -> None:  # noqa: ANN401 -- a method
    """Give a method its own signature, without the operation's generator."""
    signature = inspect.signature(operation)
    gives = str(signature.return_annotation).removeprefix("Operation[").removesuffix("]")
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    takes = list(signature.parameters.values())[of_index:]
    method.__signature__ = signature.replace(parameters=[own, *takes], return_annotation=gives)
    method.__annotations__ = {**operation.__annotations__, "return": gives}
    del method.__wrapped__


def _name_methods(kind: type) -> None:
    """Give the methods that were made of operations the names under which they stand."""
    for name, method in vars(kind).items():
        if inspect.isfunction(method):
            method.__name__, method.__qualname__ = name, f"{kind.__name__}.{name}"


class _BaseClient:
    """The part of both clients that needs no connection."""

    def __init_subclass__(cls) -> None:
        _name_methods(cls)

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        attempts: int = _ATTEMPTS,
        monotonic_reads: bool = False,
    ) -> None:
        if timeout_s <= 0 or attempts < 1:
            raise InputError("timeout_s and attempts of a client must be positive")
        self.address = Address.find(url, key)
        self._attempts = attempts
        self._generations: dict[str, int] | None = {} if monotonic_reads else None
        timeout = httpx2.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))
        self._connect({"headers": self.address.headers, "timeout": timeout})

    @abstractmethod
    def _connect(self, settings: dict[str, Any]) -> None:
        """Make the connection that requests go over."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.address.base}>"

    def _make_arguments(self, request: ClientRequest) -> dict[str, Any]:
        given: dict[str, Any] = {"method": request.verb, "url": self.address.make_url(request.path)}
        seen = (self._generations or {}).get(find_index(request.path))
        if seen is not None and request.upload is None:
            given["headers"] = {GENERATION_HEADER: str(seen)}
        return {**given, "params": dict(request.query), "json": request.body}

    def _keep_generation(self, request: ClientRequest, headers: Mapping[str, str]) -> None:
        """Remember the generation of a reply, for later requests."""
        told = headers.get(GENERATION_HEADER, "")
        if self._generations is not None and told.isdigit():
            name = find_index(request.path)
            self._generations[name] = max(int(told), self._generations.get(name, 0))

    def _pause_after_fault(
        self, request: ClientRequest, attempt: int, fault: httpx2.RequestError
    ) -> float:
        """Return the seconds before another attempt. Raises EndpointError where none is due."""
        reason = str(fault) or type(fault).__name__
        never_sent = isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout)
        if attempt + 1 >= self._attempts or not (never_sent or request.is_repeatable):
            raise (
                self.address.make_unreachable(reason)
                if never_sent
                else self.address.make_broken(reason)
            ) from None
        return self._pause_s(request, attempt, "", reason)

    def _pause_s(self, request: ClientRequest, attempt: int, asked: str, reason: str) -> float:
        _log.info("%s %s, attempt %d: %s", request.verb, request.path, attempt + 1, reason)
        return pause_s(attempt, asked, random.random())  # noqa: S311 -- no secret

    def _may_try_again(self, request: ClientRequest, attempt: int, status: int) -> bool:
        return may_send_again(request, status) and attempt + 1 < self._attempts


class Client(_BaseClient, Closing):
    """A client of a server: `clew serve` at `url`, else at `CLEW_URL`, else on this machine.

    The key is `key`, else that of `CLEW_KEY`. `timeout_s` is how long nothing may come. What only
    reads is tried again, `attempts` times in all, where the server is not reached, is busy or the
    reply got lost; what writes or asks is sent once. Any number of threads may share a client.

    With `monotonic_reads` no reply is of an earlier generation of an index than one before, though
    several servers of one index may answer in turn.
    """

    def _connect(self, settings: dict[str, Any]) -> None:
        self._http = httpx2.Client(**settings)
        weakref.finalize(self, self._http.close)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def index(self, name: str) -> ServedIndex:
        """Return an index of the server; nothing is asked yet."""
        return ServedIndex(self, name)

    about = _make_method(operations.describe_server)
    methods = _make_method(operations.list_methods)
    spent = _make_method(operations.list_spending)
    indexes = _make_method(operations.list_indexes)
    make = _make_method(operations.make_index)
    drop = _make_method(operations.drop_index)
    jobs = _make_method(operations.list_jobs)
    job = _make_method(operations.read_job)
    cancel = _make_method(operations.cancel_job)
    wait = _make_method(operations.wait_for_job)

    def follow(self, job_id: str, *, after: int = 0) -> Iterator[JobEvent]:
        """Yield the events of a job as they come, behind the number `after`."""
        for told in self._read_events(operations.request_job_stream(job_id, after)):
            yield read_job_event(self.address, told.event, told.data, told.id)

    def run(self, operation: Operation[T]) -> T:
        """Send the requests of an operation until it returns."""
        try:
            step = next(operation)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = operation.send(None)
                else:
                    step = operation.send(self._send(step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the operation returns

    def _send(self, request: ClientRequest) -> Any:  # noqa: ANN401 -- as the request says
        attempt = 0
        while True:
            try:
                reply = self._http.request(**self._make_arguments(request), **_make_form(request))
                self._keep_generation(request, reply.headers)
            except httpx2.RequestError as fault:
                pause = self._pause_after_fault(request, attempt, fault)
            else:
                if not self._may_try_again(request, attempt, reply.status_code):
                    return self.address.read_reply(request, reply.status_code, reply.content)
                asked = reply.headers.get("retry-after", "")
                pause = self._pause_s(request, attempt, asked, f"HTTP {reply.status_code}")
            time.sleep(pause)
            attempt += 1

    @contextmanager
    def _open_stream(self, request: ClientRequest) -> Iterator[httpx2.Response]:
        with self._http.stream(**self._make_arguments(request)) as reply:
            if not reply.is_success:
                raise self.address.read_error(reply.status_code, reply.read())
            self._keep_generation(request, reply.headers)
            yield reply

    def _read_events(self, request: ClientRequest) -> Iterator[httpx2.ServerSentEvent]:
        try:
            with self._open_stream(request) as reply:
                yield from httpx2.EventSource(reply, MOST_BYTES)
        except httpx2.RequestError as fault:
            raise _make_stream_error(self.address, fault) from None


class _BaseServedIndex(Generic[C]):
    """The part of an index of a server that both clients share."""

    def __init_subclass__(cls) -> None:
        _name_methods(cls)

    def __init__(self, client: C, name: str) -> None:
        self.client = client
        self.name = name
        self.path = operations.make_index_path(name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.client.address.base}>"


class ServedIndex(_BaseServedIndex[Client]):
    """An index of a server: what `Index` has, as far as it is not of this machine."""

    describe = _make_index_method(operations.describe_index)
    costs = _make_index_method(operations.list_costs)
    search = _make_index_method(operations.search)
    classify = _make_index_method(operations.classify)
    plan = _make_index_method(operations.plan)
    documents = _make_index_method(operations.list_documents)
    document = _make_index_method(operations.read_document)
    download = _make_index_method(operations.download_document)
    add = _make_index_method(operations.add_documents)
    remove = _make_index_method(operations.remove_documents)
    start = _make_index_method(operations.start_job)
    evaluate = _make_index_method(operations.start_evaluation)
    evaluations = _make_index_method(operations.list_evaluations)
    evaluation = _make_index_method(operations.read_evaluation)
    show = _make_index_method(operations.read_row)
    entities = _make_index_method(operations.find_entities)
    entity = _make_index_method(operations.read_entity)
    graph = _make_index_method(operations.read_graph)
    question_graph = _make_index_method(operations.draw_question)
    aliases = _make_index_method(operations.read_aliases)
    merge = _make_index_method(operations.merge_names)
    unmerge = _make_index_method(operations.unmerge_name)

    def jobs(self, *, kind: str = "", state: str = "") -> list[JobView]:
        """Return the jobs of the index, the newest first."""
        return self.client.jobs(index=self.name, kind=kind, state=state)

    def ask(
        self,
        question: str,
        *,
        on_evidence: OnEvidence | None = None,
        on_text: OnPiece | None = None,
        **given: Any,  # noqa: ANN401 -- as `operations.ask` takes them
    ) -> Answer:
        """Answer `question` from what a method finds, with citations, as `Index.ask` does.

        `on_evidence` and `on_text` are told of the answer as it comes. Other arguments are
        `method`, `context_tokens`, `where`, `history`, `exact`, `min_support`, `budget_tokens`,
        `budget_usd` and the parameters of the method.
        """
        if on_evidence is None and on_text is None:
            return self.client.run(operations.ask(self.path, question, **given))
        for event in self.stream(question, **given):
            if isinstance(event.value, Answer):
                return event.value
            _tell(event, on_evidence, on_text)
        raise self.client.address.make_broken("the stream ended without an answer")

    def stream(self, question: str, **given: Any) -> Iterator[AnswerEvent]:  # noqa: ANN401 -- as `ask`
        """Yield an answer as it comes: the evidence, pieces of its text, and at last all of it."""
        request = operations.request_answer_stream(self.path, question, **given)
        for told in self.client._read_events(request):  # noqa: SLF001 -- of this module
            event = read_answer_event(self.client.address, told.event, told.data)
            if event is not None:
                yield event


class AsyncClient(_BaseClient):
    """As `Client`, for an event loop: all that asks the server is awaited."""

    def _connect(self, settings: dict[str, Any]) -> None:
        self._http = httpx2.AsyncClient(**settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def index(self, name: str) -> AsyncServedIndex:
        """Return an index of the server; nothing is asked yet."""
        return AsyncServedIndex(self, name)

    about = _make_awaited_method(operations.describe_server)
    methods = _make_awaited_method(operations.list_methods)
    spent = _make_awaited_method(operations.list_spending)
    indexes = _make_awaited_method(operations.list_indexes)
    make = _make_awaited_method(operations.make_index)
    drop = _make_awaited_method(operations.drop_index)
    jobs = _make_awaited_method(operations.list_jobs)
    job = _make_awaited_method(operations.read_job)
    cancel = _make_awaited_method(operations.cancel_job)
    wait = _make_awaited_method(operations.wait_for_job)

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[JobEvent]:
        """Yield the events of a job as they come, behind the number `after`."""
        async for told in self._read_events(operations.request_job_stream(job_id, after)):
            yield read_job_event(self.address, told.event, told.data, told.id)

    async def run(self, operation: Operation[T]) -> T:
        """Send the requests of an operation until it returns."""
        try:
            step = next(operation)
            while True:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    step = operation.send(None)
                else:
                    step = operation.send(await self._send(step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the operation returns

    async def _send(self, request: ClientRequest) -> Any:  # noqa: ANN401 -- as the request says
        attempt = 0
        while True:
            try:
                reply = await self._http.request(
                    **self._make_arguments(request), **_make_async_form(request)
                )
                self._keep_generation(request, reply.headers)
            except httpx2.RequestError as fault:
                pause = self._pause_after_fault(request, attempt, fault)
            else:
                if not self._may_try_again(request, attempt, reply.status_code):
                    return self.address.read_reply(request, reply.status_code, reply.content)
                asked = reply.headers.get("retry-after", "")
                pause = self._pause_s(request, attempt, asked, f"HTTP {reply.status_code}")
            await asyncio.sleep(pause)
            attempt += 1

    @asynccontextmanager
    async def _open_stream(self, request: ClientRequest) -> AsyncIterator[httpx2.Response]:
        async with self._http.stream(**self._make_arguments(request)) as reply:
            if not reply.is_success:
                raise self.address.read_error(reply.status_code, await reply.aread())
            self._keep_generation(request, reply.headers)
            yield reply

    async def _read_events(self, request: ClientRequest) -> AsyncIterator[httpx2.ServerSentEvent]:
        try:
            async with self._open_stream(request) as reply:
                async for event in httpx2.EventSource(reply, MOST_BYTES):
                    yield event
        except httpx2.RequestError as fault:
            raise _make_stream_error(self.address, fault) from None


class AsyncServedIndex(_BaseServedIndex[AsyncClient]):
    """As `ServedIndex`, for an event loop."""

    describe = _make_awaited_index_method(operations.describe_index)
    costs = _make_awaited_index_method(operations.list_costs)
    search = _make_awaited_index_method(operations.search)
    classify = _make_awaited_index_method(operations.classify)
    plan = _make_awaited_index_method(operations.plan)
    documents = _make_awaited_index_method(operations.list_documents)
    document = _make_awaited_index_method(operations.read_document)
    download = _make_awaited_index_method(operations.download_document)
    add = _make_awaited_index_method(operations.add_documents)
    remove = _make_awaited_index_method(operations.remove_documents)
    start = _make_awaited_index_method(operations.start_job)
    evaluate = _make_awaited_index_method(operations.start_evaluation)
    evaluations = _make_awaited_index_method(operations.list_evaluations)
    evaluation = _make_awaited_index_method(operations.read_evaluation)
    show = _make_awaited_index_method(operations.read_row)
    entities = _make_awaited_index_method(operations.find_entities)
    entity = _make_awaited_index_method(operations.read_entity)
    graph = _make_awaited_index_method(operations.read_graph)
    question_graph = _make_awaited_index_method(operations.draw_question)
    aliases = _make_awaited_index_method(operations.read_aliases)
    merge = _make_awaited_index_method(operations.merge_names)
    unmerge = _make_awaited_index_method(operations.unmerge_name)

    async def jobs(self, *, kind: str = "", state: str = "") -> list[JobView]:
        """Return the jobs of the index, the newest first."""
        return await self.client.jobs(index=self.name, kind=kind, state=state)

    async def ask(
        self,
        question: str,
        *,
        on_evidence: OnEvidence | None = None,
        on_text: OnPiece | None = None,
        **given: Any,  # noqa: ANN401 -- as `operations.ask` takes them
    ) -> Answer:
        """Do as `ServedIndex.ask`; the callbacks run in the event loop."""
        if on_evidence is None and on_text is None:
            return await self.client.run(operations.ask(self.path, question, **given))
        async for event in self.stream(question, **given):
            if isinstance(event.value, Answer):
                return event.value
            _tell(event, on_evidence, on_text)
        raise self.client.address.make_broken("the stream ended without an answer")

    async def stream(self, question: str, **given: Any) -> AsyncIterator[AnswerEvent]:  # noqa: ANN401 -- as `ask`
        """Yield an answer as it comes: the evidence, pieces of its text, and at last all of it."""
        request = operations.request_answer_stream(self.path, question, **given)
        async for told in self.client._read_events(request):  # noqa: SLF001 -- of this module
            event = read_answer_event(self.client.address, told.event, told.data)
            if event is not None:
                yield event


def _tell(event: AnswerEvent, on_evidence: OnEvidence | None, on_text: OnPiece | None) -> None:
    if isinstance(event.value, Evidence):
        if on_evidence is not None:
            on_evidence(event.value)
    elif on_text is not None and not isinstance(event.value, Answer):
        on_text(event.value)


def _make_form(request: ClientRequest) -> dict[str, Any]:
    if request.upload is None:
        return {}
    return {"content": request.upload.pieces(), "headers": {"Content-Type": request.upload.kind}}


def _make_async_form(request: ClientRequest) -> dict[str, Any]:
    if request.upload is None:
        return {}
    pieces = request.upload.pieces()

    async def read_pieces() -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(next, pieces, b""):
            yield piece

    return {"content": read_pieces(), "headers": {"Content-Type": request.upload.kind}}


def _make_stream_error(address: Address, fault: httpx2.RequestError) -> ClewError:
    reason = str(fault) or type(fault).__name__
    if isinstance(fault, httpx2.SSEError):
        return address.make_unreadable(reason)
    if isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout):
        return address.make_unreachable(reason)
    return address.make_broken(reason)
