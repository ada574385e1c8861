"""One request record feeds the log, the audit log and the metrics.

It goes with the request through tasks and threads. No text of a question, a document or a key is
ever in it. uvicorn's own access log is off: it has query strings.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.extras.wire.names import MOST_NUMBER
from clew.extras.wire.refusals import Refusal

if TYPE_CHECKING:
    from clew import Index
    from clew.extras.server.callers import Caller

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(slots=True)
class RequestRecord:
    """The data of one request for logs and metrics."""

    id: str
    caller: Caller | None = None
    user: str = ""  # whom a provider named, though no key stands for them
    index: str = ""
    tool: str = ""  # of MCP
    tokens: int = 0  # that models billed for it
    # Index, kind (search, ask or hop), method and seconds of each.
    questions: list[tuple[str, str, str, float]] = field(default_factory=list)
    least: str = ""  # the generation that it asks for at least, as it was sent
    read: Index | None = None  # what it read


_current: ContextVar[RequestRecord | None] = ContextVar("clew_noted", default=None)


def begin_record(given: str, least: str = "") -> RequestRecord:
    """Begin the record of a request, with the given or a new id."""
    noted = RequestRecord(given if _ID.fullmatch(given) else secrets.token_hex(8), least=least)
    _current.set(noted)
    return noted


def parse_number(header: str, text: str) -> int:
    """Parse a numeric header. Raises Refusal 400."""
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= MOST_NUMBER):
        raise Refusal(400, "invalid_input", f"{header} is a number, not {text!r:.40}")
    return int(text)


def find_record() -> RequestRecord:
    """Return the record of the current request; a dummy outside of requests."""
    return _current.get() or RequestRecord(id="")
