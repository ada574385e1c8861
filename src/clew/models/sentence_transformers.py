"""Any sentence-transformers model: embedders and cross-encoders, from a folder or the hub.

The extra `sentence-transformers` brings torch. Nothing is loaded before the first text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import MissingExtra
from clew.models import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sentence_transformers import CrossEncoder, SentenceTransformer

_BATCH = 32


@dataclass(frozen=True)
class SentenceTransformersEmbedder:
    """An embedder; a model that has prompts for queries and documents is given them.

    Padding makes a text's vector depend on its batch in the last digits, about 1e-7.
    """

    model: str | Path  # a folder, or a name on the hub
    revision: str | None = None  # of a model on the hub; name one, for results that last
    device: str | None = None  # None: what torch finds

    @property
    def name(self) -> str:
        return _name(self.model, self.revision)

    @cached_property
    def dimension(self) -> int:
        return int(self.embed(["dimension"], kind="query").shape[1])

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        encode = self._model.encode_query if kind == "query" else self._model.encode_document
        vectors = encode(
            list(texts), batch_size=_BATCH, show_progress_bar=False, normalize_embeddings=True
        )
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def _model(self) -> SentenceTransformer:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise _missing(self.model) from error
        return SentenceTransformer(str(self.model), revision=self.revision, device=self.device)


@dataclass(frozen=True)
class CrossEncoderReranker:
    """A reranker that reads query and text together."""

    model: str | Path  # a folder, or a name on the hub
    revision: str | None = None
    device: str | None = None

    @property
    def name(self) -> str:
        return _name(self.model, self.revision)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        pairs = [(query, text) for text in texts]
        scores = self._model.predict(pairs, batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float64).reshape(len(texts))

    @cached_property
    def _model(self) -> CrossEncoder:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise _missing(self.model) from error
        loaded: CrossEncoder = CrossEncoder(
            str(self.model), revision=self.revision, device=self.device
        )
        return loaded


def _name(model: str | Path, revision: str | None) -> str:
    return f"sentence-transformers:{model}" + (f"@{revision}" if revision else "")


def _missing(model: str | Path) -> MissingExtra:
    return MissingExtra(
        "sentence-transformers", "sentence-transformers", f"the model {str(model)!r}"
    )
