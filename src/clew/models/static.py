"""Static word vectors in model2vec's format: a text is the mean of its tokens' vectors.

Hundreds of times faster than a transformer, and less exact. Tulkens and van Dongen (2024),
"Model2Vec: Fast State-of-the-Art Static Embeddings", https://github.com/MinishLab/model2vec.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError, MissingExtra
from clew.models import Kind

if TYPE_CHECKING:
    from model2vec import StaticModel
    from numpy.typing import NDArray


@dataclass(frozen=True)
class StaticEmbedder:
    """An embedder from a folder with model.safetensors, tokenizer.json and config.json.

    A text without a known token has no direction of its own: all such texts get the unit vector
    of equal numbers, so they are like each other and like nothing else in particular.
    """

    folder: Path | str

    @property
    def name(self) -> str:
        return f"model2vec:{Path(self.folder).name}-{self._digest}"

    @property
    def dimension(self) -> int:
        return int(self._model.dim)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002 -- symmetric model
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        means = self._model.encode(list(texts), max_length=None, use_multiprocessing=False)
        vectors = np.asarray(means, dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[lengths[:, 0] == 0] = 1.0
        lengths[lengths == 0] = np.sqrt(self.dimension)
        return np.asarray(vectors / lengths, dtype=np.float32)

    @cached_property
    def _digest(self) -> str:
        """The model's version: a folder can be renamed, its weights cannot."""
        return hashlib.sha256(self._weights.read_bytes()).hexdigest()[:12]

    @property
    def _weights(self) -> Path:
        path = Path(self.folder) / "model.safetensors"
        if not path.is_file():  # model2vec would look on the hub
            raise InputError(f"{self.folder} is no model2vec folder: it has no model.safetensors")
        return path

    @cached_property
    def _model(self) -> StaticModel:
        folder = self._weights.parent
        try:
            from model2vec import StaticModel
        except ImportError as error:
            raise MissingExtra("model2vec", "static", f"the model {folder.name!r}") from error
        return StaticModel.from_pretrained(folder)
