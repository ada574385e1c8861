"""Read gzip files as the files that they contain.

It is unpacked into a temporary file, within limits, so that no file is a bomb.
"""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from clew.errors import UnreadableSource
from clew.readers.walk import File

SUFFIX = ".gz"
_PIECE = 1 << 20
_END, _MOST_RATIO = 4, 1_032  # bytes of the size at the end; gzip packs no better
_SMALL = 1 << 26  # bytes that any file may unpack to


def is_packed(path: Path) -> bool:
    """Check for a gzip file, by its name."""
    return path.suffix.lower() == SUFFIX


def plain_name(path: Path) -> Path:
    """Return the name of the contained file, without `.gz`."""
    return Path(path.stem if is_packed(path) else path.name)


def add_size(file: File) -> File:
    """Return a file with its uncompressed size, as stated at the end of a gzip file."""
    if not is_packed(file.path) or file.size < _END:
        return file
    try:
        with file.path.open("rb") as stream:
            stream.seek(-_END, SEEK_END)
            size = int.from_bytes(stream.read(_END), "little")
    except OSError:
        return file
    return replace(file, size=size) if file.size < size < _MOST_RATIO * file.size else file


@contextmanager
def unpack(file: File) -> Iterator[File]:
    """Yield a file, decompressed if it is a gzip file.

    Raises UnreadableSource where that is broken, or becomes too many times its size.
    """
    if not is_packed(file.path):
        yield file
        return
    with TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / plain_name(file.path)
        try:
            with gzip.open(file.path) as packed, path.open("wb") as plain:
                _unpack(packed, plain, file)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise UnreadableSource(file.source, "is a broken gzip file, or not one") from None
        yield replace(file, path=path)


def _unpack(packed: gzip.GzipFile, plain: BinaryIO, file: File) -> None:
    most = max(file.limits.unpacked_ratio * file.path.stat().st_size, _SMALL)
    while data := packed.read(_PIECE):
        if plain.tell() > most:
            reason = f"unpacks to {file.limits.more_than('unpacked_ratio', 'times its size')}"
            raise UnreadableSource(file.source, reason)
        plain.write(data)
