"""Turn a reasoning subgraph into evidence: its facts, its chunks, and paths through it.

AGRAG's input for the answer (arXiv:2511.05549, §III-D): the subgraph in words, then its chunks,
then the best of hybrid retrieval (Eq. 21).
"""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import neighbours
from clew.algo.mcmi import JoinedNode, components, induced_edges
from clew.algo.steiner import Tree
from clew.algo.topk import DECIMALS, top_k
from clew.base.types import Edge, Evidence, EvidenceGraph, Fact, Growth, Path, Step, Subgraph, Table
from clew.methods.agrag.view import AgragView
from clew.steps.evidence import build_facts, table_facts
from clew.steps.facts import MappedFacts
from clew.text.keys import name_key

FACT, CONTAINS, SYNONYM = "fact", "contains", "synonym"  # kinds of edges
_NEARBY, _TERMINAL = "near the question", "an end of a fact near the question"
_ON_GRAPH, _STATES, _HYBRID = "subgraph", "fact", "hybrid"  # channels: what led to a chunk
_BONUS = 1.0  # added to the scores of chunks on the subgraph, so that they come first


@dataclass(frozen=True)
class FoundSubgraph:
    """A tree and the nodes grown around it, with the influence of each; nodes are numbers."""

    view: AgragView
    mapped: MappedFacts
    terminals: Sequence[int]  # ascending
    influence: NDArray[np.float64]  # (n,)
    tree: Tree
    added: Sequence[JoinedNode]

    @cached_property
    def nodes(self) -> list[int]:
        """All nodes by descending influence."""
        nodes = np.array(sorted({*self.tree.nodes, *(each.node for each in self.added)}))
        return [int(node) for node in nodes[top_k(self.influence[nodes], len(nodes))]]

    @cached_property
    def edges(self) -> list[tuple[int, int, float]]:
        """All edges between the nodes: the lower node, the higher node, and the cost."""
        return induced_edges(self.view.get_neighbours, self.nodes)

    @cached_property
    def component(self) -> dict[int, int]:
        """The component of each node, from 1, by descending influence."""
        order = {node: place for place, node in enumerate(self.nodes)}
        parts = components(self.nodes, self.edges)
        ordered = sorted(parts, key=lambda nodes: min(order[node] for node in nodes))
        return {node: number for number, nodes in enumerate(ordered, 1) for node in nodes}

    @cached_property
    def depth(self) -> dict[int, int]:
        """The position at which each node was added, from 1; 0 for nodes of the tree."""
        grown = {each.node: place for place, each in enumerate(self.added, 1)}
        return dict.fromkeys(self.tree.nodes, 0) | grown

    @cached_property
    def chunks(self) -> list[int]:
        """The rows of the subgraph's chunks, by descending influence."""
        first = self.view.graph.first_chunk
        return [node - first for node in self.nodes if node >= first]

    @cached_property
    def stating(self) -> dict[int, int]:
        """The rows of chunks that state its facts, and the first such fact of each."""
        link, stating = self.view.snapshot.link("triple", "chunk"), dict[int, int]()
        for *_, fact in _order_facts(self):
            for row in neighbours(link, fact).tolist():
                stating.setdefault(row, fact)
        return stating

    @cached_property
    def parts(self) -> set[int]:
        """The components with an edge between two entities."""
        first = self.view.graph.first_chunk
        return {self.component[a] for a, b, _ in self.edges if b < first}

    @cached_property
    def ids(self) -> dict[int, str]:
        """The id of each node: an entity's key, a chunk's id."""
        snapshot, graph = self.view.snapshot, self.view.graph
        entities = [node for node in self.nodes if node < graph.n_entities]
        ids = dict(zip(entities, snapshot.layer("entity").ids(entities), strict=True))
        chunks = snapshot.layer("chunk").ids(self.chunks)
        ids |= zip((graph.first_chunk + chunk for chunk in self.chunks), chunks, strict=True)
        others = [node for node in self.nodes if graph.n_entities <= node < graph.first_chunk]
        return ids | {node: name_key(self.names[node]) for node in others}

    @cached_property
    def names(self) -> dict[int, str]:
        """The name of each node of either entity kind."""
        nodes = [node for node in self.nodes if node < self.view.graph.first_chunk]
        return dict(zip(nodes, self.view.read_texts(nodes), strict=True))

    @cached_property
    def inside(self) -> dict[tuple[int, int], list[int]]:
        """The rows of the triples between each pair of nodes that facts join."""
        view = self.view
        pairs = {(a, b): view.find_pair(a, b) for a, b, _ in self.edges}
        return {ends: view.graph.get_triples(p).tolist() for ends, p in pairs.items() if p >= 0}

    @cached_property
    def drawn_edges(self) -> dict[tuple[int, int], Edge]:
        """The edges as evidence has them, by their nodes."""
        rows = [row for rows in self.inside.values() for row in rows]
        ids = dict(zip(rows, self.view.snapshot.triples.ids(rows), strict=True))
        return {
            (a, b): Edge(
                a=self.ids[a],
                b=self.ids[b],
                kind=self.get_kind(a, b),
                cost=cost,
                facts=tuple(ids[row] for row in self.inside.get((a, b), ())),
            )
            for a, b, cost in self.edges
        }

    def get_kind(self, a: int, b: int) -> str:
        """Return the kind of the edge between two nodes; a fact takes precedence over a synonym."""
        if max(a, b) >= self.view.graph.first_chunk:
            return CONTAINS
        return FACT if (min(a, b), max(a, b)) in self.inside else SYNONYM


