"""Uploads: the files to send, their names, and the multipart form."""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.errors import InputError

_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Upload:
    """Files with their names, and options beside them."""

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


def collect_upload(
    paths: Iterable[str | Path], exclude: Sequence[str], options: Mapping[str, Any]
) -> Upload:
    """Collect the named files and those below named folders, as `Index.add` does.

    A file is called by its path below the folder, behind the folder's own name. Raises InputError
    where there is none, where one cannot be read, and where two have one name.
    """
    from clew.readers.selection import Selection
    from clew.readers.walk import File, files

    parts: dict[str, Path] = {}
    for file in files(list(map(Path, paths)), selection=Selection(exclude)):
        if not isinstance(file, File):
            raise InputError(f"{file}: leave it out, or make it readable")
        parts[file.id] = file.path
    if not parts:
        raise InputError("there is no file to send in what was named")
    return Upload(tuple(parts.items()), options, secrets.token_hex(16))


def _quote_name(name: str) -> str:
    r"""Escape quotes and line breaks in a file name of the form.

    >>> print(_quote_name('a "b".md'))
    a \"b\".md
    """
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return escaped.replace("\r", "%0D").replace("\n", "%0A")
