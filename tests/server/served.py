"""Servers whose jobs are real processes, with models that need no files and may be slow."""

import os
import signal
import textwrap
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from starlette.testclient import TestClient

from clew.loading import Specs
from clew.server import ServerSettings, application
from clew.server.books import Books
from clew.server.jobs.queue import JobQueue
from clew.server.keys import KeyOptions, Keys

BASE = "http://localhost:8765"
API = "/api/v1"
MODULE = '''
"""An embedder of hashes that takes its time: what other packages bring by an entry point."""

import time

from clew.testing import HashTokenEmbedder


class Slow(HashTokenEmbedder):
    wait = 0.0

    def embed_tokens(self, texts):
        time.sleep(Slow.wait)
        return super().embed_tokens(texts)


def slow(name):
    Slow.wait = float(name or 0)
    return Slow()
'''
ENTRY_POINTS = """
[clew.embedders]
slow = slow_clew:slow
"""


def install(folder):
    """Put a package with the embedder `slow:SECONDS` where processes find it."""
    about = folder / "slow_clew-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "slow_clew.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-clew\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")


@dataclass
class JobHome:
    """A home, and what a test does with the servers over it."""

    settings: ServerSettings
    headers: dict = field(default_factory=dict)

    @contextmanager
    def client(self, **changes):
        """Give a client of a server over this home."""
        settings = replace(self.settings, **changes)
        with TestClient(application(settings), base_url=BASE, raise_server_exceptions=False) as c:
            c.headers.update(self.headers)
            yield c

    @contextmanager
    def books(self):
        books = Books(self.settings.home)
        try:
            yield books
        finally:
            books.close()

    def key(self, name="k", **options):
        """Make a key; return it and the header that sends it."""
        with self.books() as books:
            key, text = Keys(books).add(name, KeyOptions(**options))
        return key, {"Authorization": f"Bearer {text}"}

    def job(self, job_id):
        with self.books() as books:
            return JobQueue(books).get(job_id)

    def end_all(self):
        """End what runs, as no test may leave a process behind."""
        if not (self.settings.home / "server.sqlite").exists():
            return
        with self.books() as books:
            for job in JobQueue(books).running():
                if job.pid is not None:
                    with suppress(ProcessLookupError):
                        os.killpg(job.pid, signal.SIGKILL)


def slowly(seconds):
    """Return specs of an embedder that takes so many seconds for a batch."""
    return Specs(embedder=f"slow:{seconds}")


def until(look, seconds=30.0):
    """Return what `look` gives as soon as that is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def ended(client, job_id, seconds=60.0):
    """Return a job at its end."""

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


def long_text(i, n=400):
    """Return a text of one batch or so."""
    return " ".join(f"Ada Lund {i} wound rope {k} round the pole." for k in range(n))


__all__ = ["API", "JobHome", "ended", "events", "install", "long_text", "slowly", "until"]
