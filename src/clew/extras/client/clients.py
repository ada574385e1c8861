"""The synchronous and the asynchronous client; both run `clew.extras.client.operations`.

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
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from clew.base.runtime.closing import Closing
from clew.base.runtime.lazy import needs
from clew.base.types import Answer, Evidence
from clew.errors import ClewError, InputError
from clew.extras.client import operations, requests
from clew.extras.client.operations import Operation
from clew.extras.client.requests import Address, AnswerEvent, ClientRequest, Pause
from clew.extras.wire.names import GENERATION_HEADER, PREFIX

with needs("httpx2", "client", "a client of a server"):
    import httpx2

if TYPE_CHECKING:
    from clew.extras.wire.jobs import JobEvent, JobView
    from clew.text.pieces import OnPiece

    OnEvidence = Callable[[Evidence], None]

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound="_BaseClient")

TIMEOUT_S = 120.0  # without a byte; an LLM may take its time
_CONNECT_S = 5.0
_ATTEMPTS = 4
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout)


class _Method(Generic[P, T]):
    """A descriptor that turns an operation into a method, synchronous or asynchronous."""

    def __init__(self, operation: Callable[..., Operation[T]], *, of_index: bool) -> None:
        self._operation = operation
        self._of_index = of_index

    if TYPE_CHECKING:

        @overload
        def __get__(self, of: Client | ServedIndex, kind: type) -> Callable[P, T]: ...
        @overload
        def __get__(
            self, of: AsyncClient | AsyncServedIndex, kind: type
        ) -> Callable[P, Awaitable[T]]: ...
        def __get__(self, of: object, kind: type) -> Any: ...

    def make(self, kind: type, name: str, *, is_awaited: bool) -> Any:  # noqa: ANN401 -- a method
        """Return a method with its own signature, without the operation's path."""
        operation = self._operation

        def method(self: Any, *given: Any, **options: Any) -> Any:  # noqa: ANN401 -- a client or an index
            return self._perform(operation, *given, **options)

        async def coroutine(self: Any, *given: Any, **options: Any) -> Any:  # noqa: ANN401 -- a client or an index
            return await self._perform(operation, *given, **options)

        made: Any = coroutine if is_awaited else method
        signature = inspect.signature(operation)
        gives = str(signature.return_annotation).removeprefix("Operation[").removesuffix("]")
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        takes = list(signature.parameters.values())[self._of_index :]
        made.__signature__ = signature.replace(parameters=[own, *takes], return_annotation=gives)
        made.__annotations__ = {**operation.__annotations__, "return": gives}
        made.__module__, made.__doc__ = operation.__module__, operation.__doc__
        made.__name__, made.__qualname__ = name, f"{kind.__name__}.{name}"
        return made


def _of_server(operation: Callable[P, Operation[T]]) -> _Method[P, T]:
    return _Method(operation, of_index=False)


def _of_index(operation: Callable[Concatenate[str, P], Operation[T]]) -> _Method[P, T]:
    return _Method(operation, of_index=True)


class _Operated:
    """Base class that adds operations to subclasses as methods."""

    def __init_subclass__(cls, *, is_awaited: bool | None = None) -> None:
        super().__init_subclass__()
        if is_awaited is not None:
            for base in cls.__bases__:
                for name, each in vars(base).items():
                    if isinstance(each, _Method):
                        setattr(cls, name, each.make(cls, name, is_awaited=is_awaited))


