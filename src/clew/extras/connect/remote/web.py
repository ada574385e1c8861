"""Download a web page as a file.

Over HTTP(S), within limits, one page for each address, and never from an address of this network
that a public page leads to.
"""

import ipaddress
import socket
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from clew.base.display.addresses import hide_secrets
from clew.base.types import Skipped
from clew.errors import UnreadableSource
from clew.limits import LIMITS, ReadingLimits
from clew.readers.inputs import Page
from clew.readers.walk import File, file_stem

_WAIT_S, _PAGE_S = 15, 120  # without a byte, and for a whole page
_MAX_REDIRECTS = 5
_PIECE = 1 << 16
# None for files or FTP: nothing else than a web page can be opened.
_HANDLERS = (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler)
_SUFFIXES = {  # of what a server says that it sends
    "application/epub+zip": ".epub",
    "application/json": ".json",
    "application/msword": ".doc",
    "application/pdf": ".pdf",
    "application/rtf": ".rtf",
    "application/x-ndjson": ".jsonl",
    "application/xhtml+xml": ".xhtml",
    "application/xml": ".xml",
    "message/rfc822": ".eml",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "text/tab-separated-values": ".tsv",
    "text/xml": ".xml",
}
_UNTOLD = frozenset(  # types that say nothing of the format
    ("application/gzip", "application/octet-stream", "application/x-gzip", "text/plain")
)


@contextmanager
def fetch_page(page: Page, limits: ReadingLimits = LIMITS) -> Iterator[File | Skipped]:
    """Yield a page as a file with its URL as id, or the reason why it failed."""
    with TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as folder:
        try:
            data, suffix = fetch_bytes(page.address, limits)
        except UnreadableSource as error:
            yield Skipped(source=error.source, reason=error.reason)
            return
        stem = Path(unquote(urlsplit(page.address).path)).stem or urlsplit(page.address).netloc
        path = Path(folder) / f"{file_stem(stem)}{suffix}"
        path.write_bytes(data)
        shown = hide_secrets(page.address)
        yield File(path=path, id=shown, source=shown, named=True)


def fetch_bytes(address: str, limits: ReadingLimits) -> tuple[bytes, str]:
    """Return the bytes of a page, and the suffix of its format."""
    opener = OpenerDirector()
    for kind in _HANDLERS:
        opener.add_handler(kind())
    opener.add_handler(_Redirects(address))
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    plain = parts._replace(netloc=host).geturl()
    request = Request(plain, headers={"User-Agent": "clew", "Accept": "text/html, */*;q=0.8"})  # noqa: S310 -- http(s) only, by `locate_input` and `_Redirects`
    if at:  # for this server alone: not where it leads to
        basic = b64encode(unquote(user).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {basic}")
    try:
        with opener.open(request, timeout=_WAIT_S) as reply:
            if reply.status != 200:
                raise UnreadableSource(address, f"was answered with status {reply.status}")
            data = _read(address, reply, limits)
            charset = reply.headers.get_content_charset()
            if charset is not None and reply.headers.get_content_type().startswith("text/"):
                with suppress(LookupError, UnicodeDecodeError):
                    data = data.decode(charset).encode()  # which readers try first
            return data, _suffix(address, reply.headers)
    except HTTPError as error:
        error.close()
        raise UnreadableSource(address, f"was answered with status {error.code}") from None
    except URLError as error:
        raise UnreadableSource(address, f"cannot be reached: {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise UnreadableSource(address, f"cannot be fetched: {error}") from None


def _read(address: str, reply: HTTPResponse, limits: ReadingLimits) -> bytes:
    ends = time.monotonic() + _PAGE_S
    pieces, size = [], 0
    while piece := reply.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > limits.received_bytes:
            raise UnreadableSource(address, f"has {limits.more_than('received_bytes', 'bytes')}")
        if time.monotonic() > ends:
            raise UnreadableSource(address, f"did not come within {_PAGE_S} seconds")
    return b"".join(pieces)


def _suffix(address: str, headers: Message) -> str:
    kind = headers.get_content_type()
    path = Path(unquote(urlsplit(address).path))
    if kind in _UNTOLD and path.suffix:
        return path.suffix
    suffix = _SUFFIXES.get(kind)
    if suffix is None:
        raise UnreadableSource(address, f"is of the type {kind}, which no reader takes")
    return suffix


class _Redirects(HTTPRedirectHandler):
    """Follows a few redirects, but none from a public address to a private network."""

    max_redirections = _MAX_REDIRECTS

    def __init__(self, address: str) -> None:
        self._may_be_near = not is_public(urlsplit(address).hostname or "")

    def redirect_request(
        self, req: Request, fp: object, code: int, msg: str, headers: Message, newurl: str
    ) -> Request | None:
        parts = urlsplit(newurl)
        if parts.scheme not in {"http", "https"}:
            shown = hide_secrets(newurl)
            raise UnreadableSource(req.full_url, f"leads to {shown!r:.99}, which is not a web page")
        if not self._may_be_near and not is_public(parts.hostname or ""):
            reason = f"leads to {parts.hostname}, an address of this network"
            raise UnreadableSource(req.full_url, reason)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def is_public(host: str) -> bool:
    """Check whether all addresses of a host are public."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_global
    try:
        addresses = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return True  # it leads nowhere, and connecting will say so
    return all(ipaddress.ip_address(each[4][0]).is_global for each in addresses)
