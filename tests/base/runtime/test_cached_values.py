"""Values are computed once, whatever thread asks, and the last few are kept."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.base.runtime.cached_values import Once


def test_threads_that_ask_together_compute_once():
    once, begun, calls = Once(4), threading.Barrier(8), []

    def compute():
        calls.append(threading.get_ident())
        return object()

    def ask(_):
        begun.wait(timeout=60)
        return once.get("x", compute)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(calls) == 1
    assert all(each is found[0] for each in found)
    once, computing, done = Once(4), threading.Event(), threading.Event()

    def slow():
        computing.set()
        assert done.wait(timeout=60)
        return "slow"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(once.get, "slow", slow)
        assert computing.wait(timeout=60)
        assert once.get("quick", lambda: "quick") == "quick"
        done.set()
        assert waiting.result(timeout=60) == "slow"


def test_values_are_kept_and_errors_are_not():
    once = Once(4)
    assert once.get("two", lambda: 1 + once.get("one", lambda: 1)) == 2
    once = Once(4)
    with pytest.raises(ZeroDivisionError):
        once.get("x", lambda: 1 / 0)
    assert once.get("x", lambda: 2) == 2
    once = Once(2)
    for name in ("a", "b", "a", "c"):
        once.get(name, lambda name=name: name.upper())
    assert once.get("a", lambda: "new") == "A"
    assert once.get("b", lambda: "new") == "new"
    once.keep({"d": "D", "e": "E"})
    assert once.names() == ["d", "e"]
