"""Train a smaller reader from layers of a trained one, with its judgements beside the labels.

    python tools/reader/distil.py EXAMPLES --base FOLDER --teacher FOLDER --from CHECKPOINT
        --into FOLDER [--steps N] [--until N] [--layers 3]

EXAMPLES are those of `train.py`; the teacher is the CHECKPOINT as `export.py` exports it. An
example that is marked as "own" has only its labels: the teacher has seen nothing like it. The word
embeddings are the embedder's and stay so: whoever has these need not store them twice. Products are
computed in bfloat16, on one thread. Started again it goes on from the last checkpoint, also with
other examples or more steps; log.jsonl is as of `train.py`, with the losses beside the teacher's
judgements (holds, supports, passage) between those of the labels and that of the answer's place.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ctranslate2
import numpy as np
import torch
from network import Reader
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional
from train import (
    BATCH,
    PASSAGE,
    SPAN,
    SUPPORTS,
    Course,
    hash_file,
    make_tensors,
    read_examples,
    resume,
    write_log,
)
from train import run as train_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    Example = dict[str, Any]

RATE, HEAD_RATE, WARM, DECAY, LEAST = 1.5e-4, 3e-4, 100, 0.01, 0.03
TAKEN = {4: (0, 1, 3, 5), 3: (0, 2, 5)}


class Teacher:
    """A trained reader, exported."""

    def __init__(self, folder: Path) -> None:
        self._encoder = ctranslate2.Encoder(str(folder), compute_type="int8", intra_threads=1)
        self._heads = np.load(folder / "heads.npz")

    def teach(self, examples: Sequence[Example]) -> None:
        """Set "taught" of the examples: its logits of statements (s, 2) and of the passage."""
        if not examples:
            return
        pieces = [each["pieces"] for each in examples]
        found = self._encoder.forward_batch(
            [p.ids for p in pieces], token_type_ids=[p.types for p in pieces]
        )
        hidden = np.array(found.last_hidden_state, dtype=np.float32)
        heads = self._heads
        for example, vectors in zip(examples, hidden, strict=True):
            first = vectors[0]
            wide = [
                np.concatenate([vectors[a:b].mean(axis=0), first]) if b > a else np.zeros(768)
                for a, b in example["pieces"].ranges
            ]
            statements = np.array(wide) @ heads["statement"].T + heads["statement bias"]
            passage = float(heads["passage"][0] @ first + heads["passage bias"][0])
            example["taught"] = (torch.tensor(statements, dtype=torch.float), passage)


def main() -> None:
    """Train, and keep checkpoints."""
    options = parse_options()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(options.base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    train, held = read_examples([options.examples], tokenizer)
    reader = start(options)
    heads = [p for name, p in reader.named_parameters() if name.startswith("of_")]
    rest = [p for p in reader.parameters() if p.requires_grad and not any(p is h for h in heads)]
    optimizer = torch.optim.AdamW(
        [{"params": rest, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}], weight_decay=DECAY
    )
    options.into.mkdir(parents=True, exist_ok=True)
    step = resume(options.into / "checkpoint.pt", reader, optimizer)
    log = {"examples": step * BATCH, "started": [hash_file(options.examples)]}
    write_log(options.into, log | {"train": len(train), "held": len(held)})
    run(reader, optimizer, (train, held), step, options)


def parse_options() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("examples", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--from", dest="given", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--until", type=int, help="the step to stop at, before the last one")
    parser.add_argument("--save", type=int, default=50)
    parser.add_argument("--layers", type=int, default=3, choices=sorted(TAKEN))
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def start(options: argparse.Namespace) -> Reader:
    """Return a reader with layers of the trained one, and the embedder's word embeddings."""
    reader = Reader(options.layers)
    given = torch.load(options.given, weights_only=True)["reader"]
    state = {name: each for name, each in given.items() if not name.startswith("layers.")}
    for into, taken in enumerate(TAKEN[options.layers]):
        at = f"layers.{taken}."
        own = {n.removeprefix(at): each for n, each in given.items() if n.startswith(at)}
        state |= {f"layers.{into}.{name}": each for name, each in own.items()}
    published = load_file(options.base / "model.safetensors")
    state["pieces.weight"] = published["embeddings.word_embeddings.weight"]
    reader.load_state_dict(state)
    reader.pieces.weight.requires_grad_(requires_grad=False)
    return reader


def run(
    reader: Reader,
    optimizer: torch.optim.Optimizer,
    examples: tuple[Sequence[Example], Sequence[Example]],
    step: int,
    options: argparse.Namespace,
) -> None:
    """Train on labels and the teacher's judgements until `options.steps` steps are done."""
    teacher = Teacher(options.teacher)

    def losses_of(reader: Reader, batch: Sequence[Example]) -> list[Tensor]:
        teacher.teach([e for e in batch if not e["own"] and "taught" not in e])
        return compute_losses(reader, batch)

    def rate_at(step: int, n_steps: int) -> float:
        return min(1.0, (step + 1) / WARM) * max(LEAST, 1 - step / n_steps)

    course = Course(losses_of, rate_at, (RATE, HEAD_RATE))
    train_reader(reader, optimizer, examples, step, options, course)


def compute_losses(reader: Reader, batch: Sequence[Example]) -> list[Tensor]:
    """Return the losses of labels, of the teacher's judgements, and of the answer's place."""
    pieces, types, means = make_tensors(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = reader(pieces, types, means)
    statements, passages, ends = (each.float() for each in found)
    shape = means.shape[:2]
    labels, taught = torch.full((2, *shape), -1.0), torch.zeros(*shape, 2)
    for i, example in enumerate(batch):
        n = len(example["holds"])
        labels[0, i, :n] = torch.tensor(example["holds"], dtype=torch.float)
        labels[1, i, :n] = torch.tensor(example["supports"], dtype=torch.float)
        if not example["own"]:
            taught[i, :n] = example["taught"][0]
    read = means.sum(dim=2) > 0
    of_teacher = torch.tensor([not e["own"] for e in batch])
    has = torch.tensor([0.0 if e["own"] else e["taught"][1] for e in batch])
    mine, soft = read & (labels[1] >= 0), read & of_teacher[:, None]
    spans = torch.tensor([e["span"] for e in batch])
    of_span = torch.tensor([e["span known"] for e in batch])
    ends = ends.masked_fill((pieces == 0)[:, :, None], -1e4)[of_span]
    ends = ends.transpose(1, 2).reshape(-1, pieces.shape[1])
    holds, supports = statements[..., 0], statements[..., 1]
    likely = torch.sigmoid(taught)
    return [
        lose(holds[read], labels[0][read]),
        SUPPORTS * lose(supports[mine], labels[1][mine]),
        PASSAGE * lose(passages, (labels[0] * read).amax(dim=1)),
        lose(holds[soft], likely[..., 0][soft]),
        SUPPORTS * lose(supports[soft], likely[..., 1][soft]),
        PASSAGE * lose(passages[of_teacher], torch.sigmoid(has[of_teacher])),
        SPAN * (functional.cross_entropy(ends, spans[of_span].reshape(-1)) if len(ends) else 0.0),
    ]


def lose(logits: Tensor, likely: Tensor) -> Tensor:
    """Return the cross entropy, 0 of nothing."""
    if not len(logits):
        return logits.sum()
    return functional.binary_cross_entropy_with_logits(logits, likely)


if __name__ == "__main__":
    main()
