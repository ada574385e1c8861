"""AGRAG: a tree through the facts of a question, grown into a reasoning subgraph, and its chunks.

Wang et al. (2025), arXiv:2511.05549. Entities are counted, not extracted; the facts nearest to
the question give terminals, PageRank from these says how much each node matters, and a tree that
connects them grows by what matters most at the least cost. Choices where the paper and its
released code differ: docs/methods/agrag.md.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.mcmi import Rule, grow_tree
from clew.algo.salience import Score
from clew.algo.steiner import steiner_tree
from clew.base.derived import Derived
from clew.base.types import Evidence, Limits
from clew.errors import InputError
from clew.index.layers.statistical import STATISTICAL, StatisticalEntities, statistical_entities
from clew.index.snapshot import Snapshot
from clew.methods.agrag.evidence import FoundSubgraph, subgraph_evidence
from clew.methods.agrag.view import (
    AgragGraph,
    Costs,
    Entities,
    Influence,
    build_graph,
    compute_influence,
    open_view,
)
from clew.models import Models
from clew.steps.choosing import CANDIDATES, choose_hits
from clew.steps.evidence import NO_TRIPLES
from clew.steps.facts import FilterBy, map_facts

Order = Literal["fused", "graph"]

_NO_FACT = "no fact of the graph is about the question"
_EMPTY_SHARE = 0.9  # a share of the chunks without a statistical entity that is worth a note


@dataclass(frozen=True, slots=True, kw_only=True)
class Agrag:
    """AGRAG's retrieval with settings of its released code, and its chunks in an order of ours.

    `agrag_paper` has the paper's.
    """

    layers: ClassVar = frozenset({"chunk", "entity", "term", "triple"})
    needs: ClassVar = (STATISTICAL, steps.SKETCHES["triple"])
    limits: ClassVar = Limits(chunks="chunks")
    name: ClassVar[str] = "agrag"

    chunks: int = 10  # returned, those of the subgraph first
    passages: int = 5  # of the subgraph, that are returned
    hybrid_chunks: int = 0  # beside these, by hybrid retrieval [k_r]; 0: up to `chunks`
    filled: bool = False  # `hybrid_chunks` counts parts and chunks of the subgraph, too
    facts: int = 5  # nearest to the question [k_a]
    kept: int = 4  # facts that pass the filter
    filter: bool = True  # only facts that help to answer
    filter_by: FilterBy = "auto"  # the LLM, without one cosine and reranker; or "reranker" alone
    least_score: float = 0.0  # that "reranker" gives a fact to keep; 0: near the best fact's
    influence: Influence = "pagerank"  # of nodes; "eq12" is the equation as printed
    damping: float = 0.5  # [d]
    passage_factor: float = 1.0  # on the influence of chunks
    contains_weight: float = 1.0  # of a chunk's edges, where a triple's is 1
    costs: Costs = "released"  # of edges; "paper" is Eq. 14
    rule: Rule = "released"  # when the subgraph stops to grow; "eq15" is the paper's, "mean" ours
    rounds: int = 20  # nodes that it may grow by; 0: the tree alone
    joint: float = 10.0  # cost of a chunk's edge to the node that joins all chunks
    score: Score = "normalised"  # of statistical entities
    threshold: float = 0.0  # that the score must exceed [τ]; 0: as the index was made, else 0.5
    longest: int = 0  # words of a statistical entity [b]; 0: as the index was made, else 3
    nested: bool = False  # also those inside longer ones that stand there as often
    synonym: float = 0.8  # cosine that makes names synonyms [φ]
    entities: Entities = "statistical"  # what is salient in a chunk, or "extracted" there
    verbatim: bool = True  # ends of a triple stand in its chunk
    subgraph: bool = True  # off: hybrid retrieval alone
    hybrid: bool = True  # off: the subgraph, its chunks, and those that state its facts
    order: Order = "fused"  # of chunks, with hybrid retrieval's; "graph": the subgraph's first
    as_set: bool = False  # chunks are chosen as a set from the best of that order
    states: int = 5_000  # nodes that the search for the tree may settle

    def __post_init__(self) -> None:
        steps.check_words(self, costs=Costs, rule=Rule, score=Score, order=Order)
        steps.check_words(self, entities=Entities, influence=Influence, filter_by=FilterBy)
        steps.check_least(self, 1, "chunks", "facts", "kept", "states")
        steps.check_least(self, 0, "passages", "rounds", "longest", "hybrid_chunks")
        steps.check_range(self, 0, 1, "passage_factor", "threshold", "synonym")
        steps.check_range(self, 0, 1_000, "joint", "contains_weight")
        steps.check_range(self, -1_000, 1_000, "least_score")
        if not 0 <= self.damping < 1:
            raise InputError(f"damping must be in [0, 1), not {self.damping}")
        if not (self.subgraph or self.hybrid):
            raise InputError("subgraph and hybrid are both off: leave one of them on")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        hybrid = steps.hybrid_scores(snapshot, question)
        if not self.subgraph:
            return self._retrieve_hybrid(query, snapshot, hybrid)
        if not len(snapshot.layer("triple")):
            return self._retrieve_hybrid(query, snapshot, hybrid, NO_TRIPLES)
        counted, graph, notes = self._open_graph(snapshot, models)
        mapped = map_facts(
            snapshot,
            models,
            question,
            k=self.facts,
            most=self.kept,
            filtered=self.filter,
            by=self.filter_by,
            least_score=self.least_score,
            only=graph.stated,
        )
        notes += mapped.notes
        if not mapped.kept:
            return self._retrieve_hybrid(query, snapshot, hybrid, _NO_FACT, notes)
        view = open_view(snapshot, question, graph, counted, self.costs, hybrid)
        columns = snapshot.layer("triple").columns
        ends = [columns[end][list(mapped.kept)] for end in ("subject", "object")]
        terminals = np.unique(np.concatenate(ends)).tolist()
        scores = compute_influence(graph, terminals, self.damping, self.influence)
        scores[graph.first_chunk :] *= self.passage_factor
        tree = steiner_tree(
            view.get_neighbours,
            terminals,
            passages_from=graph.first_chunk,
            joint_cost=self.joint,
            limit=self.states,
        )
        added = grow_tree(view.get_neighbours, tree, scores, rule=self.rule, cap=self.rounds)
        if tree.stopped:
            notes += (f"the search for the tree ended after {tree.settled:,} nodes",)
        found = FoundSubgraph(view, mapped, terminals, scores, tree, added)
        evidence = subgraph_evidence(
            found,
            hybrid if self.hybrid else None,
            method=self.name,
            n_passages=self.passages,
            n_chunks=max(self.chunks, CANDIDATES) if self.as_set else self.chunks,
            n_hybrid=self._count_hybrid(found) if self.hybrid_chunks and self.hybrid else None,
            fused=self.order == "fused",
            notes=notes,
        )
        return choose_hits(snapshot, question, evidence, self.chunks) if self.as_set else evidence

    def _retrieve_hybrid(
        self,
        query: str,
        snapshot: Snapshot,
        hybrid: NDArray[np.float64],
        reason: str = "",
        notes: tuple[str, ...] = (),
    ) -> Evidence:
        """Fall back to hybrid retrieval if there is no subgraph; return nothing if that is off."""
        instead = "hybrid retrieval alone" if self.hybrid else "nothing, since hybrid is off"
        notes += (f"{reason}: {instead}",) if reason else ()
        n_chunks = min(self.hybrid_chunks or self.chunks, self.chunks) if self.hybrid else 0
        return steps.ranked(snapshot, query, self.name, hybrid, n_chunks, notes=notes)

    def _count_hybrid(self, found: FoundSubgraph) -> int:
        """Return the number of chunks by hybrid retrieval beside a subgraph."""
        taken = len(found.parts) + len(found.chunks) if self.filled else 0
        return max(0, self.hybrid_chunks - taken)

    def _open_graph(
        self, snapshot: Snapshot, models: Models
    ) -> tuple[StatisticalEntities, AgragGraph, tuple[str, ...]]:
        counted = statistical_entities(
            snapshot,
            models.embedder,
            score=self.score,
            threshold=self.threshold or None,
            longest=self.longest or None,
            nested=self.nested,
            synonym=self.synonym,
        )
        drawn = (self.entities, self.verbatim, self.contains_weight)
        settings = (self.score, self.threshold, self.longest, self.nested, self.synonym)
        graph = snapshot.get(_GRAPH, drawn, settings, counted=counted)
        if self.entities != "statistical" or counted.empty <= _EMPTY_SHARE:
            return counted, graph, ()
        share = f"{counted.empty:.0%} of the chunks have no statistical entity"
        other = "" if self.score == "normalised" else ", or score=normalised"
        return counted, graph, (f"{share}: take a lower threshold{other}",)


def _read_graph(
    snapshot: Snapshot,
    drawn: tuple[Entities, bool, float],
    _settings: tuple[Hashable, ...],  # of the statistical entities
    *,
    counted: StatisticalEntities,
) -> AgragGraph:
    return build_graph(snapshot, counted, *drawn)


_GRAPH = Derived("AGRAG's graph", _read_graph)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgragPaper(Agrag):
    """AGRAG as printed: entities, factor on chunks, costs, rule and order (Eqs. 3, 9, 14, 15, 21).

    Its growth ends after `rounds` nodes, where the paper has no end: docs/methods/agrag.md.
    """

    name: ClassVar[str] = "agrag_paper"

    hybrid_chunks: int = 5
    filter_by: FilterBy = "reranker"
    passage_factor: float = 0.05
    costs: Costs = "paper"
    rule: Rule = "eq15"
    nested: bool = True
    order: Order = "graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgragReleased(Agrag):
    """AGRAG as the authors' public code runs it; deviations: docs/methods/agrag.md.

    Nodes are the ends of triples, whether or not their text has them, and hybrid retrieval fills
    the context up to five items: chunks, and parts of the subgraph in words.
    """

    name: ClassVar[str] = "agrag_released"

    chunks: int = 30  # all of the subgraph's: the terminals' and those of 20 rounds
    passages: int = 30
    hybrid_chunks: int = 5
    filled: bool = True
    contains_weight: float = 2 / 3
    score: Score = "tfidf"
    entities: Entities = "extracted"
    verbatim: bool = False
    order: Order = "graph"


METHOD = Agrag
GROUP = "paper"
VARIANTS = {"agrag_paper": AgragPaper, "agrag_released": AgragReleased}
