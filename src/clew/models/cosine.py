"""The reranker of last resort: the cosine of the embedder's own vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.models import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Cosine:
    """For embedders that give no token vectors. It adds nothing to dense search by itself."""

    embedder: Embedder

    @property
    def name(self) -> str:
        return f"cosine/{self.embedder.name}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        asked = self.embedder.embed([query], kind="query")[0]
        return np.asarray(self.embedder.embed(texts, kind="document") @ asked, dtype=np.float64)
