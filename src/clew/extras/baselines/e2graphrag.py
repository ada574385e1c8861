"""E²GraphRAG: chunks shared by two names of the question, or the nearest in a summary tree.

Zhao et al. (2025), arXiv:2505.24226. Entities that stand in one sentence are joined; the question
is local where two of its names are few steps apart, else global. Choices where the paper and its
released code differ, and what is not known: docs/methods/e2graphrag.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.base.types import Evidence, Limits, Path, Step
from clew.extras.baselines.passage_graph import mention_counts
from clew.extras.baselines.summaries import SUMMARIES, Node, collect_nodes, nearest_nodes, summaries
from clew.index.snapshot import TRANSPOSED_LINKS, Snapshot
from clew.models import Models

_TREE = "used the nearest chunks and summaries"
_NO_NAMES = f"the question names no entity: {_TREE}"

Chosen = dict[int, set[int]]  # chunks, each with the entities of the question that led to it
Hops = Mapping[tuple[int, int], int]  # between two entities


@dataclass(frozen=True, slots=True, kw_only=True)
class E2GraphRag:
    """E²GraphRAG's retrieval with its released settings, except the number of chunks."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity"})
    needs: ClassVar = (
        steps.SKETCHES["chunk"],
        *steps.MENTIONS,
        TRANSPOSED_LINKS["entity", "unit"],
        SUMMARIES,
    )
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned, at most [k]
    hops: int = 3  # between two names that belong together, at most [h]

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "hops")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        reasons = {link.row: link.reason for link in steps.named_entities(snapshot, query)}
        chunks = choose_chunks(snapshot, list(reasons), self.hops, self.chunks)
        if chunks:
            return self._collect_chunks(snapshot, query, reasons, chunks)
        question = steps.read_query(models, query)
        n = 2 * self.chunks
        nodes = list(islice(nearest_nodes(snapshot, question, n, n), n))
        ranked = rank_by_occurrence(snapshot, nodes, list(reasons))
        evidence = collect_nodes(snapshot, query, "e2graphrag", ranked, self.chunks)
        note = f"no two names of the question are within {self.hops} hops: {_TREE}"
        return replace(
            evidence, seeds=_build_seeds(snapshot, reasons), notes=(note if reasons else _NO_NAMES,)
        )

    def _collect_chunks(
        self, snapshot: Snapshot, query: str, reasons: Mapping[int, str], chunks: Chosen
    ) -> Evidence:
        rows = rank_by_entities(snapshot, chunks)[: self.chunks]
        scores = [float(len(chunks[row])) for row in rows]
        start = Step(layer="query", id="", text=query)
        seeds = _build_seeds(snapshot, reasons)
        by_entity = tuple(zip(reasons, seeds, strict=True))
        return Evidence(
            query=query,
            method="e2graphrag",
            hits=steps.hits(snapshot, rows, np.array(scores)),
            paths=tuple(
                Path(
                    (
                        start,
                        *(step for entity, step in by_entity if entity in chunks[row]),
                        steps.read_step(snapshot, "chunk", row, "holds them", score),
                    ),
                    score,
                )
                for row, score in zip(rows, scores, strict=True)
            ),
            seeds=seeds,
        )


def choose_chunks(snapshot: Snapshot, entities: Sequence[int], hops: int, k: int) -> Chosen:
    """Return the chunks shared by pairs of close entities; none if no pair is close.

    While there are more than `k`, fewer hops are near. Where that leaves none, those before stay.
    """
    apart = count_hops(snapshot, entities, hops)
    chunks = before = _share_chunks(snapshot, apart, hops)
    while len(chunks) > k:
        hops, before = hops - 1, chunks
        chunks = _share_chunks(snapshot, apart, hops)
    return chunks or before