class _BaseClient(_Operated):
    """The part of both clients that needs no connection."""

    about = _of_server(operations.describe_server)
    methods = _of_server(operations.list_methods)
    spent = _of_server(operations.list_spending)
    indexes = _of_server(operations.list_indexes)
    make = _of_server(operations.make_index)
    drop = _of_server(operations.drop_index)
    jobs = _of_server(operations.list_jobs)
    job = _of_server(operations.read_job)
    cancel = _of_server(operations.cancel_job)
    wait = _of_server(operations.wait_for_job)

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
        """Open the connection for requests."""

    @abstractmethod
    def run(self, operation: Operation[Any]) -> Any:  # noqa: ANN401 -- as the operation returns
        """Send the requests of an operation until it returns."""

    def _perform(self, operation: Callable[..., Operation[T]], *given: Any, **options: Any) -> Any:  # noqa: ANN401 -- as the operation takes
        return self.run(operation(*given, **options))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.address.base}>"

    def _make_arguments(self, request: ClientRequest) -> dict[str, Any]:
        given: dict[str, Any] = {
            "method": request.verb,
            "url": f"{self.address.base}{PREFIX}{request.path}",
        }
        seen = (self._generations or {}).get(requests.find_index(request.path))
        if request.upload is not None:
            given["headers"] = {"Content-Type": request.upload.kind}
        elif seen is not None:
            given["headers"] = {GENERATION_HEADER: str(seen)}
        return {**given, "params": dict(request.query), "json": request.body}

    def _keep_generation(self, request: ClientRequest, headers: Mapping[str, str]) -> None:
        """Remember the generation in a reply for later requests."""
        generation = headers.get(GENERATION_HEADER, "")
        if self._generations is not None and generation.isdigit():
            name = requests.find_index(request.path)
            self._generations[name] = max(int(generation), self._generations.get(name, 0))

    def _repeat(self, operation: Operation[T]) -> Operation[T]:
        """Yield the requests of an operation, with retries and pauses."""
        try:
            step = next(operation)
            while True:
                if isinstance(step, Pause):
                    yield step
                    step = operation.send(None)
                else:
                    step = operation.send((yield from self._try(step)))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the operation returns

    def _try(self, request: ClientRequest) -> Operation[Any]:
        """Yield a request until there is a reply; return its value.

        What comes back for a request is a response, or the fault for which there is none.
        """
        attempt = 0
        while True:
            attempt += 1
            reply = yield request
            if isinstance(reply, httpx2.RequestError):
                delay, reason = "", str(reply) or type(reply).__name__
                never_sent = isinstance(reply, _NEVER_SENT)
                if attempt == self._attempts or not (never_sent or request.is_repeatable):
                    raise _make_fault(self.address, reply)
            else:
                self._keep_generation(request, reply.headers)
                is_asked_again = request.is_repeatable and reply.status_code in requests.REPEATED
                if attempt == self._attempts or not is_asked_again:
                    return self.address.read_reply(request, reply.status_code, reply.content)
                delay, reason = reply.headers.get("retry-after", ""), f"HTTP {reply.status_code}"
            _log.info("%s %s, attempt %d: %s", request.verb, request.path, attempt, reason)
            yield Pause(requests.pause_s(attempt - 1, delay, random.random()))  # noqa: S311 -- no secret


class Client(_BaseClient, Closing, is_awaited=False):
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
        """Return a client for an index, without a request."""
        return ServedIndex(self, name)

    def follow(self, job_id: str, *, after: int = 0) -> Iterator[JobEvent]:
        """Yield the events of a job as they occur, starting after event number `after`."""
        for message in self._read_events(operations.request_job_stream(job_id, after)):
            yield requests.read_job_event(self.address, message.event, message.data, message.id)

    def run(self, operation: Operation[T]) -> T:
        """Send the requests of an operation until it returns."""
        reply: Any = None
        steps = self._repeat(operation)
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]  # what the operation returns
            reply = None
            if isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                reply = self._send(step)

    def _send(self, request: ClientRequest) -> httpx2.Response | httpx2.RequestError:
        content = None if request.upload is None else request.upload.pieces()
        try:
            return self._http.request(**self._make_arguments(request), content=content)
        except httpx2.RequestError as fault:
            return fault

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
                yield from httpx2.EventSource(reply, requests.MOST_BYTES)
        except httpx2.RequestError as fault:
            raise _make_fault(self.address, fault) from None


