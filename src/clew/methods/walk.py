"""Walk on: spread from the question, choose chunks as a set, spread on from what they name.

Clew's own method. What each part is worth on every set: docs/methods/walk.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from clew import steps
from clew.algo.choice import Shares
from clew.algo.fusion import min_max
from clew.algo.links import neighbours
from clew.algo.pagerank import personalized_pagerank
from clew.algo.topk import top_k
from clew.choosing import CANDIDATES, Chosen, choose_chunks
from clew.entity_graph import (
    EntityGraph,
    Links,
    Seeds,
    Spread,
    entity_graph,
    restart_of,
    seed_entities,
    seed_steps,
    strongest_path,
)
from clew.errors import InputError
from clew.types import Evidence, Hit, Limits, Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.models import Models

_TOLERANCE = 1e-4  # of all weight: moves no chunk that matters
_LEAST = 1e-12  # influence whose logarithm is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """PageRank that chooses what it found as a set, and walks on from the first of it."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity", "term"})
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    candidates: int = CANDIDATES  # chunks of most influence, from which a set is chosen
    gain: float = 2.5  # weight of what a chunk adds to the set; that of its influence is 1
    residual: float = 0.3  # weight of its nearness to what the set leaves of the question
    named: float = 0.3  # weight of being named by the question or by a chunk of the set
    hybrid: float = 0.6  # weight of its hybrid score where titles tell no chunk from another
    legs: int = 1  # how often the walk goes on
    followed: int = 3  # first chunks of the set, from whose entities it does
    onward: float = 0.8  # share of the restart, and of the influence, that is the new leg's
    known: float = 0.6  # weight of an entity that was a seed already
    names: bool = True  # links between names that begin or end each other
    damping: float = 0.6  # chance to go on from a node

    title_weight: float = 5.0  # of a chunk's link to its title's entity; a mention's is 1
    anchored_units: int = 3  # units nearest to the query, whose entities are seeds
    seed_chunks: int = 30  # best hybrid chunks, which are light seeds
    chunk_weight: float = 0.2  # of a seed chunk beside a seed entity

    def __post_init__(self) -> None:
        for name in ("candidates", "followed"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is at least 1, not {getattr(self, name)}")
        if not 0 <= self.onward <= 1:
            raise InputError(f"onward is a share from 0 to 1, not {self.onward:g}")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        asked = steps.read_query(models, query)
        links = Links(title_weight=self.title_weight, names=self.names)
        graph = entity_graph(snapshot, links)
        seeds, named, notes = seed_entities(snapshot, models, asked, self.anchored_units)
        hybrid = steps.hybrid_scores(snapshot, asked)
        restart = restart_of(graph, seeds, hybrid, self.seed_chunks, self.chunk_weight)
        if not restart.any():
            notes += ("nothing to start from: the chunks nearest to the query instead",)
            return steps.nearest_chunks(snapshot, asked, "walk", self.chunks, notes)
        words = self.hybrid * _sameness(snapshot) * hybrid
        chooser = _Chooser(snapshot, steps.Coverage(snapshot, asked), graph, named, words, self)
        spread, chosen = self._walked(graph, restart, seeds, chooser)
        more = top_k(spread.influence[: graph.n_chunks], self.chunks + len(chosen.rows))
        rows = list(dict.fromkeys([*chosen.rows, *more.tolist()]))[: self.chunks]
        return Evidence(
            query=query,
            method="walk",
            hits=_hits(snapshot, rows, chosen.also),
            paths=tuple(strongest_path(snapshot, query, graph, spread, row) for row in rows),
            seeds=seed_steps(snapshot, seeds),
            notes=notes,
        )

    def _walked(
        self, graph: EntityGraph, restart: NDArray[np.float64], seeds: Seeds, chooser: _Chooser
    ) -> tuple[Spread, Chosen]:
        """Return how weight came to the nodes after all legs, and the chunks chosen then."""
        restart = restart / restart.sum()
        first = self._influence(graph, restart)
        reasons = {entity: reason for entity, (_, reason) in seeds.items()}
        spread = Spread(influence=first, reasons=reasons, before=first)
        chosen = chooser.choose(first)
        for _ in range(self.legs):
            onward, origins = self._onward(graph, chosen.rows[: self.followed], seeds)
            if not onward.any():
                break
            share = self.onward * onward / onward.sum() + (1 - self.onward) * restart
            new = self.onward * self._influence(graph, share) + (1 - self.onward) * first
            spread = replace(spread, influence=new, origins=origins)
            chosen = chooser.choose(new)
        return spread, chosen

    def _influence(self, graph: EntityGraph, restart: NDArray[np.float64]) -> NDArray[np.float64]:
        return personalized_pagerank(
            graph.transition, restart, damping=self.damping, tolerance=_TOLERANCE
        )

    def _onward(
        self, graph: EntityGraph, chunks: Sequence[int], seeds: Seeds
    ) -> tuple[NDArray[np.float64], Mapping[int, int]]:
        """Return the (n,) weights of the entities of chunks, and the first chunk with each."""
        weights = np.zeros(graph.transition.shape[0])
        origins: dict[int, int] = {}
        for place, chunk in enumerate(chunks, 1):
            entities = neighbours(graph.chunk_entities, chunk)
            old = np.array([self.known if e in seeds else 1.0 for e in entities.tolist()])
            weights[graph.first_entity + entities] += graph.rarity[entities] * old / place
            for entity in entities.tolist():
                origins.setdefault(entity, chunk)
        return weights, origins


def _sameness(snapshot: Snapshot) -> float:
    """Return how little titles tell chunks apart: 0 where one names two, near 1 in long documents.

    Where a title is that of a whole book, names lead less far than words.
    """
    titles = steps.chunk_titles(snapshot)
    n_titles = len(np.unique(titles.indices))
    return max(0.0, 1 - 2 * n_titles / max(titles.shape[0], 1))


@dataclass(frozen=True, slots=True)
class _Chooser:
    """What chooses chunks as a set, by the influence of all nodes."""

    snapshot: Snapshot
    coverage: steps.Coverage
    graph: EntityGraph
    named: frozenset[int]  # entities that the question names
    words: NDArray[np.float64]  # (n_chunks,) worth of each by its hybrid score
    method: Walk

    def choose(self, influence: NDArray[np.float64]) -> Chosen:
        rows = top_k(influence[: self.graph.n_chunks], self.method.candidates).tolist()
        prior = min_max(np.log(np.maximum(influence[rows], _LEAST))) + self.words[rows]
        method = self.method
        shares = Shares(gain=method.gain, residual=method.residual, named=method.named)
        return choose_chunks(self.snapshot, self.coverage, rows, prior, self.named, shares)


def _hits(
    snapshot: Snapshot, rows: Sequence[int], also: Mapping[int, tuple[int, ...]]
) -> tuple[Hit, ...]:
    """Return chunks as hits, the score of each 1 / its place, with those that repeat it."""
    found = steps.hits(snapshot, rows, 1 / np.arange(1, len(rows) + 1))
    ids = snapshot.layer("chunk").ids
    pairs = zip(found, rows, strict=True)
    return tuple(replace(hit, also=tuple(ids(also.get(row, ())))) for hit, row in pairs)


METHOD = Walk
