"""A writer that is killed at any instant loses nothing but the batch it was at."""

import random
import signal
import time

import pytest

from clew.index import adding
from tests.extras.cluster.postgres import writers
from tests.extras.cluster.postgres.conftest import index_address


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(adding, "BATCH_CHARACTERS", writers.BATCH_CHARACTERS)


@pytest.fixture
def new(postgres, s3_address):
    """Give addresses of indexes that are not there yet, with their objects on the S3 server."""
    return lambda: index_address(postgres, "s3://bucket/indexes")


@pytest.fixture
def expected(new):
    """Give what an uninterrupted run leaves in each state, and how long it takes."""
    found, address = {}, new()
    for state in (0, 1):
        began = time.perf_counter()
        process = writers.start(writers.build, address, state)
        process.join()
        assert process.exitcode == 0
        found[state] = writers.left(address), time.perf_counter() - began
    writers.check_objects(address)
    return found


def check(address, state, expected):
    writers.check_whole(address)
    writers.resume(address, state)
    assert writers.left(address) == expected[state][0]
    writers.check_objects(address)


def kill_many(new, expected, state, n, seed):
    """Kill runs at instants, and check what each left; most of them must still have been going."""
    rng = random.Random(seed)  # noqa: S311 -- instants need no secrecy
    duration, killed = expected[state][1], 0
    for _ in range(n):
        address = new()
        for before in range(state):
            writers.build(address, before)
        process, instant = writers.start(writers.build, address, state), rng.uniform(0, duration)
        process.join(instant)
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            killed += 1
        else:
            duration = instant  # it was over by then
        check(address, state, expected)
    assert killed >= n // 3  # how long a run takes depends on what else the machine does


@pytest.mark.parametrize(("n", "seed"), [(2, 1), pytest.param(100, 2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("state", [0, 1])
def test_killed_at_some_instants(new, expected, state, n, seed):
    """A run killed at any of them leaves a whole index, and the next one completes it."""
    kill_many(new, expected, state, n, seed)


@pytest.mark.parametrize(
    ("state", "steps"),
    [
        (0, (1, 17, 56)),
        (1, (1, 20, 40)),
        *(pytest.param(state, range(1, 60), marks=pytest.mark.slow) for state in (0, 1)),
    ],
)
def test_killed_before_some_steps(new, expected, state, steps):
    """A run killed right before an upload, a deletion or what is noted of them is as harmless."""
    kill_before(new, expected, state, steps)


def test_nothing_is_paid_for_twice(new, tmp_path):
    """What a run that is killed had recorded is not asked for again, and what it extracted is."""
    whole, address = new(), new()
    writers.start(writers.pay, whole, tmp_path / "whole").join()
    for replies in (1, 3, 6):
        recorded = writers.recorded(address)
        process = writers.start(writers.pay, address, tmp_path / f"{replies}")
        while process.is_alive() and len(writers.recorded(address)) < len(recorded) + replies:
            time.sleep(0.01)
        process.kill()
        process.join()
        assert not recorded & asked(tmp_path / f"{replies}")
    recorded = writers.recorded(address)
    writers.pay(address, tmp_path / "last")
    assert recorded
    assert not recorded & asked(tmp_path / "last")
    assert writers.recorded(address) == asked(tmp_path / "whole")
    assert writers.left(address)[0] == writers.left(whole)[0]


def asked(path):
    return set(path.read_text(encoding="utf-8").split()) if path.exists() else set()


def kill_before(new, expected, state, steps):
    lived = []
    for step in steps:
        address = new()
        for before in range(state):
            writers.build(address, before)
        process = writers.start(writers.build_until, address, state, step)
        process.join()
        lived.append(process.exitcode == 0)
        check(address, state, expected)
    assert not any(lived[:2])
    assert lived[-1]  # the last was never reached: every part of the run had its turn
