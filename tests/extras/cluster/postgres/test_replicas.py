"""Servers of one index in PostgreSQL, and processes that write to it, while some are killed."""

import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

import clew

WRITER = """
import sys, time, clew
from clew.base.types import Document
address, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with clew.open(address) as index:
    for k in range(first, last):
        text = f"The beacon of hill {k} was lit by Mira Toll in {1600 + k}."
        index.add([Document(id=f"hill-{k:03d}", text=text)])
        print(k, index.catch_up(), time.time(), flush=True)
"""


@contextmanager
def replica(address, home):
    """Give the address of a server, and its process."""
    command = [sys.executable, "-m", "clew", "serve", f"hills={address}"]
    given = ["--port", "0", "--home", str(home), "--log-format", "none"]
    with subprocess.Popen([*command, *given], stderr=subprocess.PIPE, text=True) as process:
        try:
            told = process.stderr.readline()
            assert " at http://" in told, told + process.stderr.read()
            yield told.split(" at ")[1].strip(), process
        finally:
            process.kill()


def writer(address, first, last):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, address, str(first), str(last)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Reader(threading.Thread):
    """Asks servers in turn how many documents there are, and never wants to go back in time."""

    def __init__(self, places, seed, *, asks_for_token):
        super().__init__(daemon=True)
        self.places, self.random = places, random.Random(seed)  # noqa: S311 -- no secret
        self.asks_for_token = asks_for_token
        self.over = threading.Event()
        self.seen, self.faults = [], []  # (documents, generation, time, seconds)

    def run(self):
        token = 0
        with httpx2.Client(timeout=120) as http:
            while not self.over.is_set():
                place = self.random.choice(list(self.places))
                headers = {"X-Clew-Generation": str(token)} if self.asks_for_token else {}
                began = time.perf_counter()
                try:
                    reply = http.post(
                        f"{place}/api/v1/indexes/hills/search",
                        json={"query": "Who lit a beacon?", "parameters": {"chunks": 200}},
                        headers=headers,
                    )
                except httpx2.RequestError:
                    continue  # it was killed
                if reply.status_code != 200:
                    self.faults.append(reply.text)
                    return
                took = time.perf_counter() - began
                token = int(reply.headers["x-clew-generation"])
                ids = {hit["document_id"] for hit in reply.json()["hits"]}
                self.seen.append((ids, token, time.time(), took))


def told_by(process, most=1_000):
    """Return what a writer tells of its commits: the number of each, its generation and time."""
    told = []
    while len(told) < most and (line := process.stdout.readline()):
        k, generation, at = line.split()
        told.append((int(k), int(generation), float(at)))
    return told


@pytest.mark.slow
def test_replicas_under_load(address, tmp_path):
    """Each answer is of a committed generation, and none goes back for who asks for a token.

    Three servers answer while one writer commits; a server and the writer are killed.
    """
    with clew.open(address) as index:
        index.add([clew.Document(id="hill-000", text="The beacon of hill 0 was lit in 1600.")])
        first = index.catch_up()
    with ExitStack() as stack:
        servers = [stack.enter_context(replica(address, tmp_path / f"home-{i}")) for i in range(3)]
        places = {place for place, _ in servers}
        readers = [Reader(places, seed, asks_for_token=seed != 2) for seed in range(3)]
        for reader in readers:
            reader.start()
        with writer(address, 1, 200) as first_writer:
            commits = told_by(first_writer, 3)
            with writer(address, 500, 501) as second:  # while the lease is the first one's
                assert second.wait(60) == 1
                assert "IndexLocked: another process is writing to" in second.stderr.read()
            place, server = servers[0]
            server.kill()
            places.discard(place)
            commits += told_by(first_writer, 3)
            first_writer.send_signal(signal.SIGKILL)
            commits += told_by(first_writer)
        with clew.open(address) as index:
            left = len(index)  # one more may have been committed than was told
        commits += [(left - 1, 0, time.time())] * (left > len(commits) + 1)
        with writer(address, left, left + 3) as last:
            commits += told_by(last)
            assert last.wait(60) == 0
        time.sleep(2)
        for reader in readers:
            reader.over.set()
        for reader in readers:
            reader.join()
    check(readers, commits, first)


def check(readers, commits, first):
    most = max(k for k, _, _ in commits)
    for reader in readers:
        assert not reader.faults
        assert len(reader.seen) > 10
        for ids, token, at, _ in reader.seen:
            # What is there is what one commit after the other brought, and none is half there.
            assert ids == {f"hill-{k:03d}" for k in range(len(ids))}
            assert token >= first
            known = [k for k, generation, then in commits if then < at - 1.5]
            assert len(ids) >= max(known, default=0) + 1  # a second, and what a busy machine adds
        if reader.asks_for_token:
            counts = [len(ids) for ids, *_ in reader.seen]
            assert counts == sorted(counts)
        assert len(reader.seen[-1][0]) == most + 1


def test_a_generation_that_is_not_there(address, tmp_path):
    """A generation that no commit made, and no number: both are refused in one sentence."""
    with clew.open(address) as index:
        index.add([clew.Document(id="a", text="The beacon was lit by Mira Toll.")])
    with replica(address, tmp_path / "home") as (place, _):
        route = f"{place}/api/v1/indexes/hills/search"
        for asked, status in (("99", 412), ("x", 400), ("1", 200)):
            headers = {"X-Clew-Generation": asked}
            reply = httpx2.post(route, json={"query": "Mira"}, headers=headers, timeout=120)
            assert reply.status_code == status
        client = clew.Client(place, monotonic_reads=True)
        with client:
            assert client.index("hills").search("Mira").hits


@pytest.mark.parametrize("kill", [False, True])
def test_one_index_reads_on_while_another_writes(address, kill):
    """An index that follows opens what others commit beside its questions."""
    with clew.open(address) as index:
        index.add([clew.Document(id="hill-000", text="The beacon of hill 0 was lit in 1600.")])
        index.snapshot()
        index.follow(0.05)
        with writer(address, 1, 6) as process:
            commits = told_by(process, 3)
            if kill:
                process.kill()
            commits += told_by(process)
        until = time.monotonic() + 60
        while len(index) > len(index.snapshot().document_layer) and time.monotonic() < until:
            time.sleep(0.02)
        assert len(index.snapshot().document_layer) == len(index) >= len(commits) + 1
