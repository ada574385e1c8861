"""A BERT encoder whose matrix products are of int8 numbers, run by CTranslate2.

The weights are int8 with a scale for each output, as they are stored; each token's numbers are
brought to int8 by a scale of their own. So what a text gives depends on no other one: short texts
of one length, which need no padding, are read together and give the same bits in half of the time.

In this model one of the 384 numbers of a token or two, to which all others attend, is up to 10
where others are up to 2, and spoils the scale of that token. What a layer reads is therefore
shifted by a constant there, and the biases behind it make up for that: only the rounding changes.
"""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import ModelError
from clew.runtime.cores import cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import ctranslate2
    from ctranslate2.specs.common_spec import LayerNormSpec, LinearSpec
    from ctranslate2.specs.transformer_spec import TransformerEncoderModelSpec
    from numpy.typing import NDArray

    from clew.models.onnx_weights import Weights

_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
_MATRIX = re.compile(r"val_(\d+)_q")  # what the export called the matrices, in the layers' order
_AHEAD = 8  # batches under way for each thread
_SHORT = 32  # word pieces of a text that is read with others; longer ones gain nothing
_FAR = 99, 6.0  # the number that is far from all others before attention, and what is taken off it
_FAR_INSIDE = 223, -4.0  # the same before the products of the feed-forward part
_FAR_INSIDE_FROM = 2  # the first layer where it is
_HELLO = 101, 7592, 102  # word pieces of a text whose states are known
_ALIKE = [[101, *range(2_000 + i, 3_000, 191), 102] for i in range(8)]  # a batch of one length
_HELLO_IS = 5.87  # the far number of its first piece; rounding differs with the processor


