"""What shards cost: recall@5 against the whole index, time, and by simulation many more chunks.

    python -m benchmarks.shards DATASET... [--indexes FOLDER] [--shards 1,4,16] [--methods ...]
                                [--limit N] [--timed N] [--size NAME=NUMBER,...]
    python -m benchmarks.shards --scale [--indexes FOLDER] [--sizes 10000,40000,160000]

Each DATASET is a folder that `clew eval` takes; it is indexed once, with triples of names in one
sentence, and split. Every method runs on the whole index and on what a question gathers from the
shards, with the default models. Where questions have no gold documents, only the overlap of the
first five chunks with those of the whole is said. Times are of one process that asks its shards
one after the other, so they are sums over the shards; the models' time is part of both sides.

`--scale` measures what one shard takes for its part of a question, by its size, on made passages
with an embedder of hashed words (sizes above the first are copies of it with entities and sentences
of their own), and what the coordinator takes; then it simulates many shards: see `simulated`.
"""

from __future__ import annotations

import argparse
import json
import pickle
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
from clew.api import build_method, found_in
from clew.evaluate import load
from clew.evaluate.metrics import distinct, ranking
from clew.models.metered import Meter
from clew.models.remembered import remembered
from clew.shards import Neighbourhood, Shards, open_shards, split
from clew.shards.links import LocalShard
from clew.store import opening

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.evaluate.datasets import Question
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
        median = statistics.median(sizes)
        print(f"  {n} shards: {median:.0f} chunks gathered (median), {max(sizes)} at most")
        print("    ms (p50):", ", ".join(f"{k} {v:.1f}" for k, v in stages.items()))
        for method in methods:
            told = _compared(dataset.questions, before[method], after[method])
            print(f"    {method:9} {told}, p50 {times[method]:6.1f} ms", flush=True)


def _whole(
    index: clew.Index, questions: Sequence[Question], methods: Sequence[str], kept: Path
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
    shards: clew.shards.Shards, questions: Sequence[Question], methods: Sequence[str]
) -> tuple[dict[str, list[Found]], dict[str, float], list[int]]:
    """Return what methods find in shards, the ms of each stage of gathering, and the sizes."""
    found: dict[str, list[Found]] = {method: [] for method in methods}
    stages: dict[str, list[float]] = defaultdict(list)
    sizes = []
    retrievers = {method: build_method(method, {}) for method in methods}
    for question in questions:
        models = remembered(shards.models)
        gathered = shards.gathered(
            question.text, models=models, retrievers=list(retrievers.values())
        )
        sizes.append(gathered.n_chunks)
        for stage, seconds in gathered.seconds.items():
            stages[stage].append(1_000 * seconds)
        for method, retriever in retrievers.items():
            snapshot = gathered.snapshot
            evidence = found_in(snapshot, question.text, retriever, models, Meter())
            found[method].append(Found.of(evidence.hits))
    return found, {stage: statistics.median(each) for stage, each in stages.items()}, sizes


def _timed(
    search: object, questions: Sequence[Question], methods: Sequence[str], options: object
) -> dict[str, float]:
    """Return the median ms of a question, each method on its own."""
    times = {}
    for method in methods:
        taken = []
        for question in questions[: options.timed]:
            began = time.perf_counter()
            search(question.text, method)
            taken.append(1_000 * (time.perf_counter() - began))
        times[method] = statistics.median(taken) if taken else 0.0
    return times


