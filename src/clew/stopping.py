"""Ask a running write to stop, after its current step or at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """A stop request that a run checks at points where it can end cleanly.

    While `is_heeded` is false nothing looks at it: whoever asks may interrupt then.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self.is_heeded = False

    def ask(self) -> None:
        """Ask the run to stop after its current commit."""
        self._event.set()

    @property
    def is_asked(self) -> bool:
        return self._event.is_set()

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Declare that this block ends soon and cleanly after `ask`."""
        self.is_heeded = True
        try:
            yield
        finally:
            self.is_heeded = False
