"""An import that dies at any instant loses nothing but the batch it was at."""

import os
import random
import shutil
import signal
import time

import pytest

from clew.index import graph
from clew.index.store.embedded import EmbeddedStore
from tests.index.build import create, scratch
from tests.index.graphs import take, write
from tests.index.store.deadly import deadly, start_child
from tests.index.store.test_kill import left_by

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

_PORTS = "Larvik,Vardø,Oslo,Bergen,Hobart,Lyttelton,Svelvik".split(",")


def lines(state):
    """Return a graph; in state 1 some subjects are changed, some gone, and some new."""
    return [
        [f"Ship {number}", "called at", f"{_PORTS[(number * 3 + i) % len(_PORTS)]} {i}"]
        for number in range(8 * state, 60 + 8 * state)
        for i in range(2 + (number + state) % 3)
    ]


def build(folder, state):
    with create(folder / "index") as store:
        take(store, folder / f"{state}" / "ships.jsonl")


@pytest.fixture(scope="module")
def states():
    """Give a folder with the index in both states, and what an uninterrupted run leaves."""
    with pytest.MonkeyPatch.context() as patch, scratch() as folder:
        patch.setattr(graph, "BATCH_TRIPLES", 15)
        for state in (0, 1):
            (folder / f"{state}").mkdir()
            write(folder / f"{state}" / "ships.jsonl", *lines(state))
        build(folder, 0)
        new = left_by(folder / "index")
        shutil.copytree(folder / "index", folder / "before")
        build(folder, 1)
        yield {"folder": folder, 0: new, 1: left_by(folder / "index")}


def killed(states, state, kill, work=build):
    """Run a child that dies, go on, compare with an uninterrupted run; say whether it died."""
    folder = states["folder"]
    shutil.rmtree(folder / "index", ignore_errors=True)
    if state:
        shutil.copytree(folder / "before", folder / "index")
    child = start_child(lambda: work(folder, state))
    kill(child)
    _, status = os.waitpid(child, 0)
    build(folder, state)
    with EmbeddedStore.open(folder / "index") as store:
        store.remove([])  # whoever may write sweeps what the dead one left behind
    assert left_by(folder / "index") == states[state]
    return os.WIFSIGNALED(status)


@pytest.mark.satellite
@pytest.mark.parametrize("n", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("state", [0, 1])
def test_killed_at_some_instants(states, state, n):
    """A run killed at any of them can go on and leaves equal bytes."""
    rng = random.Random(state)  # noqa: S311 -- instants need no secrecy
    began = time.perf_counter()
    assert not killed(states, state, lambda _child: None)
    duration = (time.perf_counter() - began) / 2

    def kill(child):
        time.sleep(rng.uniform(0, duration))
        os.kill(child, signal.SIGKILL)

    died = [killed(states, state, kill) for _ in range(n)]
    assert any(died)


@pytest.mark.satellite
@pytest.mark.parametrize("stride", [24, pytest.param(7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("state", [0, 1])
def test_killed_before_a_sync_or_deletion(states, state, stride):
    """A kill right before a file is synced or deleted is as harmless as any other."""

    def dying_before(number):
        def work(folder, state):
            os.fsync, os.unlink = deadly(number, os.fsync, os.unlink)
            build(folder, state)

        return work

    steps = range(1, 120, stride)
    last = next(n for n in steps if not killed(states, state, lambda _: None, dying_before(n)))
    assert last > steps[1]  # it was never reached: every part of the run had its turn
