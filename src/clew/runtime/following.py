"""Look for something again and again beside everything else, in a thread."""

import logging
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from clew.errors import ClewError

T = TypeVar("T")

_log = logging.getLogger(__name__)


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
