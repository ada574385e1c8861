"""The state that all routes of one server share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync

from clew.server.audit import Audit
from clew.server.callers import Authenticator
from clew.server.database import ServerDatabase
from clew.server.indexes import Indexes
from clew.server.jobs.driver import Jobs
from clew.server.keys import Keys
from clew.server.measures import Measures
from clew.server.process_locks import ProcessLock
from clew.server.readiness import Readiness
from clew.server.spending import KeySpending
from clew.shards import open_any

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from clew.server.indexes import Opener
    from clew.server.settings import ServerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """A server's settings, database, indexes, jobs and threads."""

    settings: ServerSettings
    database: ServerDatabase
    keys: Keys
    spending: KeySpending
    indexes: Indexes
    jobs: Jobs
    door: Authenticator
    threads: anyio.CapacityLimiter
    background: TaskGroup  # of what goes on when its request is gone
    measures: Measures = field(default_factory=Measures)
    readiness: Readiness
    stopping: anyio.Event = field(default_factory=anyio.Event)  # ends streams that have no end
    audit: Audit


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
                door=Authenticator(settings, keys),
                threads=anyio.CapacityLimiter(settings.threads),
                background=background,
                audit=Audit(settings.home),
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
