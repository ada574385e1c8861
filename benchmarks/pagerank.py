"""Measure PageRank over all of a graph and near the restart: time, error, agreement.

    python benchmarks/pagerank.py [--sizes 10000,100000,1000000] [--questions N]

The graphs are like AGRAG's, made with a fixed seed: entities that are the ends of triples, those of
`benchmarks/bubble.py`, and a chunk for every eight triples, joined to their ends. Sizes are edges,
before equal ones become one. The restart is 4 to 10 entities: those of a walk from triple to triple
(`near`), or the ends of triples drawn at random (`random`). Damping is 0.5, as in AGRAG.

ms is processor time, for `exact` over the whole graph with its transition matrix at hand. A line
for each residual of the local scores has how many nodes get one, the L1 error, how many of the best
20 and of the best 200 are as good as the exact ones, and `kept`, the exact scores of the best 200
as a part of those of the right 200: medians over the questions. `grown` is how many of the 20 nodes
by which a subgraph of these terminals grows with exact scores (`clew.algo.mcmi`, costs of 0.1 to
0.5) it also grows by with local ones: the mean, and the least. A busy machine makes processor time
longer too, so compare within a run only.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from bubble import KINDS, PLACES, made
from scipy.sparse import csr_array

from clew.algo.mcmi import grow_tree
from clew.algo.pagerank import local_pagerank, personalized_pagerank, transition_matrix
from clew.algo.steiner import Tree
from clew.algo.topk import DECIMALS, top_k

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.algo.subdivided import Subdivided

DAMPING = 0.5
RESIDUALS = (1e-4, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7)
TRIPLES_OF_A_CHUNK = 8
LONGEST_WALK = 50  # triples


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities, then chunks, and what it costs to go to each."""

    adjacency: csr_array  # (n, n), symmetric; a weight is how many triples two entities share, or 1
    degrees: NDArray[np.float64]  # (n,)
    costs: NDArray[np.float64]  # (n,) an edge costs the mean of its ends'

    def neighbours(self, node: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the neighbours of a node and what the edges to them cost."""
        place = slice(self.adjacency.indptr[node], self.adjacency.indptr[node + 1])
        others = self.adjacency.indices[place].astype(np.intp)
        return others, np.round((self.costs[others] + self.costs[node]) / 2, DECIMALS)


def main() -> None:
    """Measure every graph and print the table."""
    parser = argparse.ArgumentParser(description="Measure personalised PageRank, exact and local.")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="edges, with commas")
    parser.add_argument("--questions", type=int, default=21, help="for each figure")
    options = parser.parse_args()
    print(f"{'':<22}{'ms':>8}{'nodes':>9}{'error':>8}{'20':>5}{'200':>5}{'kept':>8}  grown least")
    for kind in KINDS:
        for size in options.sizes.split(","):
            rng = np.random.default_rng(7)
            triples = made(kind, int(size) // 3, rng)
            graph = joined(triples, rng)
            for place in PLACES:
                draw = _near if place == "near" else _random
                restarts = [draw(triples, 4 + i % 7, rng) for i in range(options.questions)]
                print(f"{kind}, {graph.adjacency.nnz // 2:,} edges, {place}")
                print(measure(graph, restarts), flush=True)


def joined(triples: Subdivided, rng: np.random.Generator) -> Graph:
    """Return the graph of triples and of chunks that contain their ends."""
    ends = np.stack([triples.subjects, triples.objects]).astype(np.int64)
    chunks = triples.n_entities + np.arange(ends.shape[1]) // TRIPLES_OF_A_CHUNK
    facts = ends[:, ends[0] != ends[1]]
    n = int(chunks[-1]) + 1
    contained = np.stack(np.divmod(np.unique(ends * n + chunks), n))
    pairs = np.concatenate([facts, contained], axis=1)
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    adjacency = csr_array((np.ones(both.shape[1]), (both[0], both[1])), shape=(n, n))
    return Graph(adjacency, np.asarray(adjacency.sum(axis=1)), 0.1 + 0.4 * rng.random(n))


def measure(graph: Graph, restarts: Sequence[NDArray[np.intp]]) -> str:
    """Return a line for the exact scores, and one for each residual of the local ones."""
    walk = transition_matrix(graph.adjacency)
    exact, seconds = [], []
    for nodes in restarts:
        restart = np.zeros(len(graph.degrees))
        restart[nodes] = 1
        started = time.process_time()
        exact.append(personalized_pagerank(walk, restart, damping=DAMPING))
        seconds.append(time.process_time() - started)
    lines = [f"{'  exact':<22}{np.median(seconds) * 1000:>8.1f}"]
    for residual in RESIDUALS:
        rows = np.array(
            [
                compared(graph, nodes, scores, residual)
                for nodes, scores in zip(restarts, exact, strict=True)
            ]
        )
        ms, reached, error, best, more, kept, _ = np.median(rows, axis=0)
        lines.append(
            f"{f'  local, {residual:.0e}':<22}{ms:>8.1f}{reached:>9,.0f}{error:>8.4f}{best:>5.0f}"
            f"{more:>5.0f}{kept:>8.4f}{rows[:, -1].mean():>7.2f}{rows[:, -1].min():>6.0f}"
        )
    return "\n".join(lines)


def compared(
    graph: Graph, nodes: NDArray[np.intp], exact: NDArray[np.float64], residual: float
) -> tuple[float, ...]:
    """Return milliseconds of the local scores and what they have of the exact ones."""
    restart = dict.fromkeys(nodes.tolist(), 1.0)
    started = time.process_time()
    local = local_pagerank(
        graph.adjacency.__getitem__, graph.degrees, restart, damping=DAMPING, residual=residual
    )
    seconds = time.process_time() - started
    scores = np.zeros(len(exact))
    scores[local.nodes] = local.scores
    rounded, found, right = np.round(exact, DECIMALS), top_k(scores, 200), top_k(exact, 200)
    best, more = ((rounded[found[:k]] >= rounded[right[k - 1]]).sum() for k in (20, 200))
    kept = exact[found].sum() / exact[right].sum()
    n_grown = len(_grown(graph, nodes, exact) & _grown(graph, nodes, scores))
    return seconds * 1000, len(local.nodes), local.error, best, more, kept, n_grown


def _grown(graph: Graph, nodes: NDArray[np.intp], scores: NDArray[np.float64]) -> set[int]:
    """Return the 20 nodes that join the terminals; without a tree's edges there is no limit."""
    tree = Tree(tuple(nodes.tolist()), (), 0.0, 0, joined=False, stopped=False)
    return {added.node for added in grow_tree(graph.neighbours, tree, scores)}


def _near(triples: Subdivided, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return n entities of a walk from triple to triple, or fewer if it hardly gets on."""
    entity = int(triples.subjects[rng.integers(len(triples.subjects))])
    walked = {entity}
    for _ in range(LONGEST_WALK):
        if len(walked) < n:
            ends = triples.ends_of(int(rng.choice(triples.triples_of(entity))))
            entity = sum(ends) - entity if len(ends) == 2 else entity
            walked.add(entity)
    return np.array(sorted(walked), dtype=np.intp)


def _random(triples: Subdivided, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the ends of n / 2 triples."""
    rows = rng.integers(len(triples.subjects), size=n // 2)
    return np.unique([triples.subjects[rows], triples.objects[rows]]).astype(np.intp)


if __name__ == "__main__":
    main()
