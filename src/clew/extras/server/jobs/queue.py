"""The job queue: jobs as database rows, with events and files.

Any number of servers and jobs on one home use the rows; each change of a state is one transaction,
together with the event that tells of it.
"""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.base.display.shown import make_view
from clew.base.runtime import sqlite
from clew.base.runtime.sqlite import Connection
from clew.extras.server.database import ServerDatabase
from clew.extras.wire import jobs
from clew.models.budget import Bill

_WAITING = (jobs.QUEUED, jobs.INTERRUPTED)
_COLUMNS = (
    "number, id, name, folder, kind, key, options, state, made, began, ended, attempt, deaths,"
    " entered, pid, cancelled, run, progress, result, tokens, usd, unpriced"
)
_KEPT = 1_000  # jobs that ended; older ones are forgotten
_MOST_OLD = 10_000  # of which so many are at one time
_HERE = "id NOT IN (SELECT job FROM placed WHERE place != ?)"  # this machine has its files

# The files of a job, in its folder of the home.
LOCK = "running.lock"  # held by the process of the job
FILES = "files.json"  # names of the files that were uploaded with it
DOCUMENTS = "documents.jsonl"  # that were given as texts
REMOVED = "remove.json"  # the documents and files that it removes


def find_job_folder(home: Path, job_id: str) -> Path:
    """Return the folder of a job."""
    return home / "jobs" / job_id


def find_job_log(home: Path, job_id: str, attempt: int) -> Path:
    """Return the log file of an attempt."""
    return find_job_folder(home, job_id) / f"log-{attempt}.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A row of the job table."""

    number: int
    id: str
    name: str  # of the index
    folder: str
    kind: str
    key: str  # the id of the key that asked, "" for none
    options: Mapping[str, Any]
    state: str
    made: float
    began: float | None
    ended: float | None
    attempt: int
    deaths: int
    entered: bool
    pid: int | None
    cancelled: float | None  # when that was asked for
    run: Mapping[str, Any]  # what the process of this attempt opens the index with
    spent: Bill
    progress: Mapping[str, Any] | None
    result: Mapping[str, Any] | None

    @property
    def has_ended(self) -> bool:
        return self.state in jobs.ENDED

    def make_view(self) -> jobs.JobView:
        usd = self.spent.usd if self.spent.priced else None
        return make_view(
            jobs.JobView,
            self,
            index=self.name,
            cancelling=self.cancelled is not None and not self.has_ended,
            spent=jobs.JobSpent(tokens=self.spent.tokens, usd=usd),
        )


