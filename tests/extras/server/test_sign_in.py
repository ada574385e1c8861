"""People sign in by a provider, and are let in by the key that stands for them, or not at all.

All is real but the provider: over HTTP, between two servers and a client that keeps cookies.
"""

import base64
import hmac
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from click.testing import CliRunner
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from clew.cli import main
from clew.errors import InputError, MissingExtra
from clew.extras.server.database import ServerDatabase
from clew.extras.server.keys import Keys
from clew.extras.server.oidc.attempts import Attempt
from clew.extras.server.oidc.provider import Provider
from clew.extras.server.run import check_open
from clew.extras.server.settings import OidcSettings
from clew.extras.wire.names import COOKIE
from clew.extras.wire.refusals import Refusal
from tests.extras.server.every import QUESTION
from tests.extras.server.provider import CLIENT, SECRET, Browser, make_key, providing, sign
from tests.extras.server.served import until

OK, REFUSED = HTTPStatus.OK, HTTPStatus.FORBIDDEN
ROLES = (("admins", "boss"), ("staff", "anna"))


@pytest.fixture
def provider():
    with providing() as found:
        found.claims["groups"] = ["all", "staff"]
        yield found


def settings_of(provider, **changes):
    given = {"issuer": provider.issuer, "client": CLIENT, "roles": ROLES, "secret": SECRET}
    return OidcSettings(**{**given, **changes})


@pytest.fixture
def keyed(home):
    """A home with a key of an admin and one of a reader."""
    home.key("boss", scope="admin")
    home.key("anna", where="group = 'open'")
    return home


@contextmanager
def signing_in(home, provider, headers=None, oidc=None, **changes):
    """Serve; give a browser that has not signed in."""
    oidc = oidc or settings_of(provider)
    with (
        home.serving(oidc=oidc, **changes) as address,
        Browser(address, headers=headers) as browser,
    ):
        yield browser


@pytest.fixture
def browser(keyed, provider):
    with signing_in(keyed, provider) as found:
        yield found


def audited(home):
    lines = (home.folder / "audit.log").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def is_refused(reply, words, status=REFUSED):
    """Say whether a reply is a page with a sentence for people, and begins no session."""
    assert reply.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert "<script" not in reply.text
    assert "refresh" not in reply.text
    assert COOKIE not in reply.headers.get("set-cookie", "")
    return (reply.status_code, words in reply.text) == (status, True)


# -- who is let in --------------------------------------------------------------------------------


def test_somebody_signs_in(browser, keyed, provider):
    """The session is that of the key, and the audit log has who it was."""
    assert browser.ask_who()[0] == HTTPStatus.UNAUTHORIZED
    assert browser.get("/api/v1/session").json() == {"provider": urlsplit(provider.issuer).netloc}
    led = browser.get("/sign-in")
    assert led.status_code == HTTPStatus.SEE_OTHER
    assert all(
        w in led.headers["set-cookie"] for w in ("HttpOnly", "SameSite=lax", "Path=/sign-in")
    )
    reply = browser.get(browser.authorize(led.headers["location"]))
    assert reply.status_code == OK
    assert '<meta http-equiv="refresh" content="0; url=/">' in reply.text
    cookie = reply.headers["set-cookie"]
    assert all(w in cookie for w in (f"{COOKIE}=", "HttpOnly", "SameSite=strict", "Max-Age=43200"))
    status, about = browser.ask_who()
    assert (status, about["caller"], about["scope"]) == (OK, "anna", "read")
    assert about["user"] == "anna@example.org"
    assert provider.scope == "openid email groups"  # of those that it has
    assert "/userinfo" not in provider.asked
    until(lambda: audited(keyed)[-1]["route"] == "/api/v1" and audited(keyed)[-1]["user"])
    by_anna = [each for each in audited(keyed) if each["user"] == "anna@example.org"]
    assert [each["route"] for each in by_anna] == ["/sign-in/callback", "/api/v1"]
    assert {each["caller"] for each in by_anna} == {"anna"}


