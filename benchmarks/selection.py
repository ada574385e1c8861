"""Measure what chooses chunks for an LLM: BLEU, the knapsack, salient terms.

    python benchmarks/selection.py [--corpus FILE.jsonl]

Without a corpus the chunks are made: about 107 words each, drawn by Zipf's law with a fixed seed,
stop words first. A corpus gives at most as many chunks as it has records.
Times are wall seconds on whatever else the machine is doing, so compare within a run only. Each
figure comes from a process of its own, so that its peak memory is its own; it includes the texts
or the arrays that are measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from clew.algo.bleu import leave_one_out_bleu
from clew.algo.knapsack import knapsack
from clew.layers.salient import salient_terms
from clew.text.analyze import STOP_WORDS
from clew.text.ngrams import token_ids

SIZES = {
    "bleu": (6_000, 30_000, 100_000),
    "knapsack": (3_000, 12_000, 100_000),
    "salient": (6_000, 30_000),
}
VOCABULARY = 200_000
Figures = tuple[int, float, str]  # how many, seconds, what came out


def main() -> None:
    """Measure every part at every size, each in its own process, and print the table."""
    options = _options()
    if options.part:
        size, seconds, note = PARTS[options.part](options)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{options.part:<9}{size:>8}{seconds:>10.3f} s{peak_mb:>8.0f} MB  {note}")
        return
    print(f"{'part':<9}{'size':>8}{'time':>12}{'peak':>11}")
    for part, sizes in SIZES.items():
        for size in sizes:
            command = [sys.executable, __file__, "--part", part, "--size", str(size)]
            if options.corpus:
                command += ["--corpus", str(options.corpus)]
            subprocess.run(command, check=True)  # noqa: S603


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the choice of chunks and terms.")
    parser.add_argument("--corpus", type=Path, help="JSONL records of text")
    parser.add_argument("--part", choices=SIZES, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def bleu(options: argparse.Namespace) -> Figures:
    """Score every chunk against all others."""
    tokens, starts = token_ids(_texts(options))
    started = time.perf_counter()
    scores = leave_one_out_bleu(tokens, starts)
    seconds = time.perf_counter() - started
    return len(scores), seconds, f"{len(tokens):,} tokens, mean {scores.mean():.4f}"


def pack(options: argparse.Namespace) -> Figures:
    """Choose half of the weight of chunks whose lengths and values are lognormal."""
    rng = np.random.default_rng(7)
    weights = np.clip(rng.lognormal(4.6, 0.4, options.size), 5, None).astype(np.int64)
    values = np.clip(rng.lognormal(-1.7, 0.5, options.size), 0, 1)
    started = time.perf_counter()
    choice = knapsack(values, weights, int(weights.sum()) // 2)
    seconds = time.perf_counter() - started
    return options.size, seconds, f"{len(choice.rows):,} taken, exact {choice.exact}"


def salient(options: argparse.Namespace) -> Figures:
    """Find every chunk's salient terms."""
    texts = list(_texts(options))
    started = time.perf_counter()
    found = salient_terms(texts)
    seconds = time.perf_counter() - started
    return len(texts), seconds, f"{sum(map(len, found)) / len(texts):.1f} terms a chunk"


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "bleu": bleu,
    "knapsack": pack,
    "salient": salient,
}


def _texts(options: argparse.Namespace) -> Iterator[str]:
    if not options.corpus:
        yield from made(options.size)
        return
    with options.corpus.open(encoding="utf-8") as lines:
        for line in islice(lines, options.size):
            yield json.loads(line)["text"]


def made(n_texts: int) -> Iterator[str]:
    """Yield texts of words that rank by Zipf's law, with a full stop after every twelve."""
    rng = np.random.default_rng(7)
    stop_words = sorted(STOP_WORDS)
    words = np.array(stop_words + [_word(i) for i in range(VOCABULARY - len(stop_words))])
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    for n in np.clip(rng.lognormal(4.6, 0.4, n_texts), 5, None).astype(int):
        drawn = words[np.searchsorted(shares, rng.random(n) * shares[-1])].tolist()
        yield " ".join(" ".join(drawn[i : i + 12]) + "." for i in range(0, n, 12))


def _word(number: int) -> str:
    syllables = ("ba", "ko", "li", "mar", "ne", "os", "pel", "ri", "sto", "tu", "ven", "zim")
    word = syllables[number % 12]
    while number := number // 12:
        word += syllables[number % 12]
    return word + "um"


if __name__ == "__main__":
    main()
