"""Inputs other than files and folders: standard input (`-`), file:// and web addresses."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from urllib.parse import unquote, urldefrag, urlsplit

from clew.errors import InputError
from clew.limits import LIMITS, ReadingLimits
from clew.readers.walk import File

STDIN = "-"
_PIECE = 1 << 16
_BEGINNINGS = (  # of what standard input may hold
    (re.compile(rb"%PDF-"), ".pdf"),
    (re.compile(rb"\{\\rtf"), ".rtf"),
    (re.compile(rb"\s*<(?:!doctype\s+html|html)", re.IGNORECASE), ".html"),
    (re.compile(rb"\s*<\?xml"), ".xml"),
    (re.compile(rb"\s*\{[^\n]*\}[ \t\r]*\n\s*\{"), ".jsonl"),
    (re.compile(rb"\s*[\[{]"), ".json"),
    (re.compile(rb"PAR1"), ".parquet"),
    (re.compile(rb"\x1f\x8b"), ".txt.gz"),
)


@dataclass(frozen=True, slots=True)
class Page:
    """A web page."""

    address: str


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote place: object storage, a site, a database."""

    address: str

    @property
    def scheme(self) -> str:
        """Return the scheme of the address: "sitemap" of sitemap+https://, "s3" of s3://."""
        head = re.split(r"::|:|\+", self.address, maxsplit=1)[0]
        return head.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardInput:
    """The name and format of standard input."""

    name: str = "stdin"
    suffix: str = ""  # empty: that of the name, else what the beginning looks like


def locate_input(given: str | Path) -> Path | Page | Remote | StandardInput:
    """Parse an input: a path, a web page, a remote place, or standard input.

    Raises InputError for a file of another machine.
    """
    if not isinstance(given, str):
        return given
    scheme = given.partition("://")[0].casefold() if "://" in given else ""
    if scheme in {"http", "https"}:
        return Page(urldefrag(given).url)
    if scheme == "file":
        parts = urlsplit(given)
        if parts.netloc not in {"", "localhost"}:
            raise InputError(f"{given!r} is a file on another machine: copy it here first")
        from urllib.request import url2pathname  # which loads TLS

        return Path(url2pathname(unquote(parts.path)))
    if scheme:
        return Remote(given)
    return StandardInput() if given == STDIN else Path(given)


@contextmanager
def read_standard_input(
    given: StandardInput, stream: BinaryIO | None = None, limits: ReadingLimits = LIMITS
) -> Iterator[File]:
    """Yield the contents of standard input as a file."""
    data = (stream or sys.stdin.buffer).read(limits.received_bytes + 1)
    if len(data) > limits.received_bytes:
        raise InputError(f"standard input has {limits.more_than('received_bytes', 'bytes')}")
    looks_like = (suffix for form, suffix in _BEGINNINGS if form.match(data[:_PIECE]))
    suffix = given.suffix or Path(given.name).suffix or next(looks_like, ".txt")
    with TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / f"{Path(given.name).stem}{suffix}"
        path.write_bytes(data)
        yield File(path=path, id=given.name, source=given.name, named=True)
