"""The log of a server as text or JSON lines, without texts, questions or keys."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any

from clew.server.audit import format_time

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUESTS = logging.getLogger("clew.server.requests")
RUN = logging.getLogger("clew.server.run")  # when the server is there, and when it stops
_DETAILS = "details"  # of a record: what is told of a request


def log_request(details: Mapping[str, Any]) -> None:
    """Log a request that came to its end."""
    REQUESTS.info("%s %s", details["method"], details["route"], extra={_DETAILS: details})


def configure(form: str) -> None:
    """Send the log of this process to stderr, as "text" or "json"; "none" tells warnings only."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(AsJson() if form == "json" else AsText())
    logging.getLogger().addHandler(handler)
    for each in (REQUESTS, RUN):
        each.setLevel(logging.WARNING if form == "none" else logging.INFO)


class AsJson(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        found = {
            "time": format_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, _DETAILS, {}),
        }
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


class AsText(logging.Formatter):
    """One line for people; an exception stands below."""

    def format(self, record: logging.LogRecord) -> str:
        details = getattr(record, _DETAILS, None)
        if details is None:
            text = f"{format_time(record.created)} {record.levelname.lower()} {record.getMessage()}"
            if record.exc_info:
                text += f"\n{self.formatException(record.exc_info)}"
            return text
        told = [
            format_time(record.created),
            details["caller"] or "-",
            str(details["status"]),
            record.getMessage(),
            f"{details['ms']} ms",
            f"{details['bytes']} bytes",
            details["request"],
        ]
        told += [f"index={details['index']}"] if details["index"] else []
        return " ".join(told)
