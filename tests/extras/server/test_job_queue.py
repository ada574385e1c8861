"""The queue: which job begins, and that no two processes do one."""

import secrets
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.extras.server.database import ServerDatabase
from clew.extras.server.jobs import queue as queues
from clew.extras.server.jobs.queue import JobQueue
from clew.extras.server.process_locks import ProcessLock, hold_lock, is_alive
from clew.extras.wire.jobs import JobSpent
from clew.models.budget import Bill

RUN = {"folder": "/f", "specs": {}, "prices": None}


@pytest.fixture
def queue(database):
    return JobQueue(database)


def add(queue, folder, n=None):
    job_id = secrets.token_hex(8) if n is None else f"{n:04d}"
    return queue.add(
        job_id, name=folder, folder=f"/{folder}", kind="index", key="", options={}, run=RUN
    )


def same(_name):
    return None


STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from("abc")),
    st.tuples(st.just("claim"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["done", "died", "cancel"]), st.integers(0, 9)),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=25))
def test_what_begins_is_the_first_that_may(tmp_path_factory, steps):
    """Compared with a list: below so many at a time, one of a folder, in order."""
    database = ServerDatabase(tmp_path_factory.mktemp("queue"))
    queue, model = JobQueue(database), []  # [id, folder, state, deaths]
    try:
        for what, value in steps:
            if what == "add":
                model.append([add(queue, value, len(model)).id, value, "queued", 0])
            elif what == "claim":
                found = queue.claim(value, same)
                busy = {folder for _, folder, state, _ in model if state == "running"}
                free = [m for m in model if m[2] in {"queued", "interrupted"} and m[1] not in busy]
                expected = free[0] if free and len(busy) < value else None
                assert (found and found.id) == (expected and expected[0])
                if expected:
                    expected[2] = "running"
            elif value < len(model):
                change(queue, model[value], what)
            for job_id, _, state, _ in model:
                assert queue.get(job_id).state == state
    finally:
        database.close()


def change(queue, row, what):
    job = queue.get(row[0])
    if what == "cancel":
        queue.cancel(job.id)
        row[2] = "cancelled" if row[2] in {"queued", "interrupted"} else row[2]
        if row[2] == "running":
            queue.end(queue.get(job.id), "cancelled", {})
            row[2] = "cancelled"
    elif row[2] == "running" and what == "done":
        queue.end(job, "done", {})
        row[2] = "done"
    elif row[2] == "running":
        queue.record_death(job, "it is gone", 1)
        row[3] += 1
        row[2] = "failed" if row[3] > 1 else "interrupted"


def test_only_the_process_of_the_attempt_enters(queue):
    """One that comes late, or twice, is not wanted: there is another one, or none is needed."""
    job = add(queue, "a")
    assert queue.enter(job.id, 1, 7) is None  # it waits
    assert queue.claim(1, same).attempt == 1
    assert queue.enter(job.id, 2, 7) is None
    entered = queue.enter(job.id, 1, 7)
    assert (entered.pid, entered.entered) == (7, True)
    assert queue.enter(job.id, 1, 8) is None
    queue.record_death(entered, "it is gone", 3)
    assert queue.enter(job.id, 1, 7) is None
    queue.record_death(entered, "it is gone", 3)  # of the same attempt: counted once
    assert queue.claim(1, same).attempt == 2
    assert queue.get(job.id).deaths == 1
    assert queue.enter(job.id, 2, 9) is not None


def test_a_lock_is_free_when_its_process_is_dead(tmp_path):
    """However it died; and it is not given twice meanwhile, in this process or another."""
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        "from clew.extras.server.process_locks import hold_lock\n"
        "with hold_lock(Path(sys.argv[1])) as held:\n    print(held, flush=True)\n"
        "    time.sleep(60)"
    )
    path = tmp_path / "lock"
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "True\n"
        with hold_lock(path) as held:
            assert not held
        other.kill()
    with hold_lock(path) as held, hold_lock(path) as again:
        assert (held, again) == (True, False)


def test_a_process_is_alive_while_its_lock_cannot_be_opened(tmp_path):
    """Nothing is known of it then, and what a living one has reserved would be given away."""
    mine = ProcessLock(tmp_path)
    assert is_alive(tmp_path, mine.name)
    mine.end()
    assert not is_alive(tmp_path, mine.name)
    (tmp_path / "alive" / "broken").mkdir()  # no file that SQLite opens
    assert is_alive(tmp_path, "broken")


def test_old_jobs_are_forgotten_and_what_one_spent_is_kept(queue, monkeypatch):
    monkeypatch.setattr(queues, "_KEPT", 2)
    jobs = [add(queue, f"f{i}") for i in range(5)]
    for each in jobs[:4]:
        queue.cancel(each.id)
    assert queue.forget_old() == [jobs[1].id, jobs[0].id]
    assert [each.id for each in queue.list_jobs(None)[0]] == [each.id for each in jobs[:1:-1]]
    assert queue.list_events(jobs[0].id) == []
    job = add(queue, "a")
    queue.add_spent(job.id, Bill(100, 0.1))
    assert queue.get(job.id).spent == Bill(100, 0.1)
    queue.add_spent(job.id, Bill(-60, -0.06))
    assert queue.get(job.id).spent.tokens == 40
    queue.add_spent(job.id, Bill(5, 0.0, priced=False))
    assert queue.get(job.id).make_view().spent == JobSpent(tokens=45, usd=None)
