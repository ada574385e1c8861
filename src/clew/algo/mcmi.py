"""Grow a tree by nodes with a high ratio of influence to cost (AGRAG's MCMI).

The second half of Algorithm 3 of AGRAG (arXiv:2511.05549), which gives a minimum cost maximum
influence subgraph ("MCMI"). The node that joins is always the one with the least cost per
influence; the readings of the algorithm differ in when to stop. Only nodes that have joined are
asked for their neighbours, so growth is over the neighbourhood alone, however large the graph.
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import match_sorted
from clew.algo.steiner import Neighbours, Tree

Rule = Literal["released", "eq15", "mean"]

_BITS = 20  # that count in a comparison

_Candidate = tuple[float, float, float, int, int]
"""Cost per score, minus the score, the cost, a node, and the one that it can be joined to."""


@dataclass(frozen=True, slots=True)
class JoinedNode:
    """A node that was added to the tree, with its influence and cost."""

    node: int
    to: int  # the node that it was joined to
    cost: float  # of the edge between the two
    score: float
    ratio: float  # score / cost of the rule "released", cost / score of the others
    limit: float  # what the ratio was compared with; infinite if an edge's ends have no influence


def grow_tree(
    neighbours: Neighbours,
    tree: Tree,
    scores: NDArray[np.float64],
    *,
    rule: Rule = "released",
    cap: int = 20,
) -> list[JoinedNode]:
    """Return at most `cap` nodes to add to a tree, in order.

    `scores` are the (n,) influences of nodes, >= 0; a node without any never joins. The next one is
    that with the least c / s, where s is its score and c the cost of the cheapest edge to it. It
    joins as long as the rule allows it, where u and v are the ends of an edge:

    - "released": s / c is at least the mean of c (s_u + s_v) / 2 over the tree's edges, as in the
      authors' program;
    - "eq15": c / s is below the sum of c / (s_u + s_v) over the edges of the tree and of those that
      have joined, as the paper has it;
    - "mean": c / s is below the mean of the same, with which the limit falls, as the paper says.

    Without edges the limit is 0. What is compared is rounded to 20 significant bits, some six
    digits: six decimals would leave nothing of small scores. Equal ratios: the higher score, the
    lower cost, the first node, and the first to which it can be joined.
    """
    ask = cache(neighbours)
    cost_of = {(a, b): cost for a, b, cost in induced_edges(ask, tree.nodes)}
    terms = [_limit_term(rule, cost_of[edge], float(scores[[*edge]].sum())) for edge in tree.edges]
    joined, joining = np.zeros(len(scores), dtype=bool), list(tree.nodes)
    joined[joining] = True
    heap: list[_Candidate] = []
    added: list[JoinedNode] = []
    while len(added) < cap:
        for node in joining:
            for candidate in _candidates(ask, node, scores, joined, cap - len(added)):
                heappush(heap, candidate)
        while heap and joined[heap[0][3]]:
            heappop(heap)
        if not heap:
            break
        ratio, _, cost, node, to = heap[0]
        score = float(scores[node])
        limit = float(_round_binary(math.fsum(terms) / (1 if rule == "eq15" else len(terms) or 1)))
        if rule == "released":
            ratio = float(_round_binary(score / cost))
        if ratio < limit if rule == "released" else ratio >= limit:
            break
        added.append(JoinedNode(node, to, cost, score, ratio, limit))
        if rule != "released":
            terms.append(_limit_term(rule, cost, score + float(scores[to])))
        joined[node] = True
        joining = [node]
    return added


def induced_edges(neighbours: Neighbours, nodes: Collection[int]) -> list[tuple[int, int, float]]:
    """Return the edges between `nodes`, ascending: the lower node, the other one, and the cost.

    Of several edges between the same two the cheapest is returned.
    """
    edges_of = {node: neighbours(node) for node in sorted(nodes)}
    order = np.array(sorted(edges_of, key=lambda node: len(edges_of[node][0])), dtype=np.intp)
    cost_of: dict[tuple[int, int], float] = {}
    for i, node in enumerate(order.tolist(), start=1):
        others, costs = edges_of[node]
        inside, _ = match_sorted(np.sort(order[i:]), others)  # the fewer, the more neighbours
        for other, cost in zip(others[inside].tolist(), costs[inside].tolist(), strict=True):
            edge = min(node, other), max(node, other)
            cost_of[edge] = min(cost, cost_of.get(edge, math.inf))
    return [(a, b, cost) for (a, b), cost in sorted(cost_of.items())]


def components(
    nodes: Collection[int], edges: Iterable[tuple[int, int, float]]
) -> list[tuple[int, ...]]:
    """Return the nodes of each connected component, ascending; components by first node."""
    part_of = {node: [node] for node in nodes}
    for a, b, _ in edges:
        one, two = part_of[a], part_of[b]
        if one is not two:
            one += two
            part_of.update(dict.fromkeys(two, one))
    return sorted({tuple(sorted(part)) for part in part_of.values()})


def _candidates(
    neighbours: Neighbours,
    node: int,
    scores: NDArray[np.float64],
    joined: NDArray[np.bool_],
    n: int,
) -> list[_Candidate]:
    """Return the `n` best neighbours of a node, each with its cheapest edge.

    No more can be wanted where `n` are to join.
    """
    others, costs = neighbours(node)
    influences = scores[others]
    ratios = np.full(len(others), np.inf)
    ratios = _round_binary(np.divide(costs, influences, out=ratios, where=influences > 0))
    near = _lowest_ratios(others, ratios, n + int(joined[others].sum()))
    near = near[(influences[near] > 0) & ~joined[others[near]]]
    columns = (ratios[near], -_round_binary(influences[near]), costs[near], others[near])
    order = np.lexsort(columns[::-1])
    firsts = np.sort(np.unique(others[near][order], return_index=True)[1])[:n]
    rows = zip(*(column[order[firsts]].tolist() for column in columns), strict=True)
    return [(*row, node) for row in rows]


def _lowest_ratios(
    nodes: NDArray[np.intp], ratios: NDArray[np.float64], n: int
) -> NDArray[np.intp]:
    """Return the positions of the lowest ratios, covering at least `n` nodes if possible."""
    size = 2 * n
    while size < len(nodes):
        places = np.flatnonzero(ratios <= np.partition(ratios, size)[size])
        if len(np.unique(nodes[places])) >= n:
            return places
        size *= 2
    return np.arange(len(nodes))


def _limit_term(rule: Rule, cost: float, score: float) -> float:
    """Return an edge's term of the limit; `score` is the sum over its ends."""
    if rule == "released":
        return cost * score / 2
    return cost / score if score else math.inf


def _round_binary(values: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Round values to their leading binary digits, idempotently."""
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissas, _BITS)), exponents - _BITS))
