"""Turn a search into evidence: its graph, the source chunks, and the paths to them.

BubbleRAG's union of candidates and their provenance (arXiv:2603.20309, §3.6). The chunks of triples
come first, then those of entities, then those near the query; hybrid retrieval may be fused in.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import neighbours
from clew.algo.topk import DECIMALS, top_k
from clew.base.types import (
    Candidate,
    ConceptAnchors,
    Evidence,
    EvidenceGraph,
    Expansion,
    GraphAnswer,
    Hit,
    Path,
    Step,
)
from clew.methods.bubble.anchors import AnchorGroup
from clew.methods.bubble.merged import (
    FoundCandidates,
    MergedCandidates,
    explain_anchor,
    merge_candidates,
    sort_groups,
)
from clew.methods.bubble.view import BubbleView
from clew.models import Models
from clew.steps.evidence import build_facts, table_facts
from clew.steps.graph_paths import ReachLimits, rank_answers, to_graph_answers

TRIPLE, ENTITY, TEXT = "triple", "entity", "text"  # channels: what led to a chunk
_BONUS = {TRIPLE: 2.0, ENTITY: 1.0, TEXT: 0.0}  # added to scores, so that channels stay in order
_SOURCE_REASONS = {TRIPLE: "holds it", ENTITY: "is about it"}
_NEAR_QUESTION = "near the question"


class ShownChunk(NamedTuple):
    """A chunk of the evidence, and the channels that found it."""

    chunk: int  # row
    channel: str
    score: float


def build_evidence(
    view: BubbleView, search: FoundCandidates, models: Models, *, method: str, chunks: int
) -> Evidence:
    """Return the union of the chosen candidates as evidence, with at most `chunks` hits.

    For a graph without texts the ends of paths among its facts are ranked as answers. Chunks that
    an LLM was shown count towards `chunks`.
    """
    merged = merge_candidates(view, search)
    sources = find_sources(view, merged, search, chunks)
    threads = _Threads(view, merged)
    answers = _build_answers(view, merged, models)
    graph = replace(_build_graph(view, merged, search), answers=answers)
    names = {step.id: step.text for step in graph.entities}
    notes = (*search.notes, *(note for grown in search.grown for note in grown.notes))
    return Evidence(
        query=view.query.text,
        method=method,
        tables=(table_facts(graph.facts, names),) if graph.facts else (),
        hits=_build_hits(view, sources),
        paths=tuple(threads.build_thread(source) for source in sources),
        seeds=_build_seeds(graph.groups),
        graph=graph,
        notes=tuple(dict.fromkeys(notes)),
    )


def _build_hits(view: BubbleView, sources: list[ShownChunk]) -> tuple[Hit, ...]:
    scores = np.array([source.score for source in sources])
    hits = steps.hits(view.snapshot, [source.chunk for source in sources], scores)
    return tuple(replace(h, channel=s.channel) for h, s in zip(hits, sources, strict=True))


def _build_seeds(groups: tuple[ConceptAnchors, ...]) -> tuple[Step, ...]:
    """Return the distinct anchors, heaviest group first."""
    seeds: dict[tuple[str, str], Step] = {}
    for step in (step for group in groups for step in group.anchors):
        seeds.setdefault((step.layer, step.id), step)
    return tuple(seeds.values())


def _build_answers(
    view: BubbleView, merged: MergedCandidates, models: Models
) -> tuple[GraphAnswer, ...]:
    if not merged.facts or view.snapshot.are_texts().any():
        return ()
    facts, query = list(merged.facts), view.query.text
    answers = rank_answers(view.snapshot, models, query, ReachLimits(), triples=facts)
    return to_graph_answers(view.snapshot, answers.reached)


# -- the graph ------------------------------------------------------------------------------------


def _build_graph(
    view: BubbleView, merged: MergedCandidates, search: FoundCandidates
) -> EvidenceGraph:
    places = [(origin.candidate, origin.depth) for origin in merged.facts.values()]
    return EvidenceGraph(
        groups=tuple(_build_group(merged, group) for group in sort_groups(search.groups)),
        candidates=tuple(_build_candidates(merged, search)),
        expansions=tuple(
            Expansion(
                candidate=grown.candidate,
                depth=added.depth,
                triple=merged.ids[merged.n_entities + added.triple],
                reason=added.reason,
                score=added.score,
            )
            for grown in search.grown
            for added in grown.triples
        ),
        entities=tuple(_build_entities(view, merged)),
        facts=build_facts(view.snapshot, list(merged.facts), places),
    )


def _build_group(merged: MergedCandidates, group: AnchorGroup) -> ConceptAnchors:
    anchors = [
        merged.build_stop(node, explain_anchor(similarity, words), similarity)
        for node, (similarity, words) in group.nodes.items()
    ]
    return ConceptAnchors(
        concept=group.concept.text,
        kind="latent" if group.concept.latent else "explicit",
        weight=group.weight,
        anchors=tuple(anchors),
    )


def _build_candidates(merged: MergedCandidates, search: FoundCandidates) -> Iterator[Candidate]:
    """Yield the chosen pieces, then the others, each best first."""
    concepts = [group.concept.text for group in search.groups]
    others = [place for place in range(len(search.ranked)) if place not in search.chosen]
    for rank, place in enumerate((*search.chosen, *others), 1):
        each = search.ranked[place]
        covered = list(zip(concepts, each.covers, strict=True))
        n_own = bisect_left(each.piece.nodes, merged.n_entities)
        own = [merged.ids[node] for node in each.piece.nodes]
        yield Candidate(
            rank=rank,
            chosen=rank <= len(search.chosen),
            kind=each.piece.kind,
            score=each.score,
            cost=each.cost,
            missing=each.missing,
            covers=tuple(concept for concept, covers in covered if covers),
            misses=tuple(concept for concept, covers in covered if not covers),
            entities=tuple(own[:n_own]),
            triples=tuple(own[n_own:]),
        )


def _build_entities(view: BubbleView, merged: MergedCandidates) -> Iterator[Step]:
    cosines = view.node_cosines(list(merged.entities)).tolist()
    for (row, rank), cosine in zip(merged.entities.items(), cosines, strict=True):
        yield merged.build_stop(row, merged.anchors.get(row, f"of candidate {rank}"), cosine)


# -- threads --------------------------------------------------------------------------------------


class _Threads:
    """The shortest paths from anchors inside candidates."""

    def __init__(self, view: BubbleView, merged: MergedCandidates) -> None:
        self._view = view
        self._merged = merged
        self._before: dict[int, Mapping[int, int]] = {}

    def build_thread(self, source: ShownChunk) -> Path:
        """Return the path to a chunk over its weightiest fact or first entity, if any."""
        first = Step(layer="query", id="", text=self._view.query.text)
        reason = _SOURCE_REASONS.get(source.channel, _NEAR_QUESTION)
        last = steps.read_step(self._view.snapshot, "chunk", source.chunk, reason, source.score)
        return Path((first, *self._stops_between(source), last), source.score)

    def _stops_between(self, source: ShownChunk) -> list[Step]:
        if source.channel == TRIPLE:
            fact = self._find_fact(source.chunk)
            rank = self._merged.facts[fact].candidate
            return self._trace_path(rank, self._merged.n_entities + fact)
        if source.channel == ENTITY:
            entity = self._find_entity(source.chunk)
            return self._trace_path(self._merged.entities[entity], entity)
        return []

    def _find_fact(self, chunk: int) -> int:
        """Return the fact of a chunk with the highest weight."""
        here = set(neighbours(self._view.snapshot.link("chunk", "triple"), chunk).tolist())
        facts = list(self._merged.facts)
        places = [place for place, fact in enumerate(facts) if fact in here]
        return facts[places[int(top_k(self._merged.weights[places], 1)[0])]]

    def _find_entity(self, chunk: int) -> int:
        """Return the first entity that a chunk mentions."""
        snapshot = self._view.snapshot
        here = set(neighbours(snapshot.link("chunk", "entity"), chunk).tolist())
        for unit in neighbours(snapshot.link("chunk", "unit"), chunk).tolist():
            here.update(neighbours(snapshot.link("unit", "entity"), unit).tolist())
        return next(entity for entity in self._merged.entities if entity in here)

    def _trace_path(self, candidate: int, node: int) -> list[Step]:
        """Return the anchor that a node was reached from, and the triples in between."""
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
        cosines = self._view.node_cosines(nodes).tolist()
        return list(map(self._merged.build_stop, nodes, reasons, cosines))

    def _explain_stop(self, candidate: int, node: int, before: int) -> str:
        if node < self._merged.n_entities:
            return "an end of it"
        name = self._merged.texts[before]
        added = self._merged.triples[candidate][node - self._merged.n_entities].reason
        return f"continues from {name}: {added}" if added else f"continues from {name}"


def _find_ways(view: BubbleView, merged: MergedCandidates, candidate: int) -> dict[int, int]:
    """Return the predecessor of each node of a candidate; anchors are their own."""
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


def find_sources(
    view: BubbleView, merged: MergedCandidates, search: FoundCandidates, limit: int
) -> list[ShownChunk]:
    """Return at most `limit` chunks, best first.

    Where an LLM was shown the retrieved chunks, both together are at most `limit`.
    """
    shown = frozenset(search.retrieved if search.shown else ())
    room = max(limit - len(shown), 0)
    sources: dict[int, ShownChunk] = {}
    ordered = _order_chunks(view, merged, search)
    for source in ordered if search.hybrid is None else _fuse_hybrid(ordered, search.hybrid):
        if len(sources) == limit:
            break
        is_new = source.chunk not in shown
        if source.chunk not in sources and (room or not is_new):
            sources[source.chunk] = source
            room -= is_new
    return list(sources.values())


def _fuse_hybrid(
    ordered: Iterable[ShownChunk], hybrid: NDArray[np.float64]
) -> Iterator[ShownChunk]:
    """Yield sources and hybrid retrieval's chunks, ranked by fusion."""
    first: dict[int, ShownChunk] = {}
    for source in ordered:
        first.setdefault(source.chunk, source)
    scores = steps.beside_hybrid(list(first), hybrid)
    rows = np.flatnonzero(scores)
    for row in rows[top_k(scores[rows], len(rows))].tolist():
        yield first.get(row, ShownChunk(row, TEXT, 0.0))._replace(score=float(scores[row]))


