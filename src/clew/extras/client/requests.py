"""Requests and uploads of both clients as values: address, replies, events and errors."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from clew.base.types import Answer, Evidence
from clew.errors import ClewError, EndpointError, InputError
from clew.extras.wire.jobs import JobEvent
from clew.extras.wire.refusals import KINDS, Refusal

if TYPE_CHECKING:
    from clew.readers.selection import Selection

T = TypeVar("T")

URL, URL_VARIABLE, KEY_VARIABLE = "http://127.0.0.1:8765", "CLEW_URL", "CLEW_KEY"

REPEATED = frozenset({429, 503, 502, 504})  # the last two are a proxy's, which lost a reply
_LONGEST_WAIT_S = 30.0
_PIECE = 1 << 16  # bytes of a file that are sent at a time
_SHOWN = 200  # characters of what a server says


@dataclass(frozen=True, slots=True)
class Upload:
    """Files to upload with their names, and options."""

    parts: tuple[tuple[str, Path], ...]
    options: Mapping[str, Any]
    boundary: str

    @property
    def kind(self) -> str:
        """The content type."""
        return f"multipart/form-data; boundary={self.boundary}"

    def pieces(self) -> Iterator[bytes]:
        """Yield the form in pieces; each file is opened only when it is sent."""
        mark = f"--{self.boundary}\r\n".encode()
        if self.options:
            yield mark + b'Content-Disposition: form-data; name="options"\r\n\r\n'
            yield json.dumps(dict(self.options)).encode() + b"\r\n"
        for name, path in self.parts:
            place = f'form-data; name="files"; filename="{_quote_name(name)}"'
            yield mark + f"Content-Disposition: {place}\r\n".encode("utf-8", "surrogateescape")
            yield b"Content-Type: application/octet-stream\r\n\r\n"
            with path.open("rb") as content:
                while piece := content.read(_PIECE):
                    yield piece
            yield b"\r\n"
        yield f"--{self.boundary}--\r\n".encode()


@dataclass(frozen=True, slots=True)
class Packed:
    """The bytes of a body, and their media type."""

    kind: str
    content: bytes

    def pieces(self) -> Iterator[bytes]:
        """Yield the content."""
        yield self.content


def collect_upload(
    paths: Iterable[str | Path], selection: Selection, options: Mapping[str, Any]
) -> Upload:
    """Collect the named files and the selected ones below named folders, as `Index.add` does.

    A file is named by the folder's name and its path in it. Raises InputError if there is no file,
    one is unreadable, or two have the same name.
    """
    from clew.readers.walk import File, files

    parts: dict[str, Path] = {}
    for file in files(list(map(Path, paths)), selection=selection):
        if not isinstance(file, File):
            raise InputError(f"{file}: leave it out, or make it readable")
        parts[file.id] = file.path
    if not parts:
        raise InputError("there is no file to upload at the given paths")
    return Upload(tuple(parts.items()), options, secrets.token_hex(16))


def _quote_name(name: str) -> str:
    r"""Escape quotes and line breaks in a file name of the form.

    >>> print(_quote_name('a "b".md'))
    a \"b\".md
    """
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return escaped.replace("\r", "%0D").replace("\n", "%0A")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """A request to a server, and how to read its reply."""

    verb: str
    path: str  # behind /api/v1; what comes from names is quoted
    reply: Any = Any  # the type, or what stands for one, that the JSON of the reply becomes
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    upload: Upload | Packed | None = None
    is_raw: bool = False  # the reply is bytes, and no JSON
    is_repeatable: bool = False  # twice does what once does: it is sent again where it got lost


def find_index(path: str) -> str:
    """Return the part of a path that names an index, or "".

    >>> find_index("/indexes/polar/search")
    'polar'
    """
    _, kind, name, *_ = [*path.split("/"), "", ""]
    return name if kind == "indexes" else ""


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause between two requests."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of a server, and the API key for it."""

    base: str
    key: str = field(default="", repr=False)

    @classmethod
    def find(cls, url: str | None, key: str | None) -> Self:
        """Return the given address and key, by default those of the environment."""
        base = url or os.environ.get(URL_VARIABLE, "") or URL
        parts = urlsplit(base)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InputError("the address of a server must begin with http:// or https://")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise InputError("the address of a server has no user, '?' or '#': give the key")
        if key is None:
            key = os.environ.get(KEY_VARIABLE, "")
        key = key.strip()  # a key read from a file ends in a newline
        if not (key.isascii() and key.isprintable()):
            raise InputError("the API key has invalid characters")
        return cls(base.rstrip("/"), key)

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
        """Return the error for an incomplete reply."""
        return EndpointError(f"{self.base} sent an incomplete reply ({reason}): ask again")

    def read_reply(self, request: ClientRequest, status: int, body: bytes) -> Any:  # noqa: ANN401 -- as the request says
        """Return the value of a reply. Raises the server's error."""
        if not 200 <= status < 300:
            raise self.read_error(status, body)
        if request.is_raw:
            return body
        try:
            return from_plain(request.reply, json.loads(body) if body else None)
        except (ValueError, RecursionError) as error:
            raise self.make_unreadable(str(error)) from None

    def make_unreadable(self, reason: str) -> EndpointError:
        """Return the error for an invalid reply."""
        return EndpointError(
            f"{self.base} sent a reply that this version of Clew cannot read ({reason:.{_SHOWN}}):"
            f" check the address, and that both run the same version"
        )

    def read_error(self, status: int, body: bytes) -> ClewError:
        """Return the error in a reply."""
        try:
            error = json.loads(body)["error"]
            return make_error(error["code"], error["message"], status)
        except (ValueError, KeyError, TypeError, RecursionError):
            why = "unlike a Clew server: check the address"
            return EndpointError(f"{self.base} answered HTTP {status}, {why}")