def subgraph_evidence(
    graph: FoundSubgraph,
    hybrid: NDArray[np.float64] | None,
    *,
    method: str,
    n_passages: int,
    n_chunks: int,
    n_hybrid: int | None = None,
    fused: bool,
    notes: tuple[str, ...],
) -> Evidence:
    """Return the subgraph with its first chunks, and others by their (n_chunks,) `hybrid` scores.

    Without these the others are the chunks that state its facts, by influence. At most `n_passages`
    chunks of the subgraph are hits, at most `n_hybrid` others, and `n_chunks` in all. With `fused`
    both rankings are fused; otherwise the subgraph's chunks come first.
    """
    view, on_graph = graph.view, graph.chunks[:n_passages]
    if n_hybrid is not None:
        n_chunks = min(n_chunks, len(on_graph) + n_hybrid)
    other = _STATES if hybrid is None else _HYBRID
    scores = _rank_stating(graph) if hybrid is None else hybrid
    if fused:
        ranked = _fuse_chunks(on_graph, scores, n_chunks)
    else:
        ranked = _concatenate(graph, on_graph, scores, n_chunks)
    if hybrid is None:
        ranked = {row: s for row, s in ranked.items() if row in on_graph or row in graph.stating}
    ways, facts, subgraph = _find_ways(graph), _build_facts(graph), _build_subgraph(graph)
    entities = tuple(step for step in subgraph.nodes if step.layer != "chunk")
    hits = steps.hits(view.snapshot, ranked, np.array(list(ranked.values())))
    return Evidence(
        query=view.query.text,
        method=method,
        tables=(_build_table(graph, facts),),
        hits=tuple(
            replace(hit, channel=_ON_GRAPH if row in on_graph else other)
            for row, hit in zip(ranked, hits, strict=True)
        ),
        paths=tuple(
            _build_thread(graph, ways, view.graph.first_chunk + row, score)
            if row in on_graph
            else _build_short_thread(graph, row, score, by_fact=hybrid is None)
            for row, score in ranked.items()
        ),
        seeds=tuple(_build_seeds(graph)),
        graph=EvidenceGraph(subgraph=subgraph, entities=entities, facts=facts),
        notes=notes,
    )


