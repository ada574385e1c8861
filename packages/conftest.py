"""What the tests of all adapters ask: a small index in a folder, and a server of it."""

import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

import clew
from clew.server import ServerSettings, application
from clew.testing import models, small_documents

QUESTION = "Where was the builder of the Comet at home?"


def open_small(folder, **_):
    """Open an index with models that need no files."""
    return clew.open(folder, models=models())


@contextmanager
def serving(home, folder):
    """Serve an index as `small` on a free port of this machine; give the address."""
    settings = ServerSettings(home=home, indexes={"small": folder})
    config = uvicorn.Config(
        application(settings, open_small), host="127.0.0.1", port=0, log_config=None
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of a small index."""
    found = tmp_path_factory.mktemp("small") / "small.clew"
    with open_small(found) as index:
        index.add(small_documents())
    return found


@pytest.fixture(scope="session")
def local(folder):
    """The small index, open."""
    with open_small(folder) as index:
        yield index


@pytest.fixture(scope="session")
def url(folder, tmp_path_factory):
    """The address of a server that has the index as `small`."""
    with serving(tmp_path_factory.mktemp("home"), folder) as found:
        yield found
