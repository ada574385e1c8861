"""BubbleRAG: anchors of a question's concepts, grown towards each other until they meet.

arXiv:2603.20309. The search runs on the triples of the index, whoever made them: an LLM, rules, or
a knowledge graph that was imported. Choices where the paper is silent: docs/methods/bubble.md.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.bubble import Piece, RankedPiece, expand_groups, rank_pieces, select_diverse
from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.methods.bubble.analysis import analyse
from clew.methods.bubble.anchors import Anchors, find_anchors
from clew.methods.bubble.by_llm import grow_by_llm
from clew.methods.bubble.by_relations import add_missing_entities, grow_by_relations, grow_by_walks
from clew.methods.bubble.evidence import build_evidence
from clew.methods.bubble.growth import AdjacentTriples, CandidateGrowth
from clew.methods.bubble.merged import FoundCandidates
from clew.methods.bubble.view import BubbleView, open_view
from clew.models import Models
from clew.steps import graph_paths
from clew.steps.choosing import CANDIDATES, choose_hits
from clew.steps.evidence import NO_TRIPLES
from clew.steps.graph_paths import NamedEntity

Semantics = Literal["auto", "default", "and", "or", "comparison"]
Order = Literal["fused", "graph"]

_MAX_WEIGHT = 100  # for α and γ: beyond it a score is no number
_NO_GRAPH = f"{NO_TRIPLES}: used the chunks nearest to the question"
_STRICT_ALPHA = 10.0  # the least α of a question whose concepts are all required


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubble:
    """BubbleRAG's retrieval, over texts with triples or over a graph alone."""

    layers: ClassVar = frozenset({"chunk", "entity", "term", "triple"})
    needs: ClassVar = (steps.SKETCHES["entity"], steps.SKETCHES["triple"])
    limits: ClassVar = Limits(chunks="chunks")
    name: ClassVar[str] = "bubble"

    chunks: int = 15  # returned, those that were shown to the LLM on the way among them
    shown: int = 5  # nearest to the question, which the LLM reads first [k]
    anchors: int = 10  # of each concept [k_a]
    found: int = 10  # candidates after which the search may end [B]
    hops: int = 6  # from an anchor [h]
    candidates: int = 3  # chosen of them [n]
    alpha: float = 1.0  # how much a missing concept counts [α]
    penalty: float = 1.1  # on the cost of what connects anchors of one group [γ]
    semantics: Semantics = "auto"  # which concepts are required; auto: as the question says
    depth: int = 6  # expansions of a candidate [d]
    width: int = 30  # triples to choose from at each
    early: bool = True  # an LLM may answer from the first chunks alone
    latent: bool = True  # concepts that the question needs and does not say
    specialise: bool = True  # generic concepts are bound to the others
    relax: bool = True  # concepts are also searched in words of the first chunks
    validate: bool = True  # the LLM sorts the anchors into groups
    full: bool = True  # go on after that until a candidate has all concepts
    intra: bool = True  # connections within a group too
    ranking: bool = True  # off: the candidate that was found first, and no other
    order: Order = "fused"  # of chunks, with hybrid retrieval's; "graph": those of its facts first
    as_set: bool = False  # chunks are chosen as a set from the best of that order
    entities_only: bool = False  # costs of candidates leave their triples out
    states: int = 5_000  # pairs of a node and a group that the search may settle
    seconds: float = 0.0  # of a query, after which no further expansion begins; 0: no limit

    def __post_init__(self) -> None:
        steps.check_words(self, semantics=Semantics, order=Order)
        counts = ("chunks", "anchors", "found", "hops", "candidates", "width", "states")
        steps.check_least(self, 1, *counts)
        steps.check_least(self, 0, "shown", "depth", "seconds")
        steps.check_range(self, 0, _MAX_WEIGHT, "alpha")
        steps.check_range(self, 1, _MAX_WEIGHT, "penalty")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        begun = time.monotonic()
        question = steps.read_query(models, query)
        if not len(snapshot.layer("triple")):
            hybrid = self._hybrid_scores(snapshot, question)
            if hybrid is None:
                return steps.nearest_chunks(
                    snapshot, question, self.name, self.chunks, (_NO_GRAPH,)
                )
            return steps.ranked(snapshot, query, self.name, hybrid, self.chunks, notes=(_NO_GRAPH,))
        retrieved, scores = self._find_nearest_chunks(snapshot, question)
        first = steps.hits(snapshot, retrieved, scores)
        show = models.llm is not None and self.relax
        analysis = analyse(
            query,
            snapshot,
            models,
            first if show else (),
            early=self.early,
            latent=self.latent,
            specialise=self.specialise,
        )
        if analysis.answer is not None:
            note = "the LLM answered from the chunks nearest to the question, without the graph"
            return Evidence(
                query=query, method=self.name, hits=first, answer=analysis.answer, notes=(note,)
            )
        seen = open_view(snapshot, question)
        anchors = find_anchors(seen, models, analysis, k=self.anchors, validate=self.validate)
        meaning = analysis.query_type if self.semantics == "auto" else self.semantics
        pieces, notes = self._find_candidates(seen, anchors, meaning)
        places = self._choose_candidates(pieces, meaning)
        walks = models.llm is None and not snapshot.are_texts().any()  # from what is named
        starts = graph_paths.find_named(snapshot, models, query) if walks else []
        own = add_missing_entities(seen, starts, pieces, places)
        pieces += self._rank_candidates(seen, anchors, meaning, own)
        places += range(len(pieces) - len(own), len(pieces))
        candidates = FoundCandidates(
            groups=anchors.groups,
            ranked=pieces,
            chosen=places,
            starts=starts,
            grown=grow_candidates(
                AdjacentTriples(seen, self.width, self.seconds, begun),
                models,
                [pieces[place].piece.nodes for place in places],
                phrases=analysis.phrases,
                starts=starts,
                depth=self.depth,
            ),
            retrieved=retrieved,
            shown=show,
            hybrid=self._hybrid_scores(snapshot, question),
            notes=(*analysis.notes, *anchors.notes, *notes),
        )
        wanted = max(self.chunks, CANDIDATES) if self.as_set else self.chunks
        merged = build_evidence(seen, candidates, models, method=self.name, chunks=wanted)
        return choose_hits(snapshot, question, merged, self.chunks) if self.as_set else merged

    def _find_nearest_chunks(
        self, snapshot: Snapshot, query: steps.Query
    ) -> tuple[list[int], NDArray[np.float64]]:
        """Return the chunks nearest to the query, and their cosines."""
        n = min(self.shown, self.chunks)
        rows, cosines = steps.nearest(snapshot, "chunk", query, n, only=snapshot.are_texts())
        return rows.tolist(), cosines

    def _hybrid_scores(self, snapshot: Snapshot, query: steps.Query) -> NDArray[np.float64] | None:
        """Return the (n_chunks,) hybrid scores that rank texts beside the graph."""
        texts = snapshot.are_texts()
        if self.order == "graph" or not texts.any():
            return None
        return np.where(texts, steps.hybrid_scores(snapshot, query), 0.0)

    def _find_candidates(
        self, seen: BubbleView, anchors: Anchors, meaning: str
    ) -> tuple[list[RankedPiece], tuple[str, ...]]:
        groups = [group.nodes for group in anchors.groups]
        search = expand_groups(
            seen.graph,
            seen.node_costs,
            groups,
            budget=self.found,
            hops=self.hops,
            full=self.full,
            intra=self.intra,
            limit=self.states,
        )
        pieces = self._rank_candidates(seen, anchors, meaning, search.pieces)
        if not self.ranking:
            place = {piece.nodes: i for i, piece in enumerate(search.pieces)}
            pieces.sort(key=lambda each: place[each.piece.nodes])
        stopped = f"the search for candidates ended after {search.settled:,} states"
        return pieces, (stopped,) if search.stopped else ()

    def _rank_candidates(
        self, seen: BubbleView, anchors: Anchors, meaning: str, pieces: Sequence[Piece]
    ) -> list[RankedPiece]:
        return rank_pieces(
            pieces,
            seen.node_costs,
            [group.nodes for group in anchors.groups],
            [group.weight for group in anchors.groups],
            alpha=self._choose_alpha(meaning),
            penalty=self.penalty,
            n_entities=seen.graph.n_entities,
            entities_only=self.entities_only,
        )

    def _choose_alpha(self, meaning: str) -> float:
        return {"and": max(self.alpha, _STRICT_ALPHA), "or": 0.0}.get(meaning, self.alpha)

    def _choose_candidates(self, pieces: Sequence[RankedPiece], meaning: str) -> list[int]:
        """Return the indices of the candidates to grow.

        What is compared needs a candidate each, so those of a comparison differ. Without ranking
        there is one.
        """
        if meaning == "comparison" and self.ranking:
            return select_diverse(pieces, self.candidates)
        return list(range(min(self.candidates if self.ranking else 1, len(pieces))))


