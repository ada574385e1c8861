"""One serving process: uvicorn with connection limits and graceful shutdown."""

import asyncio
import ctypes
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from clew.errors import InputError
from clew.extras.server.settings import GRACE_S, REFUSED, WAITING, ServerSettings
from clew.extras.server.state import ServerState

_HEADER_BYTES = 65_536
_ARENA_MAX = -8  # M_ARENA_MAX in glibc's malloc.h
_FILES = 2_048  # that are open beside sockets: indexes, jobs, and connections to be refused


def make_config(app: Starlette, settings: ServerSettings) -> uvicorn.Config:
    """Return uvicorn's configuration of a server."""
    return uvicorn.Config(
        app,
        http=_make_protocol(settings),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        root_path=settings.root_path,
        lifespan="on",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        backlog=WAITING,
    )


class Server(uvicorn.Server):
    """A uvicorn server that tells routes when it stops."""

    def __init__(
        self,
        app: Starlette,
        settings: ServerSettings,
        on_ready: Callable[[Sequence[str]], None],
        on_stop: Callable[[], None],
    ) -> None:
        super().__init__(make_config(app, settings))
        self._app = app
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            server: ServerState = self._app.state.server
            self._on_ready(list(server.indexes.list_folders()))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.started:
            server: ServerState = self._app.state.server
            server.stopping.set()
            server.jobs.stop_starting()
            self._on_stop()
        await super().shutdown(sockets)


def run_server(server: Server, sockets: list[socket.socket]) -> None:
    """Serve until asked to stop. Raises InputError if the server cannot start."""
    _share_arena()
    with _end_by_signals():
        server.run(sockets=sockets)
    if not server.started:
        raise InputError("the server could not start: see the log")


def _share_arena() -> None:
    """Make threads share one malloc arena under glibc, to save memory.

    Else each thread has one of its own, of which much stays free and is never given back.
    """
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(_ARENA_MAX, 1)


@contextmanager
def _end_by_signals() -> Iterator[None]:
    """Exit with status 0 on SIGTERM.

    Uvicorn sends itself the signal again when it is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _make_protocol(settings: ServerSettings) -> type[asyncio.Protocol]:
    """Return the protocol class for the connections of a server."""
    files = _raise_file_limit(settings.sockets + _FILES)
    most = min(settings.sockets, max(files - _FILES, files // 4))

    class Bounded(H11Protocol):
        """An HTTP protocol that closes connections over the limit or too slow to send a request."""

        _served = None  # the request that was served when it was last looked
        _timer: asyncio.TimerHandle | None = None

        def __init__(
            self,
            *args: Any,  # noqa: ANN401 -- uvicorn's
            on_closed: Callable[[], None] = lambda: None,
            **kwargs: Any,  # noqa: ANN401
        ) -> None:
            super().__init__(*args, **kwargs)
            self._on_closed = on_closed

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.write(REFUSED)
                transport.close()
                return
            self._timer = self.loop.call_later(settings.head_s, self._look)

        def _look(self) -> None:
            """Close the connection if it was idle since the last check.

            One that has nothing to send is closed sooner, by the bound on idle ones.
            """
            is_served = self.cycle is not None and not self.cycle.response_complete
            if not is_served and self.cycle is self._served:
                self.transport.close()
                return
            self._served = self.cycle
            self._timer = self.loop.call_later(settings.head_s, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._timer is not None:
                self._timer.cancel()
            super().connection_lost(exc)
            self._on_closed()

    return Bounded


def _raise_file_limit(wanted: int) -> int:
    """Raise the open file limit towards `wanted`, and return it."""
    try:
        import resource
    except ImportError:  # not a Unix
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
    except (OSError, ValueError):  # what is around it forbids that
        return soft
    return more