def test_a_session_has_the_bounds_of_its_key(browser, home):
    """Its filter, as with the key itself; its scope; and it is used by no page of another site."""
    header = home.key("other", where="group = 'open'")
    browser.sign_in()
    for path in ("/documents", "/entities?limit=1000", "/graph"):
        own, same = (browser.get(f"/api/v1/indexes/small{path}", headers=h) for h in ({}, header))
        assert (own.status_code, own.json()) == (OK, same.json())
    assert browser.get("/api/v1/keys").status_code == REFUSED
    asked = {"json": {"query": QUESTION}, "headers": {"Origin": "https://evil.example"}}
    assert browser.post("/api/v1/indexes/small/search", **asked).status_code == REFUSED
    asked["headers"] = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert browser.get("/sign-in", headers=asked["headers"]).status_code == REFUSED
    coming = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    back = browser.authorize(browser.begin())
    assert browser.get(back, headers=coming).status_code == OK


def test_the_first_role_that_fits_counts(browser, provider):
    provider.claims["groups"] = ["staff", "admins"]
    browser.sign_in()
    assert browser.ask_who()[1]["caller"] == "boss"


@pytest.mark.parametrize("groups", [[], ["Staff"], ["staff "], [["staff"]], 7, True, "sta", None])
def test_who_has_no_role_is_told_so(browser, keyed, provider, groups):
    """And the audit log has whom the provider named."""
    provider.claims["groups"] = groups
    reply = browser.sign_in()
    assert is_refused(reply, "No key of this server covers anna@example.org")
    assert browser.ask_who()[0] == HTTPStatus.UNAUTHORIZED
    [refused] = until(lambda: [e for e in audited(keyed) if e["status"] == REFUSED])
    assert (refused["caller"], refused["user"]) == ("", "anna@example.org")


@pytest.mark.parametrize(
    ("claim", "claims"),
    [
        ("groups", {"groups": "staff"}),
        ("realm_access.roles", {"realm_access": {"roles": ["staff"]}}),
        ("urn:x:roles", {"urn:x:roles": {"staff": {"org": "1"}}}),
        ("https://example.org/roles", {"https://example.org/roles": ["staff"]}),
    ],
)
def test_where_roles_stand(keyed, provider, claim, claims):
    provider.claims = {"sub": "u1", **claims}
    with signing_in(keyed, provider, oidc=settings_of(provider, claim=claim)) as browser:
        assert browser.sign_in().status_code == OK
        assert browser.ask_who()[1]["user"] == "u1"


def test_everybody_may_have_a_key(keyed, provider):
    """Then the claim need not be there, and is not asked for."""
    provider.claims = {"sub": "u1", "email": "x@y", "email_verified": False}
    provider.claims["preferred_username"] = "anna\u202e\ud800"
    provider.userinfo = {"sub": "u1", "groups": ["admins"]}
    oidc = settings_of(provider, roles=(("*", "anna"),))
    with signing_in(keyed, provider, oidc=oidc) as browser:
        browser.sign_in()
        about = browser.ask_who()[1]
    assert (about["caller"], about["user"]) == ("anna", "anna")
    assert "/userinfo" not in provider.asked


def test_a_claim_that_the_token_lacks_is_asked_for(browser, provider):
    """Of the same person."""
    del provider.claims["groups"]
    provider.userinfo = {"sub": "u1", "groups": ["staff"]}
    assert browser.sign_in().status_code == OK
    provider.userinfo = {"sub": "u2", "groups": ["admins"]}
    assert is_refused(browser.sign_in(), "user info is about another user")


def test_a_public_client_has_no_secret(keyed, provider):
    provider.secret = ""
    with signing_in(keyed, provider, oidc=settings_of(provider, secret="")) as browser:
        assert browser.sign_in().status_code == OK


