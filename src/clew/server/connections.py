"""Limits on connections: how many, and how slow."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from clew.server.settings import ServerSettings

_REFUSED = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Content-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n"
)
_FILES = 2_048  # that are open beside sockets: indexes, jobs, and connections to be refused


def make_protocol(settings: ServerSettings) -> type[asyncio.Protocol]:
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
