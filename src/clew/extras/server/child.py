"""A server process that handles the connections passed on by the supervisor."""

import asyncio
import pickle
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from clew.errors import ClewError
from clew.extras.server.app import application
from clew.extras.server.serving import Server, run_server
from clew.extras.server.settings import ServerSettings

# What is told: a connection was taken, one has ended, and no more are taken.
TAKEN, CLOSED, STOPPING = b"+", b".", b"!"


def serve_handed(settings: ServerSettings, channel: socket.socket) -> None:
    """Serve connections from a channel until told to stop or the channel closes."""
    try:
        with suppress(KeyboardInterrupt):  # it has stopped
            run_server(_Child(settings, channel), [])
    except ClewError as error:
        _tell(channel, error)
        sys.exit(1)


def _tell(channel: socket.socket, message: Sequence[str] | ClewError) -> None:
    """Report the index names to the supervisor, or why none can be served."""
    channel.setblocking(True)
    channel.sendall(pickle.dumps(message).hex().encode() + b"\n")
    channel.setblocking(False)


class _Child(Server):
    def __init__(self, settings: ServerSettings, channel: socket.socket) -> None:
        super().__init__(
            application(settings), settings, partial(_tell, channel), partial(self._say, STOPPING)
        )
        self._channel = channel
        self._coming: set[asyncio.Task[object]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._channel.setblocking(False)
            asyncio.get_running_loop().add_reader(self._channel, self._receive)

    def _say(self, what: bytes) -> None:
        with suppress(OSError):  # the supervisor is gone, which is noticed where it is read
            self._channel.send(what)

    def _receive(self) -> None:
        """Serve a connection passed on by the supervisor."""
        loop = asyncio.get_running_loop()
        try:
            message, [*files], _, _ = socket.recv_fds(self._channel, 1, 1)
        except BlockingIOError:
            return
        except ConnectionResetError:
            message, files = b"", []
        if not message:
            loop.remove_reader(self._channel)
            self.should_exit = True
        elif not files:  # this process may open no more, and the system has closed it
            self._say(TAKEN + CLOSED)
        for file in files:
            self._say(TAKEN)
            task = loop.create_task(self._take(socket.socket(fileno=file)))
            self._coming.add(task)
            task.add_done_callback(self._coming.discard)

    async def _take(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(self._make_protocol, connection)
        except OSError:  # it is gone already
            connection.close()
            self._say(CLOSED)

    def _make_protocol(self) -> asyncio.Protocol:
        kind = self.config.http_protocol_class
        return kind(  # type: ignore[call-arg]
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            on_closed=partial(self._say, CLOSED),
        )
