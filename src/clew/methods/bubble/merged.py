"""Merge the chosen candidates into one graph, keeping the origin of each triple."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.bubble import Piece, RankedPiece
from clew.algo.topk import DECIMALS, top_k
from clew.base.types import Step
from clew.methods.bubble.anchors import AnchorGroup
from clew.methods.bubble.growth import CandidateGrowth
from clew.methods.bubble.view import BubbleView
from clew.steps.graph_paths import NamedEntity


class FoundCandidates(NamedTuple):
    """The result of a search."""

    groups: Sequence[AnchorGroup] = ()
    ranked: Sequence[RankedPiece] = ()  # every piece, best first
    chosen: Sequence[int] = ()  # places in `ranked`; the first is candidate 1
    starts: Sequence[NamedEntity] = ()  # where walks begin, beside the anchors of groups
    grown: Sequence[CandidateGrowth] = ()  # for each of the chosen; none where nothing was to grow
    retrieved: Sequence[int] = ()  # rows of chunks near the query, nearest first
    shown: bool = False  # an LLM has read these, so they count among the chunks
    hybrid: NDArray[np.float64] | None = None  # (n_chunks,) ranks chunks too, unless it is None
    notes: tuple[str, ...] = ()


class Origin(NamedTuple):
    """The candidate that a triple of the evidence comes from."""

    candidate: int  # the rank of the first that has it
    depth: int = 0  # of the expansion; 0: the candidate had it
    reason: str = ""  # of the expansion


@dataclass(frozen=True, slots=True)
class MergedCandidates:
    """The union of the chosen candidates, in the order in which it was found."""

    pieces: Mapping[int, Piece]  # by rank, as they were before they grew
    triples: Mapping[int, Mapping[int, Origin]]  # by rank: its own, the cheapest first, then added
    facts: Mapping[int, Origin]  # the triples of all
    weights: NDArray[np.float64]  # (n_facts,), cosine to the query over rank and depth
    entities: Mapping[int, int]  # of all, and the rank of the first candidate that has each
    anchors: Mapping[int, str]  # nodes, those of the heaviest group first, and why they are ones
    n_entities: int  # of the whole graph: nodes below are entities, the others triples
    ids: Mapping[int, str]  # of all nodes that were found
    texts: Mapping[int, str]  # of the same

    def build_stop(self, node: int, reason: str, score: float) -> Step:
        """Return an entity or triple as a step of a path."""
        layer = "entity" if node < self.n_entities else "triple"
        name, text = self.ids[node], self.texts[node]
        return Step(layer=layer, id=name, text=text, reason=reason, score=score)


def merge_candidates(view: BubbleView, search: FoundCandidates) -> MergedCandidates:
    """Return the union of the chosen candidates."""
    n = view.graph.n_entities
    pieces = {rank: search.ranked[place].piece for rank, place in enumerate(search.chosen, 1)}
    triples = {rank: _own_origins(view, rank, piece) for rank, piece in pieces.items()}
    for grown in search.grown:
        triples[grown.candidate] |= {
            added.triple: Origin(grown.candidate, added.depth, added.reason)
            for added in grown.triples
        }
    facts: dict[int, Origin] = {}
    entities: dict[int, int] = {}
    for rank, piece in pieces.items():
        for triple, origin in triples[rank].items():
            facts.setdefault(triple, origin)
            for end in view.graph.ends_of(triple):
                entities.setdefault(end, rank)
        for node in piece.nodes:
            if node < n:
                entities.setdefault(node, rank)
    anchors = _explain_anchors(search.groups)
    for start in search.starts:
        name = view.query.text[slice(*start.span)]
        anchors.setdefault(start.entity, explain_anchor(start.cosine, name))
    stated = [n + triple for triple in facts]
    parts = (node for each in search.ranked for node in each.piece.nodes)
    nodes = sorted({*stated, *entities, *anchors, *parts})
    behind = np.array([each.candidate * (1 + each.depth) for each in facts.values()])
    return MergedCandidates(
        pieces=pieces,
        triples=triples,
        facts=facts,
        weights=np.maximum(view.node_cosines(stated), 0.0) / behind,
        entities=entities,
        anchors=anchors,
        n_entities=n,
        ids=dict(zip(nodes, _read_ids(view, nodes), strict=True)),
        texts=dict(zip(nodes, view.read_texts(nodes), strict=True)),
    )


def _own_origins(view: BubbleView, rank: int, piece: Piece) -> dict[int, Origin]:
    n = view.graph.n_entities
    nodes = np.array([node for node in piece.nodes if node >= n], dtype=np.intp)
    rows = nodes[top_k(view.node_cosines(nodes), len(nodes))] - n
    return dict.fromkeys(rows.tolist(), Origin(rank))


def _read_ids(view: BubbleView, nodes: Sequence[int]) -> list[str]:
    first = bisect_left(nodes, view.graph.n_entities)
    triples = [node - view.graph.n_entities for node in nodes[first:]]
    return view.snapshot.layer("entity").ids(nodes[:first]) + view.snapshot.triples.ids(triples)


def sort_groups(groups: Sequence[AnchorGroup]) -> list[AnchorGroup]:
    """Sort groups by descending weight."""
    return sorted(groups, key=lambda group: -round(group.weight, DECIMALS))


def explain_anchor(similarity: float, words: str) -> str:
    """Say why a node is an anchor: it has the searched name, or a similar text."""
    return f"named “{words}”" if similarity >= 1 else f"like “{words}” ({similarity:.2f})"


def _explain_anchors(groups: Sequence[AnchorGroup]) -> dict[int, str]:
    anchors: dict[int, str] = {}
    for group in sort_groups(groups):
        for node, (similarity, words) in group.nodes.items():
            anchors.setdefault(node, explain_anchor(similarity, words))
    return anchors
