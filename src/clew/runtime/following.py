"""Look for something again and again beside everything else, in a thread."""

import logging
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from clew.errors import ClewError

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Follower:
    """Does something with an object every so many seconds, as long as that is there.

    What goes wrong is told once, and is tried again.
    """

    def __init__(self, target: T, look: Callable[[T], object], every_s: float) -> None:
        self._over = threading.Event()
        found = weakref.ref(target)
        thread = threading.Thread(
            target=_follow, args=(found, look, every_s, self._over), name="clew-follow", daemon=True
        )
        thread.start()
        weakref.finalize(target, self._over.set)

    def end(self) -> None:
        """Look no more."""
        self._over.set()


def _follow(
    found: Callable[[], T | None],
    look: Callable[[T], object],
    every_s: float,
    over: threading.Event,
) -> None:
    is_told = False
    while not over.wait(every_s):
        target = found()
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
