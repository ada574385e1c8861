"""The log of a server as text or JSON lines, and its audit log: who did what.

Neither has texts, questions or keys. Servers over one home share the audit log. One that has grown
is renamed, and the oldest of these go.
"""

import json
import logging
import os
import secrets
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REQUESTS = logging.getLogger("clew.server.requests")
RUN = logging.getLogger("clew.server.run")  # when the server is there, and when it stops
_DETAILS = "details"  # of a record: what is told of a request
_log = logging.getLogger(__name__)


def log_request(details: Mapping[str, Any]) -> None:
    """Log a finished request."""
    REQUESTS.info("%s %s", details["method"], details["route"], extra={_DETAILS: details})


def configure(form: str) -> None:
    """Log to stderr as "text" or "json"; "none" logs warnings only."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(AsJson() if form == "json" else AsText())
    logging.getLogger().addHandler(handler)
    for each in (REQUESTS, RUN):
        each.setLevel(logging.WARNING if form == "none" else logging.INFO)


class AsJson(logging.Formatter):
    """A log formatter: one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": format_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, _DETAILS, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


class AsText(logging.Formatter):
    """A log formatter: one line per record, followed by its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        details = getattr(record, _DETAILS, None)
        if details is None:
            text = f"{format_time(record.created)} {record.levelname.lower()} {record.getMessage()}"
            if record.exc_info:
                text += f"\n{self.formatException(record.exc_info)}"
            return text
        index = f" index={details['index']}" if details["index"] else ""
        return (
            f"{format_time(record.created)} {details['caller'] or '-'} {details['status']}"
            f" {record.getMessage()} {details['ms']} ms {details['bytes']} bytes"
            f" {details['request']}{index}"
        )


class Audit:
    """The audit log of a home."""

    def __init__(self, home: Path, *, most_bytes: int = 10_000_000, kept: int = 9) -> None:
        self.path = home / "audit.log"
        self._most_bytes = most_bytes
        self._kept = kept

    def add(self, entry: Mapping[str, Any]) -> None:
        """Append an entry in one write."""
        line = json.dumps({"time": format_time(), **entry}, separators=(",", ":")).encode() + b"\n"
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
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
