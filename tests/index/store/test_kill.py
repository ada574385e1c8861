"""A process that dies at any instant loses nothing but the batch it was at."""

import os
import random
import shutil
import signal
import time

import pytest

from clew.index import adding
from clew.index.store.embedded import EmbeddedStore
from clew.index.store.segments import open_segment
from tests.index.build import contents, files, scratch
from tests.index.store.corpus import build, documents
from tests.index.store.deadly import deadly, start_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(adding, "BATCH_CHARACTERS", 1_500)


@pytest.fixture(scope="module")
def states():
    """Give a folder with the index in both states, and what an uninterrupted run leaves."""
    with pytest.MonkeyPatch.context() as patch, scratch() as folder:
        patch.setattr(adding, "BATCH_CHARACTERS", 1_500)
        build(folder / "new", 0)
        shutil.copytree(folder / "new", folder / "changed")
        build(folder / "changed", 1)
        yield {
            "folder": folder,
            "new": (folder / "absent", 0, left_by(folder / "new")),
            "changed": (folder / "new", 1, left_by(folder / "changed")),
        }


def left_by(folder):
    with EmbeddedStore.open(folder) as store:
        return contents(store), store.hashes(), store.generation, files(folder, *FILES)


FILES = ("segments", "cached")


def start(base, target):
    if base.exists():
        shutil.copytree(base, target)


def check_and_resume(target, state, expected):
    """Check that what a kill left is whole, go on, and compare with an uninterrupted run."""
    if EmbeddedStore.exists(target):
        with EmbeddedStore.open(target) as store:
            held = contents(store)  # checks every reference
            hashes = store.hashes()
            assert [d.id for d in held["documents"]] == sorted(hashes)
            assert all(adding.hash_content(d) == hashes[d.id] for d in held["documents"])
            known = {adding.hash_content(d) for s in (0, 1) for d in documents(s)}
            assert set(hashes.values()) <= known
    build(target, state)
    with EmbeddedStore.open(target) as store:
        store.remove([])  # whoever may write sweeps what the dead one left behind
    *left, left_files = left_by(target)
    assert tuple(left) == expected[:-1]
    assert sorted(left_files) == sorted(expected[-1])
    assert left_files == expected[-1]
    for path in (target / "segments").iterdir():
        assert open_segment(path)


def kill_at(states, name, instant, number):
    """Kill a run after `instant` seconds, check what it left; say whether it was still going."""
    base, state, expected = states[name]
    target = states["folder"] / f"{name}-{number}"
    start(base, target)
    child = start_child(lambda: build(target, state))
    time.sleep(instant)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    check_and_resume(target, state, expected)
    shutil.rmtree(target)
    return os.WIFSIGNALED(status)


def duration_of(states, name):
    """Return how long an uninterrupted run takes in a child."""
    base, state, _ = states[name]
    times = []
    for i in range(2):
        target = states["folder"] / f"timed-{name}-{i}"
        start(base, target)
        began = time.perf_counter()
        _, status = os.waitpid(start_child(lambda target=target: build(target, state)), 0)
        times.append(time.perf_counter() - began)
        assert status == 0
        shutil.rmtree(target)
    return min(times)


def kill_many(states, name, n, seed):
    rng = random.Random(seed)  # noqa: S311 -- instants need no secrecy
    duration, killed = duration_of(states, name), 0
    for number in range(10 * n):
        instant = rng.uniform(0, duration)
        if kill_at(states, name, instant, number):
            killed += 1
        else:
            duration = instant  # it was over by then: the machine is less busy than it was
        if killed == n:
            return
    pytest.fail(f"of {10 * n} runs {killed} were killed")


@pytest.mark.parametrize(("n", "seed"), [(3, 1), pytest.param(500, 2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["new", "changed"])
def test_killed_at_some_instants(states, name, n, seed):
    """A run killed at any of them leaves a whole index, and going on leaves equal bytes."""
    kill_many(states, name, n, seed)


def counted_calls(states, name, before=None):
    """Run a child that dies before its n-th sync or deletion; return whether it lived."""
    base, state, expected = states[name]
    target = states["folder"] / f"step-{name}-{before}"
    start(base, target)

    def work():
        os.fsync, os.unlink = deadly(before, os.fsync, os.unlink)
        build(target, state)

    _, status = os.waitpid(start_child(work), 0)
    check_and_resume(target, state, expected)
    shutil.rmtree(target)
    return status == 0


@pytest.mark.parametrize("stride", [16, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["new", "changed"])
def test_killed_before_a_sync_or_deletion(states, name, stride):
    """A kill right before a file is synced or deleted is as harmless as any other."""
    steps = range(1, 80, stride)
    last = next(before for before in steps if counted_calls(states, name, before))
    assert last > steps[1]  # it was never reached: every part of the run had its turn
