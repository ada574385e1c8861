"""Threads: turns at computing, what is awaited while a thread does it, and what looks again.

Of the questions that a process answers at one time, one computes. Threads that compute together
take Python's lock from each other thousands of times a question, and all of them need longer. So a
question has the turn while it computes, and lets others have it while it waits for a model.
"""

import logging
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
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


def follow(target: T, look: Callable[[T], object], every_s: float) -> Callable[[], None]:
    """Call `look` with an object every `every_s` seconds, and return a function that ends that.

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
    """Return a method as one that is awaited while a thread does it; its name begins with an a.

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
