"""An indexing run that fails and is killed, over and over, ends as one that never was disturbed."""

import json
import os
import random
import time

import pytest

from clew.base.types import GRAPH, UNITS
from clew.extras.models.openai import OpenAIChat
from clew.index import extract
from clew.index.choose import ReplyMemory, Wanted
from clew.index.generation import compact
from clew.index.store.embedded import EmbeddedStore
from clew.models import Prompt, Turn
from clew.models.ledger import Ledger, Request
from clew.models.recorded_llm import recorded
from tests.index.build import RECIPE, add, contents, scratch
from tests.index.reads import reply_to
from tests.index.store.corpus import documents
from tests.models.faulty import Billing
from tests.models.nursery import nursery, until_done
from tests.models.server import serving

pytest.importorskip("httpx2")
pytest.importorskip("fastjsonschema")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

WANTED = Wanted(units=0.6, triples="llm")
N_DOCUMENTS = 24
THREADS = 4
LONGEST_LIFE_S = 0.5
MOST_LIVES = 40  # then a run is left to finish


def run(url, folder):
    """Index the corpus with an LLM, as `clew index` would."""
    from pathlib import Path

    from tests.index.test_extract import models

    chat = OpenAIChat(
        base_url=url,
        model="m",
        concurrency=THREADS,
        sleep=lambda _: time.sleep(0.001),
        timeout_s=30.0,
    )
    ledger = Ledger(Path(folder) / "calls.sqlite")
    with EmbeddedStore.create(Path(folder), RECIPE) as store:
        add(store, documents(n=N_DOCUMENTS))
        return extract.run_extractions(store, models(recorded(chat, ledger)), WANTED, ledger=ledger)


def request_of(body):
    """Return the request that a body asks, as the ledger knows it."""
    system, user, *rest = [message["content"] for message in body["messages"]]
    version = ReplyMemory(None, "").prompt_version(GRAPH if "knowledge graph" in system else UNITS)
    schema = body["response_format"]["json_schema"]["schema"]
    prompt = Prompt(
        user=user, system=system, schema=schema, max_tokens=body["max_tokens"], version=version
    )
    return Request(body["model"], prompt, tuple(Turn(text) for text in rest[::2]))


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


def left_by(folder):
    """Return what an index holds, and its one segment once it is compacted."""
    with EmbeddedStore.open(folder) as store:
        held = contents(store)
        compact(store)
        [segment] = (folder / "segments").iterdir()
        return held, segment.read_bytes()


def kill_many(folder, n, seed):
    dice = random.Random(seed)  # noqa: S311 -- instants need no secrecy
    kills = twice = n_calls = 0
    with serving() as server, nursery(__name__) as live:
        while kills < n:
            server.respond = Watched(seed, 0.0).respond
            calm = folder / f"calm{seed}"
            assert live(server.url, calm, 120.0) == 0
            endpoint = Watched(seed, slow_s=0.1, pause_s=0.01)
            target = folder / f"target{seed}"
            target.mkdir()
            endpoint.ledger = Ledger(target / "calls.sqlite")
            server.respond = endpoint.respond
            lives = [dice.uniform(0.01, LONGEST_LIFE_S) for _ in range(MOST_LIVES)]
            kills += until_done(live, server.url, target, lives, 120.0)
            assert endpoint.repeated == 0
            assert left_by(target) == left_by(calm)
            twice += sum(endpoint.answered.values()) - len(endpoint.answered)
            n_calls += len(endpoint.answered)
            seed += 1
    print(f"{kills} kills, {n_calls} calls, {twice} replies under way came twice")  # noqa: T201


@pytest.mark.parametrize(("n", "seed"), [(3, 1), pytest.param(200, 100, marks=pytest.mark.slow)])
def test_killed_at_some_instants(n, seed):
    """Nothing recorded is asked for again, and the index is the undisturbed one."""
    with scratch() as folder:
        kill_many(folder, n, seed)
