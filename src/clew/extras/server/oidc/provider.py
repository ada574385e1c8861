"""An OpenID Connect provider: its metadata, its keys, and a person's claims.

It is asked within bounds on time and size, no redirect is followed, and what it fails at is said in
a sentence that names its host alone. Tokens are neither kept nor logged.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode, urlsplit

import anyio

from clew.extras.server.oidc.attempts import Attempt, is_error_code
from clew.extras.server.settings import EVERYBODY, OidcSettings, is_loopback, split_address
from clew.extras.wire.refusals import Refusal, forbidden

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

_DESCRIPTION = "/.well-known/openid-configuration"
_FRESH_S = 3600.0  # how long the description and the keys are good
_AGAIN_S = 60.0  # between two looks for a key that is not known
_PAUSE_S = 3.0  # in which a provider that failed is not asked again what it is
_MOST = 50  # sign-ins that ask it at one time
_SCOPES = ("openid", "email", "profile")
_LONGEST_NAME = 200
_TOKEN = re.compile(r"[!-~]+")  # as a header may have it

_log = logging.getLogger(__name__)

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderDescription:
    """The metadata of a provider (OpenID Connect Discovery 1.0, section 3)."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    scopes: tuple[str, ...] | None  # None: it does not say
    takes_basic: bool  # the client's secret in a header, else in the form
    sends_issuer: bool  # with each reply (RFC 9207)


class Provider:
    """An OpenID Connect provider, shared by all requests."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._lock = anyio.Lock()
        self._description: tuple[float, ProviderDescription] | None = None
        self._keys: tuple[float, KeySet] | None = None
        self._looked_again = 0.0
        self._failure: tuple[float, Refusal] | None = None
        self._under_way = 0

    @contextmanager
    def counting_sign_in(self) -> Iterator[None]:
        """Count a concurrent sign-in. Raises Refusal 503 above the limit.

        So a provider that does not answer keeps none of the server's requests from the others.
        """
        if self._under_way >= _MOST:
            raise Refusal(503, "busy", "too many people sign in just now: try again")
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def build_address(self, attempt: Attempt, redirect: str) -> str:
        """Return the URL for signing in at the provider. Raises Refusal 502."""
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        description, scopes = await self.describe(), [*_SCOPES]
        if description.scopes is not None:  # that of the claim only where the provider has it
            wanted = dict.fromkeys((*_SCOPES, self.settings.claim))
            scopes = [each for each in wanted if each == "openid" or each in description.scopes]
        given = {
            "response_type": "code",
            "client_id": self.settings.client,
            "redirect_uri": redirect,
            "scope": " ".join(scopes),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": create_s256_code_challenge(attempt.verifier),
            "code_challenge_method": "S256",
        }
        address = description.authorization_endpoint
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(given)}"

    async def fetch_claims(self, code: str, attempt: Attempt, redirect: str) -> Claims:
        """Return the verified claims of the person who signed in.

        Raises Refusal 403 where it is not to be believed, and 502 where the provider fails.
        """
        description = await self.describe()
        tokens = await self._redeem(description, code, attempt, redirect)
        token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(token, str):
            raise self._fail("sent no ID token")
        if not isinstance(access_token, str) or not _TOKEN.fullmatch(access_token):
            access_token = None
        claims = await self._verify(token, attempt.nonce, access_token)
        is_asked = any(value != EVERYBODY for value, _ in self.settings.roles)
        if not is_asked or find_values(claims, self.settings.claim) is not None:
            return claims
        if description.userinfo_endpoint is None or access_token is None:
            return claims
        headers = {"Authorization": f"Bearer {access_token}"}
        more = await self._ask("GET", description.userinfo_endpoint, headers=headers)
        if more.get("sub") != claims["sub"]:
            raise forbidden("the provider's user info is about another user")
        return {**claims, **more}

    async def _redeem(
        self, description: ProviderDescription, code: str, attempt: Attempt, redirect: str
    ) -> Mapping[str, Any]:
        """Exchange a code for tokens."""
        client, secret = self.settings.client, self.settings.secret
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": attempt.verifier,
        }
        given: dict[str, Any] = {}
        if secret and description.takes_basic:  # each encoded as in a form (RFC 6749, 2.3.1)
            given["auth"] = quote_plus(client), quote_plus(secret)
        else:
            form |= {"client_id": client, **({"client_secret": secret} if secret else {})}
        return await self._ask("POST", description.token_endpoint, data=form, **given)

    async def _verify(self, token: str, nonce: str, access_token: str | None) -> dict[str, Any]:
        from clew.extras.server.oidc.id_tokens import UnknownKeyId, verify_id_token

        for is_again in (False, True):
            try:
                return verify_id_token(
                    token,
                    await self._find_keys(again=is_again),
                    issuer=self.settings.issuer,
                    client=self.settings.client,
                    nonce=nonce,
                    access_token=access_token,
                )
            except UnknownKeyId:
                continue
        raise forbidden("the provider's ID token is signed with an unknown key")

    # -- the provider's description and keys ------------------------------------------------------

    async def describe(self) -> ProviderDescription:
        """Return the provider's metadata, cached for an hour. Raises Refusal 502."""
        async with self._lock:
            if self._description is None or _is_old(self._description[0]):
                self._description = time.monotonic(), await self._fetch_description()
            return self._description[1]

    async def _fetch_description(self) -> ProviderDescription:
        if self._failure is not None and time.monotonic() - self._failure[0] < _PAUSE_S:
            raise self._failure[1].with_traceback(None)
        try:
            found = await self._ask("GET", self.settings.issuer.rstrip("/") + _DESCRIPTION)
            return self._read_description(found)
        except Refusal as error:
            self._failure = time.monotonic(), error
            raise

    def _read_description(self, found: Mapping[str, Any]) -> ProviderDescription:
        named = found.get("issuer")
        if named != self.settings.issuer:
            raise self._fail(f"has the issuer {named!r:.100}, not the one of --oidc")

        def read_address(name: str) -> str:
            address = found.get(name)
            if not isinstance(address, str) or not self._is_safe(address):
                raise self._fail(f"has no {name} by https")
            return address

        def read_list(name: str) -> tuple[str, ...] | None:
            listed = found.get(name)
            return tuple(map(str, listed)) if isinstance(listed, list) else None

        methods = read_list("token_endpoint_auth_methods_supported")
        has_userinfo = found.get("userinfo_endpoint") is not None
        return ProviderDescription(
            authorization_endpoint=read_address("authorization_endpoint"),
            token_endpoint=read_address("token_endpoint"),
            jwks_uri=read_address("jwks_uri"),
            userinfo_endpoint=read_address("userinfo_endpoint") if has_userinfo else None,
            scopes=read_list("scopes_supported"),
            takes_basic=methods is None or "client_secret_basic" in methods,
            sends_issuer=found.get("authorization_response_iss_parameter_supported") is True,
        )

    def _is_safe(self, address: str) -> bool:
        """Check whether tokens may be sent to an address: https, or http for a local issuer."""
        parts = split_address(address)
        is_here = self.settings.issuer.startswith("http:") and is_loopback(parts.hostname or "")
        return bool(parts.hostname) and (parts.scheme == "https" or is_here)

    async def _find_keys(self, *, again: bool) -> KeySet:
        """Return the provider's keys, refreshed if `again` and not fetched just before."""
        from clew.extras.server.oidc.id_tokens import import_keys

        address = (await self.describe()).jwks_uri
        async with self._lock:
            now = time.monotonic()
            is_due = again and (not self._looked_again or now - self._looked_again > _AGAIN_S)
            if self._keys is None or _is_old(self._keys[0]) or is_due:
                if is_due:
                    self._looked_again = now
                self._keys = now, import_keys(await self._ask("GET", address))
            return self._keys[1]

    # -- requests ---------------------------------------------------------------------------------

    async def _ask(self, method: str, address: str, **given: Any) -> Mapping[str, Any]:  # noqa: ANN401 -- httpx2's
        """Return a reply's JSON object. Raises Refusal 502, or 403 for a rejected code."""
        from clew.extras.server.oidc.exchange import OK, NoReply, exchange

        is_here = self.settings.issuer.startswith("http:")
        try:
            status, content = await exchange(method, address, is_here=is_here, **given)
        except NoReply as error:
            raise self._fail(str(error)) from error
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = None
        if status == OK and isinstance(value, dict):
            return value
        code = value.get("error") if isinstance(value, dict) else None
        if code == "invalid_grant":
            raise forbidden("the sign-in has expired at the provider: begin again")
        why = f" ({code})" if isinstance(code, str) and is_error_code(code) else ""
        raise self._fail(f"answered {urlsplit(address).path or '/'} with status {status}{why}")

    def _fail(self, what: str) -> Refusal:
        """Log a provider's failure, and return its refusal."""
        sentence = f"{self.settings.host} {what}"
        _log.warning("nobody can sign in: %s", sentence)
        return Refusal(502, "provider_error", f"{sentence}: try again, or tell who runs Clew")


