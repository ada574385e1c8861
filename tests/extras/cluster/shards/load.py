"""Questions asked without a pause while shards are killed, and what became of each.

As a program it does so on a Ray cluster of two nodes: tests may not reach for Ray's own address.
"""

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager

import clew
from clew import errors, testing
from clew.extras.cluster.shards.asking import Shard
from clew.extras.cluster.shards.index import Shards
from clew.extras.cluster.shards.links import LocalShard
from clew.shards import open_shards, split
from clew.testing.small import QUESTIONS
from tests.extras.cluster.shards.test_shards import told
from tests.index.build import scratch

ASKED = QUESTIONS[:4]


class _Severed(LocalShard):
    """A shard that does not reply once it is severed."""

    is_severed = False

    def ask(self, request):
        if self.is_severed:
            raise errors.StoreError("severed")
        return super().ask(request)


class Expected:
    """What questions give, complete or without some shards, by shards of this process."""

    def __init__(self, places, **how):
        self._places, self._how = places, how
        self._known = {}

    def get(self, question, missing):
        if (question, missing) not in self._known:
            links = [_Severed(clew.open(each)) for each in self._places]
            own = [
                Shard([link], place.name, is_here=True)
                for link, place in zip(links, self._places, strict=True)
            ]
            with Shards(own, self._places[0], **self._how) as shards:
                shards.search(question)
                for link, place in zip(links, self._places, strict=True):
                    link.is_severed = place.name in missing
                self._known[question, missing] = told(shards.search(question))
        return self._known[question, missing]


class Load:
    """A thread that asks, and records every answer: its shards, whether it is right, its time."""

    def __init__(self, shards, expected):
        self._shards, self._expected = shards, expected
        self._answers = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def _ask(self):
        n = 0
        while not self._ends.is_set():
            question, began = ASKED[n % len(ASKED)], time.monotonic()
            try:
                found = self._shards.search(question)
            except errors.StoreError as error:
                found = str(error)
            self._answers.append((question, found, time.monotonic() - began))
            n += 1

    def take(self, seconds, until=lambda _: True, most=90):
        """Go on for some seconds, and until the last answer is as wanted; say what came."""
        del self._answers[:]
        began = time.monotonic()
        while time.monotonic() - began < most:
            time.sleep(0.1)
            last = self._answers[-1][1] if self._answers else None
            if time.monotonic() - began >= seconds and last is not None and until(last):
                break
        answers, counts = list(self._answers), Counter()
        for question, found, _ in answers:
            if isinstance(found, str):
                counts["failed"] += 1
            elif told(found) != self._expected.get(question, found.missing):
                counts["wrong"] += 1
            else:
                counts["partial" if found.partial else "complete"] += 1
        slowest = max((taken for _, _, taken in answers), default=0.0)
        return {**counts, "slowest_s": round(slowest, 2)}

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()


def is_complete(found):
    return not isinstance(found, str) and not found.partial


@contextmanager
def clustered(place):
    """Give a cluster of a head without actors and two nodes, and shards on it."""
    import ray
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args=small)
    nodes = [cluster.add_node(**small)]
    cluster.wait_for_nodes()
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


def main(copies, deadline_s):
    """Kill an actor, then a node, under load; print what came in a line for each."""
    with scratch() as place:
        with clew.open(place / "whole") as whole:
            whole.add(testing.small_documents(), triples="cooccurrence")
        places = split(place / "whole", place / "parts", 2)
        with clustered(place) as (cluster, nodes):
            how = {"cluster": f"ray:{cluster.address}", "copies": copies, "deadline_s": 120}
            with open_shards(place / "parts", **how) as shards:
                for question in ASKED:
                    shards.search(question)
                shards._deadline_s = deadline_s  # noqa: SLF001 -- once all has begun
                with Load(shards, Expected(places)) as load:
                    _say("before", load.take(3))
                    _kill_actor(shards._shards[0].copies[0])  # noqa: SLF001
                    _say("an actor", load.take(3, is_complete))
                    cluster.remove_node(nodes[0], allow_graceful=False)
                    _say("a node", load.take(3, is_complete))
                    _say("after", load.take(3))


def _kill_actor(copy):
    """Kill the process of an actor, as the machine's memory running out would."""
    import ray

    pid = ray.get(copy._actor.__ray_call__.remote(lambda _: os.getpid()))  # noqa: SLF001
    os.kill(pid, signal.SIGKILL)


def _say(what, counts):
    print(json.dumps({"killed": what, **counts}), flush=True)  # noqa: T201 -- the test reads it


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
