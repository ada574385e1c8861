"""A Ray cluster of two nodes on this machine, held by a process of its own.

Ray uses the machine's own address, which tests may not reach for, so no test touches Ray itself:
this program has the nodes, and `tests.extras.cluster.workers.drive` is their driver.
"""

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ABOVE = Path(__file__).parents[4]

# A package whose embedder takes its time, says which process it is in, and refuses a text.
MODULE = """
import os
import time
from dataclasses import dataclass
from pathlib import Path

from clew.errors import ModelError
from clew.testing import HashTokenEmbedder


@dataclass(frozen=True, slots=True)
class Slow(HashTokenEmbedder):
    folder: str = ""

    @property
    def name(self):
        return "slow"

    def embed_tokens(self, texts):
        Path(self.folder, str(os.getpid())).touch()
        if any("Gunpowder" in text for text in texts):
            raise ModelError("the embedder refuses Gunpowder: leave it out")
        time.sleep(float(os.environ.get("SLOW_S", "0.05")))
        return HashTokenEmbedder.embed_tokens(self, texts)


def slow(folder):
    return Slow(folder=folder)
"""
ENTRY_POINTS = "[clew.embedders]\nslow = slow_clew:slow\n"


def environment(packages):
    """Return the variables of processes that find Clew, its tests, and more packages."""
    path = os.pathsep.join([str(packages), *filter(None, sys.path), str(ABOVE)])
    return {**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"}


@dataclass
class Held:
    """A cluster; its processes are told by their numbers, so that a test can kill them."""

    process: subprocess.Popen
    address: str = ""
    door: str = ""  # of its Ray client server
    gcs: int = 0
    raylet: int = 0  # of the second node

    def ask(self, command):
        """Let the process do something, and take over what it says."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        vars(self).update(json.loads(self.process.stdout.readline()))

    @property
    def spec(self):
        return f"ray:{self.address}"


@contextmanager
def holding(packages):
    """Hold a cluster for a block: a head with one core, and a node with two."""
    with subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(packages),
    ) as process:
        held = Held(process)
        held.ask("start")
        yield held
        process.stdin.close()  # which ends it


def main():
    """Hold a cluster until nobody asks for anything any more."""
    from ray.cluster_utils import Cluster

    cluster, door = Cluster(), _free_port() if find_spec("grpc") else None
    for command in sys.stdin:
        if command == "start\n":
            cluster.add_node(num_cpus=1, ray_client_server_port=door)
        for each in list(cluster.worker_nodes):
            cluster.remove_node(each, allow_graceful=False)
        node = cluster.add_node(num_cpus=2)
        cluster.wait_for_nodes()
        said = {
            "address": cluster.address,
            "door": f"127.0.0.1:{door}",
            "gcs": _pid(cluster.head_node, "gcs_server"),
            "raylet": _pid(node, "raylet"),
        }
        print(json.dumps(said), flush=True)  # noqa: T201 -- whoever asked reads it
    cluster.shutdown()


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def _pid(node, name):
    [found] = node.all_processes[name]
    return found.process.pid


if __name__ == "__main__":
    main()
