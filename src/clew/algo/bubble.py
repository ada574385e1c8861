"""Connect groups of anchors by low-cost subgraphs, and rank these.

"BubbleRAG" (arXiv:2603.20309), Algorithm 1 and Eqs. 5 and 6, on a graph whose triples are nodes.
A group is anchors that stand for one concept, any of them. Around each group a bubble grows, as in
Dijkstra's search; where bubbles meet, the paths back to their anchors are a piece. Every node has
a cost and a predecessor for each bubble that reached it: with one for all, as the algorithm is
printed, two bubbles cannot meet at a node that is no anchor. All edges into a node cost the same,
so neighbours are sorted by cost once, and the heap holds one entry for each settled node: a hub has
a hundred thousand neighbours.
"""

import math
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import DECIMALS

Costs = Callable[[NDArray[np.intp]], NDArray[np.float64]]
"""Gives the (n,) costs of nodes, >= 0, to six decimals."""

EPSILON = 1e-6  # bounds the score of a piece that costs nothing
_BLOCK = 64  # far ends of an entity's triples whose costs are asked for at once
_LOOKAHEAD = 1_024  # entries of the heap whose triples are, too
_LOOKAHEAD_TRIPLES = 4_096  # triples of these


@dataclass(frozen=True, slots=True)
class Subdivided:
    """A graph in which every triple is a node, joined to its subject and its object.

    Entity e is node e, and triple t node n_entities + t. So an anchor may be a triple, parallel
    triples stay separate, and a mean over nodes is over both kinds (Eq. 1).
    """

    n_entities: int
    subjects: NDArray[np.int32]  # (n_triples,) entities
    objects: NDArray[np.int32]
    begins: NDArray[np.int64]  # (n_entities + 1,) where the triples of each entity begin
    incident: NDArray[np.int32]  # the triples of entity after entity, ascending for each

    def triples_of(self, entity: int) -> NDArray[np.int32]:
        """Return the distinct triples of an entity, ascending."""
        return self.incident[self.begins[entity] : self.begins[entity + 1]]

    def ends_of(self, triple: int) -> tuple[int, ...]:
        """Return the ends of a triple: two entities, or one for a loop."""
        subject, target = int(self.subjects[triple]), int(self.objects[triple])
        return (subject,) if subject == target else (subject, target)


def subdivide(
    n_entities: int, subjects: NDArray[np.int32], objects: NDArray[np.int32]
) -> Subdivided:
    """Return the subdivided graph of triples from their subjects and objects. O(n log n)."""
    triples = np.arange(len(subjects), dtype=np.int32)
    two = subjects != objects
    ends = np.concatenate([subjects, objects[two]])
    owned = np.concatenate([triples, triples[two]])
    order = np.lexsort((owned, ends))
    begins = np.searchsorted(ends[order], np.arange(n_entities + 1))
    return Subdivided(n_entities, subjects, objects, begins, owned[order])


@dataclass(frozen=True, slots=True)
class Piece:
    """A subgraph that connects anchors, or, as a fallback, the anchors alone."""

    nodes: tuple[int, ...]  # ascending
    edges: tuple[tuple[int, int], ...]  # an entity and a triple's node each, ascending
    kind: str  # "inter" or "intra" groups, "single" for one anchor, "fallback" for no connection


@dataclass(frozen=True, slots=True)
class PieceSearch:
    """The pieces that a search found, and how many nodes it settled."""

    pieces: tuple[Piece, ...]  # in the order of discovery, no two with the same nodes
    settled: int  # pairs of a node and a group whose bubble reached it
    stopped: bool  # the limit ended the search


@dataclass(frozen=True, slots=True)
class RankedPiece:
    """A piece with the values that decide its rank."""

    piece: Piece
    score: float  # 0 to 1 / EPSILON
    cost: float  # the mean over its nodes
    missing: float  # the weight of the groups of which it has no anchor
    covers: tuple[bool, ...]  # of which groups it has one