def count_hops(snapshot: Snapshot, entities: Sequence[int], most: int) -> Hops:
    """Return the hop count of each pair of entities, if it is at most `most`.

    Entities of one sentence are one hop apart. Each one's surroundings are read half of the way.
    """
    near = [list(_surround(snapshot, entity, (most + 1) // 2)) for entity in entities]
    hops: dict[tuple[int, int], int] = {}
    for (a, around_a), (b, around_b) in combinations(zip(entities, near, strict=True), 2):
        ways = [
            i + j
            for i, first in enumerate(around_a)
            for j, second in enumerate(around_b)
            if i + j <= most and np.intersect1d(first, second, assume_unique=True).size
        ]
        if ways:
            hops[a, b] = min(ways)
    return hops


def _surround(snapshot: Snapshot, entity: int, most: int) -> Iterator[NDArray[np.integer]]:
    """Yield the entities at distance 0, 1, 2, ... from an entity, in ascending order."""
    into, back = snapshot.linked("entity", "unit"), snapshot.linked("unit", "entity")
    last = seen = np.array([entity])
    yield last
    for _ in range(most):
        units = np.unique(into.entries_of(last).indices)
        last = np.setdiff1d(back.entries_of(units).indices, seen)
        seen = np.union1d(seen, last)
        yield last


def _share_chunks(snapshot: Snapshot, apart: Hops, most: int) -> Chosen:
    chunks: Chosen = {}
    link = steps.entity_chunks(snapshot)
    for (a, b), hops in apart.items():
        if hops <= most:
            for chunk in np.intersect1d(link.row(a), link.row(b)).tolist():
                chunks.setdefault(chunk, set()).update((a, b))
    return chunks


def rank_by_entities(snapshot: Snapshot, chunks: Chosen) -> list[int]:
    """Rank chunks by the number of entities through which they were found.

    Ties are broken by the longest run of chunks of a document with these entities, then by
    mentions.
    """
    counts = {entity: _count(snapshot, [entity]) for entity in set().union(*chunks.values())}
    keys = {
        row: (
            -len(entities),
            -_measure_run(snapshot, row, entities),
            -sum(counts[entity][row] for entity in entities),
        )
        for row, entities in chunks.items()
    }
    return sorted(keys, key=lambda row: (keys[row], row))


def _measure_run(snapshot: Snapshot, chunk: int, entities: set[int]) -> int:
    """Return the number of consecutive chunks of a document, around one, with the entities."""
    owners, link = snapshot.layer("chunk").columns["document"], steps.chunk_entities(snapshot)
    length = 1
    for way in (-1, 1):
        row = chunk + way
        while 0 <= row < len(owners) and owners[row] == owners[chunk]:
            if not entities <= set(link.row(row).tolist()):
                break
            length, row = length + 1, row + way
    return length


def rank_by_occurrence(
    snapshot: Snapshot, nodes: Sequence[Node], entities: Sequence[int]
) -> Sequence[Node]:
    """Rank nodes by entity mentions; keep their order if there are none.

    A summary counts for the chunks that its sentences are of. One that mentions none is left out.
    """
    tree, owners = summaries(snapshot), snapshot.layer("unit").columns["chunk"]
    counts, ranking = _count(snapshot, entities), []
    for node in nodes:
        below = [node.chunk] if node.summary < 0 else owners[tree.get_units(node.summary)]
        ranking.append(replace(node, score=float(counts[np.unique(below)].sum())))
    ranking.sort(key=lambda node: -node.score)
    return [node for node in ranking if node.score] or nodes


def _count(snapshot: Snapshot, entities: Sequence[int]) -> NDArray[np.integer]:
    """Return the number of sentences and titles of each chunk that mention the entities."""
    return np.asarray(mention_counts(snapshot)[list(entities)].sum(axis=0))


def _build_seeds(snapshot: Snapshot, reasons: Mapping[int, str]) -> tuple[Step, ...]:
    return tuple(
        steps.read_step(snapshot, "entity", row, reason, 1.0) for row, reason in reasons.items()
    )


METHOD = E2GraphRag
GROUP = "baseline"
