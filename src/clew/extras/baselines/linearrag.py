"""LinearRAG: activate entities through sentences near the question, then PageRank.

Zhuang et al. (2025), arXiv:2510.10114. A graph of entities, sentences and passages without
relations, so that nothing is extracted. Choices where the paper and its released code differ:
docs/methods/linearrag.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import entry_rows, neighbours, take_rows
from clew.algo.topk import top_k
from clew.base.derived import Derived
from clew.base.types import Evidence, Limits, Step
from clew.extras.baselines.passage_graph import PassageGraph, mention_counts, passage_weights
from clew.index.snapshot import TRANSPOSED_LINKS, Snapshot
from clew.models import Models
from clew.steps.entity_graph import best_chunks


@dataclass(frozen=True, slots=True)
class Activated:
    """An entity named by the question, or reached through a sentence near to it."""

    score: float  # of the last way to it
    level: int  # sentences on that way, and 1
    weight: float  # the sum over all ways
    before: int = -1  # the entity that it was first reached from, through a unit; -1: it is a seed
    unit: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRag:
    """LinearRAG's retrieval with the defaults of its released program."""

    name: ClassVar[str] = "linearrag"
    layers: ClassVar = frozenset({"chunk", "unit", "entity"})
    needs: ClassVar = (steps.SKETCHES["chunk"], *steps.MENTIONS, TRANSPOSED_LINKS["entity", "unit"])
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    threshold: float = 0.4  # score below which no entity is active [δ]
    levels: int = 3  # of active entities, that of the seeds included
    sentences: int = 3  # of an active entity, nearest to the question, that lead on
    passage_ratio: float = 2.0  # of a chunk's cosine, from 0 to 1, beside its entities [λ]
    passage_weight: float = 0.05  # of a chunk beside an entity
    damping: float = 0.5  # probability of continuing from a node

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "levels", "sentences")
        steps.check_range(self, 0, 1, "threshold")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        names, notes = steps.query_names(models, query)
        linked = steps.similar_entities(snapshot, models, names, 1)
        if not linked:
            notes += ("the question names no entity: used the chunks nearest to it",)
            return steps.nearest_chunks(snapshot, question, self.name, self.chunks, notes)
        dense = steps.dense_ranking(snapshot, question)
        active = activate_entities(
            snapshot,
            question,
            linked,
            steps.units_near(snapshot, question, dense),
            threshold=self.threshold,
            levels=self.levels,
            n_sentences=self.sentences,
        )
        graph = snapshot.get(_GRAPH)
        of_entities = {graph.n_chunks + entity: each.weight for entity, each in active.items()}
        restart = self._weigh_chunks(snapshot, active, dense) | of_entities
        if not any(restart.values()):
            notes += ("nothing to start from: used the chunks nearest to the question",)
            return steps.nearest_chunks(snapshot, question, self.name, self.chunks, notes)
        influence = graph.spread(restart, self.damping)
        rows = best_chunks(influence, graph.n_chunks, self.chunks, dense)
        scores = influence.get(np.array(rows, dtype=np.intp))
        reasons = {link.row: link.reason for link in linked}
        return steps.build_evidence(
            snapshot,
            query,
            self.name,
            dict(zip(rows, scores.tolist(), strict=True)),
            lambda row: _trace_back(snapshot, active, reasons, row),
            seeds=tuple(
                steps.read_step(snapshot, "entity", row, reason, active[row].score)
                for row, reason in reasons.items()
            ),
            notes=notes,
        )

    def _weigh_chunks(
        self, snapshot: Snapshot, active: Mapping[int, Activated], dense: steps.Ranking
    ) -> dict[int, float]:
        """Return the restart weights of all chunks, or of likely ones and the entities' chunks.

        A chunk weighs its cosine, scaled to 0..1, times a ratio, plus ln(1 + b), where b sums score
        · ln(1 + mentions) / level over its active entities.
        """
        counts = take_rows(mention_counts(snapshot), np.array(list(active), dtype=np.intp))
        shares = np.array([each.score / each.level for each in active.values()])
        bonus, own = np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
        np.add.at(bonus, counts.indices, shares[counts.owners] * np.log1p(counts.data))
        rows, cosines = passage_weights(dense)
        own[rows] = self.passage_ratio * cosines
        weights = self.passage_weight * (own + np.log1p(bonus))
        chunks = np.flatnonzero(weights)
        return dict(zip(chunks.tolist(), weights[chunks].tolist(), strict=True))


