"""Repeated PageRank: spread, choose chunks as a set, and restart from the entities they name.

Clew's own method. What each part is worth: docs/results/walk.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from clew import steps
from clew.algo.choice import ChoiceWeights
from clew.algo.pagerank import LocalScores
from clew.algo.topk import min_max
from clew.base.derived import Derived
from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.choosing import CANDIDATES, ChosenChunks, Select, build_hits, choose_chunks
from clew.steps.entity_graph import (
    WEIGHTS,
    EntityGraph,
    Seeds,
    best_chunks,
    build_restart,
    count_titles,
    entity_graph,
    seed_entities,
    seed_steps,
)
from clew.steps.threads import Spread, strongest_paths

_MIN_INFLUENCE = 1e-12  # influence whose logarithm is taken
_NEARNESS = 0.05  # of cosines, by which a statement's entities count 1 / e
_BESIDE = 0.2  # what an entity of the other statements of a chunk counts at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """PageRank whose chunks are chosen as a set, and restarted from the first of them."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity", "term"})
    needs: ClassVar = (*steps.LEXICAL, steps.SKETCHES["chunk"], *steps.MENTIONS, WEIGHTS)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    candidates: int = CANDIDATES  # chunks of most influence, from which a set is chosen
    gain: float = 2.5  # weight of what a chunk adds to the set; that of its influence is 1
    residual: float = 0.3  # weight of its nearness to what the set leaves of the question
    named: float = 0.3  # weight of being named by the question or by a chunk of the set
    hybrid: float = 0.6  # weight of its hybrid score if titles do not distinguish chunks
    legs: int = 1  # how often the walk continues
    followed: int = 3  # chosen chunks from whose entities it continues
    onward: float = 0.8  # the new leg's share of the restart vector and of the influence
    known: float = 0.6  # weight of an entity that was a seed already
    damping: float = 0.6  # probability of continuing from a node
    select: Select = "none"  # what selects the passages that come first, among 30

    title_weight: float = 5.0  # of a chunk's link to its title's entity; a mention's is 1
    anchored_units: int = 3  # units nearest to the query, whose entities are seeds
    seed_chunks: int = 30  # best hybrid chunks, which are light seeds
    chunk_weight: float = 0.2  # of a seed chunk beside a seed entity

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "candidates", "followed")
        steps.check_range(self, 0, 1, "onward")
        steps.check_words(self, select=Select)

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        if self.select != "none":
            from clew.steps.selecting import select_hits

            return select_hits(self, query, snapshot, models)
        question = steps.read_query(models, query)
        graph = entity_graph(snapshot, self.title_weight)
        dense = steps.dense_ranking(snapshot, question)
        seeds, named, notes = seed_entities(snapshot, models, question, self.anchored_units, dense)
        hybrid = steps.hybrid_ranking(snapshot, question, dense=dense)
        restart = build_restart(graph, seeds, hybrid, self.seed_chunks, self.chunk_weight)
        if not any(restart.values()):
            notes += ("nothing to start from: used the chunks nearest to the query",)
            return steps.nearest_chunks(snapshot, question, "walk", self.chunks, notes)
        words = self.hybrid * snapshot.get(_TITLE_SAMENESS)
        coverage = steps.Coverage(snapshot, question)
        shares = ChoiceWeights(gain=self.gain, residual=self.residual, named=self.named)

        def choose(influence: LocalScores, most: int) -> ChosenChunks:
            rows = best_chunks(influence, graph.n_chunks, self.candidates)
            chunks = np.array(rows, dtype=np.intp)
            prior = min_max(np.log(np.maximum(influence.get(chunks), _MIN_INFLUENCE)))
            if words:
                prior += words * hybrid.of(chunks)
            return choose_chunks(snapshot, coverage, rows, prior, named, shares, most=most)

        rate = partial(_rate_entities, snapshot, question)
        spread, choice = self._walk_legs(graph, restart, seeds, choose, rate)
        more = best_chunks(spread.influence, graph.n_chunks, self.chunks + len(choice.rows), hybrid)
        rows = list(dict.fromkeys([*choice.rows, *more]))[: self.chunks]
        return Evidence(
            query=query,
            method="walk",
            hits=build_hits(snapshot, rows, choice),
            paths=strongest_paths(snapshot, query, graph, spread, rows),
            seeds=seed_steps(snapshot, seeds),
            notes=notes,
        )

    def _walk_legs(
        self,
        graph: EntityGraph,
        restart: Mapping[int, float],
        seeds: Seeds,
        choose: Callable[[LocalScores, int], ChosenChunks],
        rate: Callable[[int], Mapping[int, float]],
    ) -> tuple[Spread, ChosenChunks]:
        """Return the scores after all legs, and the chunks chosen by them."""
        first = graph.spread_near(restart, self.damping)
        spread = Spread(influence=first, seeds=seeds, before=first)
        for _ in range(self.legs):
            followed = choose(spread.influence, self.followed).rows[: self.followed]
            onward, origins = self._entity_weights(graph, followed, seeds, rate)
            if not any(onward.values()):
                break
            share = _mix_restarts(onward, restart, self.onward)
            new = graph.spread_near(share, self.damping).mix(first, self.onward)
            spread = replace(spread, influence=new, origins=origins)
        return spread, choose(spread.influence, self.chunks)

    def _entity_weights(
        self,
        graph: EntityGraph,
        chunks: Sequence[int],
        seeds: Seeds,
        rate: Callable[[int], Mapping[int, float]],
    ) -> tuple[Mapping[int, float], Mapping[int, int]]:
        """Return the weights of the entities in chunks, and the first chunk of each."""
        weights: dict[int, float] = {}
        origins: dict[int, int] = {}
        for place, chunk in enumerate(chunks, 1):
            entities = graph.chunk_entities.row(chunk)
            rates = rate(chunk)
            for entity, rarity in zip(entities.tolist(), graph.rarity[entities], strict=True):
                node, old = graph.n_chunks + entity, self.known if entity in seeds else 1.0
                rated = float(rarity) * old * rates.get(entity, 1.0)  # 1 of the title
                weights[node] = weights.get(node, 0.0) + rated / place
                origins.setdefault(entity, chunk)
        return weights, origins


