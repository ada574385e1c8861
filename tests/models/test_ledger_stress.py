"""What was acknowledged is kept, whatever threads and processes share one file."""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from clew.base.runtime import sqlite
from clew.models.ledger import Ledger
from tests.models.recording import acknowledged_in, locked_elsewhere, reply, request

RECORDING = Path(__file__).with_name("recording.py")
THREADS = 4
PLACES = {"memory": Path("/dev/shm"), "disk": Path("/var/tmp")}  # noqa: S108 -- folders of the test's own are made there


def test_opening_a_file_again_keeps_its_locks(tmp_path):
    """A thread that uses the ledger leaves the locks of another one's connection as they are."""
    ledger = Ledger(tmp_path / "calls.sqlite")
    ledger.record(request(0), reply(0))
    with closing(sqlite.connect(ledger.path, wait=1)) as reading:
        reading.execute("BEGIN")
        assert sqlite.rows(reading, "SELECT count(*) FROM call") == [(1,)]
        ledger.record(request(1), reply(1))
        assert ledger.recall(request(1)) == reply(1)
        assert sqlite.read_header(ledger.path)
        assert locked_elsewhere(ledger.path) == "busy"
        assert sqlite.rows(reading, "SELECT count(*) FROM call") == [(1,)]
    assert locked_elsewhere(ledger.path) == "had alone"


def lost(path, numbers):
    """Return which of the replies the ledger does not have as they were."""
    return [number for number in numbers if Ledger(path).recall(request(number)) != reply(number)]


def record_in_processes(folder, *, seconds, is_killed, reads, seed, n_processes=6):
    """Let processes record, end or be killed, while this one may read; return their errors."""
    path, dice = folder / "calls.sqlite", random.Random(seed)  # noqa: S311 -- instants need no secrecy
    end, processes, errors = time.monotonic() + seconds, [], []

    def begin():
        number = dice.getrandbits(40)
        life_s = 1e9 if is_killed else dice.uniform(0.1, 2.0)
        command = [RECORDING, path, folder / f"acknowledged-{number}", number, THREADS, life_s]
        processes.append(
            subprocess.Popen(
                [sys.executable, *map(str, command)],
                cwd=RECORDING.parents[2],
                stderr=subprocess.PIPE,
                text=True,
            )
        )

    def close(process):
        _, said = process.communicate()
        errors.extend([said] if said else [])

    # On a busy machine none may have begun to record by then.
    while time.monotonic() < end or not (acknowledged_in(folder) or time.monotonic() > end + 120):
        while len(processes) < n_processes:
            begin()
        if reads:
            Ledger(path).totals()
        time.sleep(0.02)
        if is_killed and dice.random() < 0.03:
            dice.choice(processes).kill()
        for process in [each for each in processes if each.poll() is not None]:
            processes.remove(process)
            close(process)
    for process in processes:
        if is_killed:
            process.kill()
        close(process)
    return errors


def check_acknowledged(folder, **how):
    """Check that all that was acknowledged is kept, in a sound file, and nobody met an error."""
    errors = record_in_processes(folder, **how)
    path, numbers = folder / "calls.sqlite", acknowledged_in(folder)
    missing = lost(path, numbers)
    with closing(sqlite.connect(path, wait=30)) as database:
        found = database.execute("PRAGMA integrity_check").get
    print(f"{len(numbers)} acknowledged, {len(missing)} lost, {len(errors)} errors")  # noqa: T201 -- shown by pytest -s
    assert numbers
    assert (missing, found, errors) == ([], "ok", [])


def test_what_processes_record_is_kept(tmp_path):
    """Some that are killed while this one reads, for a second."""
    check_acknowledged(tmp_path, seconds=1.0, is_killed=True, reads=True, seed=1, n_processes=3)


@pytest.mark.slow
@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_what_processes_record_for_long_is_kept(place, is_killed, reads):
    """Processes of threads, killed or not, in memory and on a disk, half a minute each."""
    if not PLACES[place].is_dir():
        pytest.skip(f"there is no {PLACES[place]}")
    folder = Path(tempfile.mkdtemp(dir=PLACES[place]))
    try:
        check_acknowledged(folder, seconds=30.0, is_killed=is_killed, reads=reads, seed=2)
    finally:
        shutil.rmtree(folder)
