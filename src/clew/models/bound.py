"""Models bound to one run: metered, paid from its budget, logged in its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from clew.base.types import Mention
from clew.models import (
    Embedder,
    Kind,
    LateReranker,
    Models,
    Reranker,
    Tagger,
    TokenEmbedder,
    TokenVectors,
    gives_tokens,
    is_late,
    is_priced,
)
from clew.models.run import ModelRun, call_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

M = TypeVar("M")
T = TypeVar("T")


def bind_models(models: Models, run: ModelRun) -> Models:
    """Return the models bound to a run, replacing any earlier binding.

    Their work is added to its meter, and what they buy to its budget. Where it keeps vectors, a
    text that comes alone, as a query does, is embedded once.
    """
    llm = models.llm
    if llm is not None:
        from clew.models.recorded_llm import recorded  # which most questions do without

        llm = replace(recorded(llm), run=run)
    embedder, reranker = _unbind(models.embedder), _unbind(models.reranker)
    bound_embedder = _BoundTokenEmbedder if gives_tokens(embedder) else _BoundEmbedder
    bound_reranker = _BoundLateReranker if is_late(reranker) else _BoundReranker
    return replace(
        models,
        embedder=bound_embedder(embedder, run),
        tagger=_BoundTagger(_unbind(models.tagger), run),
        reranker=bound_reranker(reranker, run),
        llm=llm,
    )


def _unbind(model: M) -> M:
    return model.inner if isinstance(model, _Bound) else model


@dataclass(frozen=True, slots=True)
class _Bound:
    inner: Any
    run: ModelRun

    @property
    def name(self) -> str:
        name: str = self.inner.name
        return name


class _BoundEmbedder(_Bound):
    inner: Embedder

    @property
    def dimension(self) -> int:
        """Return the inner embedder's dimension, which may cost a request."""
        if is_priced(self.inner):
            for text in self.inner.dimension_texts():
                call_model(self.run, self.inner.embed, [text], kind="query")
        return self.inner.dimension

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        embed = partial(call_model, self.run, self.inner.embed, texts, kind=kind)
        return self._embed(texts, kind, embed)

    def _embed(self, texts: Sequence[str], kind: str, embed: Callable[[], T]) -> T:
        """Call `embed` within the meter, caching the last single text."""
        vectors, key = self.run.vectors, (self.name, kind, *texts)
        with self.run.meter.stage("embed"):
            if vectors is None or len(texts) != 1:
                rows = embed()
            elif key in vectors:
                rows = vectors[key]
            else:
                rows = vectors[key] = embed()
        self.run.meter.add_embedded(texts)
        return rows


class _BoundTokenEmbedder(_BoundEmbedder):
    inner: TokenEmbedder

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        return list(self._embed(texts, "tokens", lambda: self.inner.embed_tokens(texts)))


class _BoundTagger(_Bound):
    inner: Tagger

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        with self.run.meter.stage("tag"):
            return self.inner.tag(texts)


class _BoundReranker(_Bound):
    inner: Reranker

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        with self.run.meter.stage("rerank"):
            return call_model(self.run, self.inner.score, query, texts)


class _BoundLateReranker(_BoundReranker):
    inner: LateReranker

    def matches(self, query: TokenVectors, texts: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        with self.run.meter.stage("rerank"):
            return self.inner.matches(query, texts)
