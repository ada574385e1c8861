"""The state shared by all model calls of one question or one write.

A `ModelRun` is passed explicitly. `clew.models.bound.bind_models` returns models that hold it, and
they pass it to each model with a keyword `run`, as those behind an endpoint have. No protocol asks
for that keyword, so models of other packages do without; one that wraps a paid embedder takes it
and passes it on, since the budget is in it.

Somebody waits for a question. So a server that cannot be reached, or that times out, is not asked
again in it, and an LLM that fails is done without. A write tries again, since a server may come
back. So does an evaluation, in which a failing LLM is an error: there is nothing to measure.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from clew.base.types import Usage

if TYPE_CHECKING:
    from clew.errors import EndpointError, ModelError
    from clew.models import Prompt, Reply
    from clew.models.budget import Bill, Budget
    from clew.progress import Progress

T = TypeVar("T")
_log = logging.getLogger(__name__)
MODEL_STAGES = ("embed", "rerank", "tag", "llm")


class _OpenStages(threading.local):
    """Each thread's open stages, with the seconds spent in nested stages."""

    def __init__(self) -> None:
        self.inner: list[float] = []


class Meter:
    """Sums the time and usage of a run; nested stages are counted under their own name only."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.usage = Usage()  # so far
        self._progress = progress  # is told what was embedded
        self._open = _OpenStages()
        self._lock = threading.Lock()

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
            self._add_usage(Usage(seconds={name: passed - inner.pop()}))
            if inner:
                inner[-1] += passed

    def add_embedded(self, texts: Sequence[str]) -> None:
        """Report embedded texts to the progress."""
        if self._progress is not None:
            self._progress.add_embedded(sum(map(len, texts)))

    def add_bill(self, billed: Bill) -> None:
        """Count the bill of an embedding endpoint."""
        usd = billed.usd if billed.priced else None
        self._add_usage(Usage(embedding_tokens=billed.tokens, cost_usd=usd))

    def add(self, reply: Reply) -> None:
        """Count the usage of an LLM's reply."""
        self._add_usage(
            Usage(
                llm_calls=reply.calls,
                recorded_calls=reply.recorded,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                cost_usd=reply.cost_usd,
            )
        )

    def _add_usage(self, usage: Usage) -> None:
        with self._lock:
            self.usage += usage


class ModelExchange(NamedTuple):
    """A prompt sent to an LLM, and its final reply."""

    model: str
    prompt: Prompt
    reply: Reply


# Between an evaluation and the questions that it asks stand functions of its caller, which know
# nothing of runs.
_evaluated: ContextVar[list[ModelExchange] | None] = ContextVar("evaluated", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRun:
    """The meter, budget, failures and recorded exchanges of one question or one write."""

    meter: Meter = field(default_factory=Meter)
    budget: Budget | None = None  # None: that of the LLM
    failed: dict[str, EndpointError] | None = None  # by address; None: nobody waits
    exchanges: list[ModelExchange] | None = None  # of an evaluation, in which failures are raised
    vectors: dict[tuple[str, ...], Any] | None = None  # of texts that came alone; None: not kept
    logged: set[str] = field(default_factory=set)  # messages, each logged once

    def log_failure(self, error: ModelError) -> None:
        """Log an LLM failure, once per run."""
        if str(error) not in self.logged:
            self.logged.add(str(error))
            _log.warning("continuing without the LLM: %s", error)


def start_question_run(budget: Budget | None = None, *, whole: ModelRun | None = None) -> ModelRun:
    """Return the run of a question; as part of a `whole` run, with its own meter."""
    if whole is None:
        is_waited_for = _evaluated.get() is None
        whole = replace(default_run(), failed={} if is_waited_for else None, vectors={})
    return replace(whole, meter=Meter(), budget=budget)


def default_run() -> ModelRun:
    """Return the run of a model that is not bound to one."""
    return ModelRun(exchanges=_evaluated.get())


@contextmanager
def evaluating() -> Iterator[list[ModelExchange]]:
    """Record every LLM exchange in the block; yield the list."""
    exchanges: list[ModelExchange] = []
    before = _evaluated.set(exchanges)
    try:
        yield exchanges
    finally:
        _evaluated.reset(before)


def call_model(
    run: ModelRun | None, function: Callable[..., T], *args: object, **options: object
) -> T:
    """Call a model's function, passing the run if it accepts one."""
    if run is not None and _takes_run(getattr(function, "__func__", function)):
        options["run"] = run
    return function(*args, **options)


@lru_cache
def _takes_run(function: Callable[..., Any]) -> bool:
    return "run" in signature(function).parameters
