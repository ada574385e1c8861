"""The default embedder: all-MiniLM-L6-v2 (384 dimensions) in int8, without torch.

The weights and the tokenizer come with Clew, unless the caller names a folder: nothing is fetched.
CTranslate2 multiplies int8 numbers, or float32 where that is asked for. A text's vector does not
depend on its batch, to the bit.
Wang et al. (2020), "MiniLM", arXiv:2002.10957; sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.base.runtime.lazy import check_installed
from clew.errors import ModelError
from clew.models import Kind, TokenVectors
from clew.models.bert import FILES, Bert, OnnxBert
from clew.models.subwords import is_foreign, read_subwords
from clew.text.unseen import blank_codes

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

WEIGHTS = "8199be6f"  # the name of these weights in indexes: the SHA-256 of a file that had them
DIMENSION = 384

_WINDOW = 510  # word pieces: the model has 512 positions, two of them for the markers
_CLS, _SEP = 101, 102
_PURPOSE = "the embedder"


class MiniLM:
    """all-MiniLM-L6-v2. Texts beyond 510 word pieces are read in windows and averaged."""

    def __init__(
        self, folder: Path | str | None = None, *, threads: int = 0, float32: bool = False
    ) -> None:
        """Use `folder`'s tokenizer.json (and model.onnx, if there); `threads` 0 is all cores.

        `float32` computes in float32, as onnxruntime does with a model.onnx. Nothing is loaded
        before the first text.
        """
        self._folder = Path(folder) if folder is not None else None
        self._threads = threads
        self._float32 = float32

    @property
    def name(self) -> str:
        return f"all-MiniLM-L6-v2/{self._version}"

    @property
    def dimension(self) -> int:
        return DIMENSION

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002 -- symmetric model
        if not texts:
            return np.zeros((0, DIMENSION), dtype=np.float32)
        pooled = np.empty((len(texts), DIMENSION), dtype=np.float32)
        places = [i for i, text in enumerate(texts) if not is_foreign(text)]
        for n, encoding, hidden in self._passes([texts[i] for i in places]):
            pooled[places[n]] = _pool(hidden, len(encoding.ids))
        for i in sorted({*range(len(texts))} - {*places}):
            pooled[i] = read_subwords(texts[i], DIMENSION).pooled
        return pooled

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        vectors = {i: read_subwords(t, DIMENSION) for i, t in enumerate(texts) if is_foreign(t)}
        places = [i for i in range(len(texts)) if i not in vectors]
        for n, encoding, hidden in self._passes([texts[i] for i in places]):
            inner = np.concatenate([h[1:-1] for h in hidden])
            vectors[places[n]] = TokenVectors(
                inner,
                np.asarray(encoding.ids, dtype=np.int32),
                np.asarray(encoding.offsets, dtype=np.int32).reshape(-1, 2),
                _pool(hidden, len(encoding.ids)),
            )
        return [vectors[i] for i in range(len(texts))]

    def _passes(
        self, texts: Sequence[str]
    ) -> Iterator[tuple[int, tokenizers.Encoding, list[NDArray[np.float32]]]]:
        """Yield each text's row, tokens, and hidden states per window with both markers."""
        shown = [blank_codes(text) for text in texts]  # of the same length: places stay
        encodings = self._tokenizer.encode_batch(shown, add_special_tokens=False)
        windows = [
            (i, [_CLS, *encoding.ids[a : a + _WINDOW], _SEP])
            for i, encoding in enumerate(encodings)
            for a in range(0, max(len(encoding.ids), 1), _WINDOW)
        ]
        waiting: dict[int, dict[int, NDArray[np.float32]]] = {}
        wanted = [max(-(-len(e.ids) // _WINDOW), 1) for e in encodings]
        for n, states in self._encoder.states([ids for _, ids in windows]):
            i = windows[n][0]
            waiting.setdefault(i, {})[n] = states
            if len(waiting[i]) == wanted[i]:
                parts = waiting.pop(i)
                yield i, encodings[i], [parts[m] for m in sorted(parts)]

    @cached_property
    def _version(self) -> str:
        """The version of the weights: a folder's model may change, and its vectors with it."""
        if self._own_weights is None:
            return f"int8-{WEIGHTS}" if self._float32 else f"int8-products-{WEIGHTS}"
        return hashlib.sha256(self._own_weights.read_bytes()).hexdigest()[:12]

    @property
    def _own_weights(self) -> Path | None:
        path = self._folder / "model.onnx" if self._folder is not None else None
        return path if path is not None and path.exists() else None

    def check(self) -> None:
        """Raise what the first text would where a package or file is missing; load nothing."""
        if self._own_weights is not None:
            check_installed("onnxruntime", "onnx", _PURPOSE)
        else:
            check_installed("ctranslate2", "models", _PURPOSE)
        check_installed("tokenizers", "models", _PURPOSE)
        self._vocabulary()

    @cached_property
    def _encoder(self) -> Bert | OnnxBert:
        self.check()
        if self._own_weights is not None:
            return OnnxBert(self._own_weights, threads=self._threads)
        return Bert(float32=self._float32, threads=self._threads)

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        self.check()
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(self._vocabulary()))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _vocabulary(self) -> Path:
        file = (self._folder or FILES) / "tokenizer.json"
        if not file.exists():
            raise ModelError(f"no tokenizer.json in {self._folder}: name a folder that holds one")
        return file


def _pool(hidden: Sequence[NDArray[np.float32]], n_pieces: int) -> NDArray[np.float32]:
    """Return the unit mean of all hidden states, markers included, as the model was trained."""
    total = np.sum([h.sum(axis=0, dtype=np.float64) for h in hidden], axis=0)
    total /= n_pieces + 2 * len(hidden)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)