class JobQueue:
    """The jobs of a home."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def add(
        self,
        job_id: str,
        *,
        name: str,
        folder: Path,
        kind: str,
        key: str,
        options: Mapping[str, Any],
        run: Mapping[str, Any],
    ) -> Job:
        texts = (str(folder), kind, key, json.dumps(options), jobs.QUEUED)
        row = (job_id, name, *texts, time.time(), json.dumps(run))
        with self._database.writing() as connection:
            connection.execute(
                """INSERT INTO job (id, name, folder, kind, key, options, state, made, run)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                row,
            )
            if self._database.place:
                placed = (job_id, self._database.place)
                connection.execute("INSERT INTO placed VALUES (?, ?)", placed)
            _insert_event(connection, job_id, jobs.QUEUED, {"kind": kind})
        job = self.get(job_id)
        assert job is not None  # noqa: S101 -- it was just written
        return job

    def get(self, job_id: str) -> Job | None:
        matches = self._find_jobs("WHERE id = ?", (job_id,))
        return matches[0] if matches else None

    def count_states(self) -> dict[str, int]:
        rows = self._database.read_rows("SELECT state, count(*) FROM job GROUP BY state")
        return {**dict.fromkeys(jobs.STATES, 0), **{state: int(n) for state, n in rows}}

    def list_running(self) -> list[Job]:
        here = f"WHERE state = ? AND {_HERE} ORDER BY number"
        return self._find_jobs(here, (jobs.RUNNING, self._database.place))

    def list_jobs(
        self,
        names: Collection[str] | None,
        *,
        kind: str = "",
        state: str = "",
        offset: int = 0,
        limit: int = 100,
    ) -> tuple[list[Job], int]:
        """Return a page of jobs, newest first, and their total number."""
        where, values = ["1 = 1"], list[Any]()
        if names is not None:
            marks = ", ".join("?" * len(names)) or "NULL"
            where.append(f"name IN ({marks})")
            values += sorted(names)
        for column, value in (("kind", kind), ("state", state)):
            if value:
                where.append(f"{column} = ?")
                values.append(value)
        condition = f"WHERE {' AND '.join(where)}"
        [(total,)] = self._database.read_rows(f"SELECT count(*) FROM job {condition}", values)  # noqa: S608 -- of ours
        ordered = f"{condition} ORDER BY number DESC LIMIT ? OFFSET ?"
        return self._find_jobs(ordered, [*values, limit, offset]), int(total)

    def _find_jobs(self, condition: str, values: Sequence[Any]) -> list[Job]:
        question = f"SELECT {_COLUMNS} FROM job {condition}"  # noqa: S608 -- of ours
        return [_make_job(row) for row in self._database.read_rows(question, values)]

    # -- what is told -------------------------------------------------------------------------

    def add_event(self, job_id: str, kind: str, data: Mapping[str, Any]) -> None:
        with self._database.writing() as connection:
            _insert_event(connection, job_id, kind, data)

    def add_progress(self, job_id: str, progress: Mapping[str, Any]) -> None:
        """Record the progress of a job, and add it as an event."""
        with self._database.writing() as connection:
            _insert_event(connection, job_id, "progress", progress)
            question = "UPDATE job SET progress = ? WHERE id = ?"
            connection.execute(question, (json.dumps(progress), job_id))

    def list_events(self, job_id: str, after: int = 0, limit: int = 1_000) -> list[jobs.JobEvent]:
        """Return the events of a job with numbers above `after`, in order."""
        question = """SELECT number, at, kind, data FROM event WHERE job = ? AND number > ?
            ORDER BY number LIMIT ?"""
        return [
            jobs.JobEvent(number=number, at=at, kind=kind, data=json.loads(data))
            for number, at, kind, data in self._database.read_rows(question, (job_id, after, limit))
        ]

    # -- from state to state ------------------------------------------------------------------

    def claim(self, most: int, run: Callable[[str], Mapping[str, Any] | None]) -> Job | None:
        """Start the first waiting job that may run; return it, or None.

        `run` says for the name of an index what it is opened with now, None where that is what it
        was when the job came.
        """
        question = "SELECT DISTINCT name FROM job WHERE state IN (?, ?)"
        runs = {name: run(name) for (name,) in self._database.read_rows(question, _WAITING)}
        with self._database.writing() as connection:
            row = _find_next(connection, most, self._database.place)
            if row is None:
                return None
            job_id, name = row
            if runs.get(name) is not None:
                question = "UPDATE job SET run = ? WHERE id = ?"
                connection.execute(question, (json.dumps(runs[name]), job_id))
            connection.execute(
                """UPDATE job SET state = ?, attempt = attempt + 1, entered = 0, pid = NULL,
                began = coalesce(began, ?), result = NULL WHERE id = ?""",
                (jobs.RUNNING, time.time(), job_id),
            )
            [(attempt,)] = sqlite.rows(
                connection, "SELECT attempt FROM job WHERE id = ?", (job_id,)
            )
            _insert_event(connection, job_id, jobs.RUNNING, {"attempt": attempt})
        return self.get(job_id)

    def enter(self, job_id: str, attempt: int, pid: int) -> Job | None:
        """Record that an attempt's process runs; return None if it must not."""
        with self._database.writing() as connection:
            connection.execute(
                """UPDATE job SET entered = 1, pid = ? WHERE id = ? AND attempt = ?
                AND state = ? AND entered = 0""",
                (pid, job_id, attempt, jobs.RUNNING),
            )
            if not connection.changes():
                return None
        return self.get(job_id)

    def end(self, job: Job, state: str, result: Mapping[str, Any]) -> None:
        """Record the end or interruption of a running job."""
        with self._database.writing() as connection:
            _end(connection, job, state, result)

    def is_cancelled(self, job_id: str) -> bool:
        rows = self._database.read_rows("SELECT cancelled FROM job WHERE id = ?", (job_id,))
        return bool(rows) and rows[0][0] is not None

    def cancel(self, job_id: str) -> Job | None:
        """Cancel a job: a waiting one at once, a running one at its next safe point."""
        with self._database.writing() as connection:
            connection.execute(
                """UPDATE job SET cancelled = ? WHERE id = ? AND cancelled IS NULL
                AND state IN (?, ?, ?)""",
                (time.time(), job_id, jobs.RUNNING, *_WAITING),
            )
            if connection.changes():
                question = f"SELECT {_COLUMNS} FROM job WHERE id = ?"  # noqa: S608 -- of ours
                job = _make_job(sqlite.rows(connection, question, (job_id,))[0])
                if job.state in _WAITING:
                    _end(connection, job, jobs.CANCELLED, {})
                else:
                    _insert_event(connection, job_id, "cancelling", {})
        return self.get(job_id)

    def record_death(self, job: Job, reason: str, most_deaths: int) -> None:
        """Record that the process of a job died; the job is retried a few times.

        `job` is the row as it was looked at; nothing is done where it has changed since.
        """
        with self._database.writing() as connection:
            connection.execute(
                """UPDATE job SET deaths = deaths + 1
                WHERE id = ? AND state = ? AND attempt = ?""",
                (job.id, jobs.RUNNING, job.attempt),
            )
            if not connection.changes():
                return
            [(cancelled,)] = sqlite.rows(
                connection, "SELECT cancelled FROM job WHERE id = ?", (job.id,)
            )
            outcome = {"reason": reason}
            if cancelled is not None:
                _end(connection, job, jobs.CANCELLED, {})
            elif job.deaths + 1 > most_deaths:
                sentence = (
                    f"{reason}, for the {job.deaths + 1}th time: what was committed is kept, and"
                    f" the server's log of the job {job.id} says more"
                )
                error = {"code": "interrupted", "message": sentence}
                _end(connection, job, jobs.FAILED, {"error": error})
            else:
                _end(connection, job, jobs.INTERRUPTED, outcome)

    def add_spent(self, job_id: str, more: Bill) -> None:
        """Add to a job's spending; a negative amount releases a reservation."""
        with self._database.writing() as connection:
            connection.execute(
                """UPDATE job SET tokens = tokens + ?, usd = usd + ?,
                unpriced = CASE WHEN ? = 1 THEN 1 ELSE unpriced END WHERE id = ?""",
                (more.tokens, more.usd, 0 if more.priced else 1, job_id),
            )

    # -- what goes ----------------------------------------------------------------------------

    def end_all(self, folder: Path) -> bool:
        """Cancel an index's waiting jobs; return whether none is running."""
        question = "SELECT id FROM job WHERE folder = ? AND state IN (?, ?)"
        for (job_id,) in self._database.read_rows(question, (str(folder), *_WAITING)):
            self.cancel(job_id)
        question = "SELECT 1 FROM job WHERE folder = ? AND state = ?"
        return not self._database.read_rows(question, (str(folder), jobs.RUNNING))

    def forget_old(self) -> list[str]:
        """Delete all but the newest finished jobs; return their ids."""
        question = """SELECT id FROM job WHERE state IN (?, ?, ?) ORDER BY number DESC
            LIMIT ? OFFSET ?"""
        values = (*sorted(jobs.ENDED), _MOST_OLD, _KEPT)
        old = [row[0] for row in self._database.read_rows(question, values)]
        with self._database.writing() as connection:
            for each in old:
                connection.execute("DELETE FROM event WHERE job = ?", (each,))
                connection.execute("DELETE FROM job WHERE id = ?", (each,))
                connection.execute("DELETE FROM placed WHERE job = ?", (each,))
        return old


