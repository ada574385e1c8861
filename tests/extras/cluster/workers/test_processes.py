"""Workers on this machine: real processes with the default model."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew import errors
from clew.extras.cluster import workers
from clew.index import recipe as recipes
from clew.models.loading import Specs, load_models
from clew.testing import small_documents
from tests import snapshots
from tests.index.build import scratch

pytest.importorskip("ctranslate2")
from clew.extras.cluster.workers.processes import ProcessWorkers


class Deadly:
    """Ends the process that receives it."""

    def __reduce__(self):
        return os._exit, (1,)


@pytest.fixture(scope="module")
def two():
    """Two processes, for all tests of this module that leave them whole."""
    opened = ProcessWorkers(2, Specs())
    yield opened
    opened.close()


def bytes_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "calls.sqlite"  # which keeps seconds
    }


def test_processes_make_the_index_of_one(monkeypatch):
    monkeypatch.setattr("clew.index.adding.BATCH_CHARACTERS", 300)
    with scratch() as place:
        for n in (1, 2):
            with clew.open(place / str(n)) as opened:
                opened.add(small_documents(), workers=n, triples="cooccurrence")
        assert bytes_of(place / "1") == bytes_of(place / "2")


def test_a_worker_that_is_killed_is_replaced(two):
    pending = [two.submit("names", [f"Ada {i}"]) for i in range(6)]
    os.kill(two.submit("process").result(), signal.SIGKILL)
    pending += [two.submit("names", [f"Bo {i}"]) for i in range(6)]
    found = [each.result() for each in pending]
    assert [each.shape for each in found] == [(1, 384)] * 12
    with pytest.raises(errors.ModelError, match="ended 3 times at the same work.*--workers 1"):
        two.submit("names", Deadly()).result()


def test_errors_come_as_they_are(two):
    recipe = recipes.build_model_recipe(load_models(Specs()))
    with pytest.raises(errors.RecipeMismatch, match="the embedder 'other', not"):
        two.submit("rows", [], {**recipe, "embedder": "other"}, {}).result()
    with closing(ProcessWorkers(2, Specs(embedder="none:such"))) as without:  # noqa: SIM117
        with pytest.raises(errors.InputError, match="there is no embedder"):
            without.submit("names", ["x"]).result()


def test_workers_that_cannot_be():
    for spec in ("many", "-1", "ray:", "ray:a/b", -1, True):
        with pytest.raises(
            errors.InputError, match="workers must be a number of processes, or ray"
        ):
            workers.open_workers(spec, Specs())
    assert workers.open_workers("1", Specs()) is None
    with pytest.raises(errors.InputError, match="9000 workers are more than the"):
        workers.open_workers(9_000, Specs())
    with (
        scratch() as place,
        clew.open(place / "x", models=clew.testing.models()) as opened,
        pytest.raises(errors.InputError, match="workers load models by name"),
    ):
        opened.add(small_documents(), workers=2)


def test_cores_are_divided(two, monkeypatch):
    from clew.base.runtime.threads import cores

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert cores() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1000000")
    most = cores()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert cores() == most
    assert workers.open_workers(0, Specs()) is None or most > 1


DRIVER = """
import sys
import clew, clew.index
from tests import snapshots
clew.index.adding.BATCH_CHARACTERS = 2_000
documents = [clew.Document(id=f"{i}", text=f"Ada Quist came to {i}. " * 40) for i in range(40)]
with clew.open(sys.argv[1]) as index:
    index.add(documents, workers=sys.argv[2], on_progress=lambda n: print(n, flush=True))
"""


@pytest.mark.slow
def test_a_killed_driver_leaves_no_process_and_what_it_committed(tmp_path):
    """The workers end by themselves; the same call goes on and leaves equal bytes."""
    command = [sys.executable, "-c", DRIVER]
    child = subprocess.Popen(
        [*command, str(tmp_path / "cut"), "2"], stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert child.stdout.readline()
    child.kill()
    child.communicate()
    deadline = time.monotonic() + 120
    while _alive(child.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(child.pid)
    for name, n in (("cut", "2"), ("whole", "1")):
        subprocess.run([*command, str(tmp_path / name), n], check=True, stdout=subprocess.DEVNULL)
    assert held(tmp_path / "cut") == held(tmp_path / "whole")


def held(folder):
    with clew.open(folder) as opened:
        return snapshots.contents(opened.snapshot())


def _alive(session):
    """Return the processes of a session that live."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(place.name)
    return found
