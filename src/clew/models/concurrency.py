"""Run jobs concurrently, and end all of them when one fails for good."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from clew.base.runtime import threads
from clew.models import Stopped

Item = TypeVar("Item")
Result = TypeVar("Result")


@threads.waiting()
def run_jobs(
    job: Callable[[Item, threading.Event], Result], items: Sequence[Item], concurrency: int
) -> list[Result]:
    """Return job(item, stop) for every item, in order, at most `concurrency` at a time.

    The first exception sets `stop`, which every job shares: what has not begun then never does,
    what has begun is waited for, and the exception is raised. One at a time runs in this thread,
    and all of them in its context. Questions of other threads compute meanwhile.
    """
    stop = threading.Event()
    if min(concurrency, len(items)) <= 1:
        return [job(item, stop) for item in items]

    def run_guarded(item: Item) -> Result:
        if stop.is_set():
            raise Stopped
        try:
            return job(item, stop)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(min(concurrency, len(items))) as pool:
        futures = [pool.submit(copy_context().run, run_guarded, item) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        except BaseException:  # Ctrl-C
            stop.set()
            raise
    for future in futures:
        fault = future.exception()
        if fault is not None and not isinstance(fault, Stopped):
            raise fault
    return [future.result() for future in futures]
