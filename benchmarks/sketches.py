"""Measure how fast the nearest rows are found, by all rows and by their sketches, and how many.

    python benchmarks/sketches.py [--sizes 100000,300000,1000000] [--index FOLDER [--layer LAYER]]

Vectors have 384 numbers and a fixed seed. Those of a `graph` are made as a text embedder tends to
place statements: a triple is near its subject and its object, of which few are in many triples;
entities lie around topics, and 80% of how they differ lies along a third of the axes, as it does
with all-MiniLM-L6-v2. The queries are further triples, and entities. `random` vectors have nothing
in common, the worst case. With an index they are those of a layer, of which every thousandth is a
query and not among the rows.

`recall` is the share of the 10 nearest that sketches find. Times are wall milliseconds on whatever
else the machine is doing, the median of seven, so compare within a run only. On a busy machine set
OPENBLAS_NUM_THREADS=1, or threads wait for each other. Each size runs in a process of its own; its
peak memory includes the vectors.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.algo.sketches import Sketches, search_exactly, search_sketches, sketch
from clew.generation import open_snapshot
from clew.store.embedded import EmbeddedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

D = 384
STRENGTHS = np.exp(-np.arange(D) / 160)  # of the axes
TOPICS = 2_000
REPEATS = 7
N_QUERIES = 100


def main() -> None:
    """Measure every kind at every size, each in its own process, and print the table."""
    options = _options()
    if options.kind:
        print(measure(options), flush=True)
        return
    kinds = ["index"] if options.index else ["graph", "random"]
    print(
        f"{'':<18}{'exact of 1':>11}{'of 5':>8}{'sketches of 1':>15}{'of 5':>8}{'recall':>16}"
        f"{'made in s':>11}{'peak MB':>9}"
    )
    for kind in kinds:
        for size in ["0"] if options.index else options.sizes.split(","):
            command = [sys.executable, __file__, *sys.argv[1:], "--kind", kind, "--size", size]
            subprocess.run(command, check=True)  # noqa: S603


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the search for the nearest rows.")
    parser.add_argument("--sizes", default="100000,300000,1000000", help="with commas")
    parser.add_argument("--index", type=Path, help="folder of an index")
    parser.add_argument("--layer", default="triple")
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(options: argparse.Namespace) -> str:
    """Return a line of the table."""
    vectors, queries = KINDS[options.kind](options)
    begin = time.perf_counter()
    known = Sketches(sketch(vectors))
    seconds = time.perf_counter() - begin
    some = queries[0][:5]
    ways = partial(search_exactly, vectors, k=10), partial(search_sketches, known, vectors, k=10)
    times = [_milliseconds(partial(way, queries=some[:m])) for way in ways for m in (1, 5)]
    recalls = [_recall(known, vectors, each) for each in queries]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{options.kind:<8}{len(vectors):>10,}{times[0]:>11.1f}{times[1]:>8.1f}{times[2]:>15.1f}"
        f"{times[3]:>8.1f}{'  '.join(f'{each:.3f}' for each in recalls):>16}{seconds:>11.1f}"
        f"{peak:>9.0f}"
    )


def _milliseconds(run: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1000 * statistics.median(times)


def _recall(known: Sketches, vectors: Vectors, queries: Vectors) -> float:
    exact, found = (
        search_exactly(vectors, queries, 10),
        search_sketches(known, vectors, queries, 10),
    )
    shares = [np.isin(a, b).mean() for (a, _), (b, _) in zip(exact, found, strict=True)]
    return float(np.mean(shares))


def graph(options: argparse.Namespace) -> tuple[Vectors, list[Vectors]]:
    """Make triples of a fifth as many entities; subjects rank by Zipf's law."""
    rng = np.random.default_rng(0)
    n, n_entities = options.size + N_QUERIES, options.size // 5
    topics = rng.standard_normal((TOPICS, D))[rng.integers(0, TOPICS, n_entities)]
    entities = _unit((topics + rng.standard_normal((n_entities, D))) * STRENGTHS)
    relations = _unit(rng.standard_normal((50, D)) * STRENGTHS)
    triples = np.empty((n, D), dtype=np.float32)
    for start in range(0, n, 50_000):
        m = min(50_000, n - start)
        subjects = (n_entities ** rng.random(m)).astype(np.intp)
        weights = rng.uniform(0.5, 1, (3, m, 1))
        triples[start : start + m] = _unit(
            weights[0] * entities[subjects - 1]
            + weights[1] * entities[rng.integers(0, n_entities, m)]
            + weights[2] * relations[rng.integers(0, 50, m)]
        )
    some = entities[rng.integers(0, n_entities, N_QUERIES)]
    return triples[N_QUERIES:], [triples[:N_QUERIES], some]


def random(options: argparse.Namespace) -> tuple[Vectors, list[Vectors]]:
    """Make vectors of which no two have anything in common."""
    rng = np.random.default_rng(0)
    vectors = _unit(rng.standard_normal((options.size + N_QUERIES, D), dtype=np.float32))
    return vectors[N_QUERIES:], [vectors[:N_QUERIES]]


def indexed(options: argparse.Namespace) -> tuple[Vectors, list[Vectors]]:
    """Take the distinct vectors of a layer of an index."""
    with EmbeddedStore.open(options.index) as store, closing(open_snapshot(store)) as snapshot:
        vectors = np.unique(snapshot.layer(options.layer).vectors, axis=0)
    is_query = np.arange(len(vectors)) % 1_000 == 0
    return vectors[~is_query], [vectors[is_query]]


def _unit(vectors: NDArray[np.floating]) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


KINDS = {"graph": graph, "random": random, "index": indexed}

if __name__ == "__main__":
    main()