def test_a_secret_is_sent_as_the_provider_takes_it(keyed, provider):
    provider.about["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    provider.secret = ""
    seen = []
    provider.redeem = lambda _headers, form: (seen.append(form), (400, {}))[1]
    with signing_in(keyed, provider) as browser:
        browser.sign_in()
    assert (seen[0]["client_id"], seen[0]["client_secret"]) == (CLIENT, SECRET)


@pytest.mark.parametrize("key", ["EC", "OKP", "PS256"])
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
def test_other_signatures(browser, provider, key):
    if key == "PS256":
        provider.key = RSAKey.generate_key(2048, {"kid": "p"})
        algorithm = "PS256"
    else:
        kind, curve, algorithm = {
            "EC": (ECKey, "P-256", "ES256"),
            "OKP": (OKPKey, "Ed25519", "EdDSA"),
        }[key]
        provider.key = kind.generate_key(curve, {"kid": "p"})
    header = {"alg": algorithm, "kid": "p", "x-own": "of the provider"}
    provider.sign = lambda claims: sign(header, claims, provider.key)
    assert browser.sign_in().status_code == OK


# -- when it ends ---------------------------------------------------------------------------------


def test_a_session_ends(keyed, provider):
    """By signing out, with its time, and with its key."""
    with signing_in(keyed, provider, oidc=settings_of(provider, hours=1)) as browser:
        assert "Max-Age=3600" in browser.sign_in().headers["set-cookie"]
        text = browser.cookies[COOKIE]
        assert browser.delete("/api/v1/session").status_code == HTTPStatus.NO_CONTENT
        browser.cookies.set(COOKIE, text)
        assert browser.ask_who()[0] == HTTPStatus.UNAUTHORIZED
        browser.cookies.clear()
        browser.sign_in()
        assert browser.ask_who()[0] == OK
        database = ServerDatabase(keyed.folder)
        with database.writing() as connection:
            connection.execute("UPDATE session SET ends = ends - 3601")
        database.close()
        assert browser.ask_who()[0] == HTTPStatus.UNAUTHORIZED
        browser.sign_in()
        assert browser.ask_who()[0] == OK
        database = ServerDatabase(keyed.folder)
        Keys(database).revoke("anna")
        database.close()
        assert browser.ask_who()[0] == HTTPStatus.UNAUTHORIZED
        assert is_refused(browser.sign_in(), "No key of this server")


def test_no_other_role_takes_the_place_of_a_revoked_one(keyed, provider):
    """It might allow more."""
    provider.claims["groups"] = ["staff", "admins"]
    oidc = settings_of(provider, roles=ROLES[::-1])
    with signing_in(keyed, provider, oidc=oidc) as browser:
        database = ServerDatabase(keyed.folder)
        Keys(database).revoke("anna")
        database.close()
        assert is_refused(browser.sign_in(), "No key of this server")


def test_nothing_is_left_of_a_session(keyed, provider):
    """Neither who it was, nor a token, nor a secret; a home of before has its tables made."""
    database = ServerDatabase(keyed.folder)
    with database.writing() as connection:
        connection.execute("DROP TABLE signed_in")
        connection.execute("DROP TABLE begun")
    database.close()
    with signing_in(keyed, provider) as browser:
        browser.sign_in()
        browser.delete("/api/v1/session")
        provider.claims["email"] = "berit@example.org"
        browser.sign_in()
    database = ServerDatabase(keyed.folder)
    assert database.read_rows("SELECT name FROM signed_in") == [("berit@example.org",)]
    database.close()
    for path in keyed.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(word in content for word in (b"opened", b"eyJ", SECRET.encode()))


# -- attacks --------------------------------------------------------------------------------------


def changed(address, **changes):
    """Return an address with other parameters; None leaves one out, a list repeats it."""
    parts = urlsplit(address)
    given = {**parse_qs(parts.query), **changes}
    given = {name: value for name, value in given.items() if value is not None}
    return parts._replace(query=urlencode(given, doseq=True)).geturl()


@pytest.mark.parametrize("state", [None, "", "x", "\ud800", ["x", "y"]])
def test_another_state(browser, state):
    back = browser.authorize(browser.begin())
    wrong = changed(back, state=None) + ("&state=%ED%A0%80" if state == "\ud800" else "")
    if state is not None and state != "\ud800":
        wrong = changed(back, state=state)
    words = (
        "redirect has a repeated parameter: begin again"
        if isinstance(state, list)
        else "was not begun in this browser"
    )
    assert is_refused(browser.get(wrong), words, HTTPStatus.BAD_REQUEST)
    assert browser.get(back).status_code == OK


def test_a_sign_in_is_of_one_browser(browser, provider):
    """So nobody is led to be signed in as somebody else."""
    with Browser(str(browser.base_url)) as other:
        back = other.authorize(other.begin())
        told = "was not begun in this browser"
        assert is_refused(browser.get(back), told, HTTPStatus.BAD_REQUEST)
        browser.begin()
        assert is_refused(browser.get(back), told, HTTPStatus.BAD_REQUEST)
        code = parse_qs(urlsplit(back).query)["code"][0]
        own = changed(browser.authorize(browser.begin()), code=code)
        assert is_refused(browser.get(own), "begin again")  # the verifier is another one
    assert provider.asked.count("/token") == 1


def test_a_sign_in_ends_once(browser, provider):
    """Also where the provider lets a code be used again."""
    led = browser.begin()
    cookie = browser.cookies["clew_sign_in"]
    back = browser.authorize(led)
    assert browser.get(back).status_code == OK
    assert "clew_sign_in" not in browser.cookies
    assert is_refused(browser.get(back), "not begun in this browser", HTTPStatus.BAD_REQUEST)
    with Browser(str(browser.base_url), cookies={"clew_sign_in": cookie}) as other:
        assert is_refused(other.get(back), "begin again")
        provider.reusable = True
        again = other.authorize(led)
        assert is_refused(
            other.get(again), "was completed already: begin again", HTTPStatus.BAD_REQUEST
        )


def test_a_sign_in_has_ten_minutes(browser, provider):
    """Whoever changes when it was begun has begun another one."""
    for seconds in (601, -61):
        old = Attempt.begin(time.time() - seconds)
        with Browser(str(browser.base_url), cookies={"clew_sign_in": old.text}) as other:
            reply = other.get("/sign-in/callback", params={"code": "x", "state": old.state})
            assert is_refused(reply, "too long ago", HTTPStatus.BAD_REQUEST)
    back = browser.authorize(browser.begin())
    begun, secret = browser.cookies["clew_sign_in"].split(".")
    for wrong in ("", "x", f"{int(begun) - 1}.{secret}", f"{begun}.{secret}x", f"-1.{secret}"):
        with Browser(str(browser.base_url), cookies={"clew_sign_in": wrong}) as other:
            assert is_refused(other.get(back), "not begun", HTTPStatus.BAD_REQUEST)
    assert "/token" not in provider.asked
    assert browser.get(back).status_code == OK


WRONG = {
    "nonce": {"nonce": "x"},
    "no nonce": {"nonce": None},
    "audience": {"aud": "other"},
    "audiences": {"aud": [CLIENT, "other"]},
    "audiences of others": {"aud": ["other", "third"], "azp": CLIENT},
    "the party alone": {"aud": "other", "azp": CLIENT},
    "no audience": {"aud": None},
    "party": {"azp": "other"},
    "issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "expired": {"exp": int(time.time()) - 120},
    "no end": {"exp": None},
    "an end that is none": {"exp": float("nan")},
    "of the future": {"iat": int(time.time()) + 4_000},
    "not yet": {"nbf": int(time.time()) + 4_000},
    "nobody": {"sub": None},
    "no name": {"sub": ""},
    "a number": {"sub": 7},
    "another access token": {"at_hash": "x"},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_claims_that_are_not_for_this_sign_in(browser, provider, wrong):
    provider.claims |= WRONG[wrong]
    assert is_refused(browser.sign_in(), "ID token is not valid")
    assert browser.ask_who()[0] == HTTPStatus.UNAUTHORIZED


def test_audiences_with_this_server_as_the_party(browser, provider):
    provider.claims |= {"aud": [CLIENT, "other"], "azp": CLIENT}
    assert browser.sign_in().status_code == OK


def sign_by_secret(claims, secret):
    """Return a token of HS256; the library makes none of a public key."""
    parts = [json.dumps(each).encode() for each in ({"alg": "HS256", "kid": "first"}, claims)]
    text = b".".join(base64.urlsafe_b64encode(each).rstrip(b"=") for each in parts)
    found = base64.urlsafe_b64encode(hmac.digest(secret, text, "sha256")).rstrip(b"=")
    return f"{text.decode()}.{found.decode()}"


def test_signatures_that_are_none(browser, provider):
    """No algorithm but those of public keys; no key but the provider's; nothing changed."""
    good, public = provider.sign_by_key, provider.key.as_pem(private=False)
    other, shown = (
        make_key("first", 2),
        {"alg": "RS256", "kid": "first"},
    )  # another one of the same id

    def change(claims):
        head, _, tail = good(claims).split(".")
        return f"{head}.{good({**claims, 'groups': ['admins']}).split('.')[1]}.{tail}"

    for make in (
        lambda claims: sign({"alg": "none"}, claims, None),
        lambda claims: sign({"alg": "none", "kid": "first"}, claims, None),
        lambda claims: sign({"alg": "none"}, claims, None) + "x",
        lambda claims: sign_by_secret(claims, public),
        lambda claims: sign_by_secret(claims, SECRET.encode()),
        lambda claims: sign(shown, claims, other),
        lambda claims: sign({**shown, "jwk": other.as_dict(private=False)}, claims, other),
        lambda claims: sign({**shown, "alg": "RS512"}, claims, provider.key),
        lambda claims: sign({**shown, "crit": ["x"], "x": 1}, claims, provider.key),
        change,
        lambda claims: good(claims)[:-4],
        lambda _: "",
        lambda _: "a.b.c",
        lambda _: "...." * 3,
        lambda _: "\u00e9\u0142",
        lambda _: f"{'W' * 8_000}.x.x",
        lambda claims: [good(claims)],
    ):
        provider.sign = make
        reply = browser.sign_in()
        assert reply.status_code in {REFUSED, HTTPStatus.BAD_GATEWAY}
        assert is_refused(reply, "", reply.status_code)
    provider.sign = None
    assert browser.sign_in().status_code == OK


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_shared_key_that_the_provider_publishes_is_none(browser, provider):
    """Nor one to encrypt with."""
    shared = OctKey.generate_key(256, {"kid": "shared"})
    secret = RSAKey.generate_key(2048, {"kid": "enc", "use": "enc"})
    provider.published = [shared, secret]
    provider.sign = lambda claims: sign({"alg": "HS256", "kid": "shared"}, claims, shared)
    assert is_refused(browser.sign_in(), "ID token")
    bare = RSAKey.import_key({**secret.as_dict(private=True), "use": "sig"})
    provider.sign = lambda claims: sign({"alg": "RS256", "kid": "enc"}, claims, bare)
    assert is_refused(browser.sign_in(), "signed with an unknown key")
    provider.published = [secret]
    provider.sign = lambda claims: sign({"alg": "RS256"}, claims, bare)
    assert is_refused(browser.sign_in(), "signed with an unknown key")


def test_algorithms_are_few(browser, provider):
    """Even if a key would do for others."""
    provider.key = RSAKey.generate_key(2048, {"kid": "plain"})
    provider.sign = lambda claims: sign({"alg": "RS512", "kid": "plain"}, claims, provider.key)
    assert is_refused(browser.sign_in(), "ID token is not valid")
    provider.sign = None
    assert browser.sign_in().status_code == OK


def test_keys_that_are_changed_are_looked_up_once(browser, provider):
    """And not again soon, whoever names keys that are none."""
    browser.sign_in()
    assert provider.asked.count("/keys") == 1
    browser.sign_in()
    assert provider.asked.count("/keys") == 1
    provider.key = make_key("second")
    assert browser.sign_in().status_code == OK
    assert provider.asked.count("/keys") == 2
    for _ in range(3):
        provider.published = [provider.key]
        provider.sign = lambda claims: sign({"alg": "RS256", "kid": "third"}, claims, provider.key)
        assert is_refused(browser.sign_in(), "signed with an unknown key")
    assert provider.asked.count("/keys") == 2


def test_the_issuer_of_a_reply(browser, provider):
    """Another one is refused, and none where the provider says that it sends it."""
    provider.back = {"iss": "https://evil.example"}
    assert is_refused(browser.sign_in(), "from another provider than")
    assert "/token" not in provider.asked
    provider.back = {"iss": ""}
    assert browser.sign_in().status_code == OK


def test_the_issuer_is_missed(keyed, provider):
    provider.about["authorization_response_iss_parameter_supported"] = True
    provider.back = {"iss": ""}
    with signing_in(keyed, provider) as browser:
        assert is_refused(browser.sign_in(), "from another provider than")


def test_what_the_provider_refuses(browser, provider):
    """Its code is told, and nothing else that an address may have."""
    provider.back = {"error": "access_denied", "error_description": "call 555"}
    reply = browser.sign_in()
    assert is_refused(reply, "did not sign you in (access_denied)")
    assert "555" not in reply.text
    provider.back = {"error": "<b>x</b>"}
    reply = browser.sign_in()
    assert is_refused(reply, "did not sign you in.")
    assert "<b>" not in reply.text


def test_no_redirect_but_to_the_provider_and_back(keyed, provider):
    """Whatever is asked for, and whoever asks."""
    evil = "https://evil.example/"
    with signing_in(keyed, provider) as browser:
        own = f"{browser.base_url!s}".rstrip("/")
        for path in (
            f"/sign-in?redirect_uri={evil}&next={evil}&return_to={evil}",
            "/sign-in?next=//evil.example",
        ):
            led = browser.get(path).headers["location"]
            assert led.startswith(f"{provider.issuer}/authorize?")
            assert "evil" not in led
            assert parse_qs(urlsplit(led).query)["redirect_uri"] == [f"{own}/sign-in/callback"]
        assert browser.get("/sign-in", headers={"Host": "evil.example"}).status_code == REFUSED
        given = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
        led = browser.get("/sign-in", headers=given).headers["location"]
        assert parse_qs(urlsplit(led).query)["redirect_uri"] == [f"{own}/sign-in/callback"]
        back = changed(browser.authorize(browser.begin()), next=evil, url=evil)
        assert 'url=/"' in browser.get(back).text
        assert browser.get("/sign-in//evil.example").status_code == HTTPStatus.NOT_FOUND


def test_behind_a_proxy_below_a_path(keyed, provider):
    """The address that leads back is that of the outside; cookies are for https."""
    with signing_in(keyed, provider, root_path="/clew", proxies=("127.0.0.1",)) as browser:
        headers = {"X-Forwarded-Proto": "https", "X-Forwarded-User": "somebody"}
        led = browser.get("/sign-in", headers=headers)
        cookie = led.headers["set-cookie"]
        assert "Secure" in cookie
        assert "Path=/clew/sign-in" in cookie
        back = browser.authorize(led.headers["location"])
        assert back.startswith(f"{browser.base_url!s}".replace("http:", "https:").rstrip("/"))
        assert "/clew/sign-in/callback" in back
        headers["Cookie"] = cookie.partition(";")[0]
        reply = browser.get(f"/sign-in/callback?{urlsplit(back).query}", headers=headers)
        assert 'url=/clew/"' in reply.text
        headers["Cookie"] = reply.headers["set-cookie"].partition(";")[0]
        about = browser.get("/api/v1", headers=headers).json()
        assert about["user"] == "anna@example.org"  # and not as the proxy says


# -- a provider that fails ------------------------------------------------------------------------

AWAY = HTTPStatus.BAD_GATEWAY
KNOWN = "/.well-known/openid-configuration"
LONG = b'{"x": "%s"}' % (b"x" * 2_000_000)
ODD = {
    "no description": ({KNOWN: (404, {}, b"")}, "with status 404"),
    "no JSON": ({KNOWN: (200, {}, b"<html>")}, "with status 200"),
    "no object": ({KNOWN: (200, {}, b"[]")}, "with status 200"),
    "deep": ({KNOWN: (200, {}, b"[" * 100_000)}, "with status 200"),
    "long": ({KNOWN: (200, {}, LONG)}, "sent too much"),
    "packed": ({KNOWN: (200, {"Content-Encoding": "gzip"}, b"x")}, "with status 200"),
    "led elsewhere": ({KNOWN: (302, {"Location": "http://127.0.0.1:1/"}, b"")}, "status 302"),
    "keys led elsewhere": ({"/keys": (307, {"Location": "http://127.0.0.1:1/"}, b"")}, "307"),
    "tokens led elsewhere": ({"/token": (307, {"Location": "http://127.0.0.1:1/"}, b"")}, "307"),
    "no tokens": ({"/token": (200, {}, b"{}")}, "sent no ID token"),
    "a failure": ({"/token": (500, {}, b'{"error": "<b>"}')}, "/token with status 500:"),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_provider_that_fails(browser, provider, odd, caplog):
    """One sentence for people, one for who runs the server, and the server goes on."""
    provider.answers, told = ODD[odd]
    reply = browser.get("/sign-in")
    if KNOWN not in provider.answers:
        reply = browser.get(browser.authorize(reply.headers["location"]))
    assert is_refused(reply, told, AWAY)
    assert "<b>" not in reply.text
    assert f"nobody can sign in: {urlsplit(provider.issuer).netloc} " in caplog.text
    assert browser.get("/healthz").status_code == OK


@pytest.mark.parametrize("keys", [b"{}", b'{"keys": [1, {}, {"kty": "RSA", "n": 3}, null]}'])
def test_keys_that_are_none(browser, provider, keys):
    provider.answers["/keys"] = (200, {}, keys)
    assert is_refused(browser.sign_in(), "signed with an unknown key")


@pytest.mark.parametrize("issuer", ["https://evil.example", "", None])
def test_another_issuer(browser, provider, issuer):
    """Nor the same with a slash at its end."""
    provider.about["issuer"] = f"{provider.issuer}/" if issuer == "" else issuer
    assert is_refused(browser.get("/sign-in"), "has the issuer", AWAY)


def test_a_provider_that_is_away(keyed, provider):
    """Nobody waits for it again and again; keys do without it."""
    provider.issuer = "http://127.0.0.1:1"
    with signing_in(keyed, provider) as browser:
        reply = browser.get("/sign-in")
        assert is_refused(reply, "127.0.0.1:1 does not answer (ConnectError): try again", AWAY)
        assert is_refused(browser.get("/sign-in"), "does not answer", AWAY)
        assert browser.get("/api/v1", headers=keyed.key("x")).status_code == OK


def test_many_sign_in_at_one_time(provider):
    """But not so many that a slow provider would keep the server from others."""
    asked = Provider(settings_of(provider))
    with ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(asked.counting_sign_in())
        with pytest.raises(Refusal, match="too many people") as refused, asked.counting_sign_in():
            pass
        assert refused.value.status == HTTPStatus.SERVICE_UNAVAILABLE
    with asked.counting_sign_in():
        pass


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize("address", [None, 7, "http://provider.example/", "file:///etc/x", "//["])
def test_addresses_that_are_not_safe(browser, provider, name, address):
    provider.about[name] = address
    assert is_refused(browser.get("/sign-in"), f"has no {name} by https", AWAY)


def test_a_client_that_the_provider_does_not_know(keyed, provider, caplog):
    with signing_in(keyed, provider, oidc=settings_of(provider, secret="wrong")) as browser:
        assert is_refused(browser.sign_in(), "with status 401 (invalid_client)", AWAY)
    assert "wrong" not in caplog.text


def test_without_a_provider(client):
    assert client.get("/api/v1/session").json() == {"provider": ""}
    assert is_refused(
        client.get("/sign-in"), "Sign in to this server with a key", HTTPStatus.NOT_FOUND
    )


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"issuer": "http://login.example.org"}, "http is for this machine alone"),
        ({"issuer": "login.example.org"}, "takes the issuer's URL"),
        ({"issuer": "https://"}, "takes the issuer's URL"),
        ({"issuer": "https://a:b"}, "takes the issuer's URL"),
        ({"issuer": "https://u@a"}, "takes the issuer's URL"),
        ({"issuer": "https://a?b"}, "takes the issuer's URL"),
        ({"client": ""}, "needs --oidc-client"),
        ({"roles": ()}, "otherwise nobody can sign in"),
        ({"roles": (("a", "k"), ("a", "l"))}, "'a' is given twice"),
        ({"roles": (("*", "k"), ("a", "l"))}, "must be last"),
        ({"claim": "a..b"}, "--oidc-claim must be a claim or"),
        ({"hours": 0}, "at least 1"),
    ],
)
def test_settings_that_cannot_work(changes, words):
    good = {"issuer": "https://a.example", "client": "c", "roles": (("a", "k"),)}
    assert "secret" not in repr(OidcSettings(**good, secret="x"))
    with pytest.raises(InputError, match=words):
        OidcSettings(**{**good, **changes})


