"""The shared state of a server's routes, with metrics and readiness.

A server polls for new generations: LISTEN would be one more connection to lose.
"""

import logging
import os
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    disable_created_metrics,
    generate_latest,
    values,
)
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from clew.base.runtime.private import open_file
from clew.errors import ClewError
from clew.extras.cluster.shards.index import open_any
from clew.extras.server.database import ServerDatabase
from clew.extras.server.indexes import Indexes, Opener
from clew.extras.server.jobs.driver import Jobs
from clew.extras.server.keys import Keys
from clew.extras.server.logs import Audit
from clew.extras.server.oidc.provider import Provider
from clew.extras.server.process_locks import ProcessLock
from clew.extras.server.settings import ServerSettings
from clew.extras.server.spending import KeySpending

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds

disable_created_metrics()  # type: ignore[no-untyped-call]  # when each series began: twice the lines, and nobody asked for it
_PROBE = "ready"  # a file of the home, written to see whether it can be
_FRESH_S = 1.0  # how long an answer is good: asking often costs nothing
_log = logging.getLogger(__name__)
_SHARED = "PROMETHEUS_MULTIPROC_DIR"  # names the folder in which processes count


def share_measures(folder: str) -> None:
    """Let forked processes write metrics to files of a folder, which are summed."""
    os.environ[_SHARED] = folder
    values.ValueClass = values.get_value_class()  # type: ignore[no-untyped-call]


class Measures:
    """The Prometheus counters and histograms of a server; thread-safe."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("clew_requests", "Requests", labels, registry=self.registry)
        self.request_seconds = self._histogram("clew_request_seconds", labels[:2])
        self.question_seconds = self._histogram(
            "clew_question_seconds", ("index", "kind", "method")
        )
        self.under_way = Gauge(
            "clew_requests_under_way",
            "Requests now",
            registry=self.registry,
            multiprocess_mode="livesum",
        )

    def write(self) -> bytes:
        """Return the metrics of all server processes."""
        if _SHARED not in os.environ:
            return generate_latest(self.registry)
        # A file that a process has just made is empty, which the library cannot read.
        files = [str(e) for e in Path(os.environ[_SHARED]).glob("*.db") if e.stat().st_size]
        summed = CollectorRegistry()
        summed.register(Known(MultiProcessCollector.merge(files)))  # type: ignore[no-untyped-call]
        return generate_latest(summed)

    def _histogram(self, name: str, labels: tuple[str, ...]) -> Histogram:
        return Histogram(name, "Seconds", labels, registry=self.registry, buckets=_BOUNDS)


class Readiness:
    """Checks the server's readiness; a result is cached for a second."""

    def __init__(self, home: Path, indexes: Indexes) -> None:
        self._home = home
        self._indexes = indexes
        self._readiness: tuple[float, bool] | None = None

    def check(self) -> bool:
        """Return whether the server is ready, cached for a second."""
        if self._readiness is not None and time.monotonic() - self._readiness[0] <= _FRESH_S:
            return self._readiness[1]
        is_ready, began = True, time.monotonic()
        try:
            with open_file(self._home / _PROBE) as file:
                file.write(b"ready\n")
            for name in self._indexes.list_folders():
                self._indexes.read_generation(name)
        except (ClewError, OSError) as error:
            _log.warning("the server is not ready (%s)", error)
            is_ready = False
        self._readiness = began, is_ready
        return is_ready


@dataclass(eq=False, frozen=True)
class Known(Collector):
    """Metrics read from shared state rather than counted by this process."""

    metrics: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """A server's settings, database, indexes, jobs and threads."""

    settings: ServerSettings
    database: ServerDatabase
    keys: Keys
    spending: KeySpending
    indexes: Indexes
    jobs: Jobs
    threads: anyio.CapacityLimiter
    background: TaskGroup  # of what goes on when its request is gone
    measures: Measures = field(default_factory=Measures)
    readiness: Readiness
    stopping: anyio.Event = field(default_factory=anyio.Event)  # ends streams that have no end
    audit: Audit
    provider: Provider | None = None  # who signs people in


@asynccontextmanager
async def open_state(
    settings: ServerSettings, opener: Opener = open_any
) -> AsyncIterator[ServerState]:
    """Open the state of a server, and close it when the block ends."""
    database = ServerDatabase(settings.home)
    alive = ProcessLock(settings.home)
    indexes = Indexes(settings, database, opener)
    jobs = Jobs(settings, database, indexes.list_folders)
    try:
        indexes.check()
        spending, keys = KeySpending(database, alive), Keys(database)
        spending.settle_dead()
        async with anyio.create_task_group() as background:
            background.start_soon(jobs.drive)
            yield ServerState(
                settings=settings,
                database=database,
                keys=keys,
                spending=spending,
                indexes=indexes,
                jobs=jobs,
                threads=anyio.CapacityLimiter(settings.threads),
                background=background,
                audit=Audit(settings.home),
                provider=None if settings.oidc is None else Provider(settings.oidc),
                readiness=Readiness(settings.home, indexes),
            )
            background.cancel_scope.cancel()
        if settings.stop_jobs:
            await run_sync(jobs.stop)
    finally:
        jobs.close()
        indexes.close()
        alive.end()
        database.close()
