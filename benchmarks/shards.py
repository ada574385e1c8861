"""What shards cost: recall@5 against the whole index, and time.

    python -m benchmarks.shards DATASET... [--indexes FOLDER] [--shards 1,4,16] [--methods ...]
                                [--limit N] [--timed N] [--size NAME=NUMBER,...]
    python -m benchmarks.shards --scale [--indexes FOLDER] [--sizes 10000,40000,160000]

Each DATASET is a folder that `clew eval` takes; it is indexed once, with triples of names in one
sentence, and split. Every method runs on the whole index and on what a question gathers from the
shards, with the default models. Where questions have no gold documents, only the overlap of the
first five chunks with those of the whole is said. Times of methods are of the processor, for the
first questions; one process asks its shards one after the other, so they are sums over the shards.
Those of the stages are by the clock. The models' time is part of both sides.

`--scale` measures what one shard takes for its part of a question, by its size, on made passages
with an embedder of hashed words (sizes above the first are copies of it with entities and sentences
of their own), and what the coordinator takes. `benchmarks.scale` simulates many such shards.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import clew
from benchmarks.run import _hashed, made
from clew.asking.method import build_method
from clew.asking.pipeline import run_method
from clew.evaluate import load
from clew.evaluate.metrics import distinct, ranking
from clew.models.around import add_memory
from clew.models.metered import Meter
from clew.shards import Neighbourhood, Shards, open_shards, split
from clew.shards.links import LocalShard
from clew.store import opening

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.evaluate.datasets import DatasetQuestion
    from clew.types import Hit

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
    if options.scale:
        scaled(options.indexes, [int(each) for each in options.sizes.split(",")])
    for folder in options.datasets:
        measured(folder, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", type=Path, nargs="*")
    parser.add_argument("--indexes", type=Path, default=Path("shards.clew"))
    parser.add_argument("--shards", default="1,4,16")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--split", help="of the questions, such as dev")
    parser.add_argument("--scale", action="store_true", help="measure by size, and simulate")
    parser.add_argument("--sizes", default="10000,40000,160000", help="chunks of a shard")
    parser.add_argument("--limit", type=int, help="ask only the first N questions")
    parser.add_argument("--timed", type=int, default=40, help="questions that are timed, first N")
    parser.add_argument(
        "--size", default="", help="of the neighbourhood, such as chunks=60,most=40"
    )
    return parser.parse_args()


def size_of(given: str) -> Neighbourhood:
    """Return a neighbourhood with some numbers of its own."""
    pairs = (each.split("=") for each in given.split(",") if each)
    return replace(Neighbourhood(), **{name: int(number) for name, number in pairs})


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
            n_chunks = sizes[method]
            gathered = f"{statistics.median(n_chunks):.0f} chunks, {max(n_chunks)} at most"
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
) -> tuple[dict[str, list[Found]], dict[str, dict[str, float]], dict[str, list[int]]]:
    """Return what each method finds in shards, the ms of each stage of gathering, and the sizes."""
    found: dict[str, list[Found]] = {method: [] for method in methods}
    stages: dict[str, dict[str, list[float]]] = {m: defaultdict(list) for m in methods}
    sizes: dict[str, list[int]] = {method: [] for method in methods}
    retrievers = {method: build_method(method, {}) for method in methods}
    for question in questions:
        models = add_memory(shards.models)
        for method, retriever in retrievers.items():
            gathered = shards.gathered(question.text, models=models, retrievers=[retriever])
            sizes[method].append(gathered.n_chunks)
            for stage, seconds in gathered.seconds.items():
                stages[method][stage].append(1_000 * seconds)
            evidence = run_method(question.text, retriever, gathered.snapshot, models, Meter())
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


# -- one shard by its size -----------------------------------------------------------------------

STAGES = ("near", "tell", "around", "take")
# What is asked of one shard of 16, and of one among very many; what one alone is asked for.
PARTS = (
    Neighbourhood(chunks=11, units=4, triples=4, around=30, most=10),
    Neighbourhood(chunks=2, units=1, triples=1, around=4, most=4),
    Neighbourhood(),
)


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a shard: for how many chunks, and its ms by the clock and of the processor."""

    stage: str
    n_chunks: int
    wall: float
    cpu: float


