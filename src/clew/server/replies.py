"""What routes reply that is no other module's: made by them, and read again by `clew.client`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict

from clew.server.jobs.queue import JobView
from clew.types import Answer, Citation, Scalar, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLine:
    """An index in a list."""

    name: str
    n_documents: int
    n_chunks: int
    is_own: bool  # made here, so that it may be deleted here
    problem: str  # why it cannot be read, "" where it can


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """What one write of an index cost."""

    kind: str
    before: int  # the generation before it
    generation: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedAlias:
    """Two names that may be of one thing."""

    name: str
    into: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasView:
    """Which names stand for others, by their keys, and which may."""

    merged: Mapping[str, str]
    names: Mapping[str, str]  # the keys of `merged` as they are first written
    proposed: tuple[ProposedAlias, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutServer:
    """The server's version, and what the caller may do and has spent."""

    version: str
    caller: str
    scope: str
    llm: bool  # whether answers are written by an LLM, where a key may pay for it; else quoted
    key: Mapping[str, Any] | None  # None: no key is needed here
    spent: Mapping[str, int | float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterView:
    """A parameter of a method."""

    name: str
    default: Scalar
    choices: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodView:
    """A method of retrieval, as `clew methods --json` has it."""

    name: str
    summary: str
    description: str
    group: str
    default: bool
    layers: tuple[str, ...]
    parameters: tuple[ParameterView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentLine:
    """What was billed under a key on a day."""

    key: str  # its id, "" for what needed none
    name: str
    day: str
    tokens: int
    usd: float
    unpriced_tokens: int
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationView(JobView):
    """An evaluation: a job with its report, once it is done."""

    report: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedCitation(Citation):
    """A citation with the address at which the page shows its characters."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedAnswer(Answer):
    """An answer whose citations can be followed."""

    citations: tuple[LinkedCitation, ...]


# -- the data of server-sent events -----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TextEvent:
    """A further piece of an answer; None where what was told does not count and comes anew."""

    text: str | None


@dataclass(frozen=True, kw_only=True)
class ErrorEvent:
    """Why there is no answer, or why a job failed."""

    __pydantic_config__ = ConfigDict(extra="ignore")  # not that of what it stands in

    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class _JobTold:
    at: float  # seconds since 1970


@dataclass(frozen=True, kw_only=True)
class QueuedEvent(_JobTold):
    """A job waits for its turn."""

    kind: str


@dataclass(frozen=True, kw_only=True)
class RunningEvent(_JobTold):
    """A job has begun, for the how often it did."""

    attempt: int


@dataclass(frozen=True, kw_only=True)
class WaitingEvent(_JobTold):
    """A job waits, and why."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ProgressEvent(_JobTold):
    """How far a job is."""

    stage: str
    bytes: int
    bytes_total: int
    source: str
    documents: int
    steps: int
    steps_total: int
    llm_calls: int
    tokens: int
    usd: float | None  # None: a price is not known


@dataclass(frozen=True, kw_only=True)
class SkippedEvent(_JobTold):
    """A file or a line that gave no document, and why."""

    source: str
    line: int | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReportedEvent(_JobTold):
    """What became of a job, with what its kind reports of that."""

    __pydantic_config__ = ConfigDict(extra="allow")  # as pydantic reads it


@dataclass(frozen=True, kw_only=True)
class FailedEvent(ReportedEvent):
    """Why a job failed."""

    error: ErrorEvent


JOB_EVENTS: Mapping[str, object] = {
    "queued": QueuedEvent,
    "running": RunningEvent,
    "waiting": WaitingEvent,
    "progress": ProgressEvent,
    "skipped": SkippedEvent,
    "cancelling": ReportedEvent,
    "interrupted": ReportedEvent,
    "done": ReportedEvent,
    "failed": FailedEvent,
    "cancelled": ReportedEvent,
}
