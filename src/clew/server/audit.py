"""The audit log: who did what, as lines of JSON without texts.

Servers over one home share the file. One that has grown is renamed, and the oldest of these go.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "audit.log"
_log = logging.getLogger(__name__)


class Audit:
    """The audit log of a home."""

    def __init__(self, home: Path, *, most_bytes: int = 10_000_000, kept: int = 9) -> None:
        self.path = home / FILE
        self._most_bytes = most_bytes
        self._kept = kept

    def add(self, entry: Mapping[str, Any]) -> None:
        """Append an entry in one write."""
        line = json.dumps({"time": format_time(), **entry}, separators=(",", ":")).encode() + b"\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        try:
            file = os.open(self.path, flags, 0o600)
            try:
                os.write(file, line)
                size = os.fstat(file).st_size
            finally:
                os.close(file)
            if size > self._most_bytes:
                self._begin_anew()
        except OSError as error:  # the server goes on: its log says that entries are missing
            _log.error("the audit log cannot be written (%s)", error.strerror)

    def _begin_anew(self) -> None:
        name = f"audit-{time.time_ns():020d}-{secrets.token_hex(2)}.log"
        try:
            self.path.rename(self.path.with_name(name))
        except FileNotFoundError:  # another server of this home did
            return
        for old in sorted(self.path.parent.glob("audit-*.log"))[: -self._kept or None]:
            old.unlink(missing_ok=True)


def format_time(at: float | None = None) -> str:
    """Format a time as ISO 8601, to the millisecond.

    >>> format_time(0.5)
    '1970-01-01T00:00:00.500Z'
    """
    at = time.time() if at is None else at
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}.{int(at % 1 * 1000):03d}Z"
