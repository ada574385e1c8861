"""Personalized PageRank over chunks and entities, from the question's names and neighbours.

The class of HippoRAG 2 and LinearRAG, without an LLM. What is ours and what each choice is worth:
docs/methods/pagerank.md.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clew import steps
from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.entity_graph import (
    WEIGHTS,
    best_chunks,
    build_restart,
    entity_graph,
    seed_entities,
    seed_steps,
)
from clew.steps.threads import Spread, strongest_paths


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRank:
    """Spreads weight from seeds; chunks with many short paths to them rank highest."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity", "term"})
    needs: ClassVar = (*steps.LEXICAL, steps.SKETCHES["chunk"], *steps.MENTIONS, WEIGHTS)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    damping: float = 0.6  # probability of continuing from a node
    title_weight: float = 5.0  # of a chunk's link to its title's entity; a mention's is 1
    anchored_units: int = 3  # units nearest to the query, whose entities are seeds
    seed_chunks: int = 30  # best hybrid chunks, which are light seeds
    chunk_weight: float = 0.2  # of a seed chunk beside a seed entity

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        graph = entity_graph(snapshot, self.title_weight)
        dense = steps.dense_ranking(snapshot, question)
        seeds, _, notes = seed_entities(snapshot, models, question, self.anchored_units, dense)
        hybrid = steps.hybrid_ranking(snapshot, question, dense=dense)
        restart = build_restart(graph, seeds, hybrid, self.seed_chunks, self.chunk_weight)
        if not any(restart.values()):
            notes += ("nothing to start from: used the chunks nearest to the query",)
            return steps.nearest_chunks(snapshot, question, "pagerank", self.chunks, notes)
        influence = graph.spread_near(restart, self.damping)
        rows = best_chunks(influence, graph.n_chunks, self.chunks, hybrid)
        spread = Spread(influence=influence, seeds=seeds)
        return Evidence(
            query=query,
            method="pagerank",
            hits=steps.hits(snapshot, rows, influence.get(np.array(rows, dtype=np.intp))),
            paths=strongest_paths(snapshot, query, graph, spread, rows),
            seeds=seed_steps(snapshot, seeds),
            notes=notes,
        )


METHOD = PageRank
GROUP = "baseline"
