"""Read files in a subprocess, which is killed if it takes too long.

Parsers of books, pages and Office files are the work of others, and a file can be made so that one
of them never ends. The process is started with the first such file and reads all of one run. The
system counts the time that it computes, so that a busy machine costs no document; what waits
without computing is ended after ten times as long.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from math import ceil
from time import process_time
from typing import IO, TYPE_CHECKING, Any

from clew.errors import ClewError, UnreadableSource

if TYPE_CHECKING:
    from clew.base.types import Document, Skipped
    from clew.readers.walk import File

_AHEAD = 4  # documents that are read before they are asked for
_PROGRAM = "from clew.readers.apart import serve; serve()"
_START_S = 60.0  # for the process to start and import the parser
_TIMES_WAITED = 10  # as long as it may compute


class Apart:
    """A reader subprocess, started on first use, for one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._received: queue.Queue[Any] = queue.Queue(_AHEAD)
        self._is_warm = False  # it has read something: it need not start and import first

    def read(self, file: File) -> Iterator[Document | Skipped]:
        """Yield the documents of a file. Raises the reader's errors.

        Raises UnreadableSource where a document takes longer or more memory than its limits say.
        """
        process = self._start_process(file)
        is_done = False
        try:
            self._send(process, file)
            wait = self._get_wait(file)
            while True:
                kind, value = self._next(file, wait)
                self._is_warm = True
                wait = self._get_wait(file)
                if kind == "page":
                    continue
                if kind == "item":
                    yield value
                    continue
                is_done = True
                if kind == "error":
                    raise value
                return
        finally:
            if not is_done:
                self.close()

    def _get_wait(self, file: File) -> float:
        return _TIMES_WAITED * file.limits.seconds + (0.0 if self._is_warm else _START_S)

    def _start_process(self, file: File) -> subprocess.Popen[bytes]:
        if self._process is None:
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            self._process = subprocess.Popen(  # noqa: S603 -- ourselves
                [sys.executable, "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
            self._is_warm = False
            self._received = queue.Queue(_AHEAD)
            assert self._process.stdout is not None  # noqa: S101 -- a pipe
            threading.Thread(
                target=_receive, args=(self._process.stdout, self._received), daemon=True
            ).start()
            self._send(self._process, file.limits.memory_bytes)
        return self._process

    def _send(self, process: subprocess.Popen[bytes], value: object) -> None:
        assert process.stdin is not None  # noqa: S101 -- a pipe
        with suppress(OSError):  # a broken pipe is told by what does not come back
            _write(process.stdin, value)

    def _next(self, file: File, wait: float) -> tuple[str, Any]:
        try:
            reply = self._received.get(timeout=wait)
        except queue.Empty:
            raise _takes_long(file) from None
        if reply is None:
            ended = None if self._process is None else self._process.wait()
            if ended is not None and ended == -getattr(signal, "SIGXCPU", 0):
                raise _takes_long(file)
            raise UnreadableSource(
                file.source,
                f"ended the process that read it, which may take {file.limits.memory_bytes >> 20:,}"
                f" MB (--limit memory_bytes)",
            )
        kind, value = reply
        return kind, value

    def close(self) -> None:
        """End the subprocess."""
        process, self._process = self._process, None
        with suppress(queue.Empty):  # lets the thread that reads come to its end
            while True:
                self._received.get_nowait()
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


def _takes_long(file: File) -> UnreadableSource:
    return UnreadableSource(file.source, f"takes {file.limits.more_than('seconds')}")


def _receive(pipe: IO[bytes], received: queue.Queue[Any]) -> None:
    """Put received items into a queue, None at the end; its reader may be gone."""
    try:
        while (reply := _read(pipe)) is not None:
            received.put(reply)
    except (OSError, ValueError, pickle.UnpicklingError):
        pass
    with suppress(queue.Full):
        received.put(None, timeout=1)


def serve() -> None:
    """Read the files named on standard input, and write their documents to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asks ends this process
    requests, output = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    _answers.append(output)
    sys.stdout = sys.stderr  # what a parser prints is no document
    memory_bytes = _read(requests)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    from clew.readers.formats import items_of

    while (file := _read(requests)) is not None:
        _seconds[:] = [file.limits.seconds]
        _bound_time()
        try:
            for item in items_of(file):
                _write(output, ("item", item))
                _bound_time()
        except MemoryError:
            reason = f"takes {file.limits.more_than('memory_bytes', 'bytes of memory')}"
            _write(output, ("error", UnreadableSource(file.source, reason)))
        except (ClewError, OSError) as error:
            _write(output, ("error", error))
        else:
            _write(output, ("done", None))


def report_page_done() -> None:
    """Signal from the subprocess that a page is done, which restarts the time limit."""
    if _answers:
        _write(_answers[0], ("page", None))
        _bound_time()


_answers: list[IO[bytes]] = []  # where this process, if it is the one that reads, writes
_seconds: list[float] = []  # that it may compute for a document


def _bound_time() -> None:
    """Set a CPU time limit for this process until the next document."""
    with suppress(ImportError, ValueError, OSError):  # no such limit: the other process waits
        import resource

        soft = ceil(process_time() + _seconds[0])
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _write(pipe: IO[bytes], value: object) -> None:
    pickle.dump(value, pipe)
    pipe.flush()


def _read(pipe: IO[bytes]) -> Any:  # noqa: ANN401 -- what the other one wrote
    with suppress(EOFError):
        return pickle.load(pipe)  # noqa: S301 -- our own process wrote it
    return None
