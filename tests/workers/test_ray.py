"""Workers of a real Ray cluster of two nodes on this machine, of which parts are killed."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import clew
from clew import errors
from clew.loading import Specs
from clew.testing import small_documents
from tests.index.build import scratch
from tests.workers.test_processes import DRIVER, bytes_of, held

ray = pytest.importorskip("ray")
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from ray.cluster_utils import Cluster  # noqa: E402 -- behind what skips

from clew.workers.ray import RayWorkers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own


@pytest.fixture(scope="module")
def cluster():
    """A head with one core; tests add nodes."""
    found = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "node_ip_address": "127.0.0.1"}
    )
    yield found
    found.shutdown()


@pytest.fixture
def node(cluster):
    """A second node with two cores."""
    added = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    yield added
    if added in cluster.worker_nodes:
        cluster.remove_node(added)


@pytest.fixture
def opened(cluster, node):
    found = RayWorkers(f"ray:{cluster.address}", Specs())
    yield found
    found.close()


@pytest.mark.usefixtures("node")
def test_a_cluster_makes_the_index_of_one_process(cluster, monkeypatch):
    """Rows, names, and triples by rules; on nodes that share no memory."""
    monkeypatch.setattr("clew.index.BATCH_CHARACTERS", 300)
    with scratch() as place:
        for name, workers in (("one", 1), ("ray", f"ray:{cluster.address}")):
            with clew.open(place / name) as index:
                index.add(small_documents(), workers=workers, triples="cooccurrence")
        assert bytes_of(place / "one") == bytes_of(place / "ray")


def test_killed_processes_are_replaced(opened):
    """What they had at hand is done by others."""
    assert opened.n == 3
    pending = [opened.submit("names", [f"Ada {i}"]) for i in range(6)]
    for pid in {opened.submit("process").result() for _ in range(3)}:
        os.kill(pid, signal.SIGKILL)
    pending += [opened.submit("names", [f"Bo {i}"]) for i in range(6)]
    assert [each.result().shape for each in pending] == [(1, 384)] * 12


def test_a_node_that_is_gone_loses_nothing(cluster, node, opened):
    """Its raylet is killed while its tasks run, or their results wait there."""
    pending = [opened.submit("names", [f"Ada {i} {j}" for j in range(200)]) for i in range(9)]
    pending[0].result()
    threading.Timer(0.3, cluster.remove_node, (node,), {"allow_graceful": False}).start()
    assert [each.result().shape for each in pending] == [(200, 384)] * 9


def test_errors_come_as_they_are(opened):
    """As if the work had been done here."""
    with pytest.raises(errors.RecipeMismatch, match="this index was built with the analyzer"):
        opened.submit("rows", [], {"analyzer": "other"}).result()


def test_a_cluster_that_is_not_there():
    """In one sentence, within the time that Ray waits."""
    with pytest.raises(errors.ModelError, match=r"^the Ray cluster 127.0.0.1:9 cannot be reached"):
        RayWorkers("ray:127.0.0.1:9", Specs())


@pytest.mark.usefixtures("node")
def test_a_killed_driver_goes_on(cluster, tmp_path):
    """With what it committed, on the cluster or without it."""
    command = [sys.executable, "-c", DRIVER]
    child = subprocess.Popen(
        [*command, str(tmp_path / "cut"), f"ray:{cluster.address}"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout.readline()
    child.kill()
    child.communicate()
    time.sleep(1)
    for name, workers in (("cut", f"ray:{cluster.address}"), ("whole", "1")):
        subprocess.run(
            [*command, str(tmp_path / name), workers], check=True, stdout=subprocess.DEVNULL
        )
    assert held(tmp_path / "cut") == held(tmp_path / "whole")
