"""Identify callers by key, by session, or as local."""

from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.responses import Response

from clew.extras.server.addresses import find_base
from clew.extras.server.keys import SCOPES, Key, Keys
from clew.extras.server.settings import ServerSettings
from clew.extras.wire.names import COOKIE
from clew.extras.wire.refusals import forbidden, no_key, too_many

_FORWARDED_USER = "x-forwarded-user"
# A request that a proxy passes on comes from this machine, and its sender need not.
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request; a local caller without a key has all rights."""

    key: Key | None = None
    user: str = ""  # as their provider or a proxy of ours says, for the audit log

    @property
    def name(self) -> str:
        return self.key.name if self.key is not None else "local"

    @property
    def scope(self) -> str:
        return "admin" if self.key is None else self.key.options.scope

    @property
    def where(self) -> str:
        """Return the filter of the documents visible to the caller."""
        return "" if self.key is None else self.key.options.where

    def may(self, scope: str) -> bool:
        """Check whether the caller has a scope, or a wider one."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def check(self, scope: str) -> None:
        """Raise Refusal 403 if the caller lacks a scope."""
        if not self.may(scope):
            raise forbidden(f"this needs a key with the scope {scope!r}, not {self.scope!r}")

    @property
    def is_keeper(self) -> bool:
        """Check whether the caller may manage keys: an admin of all indexes."""
        return self.may("admin") and (self.key is None or not self.key.options.indexes)

    def sees(self, index: str) -> bool:
        """Check whether an index is visible to the caller."""
        return self.key is None or not self.key.options.indexes or index in self.key.options.indexes


def authenticate(request: HTTPConnection, settings: ServerSettings, keys: Keys) -> Caller:
    """Return the caller of a request. Raises Refusal 401 without a key, 429 over the rate."""
    caller = _identify(request, settings, keys)
    rate = None if caller.key is None else caller.key.options.requests_per_minute
    if caller.key is not None and rate is not None:
        wait_s = keys.take_request(caller.key.id, rate)
        if wait_s:
            sentence = f"this key may send {rate} requests a minute"
            raise too_many(sentence, max(1, round(wait_s + 0.5)))
    return caller


def _identify(request: HTTPConnection, settings: ServerSettings, keys: Keys) -> Caller:
    peer = request.client.host if request.client else ""
    is_believed = peer in settings.proxies
    user = request.headers.get(_FORWARDED_USER, "")[:200] if is_believed else ""
    given = request.headers.get("authorization", "")
    scheme, _, text = given.partition(" ")
    # No key is needed where none was ever made, and only this machine comes here.
    is_open = settings.is_local and settings.oidc is None and not keys.has_keys()
    if given and not is_open:
        key = keys.find(text.strip()) if scheme.casefold() == "bearer" else None
        if key is None:
            raise no_key("this key is unknown or revoked")
        return Caller(key, user)
    cookie = request.cookies.get(COOKIE)
    if cookie and (found := keys.find_by_session(cookie)) is not None:
        key, signed_in = found
        return Caller(key, signed_in or user)
    if not is_open:
        raise no_key("an API key is required: send it as 'Authorization: Bearer KEY'")
    if any(name in request.headers for name in _FORWARDED):
        raise no_key("behind a proxy an API key is required: create one with 'clew keys add NAME'")
    # Programs made for OpenAI's interface always send some key: it is not looked at.
    return Caller(None, user)


def set_session(
    reply: Response, text: str, seconds: float, request: HTTPConnection, settings: ServerSettings
) -> None:
    """Set a session cookie, inaccessible to scripts and other sites."""
    reply.set_cookie(
        COOKIE,
        text,
        max_age=int(seconds),
        httponly=True,
        samesite="strict",
        secure=find_base(request, settings).startswith("https:"),
    )
