"""Measure what models cost: wall seconds per stage, LLM calls and tokens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clew.base.types import Mention, Usage
from clew.models import (
    LLM,
    Kind,
    LateReranker,
    Models,
    OnReply,
    Prompt,
    RecordedLLM,
    Reply,
    Reranker,
    Tagger,
    TokenEmbedder,
    TokenVectors,
    Wording,
    find_wording,
    gives_tokens,
    is_late,
    is_recorded,
)
from clew.models.around import AroundEmbedder
from clew.models.budget import Payer, paid_by
from clew.text.pieces import OnPiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.models.budget import Bill, Budget
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
    budget: Budget | None = None  # that bounds what an embedding endpoint bills
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
        """Tell the progress of texts that were embedded."""
        if self.progress is not None:
            self.progress.add_embedded(sum(map(len, texts)))

    @contextmanager
    def paying(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage, and what an embedding endpoint bills in it."""
        with self.stage(stage), self.bills():
            yield

    def bills(self) -> AbstractContextManager[None]:
        """Add up what an embedding endpoint bills in a block."""
        return paid_by(Payer(self._pay, self.budget))

    def _pay(self, billed: Bill) -> None:
        with self._lock:
            self.embedding_tokens += billed.tokens
            self._add_cost(billed.usd if billed.priced else None)

    def _add_cost(self, usd: float | None) -> None:
        """Add to what is known, and know nothing any more where that is not."""
        is_known = self.cost_usd is not None and usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (usd or 0.0) if is_known else None

    def add(self, reply: Reply) -> None:
        """Count an LLM's reply."""
        with self._lock:
            self.llm_calls += reply.calls
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens
            self.recorded_calls += reply.recorded
            self._add_cost(reply.cost_usd)

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


def add_meter(models: Models, meter: Meter) -> Models:
    """Return the same models, whose work is added to `meter`."""
    tokens, late = gives_tokens(models.embedder), is_late(models.reranker)
    embedder = _MeteredTokenEmbedder if tokens else _MeteredEmbedder
    reranker = _MeteredLateReranker if late else _MeteredReranker
    llm = models.llm
    if llm is not None:
        llm = _MeteredRecordedLLM(llm, meter) if is_recorded(llm) else _MeteredLLM(llm, meter)
    return replace(
        models,
        embedder=embedder(models.embedder, meter),  # type: ignore[arg-type]
        tagger=_MeteredTagger(models.tagger, meter),
        reranker=reranker(models.reranker, meter),  # type: ignore[arg-type]
        llm=llm,
    )


@dataclass(frozen=True, slots=True)
class _MeteredEmbedder(AroundEmbedder):
    meter: Meter

    @property
    def dimension(self) -> int:
        """The inner embedder's; one behind an endpoint may have to be asked, which is paid."""
        with self.meter.bills():
            return self.inner.dimension

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        with self.meter.paying("embed"):
            rows = self.inner.embed(texts, kind=kind)
        self.meter.add_embedded(texts)
        return rows


@dataclass(frozen=True, slots=True)
class _MeteredTokenEmbedder(_MeteredEmbedder):
    inner: TokenEmbedder

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        with self.meter.paying("embed"):
            vectors = self.inner.embed_tokens(texts)
        self.meter.add_embedded(texts)
        return vectors


@dataclass(frozen=True, slots=True)
class _Metered:
    inner: Tagger | Reranker | LLM
    meter: Meter

    @property
    def name(self) -> str:
        return self.inner.name


@dataclass(frozen=True, slots=True)
class _MeteredTagger(_Metered):
    inner: Tagger

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        with self.meter.stage("tag"):
            return self.inner.tag(texts)


@dataclass(frozen=True, slots=True)
class _MeteredReranker(_Metered):
    inner: Reranker

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        with self.meter.paying("rerank"):
            return self.inner.score(query, texts)


@dataclass(frozen=True, slots=True)
class _MeteredLateReranker(_MeteredReranker):
    inner: LateReranker

    def matches(self, query: TokenVectors, texts: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        with self.meter.paying("rerank"):
            return self.inner.matches(query, texts)


@dataclass(frozen=True, slots=True)
class _MeteredLLM(_Metered):
    inner: LLM

    @property
    def wording(self) -> Wording | None:
        return find_wording(self.inner)

    def complete(self, prompts: Sequence[Prompt]) -> list[Reply]:
        with self.meter.stage("llm"):
            replies = self.inner.complete(prompts)
        for reply in replies:
            self.meter.add(reply)
        return replies


@dataclass(frozen=True, slots=True)
class _MeteredRecordedLLM(_MeteredLLM):
    inner: RecordedLLM

    def complete(
        self,
        prompts: Sequence[Prompt],
        *,
        on_reply: OnReply | None = None,
        on_text: OnPiece | None = None,
    ) -> list[Reply]:
        """Count each reply when it is told, so that nothing is lost where an error ends all."""

        def pass_on(i: int, reply: Reply) -> None:
            self.meter.add(reply)
            if on_reply is not None:
                on_reply(i, reply)

        with self.meter.stage("llm"):
            try:
                if on_text is None:
                    return self.inner.complete(prompts, on_reply=pass_on)
                return self.inner.complete(prompts, on_reply=pass_on, on_text=on_text)
            except BaseException:
                self.unreported()
                raise

    def unreported(self) -> Reply | None:
        rest = self.inner.unreported()
        if rest is not None:
            self.meter.add(rest)
        return rest
