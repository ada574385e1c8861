"""E²GraphRAG: chunks shared by two names of the question, or the nearest in a summary tree.

Zhao et al. (2025), arXiv:2505.24226. Entities that stand in one sentence are joined; the question
is local where two of its names are few steps apart, else global. An LLM summarises chunks that
follow each other, and such summaries; without one there are chunks alone. Choices where the paper
and its released code differ, and what is not known: docs/methods/e2graphrag.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.base.types import Evidence, Limits, Step
from clew.extras.baselines.passage_graph import mention_counts
from clew.extras.baselines.summary_tree import (
    Node,
    Nodes,
    Rows,
    collect_nodes,
    nearest_nodes,
    read_tree,
)
from clew.index.snapshot import TRANSPOSED_LINKS, Snapshot
from clew.models import Models

_TREE = "used the nearest chunks and summaries"
_CHUNKS = "used the nearest chunks, as there is no LLM to sum them up"
_TOGETHER = 5  # chunks or summaries that are summed up [g]
_WIDEST = 6  # summaries of a document, of which no others are made

Chosen = dict[int, set[int]]  # chunks, each with the entities of the question that led to it
Hops = Mapping[tuple[int, int], int]  # between two entities


@dataclass(frozen=True, slots=True, kw_only=True)
class E2GraphRag:
    """E²GraphRAG's retrieval with its released settings, except the number of chunks."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity"})
    needs: ClassVar = (steps.SKETCHES["chunk"], *steps.MENTIONS, TRANSPOSED_LINKS["entity", "unit"])
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
        question, tree = steps.read_query(models, query), None
        if models.llm is not None:
            tree = read_tree(snapshot, models, group_in_order)
        nodes = nearest_nodes(snapshot, question, tree, 2 * self.chunks)
        ranked = rank_by_occurrence(snapshot, nodes, tree, list(reasons))[: self.chunks]
        why = f"no two names of the question are within {self.hops} hops"
        note = f"{why if reasons else 'the question names no entity'}: {_TREE if tree else _CHUNKS}"
        evidence = collect_nodes(snapshot, query, "e2graphrag", ranked, tree, (note,))
        return replace(evidence, seeds=_build_seeds(snapshot, reasons))

    def _collect_chunks(
        self, snapshot: Snapshot, query: str, reasons: Mapping[int, str], chunks: Chosen
    ) -> Evidence:
        rows = rank_by_entities(snapshot, chunks)[: self.chunks]
        scores = {row: float(len(chunks[row])) for row in rows}
        seeds = _build_seeds(snapshot, reasons)
        by_entity = dict(zip(reasons, seeds, strict=True))

        def trace(row: int) -> Iterator[Step]:
            yield from (step for entity, step in by_entity.items() if entity in chunks[row])
            yield steps.read_step(snapshot, "chunk", row, "holds them", scores[row])

        return steps.build_evidence(snapshot, query, "e2graphrag", scores, trace, seeds=seeds)


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


def group_in_order(level: Nodes, depth: int) -> list[Rows]:
    """Return groups of five nodes that follow each other in a document.

    Documents of one chunk have none, and no level is above one of at most six summaries.
    """
    least = 2 if depth == 0 else _WIDEST + 1
    begins = np.flatnonzero(np.diff(level.documents, prepend=-1))
    own = np.split(np.arange(len(level.documents)), begins[1:])
    return [
        nodes[i : i + _TOGETHER]
        for nodes in own
        if len(nodes) >= least
        for i in range(0, len(nodes), _TOGETHER)
    ]


def rank_by_occurrence(
    snapshot: Snapshot, nodes: Sequence[Node], tree: Nodes | None, entities: Sequence[int]
) -> Sequence[Node]:
    """Rank nodes by the entity mentions of their chunks; keep their order if there are none.

    One without a mention is left out.
    """
    counts, ranking = _count(snapshot, entities), []
    for node in nodes:
        below = tree.chunks[node.summary] if tree and node.chunk < 0 else [node.chunk]
        ranking.append(node._replace(score=float(counts[below].sum())))
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