def _find_next(connection: Connection, most: int, place: str) -> tuple[str, str] | None:
    """Return id and index of the next job for this machine, or None."""
    question = f"SELECT folder FROM job WHERE state = ? AND {_HERE}"  # noqa: S608 -- of ours
    busy = {row[0] for row in sqlite.rows(connection, question, (jobs.RUNNING, place))}
    if len(busy) >= most:
        return None
    question = f"""SELECT id, name, folder FROM job WHERE state IN (?, ?) AND {_HERE}
        ORDER BY number"""  # noqa: S608 -- of ours
    for job_id, name, folder in sqlite.rows(connection, question, (*_WAITING, place)):
        if folder not in busy:
            return job_id, name
    return None


def _insert_event(connection: Connection, job_id: str, kind: str, data: Mapping[str, Any]) -> None:
    connection.execute(
        """INSERT INTO event (job, number, at, kind, data)
        VALUES (?, (SELECT coalesce(max(number), 0) + 1 FROM event WHERE job = ?), ?, ?, ?)""",
        (job_id, job_id, time.time(), kind, json.dumps(data)),
    )


def _end(connection: Connection, job: Job, state: str, result: Mapping[str, Any]) -> None:
    ended = time.time() if state in jobs.ENDED else None
    connection.execute(
        "UPDATE job SET state = ?, ended = ?, pid = NULL, entered = 0, result = ? WHERE id = ?",
        (state, ended, json.dumps(result), job.id),
    )
    _insert_event(connection, job.id, state, result)


def _make_job(row: sqlite.Row) -> Job:
    *_, tokens, usd, unpriced = row
    values: dict[str, Any] = dict(zip(_COLUMNS.split(", "), row[:-3], strict=False))
    for name in ("options", "run", "progress", "result"):
        values[name] = json.loads(values[name] or "null")
    values["run"] = values["run"] or {}
    values["entered"] = bool(values["entered"])
    return Job(**values, spent=Bill(tokens, usd, not unpriced))
