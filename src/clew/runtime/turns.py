"""Turns at computing: of the questions that a process answers at one time, one computes.

Threads that compute together take Python's lock from each other thousands of times a question, and
all of them need longer. So a question has the turn while it computes, and lets others have it while
it waits for a model.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# A thread goes on without the turn after that: what has it may wait for this thread.
_LONGEST_S = 1.0
_turn = threading.Lock()
_own = threading.local()


@contextmanager
def computing() -> Iterator[None]:
    """Have the turn in the block."""
    _acquire()
    try:
        yield
    finally:
        _release()


@contextmanager
def waiting() -> Iterator[None]:
    """Let others have the turn in the block, if this thread has it."""
    had_it = _release()
    try:
        yield
    finally:
        if had_it:
            _acquire()


def _acquire() -> None:
    _own.has_it = _turn.acquire(timeout=_LONGEST_S)


def _release() -> bool:
    """Give the turn back; return whether this thread had it."""
    had_it: bool = getattr(_own, "has_it", False)
    _own.has_it = False
    if had_it:
        _turn.release()
    return had_it
