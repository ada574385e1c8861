"""Any extractive question-answering model: of a text, the range that answers a question.

A folder with model.onnx and tokenizer.json is run by onnxruntime (the extra `onnx`); any other
folder, or a name on the hub, by transformers, which the extra `sentence-transformers` brings with
torch. Nothing is loaded before the first question. Devlin et al. (2019), "BERT", arXiv:1810.04805,
section 4.3: the score of a range is the sum of the logits of its first and its last token, and no
answer has the score of the first token of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from clew.base.runtime.lazy import check_installed
from clew.errors import MissingExtra, ModelError
from clew.models import ReadSpan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import tokenizers
    from numpy.typing import NDArray

_WINDOW, _STRIDE = 384, 128  # tokens that are read at once, and that two windows share
_QUESTION = 64  # tokens of a question that are read
_LONGEST = 30  # tokens of an answer


class _Logits(Protocol):
    """A model that gives two numbers for each of n tokens."""

    def __call__(
        self, inputs: dict[str, NDArray[np.int64]]
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return the (1, n) logits of the first token of an answer, and those of its last."""


@dataclass(frozen=True)
class ExtractiveReader:
    """A model in a folder, or of the hub. Raises MissingExtra and ModelError at its first text."""

    model: str

    @property
    def name(self) -> str:
        return f"extractive:{self.model}"

    def read(self, question: str, texts: Sequence[str]) -> ReadSpan | None:
        tokenizer, logits = self._loaded
        encoding = tokenizer.encode(question, add_special_tokens=False)
        if len(encoding.ids) > _QUESTION:
            question = question[: encoding.offsets[_QUESTION - 1][1]]
        spans = [
            span
            for place, text in enumerate(texts)
            for shift, window in _cut_windows(tokenizer, question, text)
            if (span := _find_best(place, shift, window, *logits(_as_inputs(window))))
        ]
        return max(spans, key=lambda each: (each.probability, -each.text), default=None)

    @cached_property
    def _loaded(self) -> tuple[tokenizers.Tokenizer, _Logits]:
        weights = Path(self.model) / "model.onnx"
        tokenizer, logits = (
            _load_onnx(weights) if weights.exists() else _load_transformers(self.model)
        )
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer, logits


def _load_onnx(weights: Path) -> tuple[tokenizers.Tokenizer, _Logits]:
    for package in ("onnxruntime", "tokenizers"):
        check_installed(package, "onnx", f"the model {str(weights.parent)!r}")
    import onnxruntime
    import tokenizers

    vocabulary = weights.with_name("tokenizer.json")
    if not vocabulary.exists():
        raise ModelError(f"no tokenizer.json in {weights.parent}: name a folder that holds one")
    session = onnxruntime.InferenceSession(str(weights), providers=["CPUExecutionProvider"])
    taken = {each.name for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    if len(names) < 2:  # of an encoder alone
        raise ModelError(
            f"{weights} gives no start and end of an answer: export it for question answering"
        )
    wanted = ["start_logits", "end_logits"] if "start_logits" in names else names[:2]

    def run(
        inputs: dict[str, NDArray[np.int64]],
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        start, end = session.run(wanted, {k: v for k, v in inputs.items() if k in taken})
        return np.asarray(start), np.asarray(end)

    return tokenizers.Tokenizer.from_file(str(vocabulary)), run


def _load_transformers(model: str) -> tuple[Any, _Logits]:
    try:
        import transformers
    except ImportError as error:
        raise MissingExtra(
            "transformers", "sentence-transformers", f"the model {model!r}"
        ) from error
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        network = transformers.AutoModelForQuestionAnswering.from_pretrained(model).eval()
    except (OSError, ValueError) as error:
        raise ModelError(f"the model {model!r} cannot be loaded: {error}") from error

    def run(
        inputs: dict[str, NDArray[np.int64]],
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        taken = {k: v for k, v in inputs.items() if k in tokenizer.model_input_names}
        output = network(**transformers.BatchEncoding(taken, tensor_type="pt"))
        return output.start_logits.detach().numpy(), output.end_logits.detach().numpy()

    return tokenizer.backend_tokenizer, run


def _cut_windows(
    tokenizer: tokenizers.Tokenizer, question: str, text: str
) -> Iterator[tuple[int, tokenizers.Encoding]]:
    """Yield the windows of a text: where each begins, and its encoding behind the question."""
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    size = _WINDOW - len(tokenizer.encode(question, "").ids)
    for first in range(0, max(len(offsets) - _STRIDE, 1), size - _STRIDE):
        if some := offsets[first : first + size]:
            yield some[0][0], tokenizer.encode(question, text[some[0][0] : some[-1][1]])


def _as_inputs(window: tokenizers.Encoding) -> dict[str, NDArray[np.int64]]:
    columns = {
        "input_ids": window.ids,
        "attention_mask": window.attention_mask,
        "token_type_ids": window.type_ids,
    }
    return {name: np.array([ids], dtype=np.int64) for name, ids in columns.items()}


def _find_best(
    place: int,
    shift: int,
    window: tokenizers.Encoding,
    start: NDArray[np.floating],
    end: NDArray[np.floating],
) -> ReadSpan | None:
    """Return the likeliest range of a window, None where the text has no token in it."""
    start, end = start.astype(np.float64).reshape(-1), end.astype(np.float64).reshape(-1)
    tokens = [i for i, part in enumerate(window.sequence_ids) if part == 1]
    if not tokens:
        return None
    low, high = tokens[0], tokens[-1] + 1
    scores = start[low:high, None] + end[None, low:high]
    may_be = np.triu(np.ones_like(scores)) - np.triu(np.ones_like(scores), _LONGEST)
    scores = np.where(may_be > 0, scores, -np.inf)
    first, last = np.unravel_index(int(np.argmax(scores)), scores.shape)
    total = np.logaddexp.reduce([*scores.reshape(-1).tolist(), float(start[0] + end[0])])
    return ReadSpan(
        place,
        shift + window.offsets[low + int(first)][0],
        shift + window.offsets[low + int(last)][1],
        float(np.exp(scores[first, last] - total)),
    )