class Int8Bert:
    """The encoder of all-MiniLM-L6-v2. Any number of threads may ask it."""

    def __init__(self, weights: Mapping[str, Weights], *, threads: int = 0) -> None:
        """Take the weights as the package's ONNX file names them; `threads` 0 is all cores.

        Raises ModelError where the process computes wrong numbers. CTranslate2 writes its kernels
        at run time; where a system forbids to run what was written, it goes on without a word.
        """
        self._threads = threads or cores()
        self._encoder = _loaded(weights, self._threads)
        [hello] = self._states([list(_HELLO)])
        if not abs(hello[0, _FAR[0]] - _HELLO_IS) < 0.5:
            raise ModelError(
                "the embedded model computes wrong numbers here, as it does where a process may"
                " not run memory that it has written: allow that (MemoryDenyWriteExecute=no in a"
                " unit of systemd), or take another --embedder"
            )
        alone = np.concatenate([self._states([ids]) for ids in _ALIKE])
        is_same = np.array_equal(alone, self._states(_ALIKE))  # else a processor of another kind
        self._together = len(_ALIKE) if is_same else 1

    def states(self, texts: Sequence[list[int]]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the place of each text and its (n, 384) hidden states, given its n word pieces.

        Places come in no order. A text's bits depend on no other one.
        """
        batches = list(_batches(texts, self._together))
        given = ([texts[place] for place in batch] for batch in batches)
        if self._threads == 1 or len(batches) == 1:
            for batch, found in zip(batches, map(self._states, given), strict=True):
                yield from zip(batch, found, strict=True)
            return
        waiting = zip(batches, given, strict=True)
        with ThreadPoolExecutor(self._threads) as pool:
            while some := list(islice(waiting, _AHEAD * self._threads)):
                places, those = zip(*some, strict=True)
                for batch, found in zip(places, pool.map(self._states, those), strict=True):
                    yield from zip(batch, found, strict=True)

    def _states(self, texts: Sequence[list[int]]) -> NDArray[np.float32]:
        """Return the (m, n, 384) hidden states of m texts of n word pieces each."""
        return np.array(self._encoder.forward_batch(texts).last_hidden_state, dtype=np.float32)


def _batches(texts: Sequence[list[int]], most: int) -> Iterator[list[int]]:
    """Yield the places of texts that are read together: short ones of one length, others alone."""
    waiting: dict[int, list[int]] = {}
    for place, ids in enumerate(texts):
        if len(ids) > _SHORT:
            yield [place]
            continue
        batch = waiting.setdefault(len(ids), [])
        batch.append(place)
        if len(batch) == most:
            yield waiting.pop(len(ids))
    yield from waiting.values()


def _loaded(weights: Mapping[str, Weights], threads: int) -> ctranslate2.Encoder:
    import ctranslate2

    with tempfile.TemporaryDirectory(prefix="clew-") as folder:
        specification(weights).save(folder)
        return ctranslate2.Encoder(
            folder, compute_type="int8", inter_threads=threads, intra_threads=1
        )


def specification(weights: Mapping[str, Weights]) -> TransformerEncoderModelSpec:
    """Return the model as CTranslate2 describes one."""
    from ctranslate2.specs import common_spec, transformer_spec

    encoder = transformer_spec.TransformerEncoderSpec(
        _LAYERS,
        _HEADS,
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        layernorm_embedding=True,
        num_source_embeddings=2,  # of pieces, and of the one text that there is
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )
    encoder.scale_embeddings = False
    start = "inner.embeddings."
    pieces, types = encoder.embeddings
    pieces.weight = weights[f"{start}word_embeddings.weight_q"]
    pieces.weight_scale = 1 / weights[f"{start}word_embeddings.weight_scale"].ravel()
    types.weight = weights[f"{start}token_type_embeddings.weight"]
    scale = weights[f"{start}position_embeddings.weight_scale"]
    positions = weights[f"{start}position_embeddings.weight_q"] * scale
    encoder.position_encodings.encodings = positions
    _set_norm(encoder.layernorm_embedding, weights, f"{start}LayerNorm")
    before = encoder.layernorm_embedding
    numbers = sorted(int(found[1]) for found in map(_MATRIX.fullmatch, weights) if found)
    matrices = iter([f"val_{number}" for number in numbers])
    for i, layer in enumerate(encoder.layer):
        at = f"inner.encoder.layer.{i}."
        asked = [f"{at}attention.self.{name}" for name in ("query", "key", "value")]
        attention, forward = layer.self_attention, layer.ffn
        for linear, names in (
            (attention.linear[0], asked),
            (attention.linear[1], [f"{at}attention.output.dense"]),
            (forward.linear_0, [f"{at}intermediate.dense"]),
            (forward.linear_1, [f"{at}output.dense"]),
        ):
            own = list(islice(matrices, len(names)))
            linear.weight = np.concatenate([weights[f"{each}_q"].T for each in own])
            linear.weight_scale = 1 / np.hstack([weights[f"{each}_scale"][0] for each in own])
            linear.bias = np.concatenate([weights[f"{name}.bias"] for name in names])
        _set_norm(attention.layer_norm, weights, f"{at}attention.output.LayerNorm")
        _set_norm(forward.layer_norm, weights, f"{at}output.LayerNorm")
        _shift(before, attention.linear[0], attention.linear[1], *_FAR)
        if i >= _FAR_INSIDE_FROM:
            _shift(attention.layer_norm, forward.linear_0, forward.linear_1, *_FAR_INSIDE)
        before = forward.layer_norm
    model = transformer_spec.TransformerEncoderModelSpec(encoder)
    model.config.layer_norm_epsilon = _EPSILON
    model.register_vocabulary([str(i) for i in range(len(pieces.weight))])  # of which none is asked
    model.validate()
    return model


def _set_norm(norm: LayerNormSpec, weights: Mapping[str, Weights], name: str) -> None:
    norm.gamma, norm.beta = weights[f"{name}.weight"], weights[f"{name}.bias"].copy()


def _shift(norm: LayerNormSpec, reads: LinearSpec, adds: LinearSpec, at: int, by: float) -> None:
    """Take a constant off one of the numbers that a norm gives, so that its layer is as it was.

    `reads` multiplies them, and `adds` is added to them.
    """
    norm.beta[at] -= by
    reads.bias += by * reads.weight[:, at] / reads.weight_scale
    adds.bias[at] += by