def _rank_stating(graph: FoundSubgraph) -> NDArray[np.float64]:
    """Return (n_chunks,) 1 / rank, by influence, of the chunks that state its facts; others 0."""
    rows = np.array(sorted(graph.stating), dtype=np.intp)
    order = top_k(graph.influence[graph.view.graph.first_chunk + rows], len(rows))
    scores = np.zeros(graph.view.graph.n_chunks)
    scores[rows[order]] = 1 / np.arange(1, len(rows) + 1)
    return scores


def _concatenate(
    graph: FoundSubgraph, on_graph: Sequence[int], others: NDArray[np.float64], k: int
) -> dict[int, float]:
    """Return at most `k` scored chunks: the subgraph's first, then those of the other scores."""
    own, first = on_graph[:k], graph.view.graph.first_chunk
    more = [row for row in top_k(others, k).tolist() if row not in own][: k - len(own)]
    influence = np.round(graph.influence[[first + row for row in own]], DECIMALS)
    ranked = dict(zip(own, (_BONUS + influence).tolist(), strict=True))
    return ranked | dict(zip(more, np.minimum(others[more], _BONUS).tolist(), strict=True))


def _fuse_chunks(on_graph: Sequence[int], others: NDArray[np.float64], k: int) -> dict[int, float]:
    """Return at most `k` scored chunks: the rankings of subgraph and other scores fused."""
    scores = steps.beside_hybrid(on_graph, others)
    best = top_k(scores, k)
    return dict(zip(best.tolist(), scores[best].tolist(), strict=True))


def _build_seeds(graph: FoundSubgraph) -> list[Step]:
    cosines, reason = dict(graph.mapped.raw), "a fact near the question"
    kept = [steps.UnreadStep("triple", row, reason, cosines[row]) for row in graph.mapped.kept]
    return steps.read_steps(graph.view.snapshot, kept)


# -- the subgraph ---------------------------------------------------------------------------------


def _build_subgraph(graph: FoundSubgraph) -> Subgraph:
    steps_of = dict(zip(graph.nodes, _build_node_steps(graph), strict=True))
    return Subgraph(
        terminals=tuple(steps_of[node] for node in graph.terminals),
        tree=tuple(graph.drawn_edges[edge] for edge in graph.tree.edges),
        growth=tuple(
            Growth(
                node=graph.ids[each.node],
                to=graph.ids[each.to],
                cost=each.cost,
                score=each.score,
                ratio=each.ratio,
                limit=each.limit if math.isfinite(each.limit) else None,
            )
            for each in graph.added
        ),
        nodes=tuple(steps_of.values()),
        edges=tuple(graph.drawn_edges.values()),
        components=tuple(
            tuple(graph.ids[node] for node in graph.nodes if graph.component[node] == number)
            for number in range(1, max(graph.component.values()) + 1)
        ),
    )


def _build_node_steps(graph: FoundSubgraph) -> Iterator[Step]:
    """Yield a step for each node: why it was chosen, and its influence."""
    snapshot, whole = graph.view.snapshot, graph.view.graph
    for node in graph.nodes:
        depth, score = graph.depth[node], float(graph.influence[node])
        reason = f"joined at step {depth}" if depth else "on the tree"
        if node in graph.terminals:
            reason = _TERMINAL
        if node >= whole.first_chunk:
            yield steps.read_step(snapshot, "chunk", node - whole.first_chunk, reason, score)
        else:
            yield _build_node_step(graph, node, reason, score)


def _build_node_step(graph: FoundSubgraph, node: int, reason: str, score: float) -> Step:
    layer = "entity" if node < graph.view.graph.n_entities else "statistical"
    return Step(layer=layer, id=graph.ids[node], text=graph.names[node], reason=reason, score=score)


# -- facts and tables -----------------------------------------------------------------------------


