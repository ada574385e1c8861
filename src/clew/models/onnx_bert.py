"""A BERT encoder as an ONNX file has it, run by onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_BATCH_PIECES = 512  # word pieces, padding included: small batches stay in the cache


class OnnxBert:
    """An encoder whose first output is the hidden states, as the weights' numbers say."""

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.enable_cpu_mem_arena = False  # 0.7 GB less at the same speed
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Its kernel of a layer's norm with the sum before it takes twice the time of both.
        options.add_session_config_entry(
            "optimization.disable_specified_optimizers", "SkipLayerNormFusion"
        )
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )

    def states(self, texts: Sequence[list[int]]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the place of each text and its (n, d) hidden states, given its n word pieces."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for batch in _batches(order, [len(ids) for ids in texts]):
            width = max(len(texts[i]) for i in batch)
            pieces = np.zeros((len(batch), width), dtype=np.int64)
            mask = np.zeros_like(pieces)
            for row, i in enumerate(batch):
                pieces[row, : len(texts[i])] = texts[i]
                mask[row, : len(texts[i])] = 1
            inputs = {
                "input_ids": pieces,
                "attention_mask": mask,
                "token_type_ids": np.zeros_like(pieces),
            }
            hidden = self._session.run(None, inputs)[0]
            for row, i in enumerate(batch):
                yield i, np.asarray(hidden[row, : len(texts[i])], dtype=np.float32)


def _batches(order: Sequence[int], widths: Sequence[int]) -> Iterator[list[int]]:
    """Cut `order`, ascending in width, into runs of at most _BATCH_PIECES padded pieces."""
    batch: list[int] = []
    for n in order:
        if batch and (len(batch) + 1) * widths[n] > _BATCH_PIECES:
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch
