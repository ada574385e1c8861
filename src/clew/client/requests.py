"""Requests of both clients as values, the server's address, and its errors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clew.client.values import from_plain
from clew.errors import ClewError, EndpointError, InputError
from clew.wire.names import PREFIX
from clew.wire.refusals import KINDS, Refusal

if TYPE_CHECKING:
    from clew.client.uploads import Upload

URL, URL_VARIABLE, KEY_VARIABLE = "http://127.0.0.1:8765", "CLEW_URL", "CLEW_KEY"

_REFUSED_FIRST = frozenset({429, 503})  # nothing was done of what was asked for
_LOST = frozenset({502, 504})  # a proxy's: the server behind it may have done it
_LONGEST_WAIT_S = 30.0
_SHOWN = 200  # characters of what a server says


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """One request of a server, and how its reply is read."""

    verb: str
    path: str  # behind /api/v1; what comes from names is quoted
    read: Callable[[Any], Any]  # what the JSON of the reply becomes
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    upload: Upload | None = None
    is_raw: bool = False  # the reply is bytes, and no JSON
    is_repeatable: bool = False  # twice does what once does: it is sent again where it got lost


def find_index(path: str) -> str:
    """Return the part of a path that names an index, "" where none does.

    >>> find_index("/indexes/polar/search")
    'polar'
    """
    parts = path.split("/")
    return parts[2] if len(parts) > 2 and parts[1] == "indexes" else ""


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause between two requests."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and the key that is sent there."""

    base: str
    key: str = field(default="", repr=False)

    @classmethod
    def find(cls, url: str | None, key: str | None) -> Address:
        """Return the address and the key that are given, else those of the environment."""
        base = url or os.environ.get(URL_VARIABLE, "") or URL
        parts = urlsplit(base)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InputError("the address of a server begins with http:// or https://")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise InputError("the address of a server has no user, no '?' and no '#': give the key")
        if key is None:
            key = os.environ.get(KEY_VARIABLE, "")
        key = key.strip()  # a key read from a file ends in a newline
        if not (key.isascii() and key.isprintable()):
            raise InputError("the key of a server has characters that no key has")
        return cls(base.rstrip("/"), key)

    def make_url(self, path: str) -> str:
        """Return the URL of a path of the REST interface."""
        return f"{self.base}{PREFIX}{path}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers that send the key."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def make_unreachable(self, reason: str) -> EndpointError:
        """Return the error for a server that does not answer."""
        return EndpointError(
            f"{self.base} cannot be reached ({reason or 'no reason given'}): check the address, and"
            f" that 'clew serve' runs there"
        )

    def make_broken(self, reason: str) -> EndpointError:
        """Return the error for a reply that broke off."""
        return EndpointError(f"{self.base} gave no whole reply ({reason}): ask again")

    def read_reply(self, request: ClientRequest, status: int, body: bytes) -> Any:  # noqa: ANN401 -- as the request says
        """Return the value of a reply. Raises the server's error."""
        if not 200 <= status < 300:
            raise self.read_error(status, body)
        if request.is_raw:
            return body
        try:
            return request.read(json.loads(body) if body else None)
        except (ValueError, RecursionError) as error:
            raise self.make_unreadable(str(error)) from None

    def make_unreadable(self, reason: str) -> EndpointError:
        """Return the error for a reply that cannot be read."""
        return EndpointError(
            f"{self.base} replied what this version of Clew cannot read ({reason:.{_SHOWN}}): check"
            f" the address, and that both have one version"
        )

    def read_error(self, status: int, body: bytes) -> ClewError:
        """Return the error in a reply."""
        try:
            told = json.loads(body)["error"]
            return make_error(told["code"], told["message"], status)
        except (ValueError, KeyError, TypeError, RecursionError):
            return EndpointError(
                f"{self.base} answered HTTP {status}, not as a server of Clew does: check the"
                f" address"
            )


def make_error(code: str, message: str, status: int = 0) -> ClewError:
    """Return the error of a code, of the class that it had on the server."""
    kind = KINDS.get(code)
    return Refusal(status, str(code), str(message)) if kind is None else kind(str(message))


def may_send_again(request: ClientRequest, status: int) -> bool:
    """Say whether a request may be sent again after this status."""
    return request.is_repeatable and status in _REFUSED_FIRST | _LOST


def pause_s(attempt: int, asked: str, share: float) -> float:
    """Return the seconds before another attempt; `share`, 0 to 1, keeps clients out of step."""
    if asked.isascii() and asked.isdigit():
        return min(float(asked[:6]) + share, _LONGEST_WAIT_S)
    return min(0.25 * 2.0**attempt * (1 + share), _LONGEST_WAIT_S)


def make_reader(kind: Any) -> Callable[[Any], Any]:  # noqa: ANN401 -- a type, or what stands for one
    """Return the function that reads a type."""
    return lambda value: from_plain(kind, value)