def activate_entities(
    snapshot: Snapshot,
    query: steps.Query,
    linked: Sequence[steps.Linked],
    near: NDArray[np.integer] | None,
    *,
    threshold: float,
    levels: int,
    n_sentences: int,
) -> dict[int, Activated]:
    """Return the activation of each entity, starting with the `linked` ones.

    The sentences of an entity nearest to the question activate all entities in them, with its score
    times the sentence's cosine; each sentence once. As in the released code, an entity that was
    active is so again. In a large index only sentences `near` the question are used.
    """
    active: dict[int, Activated] = {}
    for link in sorted(linked, key=lambda link: -link.score):
        active.setdefault(link.row, Activated(score := max(link.score, 0.0), 1, score))
    mentioned = snapshot.linked("unit", "entity")
    used: set[int] = set()
    last = dict(active)
    for level in range(2, levels + 1):
        new: dict[int, Activated] = {}
        for entity, each in last.items():
            if each.score < threshold:
                continue
            [units] = steps.entity_units(snapshot, np.array([entity]), titles=False, near=near)
            units = units[[unit not in used for unit in units.tolist()]]
            cosines = steps.cosines_of(snapshot, "unit", query, units)
            best = top_k(cosines, n_sentences)
            used.update(units[best].tolist())
            for unit, cosine in zip(units[best].tolist(), cosines[best].tolist(), strict=True):
                score = each.score * cosine
                for other in neighbours(mentioned, unit).tolist() if score >= threshold else ():
                    first = new.get(other) or active.get(other)
                    if first is None:
                        first = Activated(score, level, 0.0, entity, unit)
                    weight = first.weight + score
                    new[other] = replace(first, score=score, level=level, weight=weight)
        active |= new
        last = new
    return active


def _build_graph(snapshot: Snapshot) -> PassageGraph:
    """Return the graph whose edges weigh an entity's share of a chunk's mentions."""
    counts = mention_counts(snapshot)
    n_entities, n_chunks = counts.shape
    shares = counts.data / counts.sum(axis=0)[counts.indices]
    edges = counts.indices, n_chunks + entry_rows(counts), shares
    return PassageGraph.from_edges(n_chunks, n_entities, [edges])


_GRAPH = Derived("LinearRAG's graph", _build_graph)


def _trace_back(
    snapshot: Snapshot, active: Mapping[int, Activated], reasons: Mapping[int, str], chunk: int
) -> Iterator[Step]:
    """Return the path to the most active entity of a chunk, and from there to it."""
    inside = steps.chunk_entities(snapshot).row(chunk).tolist()
    here = max(inside, key=lambda row: active[row].score if row in active else -1.0, default=-1)
    backwards = [steps.read_step(snapshot, "chunk", chunk, "holds it")]
    if here not in active:
        backwards = [steps.read_step(snapshot, "chunk", chunk, "near the question")]
    while here in active:
        each = active[here]
        backwards.append(
            steps.read_step(snapshot, "entity", here, reasons.get(here, "on the path"))
        )
        if each.unit >= 0:
            backwards.append(steps.read_step(snapshot, "unit", each.unit, "near the question"))
        here = each.before
    return reversed(backwards)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRagMusique(LinearRag):
    """LinearRAG as the authors' script runs it on MuSiQue."""

    name: ClassVar[str] = "linearrag_musique"

    threshold: float = 0.1
    levels: int = 5
    sentences: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRagHotpotqa(LinearRag):
    """LinearRAG as the authors' script runs it on HotpotQA and 2WikiMultiHopQA."""

    name: ClassVar[str] = "linearrag_hotpotqa"

    sentences: int = 1
    passage_ratio: float = 0.05


METHOD = LinearRag
VARIANTS = {kind.name: kind for kind in (LinearRagMusique, LinearRagHotpotqa)}
GROUP = "baseline"
