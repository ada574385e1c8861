"""What the tests of all adapters ask: a small index in a folder, and a server of it."""

from contextlib import contextmanager

import pytest
import uvicorn

import clew
from clew.extras.server import ServerSettings, application
from clew.testing import models, small_documents
from tests.loopback import on_loopback

QUESTION = "Where was the builder of the Comet at home?"


def open_small(folder, **_):
    """Open an index with models that need no files."""
    return clew.open(folder, models=models())


@contextmanager
def serving(home, folder):
    """Serve an index as `small` on a free port of this machine; give the address."""
    settings = ServerSettings(home=home, indexes={"small": folder})
    config = uvicorn.Config(application(settings, open_small), log_config=None)
    with on_loopback(config) as address:
        yield address


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