def grow_candidates(
    beside: AdjacentTriples,
    models: Models,
    candidates: Sequence[Sequence[int]],
    *,
    phrases: Sequence[str] = (),
    starts: Sequence[NamedEntity] = (),
    depth: int,
) -> list[CandidateGrowth]:
    """Return the growth of each of the `candidates`, given as nodes by rank (§3.5).

    They grow one after another, so an early end keeps what was added before. At each of `depth`
    levels triples are chosen among those adjacent to the entities of the previous level, at first
    all entities of the candidate. An LLM chooses; without one, walks from the `starts`; without
    these, the relations most similar to the `phrases`, or to the whole question.
    """
    if models.llm is not None:
        return grow_by_llm(beside, models.llm, candidates, depth)
    if starts:
        return grow_by_walks(beside, models, candidates, depth, starts)
    texts = phrases or [beside.view.query.text]
    return grow_by_relations(beside, models.embedder, candidates, depth, texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class BubblePaper(Bubble):
    """BubbleRAG as the paper has it: Eq. 1 over entities, B candidates, the graph's own order."""

    name: ClassVar[str] = "bubble_paper"

    full: bool = False
    order: Order = "graph"
    entities_only: bool = True


METHOD = Bubble
GROUP = "paper"
VARIANTS = {"bubble_paper": BubblePaper}
