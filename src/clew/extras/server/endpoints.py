"""Declarative REST routes, from which Starlette's routes and OpenAPI are built."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar, get_type_hints

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from pydantic import BaseModel, RootModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from clew import Budget
from clew.base.display.shown import plain
from clew.errors import ClewError, InputError
from clew.extras.cluster.shards.index import Shards
from clew.extras.server import request_records
from clew.extras.server.bodies import AskedBody, Part, QueryParameters
from clew.extras.server.callers import Caller, authenticate
from clew.extras.server.scoped import ScopedIndex
from clew.extras.server.scoped_questions import Scoped, ScopedShards, make_shards_refusal
from clew.extras.server.state import ServerState
from clew.extras.wire import refusals
from clew.extras.wire.indexes import Listed
from clew.extras.wire.names import GENERATION_HEADER

P = ParamSpec("P")
T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=QueryParameters)

JSON, FORM = "application/json", "multipart/form-data"
FILES = ("application/octet-stream", "text/plain")
_LARGE = 1 << 16  # bytes of JSON that are read in a thread

Scope = str  # one of `clew.extras.server.keys.SCOPES`, or "" for what needs no key


async def run_in_thread(work: Callable[[], T], limiter: CapacityLimiter | None = None) -> T:
    """Run `work` in a thread, and return its result.

    An error of Clew's comes without the frames that it passed: one of them holds the error, and
    with it all that the request sent, until Python looks for such rings, which it seldom does.
    """
    try:
        return await run_sync(work, limiter=limiter)
    except ClewError as error:
        raise error.with_traceback(None) from error.__cause__


@dataclass(frozen=True, slots=True)
class Access:
    """The part of a server that a caller may use, over HTTP or MCP."""

    server: ServerState
    caller: Caller
    budget: Budget | None = field(default=None, kw_only=True)  # None: one for each request

    def list_names(self) -> list[str]:
        """Return the names of the indexes visible to the caller, sorted."""
        return [name for name in self.server.indexes.list_folders() if self.caller.sees(name)]

    def open_index(self, name: str, scope: Scope = "read") -> ScopedIndex:
        """Return an index as `open_any` does. Raises Refusal 501 for a sharded one."""
        opened = self.open_any(name, scope)
        if not isinstance(opened, ScopedIndex):
            raise make_shards_refusal(name)
        return opened

    def open_any(self, name: str, scope: Scope = "read", bounds: AskedBody | None = None) -> Scoped:
        """Return an index, possibly sharded, restricted to the caller. Raises Refusal 404.

        What models bill through it is bounded by what the body says, and by the key.
        """
        if not self.caller.sees(name):
            raise refusals.no_such_resource(f"there is no index {name!r:.80} here")
        opened = self.server.indexes.get(name)
        request_records.find_record().index = name
        self.caller.check(scope)
        budget = self.make_budget(bounds) if self.budget is None else self.budget
        writer = partial(self.server.indexes.open_writer, name)
        if isinstance(opened, Shards):
            return ScopedShards(name, opened, self.caller, budget, writer)
        return ScopedIndex(name, opened, self.caller, budget, writer)

    def make_budget(self, bounds: AskedBody | None) -> Budget:
        """Return the budget of a request, within that of the key."""
        tokens, usd = (bounds.budget_tokens, bounds.budget_usd) if bounds else (None, None)
        return self.server.spending.make_budget(self.caller.key, tokens=tokens, usd=usd)

    def make_refusal(self, error: ClewError) -> refusals.Refusal:
        """Return the refusal for an error, with details only for admins."""
        if self.caller.may("admin"):
            return refusals.make_refusal(error, str)
        hide = self.server.indexes.hide_paths
        return refusals.make_refusal(error, lambda each: refusals.describe_briefly(each, hide))

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in a server thread, and return its result."""
        return await run_in_thread(partial(work, *args, **kwargs), self.server.threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Access):
    """A request with its caller and the state of the server."""

    request: Request

    def read_path(self, name: str) -> str:
        return str(self.request.path_params[name])

    def read_query(self, kind: type[Q]) -> Q:
        """Return the query parameters. Raises InputError for an invalid one."""
        given = self.request.query_params.multi_items()
        names = [name for name, _ in given]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{twice:.80}: given more than once")
        try:
            return kind.model_validate(dict(given))
        except ValidationError as error:
            raise InputError(_describe_fault(error)) from None

    def list_part(self, items: Sequence[T], part: Part) -> Listed[T]:
        """Return the page of a list that the query parameters request."""
        page = items[part.offset : part.offset + part.limit]
        return Listed(items=tuple(page), total=len(items))

    def open_named_index(self, scope: Scope = "read") -> ScopedIndex:
        """Return the index named in the path, as `open_index` does."""
        return self.open_index(self.read_path("index"), scope)

    def open_named_any(self, scope: Scope = "read", bounds: AskedBody | None = None) -> Scoped:
        """Return the index named in the path, as `open_any` does."""
        return self.open_any(self.read_path("index"), scope, bounds)

    async def read_body(self, kind: type[B], *, most: int | None = None) -> B:
        """Return the parsed JSON body.

        Raises InputError that names what is wrong, and Refusal 415 for what is said to be no JSON.
        """
        self.check_kind(JSON)
        content = await self.read_bytes(most)
        if len(content) > _LARGE:
            return await run_in_thread(partial(parse_body, kind, content))
        return parse_body(kind, content)

    def check_generation(self) -> None:
        """Raise Refusal 400 if the generation header is not a number."""
        least = self.request.headers.get(GENERATION_HEADER)
        if least is not None:
            request_records.parse_number(GENERATION_HEADER, least)

    def check_kind(self, *kinds: str) -> str:
        """Return the Content-Type, or "". Raises Refusal 415 for an unsupported one."""
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().casefold()
        if kind and kind not in kinds:
            why = f"the body must be {' or '.join(kinds)}, not {kind:.80}: set Content-Type"
            raise refusals.Refusal(415, "unsupported_media_type", why)
        return kind

    async def read_bytes(self, most: int | None = None) -> bytes:
        """Return the body of a request. Raises Refusal 413 if it exceeds `most` bytes."""
        most, parts, size = most or self.server.settings.body_bytes, [], 0
        length = self.request.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > most:
            raise refusals.too_large(f"a request has at most {most:,} bytes")
        async for part in self.request.stream():
            size += len(part)
            if size > most:
                raise refusals.too_large(f"a request has at most {most:,} bytes")
            parts.append(part)
        return b"".join(parts)


