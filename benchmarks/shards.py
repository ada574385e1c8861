"""What shards cost: recall@5 against the whole index, and time.

    python -m benchmarks.shards DATASET... [--indexes FOLDER] [--shards 1,4,16] [--methods ...]
                                [--limit N] [--timed N] [--size NAME=NUMBER,...]

Each DATASET is a folder that `clew eval` takes; it is indexed once, with triples of names in one
sentence, and split. Every method runs on the whole index and on what a question gathers from the
shards, with the default models. Where questions have no gold documents, only the overlap of the
first five chunks with those of the whole is said. Times of methods are of the processor, for the
first questions; one process asks its shards one after the other, so they are sums over the shards.
Those of the stages are by the clock. The models' time is part of both sides.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import clew
from clew.answers.method import build_method
from clew.answers.pipeline import run_method
from clew.evaluate import load
from clew.extras.evaluate.metrics import distinct, ranking
from clew.models.bound import bind_models
from clew.models.run import start_question_run
from clew.shards import Neighbourhood, open_shards, split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.base.types import Hit
    from clew.extras.evaluate.datasets import DatasetQuestion

METHODS = ("walk", "pagerank", "clue", "agrag")
GOAL = 0.005  # recall that may be lost
_RESAMPLED = 2_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a method found: documents and chunks, best first."""

    documents: list[str]
    chunks: list[str]

    @classmethod
    def of(cls, hits: Sequence[Hit]) -> Found:
        """Return what some hits are."""
        return cls([hit.document_id for hit in hits], [hit.chunk_id for hit in hits])


