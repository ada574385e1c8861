"""Servers whose jobs are real processes, with models that need no files and may be made to wait."""

import os
import signal
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from starlette.testclient import TestClient

from clew.extras.server import ServerSettings, application
from clew.extras.server.database import ServerDatabase
from clew.extras.server.indexes import Indexes
from clew.extras.server.jobs.driver import LEFT
from clew.extras.server.jobs.queue import JobQueue, find_job_folder
from clew.extras.server.keys import KeyOptions, Keys

BASE = "http://localhost:8765"
API = "/api/v1"
MODULE = '''
"""An embedder of hashes that waits at a gate: what other packages bring by an entry point."""

import os
import re
import sys
import time

import clew.index
from clew.testing import HashTokenEmbedder

if sys.argv[0].endswith("__main__.py") and len(sys.argv) == 4:  # the process of a job
    clew.index.adding.BATCH_CHARACTERS = 600


class Gated(HashTokenEmbedder):
    gate = ""

    def embed_tokens(self, texts):
        if any(re.search("Ada Lund [2-9]", text) for text in texts):
            while Gated.gate and os.path.exists(Gated.gate):
                time.sleep(0.01)
        return super().embed_tokens(texts)


def gated(name):
    Gated.gate = name
    return Gated()
'''
ENTRY_POINTS = """
[clew.embedders]
gated = gated_clew:gated
"""


@dataclass
class JobHome:
    """A home, and what a test does with the servers over it."""

    settings: ServerSettings
    headers: dict = field(default_factory=dict)

    @contextmanager
    def client(self, **changes):
        settings = replace(self.settings, **changes)
        with TestClient(application(settings), base_url=BASE, raise_server_exceptions=False) as c:
            c.headers.update(self.headers)
            yield c

    @contextmanager
    def database(self):
        database = ServerDatabase(self.settings.home)
        try:
            yield database
        finally:
            database.close()

    @contextmanager
    def index(self, name="notes"):
        with (
            self.database() as database,
            Indexes(self.settings, database).open_writer(name) as index,
        ):
            yield index

    def key(self, name="k", **options):
        """Make a key; return it and the header that sends it."""
        with self.database() as database:
            key, text = Keys(database).add(name, KeyOptions(**options))
        return key, {"Authorization": f"Bearer {text}"}

    @property
    def gate(self):
        """A file at which jobs wait behind the second of the long texts, as long as it is there."""
        return self.settings.home.parent / "gate"

    def job(self, job_id):
        with self.database() as database:
            return JobQueue(database).get(job_id)

    def log(self, job_id, words):
        """Say whether the newest process of a job has written some words to its log."""
        logs = sorted(find_job_folder(self.settings.home, job_id).glob("log-*.txt"))
        return bool(logs) and words in logs[-1].read_text()

    def end_all(self):
        """End what runs, as no test may leave a process behind."""
        if not (self.settings.home / "server.sqlite").exists():
            return
        with self.database() as database:
            for job in JobQueue(database).list_running():
                if job.pid is not None:
                    with suppress(ProcessLookupError):
                        os.killpg(job.pid, signal.SIGKILL)
        for child in LEFT:
            child.wait()


def until(look, seconds=120.0):
    """Return what `look` gives as soon as that is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def ended(client, job_id, seconds=120.0):

    def look():
        found = client.get(f"{API}/jobs/{job_id}").json()
        return found if found["state"] in {"done", "failed", "cancelled"} else None

    return until(look, seconds)


def events(client, job_id, **headers):
    """Return the events of a job to its end, as (number, kind, text of the data)."""
    text = client.get(f"{API}/jobs/{job_id}/events", headers=headers).text
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in lines:
            found.append((int(lines["id"]), lines["event"], lines["data"]))
    return found


def long_text(i, n=16):
    """Return a text that is a batch by itself in the processes of jobs."""
    return " ".join(f"Ada Lund {i} wound rope {k} round the pole." for k in range(n))
