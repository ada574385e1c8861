"""Measure AGRAG's tree and its growth: time, nodes settled, and what a limit changes.

    OPENBLAS_NUM_THREADS=1 python benchmarks/steiner.py [--sizes 10000,100000,1000000] [--queries N]
        [--limits 1000,5000,20000]

The triples are those of `benchmarks/bubble.py`: `attached` ones, whose degrees follow a power law,
and `hubs`, with both ends drawn by Zipf's law. Five triples in a row are a passage, which is joined
to all their ends; so a third of the edges are facts, two thirds join passages. Vectors of facts and
passages are random, of 64 numbers; an edge costs half of 1 minus its cosine to the query, computed
when a search asks for it, all edges of a node in one product and once for tree and growth together.
That is hard on the search: with costs all nearly alike, every way is as good as any other.

Terminals are the ends of 2 to 5 facts: `near` ones, found by walks of three facts from one entity,
or `apart`, drawn at random. Influence is PageRank from the terminals at damping 0.5.

p50 and p95 are milliseconds of processor time, of the tree by itself, and of growth with the edges
and parts of the subgraph, by the rule that adds most, "eq15". Settled are the nodes that the search
for the tree had to ask; nodes are those of the tree and those added, on average. The last columns
say for each limit how many of the trees are not the one without it, and how much dearer these are,
where they have no more parts. Each graph has a process of its own. Compare within a run only.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from bubble import made
from scipy.sparse import csr_array

from clew.algo.mcmi import components, grow_tree, induced_edges
from clew.algo.pagerank import personalized_pagerank, transition_matrix
from clew.algo.steiner import Tree, steiner_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.algo.steiner import Neighbours

DIMENSIONS = 64
KINDS = ("attached", "hubs")
PLACES = ("near", "apart")
FACTS_OF_PASSAGE = 5
HEADER = (
    "graph         edges         tree p50    p95   growth p50    p95   settled p50     p95     most"
    "          nodes   other trees with a limit"
)


def main() -> None:
    """Measure every graph in a process of its own and print the table."""
    parser = argparse.ArgumentParser(description="Measure the tree and the growth of AGRAG.")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="edges, with commas")
    parser.add_argument("--queries", type=int, default=100, help="for each figure")
    parser.add_argument("--limits", default="1000,5000,20000", help="settled nodes, with commas")
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    limits = [int(limit) for limit in options.limits.split(",")]
    if options.kind:
        print(json.dumps(measured(options.kind, options.size, options.queries, limits)))
        return
    print(HEADER)
    for kind in KINDS:
        for size in options.sizes.split(","):
            command = [sys.executable, __file__, "--kind", kind, "--size", size]
            command += ["--queries", str(options.queries), "--limits", options.limits]
            run = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            for row in json.loads(run.stdout):
                print(_line(row), flush=True)


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities, then passages, in the two arrays of a sparse matrix."""

    subjects: NDArray[np.int32]
    objects: NDArray[np.int32]
    n_entities: int
    begins: NDArray[np.int64]
    ends: NDArray[np.intp]
    rows: NDArray[np.intp]  # of the vectors from which the edges have their costs
    vectors: NDArray[np.float32]  # of facts, then of passages

    def as_seen(self, query: NDArray[np.float32]) -> Neighbours:
        """Return the neighbours of nodes and what they cost a query."""

        def neighbours(node: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
            edges = slice(self.begins[node], self.begins[node + 1])
            cosines = (self.vectors[self.rows[edges]] @ query).astype(np.float64)
            return self.ends[edges], np.maximum(np.round((1 - cosines) / 2, 6), 1e-9)

        return cache(neighbours)


def measured(kind: str, size: int, n_queries: int, limits: Sequence[int]) -> list[dict[str, Any]]:
    """Return the figures of one graph, for terminals near each other and apart."""
    rng = np.random.default_rng(7)
    graph = graph_of(kind, size, rng)
    ones = np.ones(len(graph.ends), dtype=np.float64)
    moves = transition_matrix(csr_array((ones, graph.ends, graph.begins)))
    rows = []
    for place in PLACES:
        trees, growths, settled, nodes, steps = [], [], [], [], []
        limited: dict[int, list[tuple[Tree, Tree]]] = {limit: [] for limit in limits}
        for _ in range(n_queries):
            terminals = _terminals(graph, place, rng)
            query = _unit(rng.standard_normal(DIMENSIONS, dtype=np.float32))
            restart = np.zeros(len(graph.begins) - 1)
            restart[terminals] = 1
            scores = personalized_pagerank(moves, restart, damping=0.5)
            neighbours = graph.as_seen(query)
            started = time.process_time()
            tree = steiner_tree(neighbours, terminals, passages_from=graph.n_entities)
            trees.append(time.process_time() - started)
            started = time.process_time()
            added = grow_tree(neighbours, tree, scores, rule="eq15")
            members = {*tree.nodes, *(each.node for each in added)}
            components(members, induced_edges(neighbours, members))
            growths.append(time.process_time() - started)
            settled.append(tree.settled)
            nodes.append(len(tree.nodes))
            steps.append(len(added))
            for limit in limits:
                other = tree
                if tree.settled > limit:
                    other = steiner_tree(
                        neighbours, terminals, passages_from=graph.n_entities, limit=limit
                    )
                limited[limit].append((tree, other))
        rows.append(
            {
                "kind": kind,
                "place": place,
                "edges": len(graph.ends) // 2,
                "tree": _cuts(trees),
                "growth": _cuts(growths),
                "settled": [*np.percentile(settled, [50, 95]), max(settled)],
                "nodes": [statistics.mean(nodes), statistics.mean(steps)],
                "limited": {limit: _difference(pairs) for limit, pairs in limited.items()},
            }
        )
    return rows


def graph_of(kind: str, n_edges: int, rng: np.random.Generator) -> Graph:
    """Return a graph of at most as many edges: less where several would join the same two nodes."""
    n_facts = n_edges // 3
    triples = made(kind, n_facts, rng)
    facts = np.arange(n_facts)
    passages = triples.n_entities + facts // FACTS_OF_PASSAGE
    one = np.concatenate([triples.subjects, passages, passages])
    two = np.concatenate([triples.objects, triples.subjects, triples.objects])
    sources = np.concatenate([facts, *[n_facts + facts // FACTS_OF_PASSAGE] * 2])
    pairs = np.sort([one, two], axis=0)
    kept = np.zeros(pairs.shape[1], dtype=bool)
    kept[np.unique(pairs, axis=1, return_index=True)[1]] = True
    kept &= one != two
    one, two, sources = one[kept], two[kept], sources[kept]
    owners, ends = np.concatenate([one, two]), np.concatenate([two, one])
    order = np.argsort(owners, kind="stable")
    n_passages = -(-n_facts // FACTS_OF_PASSAGE)
    begins = np.searchsorted(owners[order], np.arange(triples.n_entities + n_passages + 1))
    vectors = rng.standard_normal((n_facts + n_passages, DIMENSIONS), dtype=np.float32)
    return Graph(
        triples.subjects,
        triples.objects,
        triples.n_entities,
        begins,
        ends[order].astype(np.intp),
        np.tile(sources, 2)[order],
        _unit(vectors),
    )


def _terminals(graph: Graph, place: str, rng: np.random.Generator) -> list[int]:
    """Return the ends of 2 to 5 facts."""
    n_facts = int(rng.integers(2, 6))
    if place == "apart":
        facts = rng.integers(len(graph.subjects), size=n_facts)
        return [*graph.subjects[facts].tolist(), *graph.objects[facts].tolist()]
    start = int(graph.subjects[rng.integers(len(graph.subjects))])
    found: list[int] = []
    for _ in range(n_facts):
        node = start
        for _ in range(3):
            before, node = node, _next(graph, node, rng)
        found += [before, node]
    return found


def _next(graph: Graph, entity: int, rng: np.random.Generator) -> int:
    """Return an entity that a fact joins to another one, or that one where none does."""
    near = graph.ends[graph.begins[entity] : graph.begins[entity + 1]]
    near = near[near < graph.n_entities]
    return int(rng.choice(near)) if len(near) else entity


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _cuts(seconds: Sequence[float]) -> list[float]:
    return [float(cut) * 1000 for cut in np.percentile(seconds, [50, 95])]


def _difference(pairs: Sequence[tuple[Tree, Tree]]) -> tuple[int, float]:
    """Return how many trees differ, and how much dearer those are that connect as much."""
    other = [(tree, limited) for tree, limited in pairs if tree.edges != limited.edges]
    whole = [limited.cost / tree.cost for tree, limited in other if _parts(tree) == _parts(limited)]
    return len(other), statistics.mean(whole) - 1 if whole else 0.0


def _parts(tree: Tree) -> int:
    return len(tree.nodes) - len(tree.edges)


def _line(row: dict[str, Any]) -> str:
    (tree, tree95), (growth, growth95) = row["tree"], row["growth"]
    settled = "{:>14,.0f}{:>8,.0f}{:>9,.0f}".format(*row["settled"])
    limited = "; ".join(
        f"{int(limit):,}: {n} other, {dearer:+.1%}" for limit, (n, dearer) in row["limited"].items()
    )
    nodes, added = row["nodes"]
    return (
        f"{row['kind']:<9}{row['edges']:>10,} {row['place']:<6}{tree:>7.1f} ms{tree95:>7.1f}"
        f"{growth:>10.1f} ms{growth95:>7.1f}{settled}{nodes:>8.1f} + {added:<4.1f}  {limited}"
    )


if __name__ == "__main__":
    main()