def begin_call(request: Request, scope: Scope = "read") -> Call:
    """Authenticate a request, and return it as a call. Raises Refusal."""
    server: ServerState = request.app.state.server
    if not scope:
        return Call(server, Caller(), request=request)
    caller = authenticate(request, server.settings, server.keys)
    request_records.find_record().caller = caller
    caller.check(scope)
    return Call(server, caller, request=request)


def respond_to_refusal(refusal: refusals.Refusal, _request: Request | None = None) -> JSONResponse:
    """Return a refusal as a response."""
    body = {"error": {"code": refusal.code, "message": str(refusal)}}
    return JSONResponse(body, status_code=refusal.status, headers=refusal.headers)


def make_handler(
    handle: Callable[[Call], Awaitable[Response]],
    write_refusal: Callable[[refusals.Refusal, Request], Response] = respond_to_refusal,
) -> Callable[[Request], Awaitable[Response]]:
    """Return a request handler that calls `handle`; errors are written by `write_refusal`."""

    async def handle_request(request: Request) -> Response:
        try:
            call = begin_call(request)
            try:
                return await handle(call)
            except ClewError as error:
                return write_refusal(call.make_refusal(error), request)
        except ClewError as error:
            return write_refusal(refusals.make_refusal(error), request)

    return handle_request


def parse_body(kind: type[B], content: bytes, *, at: str = "") -> B:
    """Parse JSON as a body. Raises InputError with the fault and its location.

    `at` is where the JSON stands in what was sent.
    """
    if not content:
        raise InputError("the body is empty: send a JSON object")
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        # Of a body of several kinds a place begins with its kind, which nobody wrote there.
        skip = int(issubclass(kind, RootModel))
        raise InputError(_describe_fault(error, at, skip)) from None


def _describe_fault(error: ValidationError, at: str = "", skip: int = 0) -> str:
    """Return the first fault, with its location."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join([*([at] if at else []), *map(str, first["loc"][skip:])]) or "the body"
    return f"{place:.200}: {first['msg']}"


Handler = Callable[..., Awaitable[object]]  # of a call, and `query` and `body` if it takes them
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestEndpoint:
    """A route of the REST interface, with its description. The handler's result is sent as JSON."""

    group: str
    method: str
    path: str  # below /api/v1, as Starlette has it
    call: Handler
    scope: Scope = "read"
    body: type[BaseModel] | None = None
    reply: object = None  # a type; None: any JSON
    status: int = 200
    query: type[QueryParameters] = QueryParameters  # what stands behind the question mark
    headers: Mapping[str, str] = field(default_factory=dict)  # that it reads, beside those of all
    named: Mapping[str, str] = field(default_factory=dict)  # what parts of the path are but indexes
    downloads: tuple[str, ...] = ()  # answers with a file of one of these media types
    events: Mapping[str, object] = field(default_factory=dict)  # types of the data, by names
    bytes_of: str = ""  # takes and answers bytes of this media type
    form: type[BaseModel] | None = None  # the options beside files, where it takes these, too
    paid: bool = False  # a model may bill for it

    async def answer(self, call: Call) -> Response:
        """Read a request, and reply what the handler returns."""
        given: dict[str, object] = {"query": call.read_query(self.query)}  # checked in any case
        call.check_generation()
        takes = self.call.__annotations__
        if self.body is not None and "body" in takes:
            given["body"] = await call.read_body(self.body)
        own = {name: value for name, value in given.items() if name in takes}
        return make_reply(await self.call(call, **own), self.status)

    @property
    def summary(self) -> str:
        """Return the first line of the handler's docstring."""
        return (self.call.__doc__ or "").partition("\n")[0].removesuffix(".")


@dataclass(frozen=True, slots=True)
class EndpointGroup:
    """Routes described together, in definition order."""

    name: str
    endpoints: list[RestEndpoint] = field(default_factory=list)

    def endpoint(self, method: str, path: str, **about: Any) -> Callable[[H], H]:  # noqa: ANN401 -- fields of `RestEndpoint`
        """Return a decorator that registers the handler of a route.

        It replies what the function returns, unless `reply` says what is in a response. Types of
        its parameters `query` and `body` are what the route reads.
        """

        def add(handler: H) -> H:
            given = {"group": self.name, "method": method, "path": path, "call": handler, **about}
            hints = get_type_hints(handler)
            given |= {name: hints[name] for name in ("query", "body") if name in hints}
            if "reply" not in about:
                given["reply"] = None if hints["return"] is Response else hints["return"]
            self.endpoints.append(RestEndpoint(**given))
            return handler

        return add


def make_reply(value: object, status: int = 200) -> Response:
    """Return the response for the result of a handler."""
    if isinstance(value, Response):
        return value
    if value is None:
        return Response(status_code=204)
    return JSONResponse(plain(value), status_code=status)


def dump_json(value: object) -> str:
    """Return a value as one line of JSON; lone surrogates become question marks."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


def respond(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a value as JSON."""
    return Response(dump_json(value), status, headers, media_type="application/json")
