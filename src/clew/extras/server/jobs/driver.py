"""The driver of jobs: one server of a home starts their processes and watches them.

What a server had started goes on when it dies, and the next one looks after it: which processes
live is known by locks that the system frees when they die.
"""

import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync

from clew.base.runtime.private import make_folder, open_file
from clew.base.runtime.threads import environment_without_bounds
from clew.errors import ClewError
from clew.extras.server.database import ServerDatabase
from clew.extras.server.jobs.queue import LOCK, Job, JobQueue, find_job_folder, find_job_log
from clew.extras.server.process_locks import hold_lock
from clew.extras.server.settings import STOP_S, ServerSettings
from clew.extras.wire.jobs import RUNNING
from clew.extras.wire.refusals import no_space, no_such_resource

_IDLE_S = 1.0  # between two looks where nothing runs: another server may have taken a job in
_BUSY_S = 0.2
_START_S = 15.0  # for a process to take its lock
_TIDY_S = 3600.0
_LEFT_S = 24 * 3600.0  # then what a request left behind is deleted
_MOST_DEATHS = 3  # of a job's processes, after which it is begun again
_LOCK = "driver.lock"
_log = logging.getLogger(__name__)

# Processes that go on when their server has ended. Python would complain of one that is let go of.
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # on Windows either ends it at once
LEFT: list[subprocess.Popen[bytes]] = []


