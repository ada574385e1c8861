"""Measure the graph of near chunks, all pairs against cells and rare terms, and keywords.

    python benchmarks/knn.py [--index FOLDER] [--sizes 1000,6000,20000,50000,100000]

The chunks are made with a fixed seed: about 60 words that rank by Zipf's law without its head, as
if stop words were gone, a third of them by the law of one of many topics, and vectors of 384
numbers around the topic's. With an index they are its own, as many as it has for every size.

`exact` and `approximate` are the time and the peak memory of `knn_graph`, `renewed` the CPU seconds
of one more chunk where the choices of all others are known, `recall` the share of
the neighbours of all pairs that the approximate way finds, and in parentheses how near those are
that it finds: shared terms, or cosines, by those of all pairs. `keywords` are 300,000 sentences:
the lengths of all terms, and then those after 50 more sentences.
Times are wall seconds on whatever else the machine is doing, the median of three up to 6,000
chunks, so compare within a run only. Each figure comes from a process of its own, so that its peak
memory is its own; it includes the arrays that are measured.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, eye_array

from clew.algo.keywords import keyword_lengths, update_lengths
from clew.algo.knn import choose_neighbours, find_overlaps, knn_graph, update_neighbours
from clew.algo.links import StoredLink
from clew.algo.nearest import find_nearest
from clew.algo.sharing import find_sharing
from clew.generation import open_snapshot
from clew.store.embedded import EmbeddedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Chunks = tuple[csr_array, NDArray[np.float32], NDArray[np.intp]]

RECALL_SIZES = (6_000, 20_000)
REPEATED_UP_TO = 6_000
SENTENCES = 300_000
VOCABULARY = 200_000
STOP_WORDS = 100  # the words of the highest ranks, which no term is


def main() -> None:
    """Measure every part at every size, each in its own process, and print the table."""
    options = _options()
    if options.part:
        print(f"{options.part:<12}{PARTS[options.part](options)}  {_peak_mb():.0f} MB")
        return
    sizes = [0] if options.index else [int(size) for size in options.sizes.split(",")]
    runs = [(part, size) for size in sizes for part in ("exact", "approximate", "renewed")]
    runs += [("recall", size) for size in ([0] if options.index else RECALL_SIZES)]
    runs += [] if options.index else [("keywords", SENTENCES)]
    for part, size in runs:
        command = [sys.executable, __file__, "--part", part, "--size", str(size)]
        if options.index:
            command += ["--index", str(options.index)]
        subprocess.run(command, check=True)  # noqa: S603


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the graph of near chunks.")
    parser.add_argument("--index", type=Path, help="folder of an index")
    parser.add_argument("--sizes", default="1000,6000,20000,50000,100000", help="with commas")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def graph(options: argparse.Namespace) -> str:
    """Make the graph of K = 2, all pairs or not."""
    terms, vectors, excluded = _chunks(options)
    seconds = []
    for _ in range(3 if len(vectors) <= REPEATED_UP_TO else 1):
        started = time.perf_counter()
        made = knn_graph(terms, vectors, 2, excluded=excluded, exact=options.part == "exact")
        seconds.append(time.perf_counter() - started)
    return f"{len(vectors):>8}{statistics.median(seconds):>10.2f} s  {made.nnz // 2:,} edges"


def renewal(options: argparse.Namespace) -> str:
    """Make the choices of all chunks but one, and then those of all; seconds of the processor."""
    terms, vectors, excluded = _chunks(options)
    n = len(vectors) - 1
    then = choose_neighbours(
        terms[:n], vectors[:n], 2, excluded=excluded[(excluded < n).all(axis=1)]
    )
    links = StoredLink.from_matrix(terms), StoredLink.from_matrix(csr_array(terms.T))
    able = np.ones(n + 1, dtype=bool)
    seconds = []
    for _ in range(3):
        started = time.process_time()
        earlier = np.append(np.arange(n), -1)
        update_neighbours(then, earlier, *links, vectors, able=able, excluded=excluded)
        seconds.append(time.process_time() - started)
    return f"{n:>8}{statistics.median(seconds):>10.3f} s"


def recall(options: argparse.Namespace) -> str:
    """Compare the one neighbour of each kind that K = 2 asks for."""
    terms, vectors, _ = _chunks(options)
    n = len(vectors)
    itself = csr_array(eye_array(n, dtype=np.int32))
    binary = csr_array((terms > 0).astype(np.float32))
    lexical = [find_sharing(terms, 1, itself, exact=exact).rows[:, 0] for exact in (True, False)]
    semantic = [find_nearest(vectors, 1, itself, exact=exact).rows[:, 0] for exact in (True, False)]
    shared = [float(binary.multiply(binary[rows]).sum()) for rows in lexical]
    cosines = [float(np.einsum("nd,nd->", vectors, vectors[rows])) for rows in semantic]
    return (
        f"{n:>8}  by terms {np.mean(lexical[0] == lexical[1]):.3f} ({shared[1] / shared[0]:.3f})"
        f"  by cosine {np.mean(semantic[0] == semantic[1]):.3f} ({cosines[1] / cosines[0]:.3f})"
    )


def keywords(options: argparse.Namespace) -> str:
    """Compute the lengths of an index's terms, and again after it has grown a little."""
    n = options.size + 50
    rng = np.random.default_rng(7)
    link = _texts(rng, np.zeros(n, dtype=np.int64), mean=2.2)
    link.data[:] = 1
    vectors = rng.standard_normal((n, 384), dtype=np.float32)
    before = np.sort(rng.permutation(n)[: options.size])
    terms = np.arange(VOCABULARY)
    old = csr_array(link[before])
    started = time.perf_counter()
    lengths = keyword_lengths(old, vectors[before])
    fresh = time.perf_counter() - started
    n_sentences = np.bincount(old.indices, minlength=VOCABULARY)
    earlier = np.full(n, -1)
    earlier[before] = np.arange(options.size)
    started = time.perf_counter()
    update_lengths(lengths, n_sentences, earlier, terms, link, vectors)
    update = time.perf_counter() - started
    return f"{options.size:>8}{fresh:>10.2f} s, 50 more {update:.2f} s"