def _order_facts(graph: FoundSubgraph) -> list[tuple[int, int, int, int]]:
    """Return the subgraph's facts as (component, a, b, triple), by component and influence.

    The influence of a fact is that of both of its ends.
    """
    facts = [(a, b, row) for (a, b), rows in graph.inside.items() for row in rows]
    sums = {(a, b): round(float(graph.influence[[a, b]].sum()), DECIMALS) for a, b, _ in facts}
    facts.sort(key=lambda fact: (graph.component[fact[0]], -sums[fact[:2]], fact[2]))
    return [(graph.component[a], a, b, row) for a, b, row in facts]


def _build_facts(graph: FoundSubgraph) -> tuple[Fact, ...]:
    ordered = _order_facts(graph)
    places = [(part, max(graph.depth[a], graph.depth[b])) for part, a, b, _ in ordered]
    return build_facts(graph.view.snapshot, [row for *_, row in ordered], places)


def _build_table(graph: FoundSubgraph, facts: Sequence[Fact]) -> Table:
    """Return the facts of the subgraph, then its synonyms, as rows of names."""
    names = {graph.ids[node]: name for node, name in graph.names.items()}
    alike = [(a, b) for a, b, _ in graph.edges if graph.get_kind(a, b) == SYNONYM]
    return table_facts(
        facts, names, ((graph.names[a], "synonym", graph.names[b]) for a, b in alike)
    )


# -- threads --------------------------------------------------------------------------------------


def _find_ways(graph: FoundSubgraph) -> dict[int, int]:
    """Return each node's predecessor on its cheapest path from a terminal."""
    beside: dict[int, list[tuple[float, int]]] = {node: [] for node in graph.nodes}
    for a, b, cost in graph.edges:
        beside[a].append((cost, b))
        beside[b].append((cost, a))
    before: dict[int, int] = {}
    queue = [(0.0, terminal, terminal) for terminal in graph.terminals]  # ascending: a heap
    while queue:
        so_far, node, last = heapq.heappop(queue)
        if node not in before:
            before[node] = last
            for cost, other in beside[node]:
                if other not in before:
                    heapq.heappush(queue, (so_far + cost, other, node))
    return before


def _build_short_thread(graph: FoundSubgraph, row: int, score: float, *, by_fact: bool) -> Path:
    """Return the path to a chunk outside the subgraph, over a fact that it states if `by_fact`."""
    snapshot, stops = graph.view.snapshot, [Step(layer="query", id="", text=graph.view.query.text)]
    if by_fact:
        fact, reason = graph.stating[row], "a fact of the subgraph"
        stops.append(steps.read_step(snapshot, "triple", fact, reason))
    last = steps.read_step(snapshot, "chunk", row, "states it" if by_fact else _NEARBY, score)
    return Path((*stops, last), score)


def _build_thread(graph: FoundSubgraph, before: Mapping[int, int], node: int, score: float) -> Path:
    way = [node]
    while before[way[-1]] != way[-1]:
        way.append(before[way[-1]])
    way.reverse()
    stops = [Step(layer="query", id="", text=graph.view.query.text)]
    stops.append(_build_node_step(graph, way[0], _TERMINAL, float(graph.influence[way[0]])))
    for last, here in pairwise(way):
        stops += _build_stops(graph, last, here)
    return Path(tuple(stops), score)


def _build_stops(graph: FoundSubgraph, last: int, here: int) -> Iterator[Step]:
    """Yield the edge from one node of the subgraph to the next, and that node."""
    snapshot, first = graph.view.snapshot, graph.view.graph.first_chunk
    kind, score = graph.get_kind(last, here), float(graph.influence[here])
    if kind == FACT:
        rows = graph.inside[min(last, here), max(last, here)]
        yield steps.read_step(snapshot, "triple", rows[0], "joins them")
    if here >= first:
        yield steps.read_step(
            snapshot, "chunk", here - first, f"contains {graph.names[last]}", score
        )
    else:
        reason = {CONTAINS: "stands there", SYNONYM: "a synonym", FACT: ""}[kind]
        yield _build_node_step(graph, here, reason, score)
