"""Shards as actors of a real Ray cluster on this machine, which a program of its own asks.

Ray uses the machine's own address, which tests may not reach for.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.testing.small import QUESTIONS

pytest.importorskip("ray")


def test_actors_reply_as_one_process_does():
    path = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parents[4])])
    environment = {**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"}
    run = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, env=environment, check=False
    )
    assert (run.returncode, run.stdout) == (0, "same\nsame\nsame\n"), run.stderr


def main():
    import ray
    from ray.cluster_utils import Cluster

    import clew
    from clew import testing
    from clew.shards import open_shards, split
    from tests.extras.cluster.shards.test_shards import told
    from tests.index.build import scratch

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    with scratch() as place:
        with clew.open(place / "whole") as whole:
            whole.add(testing.small_documents(), triples="cooccurrence")
        split(place / "whole", place / "parts", 2)
        with (
            open_shards(place / "parts") as here,
            open_shards(place / "parts", cluster=f"ray:{cluster.address}", deadline_s=600) as there,
        ):
            for name in ("walk", "agrag", "kill"):
                if name == "kill":
                    ray.kill(there._shards[0].copies[0]._actor, no_restart=False)  # noqa: SLF001
                name = "walk" if name == "kill" else name  # noqa: PLW2901
                both = [told(each.search(QUESTIONS[0], method=name)) for each in (here, there)]
                print("same" if both[0] == both[1] else "other")  # noqa: T201 -- the test reads it
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
