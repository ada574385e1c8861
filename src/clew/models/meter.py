"""Add up what models cost: wall seconds per stage, LLM calls, tokens and dollars."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.base.types import Usage

if TYPE_CHECKING:
    from clew.models import Reply
    from clew.models.budget import Bill
    from clew.progress import Progress

MODEL_STAGES = ("embed", "rerank", "tag", "llm")


class _OpenStages(threading.local):
    """For each stage that a thread is in, the seconds that stages inside it took."""

    def __init__(self) -> None:
        self.inner: list[float] = []


@dataclass(slots=True)
class Meter:
    """Adds up one run. A stage inside another of its thread is counted in its own name only."""

    seconds: dict[str, float] = field(default_factory=dict)
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    recorded_calls: int = 0
    embedding_tokens: int = 0
    progress: Progress | None = None  # is told what was embedded
    _open: _OpenStages = field(default_factory=_OpenStages, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to `name`."""
        started = time.perf_counter()
        inner = self._open.inner
        inner.append(0.0)
        try:
            yield
        finally:
            passed = time.perf_counter() - started
            own = passed - inner.pop()
            with self._lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + own
            if inner:
                inner[-1] += passed

    def add_embedded(self, texts: Sequence[str]) -> None:
        """Report texts that were embedded to the progress."""
        if self.progress is not None:
            self.progress.add_embedded(sum(map(len, texts)))

    def add_bill(self, billed: Bill) -> None:
        """Count what an embedding endpoint billed."""
        with self._lock:
            self.embedding_tokens += billed.tokens
            self._add_cost(billed.usd if billed.priced else None)

    def add(self, reply: Reply) -> None:
        """Count an LLM's reply."""
        with self._lock:
            self.llm_calls += reply.calls
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens
            self.recorded_calls += reply.recorded
            self._add_cost(reply.cost_usd)

    def _add_cost(self, usd: float | None) -> None:
        """Add to the cost, which is unknown from the first unknown price on."""
        is_known = self.cost_usd is not None and usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (usd or 0.0) if is_known else None

    def usage(self) -> Usage:
        """Return what was counted so far."""
        return Usage(
            llm_calls=self.llm_calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost_usd=self.cost_usd,
            recorded_calls=self.recorded_calls,
            embedding_tokens=self.embedding_tokens,
            seconds=dict(self.seconds),
        )
