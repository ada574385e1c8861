"""Workers of a real Ray cluster of two nodes on this machine, of which parts are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.base.runtime import sqlite
from clew.index.store.embedded import EmbeddedStore
from clew.models.cache import _key
from clew.models.ledger import Ledger
from clew.testing import HashEmbedder
from tests.extras.cluster.workers.cluster import ENTRY_POINTS, MODULE, environment, holding
from tests.extras.cluster.workers.test_processes import bytes_of
from tests.index.build import is_one_sentence
from tests.index.reads import reply_to
from tests.index.store.test_kill import left_by
from tests.installed import install
from tests.models.server import Answer, serving

pytest.importorskip("ray")

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
    install(folder, "slow_clew", MODULE, ENTRY_POINTS)
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
    default = {"embedder": None}
    said = [
        place.run(name, workers, n=0, batch=300, specs=default, triples="cooccurrence")
        for name, workers in (("one", 1), ("ray", cluster.spec))
    ]
    assert said[0] == said[1]
    assert said[0][0] == 0
    assert place.bytes_of("one") == place.bytes_of("ray")


def test_all_workers_are_of_use_and_tell_as_one_process(cluster, place, whole):
    process = place.begin("three", cluster.spec)
    said = ended(process)
    assert len(place.pids - {process.pid}) >= 3
    assert said == whole[1][1:]
    assert place.bytes_of("three") == whole[0]


def test_a_cluster_is_reached_from_outside(cluster, place, whole):
    pytest.importorskip("grpc")
    said = place.run("outside", f"ray://{cluster.door}")
    assert said == (0, whole[1], "")
    assert place.bytes_of("outside") == whole[0]


def test_killed_workers_are_replaced(cluster, place, whole):
    process = place.begin("killed", cluster.spec)
    for pid in place.pids - {process.pid}:
        os.kill(pid, signal.SIGKILL)
    assert ended(process) == whole[1][1:]
    assert place.bytes_of("killed") == whole[0]


def test_a_node_that_is_gone_loses_nothing(cluster, place, whole):
    process = place.begin("node", cluster.spec)
    os.kill(cluster.raylet, signal.SIGKILL)
    assert ended(process) == whole[1][1:]
    assert place.bytes_of("node") == whole[0]
    cluster.ask("node")


def n_documents(folder):
    with EmbeddedStore.open(folder) as store:
        return len(store.hashes())


def test_a_killed_driver_goes_on(cluster, place, whole):
    process = place.begin("cut", cluster.spec)
    process.kill()
    process.communicate()
    n = n_documents(place.folder / "cut")
    assert 0 < n < N
    status, said, _ = place.run("cut", cluster.spec)
    assert (status, len(json.loads(said[-1]))) == (0, N - n)
    assert left_by(place.folder / "cut") == left_by(place.folder / "whole")


def test_a_driver_that_is_asked_to_end_does(cluster, place, whole):
    """Behind the documents at hand, as without Ray, which would end it at once."""
    process = place.begin("asked", cluster.spec)
    process.terminate()
    said, complaints = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 0
    assert complaints.startswith("clew: stopping after these documents")
    assert 0 < len(json.loads(said.splitlines()[-1])) == n_documents(place.folder / "asked") < N
    assert place.run("asked", cluster.spec)[0] == 0
    assert left_by(place.folder / "asked")[:2] == left_by(place.folder / "whole")[:2]


class Paid:
    """An endpoint that says by rules what it is asked, and counts it; it kills who asks too much.

    Who that is, is in `victim`, and `left` how many requests are answered before.
    """

    def __init__(self):
        self.asked = Counter()
        self.left = 0
        self.victim = None

    def respond(self, request):
        self.left -= 1
        if not self.left and self.victim is not None:
            self.victim.kill()
        body = request.json
        if body is None:  # is anybody there?
            return Answer({"data": []})
        if "input" in body:
            return self.vectors(body["input"])
        system, user = [each["content"] for each in body["messages"]]
        self.asked[user] += 1
        message = {"role": "assistant", "content": json.dumps(reply_to(system, user))}
        usage = {"prompt_tokens": len(user), "completion_tokens": 10}
        choice = {"message": message, "finish_reason": "stop"}
        return Answer({"choices": [choice], "usage": usage}, delay_s=0.05)

    def vectors(self, texts):
        self.asked.update(texts)
        rows = HashEmbedder(16).embed(texts, kind="document").tolist()
        data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
        return Answer({"data": data}, delay_s=0.05)

    def kill_at(self, left, process):
        self.left, self.victim = left, process
        process.communicate(timeout=LONGEST_S)
        self.victim = None
        assert process.returncode == -signal.SIGKILL


@pytest.fixture
def paid():
    with serving() as server:
        found = Paid()
        found.url, server.respond = server.url, found.respond
        yield found


def test_no_reply_is_paid_for_twice(cluster, place, paid):
    """The driver keeps the ledger: killed, it asks for what is not in there, once."""
    asks = {"specs": {"llm": f"openai:m@{paid.url}"}, "units": 1.0, "triples": "llm"}
    assert place.run("read", 1, **asks)[0] == 0
    wanted, paid.asked = paid.asked, Counter()
    assert set(wanted.values()) == {1}
    paid.kill_at(len(wanted) // 2, place.begin("billed", cluster.spec, **asks))
    ledger = Ledger(place.folder / "billed" / "calls.sqlite")
    kept = sum(each.calls for each in ledger.totals().values())
    assert 0 < kept < len(wanted)
    paid.asked.clear()
    assert place.run("billed", cluster.spec, **asks)[0] == 0
    assert (set(paid.asked.values()), len(paid.asked)) == ({1}, len(wanted) - kept)
    assert left_by(place.folder / "billed") == left_by(place.folder / "read")


def kept_texts(file, asked):
    with sqlite.connect(file, wait=5) as database:
        keys = {key for (key,) in sqlite.rows(database, "SELECT key FROM vectors")}
    return {text for text in asked if _key("e", "document", text) in keys}


def test_no_vector_is_paid_for_twice(cluster, place, paid):
    """An embedder that is paid is asked by the driver, which keeps what it gives."""
    asks = {"specs": {"embedder": f"openai:e@{paid.url}"}, "batch": 400}
    assert place.run("embedded", 1, **asks)[0] == 0
    wanted, paid.asked = set(paid.asked), Counter()
    paid.kill_at(12, place.begin("bought", cluster.spec, **asks))
    kept = kept_texts(place.folder / "bought" / "embeddings.sqlite", wanted)
    assert kept
    paid.asked.clear()
    assert place.run("bought", cluster.spec, **asks)[0] == 0
    assert set(paid.asked) == wanted - kept - {"dimension"}  # which the index has in its recipe
    assert left_by(place.folder / "bought") == left_by(place.folder / "embedded")
    assert not place.pids


@pytest.mark.parametrize("fault", [{"refused": [30, 33, 36]}, {"twice": 40}])
def test_an_error_ends_as_with_one_process(cluster, place, fault):
    said = [place.run(f"{workers:.3} {fault}", workers, **fault) for workers in ("1", cluster.spec)]
    assert said[0] == said[1]
    assert said[0][0] == 1
    assert "Error: " in said[0][2]
    assert is_one_sentence(said[0][2].strip())
    assert n_documents(place.folder / f"1 {fault}") == sum(map(int, said[0][1])) > 20
    assert left_by(place.folder / f"1 {fault}") == left_by(place.folder / f"ray {fault}")


OTHER = """
import sys
from clew.models.loading import Specs
from clew.extras.cluster.workers.ray import RayWorkers
RayWorkers(sys.argv[1], Specs()).submit("rows", [], {"analyzer": "other"}).result()
"""


def test_a_node_with_other_models_refuses(cluster, place):
    done = subprocess.run(
        [sys.executable, "-c", OTHER, cluster.spec],
        check=False, capture_output=True, text=True, env=environment(place.folder),
    )  # fmt: skip
    last = done.stderr.splitlines()[-1]
    assert last.startswith("clew.errors.RecipeMismatch: this index was built with the analyzer")


@pytest.mark.parametrize(
    ("workers", "address"),
    [("ray:127.0.0.1:9", ""), ("ray", "127.0.0.1:9"), ("ray://127.0.0.1:9", "")],
)
def test_a_cluster_that_is_not_there(place, tmp_path, workers, address):
    (tmp_path / "a.txt").write_text("Ada Quist came.")
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "clew", "index", "a.txt", "--into", "x", "--workers", workers],
        check=False, capture_output=True, text=True, cwd=tmp_path,
        env=environment(place.folder) | {"RAY_ADDRESS": address},
    )  # fmt: skip
    assert time.monotonic() - began < 15
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("clew: the Ray cluster ")
    assert "127.0.0.1:9 cannot be reached ([Errno 111] Connection refused): start one" in line


def test_a_head_that_is_gone_ends_a_run(place):
    """In one sentence, with what was committed; workers of this machine go on."""
    with holding(place.folder) as own:
        process = place.begin("head", own.spec, n=400, patience=[0.1, 1.0])
        os.kill(own.gcs, signal.SIGKILL)
        said, complaints = process.communicate(timeout=LONGEST_S)
        assert process.returncode == 1
        assert complaints.startswith(f"ModelError: the head of the Ray cluster {own.address} is")
        assert is_one_sentence(complaints.strip())
        status, _, complaints = place.run("head", own.spec, n=400)
        assert status == 1
        assert complaints.startswith(f"ModelError: the Ray cluster {own.address} cannot be")
    assert n_documents(place.folder / "head") == 3 + sum(map(int, said.split()))
    assert place.run("head", 2, n=400)[0] == 0
    told = place.run("headed", 1, n=400)
    assert told[0] == 0, told
    assert left_by(place.folder / "head") == left_by(place.folder / "headed")
