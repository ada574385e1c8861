"""Jobs as shown by a server: state, spending and events."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from clew.extras.wire.answers import ErrorEvent

QUEUED, RUNNING, INTERRUPTED = "queued", "running", "interrupted"
DONE, FAILED, CANCELLED = "done", "failed", "cancelled"
STATES = (QUEUED, RUNNING, INTERRUPTED, DONE, FAILED, CANCELLED)
ENDED = frozenset({DONE, FAILED, CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpent:
    """The spending of a job, including reservations; dollars are None without a price."""

    tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job as shown to callers; times are seconds since 1970."""

    id: str
    index: str
    kind: str
    options: Mapping[str, Any]
    state: str
    cancelling: bool
    made: float
    began: float | None
    ended: float | None
    attempt: int
    spent: JobSpent
    progress: Mapping[str, Any] | None
    result: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """An event of a job; events are numbered from 1."""

    number: int
    at: float
    kind: str
    data: Mapping[str, Any]


# -- the data of a job's server-sent events --------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _JobTold:
    at: float  # seconds since 1970


@dataclass(frozen=True, kw_only=True)
class QueuedEvent(_JobTold):
    """A job waits for its turn."""

    kind: str


@dataclass(frozen=True, kw_only=True)
class RunningEvent(_JobTold):
    """A job has begun, with the number of its attempt."""

    attempt: int


@dataclass(frozen=True, kw_only=True)
class WaitingEvent(_JobTold):
    """A job waits, and why."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ProgressEvent(_JobTold):
    """The progress of a job."""

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
    """A file or line that yielded no document, and the reason."""

    source: str
    line: int | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReportedEvent(_JobTold):
    """The result of a job, as its kind reports it."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "allow"}


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
