"""Distribute the texts of a model call over workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.models import Embedder, Extractor, Kind, TokenEmbedder, gives_tokens
from clew.models.bound import WrappedEmbedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.base.types import Extraction
    from clew.index.building import Workers
    from clew.models import TokenVectors

_MIN_TEXTS = 32  # texts: fewer are done here before a worker has them


def spread_embedder(inner: Embedder, workers: Workers) -> Embedder:
    """Return an embedder that runs on workers, except for token vectors.

    They are a hundred times the size of what is kept of them, too much to send.
    """
    if gives_tokens(inner):
        return _SpreadTokenEmbedder(inner, workers)
    return _SpreadEmbedder(inner, workers)


@dataclass(frozen=True, slots=True)
class _SpreadEmbedder(WrappedEmbedder):
    workers: Workers

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        if kind != "document" or len(texts) < _MIN_TEXTS:
            return self.inner.embed(texts, kind=kind)
        return np.concatenate(_run_parts(self.workers, "names", texts))


@dataclass(frozen=True, slots=True)
class _SpreadTokenEmbedder(_SpreadEmbedder):
    inner: TokenEmbedder

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        return self.inner.embed_tokens(texts)


@dataclass(frozen=True, slots=True)
class SpreadExtractor:
    """An extractor whose rules run on workers."""

    inner: Extractor
    workers: Workers

    @property
    def name(self) -> str:
        return self.inner.name

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        if len(texts) < _MIN_TEXTS:
            return self.inner.extract(texts)
        parts = _run_parts(self.workers, "triples", texts)
        return [each for part in parts for each in part]


def _run_parts(workers: Workers, task: str, texts: Sequence[str]) -> list[Any]:
    """Split the texts over the workers; return their results in order."""
    size = -(-len(texts) // workers.n)
    parts = [list(texts[begin : begin + size]) for begin in range(0, len(texts), size)]
    pending = [workers.submit(task, part) for part in parts]
    return [each.result() for each in pending]