def test_keys_that_are_missing_are_told_at_the_start(home):
    """And a server with a provider is never open to this machine without a key."""
    oidc = OidcSettings(issuer="https://a.example", client="c", roles=(("a", "anna"),))
    settings = replace(home.settings, oidc=oidc)
    with pytest.raises(InputError, match="--oidc-key: there is no key 'anna'"):
        check_open(settings)
    with home.client(oidc=oidc) as client:
        assert client.get("/api/v1").status_code == HTTPStatus.UNAUTHORIZED
    home.key("anna")
    check_open(settings)
    home.key("anna")
    with pytest.raises(InputError, match="several keys have the name 'anna': give an id"):
        check_open(settings)


def test_what_verifies_tokens_is_an_extra(keyed, monkeypatch):
    """It is missed when the server starts, and loaded by no other one."""
    oidc = OidcSettings(issuer="https://a.example", client="c", roles=ROLES)
    monkeypatch.delitem(sys.modules, "clew.extras.server.oidc.id_tokens", raising=False)
    monkeypatch.setitem(sys.modules, "authlib.oidc.core", None)
    told = r"sign-in by OpenID Connect needs the package 'authlib.*clew\[oidc\]'"
    with pytest.raises(MissingExtra, match=told):
        check_open(replace(keyed.settings, oidc=oidc))
    check_open(keyed.settings)
    names = "{'authlib', 'joserfc', 'httpx2'}"
    script = f"import sys, clew.extras.server.run; print({names} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.strip() == b"set()"