def _rate_entities(snapshot: Snapshot, query: steps.Query, chunk: int) -> dict[int, float]:
    """Return how near the query the nearest statement of a chunk is that mentions each entity.

    1 for the entities of the statement nearest to the query, and `_BESIDE` at least: of a table
    with a row for each order, the order that is asked about leads on.
    """
    units = snapshot.linked("chunk", "unit").row(chunk)
    cosines = steps.cosines_of(snapshot, "unit", query, units)
    nearness = np.exp((cosines - cosines.max(initial=-1.0)) / _NEARNESS)
    mentioned = snapshot.linked("unit", "entity").entries_of(units)
    rates: dict[int, float] = {}
    rated = _BESIDE + (1 - _BESIDE) * nearness[mentioned.owners]
    for entity, rate in zip(mentioned.indices.tolist(), rated.tolist(), strict=True):
        rates[entity] = max(rates.get(entity, 0.0), rate)
    return rates


def _mix_restarts(a: Mapping[int, float], b: Mapping[int, float], share: float) -> dict[int, float]:
    """Mix two restarts, scaled to sum to 1: `share` of the first and the rest of the second."""
    parts = ((a, share / sum(a.values())), (b, (1 - share) / sum(b.values())))
    mixed: dict[int, float] = {}
    for weights, factor in parts:
        for node, weight in weights.items():
            mixed[node] = mixed.get(node, 0.0) + factor * weight
    return mixed


def _title_sameness(snapshot: Snapshot) -> float:
    """Return how little titles distinguish chunks: 0 up to two chunks per title, towards 1 above.

    If one title covers a whole book, names lead less far than words.
    """
    return max(0.0, 1 - 2 * count_titles(snapshot) / max(steps.n_chunks(snapshot), 1))


_TITLE_SAMENESS = Derived("how little titles tell chunks apart", _title_sameness)


METHOD = Walk
