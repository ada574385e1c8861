"""The process of a job: it opens the index, works, and records events.

It lives in a session of its own, so that what ends a server does not end it. SIGTERM asks it to
end behind what it has at hand.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from clew import Specs
from clew import open as open_index
from clew.base.types import Usage
from clew.errors import BudgetSpent, ClewError, IndexLocked, InputError
from clew.extras.server import tracing
from clew.extras.server.database import ServerDatabase
from clew.extras.server.jobs.queue import LOCK, Job, JobQueue, find_job_folder
from clew.extras.server.jobs.work import JobTask, do_job
from clew.extras.server.keys import Key, Keys
from clew.extras.server.process_locks import ProcessLock, hold_lock
from clew.extras.server.spending import KeyBudget, KeySpending
from clew.extras.wire.jobs import CANCELLED, DONE, FAILED, INTERRUPTED
from clew.extras.wire.refusals import describe_briefly, make_refusal
from clew.models.budget import Bill, Held
from clew.progress import Progress
from clew.stopping import Stop

_WAIT_S = 30.0  # for the lock, which whoever looks after jobs takes for a moment
_LOOK_S = 0.25  # how often it is looked how far the job is
_TELL_S = (1.0, 10.0)  # between two events that tell it: first, and in the end
_SLOWER = 0.01  # as much longer as it has run
_RETRY_S = (0.2, 5.0)  # between two tries to write where another process writes, first and last

_log = logging.getLogger(__name__)


class _EndRequested(BaseException):
    """SIGTERM arrived at a point where the work must be aborted."""


class JobBudget(KeyBudget):
    """A budget whose limits apply to all attempts of a job together.

    What is set aside stands in the job's row before a request is sent, and what it did not cost
    is taken off behind it. So what a killed process had set aside counts as spent.
    """

    def __init__(
        self,
        spending: KeySpending,
        key: Key | None,
        queue: JobQueue,
        job: Job,
        *,
        tokens: int | None,
        usd: float | None,
    ) -> None:
        super().__init__(spending, key, tokens=tokens, usd=usd)
        self._queue = queue
        self._job = job
        self._spent = job.spent

    def reserve(self, worst: Bill, stop: threading.Event | None = None) -> Held:
        held = super().reserve(worst, stop)
        self._queue.add_spent(self._job.id, worst)
        return held

    def _put(self, held: Held, spent: Bill) -> None:
        super()._put(held, spent)
        more = Bill(spent.tokens - held.worst.tokens, spent.usd - held.worst.usd, spent.priced)
        self._queue.add_spent(self._job.id, more)


def run_job(home: Path, job_id: str, attempt: int) -> None:
    """Run one attempt of a job, unless it was cancelled or restarted."""
    folder = find_job_folder(home, job_id)
    database = ServerDatabase(home)
    queue = JobQueue(database)
    try:
        with hold_lock(folder / LOCK, wait=_WAIT_S) as is_supported:
            job = queue.enter(job_id, attempt, os.getpid()) if is_supported else None
            if job is None:
                _log.warning("attempt %d of the job %s is not wanted any more", attempt, job_id)
                return
            alive = ProcessLock(home)
            try:
                attributes = {"clew.index.adding": job.name, "clew.job": job.id}
                with tracing.open_span(f"job {job.kind}", attributes) as span:
                    state, result = _run_to_outcome(
                        job, database, queue, KeySpending(database, alive)
                    )
                    span.set_attribute("clew.state", state)
                queue.end(job, state, result)
            finally:
                alive.end()
    finally:
        database.close()


def _run_to_outcome(
    job: Job, database: ServerDatabase, queue: JobQueue, spending: KeySpending
) -> tuple[str, dict[str, Any]]:
    stop = Stop()
    with _stop_on_signal(stop):
        try:
            result = _open_and_work(job, database, queue, spending, stop)
        except (ClewError, OSError) as error:
            _log.exception("the job %s failed", job.id)
            return FAILED, {"error": _describe_error(error, database.home)}
        except _EndRequested:
            result = {"stopped": True}
    if result.get("stopped"):
        if queue.is_cancelled(job.id):
            return CANCELLED, result
        return INTERRUPTED, {"reason": "its process was asked to end"}
    if spent := result.get("extracted", {}).get("stopped"):
        return FAILED, {**result, "error": _describe_error(BudgetSpent(spent), database.home)}
    return DONE, result


def _open_and_work(
    job: Job, database: ServerDatabase, queue: JobQueue, spending: KeySpending, stop: Stop
) -> dict[str, Any]:
    key = Keys(database).find_by_id(job.key) if job.key else None
    if job.key and key is None:
        raise InputError("the key of this job was revoked: submit it again with another key")
    tokens, usd = (job.options.get(f"budget_{unit}") for unit in ("tokens", "usd"))
    budget = JobBudget(spending, key, queue, job, tokens=tokens, usd=usd)
    home, prices = database.home, job.run["prices"]
    if prices is not None:
        prices = {name: tuple(each) for name, each in prices.items()}
    with open_index(Path(job.folder), specs=Specs(**job.run["specs"]), prices=prices) as index:
        task = JobTask(
            job=job,
            index=index,
            folder=find_job_folder(home, job.id),
            uploads=home / "files" / job.name,
            budget=budget,
            stop=stop,
            tell=lambda kind, data: queue.add_event(job.id, kind, _hide_places(data, home)),
        )
        return _work_when_free(task, queue)


def _work_when_free(task: JobTask, queue: JobQueue) -> dict[str, Any]:
    """Do the job, retrying while another process holds the index's lock."""
    pause, last = _RETRY_S
    is_told = False
    while True:
        progress = Progress()
        try:
            with _report_progress(progress, queue, task.job, task.uploads.parents[1]):
                return do_job(task, progress)
        except IndexLocked:
            if task.stop.is_asked:
                return {"stopped": True}
            if not is_told:
                reason = "another process writes to this index: the job continues when it is done"
                queue.add_event(task.job.id, "waiting", {"reason": reason})
            is_told = True
            task.index.close()
            time.sleep(pause)
            pause = min(2 * pause, last)


