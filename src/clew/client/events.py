"""Server-sent events: read as they come, and what those of an answer are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clew.client.values import from_plain
from clew.client.wire import Address, error_of
from clew.types import Answer, Evidence
from clew.wire.jobs import JobEvent

_MOST = 64 << 20  # bytes of one event


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """What is told while an answer comes.

    "evidence" once; "text" with a further piece, or None where what was told does not count and
    the text begins anew; at last "answer".
    """

    kind: str
    value: Evidence | str | Answer | None


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event as it was sent."""

    kind: str
    data: Any
    number: int


class EventReader:
    """Finds events in what is received, however it is cut."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Yield the events that are whole now. Raises EndpointError for what is none."""
        *whole, self._rest = (self._rest + piece).split(b"\n\n")
        if len(self._rest) > _MOST:
            raise self._address.strange("an event without an end")
        for block in whole:
            if found := self._event(block):
                yield found

    def _event(self, block: bytes) -> ServerEvent | None:
        """Return the event that some lines are, None for a comment."""
        told = dict(line.partition(b": ")[::2] for line in block.split(b"\n"))
        if b"event" not in told:
            return None
        try:
            data = json.loads(told[b"data"])
            return ServerEvent(told[b"event"].decode(), data, int(told.get(b"id", b"0")))
        except (ValueError, KeyError, RecursionError):
            raise self._address.strange("an event that is not JSON") from None


def answer_event(address: Address, told: ServerEvent) -> AnswerEvent | None:
    """Return an event of an answer, None for one that is not known. Raises the server's error."""
    try:
        match told.kind:
            case "evidence":
                return AnswerEvent(told.kind, from_plain(Evidence, told.data))
            case "text":
                return AnswerEvent(told.kind, from_plain(str | None, told.data["text"]))  # type: ignore[arg-type]  # a union is no type to mypy
            case "answer":
                return AnswerEvent(told.kind, from_plain(Answer, told.data))
            case "error":
                raise error_of(told.data["code"], told.data["message"])
            case _:
                return None
    except (ValueError, KeyError, TypeError) as error:
        raise address.strange(str(error)) from None


def job_event(address: Address, told: ServerEvent) -> JobEvent:
    """Return an event of a job."""
    try:
        data = dict(told.data)
        return JobEvent(number=told.number, kind=told.kind, at=data.pop("at"), data=data)
    except (ValueError, KeyError, TypeError) as error:
        raise address.strange(str(error)) from None