def make_error(code: str, message: str, status: int = 0) -> ClewError:
    """Return an error of the class that its code has on the server."""
    kind = KINDS.get(code)
    return Refusal(status, str(code), str(message)) if kind is None else kind(str(message))


def pause_s(attempt: int, delay: str, share: float) -> float:
    """Return the seconds before a retry; `share`, 0 to 1, adds jitter."""
    if delay.isascii() and delay.isdigit():
        return min(float(delay[:6]) + share, _LONGEST_WAIT_S)
    return min(0.25 * 2.0**attempt * (1 + share), _LONGEST_WAIT_S)


def from_plain(kind: type[T], value: object) -> T:
    """Build a value of a type, such as `Evidence`, from its plain form.

    Unknown fields of a newer server are ignored, and fields with defaults may be missing. Raises
    ValueError with the position of what does not fit.
    """
    import msgspec

    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        fault, _, place = str(error).partition(" - at `$")
        name = getattr(kind, "__name__", str(kind))
        raise ValueError(f"{name}{place.removesuffix('`')}: {fault}") from None


# -- server-sent events ---------------------------------------------------------------------------

_ANSWER_EVENTS: Mapping[str, Any] = {"evidence": Evidence, "text": str | None, "answer": Answer}
MOST_BYTES = 64 << 20  # of one event


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """An event of a streamed answer.

    "evidence" once; then "text" for each piece, or None, which restarts the text; at last "answer".
    """

    kind: str
    value: Evidence | str | Answer | None


def read_answer_event(address: Address, kind: str, text: str) -> AnswerEvent | None:
    """Return an event of an answer, or None for an unknown kind. Raises the server's error."""
    if kind not in {*_ANSWER_EVENTS, "error"}:
        return None
    data = _read_data(address, text)
    try:
        if kind == "error":
            raise make_error(data["code"], data["message"])
        value = data["text"] if kind == "text" else data
        return AnswerEvent(kind, from_plain(_ANSWER_EVENTS[kind], value))
    except (ValueError, KeyError, TypeError) as error:
        raise address.make_unreadable(str(error)) from None


def read_job_event(address: Address, kind: str, text: str, number: str) -> JobEvent:
    """Return an event of a job. Raises EndpointError if it is invalid."""
    data = _read_data(address, text)
    try:
        return JobEvent(number=int(number), kind=kind, at=data.pop("at"), data=data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise address.make_unreadable(str(error)) from None


def _read_data(address: Address, text: str) -> Any:  # noqa: ANN401 -- JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise address.make_unreadable("an event that is not JSON") from None
