"""Train the reader on examples, from the published weights of MiniLM.

    python tools/reader/train.py EXAMPLES... --base FOLDER --into FOLDER [--steps N] [--until N]
        [--layers 6]

`examples.py` writes EXAMPLES. The base folder has model.safetensors and tokenizer.json as
`tools/minilm.py` checks them. One thread is used, and the same input gives the same weights on one
machine. Every `--save` steps a checkpoint and a line of log.jsonl are written: steps, examples,
seconds of CPU, mean loss since the line before, and on the held-out chains the share of questions
whose likeliest statement holds the answer. Started again it goes on from the last checkpoint, also
with other examples or more steps. Needs torch, tokenizers and safetensors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from network import Reader, load_published
from pieces import encode
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    Example = dict[str, Any]

sys.path.append(str(Path(__file__).parents[1]))
from minilm import PUBLISHED

BATCH, POOL = (
    32,
    40,
)  # examples of a step; batches among which those of like length are put together
RATE, HEAD_RATE, WARM, DECAY = 1e-4, 1e-3, 100, 0.01
SPAN, SUPPORTS, PASSAGE = 0.5, 0.5, 0.5  # weights of the losses beside that of `holds`
TAKEN = {6: (0, 1, 2, 3, 4, 5), 4: (0, 1, 3, 5), 3: (0, 2, 5)}


def main() -> None:
    """Train, and keep checkpoints."""
    options = parse_options()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    for name, sha256 in PUBLISHED.items():
        if hashlib.sha256((options.base / name).read_bytes()).hexdigest() != sha256:
            sys.exit(f"{options.base / name} is not the published file")
    tokenizer = Tokenizer.from_file(str(options.base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    train, held = read_examples(options.examples, tokenizer)
    reader = Reader(options.layers)
    load_published(reader, load_file(options.base / "model.safetensors"), TAKEN[options.layers])
    heads = [p for name, p in reader.named_parameters() if name.startswith("of_")]
    rest = [p for name, p in reader.named_parameters() if not name.startswith("of_")]
    optimizer = torch.optim.AdamW(
        [{"params": rest, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}], weight_decay=DECAY
    )
    options.into.mkdir(parents=True, exist_ok=True)
    step = resume(options.into / "checkpoint.pt", reader, optimizer)
    log = {"examples": step * BATCH, "started": [hash_file(p) for p in options.examples]}
    write_log(options.into, log | {"train": len(train), "held": len(held)})
    course = Course(compute_losses, find_rate, (RATE, HEAD_RATE))
    run(reader, optimizer, (train, held), step, options, course)


def parse_options() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("examples", nargs="+", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--until", type=int, help="the step to stop at, before the last one")
    parser.add_argument("--save", type=int, default=50)
    parser.add_argument("--layers", type=int, default=6, choices=sorted(TAKEN))
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_log(folder: Path, line: dict[str, Any]) -> None:
    """Append a line to the log, and print it."""
    with (folder / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line), flush=True)


def read_examples(
    paths: Sequence[Path], tokenizer: Tokenizer
) -> tuple[list[Example], list[Example]]:
    """Return the examples to train on and the held-out ones, as pieces."""
    found: tuple[list[Example], list[Example]] = [], []
    for path in paths:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()[1:]):
            given = (row[k] for k in ("q", "bridge", "title", "statements", "above"))
            pieces = encode(tokenizer, *given)
            if not any(b for _, b in pieces.ranges):
                continue
            answer = [] if row["answer"].startswith("@") else row["answer"]
            found[row["held"]].append(
                {
                    "pieces": pieces,
                    "holds": row["holds"],
                    "supports": row["supports"] or [-1] * len(row["holds"]),
                    "span": find_span(tokenizer, pieces.ids, answer) if answer else (0, 0),
                    "asked": (row["group"], row["q"]),
                    "own": row.get("own", False),
                    "span known": not row["answer"].startswith("@"),
                }
            )
    return found


def find_span(tokenizer: Tokenizer, ids: Sequence[int], answer: str) -> tuple[int, int]:
    """Return the first and last piece of the answer in the passage, (0, 0) if it is not there."""
    own = tokenizer.encode(answer, add_special_tokens=False).ids
    start = len(ids) - ids[::-1].index(102, 1)  # behind the last separator but one
    for at in range(start, len(ids) - len(own)):
        if ids[at : at + len(own)] == own:
            return at, at + len(own) - 1
    return 0, 0


def resume(path: Path, reader: Reader, optimizer: torch.optim.Optimizer) -> int:
    """Load the last checkpoint, if any, and return its step."""
    if not path.exists():
        return 0
    kept = torch.load(path, weights_only=True)
    reader.load_state_dict(kept["reader"])
    optimizer.load_state_dict(kept["optimizer"])
    return int(kept["step"])


@dataclass(frozen=True, slots=True)
class Course:
    """The losses of a batch, and the learning rates."""

    losses_of: Callable[[Reader, Sequence[Example]], list[Tensor]]
    rate_at: Callable[[int, int], float]  # the share of the full rate at a step of so many
    rates: tuple[float, float]  # the full ones: of layers, and of heads


def run(
    reader: Reader,
    optimizer: torch.optim.Optimizer,
    examples: tuple[Sequence[Example], Sequence[Example]],
    step: int,
    options: argparse.Namespace,
    course: Course,
) -> None:
    """Train on the first examples, measured on the others, until `options.steps` are done."""
    train, held = examples
    losses: list[list[float]] = []
    for batch in make_batches(train, step + options.seed * 1_000_003):
        if step >= (options.until or options.steps):
            break
        share = course.rate_at(step, options.steps)
        for group, rate in zip(optimizer.param_groups, course.rates, strict=True):
            group["lr"] = rate * share
        reader.train()
        parts = course.losses_of(reader, batch)
        optimizer.zero_grad()
        sum(parts).backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        losses.append([float(p.detach()) for p in parts])
        step += 1
        if step % options.save == 0 or step == options.steps:
            mean = [round(sum(c) / len(losses), 4) for c in zip(*losses, strict=True)]
            line = {"step": step, "examples": step * BATCH, "cpu": round(time.process_time())}
            line |= {"loss": mean, "dev": measure(reader, held)}
            write_log(options.into, line)
            kept = {"reader": reader.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(kept | {"step": step}, options.into / "checkpoint.tmp")
            (options.into / "checkpoint.tmp").replace(options.into / "checkpoint.pt")
            losses = []


def find_rate(step: int, n_steps: int) -> float:
    """Return the share of the full learning rate at a step."""
    return min(1.0, (step + 1) / WARM, max(0.05, 1 - step / n_steps) * 2)


def make_batches(examples: Sequence[Example], seed: int) -> Iterator[list[Example]]:
    """Yield batches for ever: drawn at random, those of like length together."""
    rng = random.Random(seed)
    while True:
        order = rng.sample(examples, len(examples))
        for at in range(0, len(order), BATCH * POOL):
            near = sorted(order[at : at + BATCH * POOL], key=lambda e: len(e["pieces"].ids))
            batches = [near[i : i + BATCH] for i in range(0, len(near), BATCH)]
            yield from rng.sample(batches, len(batches))


def make_tensors(batch: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the pieces, types, and weights in the means of statements, of a batch."""
    length = max(len(e["pieces"].ids) for e in batch)
    most = max(len(e["holds"]) for e in batch)
    pieces, types = torch.zeros((2, len(batch), length), dtype=torch.long)
    means = torch.zeros(len(batch), most, length)
    for i, example in enumerate(batch):
        own = example["pieces"]
        pieces[i, : len(own.ids)] = torch.tensor(own.ids)
        types[i, : len(own.ids)] = torch.tensor(own.types)
        for j, (a, b) in enumerate(own.ranges):
            if b > a:
                means[i, j, a:b] = 1 / (b - a)
    return pieces, types, means


