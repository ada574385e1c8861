"""Values of the server-sent events of answers and jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from clew.client.requests import Address, make_error
from clew.client.values import from_plain
from clew.types import Answer, Evidence
from clew.wire.jobs import JobEvent

MOST_BYTES = 64 << 20  # of one event


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """An event of a streamed answer.

    "evidence" once; "text" with a further piece, or None where what was told does not count and
    the text begins anew; at last "answer".
    """

    kind: str
    value: Evidence | str | Answer | None


def read_answer_event(address: Address, kind: str, text: str) -> AnswerEvent | None:
    """Return an event of an answer, or None for an unknown kind. Raises the server's error."""
    if kind not in {"evidence", "text", "answer", "error"}:
        return None
    data = _read_data(address, text)
    try:
        match kind:
            case "evidence":
                return AnswerEvent(kind, from_plain(Evidence, data))
            case "text":
                return AnswerEvent(kind, from_plain(str | None, data["text"]))  # type: ignore[arg-type]  # a union is no type to mypy
            case "answer":
                return AnswerEvent(kind, from_plain(Answer, data))
            case _:
                raise make_error(data["code"], data["message"])
    except (ValueError, KeyError, TypeError) as error:
        raise address.make_unreadable(str(error)) from None


def read_job_event(address: Address, kind: str, text: str, number: str) -> JobEvent:
    """Return an event of a job. Raises EndpointError where it cannot be read."""
    data = _read_data(address, text)
    try:
        return JobEvent(number=int(number), kind=kind, at=data.pop("at"), data=data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise address.make_unreadable(str(error)) from None


def _read_data(address: Address, text: str) -> Any:  # noqa: ANN401 -- JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise address.make_unreadable("an event that is not JSON") from None
