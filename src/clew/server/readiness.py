"""Whether a server can do its work: its indexes can be read and its home can be written."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import ClewError
from clew.runtime.private import open_file

if TYPE_CHECKING:
    from clew.server.indexes import Indexes

_PROBE = "ready"  # a file of the home, written to see whether it can be
_FRESH_S = 1.0  # how long an answer is good: asking often costs nothing
_log = logging.getLogger(__name__)


class Readiness:
    """Checks a server; what was found is good for a second."""

    def __init__(self, home: Path, indexes: Indexes) -> None:
        self._home = home
        self._indexes = indexes
        self._known: tuple[float, bool] | None = None

    def check(self) -> bool:
        """Say whether the server is ready; it is looked at unless that was just done."""
        if self._known is None or time.monotonic() - self._known[0] > _FRESH_S:
            self._known = (time.monotonic(), self._is_ready())
        return self._known[1]

    def _is_ready(self) -> bool:
        try:
            with open_file(self._home / _PROBE) as file:
                file.write(b"ready\n")
            for name in self._indexes.list_folders():
                self._indexes.read_generation(name)
        except (ClewError, OSError) as error:
            _log.warning("the server is not ready (%s)", error)
            return False
        return True
