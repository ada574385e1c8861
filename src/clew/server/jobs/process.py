"""The process of a job: it opens the index, works, and writes down what it does.

It lives in a session of its own, so that what ends a server does not end it. SIGTERM asks it to
end behind what it has at hand.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.api import open_index
from clew.errors import BudgetSpent, ClewError, IndexLocked, InputError, ModelError
from clew.loading import Specs
from clew.progress import Progress
from clew.server import tracing
from clew.server.alive import Alive
from clew.server.books import Books
from clew.server.jobs.budgets import JobBudget
from clew.server.jobs.lock import holding
from clew.server.jobs.places import LOCK, folder_of
from clew.server.jobs.queue import Job, JobQueue
from clew.server.jobs.work import JobTask, work
from clew.server.keys import Keys
from clew.server.spending import KeySpending
from clew.stopping import Stop
from clew.wire.jobs import CANCELLED, DONE, FAILED, INTERRUPTED
from clew.wire.refusals import brief_of, refusal_of

if TYPE_CHECKING:
    from types import FrameType

_WAIT_S = 30.0  # for the lock, which whoever looks after jobs takes for a moment
_LOOK_S = 0.25  # how often it is looked how far the job is
_TELL_S = (1.0, 10.0)  # between two events that tell it: first, and in the end
_SLOWER = 0.01  # as much longer as it has run
_RETRY_S = (0.2, 5.0)  # between two tries to write where another process writes, first and last

_log = logging.getLogger(__name__)


class _Ended(BaseException):
    """The process was asked to end where nothing could end whole."""


def run(home: Path, job_id: str, attempt: int) -> None:
    """Do a job, unless that is not wanted any more."""
    folder = folder_of(home, job_id)
    books = Books(home)
    queue = JobQueue(books)
    try:
        with holding(folder / LOCK, wait=_WAIT_S) as is_held:
            job = queue.enter(job_id, attempt, os.getpid()) if is_held else None
            if job is None:
                _log.warning("attempt %d of the job %s is not wanted any more", attempt, job_id)
                return
            alive = Alive(home)
            try:
                told = {"clew.index": job.name, "clew.job": job.id}
                with tracing.span(f"job {job.kind}", told) as span:
                    state, result = _outcome(job, books, queue, KeySpending(books, alive))
                    span.set_attribute("clew.state", state)
                queue.end(job, state, result)
            finally:
                alive.end()
    finally:
        books.close()


def _outcome(
    job: Job, books: Books, queue: JobQueue, spending: KeySpending
) -> tuple[str, dict[str, Any]]:
    """Return how a job ended, and what is told of it."""
    stop = Stop()
    with _asked_to_end(stop):
        try:
            result = _worked(job, books, queue, spending, stop)
        except (ClewError, OSError) as error:
            _log.exception("the job %s failed", job.id)
            return FAILED, {"error": _error(error, books.home)}
        except _Ended:
            result = {"stopped": True}
    if result.get("stopped"):
        if queue.is_cancelled(job.id):
            return CANCELLED, result
        return INTERRUPTED, {"reason": "its process was asked to end"}
    if spent := result.get("extracted", {}).get("stopped"):
        return FAILED, {**result, "error": _error(BudgetSpent(spent), books.home)}
    return DONE, result


def _worked(
    job: Job, books: Books, queue: JobQueue, spending: KeySpending, stop: Stop
) -> dict[str, Any]:
    key = Keys(books).by_id(job.key) if job.key else None
    if job.key and key is None:
        raise InputError("the key that asked for this was revoked: ask again with another one")
    budget = JobBudget(
        spending,
        key,
        queue,
        job,
        tokens=job.options.get("budget_tokens"),
        usd=job.options.get("budget_usd"),
    )
    with open_index(
        Path(job.folder),
        specs=Specs(**job.run["specs"]),
        prices=_prices(job.run["prices"]),
    ) as index:
        home = books.home
        task = JobTask(
            index=index,
            kind=job.kind,
            options=job.options,
            folder=folder_of(home, job.id),
            uploads=home / "files" / job.name,
            name=job.name,
            budget=budget,
            workers=job.run.get("workers", 1),  # which jobs of earlier releases lack
            stop=stop,
            tell=lambda kind, data: queue.tell(job.id, kind, _shown(data, home)),
        )
        return _patiently(task, queue, job)


def _patiently(task: JobTask, queue: JobQueue, job: Job) -> dict[str, Any]:
    """Work as soon as no other process writes to the index."""
    pause, last = _RETRY_S
    is_told = False
    while True:
        progress = Progress()
        try:
            with _followed(progress, queue, job, task.uploads.parents[1]):
                return work(task, progress)
        except IndexLocked:
            if task.stop.is_asked:
                return {"stopped": True}
            if not is_told:
                reason = "another process writes to this index: the job goes on when it is done"
                queue.tell(job.id, "waiting", {"reason": reason})
            is_told = True
            task.index.close()
            time.sleep(pause)
            pause = min(2 * pause, last)


@contextmanager
def _asked_to_end(stop: Stop) -> Iterator[None]:
    """Let SIGTERM stop the block behind what is at hand, or at once where nothing heeds it."""
    is_over = False

    def ask(_signal: int, _frame: FrameType | None) -> None:
        if is_over or stop.is_asked:
            return
        is_heeded = stop.is_heeded
        stop.ask()
        _log.info("the process is asked to end")
        if not is_heeded:
            raise _Ended

    before = signal.signal(signal.SIGTERM, ask)
    try:
        yield
    finally:
        is_over = True
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _followed(progress: Progress, queue: JobQueue, job: Job, home: Path) -> Iterator[None]:
    """Write down how far the block is, while it runs and at its end."""
    over = threading.Event()
    before = dict(job.progress or {})

    def tell() -> None:
        nonlocal before
        found = _shown(_plain(progress), home)
        if found != before:
            queue.tell_progress(job.id, found)
            before = found

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


def _plain(progress: Progress) -> dict[str, Any]:
    meter = progress.meter
    done, total = progress.chunks
    return {
        "stage": progress.stage,
        "bytes": round(progress.done),
        "bytes_total": progress.total,
        "source": progress.source,
        "documents": progress.documents,
        "steps": done,
        "steps_total": total,
        "llm_calls": 0 if meter is None else meter.llm_calls,
        "tokens": 0
        if meter is None
        else meter.prompt_tokens + meter.completion_tokens + meter.embedding_tokens,
        "usd": None if meter is None else meter.cost_usd,
    }


def _error(error: ClewError | OSError, home: Path) -> dict[str, Any]:
    if isinstance(error, ClewError):
        refusal = refusal_of(error)
        sentence = brief_of(error) if isinstance(error, ModelError) else str(refusal)
        return {"code": refusal.code, "message": _short(sentence, home)}
    return {"code": "store_error", "message": _short(f"this cannot be done: {error}", home)}


def _shown(data: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """Return what is told without the places of files on this machine."""
    return {
        name: _short(value, home) if isinstance(value, str) else value
        for name, value in data.items()
    }


def _short(text: str, home: Path) -> str:
    return text.replace(f"{home / 'files'}/", "").replace(f"{home}/", "")


def _prices(plain: Mapping[str, Any] | None) -> dict[str, tuple[float, float]] | None:
    if plain is None:
        return None
    return {name: (prompt, completion) for name, (prompt, completion) in plain.items()}
