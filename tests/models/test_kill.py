"""A run that is killed at any instant pays again only for what was under way."""

import gc
import os
import random
import time

import pytest

from clew.models import Prompt
from clew.models.conversation import recorded
from clew.models.ledger import Ledger
from clew.models.openai import OpenAIChat
from tests.models.faulty import SCHEMA, Billing, request_of
from tests.models.nursery import nursery, until_done
from tests.models.server import serving

pytest.importorskip("httpx2")
pytest.importorskip("fastjsonschema")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

N_PROMPTS = 60
THREADS = 4
LONGEST_LIFE_S = 0.25
MOST_LIVES = 10  # then a run is left to finish


def prompts():
    return [Prompt(user=f"Question {i}?", schema=SCHEMA, max_tokens=40) for i in range(N_PROMPTS)]


def chat_at(url):
    return OpenAIChat(
        base_url=url,
        model="m",
        concurrency=THREADS,
        sleep=lambda _: time.sleep(0.001),
        timeout_s=30.0,
    )


def run(url, path):
    """Ask all prompts, in a child that may be killed."""
    assert len(recorded(chat_at(url), Ledger(path)).complete(prompts())) == N_PROMPTS


class Watched(Billing):
    """An endpoint that looks into its client's ledger at every request."""

    def watch(self, ledger):
        self.ledger, self.repeated = ledger, 0
        return self

    def respond(self, request):
        self.repeated += self.ledger.recall(request_of(request.json)) is not None
        return super().respond(request)


def campaign(server, live, ledger, seed, dice):
    """Kill and restart until all is done; return how often, and how many replies came twice."""
    billing = Watched(seed, slow_s=0.1, pause_s=0.005).watch(ledger)
    server.respond = billing.respond
    lives = [dice.uniform(0.01, LONGEST_LIFE_S) for _ in range(MOST_LIVES)]
    kills = until_done(live, server.url, ledger.path, lives, 60.0)
    assert billing.repeated == 0
    return kills, sum(billing.answered.values()) - len(billing.answered)


def check(server, ledger, seed):
    """Check that the ledger alone gives all replies, those of a run without faults."""
    server.respond = Billing(seed, 0.0).respond
    expected = chat_at(server.url).complete(prompts())
    n_requests = len(server.requests)
    replies = recorded(chat_at(server.url), ledger).complete(prompts())
    assert [(r.text, r.data, r.error) for r in replies] == [
        (r.text, r.data, r.error) for r in expected
    ]
    assert len(server.requests) == n_requests


def kill_many(folder, n, seed):
    dice = random.Random(seed)  # noqa: S311 -- instants need no secrecy
    kills = twice = 0
    with serving() as server, nursery(__name__) as live:
        while kills < n:
            ledger = Ledger(folder / f"{seed}.sqlite")
            more = campaign(server, live, ledger, seed, dice)
            check(server, ledger, seed)
            gc.collect()  # connections close with their endpoint
            kills, twice, seed = kills + more[0], twice + more[1], seed + 1
    print(f"{kills} kills, {twice} replies came twice")  # noqa: T201 -- shown by pytest -s


def test_killed_at_some_instants(tmp_path):
    """At 8 instants: what the ledger has is never asked for again, and going on gives all."""
    kill_many(tmp_path, 8, seed=1)


@pytest.mark.slow
def test_killed_at_many_instants(tmp_path):
    """At 200 instants: what the ledger has is never asked for again, and going on gives all."""
    kill_many(tmp_path, 200, seed=100)
