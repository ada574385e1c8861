"""Measure how the search for aliases grows with the number of entities.

    python benchmarks/aliases.py [--sizes 10000,50000,200000] [--seed 0]

The keys are invented names of one to four words. Words are drawn by Zipf's law from a vocabulary
that grows with the number of keys, as in real text, and one key in twenty is another one with a
letter changed. Prints a table and the power of n by which the time grows. Times are CPU seconds
of the one thread that works; the memory is the peak so far of this process.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections import Counter
from itertools import accumulate, pairwise
from math import log

from clew.layers.aliases import propose_merges, rule_merges

ONSETS = "b br d dr f fj g h j k kr l m n r s sk st t tr v".split()
NUCLEI = "a e i o u y å ø ei au".split()
CODAS = ["", "", "", "n", "r", "l", "s", "k", "nd", "rg", "lm"]


def main() -> None:
    """Print a line for each size, and the growth."""
    parser = argparse.ArgumentParser(description="Measure the search for aliases.")
    parser.add_argument("--sizes", default="10000,50000,200000", help="keys, with commas")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sizes = sorted(map(int, options.sizes.split(",")))
    print("|    keys | rules s | proposals s | peak MB | merges | proposals |")
    print("|--------:|--------:|------------:|--------:|-------:|-----------|")
    seconds = [measure(invented_keys(size, options.seed)) for size in sizes]
    for (n, a), (m, b) in pairwise(zip(sizes, seconds, strict=True)):
        print(f"from {n:,} to {m:,} keys the time of proposals grows as n^{log(b / a, m / n):.2f}")


def measure(keys: list[str]) -> float:
    """Print the line of these keys, and return the seconds that proposals took."""
    started = time.process_time()
    merges = rule_merges(keys)
    ruled = time.process_time()
    proposals = propose_merges(keys)
    proposed = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    reasons = Counter(proposal.reason for proposal in proposals).most_common()
    print(
        f"| {len(keys):7,} | {ruled - started:7.2f} | {proposed - ruled:11.2f} | {peak:7.0f} "
        f"| {len(merges):6,} | {', '.join(f'{n:,} by {reason}' for reason, n in reasons)} |",
        flush=True,
    )
    return proposed - ruled


def invented_keys(n_keys: int, seed: int) -> list[str]:
    """Return distinct keys; the same for the same arguments."""
    draw = random.Random(seed)  # noqa: S311
    words = [_word(draw) for _ in range(int(20 * n_keys**0.6))]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    keys: dict[str, None] = {}
    while len(keys) < n_keys:
        n_words = draw.choice([1, 2, 2, 2, 3, 3, 4])
        key = " ".join(draw.choices(words, cum_weights=weights, k=n_words))
        if draw.random() < 0.02:
            key = f"the {key}"
        keys[key] = None
        if draw.random() < 0.05:
            place = draw.randrange(len(key))
            keys[" ".join((key[:place] + draw.choice("aeiou") + key[place + 1 :]).split())] = None
    return list(keys)[:n_keys]


def _word(draw: random.Random) -> str:
    syllables = draw.choice([1, 2, 2, 3])
    return "".join(draw.choice(part) for _ in range(syllables) for part in (ONSETS, NUCLEI, CODAS))


if __name__ == "__main__":
    main()
