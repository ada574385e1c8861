"""A server in a thread of this process, for tests that need a real address."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

_LOOK_S = 0.005


@contextmanager
def on_loopback(config: uvicorn.Config) -> Iterator[str]:
    """Serve on a free port of this machine while the block runs; give the address.

    Raises RuntimeError where the server does not start.
    """
    config.host, config.port = "127.0.0.1", 0
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the server did not start: its log says why")
            time.sleep(_LOOK_S)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
