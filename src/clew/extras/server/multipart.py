"""Receive multipart/form-data: stream files to disk, with limits on every size.

Nothing is held in memory but what is at hand, and what exceeds a bound is refused where it does.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, BinaryIO

import anyio
from anyio.to_thread import run_sync
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from clew.base.runtime.private import make_folder, open_file
from clew.errors import InputError
from clew.extras.server.endpoints import run_in_thread
from clew.extras.server.files import check_file_name
from clew.extras.wire.refusals import Refusal, no_space, too_large

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks
    from starlette.requests import Request

    from clew.extras.server.settings import ServerSettings

_FIELD_BYTES = 1 << 16
FILES, OPTIONS = "files", "options"  # the fields of a form
_EVERY = 1 << 20  # bytes that are written together
_QUIET_S = 60.0  # in which a client sends nothing, before it is given up


@dataclass(slots=True)
class UploadForm:
    """An upload's files and options."""

    files: dict[str, Path] = field(default_factory=dict)  # safe names, and where each lies
    options: bytes = b"{}"  # JSON


@asynccontextmanager
async def receive_upload(request: Request, settings: ServerSettings) -> AsyncIterator[UploadForm]:
    """Receive a form with files in fields called "files"; unused files are deleted.

    Raises a refusal for more than the settings allow (413), for a name that is not safe and for
    what is no form (400), and where the disk is full (507).
    """
    length, most = request.headers.get("content-length", ""), settings.upload_bytes
    if length.isascii() and length.isdigit() and int(length[:20]) > most:
        raise too_large(f"this request exceeds the limit of {most:,} bytes")
    _, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if not boundary:
        raise _make_error("its Content-Type names no boundary")
    folder = settings.home / "uploads" / secrets.token_hex(8)
    try:
        await run_sync(make_folder, folder)
        yield await _read_form(request, boundary, _Reader(folder, settings))
    finally:
        rmtree(folder, ignore_errors=True)


async def _read_form(request: Request, boundary: bytes, reader: _Reader) -> UploadForm:
    try:
        parser = MultipartParser(boundary, reader.callbacks())
        async for piece in _join_pieces(request.stream()):
            await run_in_thread(partial(reader.feed, parser, piece))
        await run_in_thread(partial(reader.finish, parser))
    except OSError as error:
        raise no_space(error) from error
    finally:
        reader.close()
    return reader.form


async def _join_pieces(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Merge small pieces of a stream into larger ones, to switch threads less often."""
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            with anyio.fail_after(_QUIET_S):
                piece = await anext(stream, None)
        except TimeoutError:
            raise Refusal(
                HTTPStatus.REQUEST_TIMEOUT,
                "timeout",
                f"nothing was sent for {_QUIET_S:.0f} seconds",
            ) from None
        if piece is None:
            break
        parts.append(piece)
        size += len(piece)
        if size >= _EVERY:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join(parts)


def _make_error(why: str) -> InputError:
    return InputError(f"this form cannot be read: {why}")


class _Reader:
    """The callbacks of the multipart parser, in one thread at a time."""

    def __init__(self, folder: Path, settings: ServerSettings) -> None:
        self.form = UploadForm()
        self._folder = folder
        self._settings = settings
        self._size = 0
        self._has_ended = self._has_options = False
        self._file: BinaryIO | None = None
        self._begin()

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }

    def feed(self, parser: MultipartParser, piece: bytes) -> None:
        self._size += len(piece)
        most = self._settings.upload_bytes
        if self._size > most:
            raise too_large(f"this request exceeds the limit of {most:,} bytes")
        try:
            parser.write(piece)
        except FormParserError as error:
            raise _make_error(str(error)) from None

    def finish(self, parser: MultipartParser) -> None:
        try:
            parser.finalize()
        except FormParserError as error:
            raise _make_error(str(error)) from None
        if not self._has_ended:
            raise _make_error("it ends before its last part does")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self) -> None:
        self._name = self._value = b""
        self._disposition = b""
        self._field = ""
        self._content: list[bytes] = []
        self._n_content = 0

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._field = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" in options:
            self._open(options[b"filename"])
        elif self._field != OPTIONS:
            raise _make_error(
                f"it has files, sent as {FILES!r}, and {OPTIONS!r}: no {self._field!r:.60}"
            )
        elif self._has_options:
            raise _make_error(f"it has {OPTIONS!r} more than once")
        else:
            self._has_options = True

    def _open(self, filename: bytes) -> None:
        if self._field != FILES:
            raise _make_error(f"files must be in the field {FILES!r}, not {self._field!r:.60}")
        if len(self.form.files) >= self._settings.upload_files:
            raise too_large(f"a request can have at most {self._settings.upload_files:,} files")
        try:
            # As browsers send forms: of a name only quotes are written otherwise.
            name = check_file_name(filename.decode("utf-8").replace("%22", '"'))
        except UnicodeDecodeError:
            raise _make_error("the name of a file is not in UTF-8") from None
        if name in self.form.files:
            raise InputError(f"two files of this request have the name {name!r}")
        path = self._folder / f"{len(self.form.files):06d}"
        self._file = open_file(path)
        self.form.files[name] = path

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(memoryview(data)[start:end])
            return
        self._n_content += end - start
        if self._n_content > _FIELD_BYTES:
            raise too_large(f"the field {self._field!r:.60} has at most {_FIELD_BYTES:,} bytes")
        self._content.append(data[start:end])

    def _part_end(self) -> None:
        if self._file is not None:
            self.close()
        else:
            self.form.options = b"".join(self._content).decode("utf-8", "replace").encode()

    def _end(self) -> None:
        self._has_ended = True


def write_json_lines(documents: list[dict[str, object]]) -> bytes:
    """Return documents as JSON lines; lone surrogates become U+FFFD."""
    lines = (json.dumps(each, ensure_ascii=False) for each in documents)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