@contextmanager
def _stop_on_signal(stop: Stop) -> Iterator[None]:
    """Stop the block on SIGTERM at the next safe point, or at once if there is none."""
    is_over = False

    def ask(_signal: int, _frame: FrameType | None) -> None:
        if is_over or stop.is_asked:
            return
        is_heeded = stop.is_heeded
        stop.ask()
        _log.info("the process is asked to end")
        if not is_heeded:
            raise _EndRequested

    before = signal.signal(signal.SIGTERM, ask)
    try:
        yield
    finally:
        is_over = True
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _report_progress(progress: Progress, queue: JobQueue, job: Job, home: Path) -> Iterator[None]:
    """Record the block's progress, periodically and at its end."""
    over = threading.Event()
    before = dict(job.progress or {})

    def tell() -> None:
        nonlocal before
        values = _hide_places(_describe_progress(progress), home)
        if values != before:
            queue.add_progress(job.id, values)
            before = values

    def follow() -> None:
        first, most = _TELL_S
        began = last = time.monotonic()
        stage = ""
        while not over.wait(_LOOK_S):
            now = time.monotonic()
            pause = min(first + (now - began) * _SLOWER, most)
            if progress.stage != stage or now - last >= pause:
                tell()
                last, stage = now, progress.stage

    thread = threading.Thread(target=follow, name="clew-job-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        tell()


def _describe_progress(progress: Progress) -> dict[str, Any]:
    usage = Usage(cost_usd=None) if progress.meter is None else progress.meter.usage
    done, total = progress.chunks
    return {
        "stage": progress.stage,
        "bytes": round(progress.done_bytes),
        "bytes_total": progress.total,
        "source": progress.source,
        "documents": progress.documents,
        "steps": done,
        "steps_total": total,
        "llm_calls": usage.llm_calls,
        "tokens": usage.total_tokens + usage.embedding_tokens,
        "usd": usage.cost_usd,
    }


def _describe_error(error: ClewError | OSError, home: Path) -> dict[str, Any]:
    if isinstance(error, ClewError):
        hide = partial(_hide_home, home=home)
        refusal = make_refusal(error, lambda each: describe_briefly(each, hide))
        return {"code": refusal.code, "message": str(refusal)}
    return {
        "code": "store_error",
        "message": f"this cannot be done: {error.strerror or 'no reply'}",
    }


def _hide_places(data: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """Remove local paths from event data."""
    return {
        name: _hide_home(value, home) if isinstance(value, str) else value
        for name, value in data.items()
    }


def _hide_home(text: str, home: Path) -> str:
    return text.replace(f"{home / 'files'}/", "").replace(f"{home}/", "")
