"""The two clients: one waits, one is awaited. Both hold the talks of `clew.client.talks`.

This is the one module that opens a connection to a server of Clew.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from clew.client import talks
from clew.client.events import MOST_BYTES, AnswerEvent, read_answer_event, read_job_event
from clew.client.talks import Talk
from clew.client.wire import (
    Address,
    ClientRequest,
    Pause,
    index_of,
    is_worth_another,
    pause_s,
)
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
C = TypeVar("C", bound="_Connected")

TIMEOUT_S = 120.0  # without a byte; an LLM may take its time
_CONNECT_S = 5.0
_ATTEMPTS = 4


def _held(talk: Callable[P, Talk[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return a talk with a server as a method of the client."""

    @wraps(talk)
    def method(self: Client, *given: P.args, **named: P.kwargs) -> T:
        return self.hold(talk(*given, **named))

    _sign(method, talk)
    return method  # type: ignore[return-value]  # mypy tells the name `self` from none


def _awaited(talk: Callable[P, Talk[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return the same as a method that is awaited."""

    @wraps(talk)
    async def method(self: AsyncClient, *given: P.args, **named: P.kwargs) -> T:
        return await self.hold(talk(*given, **named))

    _sign(method, talk)
    return method  # type: ignore[return-value]  # mypy tells the name `self` from none


def _of_index(
    talk: Callable[Concatenate[str, P], Talk[T]],
) -> Callable[Concatenate[ServedIndex, P], T]:
    """Return a talk about an index as a method of the index."""

    @wraps(talk)
    def method(self: ServedIndex, *given: P.args, **named: P.kwargs) -> T:
        return self.client.hold(talk(self.path, *given, **named))

    _sign(method, talk, of_index=True)
    return method  # type: ignore[return-value]  # mypy tells the name `self` from none


def _of_index_awaited(
    talk: Callable[Concatenate[str, P], Talk[T]],
) -> Callable[Concatenate[AsyncServedIndex, P], Awaitable[T]]:
    """Return the same as a method that is awaited."""

    @wraps(talk)
    async def method(self: AsyncServedIndex, *given: P.args, **named: P.kwargs) -> T:
        return await self.client.hold(talk(self.path, *given, **named))

    _sign(method, talk, of_index=True)
    return method  # type: ignore[return-value]  # mypy tells the name `self` from none


def _sign(method: Any, talk: Callable[..., Any], *, of_index: bool = False) -> None:  # noqa: ANN401 -- a method
    """Let a method show what it takes and gives itself, in place of what its talk does."""
    signature = inspect.signature(talk)
    gives = str(signature.return_annotation).removeprefix("Talk[").removesuffix("]")
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    takes = list(signature.parameters.values())[of_index:]
    method.__signature__ = signature.replace(parameters=[own, *takes], return_annotation=gives)
    method.__annotations__ = {**talk.__annotations__, "return": gives}
    del method.__wrapped__


class _Connected:
    """What both clients are made of but for their connection."""

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
        self.address = Address.of(url, key)
        self._timeout_s = timeout_s
        self._attempts = attempts
        self._generations: dict[str, int] | None = {} if monotonic_reads else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.address.base}>"

    def _settings(self) -> dict[str, Any]:
        timeout = httpx2.Timeout(self._timeout_s, connect=min(_CONNECT_S, self._timeout_s))
        return {"headers": self.address.headers, "timeout": timeout}

    def _sent(self, request: ClientRequest) -> dict[str, Any]:
        given: dict[str, Any] = {"method": request.verb, "url": self.address.at(request.path)}
        seen = (self._generations or {}).get(index_of(request.path))
        if seen is not None and request.upload is None:
            given["headers"] = {GENERATION_HEADER: str(seen)}
        return {**given, "params": dict(request.query), "json": request.body}

    def _saw(self, request: ClientRequest, headers: Mapping[str, str]) -> None:
        """Remember of which generation a reply is, for the requests that follow."""
        told = headers.get(GENERATION_HEADER, "")
        if self._generations is not None and told.isdigit():
            name = index_of(request.path)
            self._generations[name] = max(int(told), self._generations.get(name, 0))

    def _again(self, request: ClientRequest, attempt: int, fault: httpx2.RequestError) -> float:
        """Return the seconds before another attempt. Raises EndpointError where none is due."""
        reason = str(fault) or type(fault).__name__
        never_sent = isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout)
        if attempt + 1 >= self._attempts or not (never_sent or request.is_repeatable):
            raise (
                self.address.unreachable(reason) if never_sent else self.address.broken(reason)
            ) from None
        return self._pause_s(request, attempt, "", reason)

    def _pause_s(self, request: ClientRequest, attempt: int, asked: str, reason: str) -> float:
        _log.info("%s %s, attempt %d: %s", request.verb, request.path, attempt + 1, reason)
        return pause_s(attempt, asked, random.random())  # noqa: S311 -- no secret

    def _wants_another(self, request: ClientRequest, attempt: int, status: int) -> bool:
        return is_worth_another(request, status) and attempt + 1 < self._attempts


class Client(_Connected, Closing):
    """A client of a server: `clew serve` at `url`, else at `CLEW_URL`, else on this machine.

    The key is `key`, else that of `CLEW_KEY`. `timeout_s` is how long nothing may come. What only
    reads is tried again, `attempts` times in all, where the server is not reached, is busy or the
    reply got lost; what writes or asks is sent once. Any number of threads may share a client.

    With `monotonic_reads` no reply is of an earlier generation of an index than one before, though
    several servers of one index may answer in turn.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        attempts: int = _ATTEMPTS,
        monotonic_reads: bool = False,
    ) -> None:
        super().__init__(
            url,
            key=key,
            timeout_s=timeout_s,
            attempts=attempts,
            monotonic_reads=monotonic_reads,
        )
        self._http = httpx2.Client(**self._settings())
        weakref.finalize(self, self._http.close)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def index(self, name: str) -> ServedIndex:
        """Return an index of the server; nothing is asked yet."""
        return ServedIndex(self, name)

    about = _held(talks.about)
    methods = _held(talks.methods)
    spent = _held(talks.spent)
    indexes = _held(talks.indexes)
    make = _held(talks.make)
    drop = _held(talks.drop)
    jobs = _held(talks.jobs)
    job = _held(talks.job)
    cancel = _held(talks.cancel)
    wait = _held(talks.wait)

    def follow(self, job_id: str, *, after: int = 0) -> Iterator[JobEvent]:
        """Yield what a job tells, as it does, behind the event of the number `after`."""
        for told in self._events(talks.job_stream(job_id, after)):
            yield read_job_event(self.address, told.event, told.data, told.id)

    def hold(self, talk: Talk[T]) -> T:
        """Send what a talk asks for until it returns."""
        try:
            step = next(talk)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = talk.send(None)
                else:
                    step = talk.send(self._reply(step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the talk returns

    def _reply(self, request: ClientRequest) -> Any:  # noqa: ANN401 -- as the request says
        attempt = 0
        while True:
            try:
                reply = self._http.request(**self._sent(request), **_form(request))
                self._saw(request, reply.headers)
            except httpx2.RequestError as fault:
                pause = self._again(request, attempt, fault)
            else:
                if not self._wants_another(request, attempt, reply.status_code):
                    return self.address.value(request, reply.status_code, reply.content)
                asked = reply.headers.get("retry-after", "")
                pause = self._pause_s(request, attempt, asked, f"HTTP {reply.status_code}")
            time.sleep(pause)
            attempt += 1

    @contextmanager
    def _streamed(self, request: ClientRequest) -> Iterator[httpx2.Response]:
        with self._http.stream(**self._sent(request)) as reply:
            if not reply.is_success:
                raise self.address.error(reply.status_code, reply.read())
            self._saw(request, reply.headers)
            yield reply

    def _events(self, request: ClientRequest) -> Iterator[httpx2.ServerSentEvent]:
        try:
            with self._streamed(request) as reply:
                yield from httpx2.EventSource(reply, MOST_BYTES)
        except httpx2.RequestError as fault:
            raise _stream_fault(self.address, fault) from None


class _Served(Generic[C]):
    """What an index of a server is for both clients."""

    def __init__(self, client: C, name: str) -> None:
        self.client = client
        self.name = name
        self.path = talks.index_path(name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.client.address.base}>"


class ServedIndex(_Served[Client]):
    """An index of a server: what `Index` has, as far as it is not of this machine."""

    describe = _of_index(talks.describe)
    costs = _of_index(talks.costs)
    search = _of_index(talks.search)
    classify = _of_index(talks.classify)
    plan = _of_index(talks.plan)
    documents = _of_index(talks.documents)
    document = _of_index(talks.document)
    download = _of_index(talks.download)
    add = _of_index(talks.add)
    remove = _of_index(talks.remove)
    start = _of_index(talks.start)
    evaluate = _of_index(talks.evaluate)
    evaluations = _of_index(talks.evaluations)
    evaluation = _of_index(talks.evaluation)
    show = _of_index(talks.show)
    entities = _of_index(talks.entities)
    entity = _of_index(talks.entity)
    graph = _of_index(talks.graph)
    question_graph = _of_index(talks.question_graph)
    aliases = _of_index(talks.aliases)
    merge = _of_index(talks.merge)
    unmerge = _of_index(talks.unmerge)

    def jobs(self, *, kind: str = "", state: str = "") -> list[JobView]:
        """Return the jobs of the index, the newest first."""
        return self.client.jobs(index=self.name, kind=kind, state=state)

    def ask(
        self,
        question: str,
        *,
        on_evidence: OnEvidence | None = None,
        on_text: OnPiece | None = None,
        **given: Any,  # noqa: ANN401 -- as `talks.ask` takes them
    ) -> Answer:
        """Answer `question` from what a method finds, with citations, as `Index.ask` does.

        `on_evidence` and `on_text` are told of the answer as it comes. Other arguments are
        `method`, `context_tokens`, `where`, `history`, `exact`, `min_support`, `budget_tokens`,
        `budget_usd` and the parameters of the method.
        """
        if on_evidence is None and on_text is None:
            return self.client.hold(talks.ask(self.path, question, **given))
        for event in self.stream(question, **given):
            if isinstance(event.value, Answer):
                return event.value
            _tell(event, on_evidence, on_text)
        raise self.client.address.broken("the stream ended without an answer")

    def stream(self, question: str, **given: Any) -> Iterator[AnswerEvent]:  # noqa: ANN401 -- as `ask`
        """Yield an answer as it comes: the evidence, pieces of its text, and at last all of it."""
        request = talks.answer_stream(self.path, question, **given)
        for told in self.client._events(request):  # noqa: SLF001 -- of this module
            event = read_answer_event(self.client.address, told.event, told.data)
            if event is not None:
                yield event


class AsyncClient(_Connected):
    """As `Client`, for an event loop: all that asks the server is awaited."""

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        attempts: int = _ATTEMPTS,
        monotonic_reads: bool = False,
    ) -> None:
        super().__init__(
            url,
            key=key,
            timeout_s=timeout_s,
            attempts=attempts,
            monotonic_reads=monotonic_reads,
        )
        self._http = httpx2.AsyncClient(**self._settings())

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

    about = _awaited(talks.about)
    methods = _awaited(talks.methods)
    spent = _awaited(talks.spent)
    indexes = _awaited(talks.indexes)
    make = _awaited(talks.make)
    drop = _awaited(talks.drop)
    jobs = _awaited(talks.jobs)
    job = _awaited(talks.job)
    cancel = _awaited(talks.cancel)
    wait = _awaited(talks.wait)

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[JobEvent]:
        """Yield what a job tells, as it does, behind the event of the number `after`."""
        async for told in self._events(talks.job_stream(job_id, after)):
            yield read_job_event(self.address, told.event, told.data, told.id)

    async def hold(self, talk: Talk[T]) -> T:
        """Send what a talk asks for until it returns."""
        try:
            step = next(talk)
            while True:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    step = talk.send(None)
                else:
                    step = talk.send(await self._reply(step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the talk returns

    async def _reply(self, request: ClientRequest) -> Any:  # noqa: ANN401 -- as the request says
        attempt = 0
        while True:
            try:
                reply = await self._http.request(**self._sent(request), **_async_form(request))
                self._saw(request, reply.headers)
            except httpx2.RequestError as fault:
                pause = self._again(request, attempt, fault)
            else:
                if not self._wants_another(request, attempt, reply.status_code):
                    return self.address.value(request, reply.status_code, reply.content)
                asked = reply.headers.get("retry-after", "")
                pause = self._pause_s(request, attempt, asked, f"HTTP {reply.status_code}")
            await asyncio.sleep(pause)
            attempt += 1

    @asynccontextmanager
    async def _streamed(self, request: ClientRequest) -> AsyncIterator[httpx2.Response]:
        async with self._http.stream(**self._sent(request)) as reply:
            if not reply.is_success:
                raise self.address.error(reply.status_code, await reply.aread())
            self._saw(request, reply.headers)
            yield reply

    async def _events(self, request: ClientRequest) -> AsyncIterator[httpx2.ServerSentEvent]:
        try:
            async with self._streamed(request) as reply:
                async for event in httpx2.EventSource(reply, MOST_BYTES):
                    yield event
        except httpx2.RequestError as fault:
            raise _stream_fault(self.address, fault) from None


class AsyncServedIndex(_Served[AsyncClient]):
    """As `ServedIndex`, for an event loop."""

    describe = _of_index_awaited(talks.describe)
    costs = _of_index_awaited(talks.costs)
    search = _of_index_awaited(talks.search)
    classify = _of_index_awaited(talks.classify)
    plan = _of_index_awaited(talks.plan)
    documents = _of_index_awaited(talks.documents)
    document = _of_index_awaited(talks.document)
    download = _of_index_awaited(talks.download)
    add = _of_index_awaited(talks.add)
    remove = _of_index_awaited(talks.remove)
    start = _of_index_awaited(talks.start)
    evaluate = _of_index_awaited(talks.evaluate)
    evaluations = _of_index_awaited(talks.evaluations)
    evaluation = _of_index_awaited(talks.evaluation)
    show = _of_index_awaited(talks.show)
    entities = _of_index_awaited(talks.entities)
    entity = _of_index_awaited(talks.entity)
    graph = _of_index_awaited(talks.graph)
    question_graph = _of_index_awaited(talks.question_graph)
    aliases = _of_index_awaited(talks.aliases)
    merge = _of_index_awaited(talks.merge)
    unmerge = _of_index_awaited(talks.unmerge)

    async def jobs(self, *, kind: str = "", state: str = "") -> list[JobView]:
        """Return the jobs of the index, the newest first."""
        return await self.client.jobs(index=self.name, kind=kind, state=state)

    async def ask(
        self,
        question: str,
        *,
        on_evidence: OnEvidence | None = None,
        on_text: OnPiece | None = None,
        **given: Any,  # noqa: ANN401 -- as `talks.ask` takes them
    ) -> Answer:
        """Do as `ServedIndex.ask`; what is told is told in the event loop."""
        if on_evidence is None and on_text is None:
            return await self.client.hold(talks.ask(self.path, question, **given))
        async for event in self.stream(question, **given):
            if isinstance(event.value, Answer):
                return event.value
            _tell(event, on_evidence, on_text)
        raise self.client.address.broken("the stream ended without an answer")

    async def stream(self, question: str, **given: Any) -> AsyncIterator[AnswerEvent]:  # noqa: ANN401 -- as `ask`
        """Yield an answer as it comes: the evidence, pieces of its text, and at last all of it."""
        request = talks.answer_stream(self.path, question, **given)
        async for told in self.client._events(request):  # noqa: SLF001 -- of this module
            event = read_answer_event(self.client.address, told.event, told.data)
            if event is not None:
                yield event


def _tell(event: AnswerEvent, on_evidence: OnEvidence | None, on_text: OnPiece | None) -> None:
    if isinstance(event.value, Evidence):
        if on_evidence is not None:
            on_evidence(event.value)
    elif on_text is not None and not isinstance(event.value, Answer):
        on_text(event.value)


def _form(request: ClientRequest) -> dict[str, Any]:
    if request.upload is None:
        return {}
    return {"content": request.upload.pieces(), "headers": {"Content-Type": request.upload.kind}}


def _async_form(request: ClientRequest) -> dict[str, Any]:
    if request.upload is None:
        return {}
    pieces = request.upload.pieces()

    async def sent() -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(next, pieces, b""):
            yield piece

    return {"content": sent(), "headers": {"Content-Type": request.upload.kind}}


def _stream_fault(address: Address, fault: httpx2.RequestError) -> ClewError:
    reason = str(fault) or type(fault).__name__
    if isinstance(fault, httpx2.SSEError):
        return address.strange(reason)
    if isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout):
        return address.unreachable(reason)
    return address.broken(reason)
