"""Connect groups of anchors by cheap pieces of a graph, and rank the pieces.

"BubbleRAG" (arXiv:2603.20309), Algorithm 1 and Eqs. 5 and 6, on a graph whose triples are nodes.
A group is anchors that stand for one concept, any of them. Around each group a bubble grows, as in
Dijkstra's search; where bubbles meet, the paths back to their anchors are a piece. Every node has
a cost and a predecessor for each bubble that reached it: with one for all, as the algorithm is
printed, two bubbles cannot meet at a node that is no anchor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.subdivided import Subdivided
from clew.algo.topk import DECIMALS

Costs = Callable[[NDArray[np.intp]], NDArray[np.float64]]
"""Gives the (n,) costs of nodes, >= 0, to six decimals."""

EPSILON = 1e-6  # bounds the score of a piece that costs nothing
_BLOCK = 64  # far ends of an entity's triples whose costs are asked for at once


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the graph that connects anchors, or, as a fallback, the anchors alone."""

    nodes: tuple[int, ...]  # ascending
    edges: tuple[tuple[int, int], ...]  # an entity and a triple's node each, ascending
    kind: str  # "inter" or "intra" groups, "single" for one anchor, "fallback" for no connection


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found and how much it looked at."""

    pieces: tuple[Piece, ...]  # in the order of discovery, no two with the same nodes
    settled: int  # pairs of a node and a group whose bubble reached it
    stopped: bool  # the limit ended the search


@dataclass(frozen=True, slots=True)
class Ranked:
    """A piece with what its rank depends on."""

    piece: Piece
    score: float  # 0 to 1 / EPSILON
    cost: float  # the mean over its nodes
    missing: float  # the weight of the groups of which it has no anchor
    covers: tuple[bool, ...]  # of which groups it has one


def expand(
    graph: Subdivided,
    costs: Costs,
    groups: Sequence[Collection[int]],
    *,
    budget: int = 10,
    hops: int = 6,
    full: bool = True,
    intra: bool = True,
    limit: int = 20_000,
) -> Search:
    """Return pieces that connect anchors of several groups, those found at the least cost first.

    `groups` are nodes. Going to a node adds its cost; an anchor costs its own bubble nothing.
    The search ends with `budget` pieces, but with `full` not before one has an anchor of every
    group, and in any case after `limit` settled pairs of a node and a group. With `intra`, two
    anchors of one group are connected too. A path takes at most `hops` triples from an entity, one
    step more from a triple; each pair of a node and a group has one path, the cheapest, so a path
    too long to go on may stand where a dearer one would be short enough.

    Where anchors are free and neither `hops` nor `limit` matters, the first piece that has all of m
    groups costs at most m times the cheapest tree that has them: once the bubbles have grown to
    that tree's cost, each has come to all of its nodes.

    A single group is in no need of connections: each of its anchors is a piece. Groups without
    anchors do not count. Equal costs: the first group, then the first node, then the predecessor
    that was settled first. O(s log s) for s settled pairs, and the triples of settled entities.
    """
    anchors = [sorted(set(group)) for group in groups if group]
    if len(anchors) < 2:
        singles = tuple(Piece((node,), (), "single") for node in chain(*anchors))
        return Search(singles, 0, stopped=False)
    bubbles = _Bubbles(graph, costs, anchors, hops=hops, budget=budget, intra=intra)
    stopped = bubbles.grow(full=full, limit=limit)
    pieces = tuple(bubbles.pieces.values())
    if not pieces:
        pieces = (Piece(tuple(sorted(bubbles.anchors)), (), "fallback"),)
    return Search(pieces, bubbles.n_settled, stopped)


def ranked(
    pieces: Sequence[Piece],
    costs: Costs,
    groups: Sequence[Collection[int]],
    weights: Sequence[float],
    *,
    alpha: float = 1.0,
    penalty: float = 1.1,
    n_entities: int,
    entities_only: bool = False,
) -> list[Ranked]:
    """Return the pieces by score, best first; equal ones by size, then by their nodes.

    The score is 1 / (cost · e^(alpha · missing) · penalty + EPSILON), with `penalty` for "intra"
    pieces alone. `weights` are those of the groups. With `entities_only`, as the paper has it, the
    cost is the mean over entities; over triples where a piece has no entity.
    """
    nodes = np.unique(np.array([node for piece in pieces for node in piece.nodes], dtype=np.intp))
    cost_of = dict(zip(nodes.tolist(), _millionths(costs, nodes).tolist(), strict=True))
    found = []
    for piece in pieces:
        entities = [node for node in piece.nodes if node < n_entities]
        counted = entities if entities_only and entities else piece.nodes
        cost = sum(cost_of[node] for node in counted) / len(counted) / 10**DECIMALS
        covers = tuple(not set(piece.nodes).isdisjoint(group) for group in groups)
        missing = math.fsum(w for w, has in zip(weights, covers, strict=True) if not has)
        factor = math.exp(alpha * missing) * (penalty if piece.kind == "intra" else 1.0)
        found.append(Ranked(piece, 1 / (cost * factor + EPSILON), cost, missing, covers))
    return sorted(
        found, key=lambda r: (-round(r.score, DECIMALS), len(r.piece.nodes), r.piece.nodes)
    )


def diverse(found: Sequence[Ranked], n: int, most_shared: float = 0.5) -> list[int]:
    """Return the positions of at most `n` ranked pieces that differ, best first.

    Of any two, the nodes they share are less than `most_shared` of all that they have.
    """
    chosen: list[int] = []
    sets = [set(each.piece.nodes) for each in found]
    for i, nodes in enumerate(sets):
        if len(chosen) == n:
            break
        if all(len(nodes & sets[j]) < most_shared * len(nodes | sets[j]) for j in chosen):
            chosen.append(i)
    return chosen


class _State(NamedTuple):
    """A node as one group's bubble reached it."""

    order: int  # how many were settled before
    group: int
    node: int
    cost: int  # of its path, in millionths
    origin: int  # the anchor from which the path comes
    parent: _State | None  # the path's step before; none for an anchor
    left: int  # steps that the path may still take


