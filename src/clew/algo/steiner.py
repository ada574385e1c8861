"""Approximate a Steiner tree, exploring only the part of the graph that it needs.

Mehlhorn's algorithm ("A faster approximation algorithm for the Steiner problem in graphs",
Information Processing Letters 27, 1988), as AGRAG (arXiv:2511.05549, Algorithm 3) uses it. Around
each terminal a region grows, as in Dijkstra's search. A bridge is an edge between two regions; its
length is that of the path over it, from terminal to terminal. The shortest bridges that connect all
regions, with the paths from their ends back to the terminals, are the tree.

It is a tree as it comes, without the spanning tree and the pruning that the algorithm ends with:
inside a region all paths are part of one tree, and every path begins at a bridge.
"""

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import DECIMALS

Neighbours = Callable[[int], tuple[NDArray[np.intp], NDArray[np.float64]]]
"""Gives the neighbours of a node, and what the edges to them cost: > 0, to six decimals.

The graph is symmetric and has no loops. Of several edges to one neighbour the cheapest counts.
"""

_BLOCK = 128  # edges that are put into the heap at once
_BRIDGE = sys.maxsize  # stands for a node of a bridge, after all others


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree that connects the terminals, or a forest if some cannot be reached."""

    nodes: tuple[int, ...]  # ascending
    edges: tuple[tuple[int, int], ...]  # the lower node first, ascending
    cost: float  # of the edges together
    settled: int  # nodes whose neighbours were asked for
    joined: bool  # parts were connected through the joint only
    stopped: bool  # the limit ended the search


def steiner_tree(
    neighbours: Neighbours,
    terminals: Collection[int],
    *,
    passages_from: int | None = None,
    joint_cost: float = 10.0,
    limit: int | None = None,
) -> Tree:
    """Return a tree of at most 2(1 - 1/t) times the least cost, for t terminals.

    With `passages_from`, a joint connects what edges do not: one more node, joined to every node
    from that number on for `joint_cost`. It is no node of the result, which then has parts, each
    with a path to its nearest passage, since the joint was reached through it. Terminals that
    nothing connects stay apart. So do those that are not connected when `limit` nodes are settled;
    then the bound does not hold either. Only settled nodes are asked for their neighbours.

    The search ends as soon as the tree is certain: while the next node to settle is r away from its
    terminal, every bridge that was not seen yet is at least 2r long. It also ends where regions
    that can still grow are connected already, or where there is only one.

    Costs are whole millionths, so sums are exact. Equal ones: the first terminal, then the first
    node, then the first node before it; of bridges the first ends, and those over the joint last.
    The order of terminals and neighbours leaves no trace. O(s log s) for s settled nodes, and their
    edges.
    """
    regions = _Regions(neighbours, sorted(set(terminals)), passages_from, joint_cost)
    stopped = regions.grow(limit)
    return regions.tree(stopped=stopped)


class _Regions:
    """The state of the search; regions are numbered in the order of their terminals."""

    def __init__(
        self,
        neighbours: Neighbours,
        terminals: list[int],
        passages_from: int | None,
        joint_cost: float,
    ) -> None:
        self.neighbours = neighbours
        self.terminals = terminals
        self.passages_from = sys.maxsize if passages_from is None else passages_from
        self.joint_cost: int = round(joint_cost * 10**DECIMALS)
        self.region: dict[int, int] = {}  # of each settled node
        self.cost: dict[int, int] = {}  # of the path from its terminal, in millionths
        self.before: dict[int, int] = {}  # the node before it on that path; -1 for a terminal
        self.heap = [(0, i, terminal, -1) for i, terminal in enumerate(terminals)]
        self.open = [1] * len(terminals)  # entries of each region in the heap
        self.rests: dict[int, tuple[NDArray[np.intp], NDArray[np.int64], int]] = {}
        self.passages: list[int] = []  # the first of each region that has one, nearest first
        self.bridges: list[tuple[int, int, int]] = []  # a heap of lengths and ends
        self.chosen: list[tuple[int, int, int]] = []
        self.group = list(range(len(terminals)))  # of each region; connected ones share it

    def grow(self, limit: int | None) -> bool:
        """Settle nodes until the tree is certain; return whether `limit` was hit first."""
        while self.heap:
            self._connect(self._lower_bound(self.heap[0][0]))
            all_connected = len(self.chosen) + 1 == len(self.terminals)
            if (all_connected or 0 in self.open) and self._is_certain():
                break
            cost, region, node, source = heappop(self.heap)
            if node < 0:
                self._open_edges(source)
            elif node not in self.region:
                if len(self.region) == limit:
                    self._connect(None)
                    return True
                self._settle(node, cost, region, source)
            self.open[region] -= 1
        self._connect(None)
        return False

    def tree(self, *, stopped: bool) -> Tree:
        """Return the chosen bridges with the paths from their ends."""
        price: dict[tuple[int, int], int] = {}
        joined = False
        for bridge in self.chosen:
            length, one, two = bridge
            if one == _BRIDGE:
                joined = True
            else:
                price[one, two] = length - self.cost[one] - self.cost[two]
            for end in self._ends(bridge):
                node = end
                while (source := self.before[node]) >= 0:
                    edge = min(node, source), max(node, source)
                    price[edge] = self.cost[node] - self.cost[source]
                    node = source
        nodes = {*self.terminals, *(node for edge in price for node in edge)}
        cost = sum(price.values()) / 10**DECIMALS
        edges = tuple(sorted(price))
        return Tree(tuple(sorted(nodes)), edges, cost, len(self.region), joined, stopped)

    def _lower_bound(self, cost: int) -> int:
        """Return a lower bound of unseen bridges; `cost` is that of the next node."""
        if not self.passages:
            return 2 * cost
        return min(2 * cost, self.cost[self.passages[0]] + 2 * self.joint_cost + cost)

    def _connect(self, bound: int | None) -> None:
        """Choose bridges shorter than `bound` between groups of regions, shortest first."""
        while self.bridges and (bound is None or self.bridges[0][0] < bound):
            bridge = heappop(self.bridges)
            one, two = (self.group[self.region[end]] for end in self._ends(bridge))
            if one != two:
                self.chosen.append(bridge)
                self.group = [one if group == two else group for group in self.group]

    def _ends(self, bridge: tuple[int, int, int]) -> tuple[int, int]:
        """Return the nodes of a bridge; over the joint, they are the passages on both sides."""
        _, one, two = bridge
        return (self.passages[0], self.passages[two]) if one == _BRIDGE else (one, two)

    def _is_certain(self) -> bool:
        """Check that no bridge still to be found can connect two groups."""
        growing = {group for group, n in zip(self.group, self.open, strict=True) if n}
        if len(growing) > 1:
            return False
        at_passage = {self.group[self.region[passage]] for passage in self.passages}
        return growing <= at_passage or not at_passage - growing

    def _settle(self, node: int, cost: int, region: int, source: int) -> None:
        self.region[node], self.cost[node], self.before[node] = region, cost, source
        if node >= self.passages_from and all(self.region[p] != region for p in self.passages):
            self.passages.append(node)
            length = self.cost[self.passages[0]] + 2 * self.joint_cost + cost
            heappush(self.bridges, (length, _BRIDGE, len(self.passages) - 1))
        nodes, costs = self.neighbours(node)
        prices = np.rint(costs * 10**DECIMALS).astype(np.int64)
        if len(nodes) > _BLOCK:
            settled = np.fromiter(self.region, dtype=np.int64, count=len(self.region))
            is_settled = np.isin(nodes, settled, kind="table")
            self._push_edges(node, nodes[is_settled], prices[is_settled])
            self.rests[node] = nodes[~is_settled], prices[~is_settled], _BLOCK
            self._open_edges(node)
        else:
            self._push_edges(node, nodes, prices)

    def _open_edges(self, node: int) -> None:
        """Open the cheapest remaining edges, twice as many each time."""
        nodes, prices, size = self.rests.pop(node)
        if len(nodes) > size:
            last = int(np.partition(prices, size - 1)[size - 1])
            near = prices <= last
            self.rests[node] = nodes[~near], prices[~near], 2 * size
            nodes, prices = nodes[near], prices[near]
            region = self.region[node]
            heappush(self.heap, (self.cost[node] + last + 1, region, -1, node))
            self.open[region] += 1
        self._push_edges(node, nodes, prices)

    def _push_edges(self, node: int, nodes: NDArray[np.intp], prices: NDArray[np.int64]) -> None:
        """Push a settled node's edges onto a heap: bridges, and edges to unsettled nodes."""
        region, cost, group = self.region[node], self.cost[node], self.group
        for other, price in zip(nodes.tolist(), prices.tolist(), strict=True):
            target = self.region.get(other)
            if target is None:
                heappush(self.heap, (cost + price, region, other, node))
                self.open[region] += 1
            elif group[target] != group[region]:
                length = cost + price + self.cost[other]
                heappush(self.bridges, (length, min(node, other), max(node, other)))
