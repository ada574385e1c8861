"""HippoRAG 2: PageRank over phrases and passages, from the facts nearest to the question.

Gutiérrez et al. (2025), arXiv:2502.14802. Phrases are the entities that triples join, passages the
chunks. Choices where the paper and its released code differ: docs/methods/hipporag2.md.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from clew import steps
from clew.algo.links import entry_rows
from clew.algo.topk import top_k
from clew.base.derived import Derived
from clew.base.types import Evidence, Limits
from clew.extras.baselines.passage_graph import (
    PassageGraph,
    passage_weights,
    phrases_of_chunks,
    trace_triple,
)
from clew.extras.baselines.synonyms import LEAST, SYNONYMS, synonym_pairs
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.entity_graph import best_chunks
from clew.steps.evidence import NO_TRIPLES
from clew.steps.facts import MappedFacts, map_facts

_FALLBACK = "used the chunks nearest to the question"
_NO_GRAPH = f"{NO_TRIPLES}: {_FALLBACK}"
_NO_FACTS = f"no fact of the graph is about the question: {_FALLBACK}"
_DOUBLE = 2.0  # edges between phrases are counted from both ends, those of passages once


@dataclass(frozen=True, slots=True, kw_only=True)
class HippoRag2:
    """HippoRAG 2's retrieval with its settings; without an LLM, all facts are kept."""

    layers: ClassVar = frozenset({"chunk", "entity", "triple"})
    needs: ClassVar = (steps.SKETCHES["chunk"], steps.SKETCHES["triple"], SYNONYMS)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    facts: int = 5  # nearest to the question
    filter: bool = True  # an LLM, where there is one, leaves facts out ("recognition memory")
    phrases: int = 5  # ends of facts that are seeds
    passage_weight: float = 0.05  # of a chunk's cosine, from 0 to 1, as a seed
    damping: float = 0.5  # probability of continuing from a node
    synonym: float = LEAST  # cosine above which two names are linked

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "facts", "phrases")
        steps.check_range(self, LEAST, 1, "synonym")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        if not len(snapshot.layer("triple")):
            return steps.nearest_chunks(snapshot, question, "hipporag2", self.chunks, (_NO_GRAPH,))
        filtered = self.filter and models.llm is not None
        mapped = map_facts(
            snapshot, models, question, k=self.facts, most=self.facts, filtered=filtered
        )
        if not mapped.kept:
            notes = (*mapped.notes, _NO_FACTS)
            return steps.nearest_chunks(snapshot, question, "hipporag2", self.chunks, notes)
        graph = snapshot.get(_GRAPH, self.synonym)
        seeds = self._weigh_phrases(snapshot, graph, mapped)
        dense = steps.dense_ranking(snapshot, question)
        rows, weights = passage_weights(dense)
        passages = zip(rows.tolist(), (self.passage_weight * weights).tolist(), strict=True)
        influence = graph.spread(dict(passages) | seeds, self.damping)
        best = best_chunks(influence, graph.n_chunks, self.chunks, dense)
        facts = {
            row: steps.read_step(snapshot, "triple", row, "a fact near the question", cosine)
            for row, cosine in mapped.raw
            if row in mapped.kept
        }
        columns, kept = snapshot.layer("triple").columns, mapped.kept[::-1]  # so the first counts
        of_ends = {int(columns[e][row]): facts[row] for row in kept for e in ("subject", "object")}
        phrases = influence.get(np.arange(graph.n_chunks, len(graph.degrees)))
        scores = influence.get(np.array(best, dtype=np.intp)).tolist()
        return steps.build_evidence(
            snapshot,
            query,
            "hipporag2",
            dict(zip(best, scores, strict=True)),
            partial(trace_triple, snapshot, of_ends, phrases),
            seeds=tuple(facts.values()),
            notes=mapped.notes,
        )

    def _weigh_phrases(
        self, snapshot: Snapshot, graph: PassageGraph, mapped: MappedFacts
    ) -> dict[int, float]:
        """Return the weightiest ends of facts, as nodes with weights.

        A phrase weighs the mean of its facts' cosines, as shares of the best one's, divided by how
        many chunks have triples of it.
        """
        cosines, columns = dict(mapped.raw), snapshot.layer("triple").columns
        ends = np.concatenate([columns[end][list(mapped.kept)] for end in ("subject", "object")])
        shares = np.array([cosines[row] for row in mapped.kept]) / max(cosines.values())
        phrases, place = np.unique(ends, return_inverse=True)
        means = np.bincount(place, np.tile(shares, 2)) / np.bincount(place)
        within, nodes = phrases_of_chunks(snapshot), graph.n_chunks + phrases
        weights = means / np.bincount(within.indices, minlength=within.shape[1])[phrases]
        best = top_k(weights, self.phrases)
        return dict(zip(nodes[best].tolist(), weights[best].tolist(), strict=True))


def _build_graph(snapshot: Snapshot, synonym: float) -> PassageGraph:
    """Return the graph of phrases and passages. O(edges log edges).

    Two phrases are joined by 2 for each chunk and triple that has both, and by twice the cosine of
    their names if that is above `synonym`; a phrase and a chunk by 1 if a triple there has it.
    """
    within, columns = phrases_of_chunks(snapshot), snapshot.layer("triple").columns
    n_chunks, n_entities = within.shape
    owners = entry_rows(snapshot.link("triple", "chunk"))
    ends = [columns[end][owners].astype(np.int64) for end in ("subject", "object")]
    a, b, cosines = synonym_pairs(snapshot, synonym)
    parts = [
        (n_chunks + ends[0], n_chunks + ends[1], np.full(len(owners), _DOUBLE)),
        (n_chunks + a, n_chunks + b, _DOUBLE * cosines),
        (entry_rows(within), n_chunks + within.indices, np.ones(within.nnz)),
    ]
    return PassageGraph.from_edges(n_chunks, n_entities, parts)


_GRAPH = Derived("HippoRAG 2's graph", _build_graph)


METHOD = HippoRag2
GROUP = "baseline"
