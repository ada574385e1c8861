"""Convert a trained reader into a CTranslate2 encoder of int8 weights, and its heads.

    python tools/reader/export.py CHECKPOINT --base FOLDER --into FOLDER

The encoder is written as `tools/minilm.py` writes the embedder, the two heads that are used as
heads.npz: "statement" (2, 768) and its bias for what a statement holds and supports, "passage".
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

sys.path.append(str(Path(__file__).parents[1]))
import minilm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

PARTS = {
    "adds": "attention.output.dense",
    "widens": "intermediate.dense",
    "narrows": "output.dense",
    "norms.0": "attention.output.LayerNorm",
    "norms.1": "output.LayerNorm",
}
WHOLE = {
    "pieces": "embeddings.word_embeddings",
    "places": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
}


def main() -> None:
    """Write the encoder and the heads."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    options = parser.parse_args()
    kept = torch.load(options.checkpoint, weights_only=True, map_location="cpu")["reader"]
    weights = {name: each.numpy() for name, each in kept.items()}
    minilm.LAYERS = 1 + max(int(n.split(".")[1]) for n in weights if n.startswith("layers."))
    model = minilm.converted(dict(rename(weights)))
    vocabulary = json.loads((options.base / "tokenizer.json").read_bytes())["model"]["vocab"]
    model.register_vocabulary(sorted(vocabulary, key=vocabulary.__getitem__))
    model.validate()
    options.into.mkdir(parents=True, exist_ok=True)
    model.save(str(options.into))
    names = {"statement": "of_statement", "passage": "of_passage"}
    heads = {k: weights[f"{n}.weight"] for k, n in names.items()}
    heads |= {f"{k} bias": weights[f"{n}.bias"] for k, n in names.items()}
    np.savez(options.into / "heads.npz", **heads)


def rename(weights: dict[str, NDArray[np.float32]]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the weights of the encoder by the names that the published ones have."""
    for name, each in weights.items():
        part, _, kind = name.rpartition(".")
        if part in WHOLE:
            yield f"{WHOLE[part]}.{kind}", each
        elif part.startswith("layers."):
            _, number, inner = part.split(".", 2)
            at = f"encoder.layer.{number}."
            if inner == "reads":
                three = zip(("query", "key", "value"), np.split(each, 3), strict=True)
                yield from ((f"{at}attention.self.{n}.{kind}", own) for n, own in three)
            else:
                yield f"{at}{PARTS[inner]}.{kind}", each


if __name__ == "__main__":
    main()
