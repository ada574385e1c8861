"""Convert all-MiniLM-L6-v2 into the files that come with Clew: `make minilm` does so.

    python tools/minilm.py FOLDER

FOLDER has model.safetensors and tokenizer.json as sentence-transformers published them, whose
SHA-256 are compared. The same files come out, byte for byte, every time.

Each row of a matrix becomes int8 numbers with a scale of its own. When the model runs, each token's
numbers are brought to int8, too. One of the 384 numbers of a token or two, to which all others
attend, is up to 10 where others are up to 2, and spoils the scale of that token. What a layer reads
is therefore shifted by a constant there, and the biases behind it make up for that: only the
rounding changes (docs/decisions/0054).
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from ctranslate2.specs.common_spec import Activation, EmbeddingsMerge
from ctranslate2.specs.transformer_spec import TransformerEncoderModelSpec, TransformerEncoderSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctranslate2.specs.common_spec import EmbeddingsSpec, LayerNormSpec, LinearSpec
    from numpy.typing import NDArray

    Weights = Mapping[str, NDArray[np.float32]]

INTO = Path(__file__).parents[1] / "src/clew/models/all_minilm_l6_v2"
# Of https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
PUBLISHED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
LAYERS, HEADS, EPSILON = 6, 12, 1e-12
SHIFTED = 99, 6.0  # the number that is far from all others before attention, and what is taken off
SHIFTED_INSIDE = 223, -4.0  # the same before the products of the feed-forward part
SHIFTED_INSIDE_FROM = 2  # the first layer where it is


def main() -> None:
    """Write the files of the model."""
    [folder] = map(Path, sys.argv[1:])
    for name, sha256 in PUBLISHED.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != sha256:
            sys.exit(f"{folder / name} is not the published file")
    model = converted(tensors(folder / "model.safetensors"))
    vocabulary = json.loads((folder / "tokenizer.json").read_bytes())["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    model.register_vocabulary(pieces)
    model.validate()
    model.save(str(INTO))
    (INTO / "vocabulary.json").unlink()  # which takes longer to load than lines do
    lines = "".join(f"{piece}\n" for piece in pieces)
    (INTO / "vocabulary.txt").write_text(lines, encoding="utf-8", newline="\n")


def tensors(file: Path) -> Weights:
    """Return the float32 tensors of a safetensors file by name."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    return {
        name: np.frombuffer(data[start + at : start + end], np.float32).reshape(each["shape"])
        for name, each in json.loads(data[8:start]).items()
        if each.get("dtype") == "F32"
        for at, end in [each["data_offsets"]]
    }


def converted(weights: Weights) -> TransformerEncoderModelSpec:
    """Return the model as CTranslate2 describes one."""
    encoder = TransformerEncoderSpec(
        LAYERS,
        HEADS,
        pre_norm=False,
        activation=Activation.GELU,
        layernorm_embedding=True,
        num_source_embeddings=2,  # of pieces, and of the one text that there is
        embeddings_merge=EmbeddingsMerge.ADD,
    )
    encoder.scale_embeddings = False
    pieces, types = encoder.embeddings
    set_rows(pieces, weights["embeddings.word_embeddings.weight"])
    types.weight = weights["embeddings.token_type_embeddings.weight"]
    positions, scales = in_int8(weights["embeddings.position_embeddings.weight"])
    encoder.position_encodings.encodings = positions * scales  # which are read as float32
    set_norm(encoder.layernorm_embedding, weights, "embeddings.LayerNorm")
    before = encoder.layernorm_embedding
    for i, layer in enumerate(encoder.layer):
        at = f"encoder.layer.{i}."
        reads, adds = layer.self_attention.linear
        widens, narrows = layer.ffn.linear_0, layer.ffn.linear_1
        of_attention = (f"{at}attention.self.{name}" for name in ("query", "key", "value"))
        set_linear(reads, weights, *of_attention)
        set_linear(adds, weights, f"{at}attention.output.dense")
        set_linear(widens, weights, f"{at}intermediate.dense")
        set_linear(narrows, weights, f"{at}output.dense")
        set_norm(layer.self_attention.layer_norm, weights, f"{at}attention.output.LayerNorm")
        set_norm(layer.ffn.layer_norm, weights, f"{at}output.LayerNorm")
        shift(before, reads, adds, *SHIFTED)
        if i >= SHIFTED_INSIDE_FROM:
            shift(layer.self_attention.layer_norm, widens, narrows, *SHIFTED_INSIDE)
        before = layer.ffn.layer_norm
    model = TransformerEncoderModelSpec(encoder)
    model.config.layer_norm_epsilon = EPSILON
    return model


def in_int8(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a matrix as int8 numbers, and the (n, 1) scale of each row."""
    scales = np.abs(matrix).max(axis=1, keepdims=True) / np.float32(127)
    return np.rint(matrix / scales).astype(np.int8), scales


def set_rows(into: EmbeddingsSpec | LinearSpec, matrix: NDArray[np.float32]) -> None:
    """Set a matrix as int8 numbers."""
    into.weight, scales = in_int8(matrix)
    into.weight_scale = 1 / scales.ravel()


def set_linear(linear: LinearSpec, weights: Weights, *names: str) -> None:
    """Set matrices and biases of several names as one, below each other."""
    set_rows(linear, np.concatenate([weights[f"{name}.weight"] for name in names]))
    linear.bias = np.concatenate([weights[f"{name}.bias"] for name in names])


def set_norm(norm: LayerNormSpec, weights: Weights, name: str) -> None:
    """Set what a norm multiplies with and adds."""
    norm.gamma, norm.beta = weights[f"{name}.weight"], weights[f"{name}.bias"].copy()


def shift(norm: LayerNormSpec, reads: LinearSpec, adds: LinearSpec, at: int, by: float) -> None:
    """Take a constant off one of the numbers that a norm gives, so that its layer is as it was.

    `reads` multiplies them, and `adds` is added to them.
    """
    norm.beta[at] -= by
    reads.bias += by * reads.weight[:, at] / reads.weight_scale
    adds.bias[at] += by


if __name__ == "__main__":
    main()