def expand_groups(
    graph: Subdivided,
    costs: Costs,
    groups: Sequence[Collection[int]],
    *,
    budget: int = 10,
    hops: int = 6,
    full: bool = True,
    intra: bool = True,
    limit: int = 5_000,
) -> PieceSearch:
    """Return pieces that connect anchors of several groups, in the order of their cost.

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
        return PieceSearch(singles, 0, stopped=False)
    bubbles = _Bubbles(graph, costs, anchors, hops=hops, budget=budget, intra=intra)
    stopped = bubbles.grow(full=full, limit=limit)
    pieces = tuple(bubbles.pieces.values())
    if not pieces:
        pieces = (Piece(tuple(sorted(bubbles.anchors)), (), "fallback"),)
    return PieceSearch(pieces, len(bubbles.nodes), stopped)


def rank_pieces(
    pieces: Sequence[Piece],
    costs: Costs,
    groups: Sequence[Collection[int]],
    weights: Sequence[float],
    *,
    alpha: float = 1.0,
    penalty: float = 1.1,
    n_entities: int,
    entities_only: bool = False,
) -> list[RankedPiece]:
    """Rank the pieces by score, best first; ties by size, then by their nodes.

    The score is 1 / (cost · e^(alpha · missing) · penalty + EPSILON), with `penalty` only for
    "intra" pieces. `weights` are the groups'. With `entities_only`, as in the paper, the cost is
    the mean over entities, or over triples if there are none.
    """
    nodes = np.unique(np.array([node for piece in pieces for node in piece.nodes], dtype=np.intp))
    cost_of = dict(zip(nodes.tolist(), _to_millionths(costs, nodes).tolist(), strict=True))
    ranking = []
    for piece in pieces:
        entities = [node for node in piece.nodes if node < n_entities]
        counted = entities if entities_only and entities else piece.nodes
        cost = sum(cost_of[node] for node in counted) / len(counted) / 10**DECIMALS
        covers = tuple(not set(piece.nodes).isdisjoint(group) for group in groups)
        missing = math.fsum(w for w, has in zip(weights, covers, strict=True) if not has)
        factor = math.exp(alpha * missing) * (penalty if piece.kind == "intra" else 1.0)
        ranking.append(RankedPiece(piece, 1 / (cost * factor + EPSILON), cost, missing, covers))
    return sorted(
        ranking, key=lambda r: (-round(r.score, DECIMALS), len(r.piece.nodes), r.piece.nodes)
    )


def select_diverse(ranking: Sequence[RankedPiece], n: int, most_shared: float = 0.5) -> list[int]:
    """Return the positions of at most `n` ranked pieces that differ enough, best first.

    Of any two, the nodes they share are less than `most_shared` of all that they have.
    """
    positions: list[int] = []
    sets = [set(each.piece.nodes) for each in ranking]
    for i, nodes in enumerate(sets):
        if len(positions) == n:
            break
        if all(len(nodes & sets[j]) < most_shared * len(nodes | sets[j]) for j in positions):
            positions.append(i)
    return positions


_Entry = tuple[int, int, int, int, int]
"""A cost, a group, the node that its bubble comes to, the state before it, or -1 for an anchor, and
for a triple that an entity leads to its row in the table of `_SortedTriples`, otherwise 0."""


class _SortedTriples:
    """Each entity's triples by cost, sorted lazily in blocks; all groups share them.

    A table of rows. The triples of an entity are adjacent, followed by a row with triple -1 and, as
    its cost, the row where they continue, or 0. Columns are arrays: most rows are never read, and
    objects would cost more than the search.
    """

    def __init__(self, graph: Subdivided, prices: Costs) -> None:
        self.graph = graph
        self.prices = prices
        self.begins: dict[int, int] = {}  # the first row of an entity
        self.costs = array("q", [0])  # of going to the triple, in millionths; row 0 is nobody's
        self.triples = array("q", [-1])  # nodes
        self.ends = array("q", [0])  # the entities at the other end
        self.end_costs = array("q", [0])
        self.rests: dict[int, NDArray[np.int64]] = {}  # (2, n) costs and triples not in the table

    def sort(self, entity: int, soon: Iterable[int]) -> None:
        """Sort the triples of an entity by cost, and those of entities needed `soon`.

        Where there are many, it is done when it is their turn, and only as far as they are wanted.
        """
        if len(self.graph.triples_of(entity)) > _BLOCK:
            triples = self._triple_nodes(self.graph.triples_of(entity))
            self.rests[entity] = np.stack([_to_millionths(self.prices, triples), triples])
            self.begins[entity] = self._load_cheapest(entity)
            return
        new = np.array([e for e in dict.fromkeys((entity, *soon)) if e not in self.begins])
        sizes = self.graph.begins[new + 1] - self.graph.begins[new]
        new, sizes = new[sizes <= _BLOCK], sizes[sizes <= _BLOCK]
        self._load(new[np.cumsum(sizes) <= _LOOKAHEAD_TRIPLES])

    def next_row(self, row: int) -> int:
        """Return the row of the next block of triples, or 0 at the end."""
        if not self.costs[row] and self.ends[row] in self.rests:
            self.costs[row] = self._load_cheapest(self.ends[row])
        return self.costs[row]

    def _load(self, entities: NDArray[np.int64]) -> None:
        begins = self.graph.begins[entities]
        sizes = self.graph.begins[entities + 1] - begins
        stops = sizes.cumsum()
        owners = np.arange(len(entities)).repeat(sizes)
        places = np.arange(len(owners))
        triples = self._triple_nodes(self.graph.incident[places + (begins - stops + sizes)[owners]])
        ends = self._other_ends(triples, entities[owners])
        prices = _to_millionths(self.prices, np.concatenate([triples, ends]))
        costs, end_costs = prices.reshape(2, -1)
        order = np.lexsort((costs, owners))
        table = np.zeros((4, len(places) + len(entities)), dtype=np.int64)
        for row, column in zip(table, (costs, triples, ends, end_costs), strict=True):
            row[places + owners] = column[order]
        lasts = stops + np.arange(len(entities))
        table[1, lasts], table[2, lasts] = -1, entities
        firsts = self._append(table) + lasts - sizes
        self.begins.update(zip(entities.tolist(), firsts.tolist(), strict=True))

    def _load_cheapest(self, entity: int) -> int:
        """Move the next block of cheapest triples into the table; return its first row."""
        rest = self.rests.pop(entity)
        n_known = len(self.graph.triples_of(entity)) - rest.shape[1]
        last = min(max(_BLOCK, n_known), rest.shape[1]) - 1
        taken = rest[0] <= np.partition(rest[0], last)[last]
        if not taken.all():
            self.rests[entity] = rest[:, ~taken]
        costs, triples = rest[:, taken]
        order = np.argsort(costs, kind="stable")
        ends = self._other_ends(triples[order], entity)
        table = np.stack([costs[order], triples[order], ends, _to_millionths(self.prices, ends)])
        return self._append(np.append(table, [[0], [-1], [entity], [0]], axis=1))

    def _triple_nodes(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        return rows.astype(np.int64) + self.graph.n_entities

    def _other_ends(
        self, triples: NDArray[np.int64], owners: NDArray[np.int64] | int
    ) -> NDArray[np.int64]:
        """Return the other end of each triple, seen from its owner."""
        rows = triples - self.graph.n_entities
        return (self.graph.subjects[rows] ^ self.graph.objects[rows] ^ owners).astype(np.int64)

    def _append(self, table: NDArray[np.int64]) -> int:
        """Append (4, n) rows; return the first row's number."""
        first = len(self.costs)
        columns = (self.costs, self.triples, self.ends, self.end_costs)
        for column, values in zip(columns, table, strict=True):
            column.frombytes(values.tobytes())
        return first