def compute_losses(reader: Reader, batch: Sequence[Example]) -> list[Tensor]:
    """Return the losses of holds, supports, passage and span, each weighed."""
    pieces, types, means = make_tensors(batch)
    shape = means.shape[:2]
    holds, supports = torch.zeros(shape), torch.full(shape, -1.0)
    for i, example in enumerate(batch):
        n = len(example["holds"])
        holds[i, :n] = torch.tensor(example["holds"], dtype=torch.float)
        supports[i, :n] = torch.tensor(example["supports"], dtype=torch.float)
    statements, passages, ends = reader(pieces, types, means)
    read = means.sum(dim=2) > 0
    has = (holds * read).amax(dim=1)
    known = read & (supports >= 0)
    entropy = functional.binary_cross_entropy_with_logits
    spans = torch.tensor([e["span"] for e in batch])
    of_span = torch.tensor([e["span known"] for e in batch])
    ends = ends.masked_fill((pieces == 0)[:, :, None], -1e4)
    span = (
        functional.cross_entropy(
            ends[of_span].transpose(1, 2).reshape(-1, ends.shape[1]), spans[of_span].reshape(-1)
        )
        if of_span.any()
        else ends.sum() * 0
    )
    return [
        entropy(statements[..., 0][read], holds[read]),
        SUPPORTS * entropy(statements[..., 1][known], supports[known])
        if known.any()
        else statements.sum() * 0,
        PASSAGE * entropy(passages, has),
        SPAN * span,
    ]


@torch.no_grad()
def measure(reader: Reader, held: Sequence[Example]) -> float:
    """Return the share of held-out questions whose likeliest statement holds the answer."""
    reader.eval()
    best: dict[tuple[str, str], tuple[float, int]] = {}
    order = sorted(held, key=lambda e: len(e["pieces"].ids))
    has = {e["asked"] for e in held if any(e["holds"])}
    for at in range(0, len(order), BATCH):
        batch = order[at : at + BATCH]
        pieces, types, means = make_tensors(batch)
        scores = reader(pieces, types, means)[0][..., 0]
        scores = scores.masked_fill(means.sum(dim=2) == 0, -1e4)
        for i, example in enumerate(batch):
            top = int(scores[i].argmax())
            true = example["holds"][top] if top < len(example["holds"]) else 0
            best[example["asked"]] = max(
                best.get(example["asked"], (-1e9, 0)), (float(scores[i, top]), true)
            )
    found = [true for asked, (_, true) in best.items() if asked in has]
    return round(sum(found) / max(len(found), 1), 4)


if __name__ == "__main__":
    main()
