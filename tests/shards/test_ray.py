"""Shards as actors of a real Ray cluster on this machine."""

import os

import pytest

import clew
from clew import testing
from clew.shards import open_shards, split
from clew.testing.small import QUESTIONS
from tests.index.build import scratch
from tests.shards.test_shards import told

ray = pytest.importorskip("ray")
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from ray.cluster_utils import Cluster  # noqa: E402 -- behind what skips

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own


@pytest.fixture
def cluster():
    found = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "node_ip_address": "127.0.0.1"}
    )
    yield found
    ray.shutdown()
    found.shutdown()


def test_actors_reply_as_this_process_does(cluster):
    """The same evidence comes from actors; one that is killed is there again."""
    with scratch() as place:
        with clew.open(place / "whole") as whole:
            whole.add(testing.small_documents(), triples="cooccurrence")
        split(place / "whole", place / "parts", 2)
        with (
            open_shards(place / "parts") as here,
            open_shards(place / "parts", cluster=f"ray:{cluster.address}") as there,
        ):
            for name in ("walk", "agrag"):
                assert told(there.search(QUESTIONS[0], method=name)) == told(
                    here.search(QUESTIONS[0], method=name)
                )
            ray.kill(there._shards[0]._actor, no_restart=False)  # noqa: SLF001 -- to end it
            assert there.search(QUESTIONS[0]).hits == here.search(QUESTIONS[0]).hits