def _compared(
    questions: Sequence[Question], before: Sequence[Found], after: Sequence[Found]
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


# -- one shard by its size, and many by simulation -------------------------------------------------

STAGES = ("near", "tell", "around", "take")
ROUNDS = ("near", "tell", "around", "tell", "around", "take")
READ_MS = 8.0  # the default embedder's time for a question: made passages have hashed words
TRIP_MS, LINE = 0.5, 1.25e6  # of one data centre: a round trip, and bytes in a ms at 10 Gbit/s
ASKED, TAKEN = 130, 350  # chunks that `tell` and `take` are asked for, of all shards together
PART = Neighbourhood(chunks=11, units=4, triples=4, around=30, most=10)  # of one shard of 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """What one shard takes for the stages of a question, in ms, with the bytes of its replies."""

    n_chunks: int
    times: Mapping[str, Sequence[float]]  # of each stage, a question after the other
    sizes: Mapping[str, float]
    unpacked: float  # ms to read one reply, the mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """What the process that asks takes for a question over 16 shards, in ms."""

    own: float  # choosing and putting together
    method: float


def scaled(folder: Path, sizes: Sequence[int]) -> None:
    """Measure shards of some sizes, and print these and what is simulated from them."""
    base, questions = _made(folder, sizes[0])
    found = []
    for n in sizes:
        place = base if n == sizes[0] else folder / f"grown-{n}"
        if not place.exists():
            grown(base, place, n // sizes[0])
        found.append(_shard(place, questions))
        told = ", ".join(
            f"{stage} {statistics.median(found[-1].times[stage]):.2f} ms"
            f" ({found[-1].sizes[stage] / 1e3:.1f} kB)"
            for stage in STAGES
        )
        print(f"{found[-1].n_chunks:,} chunks: {told}", flush=True)
    coordinator = _coordinator(base, folder / "parts-16", questions)
    print(f"coordinator {coordinator.own:.1f} ms, walk {coordinator.method:.1f} ms")
    for size, of in ((found[-1].n_chunks, "as measured"), (1_000_000, "extrapolated")):
        ends = [n for n in (size * 10**i for i in range(6)) if n < LARGEST]
        first = 0.0
        for n in (*ends, LARGEST):
            ms = simulated(found, coordinator, n, size)
            first = first or ms
            print(
                f"shards of {size:,} chunks ({of}): {n:,} chunks in {-(-n // size)} shards,"
                f" p50 {ms:.0f} ms, {ms / first:.2f} times;"
                f" the logarithm {np.log(n) / np.log(ends[0]):.2f} times"
            )


LARGEST = 100_000_000


def simulated(
    shards: Sequence[Shard],
    coordinator: Coordinator,
    n_chunks: int,
    size: int,
    n_questions: int = 1_000,
) -> float:
    """Return the median ms of a question over shards of `size` chunks.

    All shards work at the same time, each on a core of its own, and a stage ends with the slowest
    that is asked: its median time, by a line through the sizes that were measured, times one of
    the measured ratios of times to their median. `near` and `around` ask every shard, the others
    those that have some of the chunks. A stage waits for a round trip, for the bytes of all replies
    on the coordinator's line, and for these to be read. Nothing fails and nothing is asked twice,
    one question is asked at a time, and the shards' files are in memory.
    """
    rng = np.random.default_rng(1)
    n = -(-n_chunks // size)
    totals = np.full(n_questions, READ_MS + coordinator.own + coordinator.method)
    sizes = [each.n_chunks for each in shards]
    for stage in ROUNDS:
        n_asked = min(n, {"tell": ASKED, "take": TAKEN}.get(stage, n))
        medians = [statistics.median(each.times[stage]) for each in shards]
        slope, start = np.polyfit(sizes, medians, 1)
        median = max(start + max(slope, 0.0) * min(size, n_chunks), min(medians))
        ratios = np.concatenate(
            [np.array(e.times[stage]) / m for e, m in zip(shards, medians, strict=True)]
        )
        slowest = np.array([rng.choice(ratios, n_asked).max() for _ in range(n_questions)])
        waits = TRIP_MS + n_asked * (shards[-1].sizes[stage] / LINE + shards[-1].unpacked)
        totals += median * slowest + waits
    return float(np.median(totals))


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


def _shard(place: Path, questions: Sequence[str]) -> Shard:
    """Return what a shard takes for its part of questions."""
    times: dict[str, list[float]] = defaultdict(list)
    sizes: dict[str, list[int]] = defaultdict(list)
    unpacked: list[float] = []
    methods = [build_method("walk", {})]
    with clew.open(place, models=_hashed()) as index:
        link = _Packed(LocalShard(index), sizes, unpacked)
        shards = Shards([link], place, models=_hashed(), size=PART)
        for segment in index.snapshot().cutter.view.segments:
            for name in segment:
                segment[name]  # which looks at every byte once, not at the first question
        for question in questions[:40]:
            shards.gathered(question, retrievers=methods)
        link.clear()
        for question in questions[40:140]:
            for stage, seconds in shards.gathered(question, retrievers=methods).seconds.items():
                if stage in STAGES:
                    each = (1_000 * seconds - link.spent(stage)) / ROUNDS.count(stage)
                    times[stage].append(each)
        n_chunks = len(index.snapshot().layer("chunk"))
    means = {stage: statistics.mean(each) for stage, each in sizes.items()}
    return Shard(n_chunks=n_chunks, times=times, sizes=means, unpacked=statistics.mean(unpacked))


class _Packed:
    """A shard whose replies are packed and unpacked, as by a pipe; that is not counted to it."""

    def __init__(
        self, inner: LocalShard, sizes: dict[str, list[int]], unpacked: list[float]
    ) -> None:
        self._inner, self._sizes, self._unpacked = inner, sizes, unpacked
        self._stages: list[str] = []
        self._spent: dict[str, float] = defaultdict(float)
        self.name = inner.name

    def clear(self) -> None:
        for each in (self._sizes, self._unpacked, self._spent):
            each.clear()

    def spent(self, stage: str) -> float:
        """Return the ms of packing since this was last asked."""
        return self._spent.pop(stage, 0.0)

    def send(self, request: object) -> None:
        self._stages.append(type(request).__name__.lower())
        self._inner.send(request)

    def receive(self) -> object:
        stage, reply = self._stages.pop(0), self._inner.receive()
        began = time.perf_counter()
        packed = pickle.dumps(reply)
        between = time.perf_counter()
        found = pickle.loads(packed)  # noqa: S301 -- packed two lines above
        if stage in STAGES:
            ended = time.perf_counter()
            self._sizes[stage].append(len(packed))
            self._unpacked.append(1_000 * (ended - between))
            self._spent[stage] += 1_000 * (ended - began)
        return found

    def forget(self) -> None:
        self._stages.clear()
        self._inner.forget()

    def close(self) -> None:
        self._inner.close()


def _coordinator(base: Path, home: Path, questions: Sequence[str]) -> Coordinator:
    if not home.exists():
        split(base, home, 16)
    own, method = [], []
    walk = build_method("walk", {})
    with open_shards(home, models=_hashed()) as shards:
        for question in questions[:60]:
            models = remembered(shards.models)
            gathered = shards.gathered(question, models=models, retrievers=[walk])
            own.append(1_000 * (gathered.seconds["pool"] + gathered.seconds["join"]))
            began = time.perf_counter()
            found_in(gathered.snapshot, question, walk, models, Meter())
            method.append(1_000 * (time.perf_counter() - began))
    return Coordinator(own=statistics.median(own[10:]), method=statistics.median(method[10:]))


if __name__ == "__main__":
    main()
