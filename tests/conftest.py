"""What holds in every test: no network but this machine's own, and no settings from outside."""

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from clew.readers import apart

# Read by the libraries when they are imported, which may be before any fixture.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["XDG_CONFIG_HOME"] = os.devnull  # no settings of whoever runs the tests
if "PYTEST_XDIST_WORKER" in os.environ:
    # There is a worker for each processor, and threads that wait for one another only burn time.
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
_RAM = Path("/dev/shm")  # noqa: S108 -- pytest makes a folder of its own there
if "TMPDIR" not in os.environ and _RAM.is_dir() and shutil.disk_usage(_RAM).free > 4 << 30:
    # Indexes are synced to the disk again and again, which costs nothing where there is none.
    os.environ["TMPDIR"] = str(_RAM)
    tempfile.tempdir = None  # it is looked for again
# Without a folder of settings each process would make matplotlib's list of fonts anew.
os.environ.setdefault("MPLCONFIGDIR", str(Path(tempfile.gettempdir()) / "clew-matplotlib"))
for _name in ("COLUMNS", "LINES"):  # what is printed is as wide as where nothing is said
    os.environ.pop(_name, None)
for _name in [name.upper() for name in os.environ]:
    if _name.startswith(("OPENAI_", "CLEW_")) or _name.endswith("_PROXY"):
        os.environ.pop(_name, None)
        os.environ.pop(_name.lower(), None)

# Examples are the same in every run of CI; a busy machine makes no test fail. `make test-slow` has
# many more of them.
settings.register_profile("clew", deadline=None, derandomize="CI" in os.environ, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("clew")


LONG = {"golden", "postgres", "workers", "shards", "test_kill.py", "test_edits.py", "test_jobs.py"}


def _refuse_the_network(event, args):
    """Fail a test that reaches out: an audit hook sees what patching `socket` would miss."""
    if event[:7] != "socket.":  # of which there are millions
        return
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        address = args[1]
        host = address[0] if isinstance(address, tuple) else None  # None: a Unix socket
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        host = args[0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode()
    if host not in {None, "", "localhost", "::1"} and not host.startswith("127."):
        pytest.fail(f"a test reached for {host!r}; only this machine's own addresses are allowed")


sys.addaudithook(_refuse_the_network)


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest, so that no process is left alone with one."""
    items.sort(key=lambda item: not any(part in LONG for part in item.path.parts))


def pytest_collection_finish():
    """Keep thousands of tests, which live to the end, out of what is searched for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _collected():
    """Do the same with what earlier files left: some tests look for garbage at their ends."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _forked_readers():
    """Let the processes that read files be forks; tests of their start begin real ones."""
    with pytest.MonkeyPatch.context() as patch:
        if hasattr(os, "fork"):
            from tests.readers import nursery

            patch.setattr(apart, "subprocess", nursery)
        yield
