"""Measure import and questions of knowledge graphs by size: seconds, memory, growth.

    python benchmarks/graph_scale.py [--sizes 10000,100000,1000000] [--method bubble]
                                     [--questions N] [--keep FOLDER]

In the graphs each new triple goes to an end of an earlier one, drawn at random with a fixed seed,
so that degrees follow a power law; there is one entity for two triples. Names are of two made
words, there are forty relations, and an embedder of hashed words stands for a model, so that only
Clew's own time counts. A question names two entities that a walk of three triples joins, and a
relation: "Which rudar joins Bemu Tola and Kari Sumo?". Seconds of a question are those of `search`
without the embedder's, after a first one that opens the index. Each size has a process of its own,
and so its peak memory is its own. A busy machine makes all of it longer: compare within a run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import cuts_ms, in_process, peak_mb

import clew
from clew.algo.bubble import Subdivided, subdivide
from clew.testing import HashEmbedder, models

DIMENSIONS = 256
SYLLABLES = ("ba be bo da de du ka ke ki la lo ma mi mo na no pa pe ra ri ru sa si so ta to tu va "
             "vi zo").split()  # fmt: skip
RELATIONS = [f"{a}{b}r" for a in SYLLABLES[::4] for b in SYLLABLES[1::6]][:40]


def main() -> None:
    """Measure every size in a process of its own and print the table."""
    parser = argparse.ArgumentParser(description="Measure imported graphs by size.")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="triples, with commas")
    parser.add_argument("--method", default="bubble")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="folder for the indexes, used again if there")
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.size:
        print(json.dumps(measured(options)))
        return
    print(f"{'triples':>9}{'import':>9}{'open':>8}{'p50':>9}{'p95':>9}{'facts':>7}{'peak':>9}")
    with tempfile.TemporaryDirectory() as folder:
        keep = options.keep or Path(folder)
        same = ("--method", options.method, "--keep", keep, "--questions", options.questions)
        for size in options.sizes.split(","):
            print(_row(in_process(__file__, "--size", size, *same)), flush=True)


def _row(found: dict[str, Any]) -> str:
    times = "{import:>7} s{open:>6} s{p50:>6} ms{p95:>6} ms".format(**found)
    rest = "{facts:>7}{peak:>6} MB".format(**found)
    return f"{found['triples']:>9,}{times}{rest}"


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one graph."""
    n_triples, method = options.size, options.method
    file, questions = written(n_triples, options.questions + 1, options.keep)
    place, embedder = options.keep / f"{n_triples}.clew", HashEmbedder(DIMENSIONS)
    with clew.open(place, models=models(embedder)) as index:
        started = time.perf_counter()
        imported = index.import_graph(file)
        seconds = time.perf_counter() - started - imported.usage.seconds.get("embed", 0.0)
        started = time.perf_counter()
        index.search(questions[0], method=method)
        first = time.perf_counter() - started
        found = [index.search(question, method=method) for question in questions[1:]]
    p50, p95 = cuts_ms([each.usage.seconds["search"] for each in found])
    facts = statistics.median(len(each.graph.facts) for each in found if each.graph)
    times = {
        "import": round(seconds),
        "open": round(first, 1),
        "p50": round(p50),
        "p95": round(p95),
    }
    return {"triples": n_triples, **times, "facts": round(facts), "peak": peak_mb()}


def written(n_triples: int, n_questions: int, keep: Path) -> tuple[Path, list[str]]:
    """Return the file of a graph in the folder `keep`, and questions about it."""
    rng = np.random.default_rng(3)
    graph = made(n_triples, rng)
    names = _names(graph.n_entities, rng)
    relations = rng.integers(len(RELATIONS), size=n_triples)
    file = keep / f"graph-{n_triples}.tsv"
    keep.mkdir(parents=True, exist_ok=True)
    rows = zip(graph.subjects.tolist(), relations.tolist(), graph.objects.tolist(), strict=True)
    lines = (f"{names[s]}\t{RELATIONS[r]}\t{names[o]}\n" for s, r, o in rows if s != o)
    file.write_text("".join(lines), encoding="utf-8")
    return file, [_question(graph, names, rng) for _ in range(n_questions)]


def made(n_triples: int, rng: np.random.Generator) -> Subdivided:
    """Return a graph with half as many entities as triples."""
    # Slot 2t is the subject of triple t, slot 2t + 1 its object: a copy of an earlier slot.
    slots = np.arange(2 * n_triples)
    slots[1::2] = (rng.random(n_triples) * slots[1::2]).astype(np.int64)
    while not np.array_equal(slots, slots[slots]):
        slots = slots[slots]
    ends = (slots // 4).astype(np.int32).reshape(-1, 2)
    return subdivide(n_triples // 2, ends[:, 0], ends[:, 1])


def _names(n: int, rng: np.random.Generator) -> list[str]:
    """Return distinct names of two words each."""
    parts = rng.integers(len(SYLLABLES), size=(n, 5)).tolist()
    words = ([SYLLABLES[i] for i in row] for row in parts)
    found = [f"{''.join(row[:2])} {''.join(row[2:])}".title() for row in words]
    seen: dict[str, int] = {}
    for place, name in enumerate(found):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            found[place] = f"{name} {seen[name]}"
    return found


def _question(graph: Subdivided, names: list[str], rng: np.random.Generator) -> str:
    """Return a question about two entities that a walk of three triples joins."""
    first = here = int(rng.integers(graph.n_entities))
    for _ in range(3):
        triple = int(rng.choice(graph.triples_of(here))) if len(graph.triples_of(here)) else -1
        here = next((end for end in graph.ends_of(triple) if end != here), here)
    relation = RELATIONS[int(rng.integers(len(RELATIONS)))]
    return f"Which {relation} joins {names[first]} and {names[here]}?"


if __name__ == "__main__":
    main()