_Entry = tuple[int, int, int, int, int, _State | None]
"""A cost, a group and the node that its bubble comes to; the order of the state before, for a
triple the entity beyond, otherwise -1, and that state, or None for an anchor."""


@dataclass(slots=True)
class _Fan:
    """The triples of an entity, cheapest first as far as they are wanted."""

    costs: list[int]  # in millionths
    nodes: list[int]
    ends: list[int]  # the entities at the other end, whose costs are known
    rest: NDArray[np.int64]  # (3, n) the same of those that are not in order yet; none is cheaper


class _Prices:
    """The costs around what is settled, asked for in blocks and once for all groups."""

    def __init__(self, graph: Subdivided, costs: Costs) -> None:
        self.graph = graph
        self.costs = costs
        self.fans: dict[int, _Fan] = {}
        self.entities: dict[int, int] = {}

    def triples(self, entity: int, soon: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (cost, node, far end) of the triples of an entity, cheapest first.

        Entities that may come `soon` are asked for together with it, unless they have many.
        """
        if entity not in self.fans:
            if self._is_hub(entity):
                self._open_hub(entity)
            else:
                new = [e for e in soon if e not in self.fans and not self._is_hub(e)]
                self._open(np.unique([entity, *new]))
        fan, start = self.fans[entity], 0
        while start < len(fan.nodes) or self._extend(fan):
            part = slice(start, len(fan.nodes))
            start = len(fan.nodes)
            yield from zip(fan.costs[part], fan.nodes[part], fan.ends[part], strict=True)

    def ask(self, entities: NDArray[np.int64]) -> None:
        """Ask for the costs of entities."""
        prices = _millionths(self.costs, entities)
        self.entities.update(zip(entities.tolist(), prices.tolist(), strict=True))

    def _is_hub(self, entity: int) -> bool:
        begins = self.graph.begins
        return bool(begins[entity + 1] - begins[entity] > _BLOCK)

    def _open(self, entities: NDArray[np.int64]) -> None:
        """Put the triples of entities in order, with the costs of their far ends."""
        begins = self.graph.begins[entities]
        sizes = self.graph.begins[entities + 1] - begins
        stops = np.cumsum(sizes)
        owners = np.repeat(np.arange(len(entities)), sizes)
        rows = self.graph.incident[np.arange(len(owners)) + (begins - stops + sizes)[owners]]
        nodes, ends = self._around(rows, entities[owners])
        prices = _millionths(self.costs, np.concatenate([nodes, ends]))
        self.entities.update(zip(ends.tolist(), prices[len(rows) :].tolist(), strict=True))
        order = np.lexsort((prices[: len(rows)], owners))
        costs, near, far = (column[order].tolist() for column in (prices, nodes, ends))
        rest = np.empty((3, 0), dtype=np.int64)
        for entity, size, stop in zip(
            entities.tolist(), sizes.tolist(), stops.tolist(), strict=True
        ):
            own = slice(stop - size, stop)
            self.fans[entity] = _Fan(costs[own], near[own], far[own], rest)

    def _open_hub(self, entity: int) -> None:
        """Leave the triples of an entity that has many as they are, and their far ends."""
        nodes, ends = self._around(self.graph.triples_of(entity), entity)
        rest = np.stack([_millionths(self.costs, nodes), nodes, ends])
        self.fans[entity] = _Fan([], [], [], rest)

    def _around(
        self, rows: NDArray[np.int32], owners: NDArray[np.int64] | int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the nodes of triples, and the end of each that is not its owner."""
        far = self.graph.subjects[rows] ^ self.graph.objects[rows] ^ owners
        return rows.astype(np.int64) + self.graph.n_entities, far.astype(np.int64)

    def _extend(self, fan: _Fan) -> bool:
        """Order the cheapest of the rest, as many as are in order; return if there are any."""
        prices = fan.rest[0]
        if not len(prices):
            return False
        last = min(max(_BLOCK, len(fan.nodes)), len(prices)) - 1
        taken = prices <= np.partition(prices, last)[last]
        part = fan.rest[:, taken]
        part = part[:, np.argsort(part[0], kind="stable")]
        fan.rest = fan.rest[:, ~taken]
        self.ask(part[2])
        for column, values in zip((fan.costs, fan.nodes, fan.ends), part.tolist(), strict=True):
            column.extend(values)
        return True


class _Bubbles:
    """The search under way.

    Going to a node costs the same from everywhere. So of the triples of a settled entity only the
    cheapest that its bubble has not settled needs to stand in the heap.
    """

    def __init__(
        self,
        graph: Subdivided,
        costs: Costs,
        groups: Sequence[Sequence[int]],
        *,
        hops: int,
        budget: int,
        intra: bool,
    ) -> None:
        self.graph = graph
        self.prices = _Prices(graph, costs)
        self.groups = groups
        self.hops = hops
        self.budget = budget
        self.intra = intra
        self.anchors = frozenset(chain(*groups))
        self.pieces: dict[tuple[int, ...], Piece] = {}
        self.has_full = False
        self.n_settled = 0
        self.heap: list[_Entry] = [
            (0, i, anchor, -1, -1, None) for i, nodes in enumerate(groups) for anchor in nodes
        ]
        self.settled: list[dict[int, _State]] = [{} for _ in groups]
        self.cursors: dict[int, Iterator[tuple[int, int, int]]] = {}  # by the order of entities
        self.touched: dict[tuple[int, int], list[_State]] = {}  # triples at unsettled entities
        self.joined: set[tuple[int, ...]] = set()
        self.tried: set[tuple[int, ...]] = set()
        triples = np.array([a for a in self.anchors if a >= graph.n_entities], dtype=np.int64)
        triples -= graph.n_entities
        self.prices.ask(np.union1d(graph.subjects[triples], graph.objects[triples]))

    def grow(self, *, full: bool, limit: int) -> bool:
        """Settle the cheapest until there are pieces enough; return whether `limit` came before."""
        n, heap = self.graph.n_entities, self.heap
        while heap and (len(self.pieces) < self.budget or (full and not self.has_full)):
            cost, group, node, _, end, parent = heappop(heap)
            if parent and node >= n:
                self._advance(parent)
            if node in self.settled[group]:
                continue
            if self.n_settled == limit:
                return True
            origin = parent.origin if parent else node
            left = parent.left - 1 if parent else 2 * self.hops + (node >= n)
            state = _State(self.n_settled, group, node, cost, origin, parent, left)
            self.n_settled += 1
            self.settled[group][node] = state
            self._meet(state)
            if node < n:
                self._settle_entity(state)
            else:
                ends = (end,) if parent else self.graph.ends_of(node - n)
                self._settle_triple(state, ends)
        return False

    def _settle_entity(self, state: _State) -> None:
        near = self.touched.pop((state.group, state.node), None)
        if near:
            self._join(state, sorted(near, key=lambda triple: triple.node))
        if state.left:
            soon = (entry[2] for entry in self.heap[:_BLOCK] if entry[2] < self.graph.n_entities)
            self.cursors[state.order] = self.prices.triples(state.node, soon)
            self._advance(state)

    def _settle_triple(self, state: _State, ends: Sequence[int]) -> None:
        """Go on to the ends of a triple, without the one that it was reached from.

        There is a step left for it: a path as long as it may be ends at an entity.
        """
        own, near = self.settled[state.group], []
        for end in ends:
            if end in own:
                near.append(own[end])
                continue
            if self.intra and len(self.pieces) < self.budget:
                self.touched.setdefault((state.group, end), []).append(state)
            cost = state.cost + self.prices.entities[end]
            heappush(self.heap, (cost, state.group, end, state.order, -1, state))
        if near:
            self._join(state, sorted(near, key=lambda entity: entity.node))

    def _advance(self, entity: _State) -> None:
        """Put the next triple of an entity into the heap."""
        own = self.settled[entity.group]
        for price, triple, end in self.cursors[entity.order]:
            if triple not in own:
                entry = (entity.cost + price, entity.group, triple, entity.order, end, entity)
                heappush(self.heap, entry)
                return

    def _meet(self, state: _State) -> None:
        """Add the piece of all bubbles that have come to a node, if it is a new one.

        What the paths share at the node's end is a dead end, unless an anchor stands there. Without
        it every end of the piece is an anchor.
        """
        tips = [own[state.node] for own in self.settled if state.node in own]
        if len(tips) < 2 or (len(self.pieces) >= self.budget and len(tips) < len(self.groups)):
            return
        while tips[0].node not in self.anchors:
            before = [tip.parent for tip in tips if tip.parent]  # all have one: no anchor
            if any(tip.node != before[0].node for tip in before):
                break
            tips = before
        key = tuple(tip.order for tip in tips)
        if key not in self.tried:
            self.tried.add(key)
            self._add("inter", tips)

    def _join(self, state: _State, near: Sequence[_State]) -> None:
        """Connect two anchors of one group where a state's neighbours come from another anchor."""
        for other in near if self.intra else ():
            pair = (state.group, *sorted((state.origin, other.origin)))
            if (
                other.origin != state.origin
                and pair not in self.joined
                and len(self.pieces) < self.budget
            ):
                self.joined.add(pair)
                self._add("intra", [state, other], (state.node, other.node))

    def _add(self, kind: str, tips: Sequence[_State], *bridges: tuple[int, int]) -> None:
        """Add the paths to some states, and edges between them, unless these nodes are known."""
        paths = [_path(tip) for tip in tips]
        nodes = tuple(sorted(set(chain(*paths))))
        if nodes in self.pieces:
            return
        steps = chain(bridges, *(pairwise(path) for path in paths))
        edges = {(min(step), max(step)) for step in steps}  # entities are numbered before triples
        self.pieces[nodes] = Piece(nodes, tuple(sorted(edges)), kind)
        self.has_full |= all(not set(nodes).isdisjoint(group) for group in self.groups)


def _path(state: _State) -> list[int]:
    """Return the nodes from a state back to its anchor."""
    path = [state.node]
    while state.parent:
        state = state.parent
        path.append(state.node)
    return path


def _millionths(costs: Costs, nodes: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return costs as whole numbers: their sums are exact, so equal ones are equal."""
    whole: NDArray[np.int64] = np.rint(costs(nodes) * 10**DECIMALS).astype(np.int64)
    return whole
