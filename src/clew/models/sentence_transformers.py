"""Any sentence-transformers model: embedders and cross-encoders, from a folder or the hub.

The extra `sentence-transformers` brings torch. Nothing is loaded before the first text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import MissingExtra
from clew.models import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sentence_transformers import CrossEncoder, SentenceTransformer

_BATCH = 32


@dataclass(frozen=True)
class _OfHub:
    model: str | Path  # a folder, or a name on the hub
    revision: str | None = None  # of a model on the hub; name one, for results that last
    device: str | None = None  # None: what torch finds

    @property
    def name(self) -> str:
        return f"sentence-transformers:{self.model}" + (
            f"@{self.revision}" if self.revision else ""
        )

    def _load(self, kind: str) -> Any:  # noqa: ANN401 -- of that class
        try:
            import sentence_transformers
        except ImportError as error:
            package = "sentence-transformers"
            raise MissingExtra(package, package, f"the model {str(self.model)!r}") from error
        load = getattr(sentence_transformers, kind)
        return load(str(self.model), revision=self.revision, device=self.device)


@dataclass(frozen=True)
class SentenceTransformersEmbedder(_OfHub):
    """An embedder; a model that has prompts for queries and documents is given them.

    Padding makes a text's vector depend on its batch in the last digits, about 1e-7.
    """

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
        loaded: SentenceTransformer = self._load("SentenceTransformer")
        return loaded


@dataclass(frozen=True)
class CrossEncoderReranker(_OfHub):
    """A reranker that reads query and text together."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        pairs = [(query, text) for text in texts]
        scores = self._model.predict(pairs, batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float64).reshape(len(texts))

    @cached_property
    def _model(self) -> CrossEncoder:
        loaded: CrossEncoder = self._load("CrossEncoder")
        return loaded
