"""A small provider of OpenID Connect on this machine, and a browser that signs in by it."""

import base64
import hashlib
import json
import secrets
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

import httpx2
from joserfc import jws
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

CLIENT, SECRET = "clew", "a:secret +"  # encoded as in a form before they are in a header


@cache
def make_key(kid="first", _number=0):
    """Return a key; one of the same id has another number. To make one takes long."""
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"}, private=True)


def sign(header, claims, key):
    """Return a token; also of claims that the library would not write."""
    registry = JWSRegistry(algorithms=[header["alg"]], strict_check_header=False)
    content = json.dumps(claims)
    return jws.serialize_compact(header, content, key, [header["alg"]], registry)


@dataclass
class Provider:
    """Says of everybody what `claims` has; a test puts in what shall be wrong."""

    issuer: str = ""
    key: object = field(default_factory=make_key)
    published: list = field(default_factory=list)  # none: `key`
    claims: dict = field(default_factory=lambda: {"sub": "u1", "email": "anna@example.org"})
    about: dict = field(default_factory=dict)  # over its description
    userinfo: dict | None = None
    secret: str = SECRET
    answers: dict = field(default_factory=dict)  # over replies, by path: (status, headers, body)
    sign: object = None  # how a token is made of claims, if not by `key`
    back: dict = field(default_factory=dict)  # over what it sends a browser back with
    asked: list = field(default_factory=list)  # paths
    codes: dict = field(default_factory=dict)
    reusable: bool = False  # whether a code is good twice

    def describe(self):
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "scopes_supported": ["openid", "email", "groups"],
            **({"userinfo_endpoint": f"{self.issuer}/userinfo"} if self.userinfo else {}),
        }
        return {**found, **self.about}

    def authorize(self, query):
        """Return where a browser is sent: back, with a code."""
        asked = dict(parse_qsl(query))
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        self.scope = asked["scope"]
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        given = {"code": code, "state": asked["state"], "iss": self.issuer, **self.back}
        return f"{asked['redirect_uri']}?{urlencode(given)}"

    def redeem(self, headers, form):
        """Return the status and the reply for a code, once it and its sender are checked."""
        if self.secret:
            basic = base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode()
            client, secret = map(unquote_plus, basic.split(":"))
            is_known = (client, secret) == (CLIENT, self.secret)
        else:
            is_known = form["client_id"] == CLIENT and "client_secret" not in form
        if not is_known:
            return 401, {"error": "invalid_client"}
        asked = (self.codes.get if self.reusable else self.codes.pop)(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or (challenge, form["redirect_uri"]) != (
            asked["code_challenge"],
            asked["redirect_uri"],
        ):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300}
        claims |= {"nonce": asked["nonce"], **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        make = self.sign or self.sign_by_key
        return 200, {"id_token": make(claims), "access_token": "opened", "token_type": "Bearer"}

    def sign_by_key(self, claims, **header):
        return sign({"alg": "RS256", "kid": self.key.kid, **header}, claims, self.key)

    def answer(self, method, address, headers, content):
        """Return the status, the headers and the body of a reply."""
        parts = urlsplit(address)
        self.asked.append(parts.path)
        if parts.path in self.answers:
            return self.answers[parts.path]
        status, body = 200, {}
        if parts.path == "/.well-known/openid-configuration":
            body = self.describe()
        elif parts.path == "/authorize":
            return 302, {"Location": self.authorize(parts.query)}, b""
        elif parts.path == "/token" and method == "POST":
            form = {name: values[0] for name, values in parse_qs(content.decode()).items()}
            status, body = self.redeem(headers, form)
        elif parts.path == "/keys":
            keys = self.published or [self.key]
            body = {"keys": [each.as_dict(private=False) for each in keys]}
        elif parts.path == "/userinfo" and headers["Authorization"] == "Bearer opened":
            body = self.userinfo
        else:
            status = 404
        return status, {"Content-Type": "application/json"}, json.dumps(body).encode()


@contextmanager
def providing():
    """Run a provider; give it."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = provider.answer(self.command, self.path, self.headers, content)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815 -- as the library calls them

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Browser(httpx2.Client):
    """Keeps the cookies of a server at an address, and is led to a provider and back."""

    def __init__(self, address, **given):
        super().__init__(base_url=address, timeout=30, **given)

    def begin(self):
        """Begin to sign in; return the address of the provider at which that goes on."""
        return self.get("/sign-in").headers["location"]

    def authorize(self, address):
        """Sign in at the provider, which needs no password; return the address that leads back."""
        return httpx2.get(address).headers["location"]

    def sign_in(self):
        """Return the last reply of a whole sign-in."""
        return self.get(self.authorize(self.begin()))

    def ask_who(self):
        """Return the status and what the server says of the caller."""
        reply = self.get("/api/v1")
        return reply.status_code, reply.json()
