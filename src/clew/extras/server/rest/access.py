"""Routes for the server's description, methods and spending, for keys and for sessions."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated

from pydantic import Field
from starlette.responses import JSONResponse, Response

from clew import __version__, methods
from clew.base.display.shown import plain
from clew.errors import InputError
from clew.extras.server.bodies import (
    INTEGRAL,
    LONGEST_FILTER,
    MOST_TOKENS,
    MOST_USD,
    Body,
    Part,
    one_of,
)
from clew.extras.server.callers import Caller, set_session
from clew.extras.server.endpoints import Call, EndpointGroup
from clew.extras.server.keys import CITATIONS, SCOPES, SESSION_S, Key, KeyOptions
from clew.extras.server.rest.indexes import IndexName
from clew.extras.wire.about import AboutServer, MethodView, ParameterView, SignInView, SpentLine
from clew.extras.wire.indexes import Listed
from clew.extras.wire.names import COOKIE
from clew.extras.wire.refusals import forbidden, no_key, no_such_resource
from clew.views.describe import describe_method

SERVER = EndpointGroup("server")


@SERVER.endpoint("GET", "")
async def about(call: Call) -> AboutServer:
    """What this server is, and what you may do."""
    key = call.caller.key
    shown = None
    if key is not None:  # without its filter, which would tell what its holder does not see
        shown = {name: value for name, value in key.to_dict().items() if name != "where"}
    return AboutServer(
        version=__version__,
        caller=call.caller.name,
        scope=call.caller.scope,
        llm=call.server.settings.specs.llm is not None,
        key=shown,
        spent=None if key is None else call.server.spending.sum_of_key(key.id),
        user=call.caller.user,
    )


@SERVER.endpoint("GET", "/methods")
async def list_methods(call: Call, query: Part) -> Listed[MethodView]:
    """List the methods of retrieval with their parameters."""
    views = await call.run(lambda: [_view_method(name) for name in methods.names()])
    return call.list_part(views, query)


@cache
def _view_method(name: str) -> MethodView:
    fields = describe_method(name)
    parameters = tuple(ParameterView(**each) for each in fields.pop("parameters"))
    return MethodView(**fields, parameters=parameters)


class SpendQuery(Part):
    """Whose spending is listed."""

    key: str = Field("", max_length=100, description="id of a key; only admins see others")


@SERVER.endpoint("GET", "/spend")
async def spent(call: Call, query: SpendQuery) -> Listed[SpentLine]:
    """What models billed, by key and day.

    An admin sees that of all keys, others that of their own.
    """
    key = query.key or None
    if not call.caller.is_keeper:
        key = call.caller.key.id if call.caller.key is not None else None
    names = {each.id: each.name for each in call.server.keys.list_keys()}
    lines = await call.run(call.server.spending.list_by_day, key)
    entries = [SpentLine(name=names.get(line["key"], ""), **line) for line in lines]
    return call.list_part(entries, query)


KEYS = EndpointGroup("keys")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyView:
    """A key as an admin sees it. Its text is shown once, when it is made."""

    id: str
    name: str
    made: float  # seconds since 1970
    revoked: float | None
    scope: str
    indexes: tuple[str, ...]
    where: str
    requests_per_minute: int | None
    tokens: int | None
    tokens_per_day: int | None
    usd: float | None
    usd_per_day: float | None
    citations: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was made, and its text, which nobody can show again."""

    key: KeyView
    text: str


class KeyBody(Body):
    """A new key: its name, and what its holder may do."""

    name: str = Field(min_length=1, max_length=100)
    scope: one_of(SCOPES) = "read"  # type: ignore[valid-type]  # made of what is known
    indexes: list[IndexName] = Field(
        default_factory=list, max_length=1_000, description="none: all"
    )
    where: str = Field("", max_length=LONGEST_FILTER, description="filter of what the key may see")
    requests_per_minute: Annotated[int, Field(ge=0, le=10**6), INTEGRAL] | None = None
    tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS), INTEGRAL] | None = None
    tokens_per_day: Annotated[int, Field(ge=0, le=MOST_TOKENS), INTEGRAL] | None = None
    usd: float | None = Field(None, ge=0, le=MOST_USD)
    usd_per_day: float | None = Field(None, ge=0, le=MOST_USD)
    citations: one_of(CITATIONS) = "annotations"  # type: ignore[valid-type]

    def options(self) -> KeyOptions:
        """Return what the holder may do. Raises InputError for what no key may."""
        return KeyOptions.from_plain(self.model_dump(exclude={"name"}))


class SessionBody(Body):
    """The text of a key."""

    key: str = Field(min_length=1, max_length=200)


@KEYS.endpoint("GET", "/keys", scope="admin")
async def list_keys(call: Call, query: Part) -> Listed[KeyView]:
    """List the keys."""
    _check_keeper(call)
    return call.list_part([_view_key(key) for key in call.server.keys.list_keys()], query)


@KEYS.endpoint("POST", "/keys", scope="admin", status=201)
async def add(call: Call, body: KeyBody) -> NewKey:
    """Make a key.

    From the first one on, the server lets nobody in without.
    """
    _check_keeper(call)
    key, text = call.server.keys.add(body.name, body.options())
    return NewKey(key=_view_key(key), text=text)


@KEYS.endpoint("DELETE", "/keys/{id}", scope="admin", named={"id": "the id of a key, or its name"})
async def revoke(call: Call) -> KeyView:
    """Revoke a key."""
    _check_keeper(call)
    try:
        key = call.server.keys.revoke(call.read_path("id"))
    except InputError as error:
        raise no_such_resource(str(error)) from None
    return next(_view_key(each) for each in call.server.keys.list_keys() if each.id == key.id)


def _check_keeper(call: Call) -> None:
    if not call.caller.is_keeper:
        raise forbidden("managing keys needs an admin key for all indexes")


def _view_key(key: Key) -> KeyView:
    return KeyView(**key.to_dict())


@KEYS.endpoint("GET", "/session", scope="")
async def how_to_sign_in(call: Call) -> SignInView:
    """How a session of a page is begun, beside keys."""
    oidc = call.server.settings.oidc
    return SignInView(provider="" if oidc is None else oidc.host)


@KEYS.endpoint("POST", "/session", scope="", reply=AboutServer, status=201)
async def begin_session(call: Call, body: SessionBody) -> Response:
    """Begin a session of a page.

    Its cookie stands for a key, and the page itself cannot read it.
    """
    key = call.server.keys.find(body.key.strip())
    if key is None:
        raise no_key("this key is unknown or revoked")
    text = call.server.keys.begin_session(key)
    view = await about(Call(call.server, Caller(key), request=call.request))
    reply = JSONResponse(plain(view), status_code=201)
    set_session(reply, text, SESSION_S, call.request, call.server.settings)
    return reply


@KEYS.endpoint("DELETE", "/session", scope="", status=204)
async def end_session(call: Call) -> Response:
    """Close the session of a page."""
    cookie = call.request.cookies.get(COOKIE)
    if cookie:
        call.server.keys.end_session(cookie)
    reply = Response(status_code=204)
    reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return reply
