"""Measure the search for pieces that connect anchor groups: time, states, memory, nearness to best.

    python benchmarks/bubble.py [--sizes 10000,100000,1000000] [--queries N]

Graphs, vectors and anchors are made with a fixed seed, one entity for two triples. In `attached`
graphs each new triple goes to an end of an earlier one, drawn at random, so that degrees follow a
power law; in `hubs` both ends are drawn by Zipf's law, so that one entity has a seventh of all
triples or more. Vectors are random, of 64 numbers; a cost is 1 minus a cosine to the query.
A group is 10 nodes: `random` ones, or `near` ones, found by walks of two triples from one entity.

p50 and p95 are milliseconds of processor time of `expand` with its defaults; states the pairs of a
node and a group that it settled, at p50 and at most; MB the most that Python held during one more
search. A busy machine makes processor time longer too, so compare within a run only. Each graph
has a process of its own, and so its peak memory is its own.

`steiner` compares, on 300 graphs of 40 triples, the first piece with an anchor of each group and
the cheapest of these pieces with the least cost at which a tree can connect the groups, where
anchors are free. Either piece costs at most m times as much, for m groups.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import tracemalloc
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from common import cuts_ms, in_process, peak_mb, unit

from clew.algo.bubble import Piece, Subdivided, expand_groups, subdivide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DIMENSIONS = 64
KINDS = ("attached", "hubs")
PLACES = ("random", "near")
STEINER_GRAPHS = 300


def main() -> None:
    """Measure every graph in a process of its own and print the table."""
    options = _options()
    if options.kind:
        print(json.dumps(measure(options.kind, options.size, options.queries)))
        return
    rows: list[dict[str, Any]] = []
    print(f"{'graph':<10}{'triples':>9}  groups{'p50':>12}{'p95':>9}{'states':>9}    most     MB")
    for kind in KINDS:
        for size in options.sizes.split(","):
            how = ("--kind", kind, "--size", size, "--queries", options.queries)
            figures = in_process(__file__, *how)
            rows += figures["rows"]
            print(_table(figures), flush=True)
    print(_growth(rows))
    for m in (2, 3, 4):
        print(steiner(m), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the search of BubbleRAG.")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="triples, with commas")
    parser.add_argument("--queries", type=int, default=100, help="for each figure")
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(kind: str, n_triples: int, n_queries: int) -> dict[str, Any]:
    """Return the figures of one graph, for two and three groups, random and near."""
    rng = np.random.default_rng(7)
    graph = made(kind, n_triples, rng)
    n_nodes = graph.n_entities + n_triples
    vectors = unit(rng.standard_normal((n_nodes, DIMENSIONS), dtype=np.float32))
    rows = []
    for place in PLACES:
        for m in (2, 3):
            seconds, states = [], []
            for _ in range(n_queries):
                groups = [_group(graph, place, rng) for _ in range(m)]
                query = unit(rng.standard_normal(DIMENSIONS, dtype=np.float32))
                costs = partial(_costs, vectors, query)
                started = time.process_time()
                states.append(expand_groups(graph, costs, groups).settled)
                seconds.append(time.process_time() - started)
            tracemalloc.start()
            expand_groups(graph, costs, groups)
            held = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            p50, p95 = cuts_ms(seconds)
            rows.append(
                {
                    "kind": kind,
                    "triples": n_triples,
                    "place": place,
                    "m": m,
                    "p50": p50,
                    "p95": p95,
                    "states": round(statistics.median(states)),
                    "most": max(states),
                    "held": round(held / 1e6, 1),
                }
            )
    degree = int(np.diff(graph.begins).max())
    return {"rows": rows, "degree": degree, "peak": peak_mb()}


def made(kind: str, n_triples: int, rng: np.random.Generator) -> Subdivided:
    """Return a graph with half as many entities as triples."""
    n_entities = n_triples // 2
    if kind == "hubs":
        shares = np.cumsum(1 / np.arange(1, n_entities + 1))
        ends = np.searchsorted(shares, rng.random((2, n_triples)) * shares[-1])
        return subdivide(n_entities, *ends.astype(np.int32))
    # Slot 2t is the subject of triple t, slot 2t + 1 its object: a copy of an earlier slot.
    slots = np.arange(2 * n_triples)
    slots[1::2] = (rng.random(n_triples) * slots[1::2]).astype(np.int64)
    while not np.array_equal(slots, slots[slots]):
        slots = slots[slots]
    ends = (slots // 4).astype(np.int32).reshape(-1, 2)
    return subdivide(n_entities, ends[:, 0], ends[:, 1])


def _group(graph: Subdivided, place: str, rng: np.random.Generator) -> list[int]:
    if place == "random":
        return rng.choice(graph.n_entities + len(graph.subjects), 10, replace=False).tolist()
    centre = int(graph.subjects[rng.integers(len(graph.subjects))])
    nodes = []
    for _ in range(10):
        entity = centre
        for _ in range(2):
            triple = int(rng.choice(graph.triples_of(entity)))
            nodes.append(graph.n_entities + triple)
            entity = graph.ends_of(triple)[-1]
            nodes.append(entity)
    return [nodes[i] for i in rng.choice(len(nodes), 10, replace=False)]


def _costs(
    vectors: NDArray[np.float32], query: NDArray[np.float32], nodes: NDArray[np.intp]
) -> NDArray[np.float64]:
    cosines = np.round((vectors[nodes] @ query).astype(np.float64), 6)
    return np.maximum(0.0, 1.0 - cosines)


def steiner(m: int) -> str:
    """Return how near the best possible tree the pieces for `m` groups come, as a line."""
    rng = np.random.default_rng(7)
    first, best = [], []
    while len(best) < STEINER_GRAPHS:
        ends = rng.integers(0, 25, (2, 40)).astype(np.int32)
        graph = subdivide(25, *ends)
        groups = [rng.choice(65, 2, replace=False).tolist() for _ in range(m)]
        costs = np.round(rng.random(65), 6)
        costs[np.concatenate(groups)] = 0
        least = least_tree(graph, costs, groups)
        if not 0 < least < np.inf:
            continue
        found = expand_groups(graph, lambda nodes: costs[nodes], groups, hops=65)  # noqa: B023
        ratios = [_cost(piece, costs) / least for piece in found.pieces if _is_full(piece, groups)]
        first.append(ratios[0])
        best.append(min(ratios))
    return (
        f"steiner, {m} groups, {STEINER_GRAPHS} graphs: the cheapest piece with all groups costs "
        f"{statistics.mean(best):.3f} times the least on average, {max(best):.3f} at worst; "
        f"the first {statistics.mean(first):.3f} and {max(first):.3f}"
    )


def least_tree(
    graph: Subdivided, costs: NDArray[np.float64], groups: Sequence[Sequence[int]]
) -> float:
    """Return the least cost of nodes that connect an anchor of each group, by Dreyfus and Wagner.

    Row s of a table has for every node the least cost of a tree with it that has the groups of the
    set s. Two trees at a node make one, and a tree grows by a neighbour.
    """
    sources, targets = _steps(graph)
    table = np.full((2 ** len(groups), len(costs)), np.inf)
    for groups_of in range(1, len(table)):
        row = table[groups_of]
        for i, nodes in enumerate(groups):
            if groups_of == 1 << i:
                row[nodes] = costs[nodes]
        for part in range(1, groups_of):
            if part & groups_of == part:
                np.minimum(row, table[part] + table[groups_of - part] - costs, out=row)
        for _ in costs:
            np.minimum.at(row, targets, row[sources] + costs[targets])
    return float(table[-1].min())


def _steps(graph: Subdivided) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    triples = np.arange(len(graph.subjects)) + graph.n_entities
    ends, nodes = np.concatenate([graph.subjects, graph.objects]), np.tile(triples, 2)
    return np.concatenate([ends, nodes]), np.concatenate([nodes, ends])


def _is_full(piece: Piece, groups: Sequence[Sequence[int]]) -> bool:
    return all(not set(piece.nodes).isdisjoint(group) for group in groups)


def _cost(piece: Piece, costs: NDArray[np.float64]) -> float:
    return float(costs[list(piece.nodes)].sum())


def _table(figures: dict[str, Any]) -> str:
    lines = [
        f"{row['kind']:<10}{row['triples']:>9,}  {row['m']} {row['place']:<9}{row['p50']:>6.1f} ms"
        f"{row['p95']:>6.1f} ms{row['states']:>9,}{row['most']:>8,}{row['held']:>7.1f}"
        for row in figures["rows"]
    ]
    last = f"highest degree {figures['degree']:,}, the process at most {figures['peak']:.0f} MB"
    return "\n".join([*lines, f"{'':<21}{last}"])


def _growth(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for kind in KINDS:
        mine = [row for row in rows if row["kind"] == kind]
        first, last = (sum(r["p50"] for r in mine[part]) for part in (slice(4), slice(-4, None)))
        times = mine[-1]["triples"] / mine[0]["triples"]
        lines.append(f"growth, {kind}: {times:.0f} times the triples, {last / first:.1f} the time")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
