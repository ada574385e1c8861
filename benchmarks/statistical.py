"""Measure statistical entities by size: seconds, memory, growth; and how their synonyms are found.

    python benchmarks/statistical.py CORPUS.jsonl ... [--sizes 25000,50000,100000]
    python benchmarks/statistical.py --index FOLDER [--sizes 10000,20000,50000]

The first form cuts the corpora, lines with a `title` and a `text`, into chunks of 256 tokens, and
begins again where there are too few: in each further round one distinct word in four is another
one. `terms` are the seconds in which n-grams are counted and rated, `names` those in which salient
ones are named as their chunks write them, `per chunk` both in milliseconds.

The second form compares the names of an index's entities with each other, some of them drawn at
random: all pairs, and those in cells. `recall` is the share of the pairs above 0.8 that cells find.
All pairs are left out above 100,000 names.

Seconds are of the processor, so that other programs count little; a machine that is very busy makes
them longer all the same. Each size has a process of its own, and so its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import time
import zlib
from contextlib import closing
from functools import partial
from itertools import count, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.algo.synonyms import find_near_pairs
from clew.generation import open_snapshot
from clew.layers.chunks import cut_chunks
from clew.layers.salient import salient_rates, spell_terms
from clew.layers.statistical import SYNONYM
from clew.store.embedded import EmbeddedStore
from clew.text.chunking import Chunking
from clew.text.keys import name_key
from clew.types import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD = re.compile(r"[^\W\d_]{4,}")
ALL_PAIRS_UP_TO = 100_000


def main() -> None:
    """Measure every size in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description="Measure statistical entities by size.")
    parser.add_argument("corpora", nargs="*", type=Path)
    parser.add_argument("--index", type=Path, help="folder of an index, for synonyms")
    parser.add_argument("--sizes", default="", help="with commas")
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.size:
        print(synonyms(options.index, options.size) if options.index else terms(options))
        return
    if options.index:
        print(f"{'names':>9}{'pairs':>9}{'all':>10}{'cells':>10}{'recall':>9}{'peak':>10}")
        sizes = options.sizes or "10000,20000,50000"
    else:
        print(
            f"{'chunks':>9}{'terms':>10}{'names':>10}{'per chunk':>12}{'a chunk':>9}"
            f"{'distinct':>11}{'empty':>8}{'peak':>10}"
        )
        sizes = options.sizes or "25000,50000,100000"
    for size in sizes.split(","):
        command = [sys.executable, __file__, *sys.argv[1:], "--size", size]
        subprocess.run(command, check=True)  # noqa: S603


def terms(options: argparse.Namespace) -> str:
    """Return the line of some chunks."""
    texts = list(islice(chunks(options.corpora), options.size))
    begin = time.process_time()
    rates, grams = salient_rates(texts)
    counted = time.process_time() - begin
    begin = time.process_time()
    names = set()
    for text, (start, end) in zip(texts, pairwise(rates.indptr.tolist()), strict=True):
        names.update(spell_terms([grams[gram] for gram in rates.indices[start:end]], text))
    n_keys = len(set(map(name_key, names)))
    named = time.process_time() - begin
    sizes = np.diff(rates.indptr)
    return (
        f"{len(texts):>9,}{counted:>8.1f} s{named:>8.1f} s"
        f"{(counted + named) / len(texts) * 1e3:>9.2f} ms{sizes.mean():>9.2f}{n_keys:>11,}"
        f"{np.mean(sizes == 0):>8.2%}{peak():>7,} MB"
    )


def chunks(corpora: list[Path]) -> Iterator[str]:
    """Yield the chunks of corpora as models read them, again and again with other words."""
    lines = [line for path in corpora for line in path.read_text("utf-8").splitlines()]
    rows = [json.loads(line) for line in lines]
    documents = [
        Document(id=str(i), text=row["text"], title=row.get("title", ""))
        for i, row in enumerate(rows)
    ]
    texts = [text for text, _ in cut_chunks(documents, Chunking()).titled_texts()]
    yield from texts
    for round_ in count(1):
        for text in texts:
            yield WORD.sub(partial(other, round_), text)


def other(round_: int, word: re.Match[str]) -> str:
    """Return a word as it is in a round."""
    said = word.group()
    is_other = zlib.crc32(f"{round_} {said.lower()}".encode()) % 4 == 0
    return f"{said}{'aeiou'[round_ % 5] * (1 + round_ // 5)}n" if is_other else said


def synonyms(folder: Path, size: int) -> str:
    """Return the line of some names."""
    with EmbeddedStore.open(folder) as store, closing(open_snapshot(store)) as snapshot:
        layer = snapshot.layer("entity")
        named = np.flatnonzero(layer.vectors.any(axis=1))
        chosen = np.sort(np.random.default_rng(0).permutation(named)[:size])
        vectors = layer.vectors[chosen]
    begin = time.process_time()
    cells = find_near_pairs(vectors, SYNONYM, exact=False)
    cell_s = time.process_time() - begin
    all_s, recall = "-", "-"
    if len(vectors) <= ALL_PAIRS_UP_TO:
        begin = time.process_time()
        exact = find_near_pairs(vectors, SYNONYM, exact=True)
        all_s = f"{time.process_time() - begin:.1f} s"
        recall = f"{cells.nnz / max(1, exact.nnz):.4f}"
    return (
        f"{len(vectors):>9,}{cells.nnz // 2:>9,}{all_s:>10}{cell_s:>8.1f} s{recall:>9}"
        f"{peak():>7,} MB"
    )


def peak() -> int:
    """Return the most memory that this process had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