def main() -> None:
    """Measure what the arguments ask for."""
    options = _options()
    for folder in options.datasets:
        measured(folder, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", type=Path, nargs="*")
    parser.add_argument("--indexes", type=Path, default=Path("shards.clew"))
    parser.add_argument("--shards", default="1,4,16")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--split", help="of the questions, such as dev")
    parser.add_argument("--limit", type=int, help="ask only the first N questions")
    parser.add_argument("--timed", type=int, default=40, help="questions that are timed, first N")
    parser.add_argument(
        "--size", default="", help="of the neighbourhood, such as chunks=60,shards=0.3"
    )
    return parser.parse_args()


def size_of(given: str) -> Neighbourhood:
    """Return a neighbourhood with some numbers of its own."""
    pairs = (each.split("=") for each in given.split(",") if each)
    return replace(Neighbourhood(), **{name: json.loads(number) for name, number in pairs})


def measured(folder: Path, options: argparse.Namespace) -> None:
    """Print recall and times of one data set."""
    dataset = load(folder, split=options.split, limit=options.limit)
    methods = options.methods.split(",")
    place = options.indexes / dataset.name
    with clew.open(place) as whole:
        whole.add(dataset.corpus, triples="cooccurrence")
        n_chunks = len(whole.snapshot().layer("chunk"))
        print(f"{dataset.name}: {n_chunks:,} chunks, {len(dataset.questions)} questions")
        before = _whole(whole, dataset.questions, methods, place.with_suffix(".json"))
        times = _timed(lambda q, m: whole.search(q, method=m), dataset.questions, methods, options)
        for method in methods:
            print(f"  whole {method:9} p50 {times[method]:6.1f} ms", flush=True)
    for n in map(int, options.shards.split(",")):
        home = options.indexes / f"{dataset.name}-{n}"
        if not home.exists():
            split(place, home, n)
        with open_shards(home, size=size_of(options.size)) as shards:
            after, stages, sizes = _gathered(shards, dataset.questions, methods)
            times = _timed(
                lambda q, m, s=shards: s.search(q, method=m), dataset.questions, methods, options
            )
        print(f"  {n} shards:")
        for method in methods:
            told = _compared(dataset.questions, before[method], after[method])
            n_chunks, asked = zip(*sizes[method], strict=True)
            gathered = f"{statistics.median(n_chunks):.0f} chunks, {max(n_chunks)} at most"
            gathered += f", {statistics.mean(asked) / n:.0%} of the shards"
            print(f"    {method:9} {told}, {gathered}, p50 {times[method]:6.1f} ms")
            print("     ", ", ".join(f"{k} {v:.1f}" for k, v in stages[method].items()), flush=True)


def _whole(
    index: clew.Index, questions: Sequence[DatasetQuestion], methods: Sequence[str], kept: Path
) -> Mapping[str, Sequence[Found]]:
    """Return what methods find in the whole index; it is kept in a file and not found again."""
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for method in methods:
        of_method = known.setdefault(method, {})
        for question in questions:
            if question.text not in of_method:
                hits = index.search(question.text, method=method).hits
                found = Found.of(hits)
                of_method[question.text] = [found.documents, found.chunks]
    kept.write_text(json.dumps(known), encoding="utf-8")
    return {m: [Found(*known[m][question.text]) for question in questions] for m in methods}


def _gathered(
    shards: clew.shards.Shards, questions: Sequence[DatasetQuestion], methods: Sequence[str]
) -> tuple[dict[str, list[Found]], dict[str, dict[str, float]], dict[str, list[tuple[int, int]]]]:
    """Return what each method finds in shards, the ms of each stage, and the chunks and shards."""
    found: dict[str, list[Found]] = {method: [] for method in methods}
    stages: dict[str, dict[str, list[float]]] = {m: defaultdict(list) for m in methods}
    sizes: dict[str, list[tuple[int, int]]] = {method: [] for method in methods}
    retrievers = {method: build_method(method, {}) for method in methods}
    for question in questions:
        run = start_question_run()
        models = bind_models(shards.models, run)
        for method, retriever in retrievers.items():
            gathered = shards.gathered(question.text, models=models, retrievers=[retriever])
            sizes[method].append((gathered.n_chunks, len(gathered.searched)))
            for stage, seconds in gathered.seconds.items():
                stages[method][stage].append(1_000 * seconds)
            snapshot = gathered.snapshot
            evidence = run_method(question.text, retriever, snapshot, models, run.meter)
            found[method].append(Found.of(evidence.hits))
    medians = {
        method: {stage: statistics.median(each) for stage, each in of_method.items()}
        for method, of_method in stages.items()
    }
    return found, medians, sizes


def _timed(
    search: object, questions: Sequence[DatasetQuestion], methods: Sequence[str], options: object
) -> dict[str, float]:
    """Return the median ms of the processor for a question, each method on its own."""
    times = {}
    for method in methods:
        taken = []
        for question in questions[: options.timed]:
            began = time.process_time()
            search(question.text, method)
            taken.append(1_000 * (time.process_time() - began))
        times[method] = statistics.median(taken) if taken else 0.0
    return times


def _compared(
    questions: Sequence[DatasetQuestion], before: Sequence[Found], after: Sequence[Found]
) -> str:
    """Return recall@5 of both in words, with the loss and its 95 % interval, and the overlap."""
    losses, recalls = [], []
    for question, whole, parts in zip(questions, before, after, strict=True):
        if question.supporting_ids:
            gold = question.supporting_ids
            old, new = (
                ranking(distinct(each.documents), gold, [5])["recall@5"] for each in (whole, parts)
            )
            losses.append(old - new)
            recalls.append(new)
    pairs = list(zip(before, after, strict=True))
    overlap = statistics.mean(
        len({*a.chunks[:5]} & {*b.chunks[:5]}) / max(1, len(a.chunks[:5])) for a, b in pairs
    )
    same = statistics.mean(a.chunks[:5] == b.chunks[:5] for a, b in pairs)
    told = f"same first five {overlap:.3f}, in the same order {same:.2f}"
    if not losses:
        return told
    loss = statistics.mean(losses)
    rng = np.random.default_rng(0)
    drawn = rng.choice(losses, (_RESAMPLED, len(losses))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    verdict = "" if loss < GOAL else " (above the goal)"
    recall = statistics.mean(recalls)
    return f"recall@5 {recall:.3f}, loss {loss:+.4f} [{low:+.4f}, {high:+.4f}]{verdict}, {told}"


if __name__ == "__main__":
    main()