def _is_old(at: float) -> bool:
    return time.monotonic() - at > _FRESH_S


# -- from the claims of a person to a key and a name -----------------------------------------------


def find_values(claims: Claims, name: str) -> tuple[str, ...] | None:
    """Return the values of a claim, by name or dotted path, or None.

    A claim is a text, a list of texts, or an object, whose names then are the values.

    >>> find_values({"realm_access": {"roles": ["staff", "all"]}}, "realm_access.roles")
    ('staff', 'all')
    >>> find_values({"https://example.org/role": "staff"}, "https://example.org/role")
    ('staff',)
    """
    found: Any = claims
    for part in [name] if name in claims else name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if found is None:
        return None
    values = found if isinstance(found, list | Mapping) else [found]
    return tuple(each for each in values if isinstance(each, str))


def choose_key(values: Sequence[str], roles: Sequence[tuple[str, str]]) -> str | None:
    """Return the key of the first role that a person's claim has, or None.

    >>> choose_key(["all", "staff"], [("admins", "boss"), ("staff", "anna"), ("all", "reader")])
    'anna'
    """
    return next((key for value, key in roles if value == EVERYBODY or value in values), None)


def name_user(claims: Claims) -> str:
    """Return a person's display name: the first of email, preferred_username and sub.

    An email address that the provider says is not verified is left out.
    """
    email = None if claims.get("email_verified") is False else claims.get("email")
    for given in (email, claims.get("preferred_username"), claims.get("sub")):
        shown = "".join(c for c in given if c.isprintable()) if isinstance(given, str) else ""
        if shown:
            return shown[:_LONGEST_NAME]
    return ""
