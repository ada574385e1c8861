"""A network between two programs of this machine, which a test can slow, pause or cut."""

import socket
import threading
import time
from contextlib import contextmanager, suppress

_PIECE = 1 << 16


class Proxy:
    """Passes bytes on from a port of this machine to a place: a host and a port, or a socket."""

    def __init__(self, place):
        self.delay_s = 0.0  # of each piece
        self.answer = None  # what answers a piece of a client's in place of the server, or None
        self.requests = []  # the first lines of what clients send
        self._place = place
        self._passes = threading.Event()
        self._passes.set()
        self._open = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def pause(self):
        """Let no byte pass; connections can be made."""
        self._passes.clear()

    def cut(self):
        """End all connections, and each new one at once."""
        self._is_cut = True
        for each in list(self._open):
            _end(each)

    def mend(self):
        """Let everything pass again."""
        self._is_cut = False
        self._passes.set()

    def close(self):
        self.cut()
        self._passes.set()
        _end(self._listener)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                _end(client)
                continue
            server = self._connected()
            self._open |= {client, server}
            for pair in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _connected(self):
        if isinstance(self._place, tuple):
            return socket.create_connection(self._place)
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self._place))
        return server

    def _pass_on(self, source, target, is_client):
        with suppress(OSError):
            while piece := source.recv(_PIECE):
                self._passes.wait()
                time.sleep(self.delay_s)
                if is_client:
                    self.requests.append(piece.partition(b"\r\n")[0])
                    said = self.answer and self.answer(piece)
                    if said:
                        source.sendall(said)
                        continue
                target.sendall(piece)
        for each in (source, target):
            self._open.discard(each)
            _end(each)


def _end(each):
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()


@contextmanager
def between(place):
    """Give a proxy before a place."""
    proxy = Proxy(place)
    yield proxy
    proxy.close()