class Jobs:
    """The jobs of a server: routes submit them, and `drive` runs them."""

    def __init__(
        self,
        settings: ServerSettings,
        database: ServerDatabase,
        folders: Callable[[], Mapping[str, Path]],
    ) -> None:
        self.queue = JobQueue(database)
        self._settings = settings
        self._folders = folders
        self._home = database.home
        self._changed = anyio.Event()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._ends: dict[str, float] = {}  # when jobs that are cancelled were asked to end
        self._tidy_at = 0.0
        self._driving = ExitStack()
        self._is_driver = False
        self._begins = True

    # -- what routes ask for ------------------------------------------------------------------

    def submit(
        self,
        name: str,
        kind: str,
        options: Mapping[str, Any],
        *,
        key: str = "",
        prepare: Callable[[Path], object] | None = None,
    ) -> Job:
        """Queue a job; `prepare` writes its files into its folder before."""
        run = self._plan_run(name)
        if run is None:
            raise no_such_resource(f"there is no index {name!r:.80} here")
        job_id = secrets.token_hex(8)
        folder = find_job_folder(self._home, job_id)
        try:
            make_folder(folder)
            if prepare is not None:
                prepare(folder)
            place = Path(run["folder"])
            return self.queue.add(
                job_id, name=name, folder=place, kind=kind, key=key, options=options, run=run
            )
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise no_space(error) from error
            raise

    def wake(self) -> None:
        """Wake the driver now; call this in the event loop."""
        self._changed.set()

    def _plan_run(self, name: str) -> Mapping[str, Any] | None:
        """Return how a job's process should open its index, or None if that is gone."""
        folder = self._folders().get(name)
        if folder is None:
            return None
        return {
            "folder": str(folder.resolve()),
            "specs": asdict(self._settings.specs),
            "prices": None if self._settings.prices is None else dict(self._settings.prices),
            "workers": self._settings.workers,
        }

    # -- the driver ---------------------------------------------------------------------------

    async def drive(self) -> None:
        """Start and watch jobs until cancelled."""
        failure = ""
        while True:
            self._changed = anyio.Event()
            is_busy = False
            try:
                is_busy = await run_sync(self.step)
                failure = ""
            except (ClewError, OSError) as error:  # such as a full disk: the next look may go well
                if failure != type(error).__name__:
                    _log.exception("jobs cannot be looked after: trying again")
                failure = type(error).__name__
            with anyio.move_on_after(_BUSY_S if is_busy else _IDLE_S):
                await self._changed.wait()

    def step(self) -> bool:
        """Run one round of the driver; return whether jobs are running."""
        self._reap()
        if not self._is_driver:
            make_folder(self._home / "jobs")
            self._is_driver = self._driving.enter_context(hold_lock(self._home / "jobs" / _LOCK))
            if not self._is_driver:
                self._driving.close()
                return False
        if time.monotonic() >= self._tidy_at:
            self._tidy_at = time.monotonic() + _TIDY_S
            self._tidy()
        for job in self.queue.list_running():
            self._watch_job(job)
        while (
            self._begins
            and (claimed := self.queue.claim(self._settings.jobs, self._plan_run)) is not None
        ):
            self._start(claimed)
        return bool(self.queue.list_running())

    def _tidy(self) -> None:
        """Delete the oldest jobs, and the files of unfinished requests."""
        for each in self.queue.forget_old():
            shutil.rmtree(find_job_folder(self._home, each), ignore_errors=True)
        staged = (self._home / "uploads").glob("*")
        jobs = (each for each in (self._home / "jobs").iterdir() if each.is_dir())
        lost = (each for each in jobs if self.queue.get(each.name) is None)
        for folder in (*staged, *lost):
            if time.time() - folder.stat().st_mtime > _LEFT_S:
                shutil.rmtree(folder, ignore_errors=True)

    def _start(self, job: Job) -> None:
        folder = find_job_folder(self._home, job.id)
        command = [sys.executable, "-P", "-m", "clew.extras.server.jobs"]
        try:
            make_folder(folder)
            with open_file(find_job_log(self._home, job.id, job.attempt)) as log:
                self._children[job.id] = subprocess.Popen(  # noqa: S603 -- ourselves
                    [*command, str(self._home.resolve()), job.id, str(job.attempt)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=folder,
                    env=environment_without_bounds(),
                    start_new_session=True,
                )
        except OSError as error:
            reason = f"its process could not be started ({error.strerror})"
            self.queue.record_death(job, reason, _MOST_DEATHS)

    def _reap(self) -> None:
        for each in [each for each in LEFT if each.poll() is not None]:
            LEFT.remove(each)
        for job_id, child in list(self._children.items()):
            if child.poll() is not None:
                job = self.queue.get(job_id)
                if job is None or job.state != RUNNING:
                    del self._children[job_id]

    def _watch_job(self, job: Job) -> None:
        """Check whether a job's process died, and terminate it if the job is cancelled."""
        child = self._children.get(job.id)
        if child is None and not job.entered and time.time() - self._find_start(job) < _START_S:
            return  # another server has just started its process, which will take the lock
        if child is None or child.poll() is not None:
            with hold_lock(find_job_folder(self._home, job.id) / LOCK) as is_free:
                if is_free:
                    self._ends.pop(job.id, None)
                    self._children.pop(job.id, None)
                    self.queue.record_death(job, _describe_end(child), _MOST_DEATHS)
                    return
        if job.cancelled is not None and job.pid is not None:
            self._end(job.id, job.pid)

    def _find_start(self, job: Job) -> float:
        """Return the start time of the process of a job, from its log."""
        with suppress(OSError):
            return find_job_log(self._home, job.id, job.attempt).stat().st_mtime
        return 0.0

    def _end(self, job_id: str, pid: int) -> None:
        """Send SIGTERM to a job's process, and SIGKILL after the grace period."""
        now = time.monotonic()
        if job_id not in self._ends:
            self._ends[job_id] = now
            send_signal(pid, signal.SIGTERM, whole=False)
        elif now - self._ends[job_id] > self._settings.job_grace_s:
            send_signal(pid, KILL, whole=True)

    # -- the end of a server ------------------------------------------------------------------

    def stop_starting(self) -> None:
        """Stop starting processes; the next server will."""
        self._begins = False

    def stop(self) -> None:
        """Ask running jobs to stop and wait for them; a later server resumes them."""
        if not self._is_driver:
            return
        pids: set[int] = set()
        until = time.monotonic() + STOP_S
        while (jobs := self.queue.list_running()) and time.monotonic() < until:
            for pid in {job.pid for job in jobs if job.pid is not None} - pids:
                pids.add(pid)
                send_signal(pid, signal.SIGTERM, whole=False)
            time.sleep(_BUSY_S / 4)
            self._reap()

    def close(self) -> None:
        """Release the driver's lock; running jobs continue."""
        LEFT.extend(each for each in self._children.values() if each.poll() is None)
        self._children.clear()
        self._driving.close()
        self._is_driver = False


def send_signal(pid: int, number: signal.Signals, *, whole: bool) -> None:
    """Send a signal to a process that holds its lock, or to its session (`whole`)."""
    with suppress(OSError):  # it has ended, or it is not ours to end
        if whole and hasattr(os, "killpg"):
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def _describe_end(child: subprocess.Popen[bytes] | None) -> str:
    if child is None:
        return "its process is gone"
    if child.returncode < 0:
        return f"its process was ended by {signal.Signals(-child.returncode).name}"
    return f"its process ended with status {child.returncode}"
