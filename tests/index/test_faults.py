"""An indexing run that fails and is killed, over and over, ends as one that never was disturbed."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from clew.index import extract
from clew.index.choose import Wanted
from clew.models import Prompt, Turn
from clew.models.conversation import recorded
from clew.models.ledger import Ledger, Request
from clew.models.openai import OpenAIChat
from clew.store.embedded import EmbeddedStore
from clew.types import GRAPH, UNITS
from tests.index.build import RECIPE, add, contents, scratch
from tests.index.reads import reply_to
from tests.models.faulty import Billing
from tests.models.server import serving
from tests.store.corpus import documents

pytest.importorskip("httpx2")
pytest.importorskip("fastjsonschema")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

WANTED = Wanted(units=0.6, triples="llm")
N_DOCUMENTS = 40
THREADS = 4
LONGEST_LIFE_S = 0.8
MOST_LIVES = 40  # then a run is left to finish

# It imports once and forks for every life; the dead child stays until it is waited for.
NURSERY = """
import fastjsonschema, os, signal, sys, time
import clew.models.http
from tests.index.test_faults import build

for line in sys.stdin:
    url, folder, life_s = line.split()
    child = os.fork()
    if child == 0:
        build(url, folder)
        os._exit(0)
    end = time.monotonic() + float(life_s)
    done = 0
    while not done and time.monotonic() < end:
        time.sleep(max(0.0, min(0.01, end - time.monotonic())))
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    print(status, flush=True)
"""


def build(url, folder):
    """Index the corpus with an LLM, as `clew index` would."""
    from pathlib import Path

    from tests.index.test_extract import models

    chat = OpenAIChat(
        base_url=url,
        model="m",
        concurrency=THREADS,
        sleep=lambda _: time.sleep(0.001),
        timeout_s=0.3,
    )
    ledger = Ledger(Path(folder) / "calls.sqlite")
    with EmbeddedStore.create(Path(folder), RECIPE) as store:
        add(store, documents(n=N_DOCUMENTS))
        return extract.extract(store, models(recorded(chat, ledger)), WANTED, ledger=ledger)


def request_of(body):
    """Return the request that a body asks, as the ledger knows it."""
    system, user, *rest = [message["content"] for message in body["messages"]]
    name = "graph" if "knowledge graph" in system else "units"
    version = {UNITS: _version(UNITS), GRAPH: _version(GRAPH)}[name]
    schema = body["response_format"]["json_schema"]["schema"]
    prompt = Prompt(
        user=user, system=system, schema=schema, max_tokens=body["max_tokens"], version=version
    )
    return Request(body["model"], prompt, tuple(Turn(text) for text in rest[::2]))


def _version(kind):
    from clew.layers.graph import graph_prompt
    from clew.layers.units import units_prompt

    return (units_prompt([""]) if kind == UNITS else graph_prompt([""], [()])).version


class Watched(Billing):
    """An endpoint that reads passages, fails, and looks into its client's ledger."""

    ledger = None
    repeated = 0

    def respond(self, request):
        asked = request_of(request.json)
        if self.ledger is not None:
            self.repeated += self.ledger.recall(asked) is not None
        key = asked.key()
        attempt = self.asked[key]
        self.asked[key] += 1
        return self.answer(request.json, asked, key, self.fault(key, attempt))

    def completion(self, body, asked, key):
        reply = super().completion(body, asked, key)
        message = reply["choices"][0]["message"]
        if message["content"].startswith("{"):
            message["content"] = json.dumps(reply_to(asked.prompt.system, asked.prompt.user))
        return reply


@contextmanager
def nursery():
    """Give a function that starts a run, kills it after some seconds, and says how it ended."""
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def live(url, folder, life_s):
            process.stdin.write(f"{url} {folder} {life_s}\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield live
        process.stdin.close()


def left_by(folder):
    """Return what an index holds, and its one segment once it is compacted."""
    with EmbeddedStore.open(folder) as store:
        held = contents(store)
        store.compact()
        [segment] = (folder / "segments").iterdir()
        return held, segment.read_bytes()


def kill_many(folder, n, seed):
    dice = random.Random(seed)  # noqa: S311 -- instants need no secrecy
    kills = twice = n_calls = 0
    with serving() as server, nursery() as live:
        while kills < n:
            server.respond = Watched(seed, 0.0).respond
            calm = folder / f"calm{seed}"
            assert live(server.url, calm, 120.0) == 0
            endpoint = Watched(seed, slow_s=0.4, pause_s=0.01)
            target = folder / f"target{seed}"
            target.mkdir()
            endpoint.ledger = Ledger(target / "calls.sqlite")
            server.respond = endpoint.respond
            at_rest = threading.active_count()
            lives = [dice.uniform(0.01, LONGEST_LIFE_S) for _ in range(MOST_LIVES)]
            for life_s in (*lives, 120.0):
                status = live(server.url, target, life_s)
                if not os.WIFSIGNALED(status):
                    break
                kills += 1
                while threading.active_count() > at_rest:  # the server is busy for the dead
                    time.sleep(0.005)
            assert status == 0
            assert endpoint.repeated == 0
            assert left_by(target) == left_by(calm)
            twice += sum(endpoint.answered.values()) - len(endpoint.answered)
            n_calls += len(endpoint.answered)
            seed += 1
    print(f"{kills} kills, {n_calls} calls, {twice} replies under way came twice")  # noqa: T201


def test_killed_at_some_instants():
    """At 15 instants: nothing recorded is asked for again, and the index is the undisturbed one."""
    with scratch() as folder:
        kill_many(folder, 15, seed=1)


@pytest.mark.slow
def test_killed_at_many_instants():
    """At 200 instants: nothing recorded is asked for again, the index is the undisturbed one."""
    with scratch() as folder:
        kill_many(folder, 200, seed=100)