def _taken(replies: Sequence[Reply], clock: str) -> str:
    """Return what each stage takes in words, by "wall" or "cpu"."""
    told = []
    for stage in STAGES:
        mine = [reply for reply in replies if reply.stage == stage]
        chunks = np.array([reply.n_chunks for reply in mine], dtype=float)
        times = np.array([getattr(reply, clock) for reply in mine])
        each, fixed = _line(chunks, times)
        most = np.quantile(times / (fixed + each * chunks), 0.95)
        told.append(f"{stage} {fixed:.2f} + {each:.3f} a chunk ms, 95 % within {most:.1f} times")
    return ", ".join(told)


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Return a slope and a start, both at least 0, through medians of equal parts of the data."""
    if np.ptp(x) < 1:
        return 0.0, float(np.median(y))
    parts = np.array_split(np.argsort(x, kind="stable"), 6)
    slope, start = np.polyfit(*([np.median(v[p]) for p in parts] for v in (x, y)), 1)
    return max(float(slope), 0.0), max(float(start), float(y.min()) / 2)


def scaled(folder: Path, sizes: Sequence[int]) -> None:
    """Measure shards of some sizes, and the one who asks them."""
    base, questions = _made(folder, sizes[0])
    home = folder / "parts-16"
    if not home.exists():
        split(base, home, 16)
    own = _coordinator(home, questions)
    for n in sizes:
        place = base if n == sizes[0] else folder / f"grown-{n}"
        if not place.exists():
            grown(base, place, n // sizes[0])
        replies = _replies(place, questions)
        for clock in ("wall", "cpu"):
            print(f"{n:,} chunks, {clock}: {_taken(replies, clock)}", flush=True)
    print(", ".join(f"{clock}: who asks, and walk, {ms:.1f} ms" for clock, ms in own.items()))


def _made(folder: Path, n: int) -> tuple[Path, list[str]]:
    documents, questions = made(n, 200)
    place = folder / f"made-{n}"
    with clew.open(place, models=_hashed()) as index:
        index.add(documents[:n], triples="cooccurrence")
    return place, questions


def grown(base: Path, place: Path, copies: int, at_once: int = 2_000) -> None:
    """Make an index of copies of another one's documents; entities and sentences are others each.

    So terms, vectors and lengths are those of the base, and everything else grows with the copies.
    """
    with clew.open(base, models=_hashed()) as index:
        snapshot, hashes = index.snapshot(), index.hashes()
        owners = np.asarray(snapshot.layer("chunk").columns["document"])
        with closing(opening.create(place, dict(snapshot.recipe))) as store:
            for start in range(0, len(snapshot.document_layer), at_once):
                rows = np.arange(start, min(len(snapshot.document_layer), start + at_once))
                piece = snapshot.cutter.cut(np.flatnonzero(np.isin(owners, rows)), rows).batch
                whole = {each.id: each for each in snapshot.documents(rows.tolist())}
                contents = [hashes[each.id] for each in piece.documents]
                for copy in range(copies):
                    mark = np.uint64(copy * 0x9E3779B97F4A7C15 % 2**64)
                    keys = {"sentence.key": piece.columns["sentence.key"] ^ mark}
                    named = [replace(whole[d.id], id=f"{d.id}~{copy}") for d in piece.documents]
                    entities = [f"{key} {copy}" if copy else key for key in piece.entities]
                    columns = {**piece.columns, **keys}
                    batch = replace(piece, documents=named, entities=entities, columns=columns)
                    store.commit(batch, contents)


def _replies(place: Path, questions: Sequence[str]) -> list[Reply]:
    """Return what a shard replies to its parts of questions."""
    found: list[Reply] = []
    walk = [build_method("walk", {})]
    with clew.open(place, models=_hashed()) as index:
        for segment in index.snapshot().cutter.view.segments:
            for name in segment:
                segment[name]  # which looks at every byte once, not at the first question
        for part, asked in zip(PARTS, (100, 40, 40), strict=True):
            link = _Timed(LocalShard(index), found)
            shards = Shards([link], place, models=_hashed(), size=part)
            before = len(found)
            for question in questions[:40]:
                shards.gathered(question, retrievers=walk)
            del found[before:]
            for question in questions[40 : 40 + asked]:
                shards.gathered(question, retrievers=walk)
            if part is not PARTS[0]:  # of the others the stages that depend on chunks alone
                found[before:] = [r for r in found[before:] if r.stage in {"tell", "take"}]
    return found


class _Timed:
    """A shard whose replies are timed."""

    def __init__(self, inner: LocalShard, found: list[Reply]) -> None:
        self._inner, self._found = inner, found
        self._requests: list[object] = []
        self.name = inner.name

    def send(self, request: object) -> None:
        self._requests.append(request)
        self._inner.send(request)

    def receive(self) -> object:
        request = self._requests.pop(0)
        stage = type(request).__name__.lower()
        wall, cpu = time.perf_counter(), time.process_time()
        reply = self._inner.receive()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if stage in STAGES:
            n = len(request.chunks) if stage in {"tell", "take"} else 0
            self._found.append(Reply(stage, n, 1_000 * wall, 1_000 * cpu))
        return reply

    def forget(self) -> None:
        self._requests.clear()
        self._inner.forget()

    def close(self) -> None:
        self._inner.close()


def _coordinator(home: Path, questions: Sequence[str]) -> dict[str, float]:
    """Return the ms of choosing, putting together and `walk`, by the clock and the processor."""
    times: dict[str, list[float]] = {"wall": [], "cpu": []}
    walk = build_method("walk", {})
    with open_shards(home, models=_hashed()) as shards:
        for question in questions[:60]:
            models = add_memory(shards.models)
            gathered = shards.gathered(question, models=models, retrievers=[walk])
            own = gathered.seconds["pool"] + gathered.seconds["join"]
            wall, cpu = time.perf_counter(), time.process_time()
            run_method(question, walk, gathered.snapshot, models, Meter())
            times["wall"].append(1_000 * (own + time.perf_counter() - wall))
            times["cpu"].append(1_000 * (own + time.process_time() - cpu))
    return {clock: statistics.median(each[10:]) for clock, each in times.items()}


if __name__ == "__main__":
    main()