def _order_chunks(
    view: BubbleView, merged: MergedCandidates, search: FoundCandidates
) -> Iterator[ShownChunk]:
    """Yield chunks in order; a chunk found by several channels names them all."""
    if merged.facts:
        yield from _list_channel(TRIPLE, *_fact_chunks(view, merged))
    if merged.entities:
        yield from _list_channel(ENTITY, *_score_cosines(view, _entity_chunks(view, merged)))
    if search.retrieved:
        yield from _list_channel(TEXT, *_score_cosines(view, np.array(sorted(search.retrieved))))


def _list_channel(
    channel: str, rows: NDArray[np.integer], scores: NDArray[np.floating]
) -> Iterator[ShownChunk]:
    scores = np.round(scores, DECIMALS)  # as they are ordered
    for i in top_k(scores, len(scores)).tolist():
        yield ShownChunk(int(rows[i]), channel, _BONUS[channel] + float(scores[i]))


def _fact_chunks(
    view: BubbleView, merged: MergedCandidates
) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Return the (n,) chunks of facts, and the sums of their facts' weights."""
    link = view.snapshot.link("triple", "chunk")[list(merged.facts)]
    rows, places = np.unique(link.indices, return_inverse=True)
    weights = np.repeat(merged.weights, np.diff(link.indptr))
    return rows, np.asarray(np.bincount(places, weights=weights), dtype=np.float64)


def _entity_chunks(view: BubbleView, merged: MergedCandidates) -> NDArray[np.integer]:
    """Return the chunks with an entity in their extraction or in a unit."""
    entities, snapshot = list(merged.entities), view.snapshot
    units = np.unique(snapshot.link("entity", "unit")[entities].indices)
    extracted = snapshot.link("entity", "chunk")[entities].indices
    return np.union1d(extracted, snapshot.link("unit", "chunk")[units].indices)


def _score_cosines(
    view: BubbleView, rows: NDArray[np.integer]
) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Return chunks with their cosines to the query, negative ones as zero."""
    cosines = view.snapshot.layer("chunk").vectors[rows] @ view.query.vector
    return rows, np.maximum(cosines, 0.0)
