"""The budget of a job: that of its key, and bounds of its own over all of its processes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from clew.models.budget import Bill, Held
from clew.server.spending import KeyBudget, KeySpending

if TYPE_CHECKING:
    from clew.server.jobs.queue import Job, JobQueue
    from clew.server.keys import Key


class JobBudget(KeyBudget):
    """A budget whose bounds hold over every attempt of a job.

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
