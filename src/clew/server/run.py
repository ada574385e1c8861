"""Run the server: listen, serve within limits on connections, and stop gracefully."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from clew.errors import InputError
from clew.server.app import application
from clew.server.database import ServerDatabase
from clew.server.indexes import Indexes
from clew.server.keys import Keys
from clew.server.logs import RUN
from clew.server.logs import configure as log_to_stderr
from clew.server.settings import ServerSettings
from clew.server.state import ServerState

__all__ = ["RUN", "check_open", "log_to_stderr", "make_config", "serve"]

_GRACE_S = 30  # for what is under way when the server is asked to stop
_HEADER_BYTES = 65_536
_WAITING = 512  # connections that the system holds before they are taken
_REFUSED = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Content-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n"
)
_FILES = 2_048  # that are open beside sockets: indexes, jobs, and connections to be refused


def serve(settings: ServerSettings, on_ready: Callable[[str, Sequence[str]], None]) -> None:
    """Serve until the process is asked to stop; `on_ready` gets the address and the indexes.

    Raises InputError for an address that cannot be had, and as `check_open` does.
    """
    check_open(settings)
    listening = _bind(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{listening.getsockname()[1]}"
    app = application(settings)
    server = _Server(make_config(app, settings), app, lambda names: on_ready(address, names))
    with listening, _end_by_signals():
        server.run(sockets=[listening])
    if not server.started:
        raise InputError("the server could not start: see the log")


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
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        backlog=_WAITING,
    )


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, app: Starlette, on_ready: Callable[[Sequence[str]], None]
    ) -> None:
        super().__init__(config)
        self._app = app
        self._on_ready = on_ready

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
            RUN.info("Clew stops: what is under way has %d seconds to end", _GRACE_S)
        await super().shutdown(sockets)
        if self.started:
            RUN.info("Clew has stopped")


@contextmanager
def _end_by_signals() -> Iterator[None]:
    """Let the process end with status 0 after SIGTERM.

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


def check_open(settings: ServerSettings) -> None:
    """Raise InputError where anybody could use the server without a key.

    Also raises StoreError for a home that cannot be used, and NotAnIndex for a folder without one.
    """
    database = ServerDatabase(settings.home)
    try:
        Indexes(settings, database).check()
        is_reached = not settings.is_local or settings.hosts or settings.proxies
        if is_reached and not Keys(database).has_keys():
            raise InputError(
                f"others may reach {settings.host}, and no key was made: make one first, with"
                f" 'clew keys add NAME'"
            )
    finally:
        database.close()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, or asyncio takes the connections for no TCP and holds the end of each reply back.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"{host}:{port} cannot be listened on ({error.strerror or error}): take another --port"
        ) from error
    listening.set_inheritable(False)
    return listening


def _make_protocol(settings: ServerSettings) -> type[asyncio.Protocol]:
    """Return the protocol class for the connections of a server."""
    files = _raise_file_limit(settings.sockets + _FILES)
    most = min(settings.sockets, max(files - _FILES, files // 4))

    class Bounded(H11Protocol):
        """Closes connections over the limit, and those without a whole request in time."""

        _served = None  # the request that was served when it was last looked
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.write(_REFUSED)
                transport.close()
                return
            self._timer = self.loop.call_later(settings.head_s, self._look)

        def _look(self) -> None:
            """Close the connection where no request came since the last look, and none is served.

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

    return Bounded


def _raise_file_limit(wanted: int) -> int:
    """Return how many files this process may open, as near to `wanted` as the system lets it."""
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
