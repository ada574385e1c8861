"""How a run that writes is asked to end: behind what it has at hand, or at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Set by whoever wants a run to end, and looked at by the run where it can end whole.

    While `is_heeded` is false nothing looks at it: whoever asks may interrupt then.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self.is_heeded = False

    def ask(self) -> None:
        """Ask the run to end as soon as what it has at hand is committed."""
        self._event.set()

    @property
    def is_asked(self) -> bool:
        return self._event.is_set()

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Say that this block ends soon and whole after `ask`."""
        self.is_heeded = True
        try:
            yield
        finally:
            self.is_heeded = False
