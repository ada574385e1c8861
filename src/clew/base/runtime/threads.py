"""Threads: a shared compute lock, awaitables, polling, and core counts.

Of the questions that a process answers at one time, one computes. Threads that compute together
take Python's lock from each other thousands of times a question, and all of them need longer. So a
question has the turn while it computes, and lets others have it while it waits for a model.
"""

import logging
import math
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from clew.errors import ClewError

_log = logging.getLogger(__name__)

# A thread goes on without the turn after that: what has it may wait for this thread.
_LONGEST_S = 1.0
_turn = threading.Lock()
_own = threading.local()
P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def computing() -> Iterator[None]:
    """Hold the compute lock in the block."""
    _acquire()
    try:
        yield
    finally:
        _release()


@contextmanager
def waiting() -> Iterator[None]:
    """Release the compute lock in the block, if this thread holds it."""
    had_it = _release()
    try:
        yield
    finally:
        if had_it:
            _acquire()


def _acquire() -> None:
    _own.has_it = _turn.acquire(timeout=_LONGEST_S)


def _release() -> bool:
    """Release the compute lock; return whether this thread held it."""
    had_it: bool = getattr(_own, "has_it", False)
    _own.has_it = False
    if had_it:
        _turn.release()
    return had_it


def follow(target: T, look: Callable[[T], object], every_s: float) -> Callable[[], None]:
    """Call `look` with an object every `every_s` seconds; return a function that stops it.

    It ends with the object, too. What goes wrong is told once, and is tried again.
    """
    over, reference = threading.Event(), weakref.ref(target)

    def look_again() -> None:
        is_told = False
        while not over.wait(every_s):
            target = reference()
            if target is None:
                return
            try:
                look(target)
                is_told = False
            except ClewError as error:
                if not is_told:
                    _log.warning("the newest generation cannot be opened (%s): trying again", error)
                is_told = True
            del target

    threading.Thread(target=look_again, name="clew-follow", daemon=True).start()
    weakref.finalize(target, over.set)
    return over.set


def awaitable(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return an awaitable form of a method that runs in a thread; its name gets an "a" prefix.

    NumPy, CTranslate2 and SQLite know no event loop, and a second object with awaitable methods
    would have locks and models of its own. To cancel it ends the waiting and not the thread: a
    write is always whole.
    """

    @wraps(call)
    async def run_in_thread(*given: P.args, **kwargs: P.kwargs) -> T:
        import asyncio  # which a program without an event loop does not load

        return await asyncio.to_thread(call, *given, **kwargs)

    name = call.__name__
    run_in_thread.__name__ = f"a{name}"
    run_in_thread.__qualname__ = call.__qualname__.replace(f".{name}", f".a{name}")
    run_in_thread.__doc__ = (
        f"Do as `{name}`, in a thread, while the event loop goes on with others."
    )
    return run_in_thread


# -- cores, and processes that another one of ours started

_COMPUTING, _BLAS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
_bounds: list[str] = []  # variables that `bound_threads` has set
_SYNCHRONIZE = 0x100000  # what Windows is asked for to wait for a process
_LOOK_S = 1.0  # how often it is looked whether there is a parent


def cores() -> int:
    """Return the number of usable cores, limited by OMP_NUM_THREADS if set."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    n = int(min(len(allowed(0)) if allowed else os.cpu_count() or 1, read_quota()))
    bound = os.environ.get(_COMPUTING, "")
    return min(n, int(bound)) if bound.isdecimal() and int(bound) else n


def read_quota(root: Path = Path("/")) -> float:
    """Return the CPU quota of a container or systemd unit in cores, infinity if unlimited.

    Linux has it in the files of version 2 of control groups, below `root`.
    """
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        own = next(line[3:].strip("/") for line in groups if line.startswith("0::"))
        quota, period = (root / "sys/fs/cgroup" / own / "cpu.max").read_text("utf-8").split()
        return max(1, math.ceil(int(quota) / int(period)))
    except (OSError, StopIteration, ValueError):  # "max", or another system
        return math.inf


def bound_threads(n: int) -> None:
    """Let a model use `n` threads and BLAS one, unless the environment sets them.

    Call this before NumPy is imported, since BLAS starts its threads then. A later call replaces
    what an earlier one has set.
    """
    for name, most in ((_COMPUTING, n), (_BLAS, 1)):
        if name not in os.environ:
            _bounds.append(name)
        if name in _bounds:
            os.environ[name] = str(most)


def environment_without_bounds() -> dict[str, str]:
    """Return the environment without the variables set by `bound_threads`, for a subprocess."""
    return {name: value for name, value in os.environ.items() if name not in _bounds}


def exit_with_parent() -> None:
    """Ignore Ctrl-C, which the parent process handles, and exit when the parent does."""
    parent = os.getppid()

    def watch() -> None:
        if sys.platform == "win32":  # there a process goes on to name a parent that has ended
            import ctypes

            handle = ctypes.windll.kernel32.OpenProcess(_SYNCHRONIZE, False, parent)
            ctypes.windll.kernel32.WaitForSingleObject(handle, -1)
        while sys.platform != "win32" and os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()