PARTS: dict[str, Callable[[argparse.Namespace], str]] = {
    "exact": graph,
    "approximate": graph,
    "renewed": renewal,
    "recall": recall,
    "keywords": keywords,
}


def _chunks(options: argparse.Namespace) -> Chunks:
    return stored(options.index) if options.index else made(options.size)


def stored(folder: Path) -> Chunks:
    """Return the terms and vectors of an index's chunks, and which of them overlap."""
    with EmbeddedStore.open(folder) as store:
        snapshot = open_snapshot(store)
        columns = snapshot.layer("chunk").columns
        excluded = find_overlaps(columns["document"], columns["start"], columns["end"])
        vectors = np.array(snapshot.layer("chunk").vectors)
        return snapshot.link("chunk", "term").copy(), vectors, excluded


def made(n: int) -> Chunks:
    """Return chunks of about fifty for each topic; none overlap."""
    rng = np.random.default_rng(7)
    topics = rng.integers(0, max(1, n // 50), n)
    terms = _texts(rng, topics, mean=4.0)
    centres = rng.standard_normal((max(1, n // 50), 384), dtype=np.float32)
    vectors = rng.standard_normal((n, 384), dtype=np.float32) + centres[topics]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return terms, vectors, np.empty((0, 2), dtype=np.intp)


def _texts(rng: np.random.Generator, topics: NDArray[np.int64], mean: float) -> csr_array:
    """Return the counts of words in texts whose lengths are lognormal, e to the `mean`."""
    lengths = np.clip(rng.lognormal(mean, 0.4, len(topics)), 1, None).astype(np.int64)
    rows = np.repeat(np.arange(len(topics)), lengths)
    shares = np.cumsum(1 / np.arange(STOP_WORDS + 1, STOP_WORDS + VOCABULARY + 1))
    words = np.searchsorted(shares, rng.random(len(rows)) * shares[-1])
    own = rng.random(len(rows)) < 1 / 3
    words[own] = (words[own] * 7_919 + topics[rows[own]] * 104_729) % VOCABULARY
    ones = np.ones(len(rows), dtype=np.float32)
    return csr_array((ones, (rows, words)), shape=(len(topics), VOCABULARY))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
