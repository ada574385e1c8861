"""Workers of a real Ray cluster of two nodes on this machine, of which parts are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import clew
from clew import errors
from clew.loading import Specs
from clew.models.ledger import Ledger
from clew.testing import HashEmbedder
from tests.models.server import Answer, serving
from tests.workers.cluster import environment, holding, install
from tests.workers.test_processes import bytes_of, held

pytest.importorskip("ray")
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from clew.workers.ray import RayWorkers  # noqa: E402 -- behind what skips

DRIVE = Path(__file__).parent / "drive.py"
LONGEST_S = 90  # of a run, on a machine that is busy
N = 48  # documents of a run in which something is killed


@dataclass
class Place:
    """A folder whose indexes have one embedder, which is slow and says where it runs."""

    folder: Path

    @property
    def pids(self):
        """The processes that the embedder has run in."""
        return {int(each.name) for each in (self.folder / "pids").iterdir()}

    def command(self, name, workers, **options):
        folder = str(self.folder / name)
        specs = {"embedder": f"slow:{self.folder / 'pids'}", **options.pop("specs", {})}
        given = {"folder": folder, "workers": workers, "specs": specs, **options}
        return [sys.executable, str(DRIVE), json.dumps(given)]

    def begin(self, name, workers, n=N, **options):
        """Begin a run, and give its process once some documents are committed."""
        for each in (self.folder / "pids").iterdir():
            each.unlink()
        process = subprocess.Popen(
            self.command(name, workers, n=n, **options),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment(self.folder),
        )  # fmt: skip
        assert process.stdout.readline()
        return process

    def run(self, name, workers, n=N, **options):
        """Run to the end, and give the exit status, what was done, and what was said of it."""
        done = subprocess.run(
            self.command(name, workers, n=n, **options),
            check=False, capture_output=True, text=True, timeout=LONGEST_S,
            env=environment(self.folder),
        )  # fmt: skip
        return done.returncode, done.stdout.splitlines(), done.stderr

    def bytes_of(self, name):
        return bytes_of(self.folder / name)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    (folder / "pids").mkdir()
    install(folder)
    return Place(folder)


@pytest.fixture(scope="module")
def cluster(place):
    with holding(place.folder) as found:
        yield found


@pytest.fixture(scope="module")
def whole(place):
    """What one process makes of the documents, and says meanwhile."""
    status, said, _ = place.run("whole", 1)
    assert status == 0
    return place.bytes_of("whole"), said


def ended(process):
    """Wait for a run that is to end well, and give what it said from its second commit on."""
    said, complaints = process.communicate(timeout=LONGEST_S)
    assert (process.returncode, complaints) == (0, "")
    return said.splitlines()


def test_a_cluster_makes_the_index_of_one_process(cluster, place):
    """Rows, names and triples by rules of the default models, on nodes that share no memory."""
    default = {"embedder": None}
    said = [
        place.run(name, workers, n=0, batch=300, specs=default, triples="cooccurrence")
        for name, workers in (("one", 1), ("ray", cluster.spec))
    ]
    assert said[0] == said[1]
    assert said[0][0] == 0
    assert place.bytes_of("one") == place.bytes_of("ray")


def test_all_workers_are_of_use_and_tell_as_one_process(cluster, place, whole):
    """Three processes embed, and neither progress nor report differ from those of one."""
    process = place.begin("three", cluster.spec)
    said = ended(process)
    assert len(place.pids - {process.pid}) >= 3
    assert said == whole[1][1:]
    assert place.bytes_of("three") == whole[0]


def test_killed_workers_are_replaced(cluster, place, whole):
    """What they had at hand is done by others."""
    process = place.begin("killed", cluster.spec)
    for pid in place.pids - {process.pid}:
        os.kill(pid, signal.SIGKILL)
    assert ended(process) == whole[1][1:]
    assert place.bytes_of("killed") == whole[0]


def test_a_node_that_is_gone_loses_nothing(cluster, place, whole):
    """Its raylet is killed while its tasks run, and their results wait there."""
    process = place.begin("node", cluster.spec)
    os.kill(cluster.raylet, signal.SIGKILL)
    assert ended(process) == whole[1][1:]
    assert place.bytes_of("node") == whole[0]
    cluster.ask("node")


def test_a_killed_driver_goes_on(cluster, place, whole):
    """With what it committed."""
    process = place.begin("cut", cluster.spec)
    process.kill()
    process.communicate()
    with clew.open(place.folder / "cut", models=clew.testing.models()) as opened:
        n = len(opened.snapshot().layer("document"))
    assert 0 < n < N
    status, said, _ = place.run("cut", cluster.spec)
    assert status == 0
    assert len(json.loads(said[-1])) == N - n
    assert place.bytes_of("cut") == whole[0]
