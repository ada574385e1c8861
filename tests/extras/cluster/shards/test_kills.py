"""Shards that are killed or cut off under load: no wrong answer, and none beyond the deadline."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from clew.extras.server import ServerSettings
from clew.shards import open_shards
from tests.extras.cluster.postgres.proxy import between
from tests.extras.cluster.shards import load
from tests.extras.cluster.shards.small import whole_and_parts
from tests.extras.server.conftest import Home
from tests.index.build import MODELS

pytestmark = pytest.mark.slow
DEADLINE_S = 8  # of a question
COMPUTED_S = 4.0  # what this process itself takes for one, where the machine is busy


def check(told):
    """Check what came while something was killed: every answer is right, and came in time."""
    assert not told.get("wrong"), told
    assert not told.get("failed"), told
    assert told["slowest_s"] < DEADLINE_S + COMPUTED_S, told


@pytest.mark.skipif(not find_spec("ray"), reason="the extra ray is not installed")
@pytest.mark.parametrize("copies", [1, 2])
def test_an_actor_and_a_node_are_killed(copies):
    path = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parents[4])])
    run = subprocess.run(
        [sys.executable, load.__file__, str(copies), str(DEADLINE_S)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    steps = [json.loads(line) for line in run.stdout.splitlines()]
    assert [each["killed"] for each in steps] == ["before", "an actor", "a node", "after"]
    for told in steps:
        check(told)
    assert steps[-1]["complete"]
    assert "partial" not in steps[-1]


def test_a_server_is_cut_off():
    """Its port is there, and no byte passes: the other copy replies; without one, a shard lacks."""
    with whole_and_parts(parts=3) as place, ExitStack() as stack:
        parts = [place / "parts" / f"shard-{n:04d}" for n in range(3)]
        proxies, at = [], {part: [] for part in parts}
        for n in range(2):
            home = Home(
                ServerSettings(home=place / str(n), indexes={each.name: each for each in parts})
            )
            host, _, port = (
                stack.enter_context(home.serving()).removeprefix("http://").partition(":")
            )
            proxies.append(stack.enter_context(between((host, int(port)))))
            for part in parts:
                at[part].append(f"http://127.0.0.1:{proxies[n].port}/api/v1/indexes/{part.name}")
        del at[parts[1]][1:]  # which the first server alone has
        served = [",".join(each) for each in at.values()]
        shards = stack.enter_context(open_shards(served, models=MODELS, deadline_s=DEADLINE_S))
        for each in shards._shards:  # noqa: SLF001 -- the first server is asked first
            each.first = 0
        shards.search(load.ASKED[0])
        asking = stack.enter_context(load.Load(shards, load.Expected(parts, models=MODELS)))
        steps = [asking.take(3)]
        proxies[0].pause()
        steps.append(asking.take(5))
        proxies[1].pause()
        nobody = asking.take(10)
        for each in proxies:
            each.mend()
        mended = asking.take(3, load.is_complete)
        steps.append(asking.take(3))
    for told in steps:
        check(told)
    assert ["partial" in told for told in steps[:2]] == [False, True]
    assert "partial" not in steps[2]
    assert nobody["failed"]
    for told in (nobody, mended):
        assert not told.get("wrong")
        assert told["slowest_s"] < DEADLINE_S + COMPUTED_S
    print([*steps, nobody, mended])  # noqa: T201
