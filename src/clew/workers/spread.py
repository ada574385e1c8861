"""Models whose work is done by workers, in parts of the texts that they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.models import Embedder, Extractor, Kind, TokenEmbedder, gives_tokens
from clew.models.around import AroundEmbedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.index.building import Workers
    from clew.models import TokenVectors
    from clew.types import Extraction

_FEW = 32  # texts: fewer are done here before a worker has them


def spread_embedder(inner: Embedder, workers: Workers) -> Embedder:
    """Return an embedder of documents' texts by workers; token vectors it makes itself.

    They are a hundred times the size of what is kept of them, too much to send.
    """
    if gives_tokens(inner):
        return _SpreadTokenEmbedder(inner, workers)
    return _SpreadEmbedder(inner, workers)


def spread_extractor(inner: Extractor, by: str, workers: Workers) -> Extractor:
    """Return an extractor by rules, those that `by` names, whose texts workers read."""
    return _SpreadExtractor(inner, by, workers)


@dataclass(frozen=True, slots=True)
class _SpreadEmbedder(AroundEmbedder):
    workers: Workers

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        if kind != "document" or len(texts) < _FEW:
            return self.inner.embed(texts, kind=kind)
        return np.concatenate(_done(self.workers, "names", (), texts))


@dataclass(frozen=True, slots=True)
class _SpreadTokenEmbedder(_SpreadEmbedder):
    inner: TokenEmbedder

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        return self.inner.embed_tokens(texts)


@dataclass(frozen=True, slots=True)
class _SpreadExtractor:
    inner: Extractor
    by: str
    workers: Workers

    @property
    def name(self) -> str:
        return self.inner.name

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        if len(texts) < _FEW:
            return self.inner.extract(texts)
        parts = _done(self.workers, "triples", (self.by,), texts)
        return [each for part in parts for each in part]


def _done(workers: Workers, task: str, given: tuple[Any, ...], texts: Sequence[str]) -> list[Any]:
    """Return what workers make of the texts, a part for each, in order."""
    size = -(-len(texts) // workers.n)
    parts = [list(texts[begin : begin + size]) for begin in range(0, len(texts), size)]
    pending = [workers.submit(task, *given, part) for part in parts]
    return [each.result() for each in pending]
