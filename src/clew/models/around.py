"""What embedders have in common that stand around another one."""

from __future__ import annotations

from dataclasses import dataclass

from clew.models import Embedder


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
