"""Routes for signing in: redirect to the provider, and return with a session."""

import html
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from string import Template

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from clew.errors import ClewError, InputError
from clew.extras.server import request_records
from clew.extras.server.addresses import find_base
from clew.extras.server.callers import Caller, set_session
from clew.extras.server.keys import Key
from clew.extras.server.oidc.attempts import ATTEMPT_S, Attempt, is_error_code
from clew.extras.server.oidc.provider import Claims, Provider, choose_key, find_values, name_user
from clew.extras.server.settings import ServerSettings
from clew.extras.server.state import ServerState
from clew.extras.wire.refusals import forbidden, make_refusal, no_such_resource

PATH = "/sign-in"
RETURN_PATH = f"{PATH}/callback"
_COOKIE = "clew_sign_in"
_PARAMETERS = ("code", "state", "iss", "error")
_NOTICE = Path(__file__).parent / "oidc" / "notice.html"
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_REFRESH = '<meta http-equiv="refresh" content="0; url={root}">\n'
_OK = 200

_log = logging.getLogger(__name__)

Handle = Callable[[Request, ServerState], Awaitable[Response]]


async def _go_to_provider(request: Request, server: ServerState) -> Response:
    attempt = Attempt.begin(time.time())
    address = await _get_provider(server).build_address(attempt, _find_return(request, server))
    reply = RedirectResponse(address, status_code=303)
    reply.set_cookie(
        _COOKIE,
        attempt.text,
        max_age=ATTEMPT_S,
        path=_find_cookie_path(server.settings),
        httponly=True,
        samesite="lax",  # it is the provider's page that leads back here
        secure=find_base(request, server.settings).startswith("https:"),
    )
    return reply


async def _come_back(request: Request, server: ServerState) -> Response:
    provider = _get_provider(server)
    attempt, code = await _read_return(request, provider)
    claims = await provider.fetch_claims(code, attempt, _find_return(request, server))
    user = name_user(claims)
    request_records.find_record().user = user
    key = _find_key(claims, server, user)
    seconds = provider.settings.hours * 3600.0
    try:
        text = server.keys.begin_session(key, seconds=seconds, user=user, once=attempt.text)
    except InputError:
        raise InputError("this sign-in was completed already: begin again") from None
    request_records.find_record().caller = Caller(key, user)
    reply = _write_notice(server.settings, "Signed in", "", "Go on to the page")
    set_session(reply, text, seconds, request, server.settings)
    reply.delete_cookie(_COOKIE, path=_find_cookie_path(server.settings))
    return reply


def _get_provider(server: ServerState) -> Provider:
    if server.provider is None:
        raise no_such_resource("sign in to this server with a key")
    return server.provider


def _find_cookie_path(settings: ServerSettings) -> str:
    return f"{settings.root_path}{PATH}"


def _find_return(request: Request, server: ServerState) -> str:
    """Return the redirect URL, which must be registered at the provider."""
    return f"{find_base(request, server.settings)}{RETURN_PATH}"


async def _read_return(request: Request, provider: Provider) -> tuple[Attempt, str]:
    """Return the sign-in attempt and the provider's code from a redirect.

    Raises Refusal 400 for one that this browser did not begin, and 403 for one that the provider
    refused.
    """
    given = {name: request.query_params.getlist(name) for name in _PARAMETERS}
    if any(len(values) > 1 for values in given.values()):
        raise InputError("the provider's redirect has a repeated parameter: begin again")
    code, state, issuer, error = ("".join(given[name]) for name in _PARAMETERS)
    attempt = Attempt.read(request.cookies.get(_COOKIE, ""), time.time())
    if attempt is None or not attempt.is_of(state):
        raise InputError("this sign-in was not begun in this browser, or too long ago: begin again")
    description = await provider.describe()
    if issuer != provider.settings.issuer and (issuer or description.sends_issuer):
        raise forbidden("the reply is from another provider than the one that was asked")
    if error or not code:
        why = f" ({error})" if is_error_code(error) else ""
        raise forbidden(f"{provider.settings.host} did not sign you in{why}")
    return attempt, code


def _find_key(claims: Claims, server: ServerState, user: str) -> Key:
    """Return the key for a person's claims. Raises Refusal 403 if there is none."""
    settings = _get_provider(server).settings
    name = choose_key(find_values(claims, settings.claim) or (), settings.roles)
    if name is not None:
        try:
            return server.keys.get(name)
        except InputError as error:  # it was revoked; another one might allow more
            _log.warning("%s cannot sign in: %s", user, error)
    raise forbidden(f"no key of this server covers {user}: ask its administrator for access")


def _write_notice(
    settings: ServerSettings, title: str, sentence: str, link: str, *, status: int = _OK
) -> Response:
    """Return a page with one sentence; on success it redirects to the page of the server.

    Unlike after a redirect, the way there begins at this server, so that the session's cookie goes
    with it in every browser.
    """
    given = {"title": title, "sentence": sentence, "link": link, "root": f"{settings.root_path}/"}
    shown = {name: html.escape(text) for name, text in given.items()}
    refresh = _REFRESH.format(**shown) if status == _OK else ""
    content = Template(_NOTICE.read_text(encoding="utf-8")).substitute(shown, refresh=refresh)
    return HTMLResponse(content, status, {"Content-Security-Policy": _POLICY})


def _make_handler(handle: Handle) -> Callable[[Request], Awaitable[Response]]:
    """Return a request handler that shows errors as a page."""

    async def handle_request(request: Request) -> Response:
        server: ServerState = request.app.state.server
        try:
            with _get_provider(server).counting_sign_in():
                return await handle(request, server)
        except ClewError as error:
            refusal = make_refusal(error)
        sentence = f"{str(refusal)[:1].upper()}{str(refusal)[1:]}."
        return _write_notice(
            server.settings, "Not signed in", sentence, "Back to the page", status=refusal.status
        )

    return handle_request


ROUTES = (
    Route(PATH, _make_handler(_go_to_provider), methods=["GET"]),
    Route(RETURN_PATH, _make_handler(_come_back), methods=["GET"]),
)
