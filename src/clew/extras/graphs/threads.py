"""The evidence of a question as a graph for drawing: nodes in columns, and edges."""

from collections.abc import Iterator
from typing import Any

from clew.base.display.shown import make_view
from clew.base.types import Evidence, EvidenceGraph, Step, Subgraph
from clew.extras.graphs.layout import column_layout
from clew.extras.wire.graphs import DrawnThread, ThreadEdge, ThreadNode

_QUERY = "query"  # the layer and the id of the node that stands for it
_OF_HIT = ("text", "score", "document_id", "start", "end")  # what a node has of it


def draw_evidence(evidence: Evidence) -> DrawnThread:
    """Draw the paths of evidence, and its graph if there is one."""
    steps: dict[str, Step] = {}
    edges: dict[tuple[str, str], ThreadEdge] = {}
    for one in _find_steps(evidence):
        key = _make_key(one)
        if key not in steps or (one.reason and not steps[key].reason):
            steps[key] = one
    for edge in _find_edges(evidence):
        if edge.source in steps and edge.target in steps and edge.source != edge.target:
            edges.setdefault((edge.source, edge.target), edge)
    keys = list(steps)
    numbers = {key: number for number, key in enumerate(keys)}
    pairs = [(numbers[a], numbers[b]) for a, b in edges]
    starts = [number for key, number in numbers.items() if steps[key].layer == _QUERY]
    places = column_layout(len(keys), pairs, starts).tolist()
    ranks = {f"chunk:{hit.chunk_id}": rank for rank, hit in enumerate(evidence.hits, 1)}
    return make_view(
        DrawnThread,
        evidence,
        nodes=tuple(
            make_view(ThreadNode, one, key=key, rank=ranks.get(key), x=x, y=y)
            for (key, one), (x, y) in zip(steps.items(), places, strict=True)
        ),
        edges=tuple(edges.values()),
    )


def _make_key(step: Step) -> str:
    return step.layer if step.layer == _QUERY else f"{step.layer}:{step.id}"


def _find_steps(evidence: Evidence) -> Iterator[Step]:
    yield Step(layer=_QUERY, id=_QUERY, text=evidence.query)
    for path in evidence.paths:
        yield from path.steps
    yield from evidence.seeds
    if (graph := evidence.graph) is not None:
        for group in graph.groups:
            yield from group.anchors
        yield from graph.entities
        if graph.subgraph is not None:
            yield from graph.subgraph.nodes
    for hit in evidence.hits:
        own: Any = {name: getattr(hit, name) for name in _OF_HIT}
        yield Step(layer="chunk", id=hit.chunk_id, **own)


def _find_edges(evidence: Evidence) -> Iterator[ThreadEdge]:
    for path in evidence.paths:
        keys = [_make_key(each) for each in path.steps]
        keys = keys if keys[:1] == [_QUERY] else [_QUERY, *keys]
        yield from map(_make_edge, keys, keys[1:])
    for seed in evidence.seeds:
        yield _make_edge(_QUERY, _make_key(seed))
    if evidence.graph is not None:
        yield from _find_stated_edges(evidence.graph)
        if evidence.graph.subgraph is not None:
            yield from _find_subgraph_edges(evidence.graph.subgraph)


def _find_stated_edges(graph: EvidenceGraph) -> Iterator[ThreadEdge]:
    for group in graph.groups:
        for anchor in group.anchors:
            yield _make_edge(_QUERY, _make_key(anchor), "step", group.concept)
    for fact in graph.facts:
        subject, target = f"entity:{fact.subject}", f"entity:{fact.object}"
        yield _make_edge(subject, target, "fact", fact.text)
        for chunk in fact.chunk_ids:
            yield _make_edge(subject, f"chunk:{chunk}", "contains")


def _find_subgraph_edges(graph: Subgraph) -> Iterator[ThreadEdge]:
    keys = {each.id: _make_key(each) for each in graph.nodes}
    for terminal in graph.terminals:
        yield _make_edge(_QUERY, _make_key(terminal))
    for each in graph.edges:
        yield _make_edge(keys[each.a], keys[each.b], each.kind)


def _make_edge(source: str, target: str, kind: str = "step", text: str = "") -> ThreadEdge:
    return ThreadEdge(source=source, target=target, kind=kind, text=text)
