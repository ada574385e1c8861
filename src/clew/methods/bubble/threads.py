"""Threads from the question by anchors and triples to chunks."""

from collections import defaultdict, deque
from collections.abc import Mapping

from clew import steps
from clew.algo.links import neighbours
from clew.algo.topk import top_k
from clew.methods.bubble.merged import MergedCandidates
from clew.methods.bubble.sources import ENTITY, TRIPLE, ShownChunk
from clew.methods.bubble.view import BubbleView
from clew.types import Path, Step

_HELD = {TRIPLE: "holds it", ENTITY: "is about it"}
_NEAR = "near the question"


class Threads:
    """The shortest ways from anchors within candidates."""

    def __init__(self, view: BubbleView, merged: MergedCandidates) -> None:
        self._view = view
        self._merged = merged
        self._before: dict[int, Mapping[int, int]] = {}

    def build_thread(self, source: ShownChunk) -> Path:
        """Return the thread to a chunk: by its weightiest fact or first entity, if it has one."""
        first = Step(layer="query", id="", text=self._view.query.text)
        reason = _HELD.get(source.channel, _NEAR)
        last = steps.chunk_step(self._view.snapshot, source.chunk, reason, source.score)
        return Path((first, *self._stops_between(source), last), source.score)

    def _stops_between(self, source: ShownChunk) -> list[Step]:
        if source.channel == TRIPLE:
            fact = self._find_fact(source.chunk)
            return self._trace_way(
                self._merged.facts[fact].candidate, self._merged.n_entities + fact
            )
        if source.channel == ENTITY:
            entity = self._find_entity(source.chunk)
            return self._trace_way(self._merged.entities[entity], entity)
        return []

    def _find_fact(self, chunk: int) -> int:
        """Return the fact of a chunk with the highest weight."""
        here = set(neighbours(self._view.snapshot.link("chunk", "triple"), chunk).tolist())
        facts = list(self._merged.facts)
        places = [place for place, fact in enumerate(facts) if fact in here]
        return facts[places[int(top_k(self._merged.weights[places], 1)[0])]]

    def _find_entity(self, chunk: int) -> int:
        """Return the first entity that a chunk is about."""
        snapshot = self._view.snapshot
        here = set(neighbours(snapshot.link("chunk", "entity"), chunk).tolist())
        for unit in neighbours(snapshot.link("chunk", "unit"), chunk).tolist():
            here.update(neighbours(snapshot.link("unit", "entity"), unit).tolist())
        return next(entity for entity in self._merged.entities if entity in here)

    def _trace_way(self, candidate: int, node: int) -> list[Step]:
        """Return the anchor from which a node was reached, and the triples on the way to it."""
        if candidate not in self._before:
            self._before[candidate] = _find_ways(self._view, self._merged, candidate)
        before = self._before[candidate]
        way = [node]
        while before[way[-1]] != way[-1]:
            way.append(before[way[-1]])
        anchor, *others = reversed(way)
        passed = [each for each in others if each >= self._merged.n_entities or each == node]
        reasons = [self._explain_stop(candidate, each, before[each]) for each in passed]
        nodes, reasons = [anchor, *passed], [self._merged.anchors[anchor], *reasons]
        return list(
            map(self._merged.build_stop, nodes, reasons, self._view.node_cosines(nodes).tolist())
        )

    def _explain_stop(self, candidate: int, node: int, before: int) -> str:
        if node < self._merged.n_entities:
            return "an end of it"
        name = self._merged.texts[before]
        added = self._merged.triples[candidate][node - self._merged.n_entities].reason
        return f"goes on from {name}: {added}" if added else f"goes on from {name}"


def _find_ways(view: BubbleView, merged: MergedCandidates, candidate: int) -> dict[int, int]:
    """Return for each node of a candidate the one before it, for its anchors themselves."""
    n = merged.n_entities
    beside: defaultdict[int, list[int]] = defaultdict(list)
    for triple in merged.triples[candidate]:
        for end in view.graph.ends_of(triple):
            beside[end].append(n + triple)
            beside[n + triple].append(end)
    nodes = {*merged.pieces[candidate].nodes, *beside}
    before = {anchor: anchor for anchor in merged.anchors if anchor in nodes}
    queue = deque(before)
    while queue:
        node = queue.popleft()
        for other in beside[node]:
            if other not in before:
                before[other] = node
                queue.append(other)
    return before