def test_the_command_and_the_file_of_settings(tmp_path, monkeypatch):
    """Both name the provider; a secret is in the environment alone, and jobs do not get it."""
    found = []
    monkeypatch.setattr(
        "clew.extras.server.run.serve", lambda settings, _tell: found.append(settings)
    )
    monkeypatch.setenv("CLEW_CONFIG", str(tmp_path / "clew.toml"))
    words = ["serve", "--home", str(tmp_path), "--log-format", "none"]
    for text, more in (
        ("", ["--oidc", "https://a.example", "--oidc-client", "c", "--oidc-key", "a b=k"]),
        ('[serve]\noidc = "https://a.example"\noidc-client = "c"\noidc-key = ["a b=k"]\n', []),
    ):
        (tmp_path / "clew.toml").write_text(text, encoding="utf-8")
        monkeypatch.setenv("CLEW_OIDC_SECRET", "s")
        done = CliRunner().invoke(main, [*words, *more])
        assert done.exit_code == 0, done.output
        assert "CLEW_OIDC_SECRET" not in os.environ
    good = OidcSettings(issuer="https://a.example", client="c", roles=(("a b", "k"),), secret="s")
    assert [each.oidc for each in found] == [good, good]
    (tmp_path / "clew.toml").write_text("", encoding="utf-8")
    for more, told in (
        (["--oidc-client", "c"], "need --oidc"),
        (["--oidc", "https://a.example", "--oidc-client", "c"], "otherwise nobody can sign in"),
        (["--oidc", "https://a.example", "--oidc-key", "k"], "VALUE=KEY, such as staff=anna"),
    ):
        done = CliRunner().invoke(main, [*words, *more])
        assert (done.exit_code, told in done.stderr) == (1, True)
    assert len(found) == 2