class _Bubbles:
    """The state of the search.

    A state is a node reached by one group's bubble. States are numbered in the order in which they
    were settled, and described by five parallel lists of integers, which the garbage collector does
    not traverse.
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
        self.fans = _SortedTriples(graph, costs)
        self.groups = groups
        self.hops = hops
        self.budget = budget
        self.intra = intra
        self.anchors = frozenset(chain(*groups))
        self.pieces: dict[tuple[int, ...], Piece] = {}
        self.has_full = False
        self.nodes: list[int] = []
        self.costs: list[int] = []  # of their paths, in millionths
        self.before: list[int] = []  # the paths' states before; -1 for an anchor
        self.origins: list[int] = []  # the anchors from which the paths come
        self.left: list[int] = []  # steps that the paths may still take
        self.settled: list[dict[int, int]] = [{} for _ in groups]  # each node's state
        self.joined: set[tuple[int, ...]] = set()
        self.tried: set[tuple[int, ...]] = set()

    def grow(self, *, full: bool, limit: int) -> bool:  # noqa: C901, PLR0912, PLR0915
        """Settle the cheapest nodes until there are enough pieces; return whether `limit` was hit.

        Entering a node costs the same from everywhere, so the heap needs only the cheapest
        unsettled triple of each settled entity, replaced when it is taken. This runs thousands of
        times per question, hence one loop with local names.
        """
        n_entities, n_groups, budget = self.graph.n_entities, len(self.groups), self.budget
        nodes, costs, before, origins = self.nodes, self.costs, self.before, self.origins
        left, pieces, fans = self.left, self.pieces, self.fans
        met: dict[int, tuple[int, ...]] = {}  # the states of a node
        # The states of triples at unsettled ends, ascending, so the cheapest first.
        touched: list[dict[int, list[int]]] = [{} for _ in self.groups]
        anchored = self._anchor_ends()
        heap: list[_Entry] = [
            (0, group, anchor, -1, 0) for group, each in enumerate(self.groups) for anchor in each
        ]
        while heap and (len(pieces) < budget or (full and not self.has_full)):
            cost, group, node, source, row = heappop(heap)
            own = self.settled[group]
            next_row = row + 1 if row else 0  # the row of the triple that comes next, if one does
            if node not in own:
                state = len(nodes)
                if state == limit:
                    return True
                own[node] = state
                nodes.append(node)
                costs.append(cost)
                before.append(source)
                if source < 0:
                    origins.append(node)
                    left.append(2 * self.hops + (node >= n_entities))
                else:
                    origins.append(origins[source])
                    left.append(left[source] - 1)
                if node not in met:
                    met[node] = (state,)
                else:
                    met[node] = tips = (*met[node], state)
                    if len(pieces) < budget or len(tips) == n_groups:
                        self._add_meeting(tips)
                if node < n_entities:
                    near = touched[group].pop(node, ())
                    if len(near) > 1:  # one would be the state before
                        self._join(group, state, near)  # through the cheapest of these triples
                    if left[state]:
                        if node not in fans.begins:
                            fans.sort(node, [e[2] for e in heap[:_LOOKAHEAD] if e[2] < n_entities])
                        source, next_row = state, fans.begins[node]
                else:
                    # There is a step left: a path as long as it may be ends at an entity.
                    ends = [(fans.ends[row], fans.end_costs[row])] if row else anchored[node]
                    if not row:  # an anchor is joined to the end that was settled first
                        ends = sorted(ends, key=lambda each: own.get(each[0], -1))
                    for end, price in ends:
                        if end not in own:
                            heappush(heap, (cost + price, group, end, state, 0))
                            if self.intra and len(pieces) < budget:
                                touched[group].setdefault(end, []).append(state)
                        elif origins[own[end]] != origins[state]:
                            self._join(group, state, [own[end]])
            while next_row:
                triple = fans.triples[next_row]
                if triple < 0:
                    next_row = fans.next_row(next_row)
                elif triple in own:
                    next_row += 1
                else:
                    price = costs[source] + fans.costs[next_row]
                    heappush(heap, (price, group, triple, source, next_row))
                    break
        return False

    def _anchor_ends(self) -> dict[int, list[tuple[int, int]]]:
        """Return the ends of anchors that are triples, with their costs."""
        n = self.graph.n_entities
        ends_of = {node: self.graph.ends_of(node - n) for node in self.anchors if node >= n}
        ends = np.unique(np.array([*chain(*ends_of.values())], dtype=np.intp))
        prices = _to_millionths(self.fans.prices, ends)
        cost_of = dict(zip(ends.tolist(), prices.tolist(), strict=True))
        return {node: [(end, cost_of[end]) for end in ends] for node, ends in ends_of.items()}

    def _add_meeting(self, tips: tuple[int, ...]) -> None:
        """Add the piece formed by all bubbles that reached a node, unless it is known.

        The common end of the paths is dropped as a dead end, unless it contains an anchor, so that
        every end of the piece is an anchor.
        """
        nodes = self.nodes.__getitem__
        while tips not in self.tried:
            self.tried.add(tips)
            before = tuple(map(self.before.__getitem__, tips))
            if self.nodes[tips[0]] in self.anchors or len({*map(nodes, before)}) > 1:
                self._add("inter", tips)
                return
            tips = before

    def _join(self, group: int, state: int, near: Sequence[int]) -> None:
        """Connect two anchors of one group whose search regions touch at a state's neighbours."""
        for other in near if self.intra else ():
            one, two = sorted((self.origins[state], self.origins[other]))
            pair = (group, one, two)
            if one != two and pair not in self.joined and len(self.pieces) < self.budget:
                self.joined.add(pair)
                self._add("intra", (state, other), (self.nodes[state], self.nodes[other]))

    def _add(self, kind: str, tips: Sequence[int], *bridges: tuple[int, int]) -> None:
        """Add the piece of the paths to some states and edges between them, unless it is known."""
        paths = [self._path(tip) for tip in tips]
        nodes = tuple(sorted(set(chain(*paths))))
        if nodes in self.pieces:
            return
        steps = chain(bridges, *(pairwise(path) for path in paths))
        edges = {(min(step), max(step)) for step in steps}  # entities are numbered before triples
        self.pieces[nodes] = Piece(nodes, tuple(sorted(edges)), kind)
        self.has_full |= all(not set(nodes).isdisjoint(group) for group in self.groups)

    def _path(self, state: int) -> list[int]:
        path = []
        while state >= 0:
            path.append(self.nodes[state])
            state = self.before[state]
        return path


def _to_millionths(costs: Costs, nodes: NDArray[np.intp]) -> NDArray[np.int64]:
    """Convert costs to integers, so that sums are exact and ties are real."""
    return np.asarray(np.rint(costs(nodes) * 10**DECIMALS), dtype=np.int64)