class _BaseServedIndex(_Operated, Generic[C]):
    """The part of a served index that both clients share."""

    describe = _of_index(operations.describe_index)
    costs = _of_index(operations.list_costs)
    search = _of_index(operations.search)
    hop = _of_index(operations.hop)
    plan = _of_index(operations.plan)
    documents = _of_index(operations.list_documents)
    document = _of_index(operations.read_document)
    download = _of_index(operations.download_document)
    add = _of_index(operations.add_documents)
    remove = _of_index(operations.remove_documents)
    start = _of_index(operations.start_job)
    show = _of_index(operations.read_row)
    entities = _of_index(operations.find_entities)
    entity = _of_index(operations.read_entity)
    themes = _of_index(operations.read_themes)
    changes = _of_index(operations.read_changes)
    graph = _of_index(operations.read_graph)
    question_graph = _of_index(operations.draw_question)
    aliases = _of_index(operations.read_aliases)
    merge = _of_index(operations.merge_names)
    unmerge = _of_index(operations.unmerge_name)
    vocabulary = _of_index(operations.read_vocabulary)
    edit = _of_index(operations.edit_entity)

    def __init__(self, client: C, name: str) -> None:
        self.client = client
        self.name = name
        self.path = operations.make_index_path(name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.client.address.base}>"

    def _perform(self, operation: Callable[..., Operation[T]], *given: Any, **options: Any) -> Any:  # noqa: ANN401 -- as the operation takes
        return self.client.run(operation(self.path, *given, **options))


class ServedIndex(_BaseServedIndex[Client], is_awaited=False):
    """An index on a server, with the methods of `Index` that make sense remotely."""

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
        """Yield the events of an answer: evidence, pieces of text, then the whole answer."""
        request = operations.request_answer_stream(self.path, question, **given)
        for message in self.client._read_events(request):  # noqa: SLF001 -- of this module
            event = requests.read_answer_event(self.client.address, message.event, message.data)
            if event is not None:
                yield event


class AsyncClient(_BaseClient, is_awaited=True):
    """As `Client`, for an event loop: every request is awaited."""

    def _connect(self, settings: dict[str, Any]) -> None:
        self._http = httpx2.AsyncClient(**settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def index(self, name: str) -> AsyncServedIndex:
        """Return a client for an index, without a request."""
        return AsyncServedIndex(self, name)

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[JobEvent]:
        """Yield the events of a job as they occur, starting after event number `after`."""
        async for message in self._read_events(operations.request_job_stream(job_id, after)):
            yield requests.read_job_event(self.address, message.event, message.data, message.id)

    async def run(self, operation: Operation[T]) -> T:
        """Send the requests of an operation until it returns."""
        reply: Any = None
        steps = self._repeat(operation)
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]  # what the operation returns
            reply = None
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            else:
                reply = await self._send(step)

    async def _send(self, request: ClientRequest) -> httpx2.Response | httpx2.RequestError:
        content = None if request.upload is None else _read_pieces(request.upload.pieces())
        try:
            return await self._http.request(**self._make_arguments(request), content=content)
        except httpx2.RequestError as fault:
            return fault

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
                async for event in httpx2.EventSource(reply, requests.MOST_BYTES):
                    yield event
        except httpx2.RequestError as fault:
            raise _make_fault(self.address, fault) from None


class AsyncServedIndex(_BaseServedIndex[AsyncClient], is_awaited=True):
    """As `ServedIndex`, for an event loop."""

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
        """Yield the events of an answer: evidence, pieces of text, then the whole answer."""
        request = operations.request_answer_stream(self.path, question, **given)
        async for message in self.client._read_events(request):  # noqa: SLF001 -- of this module
            event = requests.read_answer_event(self.client.address, message.event, message.data)
            if event is not None:
                yield event


def _tell(event: AnswerEvent, on_evidence: OnEvidence | None, on_text: OnPiece | None) -> None:
    if isinstance(event.value, Evidence):
        if on_evidence is not None:
            on_evidence(event.value)
    elif on_text is not None and not isinstance(event.value, Answer):
        on_text(event.value)


async def _read_pieces(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(next, pieces, b""):
        yield piece


def _make_fault(address: Address, fault: httpx2.RequestError) -> ClewError:
    reason = str(fault) or type(fault).__name__
    if isinstance(fault, httpx2.SSEError):
        return address.make_unreadable(reason)
    if isinstance(fault, _NEVER_SENT):
        return address.make_unreachable(reason)
    return address.make_broken(reason)
