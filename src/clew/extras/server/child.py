"""A server process that handles the connections passed on by the supervisor."""

import asyncio
import socket
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from clew.errors import ClewError
from clew.extras.server.app import application
from clew.extras.server.serving import Server, run_server
from clew.extras.server.settings import ServerSettings


def serve_passed(settings: ServerSettings, channel: socket.socket, telling: Connection) -> None:
    """Serve connections from a channel until told to stop.

    `telling` gets the names of the indexes once they are served, or why none can be.
    """
    try:
        with suppress(KeyboardInterrupt):  # it has stopped
            run_server(_Child(settings, channel, telling), [])
    except ClewError as error:
        telling.send(error)
        sys.exit(1)


class _Child(Server):
    def __init__(
        self, settings: ServerSettings, channel: socket.socket, telling: Connection
    ) -> None:
        super().__init__(application(settings), settings, telling.send, self._take_no_more)
        self._channel = channel
        self._coming: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._channel.setblocking(False)
            asyncio.get_running_loop().add_reader(self._channel, self._receive)

    def _take_no_more(self) -> None:
        asyncio.get_running_loop().remove_reader(self._channel)
        self._channel.close()  # by which the supervisor takes another process

    def _receive(self) -> None:
        """Serve a connection passed on by the supervisor."""
        try:
            message, files, _, _ = socket.recv_fds(self._channel, 1, 1)
        except BlockingIOError:
            return
        if not message:  # the supervisor is gone
            asyncio.get_running_loop().remove_reader(self._channel)
            self.should_exit = True
        for file in files:
            task = asyncio.get_running_loop().create_task(self._take(socket.socket(fileno=file)))
            self._coming.add(task)
            task.add_done_callback(self._coming.discard)

    async def _take(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        kind = self.config.http_protocol_class
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: kind(  # type: ignore[call-arg]
                    config=self.config,
                    server_state=self.server_state,
                    app_state=self.lifespan.state,
                ),
                connection,
            )
        except OSError:  # it is gone already
            connection.close()
