"""Embedders around another one, such as one that embeds a lone text once: a search's query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clew.models import Embedder, Kind, Models, TokenEmbedder, TokenVectors, gives_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AroundEmbedder:
    """Has the name and the dimension of an inner embedder, as its vectors are that one's."""

    inner: Embedder

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimension(self) -> int:
        return self.inner.dimension


def add_memory(models: Models) -> Models:
    """Return the same models, which keep what they made of a text that came alone.

    They are for one search: what is kept is never dropped.
    """
    if gives_tokens(models.embedder):
        return replace(models, embedder=_RememberingTokenEmbedder(models.embedder))
    return replace(models, embedder=_RememberingEmbedder(models.embedder))


@dataclass(frozen=True, slots=True)
class _RememberingEmbedder(AroundEmbedder):
    _vectors: dict[tuple[str, Kind], NDArray[np.float32]] = field(default_factory=dict)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        if len(texts) != 1:
            return self.inner.embed(texts, kind=kind)
        key = texts[0], kind
        if key not in self._vectors:
            self._vectors[key] = self.inner.embed(texts, kind=kind)
        return self._vectors[key]


@dataclass(frozen=True, slots=True)
class _RememberingTokenEmbedder(_RememberingEmbedder):
    inner: TokenEmbedder
    _tokens: dict[str, TokenVectors] = field(default_factory=dict)

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        if len(texts) != 1:
            return self.inner.embed_tokens(texts)
        if texts[0] not in self._tokens:
            [self._tokens[texts[0]]] = self.inner.embed_tokens(texts)
        return [self._tokens[texts[0]]]
