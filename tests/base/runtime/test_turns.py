"""Of the threads of a process that answer questions, one computes at a time."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from clew.base.runtime import threads
from clew.models.concurrency import run_jobs


def test_one_computes_at_a_time():
    n_inside = most = 0

    def compute(_number):
        nonlocal n_inside, most
        with threads.computing():
            n_inside += 1
            most = max(most, n_inside)
            time.sleep(0.002)
            n_inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(compute, range(40)))
    assert most == 1


def test_others_compute_while_a_model_is_waited_for():
    """As in a batch of prompts, whose reply here comes when another thread has computed."""
    computed = threading.Event()

    def compute():
        with threads.computing():
            computed.set()

    def wait(_item, _stop):
        other.start()
        return computed.wait(0.9)

    other = threading.Thread(target=compute)
    with threads.computing():
        assert run_jobs(wait, ["prompt"], 1) == [True]
    other.join()


def test_a_thread_that_waits_for_another_one_does_not_stop_it(monkeypatch):
    """What has the turn may wait for a thread that wants it, which goes on without it."""
    done = threading.Event()

    def compute():
        with threads.computing():
            done.set()

    with threads.computing():
        other = threading.Thread(target=compute)
        other.start()
        assert done.wait(60)
    other.join()
    monkeypatch.setattr(threads, "_LONGEST_S", 60.0)
    began = time.monotonic()
    with threads.computing():  # it is free again
        assert time.monotonic() - began < 30
